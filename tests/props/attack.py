"""Fuzzed and random kernels by the clock: how many were tried, and what failed.

    python tests/props/attack.py --seconds 600 --cores 16 --out DIR [--seed 7]
            [--kinds odd,differ]

    mutated     kernels of tests/ptx/cases.py with other expressions, compiled (fuzz.py)
    odd         Python that few have written, compiled (fuzz_source.py)
    differ      random kernels on the interpreter, the CPU and two GPUs' emulators (maker/)
    copies      what the tile passes make of products, interpreted (tirc --products): a
                thousand kernels a seed
    promoted    products by copies of tensors beside the interpreter (fuzz_promoted.py)
    chains      chains of operations on a real GPU and the CPU (differ.py asks for it)
    device      random kernels, likewise

Kinds have quotas, and get the cores in their proportion; once these are met the time that
is left is the last's. A process of its own tries some seeds of a kind, since it may die or
hang; the next begins behind the seed that it died of. Each slot writes its counts to
DIR/trust-SLOT.json whenever such a process ends, and each failure, shrunk where it can be,
to DIR/failed-KIND-SEED.txt. The exit status is 1 where anything failed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import select
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
TIRC = HERE.parents[1] / "build" / "tirc"
sys.path[:0] = [str(HERE), str(HERE.parent / "ptxsim")]


class Kind(NamedTuple):
    quota: int  # seeds
    chunk: int  # seeds of one process: what it compiled is never freed
    patience: int  # seconds of the clock for one seed; machines are busy


KINDS = {
    "mutated": Kind(30_000, 100, 300),
    "odd": Kind(70_000, 300, 300),
    "differ": Kind(20_000, 50, 900),  # shrinking included
    "copies": Kind(1_000, 20, 300),
    "promoted": Kind(2_000, 25, 600),
    "chains": Kind(1_000_000, 300, 60),
    "device": Kind(1_000_000, 1000, 60),
}
ON_GPU = ("chains", "device")  # of differ.py, which alone asks for them
DEAD = 75  # the exit of a process whose GPU takes no more launches
SLOW, BIG = 10.0, 1024.0  # seconds of CPU time, MB: what a compile may take
END = 60  # seconds of CPU time after which a compile is ended


# ---- in a process of its own ------------------------------------------------------------


def peak(reset: bool = False) -> float:
    """MB that this process had at most since the last reset."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def try_compile(attempt: Any, seed: int) -> dict[str, Any]:
    """A compile that must end as code or as an error that is the user's."""
    signal.setitimer(signal.ITIMER_PROF, END)  # its default ends the process
    before, start = peak(reset=True), time.process_time()
    try:
        said, wrong = attempt(seed), ""
    except BaseException as e:
        said, wrong = "internal", f"internal: {type(e).__name__}: {e}"
    seconds, mb = time.process_time() - start, peak() - before
    signal.setitimer(signal.ITIMER_PROF, 0)
    if not wrong and seconds > SLOW:
        said, wrong = "slow", f"slow: {seconds:.1f} s"
    if not wrong and mb > BIG:
        said, wrong = "big", f"big: {mb:.0f} MB"
    return {"said": said, "wrong": wrong, "s": seconds, "mb": mb}


def try_kernel(seed: int, watch: Any) -> dict[str, Any]:
    """A random kernel on five machines, two of them GPUs."""
    from maker import Draw, make
    from maker.shrink import shrink

    case = make(Draw(seed))
    chip = case.targets[1]
    other = "emu:sm_80" if chip != "emu:sm_80" else "emu:sm_90a"
    if case.options.get("num_ctas", 1) > 1:  # which takes clusters
        other = "emu:sm_90a" if chip != "emu:sm_90a" else "emu:sm_120a"
    case.targets.append(other)
    said = watch.compare(case)
    if not said or said.startswith("skip"):
        return {"said": "agree" if not said else "skip", "wrong": ""}
    small = shrink(case, watch, limit=60)
    return {"said": "differ", "wrong": f"differ: {said}\n{small.dump()}"}


def is_dead(wrong: str) -> bool:
    """A launch that failed on a GPU may have taken the process's context with it."""
    import simulated

    if not wrong or not simulated.gpu():
        return False
    import torch

    try:
        torch.cuda.synchronize()
        return int(torch.ones(2, device="cuda").sum()) != 2
    except Exception:
        return True


def try_device(seed: int, kind: str) -> dict[str, Any]:
    import differ

    said = differ.compare(seed, kind)
    if not said or said.startswith("skip"):
        return {"said": "agree" if not said else "skip", "wrong": ""}
    return {"said": "differ", "wrong": f"differ: {said}", "dead": is_dead(said)}


