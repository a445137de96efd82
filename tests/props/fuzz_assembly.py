"""Mutated assembly on every target that needs no GPU: an answer or an error, no crash.

    python tests/props/fuzz_assembly.py 0 500       seeds 0 .. 499; prints what went wrong

The texts of the tests of assembly lose, double, swap and trade tokens and statements, with
each other too; numbers become odd ones. Each is run where the seed says. What it then gives
is nobody's concern, but errors are the user's: none is a bug of ours.
"""

from __future__ import annotations

import faulthandler
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
for folder in ("kernels", "ptxsim"):
    sys.path.append(str(ROOT / "tests" / folder))
TARGETS = ["emu:sm_90a", "emu:sm_80", "emu:sm_90a", "ptxsim", "cpu", "interpret"]
TOKEN = re.compile(r"\$\{:uid\}|[%$]?\w[\w.:]*|\s+|.", re.S)
KINDS = [
    re.compile(p)
    for p in (r"-?\d\w*$", r"[a-z]\w*[.][\w.:]+$", r"[$%]?[a-z]\w*$|\$\d$")
]
ODD = """
0 1 -1 2 4 7 8 16 31 32 33 64 96 128 255 256 0xffff 0xffff0000 0x7fffffff 4294967295
0x8000000000000000 0f7fc00001 0d7ff0000000000001 -2147483648 1e9 $0 $1 $2 $3 $$ %tid.x
%laneid %clock %cluster_ctarank %nosuch t at p q far state room bar lane mask _ {t,at}
[at] [$2] [$2+4] [room+2044] [far] !p t|p .pred .b64 .u8 .aligned .cta .shared .global
.sync .x4 .trans bar.sync bar.red.and.pred barrier.cluster.wait cp.async.wait_all
shfl.sync.up.b32 activemask.b32 ldmatrix.sync.aligned.m8n8.x1.shared.b16
movmatrix.sync.aligned.m8n8.trans.b16 redux.sync.add.s32 atom.shared.add.u32
mbarrier.inval.shared.b64 @p @!q { } ; , : [ ] + - . @ ! "a" // /* */ é
""".split()
SECONDS = 300  # by the clock, and machines are busy


ALONE = [
    "{ .reg .b32 t; .reg .pred p; setp.gt.s32 p, $1, 2; @p mul.lo.u32 t, $1, 7;"
    " @!p mov.b32 t, 5; prmt.b32 $0, t, $1, 0x5410; }",
    "{ .reg .f32 f, g; .reg .pred p; cvt.rn.f32.s32 f, $1; sqrt.rn.f32 g, f;"
    " fma.rn.f32 f, f, g, 0f3f800000; testp.nan.f32 p, f; @p bra OUT_${:uid};"
    " cvt.rzi.s32.f32 $0, f; OUT_${:uid}: bfe.u32 $0, $0, 2, 9; }",
    "{ .reg .b32 t; .reg .b64 w; ld.global.b32 t, [$2]; mul.wide.u32 w, t, $1;"
    " add.cc.u32 t, t, $1; addc.u32 $0, t, 1; cvt.u32.u64 t, w; st.global.b32 [$2], t; }",
    "{ .reg .b16 a, b; .reg .b32 t; mov.b32 {a, b}, $1; mov.b32 t, {b, a};"
    " cvt.rn.f16x2.f32 t, 0f3f800000, 0f40000000; fma.rn.relu.f16x2 $0, t, t, $1;"
    " atom.global.add.u32 t, [$2], $1; lop3.b32 $0, $0, t, $1, 0x96; }",
]


def texts() -> list[str]:
    import test_assembly_threads as threads
    import test_assembly_warps as warps

    matrices = []
    for op in ("ldmatrix", "stmatrix"):
        form = f"{op}.sync.aligned.m8n8.x4.shared.b16"
        row, regs = "[at]", "{t, at, t, at}"
        pair = (regs, row) if op == "ldmatrix" else (row, regs)
        matrices.append(f"{warps.START}{warps.ROOM}{form} {pair[0]}, {pair[1]}; }}")
    mma = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    regs = "{t, at, t, at}"
    matrices.append(f"{warps.START}{mma} {regs}, {regs}, {{t, at}}, {regs}; }}")
    return [
        *(text for text, _ in threads.CASES.values()),
        *(text for _, text, _ in warps.CASES.values()),
        *(text for text, _ in warps.FAULTS),
        *matrices,
        warps.SWAP,
        *ALONE,
    ]


def traded(rng: random.Random, tokens: list[str], other: list[str]) -> None:
    """A number, an opcode or a name becomes another, so that the text may still be read."""
    kind = rng.choice(KINDS)
    places = [i for i, t in enumerate(tokens) if kind.match(t)]
    words = [t for t in rng.choice([tokens, other, ODD]) if kind.match(t)]
    if places and words:
        tokens[rng.choice(places)] = rng.choice(words)


