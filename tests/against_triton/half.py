"""One side's answers to all cases, a line of JSON each.

    half.py triton --device sim --out DIR [-j N] [--match REGEX] [--part I/N] [--known FILE]

The cases are packed into kernels, the kernels given to workers. What a pack fails with is
asked of each of its cases alone; a worker that dies takes one case with it, not the run.
A line: the case's name, its status (ok, refused, crash, hang, late), and for ok each
result's type and bytes, for refused the error; and source.identity() of what was asked.
Of --known, answers of an earlier run, those of the same identity are taken as they are.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import importlib.util
import json
import multiprocessing as mp
import os
import re
import sys
import tempfile
import time
import traceback
import zlib
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import areas as all_cases
import numpy as np
import sides
import source
from case import ALL, Array, Case
from element_types import storage

HERE = Path(__file__).parent
Answer = dict[str, Any]


def shape_of(code: int) -> tuple[str, tuple[int, ...]]:
    """What prelude.type_number() says."""
    dtype, code = ALL[code & 31], code >> 5
    shape = []
    while code > 1:
        shape.append(1 << (code & 31))
        code >>= 5
    return dtype, tuple(reversed(shape))


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def said(e: BaseException) -> str:
    """An error in one line, the innermost of a chain."""
    while e.__cause__ or (e.__context__ and not e.__suppress_context__):
        e = e.__cause__ or e.__context__  # type: ignore[assignment]
    text = [line for line in str(e).splitlines() if line.strip()]
    # Triton's errors end in what is wrong, ours begin with it.
    line = (
        text[-1]
        if text and type(e).__module__.startswith("triton")
        else (text or [""])[0]
    )
    return f"{type(e).__name__}: {line}"[:300]


def pack(text: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(text).tobytes()).decode()


def results(case: Case, arrays: list[np.ndarray], o: int, t: int) -> Answer:
    """The case's part of a launch's memory, its results from o and t on."""
    slots = []
    for i in range(case.slots):
        dtype, shape = shape_of(int(arrays[-1][t + i]))
        n = int(np.prod(shape, dtype=int)) * storage(dtype).itemsize
        at = o + i * case.room
        assert n <= case.room, f"{case.name}: {n} bytes of results"
        slots.append([dtype, list(shape), pack(arrays[-2][at : at + n])])
    inputs = [a for a in case.args if isinstance(a, Array)]
    for a, x in zip(inputs, arrays, strict=False):
        if a.kind == "zero":
            slots.append([a.dtype, [a.n], pack(x), a.name])
    return {"name": case.name, "status": "ok", "slots": slots}


class Worker:
    def __init__(self, side: str, device: str, folder: Path):
        self.side = sides.make(side, device)
        self.folder = folder
        self.number = 0

    def module(self, cases: list[Case]) -> Any:
        self.number += 1
        name = f"k{os.getpid()}_{self.number}"
        return load(source.write(self.folder, name, cases))

    def one(self, case: Case) -> Answer:
        try:
            kernel = self.module([case]).case_0
            arrays = self.side.run(kernel, case, case.room * case.slots, case.slots)
            return results(case, arrays, 0, 0)
        except Exception as e:
            self.side.sound()
            # The simulated GPU does not know an instruction: nobody's refusal.
            status = "fault" if type(e).__name__ == "Fault" else "refused"
            return {"name": case.name, "status": status, "why": said(e)}

    def all(self, cases: list[Case]) -> list[Answer]:
        """Answers in some order: those that compile together, the others alone."""
        try:
            return self.together(cases)
        except Exception:
            self.side.sound()
            if len(cases) == 1:
                return [self.one(cases[0])]
        module = self.module(cases)
        good, bad = [], []
        for i, case in enumerate(cases):
            try:
                self.side.check(getattr(module, f"case_{i}"), case)
                good.append(case)
            except Exception as e:
                bad.append({"name": case.name, "status": "refused", "why": said(e)})
        if len(good) == len(cases):  # something together, or later than the front end
            half = len(cases) // 2
            return self.all(cases[:half]) + self.all(cases[half:])
        return bad + (self.all(good) if good else [])

    def together(self, cases: list[Case]) -> list[Answer]:
        kernel = self.module(cases).kernel
        room = sum(c.room * c.slots for c in cases)
        slots = sum(c.slots for c in cases)
        arrays = self.side.run(kernel, cases[0], room, slots)
        answers, o, t = [], 0, 0
        for case in cases:
            answers.append(results(case, arrays, o, t))
            o += case.room * case.slots
            t += case.slots
        return answers


def work(pipe: Connection, side: str, device: str, folder: Path) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    if not os.environ.get("AGAINST_TRITON_LOUD"):
        os.dup2(null, 1)
        os.dup2(null, 2)
    try:
        worker = Worker(side, device, folder)
    except BaseException:
        pipe.send(traceback.format_exc())
        return
    pipe.send([])
    while (cases := pipe.recv()) is not None:
        pipe.send(worker.all(cases))


class Pool:
    """Workers, each with at most one job, which may die or take too long."""

    def __init__(self, n: int, arguments: tuple, limit: float):
        self.context = mp.get_context("spawn")
        self.arguments, self.limit = arguments, limit
        self.busy: dict[Connection, tuple[Any, list[Case], float]] = {}
        self.idle: list[tuple[Connection, Any]] = []
        for _ in range(n):
            self.start()

    def start(self) -> None:
        """A worker; it is busy, with no job, until it says that it is there."""
        ours, theirs = self.context.Pipe()
        process = self.context.Process(
            target=work, args=(theirs, *self.arguments), daemon=True
        )
        process.start()
        theirs.close()
        self.busy[ours] = process, [], time.monotonic()

    def give(self, job: list[Case]) -> None:
        pipe, process = self.idle.pop()
        pipe.send(job)
        self.busy[pipe] = process, job, time.monotonic()

    def take(self) -> tuple[list[Case], list[Answer] | str]:
        """A job that is done, with answers or with how its worker ended."""
        while True:
            for pipe in wait(list(self.busy), timeout=1):
                assert isinstance(pipe, Connection)
                process, job, _ = self.busy.pop(pipe)
                try:
                    answers = pipe.recv()
                except (EOFError, OSError):
                    process.join()
                    self.start()
                    return job, "crash"
                if isinstance(answers, str):
                    raise SystemExit(f"a worker does not start:\n{answers}")
                self.idle.append((pipe, process))
                return job, answers
            for pipe, (process, job, since) in list(self.busy.items()):
                if time.monotonic() - since > self.limit:
                    del self.busy[pipe]
                    process.kill()
                    process.join()
                    self.start()
                    return job, "hang"

    def stop(self) -> None:
        for pipe, process in self.idle:
            pipe.send(None)
            process.join(10)
        for process, _, _ in self.busy.values():
            process.kill()


def kept(path: Path | None) -> dict[str, Answer]:
    """An earlier run's answers, by identity. What depends on time is asked again."""
    if not path:
        return {}
    text = gzip.open(path, "rt") if path.suffix == ".gz" else path.open()
    with text:
        answers = map(json.loads, text)
        return {a["of"]: a for a in answers if a["status"] not in ("late", "hang")}