def try_copies(seed: int) -> dict[str, Any]:
    seeds = f"{1000 * seed}..{1000 * seed + 999}"
    done = subprocess.run(
        [TIRC, "--products", seeds, "copies"], capture_output=True, text=True
    )
    wrong = f"differ: {seeds}: {done.stderr}" if done.returncode else ""
    same = re.search(r"^ *(\d+)  the same$", done.stdout, re.M)
    n = int(same[1]) if same else 0
    said = "differ" if wrong else "agree"
    return {"said": said, "wrong": wrong, "launches": n, "copied": n}


def try_product(seed: int) -> dict[str, Any]:
    import fuzz_promoted

    import tegula

    try:
        wrong, n, copied = fuzz_promoted.run(seed)
    except tegula.OutOfResources:  # of a level that is asked for
        return {"said": "skip", "wrong": ""}
    except Exception as e:
        wrong, n, copied = f"{type(e).__name__}: {e}", 1, 0
    if wrong:
        wrong = f"differ: {wrong}"
    return {
        "said": "differ" if wrong else "agree",
        "wrong": wrong,
        "launches": n,
        "copied": copied,
        "dead": is_dead(wrong),
    }


def worker(kind: str, first: int, n: int) -> None:
    import faulthandler

    import tegula

    faulthandler.enable()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what kernels print
    tegula.knobs.cache.dir = ""
    if kind not in ON_GPU:
        tegula.knobs.nvidia.ptxas = "none"
    watch: Any = None
    if kind == "mutated":
        import fuzz
    elif kind == "odd":
        import fuzz_source
    elif kind == "differ":
        from maker.watch import Watch

        watch = Watch()
    for seed in range(first, first + n):
        print(json.dumps({"seed": seed}), file=answers, flush=True)
        if kind == "mutated":
            r = try_compile(fuzz.attempt, seed)
        elif kind == "odd":
            r = try_compile(lambda s: fuzz_source.attempt(s, True), seed)
        elif kind == "differ":
            r = try_kernel(seed, watch)
        elif kind == "copies":
            r = try_copies(seed)
        elif kind in ON_GPU:
            r = try_device(seed, kind)
        else:
            r = try_product(seed)
        print(json.dumps(r), file=answers, flush=True)
        if r.get("dead"):
            sys.exit(DEAD)
    if watch:
        watch.close()


def text_of(kind: str, seed: int) -> str:
    """The kernel of a seed that ended its process."""
    if kind == "mutated":
        import fuzz

        _, signature, options, text = fuzz.mutated(seed)
        return f"# {signature} {options}\n{text}"
    if kind == "odd":
        import fuzz_source

        made = fuzz_source.written(seed)
        return f"# {made[1]} {made[2]}\n{made[0]}" if made else ""
    if kind in ON_GPU:
        import differ

        return differ.MAKERS[kind](seed).dump()
    if kind == "differ":
        from maker import Draw, make

        return make(Draw(seed)).dump()
    if kind == "copies":
        return ""  # what failed has its text
    import fuzz_promoted

    return fuzz_promoted.kernel_text(fuzz_promoted.Draw(seed))[0]


# ---- the one that starts them ------------------------------------------------------------


class Attack:
    """What all slots share."""

    def __init__(self, out: Path, end: float, seed: int, kinds: list[str]) -> None:
        self.out, self.end, self.kinds = out, end, kinds
        self.lock = threading.Lock()
        self.next = dict.fromkeys(kinds, 10_000_000 * seed)
        self.begun = Counter(dict.fromkeys(kinds, 0))
        self.n_failed = 0

    def draw(self) -> tuple[str, int, int]:
        """A kind, its next seed, and how many of them."""
        with self.lock:
            open_ = [k for k in self.kinds if self.begun[k] < KINDS[k].quota]
            kind = min(
                open_ or self.kinds[-1:], key=lambda k: self.begun[k] / KINDS[k].quota
            )
            n = KINDS[kind].chunk
            if open_:
                n = min(n, KINDS[kind].quota - self.begun[kind])
            first = self.next[kind]
            self.next[kind] += n
            self.begun[kind] += n
            return kind, first, n

    def failed(self, kind: str, seed: int, wrong: str) -> None:
        with self.lock:
            self.n_failed += 1
        text = subprocess.run(
            [sys.executable, __file__, "text", kind, str(seed)],
            capture_output=True,
            text=True,
        ).stdout
        file = self.out / f"failed-{kind}-{seed}.txt"
        file.write_text(f"{kind} {seed}: {wrong}\n\n{text}")
        print(f"FAILED {kind} {seed}: {wrong.splitlines()[0][:200]}", flush=True)


