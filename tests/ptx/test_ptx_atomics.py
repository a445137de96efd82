"""Which instruction an atomic becomes: vectors, pairs, loops; red where nobody asks for
the old value; fences around many. All of it assembles."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from test_gate import PTXAS

import tegula
import tegula.language as tl

SEMS = ("relaxed", "acquire", "release", "acq_rel")
WORDS = ("i32", "i64", "u32", "u64")
HAVE = {
    "add": (*WORDS, "fp16", "bf16", "fp32", "fp64"),
    "max": (*WORDS, "fp32", "fp64"),
    "min": (*WORDS, "fp32", "fp64"),
    "and": WORDS,
    "or": WORDS,
    "xor": WORDS,
    "xchg": (*WORDS, "fp32", "fp64"),
}


@tegula.jit
def rmw_kernel(
    out,
    x,
    n,
    OP: tl.constexpr,
    SEM: tl.constexpr,
    SCOPE: tl.constexpr,
    USED: tl.constexpr,
    MASK: tl.constexpr,
):
    i = tl.program_id(0) * 1024 + tl.arange(0, 1024)
    v = tl.load(x + i)
    m = i < n if MASK else None
    old = getattr(tl, "atomic_" + OP)(out + i, v, mask=m, sem=SEM, scope=SCOPE)
    if USED:
        tl.store(x + i, old)


def ptx(dtype: str, target: str, n: str = "i32:16", **options: object) -> str:
    """Of an atomic on 8 neighbours a thread."""
    given = {"OP": "add", "SEM": "relaxed", "SCOPE": "gpu", "USED": False, "MASK": True}
    p = f"*{dtype}:16"
    with tegula.knobs.nvidia.scope():
        tegula.knobs.nvidia.ptxas = "none"
        c = rmw_kernel.compile(p, p, n, **(given | options), target=f"cuda:{target}")
    return c.asm["ptx"]


def counted(text: str) -> dict[str, int]:
    """The atomics and fences in it, by name."""
    found = re.findall(r"\b((?:red|atom|fence)\.[\w.:]+)", text)
    return {w: found.count(w) for w in sorted(set(found))}


ADDS = {
    ("fp32", "sm_75"): {"red.relaxed.gpu.global.add.f32": 8},
    ("fp32", "sm_90a"): {"red.relaxed.gpu.global.add.v4.f32": 2},
    ("fp16", "sm_75"): {"red.relaxed.gpu.global.add.noftz.f16x2": 4},
    ("fp16", "sm_90a"): {"red.relaxed.gpu.global.add.noftz.v4.f16x2": 1},
    ("bf16", "sm_80"): {"atom.relaxed.gpu.global.cas.b32": 4},
    ("bf16", "sm_90a"): {"red.relaxed.gpu.global.add.noftz.v4.bf16x2": 1},
    ("i32", "sm_90a"): {"red.relaxed.gpu.global.add.u32": 8},
    ("fp64", "sm_100a"): {"red.relaxed.gpu.global.add.f64": 8},
}


@pytest.mark.parametrize("dtype,target", ADDS, ids="-".join)
def test_neighbours(dtype: str, target: str) -> None:
    assert counted(ptx(dtype, target)) == ADDS[dtype, target]
    used = counted(ptx(dtype, target, USED=True))
    want = {k.replace("red.", "atom."): n for k, n in ADDS[dtype, target].items()}
    assert used == want


@pytest.mark.parametrize("dtype", ("fp16", "bf16"))
def test_pairs_under_two_masks(dtype: str) -> None:
    """n may be odd: both together, or one alone."""
    one = "red.relaxed.gpu.global.add.noftz." + {"fp16": "f16"}.get(dtype, dtype)
    assert counted(ptx(dtype, "sm_90a", n="i32")) == {one + "x2": 4, one: 8}


@pytest.mark.parametrize("sem", SEMS)
def test_order_of_many(sem: str) -> None:
    """Two fences and not one in each of eight; where there are few, each has its own."""
    got = counted(ptx("i32", "sm_90a", SEM=sem, SCOPE="sys"))
    n_fences = {"relaxed": 0, "acquire": 1, "release": 1, "acq_rel": 2}[sem]
    assert got.pop("fence.acq_rel.sys", 0) == n_fences
    assert got == {"red.relaxed.sys.global.add.u32": 8}
    few = counted(ptx("fp16", "sm_90a", SEM=sem))
    word = "red" if sem in ("relaxed", "release") else "atom"
    assert few == {f"{word}.{sem}.gpu.global.add.noftz.v4.f16x2": 1}


@pytest.mark.parametrize("target", ("sm_75", "sm_80", "sm_90a", "sm_100a", "sm_120a"))
def test_all_assemble(tmp_path: Path, target: str) -> None:
    n = 0
    for op, types in HAVE.items():
        for dtype in types:
            sem, scope = SEMS[n % 4], ("gpu", "cta", "sys")[n % 3]
            options = {"OP": op, "SEM": sem, "SCOPE": scope, "MASK": n % 5 > 0}
            for used in (False, True):
                size = "i32:16" if n % 2 else "i32"
                text = ptx(dtype, target, size, USED=used, **options)
                (tmp_path / f"{n}.ptx").write_text(text)
                n += 1
    out = tmp_path / "cubin"
    for file in tmp_path.glob("*.ptx"):
        command = [PTXAS, f"-arch={target}", "-O0", "-o", out, file]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, f"{file.read_text()}\n{done.stdout}{done.stderr}"