def run(
    side: str,
    device: str,
    out: Path,
    n: int,
    match: str,
    part: str,
    seconds: float,
    known: Path | None,
) -> None:
    start = time.monotonic()
    cases = [c for c in all_cases.make() if re.search(match, c.name)]
    earlier = kept(known)
    identity = {c.name: source.identity(c) for c in cases}
    old = [earlier[of] for of in identity.values() if of in earlier]
    cases = [c for c in cases if identity[c.name] not in earlier]
    this, parts = (int(x) for x in part.split("/"))
    # Shuffled, the same for both sides: what time leaves is a sample of everything.
    jobs = sorted(source.groups(cases), key=lambda g: zlib.crc32(g[0].name.encode()))
    jobs = jobs[this - 1 :: parts][::-1]
    total, done, asked = len(jobs), 0, sum(map(len, jobs))
    with (
        tempfile.TemporaryDirectory() as folder,
        open(out / f"{side}.jsonl", "w") as file,
    ):
        for answer in old:
            file.write(json.dumps(answer) + "\n")
        (Path(folder) / "prelude.py").write_text((HERE / "prelude.py").read_text())
        os.environ["PYTHONPATH"] = (
            f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        )
        pool = Pool(n, (side, device, Path(folder)), 90)
        while jobs or any(job for _, job, _ in pool.busy.values()):
            late = time.monotonic() - start > seconds
            if late and jobs:
                for case in (c for job in jobs for c in job):
                    late_one = {"name": case.name, "status": "late", "of": ""}
                    file.write(json.dumps(late_one) + "\n")
                print(f"{side}: out of time, {len(jobs)} of {total} kernels not asked")
                jobs, pool.limit = [], 15
            while jobs and pool.idle:
                pool.give(jobs.pop())
            job, answers = pool.take()
            if not job:  # a worker is there
                if answers:
                    raise SystemExit(
                        f"{side}: a worker ends before it works: {answers}"
                    )
                continue
            if isinstance(answers, str):
                if len(job) > 1:
                    jobs += [[case] for case in job]
                    total += len(job)
                    continue
                answers = [{"name": job[0].name, "status": answers}]
            for answer in answers:
                answer["of"] = identity[answer["name"]]
                file.write(json.dumps(answer) + "\n")
            done += 1
            if done % 200 == 0:
                print(
                    f"{side}: {done} of {total}, {time.monotonic() - start:.0f} s",
                    flush=True,
                )
        pool.stop()
    print(
        f"{side}: {asked} cases asked, {len(old)} known, {total} kernels, "
        f"{time.monotonic() - start:.0f} s"
    )


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("side", choices=("triton", "tegula"))
    p.add_argument("--device", choices=("cuda", "sim", "cpu"), default="cuda")
    p.add_argument("--out", type=Path, required=True)
    p.add_argument("-j", type=int, default=max(1, (os.cpu_count() or 2) - 1))
    p.add_argument("--match", default="")
    p.add_argument(
        "--part", default="1/1", help="2/3: the second of every three kernels"
    )
    p.add_argument("--seconds", type=float, default=1e9)
    p.add_argument("--known", type=Path, help="answers of an earlier run")
    a = p.parse_args()
    a.out.mkdir(parents=True, exist_ok=True)
    run(a.side, a.device, a.out, a.j, a.match, a.part, a.seconds, a.known)


if __name__ == "__main__":
    main()