class Slot(threading.Thread):
    """A core."""

    def __init__(self, attack: Attack, number: int) -> None:
        super().__init__()
        self.attack, self.number = attack, number
        self.counts: dict[str, Counter[str]] = {k: Counter() for k in attack.kinds}
        self.most: dict[str, dict[str, float]] = {k: {} for k in attack.kinds}

    def run(self) -> None:
        while time.monotonic() < self.attack.end:
            kind, seed, n = self.attack.draw()
            last = seed + n
            while seed < last and time.monotonic() < self.attack.end:
                seed = self.chunk(kind, seed, last)
            facts = {"counts": self.counts, "most": self.most}
            file = self.attack.out / f"trust-{self.number}.json"
            file.write_text(json.dumps(facts, indent=1))

    def chunk(self, kind: str, first: int, last: int) -> int:
        """Starts a process; the seed that is to be tried next."""
        command = [sys.executable, "-W", "ignore", __file__, "worker", kind]
        errors = self.attack.out / f"stderr-{self.number}.txt"
        with errors.open("w") as stderr:
            p = subprocess.Popen(
                [*command, str(first), str(last - first)],
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
            )
            try:
                seed, why = self.listen(p, kind, first)
            finally:
                try:
                    os.killpg(p.pid, signal.SIGKILL)  # what it started, too
                except ProcessLookupError:
                    pass
                code = p.wait()
        if why == "time":
            return last
        if why == "ended" and code == 0:
            return last
        if why == "ended" and code == DEAD:
            return seed + 1
        wrong = f"crash: the process ended: {code}"
        if why == "hang" or code == -signal.SIGPROF:
            wrong = "slow: it did not end"
        self.count(kind, {"said": wrong.split(":")[0]})
        said = errors.read_text(errors="replace")[-3000:]
        self.attack.failed(kind, seed, f"{wrong}\n{said}")
        return seed + 1

    def listen(self, p: Any, kind: str, first: int) -> tuple[int, str]:
        """What comes until the process ends ("ended"), hangs or the time is over; the seed
        it was at."""
        seed, rest = first, b""
        heard = time.monotonic()
        while True:
            if time.monotonic() > self.attack.end:
                return seed, "time"
            if time.monotonic() - heard > KINDS[kind].patience:
                return seed, "hang"
            if not select.select([p.stdout], [], [], 0.2)[0]:
                continue
            data = os.read(p.stdout.fileno(), 1 << 16)
            if not data:
                p.wait()
                return seed, "ended"
            heard = time.monotonic()
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                r = json.loads(line)
                if "seed" in r:
                    seed = r["seed"]
                    continue
                self.count(kind, r)
                if r["wrong"]:
                    self.attack.failed(kind, seed, r["wrong"])

    def count(self, kind: str, r: dict[str, Any]) -> None:
        c, most = self.counts[kind], self.most[kind]
        c["tried"] += 1
        c[r["said"]] += 1
        for key in ("launches", "copied"):
            c[key] += r.get(key, 0)
        for key in ("s", "mb"):
            most[key] = max(most.get(key, 0.0), r.get(key, 0.0))


def table(slots: list[Slot], kinds: list[str]) -> None:
    """Totals; the exit of a compile that is no failure is left to the JSON files."""
    bad = ("crash", "internal", "slow", "big", "differ")
    print(f"{'kind':10}{'tried':>8}{'fine':>8}", *(f"{b:>9}" for b in bad), end="")
    print(f"{'most s':>9}{'most MB':>9}")
    for kind in kinds:
        c: Counter[str] = sum((s.counts[kind] for s in slots), Counter())
        fine = c["ok"] + c["agree"]
        print(f"{kind:10}{c['tried']:8}{fine:8}", *(f"{c[b]:9}" for b in bad), end="")
        for key in ("s", "mb"):
            print(f"{max(s.most[kind].get(key, 0) for s in slots):9.1f}", end="")
        more = f"{c['launches']} launches, {c['copied']} by copies"
        print(f"  {more}" if c["launches"] else "")


def main(kinds: Sequence[str] = tuple(KINDS)[: -len(ON_GPU)]) -> int:
    p = argparse.ArgumentParser()
    p.add_argument("--seconds", type=float, default=600)
    p.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    p.add_argument("--out", type=Path, default=Path("."))
    p.add_argument("--seed", type=int, default=int(time.time()) % 100_000)
    p.add_argument("--kinds", default=",".join(kinds), help="a list with commas")
    a = p.parse_args()
    end = time.monotonic() + a.seconds
    a.out.mkdir(parents=True, exist_ok=True)
    import simulated

    kinds = [k for k in KINDS if k in a.kinds.split(",")]
    if not simulated.available() and not simulated.gpu():
        kinds = [k for k in kinds if k != "promoted"]
    attack = Attack(a.out, end, a.seed, kinds)
    slots = [Slot(attack, i) for i in range(a.cores)]
    print(f"seed {a.seed}: {a.seconds:.0f} s on {a.cores} cores", flush=True)
    for s in slots:
        s.start()
    for s in slots:
        s.join()
    table(slots, kinds)
    print(f"{attack.n_failed} failed")
    return attack.n_failed > 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        worker(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    elif sys.argv[1:2] == ["text"]:
        print(text_of(sys.argv[2], int(sys.argv[3])))
    else:
        sys.exit(main())