def damaged(rng: random.Random, tokens: list[str], other: list[str]) -> None:
    i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    k = rng.randrange(len(other))
    kind = rng.randrange(6)
    if kind == 0:
        del tokens[i : i + rng.choice([1, 1, 4])]
    elif kind == 1:
        tokens[i], tokens[j] = tokens[j], tokens[i]
    elif kind == 2:
        tokens[i] = rng.choice(ODD)
    elif kind == 3:
        tokens[i:i] = other[k : k + rng.choice([1, 5, 12])]
    elif kind == 4:
        tokens[i] = other[k]
    else:
        tokens[i:i] = tokens[j : j + rng.choice([1, 6, 20])]


def moved(rng: random.Random, tokens: list[str], other: list[str]) -> None:
    """A statement goes, or comes from elsewhere."""
    statements = "".join(tokens).split(";")
    i = rng.randrange(len(statements))
    if rng.random() < 0.4:
        del statements[i]
    else:
        statements.insert(
            i, rng.choice("".join(rng.choice([tokens, other])).split(";"))
        )
    tokens[:] = TOKEN.findall(";".join(statements))


def mutated(rng: random.Random, good: list[str]) -> str:
    tokens, other = (TOKEN.findall(rng.choice(good)) for _ in range(2))
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        rng.choice([traded, traded, traded, moved, moved, damaged])(rng, tokens, other)
        if not tokens:
            return ""
    return "".join(tokens)


def run_one(seed: int, good: list[str]) -> str:
    import simulated
    import test_assembly_warps as warps

    import tegula

    rng = random.Random(seed)
    target = rng.choice(TARGETS)
    text = mutated(rng, ALONE if target in ("cpu", "interpret") else good)
    if target == "ptxsim" and re.search("bra|_wait", text):
        target = "emu:sm_90a"  # it would look for the end of a loop for minutes
    x = np.arange(128, dtype=np.int32)
    with tegula.knobs.runtime.scope(), tegula.knobs.nvidia.scope():
        tegula.knobs.runtime.target = (
            None if target in ("ptxsim", "interpret") else target
        )
        tegula.knobs.runtime.interpret = target == "interpret"
        tegula.knobs.runtime.check_bounds = True
        if target == "ptxsim":
            tegula.knobs.nvidia.ptxas = "none"
            simulated.start()
        args = [
            simulated.put(a, "sm_90a") if target == "ptxsim" else a
            for a in (x, x.copy())
        ]
        try:
            warps.unary[(1,)](*args, ASM=text, N=128)
        except tegula.errors.TegulaError as e:
            code = re.search(r"Error\[(\w+)\]", str(e))
            is_bug = type(e).__name__ == "InternalError" or "bug" in str(e).lower()
            return f"{target}: {e}\n{text}" if is_bug else f"refused {code and code[1]}"
        except (RuntimeError, ValueError) as e:
            return "refused" if target == "ptxsim" else f"{target}: {e!r}\n{text}"
    return "ok"


def worker(first: int, end: int) -> None:
    faulthandler.enable()
    good = texts()
    for seed in range(first, end):
        print(f"seed {seed}", flush=True)
        said = run_one(seed, good)
        print(
            said if said.startswith(("ok", "refused")) else f"wrong {said}", flush=True
        )


def attempt(first: int, end: int) -> tuple[list[str], int]:
    """What went wrong with these seeds, and how many gave an answer."""
    wrong, n_ok = [], 0
    while first < end:
        with tempfile.TemporaryDirectory() as cache:
            env = dict(os.environ, TEGULA_CACHE_DIR=cache)
            env["PYTHONPATH"] = (
                f"{ROOT / 'python'}{os.pathsep}{env.get('PYTHONPATH', '')}"
            )
            command = [sys.executable, __file__, "worker", str(first), str(end)]
            try:
                p = subprocess.run(
                    command, capture_output=True, env=env, timeout=SECONDS
                )
                out, rc, err = p.stdout, p.returncode, p.stderr
            except subprocess.TimeoutExpired as e:
                out, rc, err = e.stdout or b"", -1, b"timeout"
        lines = out.decode(errors="replace").split("seed ")[1:]
        n_ok += sum(line.split("\n")[1] == "ok" for line in lines)
        wrong += [line for line in lines if "\nwrong " in line]
        if rc == 0:
            break
        first = int(lines[-1].split("\n")[0]) if lines else first
        wrong.append(f"{first}: {rc}\n{err.decode(errors='replace')[-2000:]}")
        first += 1
    return wrong, n_ok


if __name__ == "__main__":
    if sys.argv[1] == "worker":
        worker(int(sys.argv[2]), int(sys.argv[3]))
    else:
        bad, n = attempt(int(sys.argv[1]), int(sys.argv[2]))
        print(*bad, f"{n} ok, {len(bad)} wrong", sep="\n")
