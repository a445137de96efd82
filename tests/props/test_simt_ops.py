"""The GPU code of one op at a time, on the emulator, against the interpreter.

Shapes below, at and above the number of threads; one to eight warps; several chips,
because they differ in what their tensor cores take. ``tirc check`` compares buffers.
"""

from __future__ import annotations

import itertools
import re
import subprocess
from pathlib import Path

import pytest
import tirgen

TIRC = Path(__file__).parents[2] / "build" / "tirc"
WARPS = [1, 2, 4, 8]


def check(text: str, warps: int, target: str = "emu:90a", error: str = "1e-5") -> None:
    if not TIRC.is_file():
        pytest.fail("build/tirc is missing: make tirc")
    args = [
        str(TIRC),
        "-t",
        target,
        "-w",
        str(warps),
        "-e",
        error,
        "tile,simt,check",
        "-",
    ]
    done = subprocess.run(args, input=text, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{text}\n{' '.join(args)}\n{done.stdout}{done.stderr}"


SHAPES = [
    ([1], 0), ([2], 0), ([32], 0), ([128], 0), ([4096], 0), ([4, 8], 0), ([4, 8], 1),
    ([64, 32], 0), ([64, 32], 1), ([1, 256], 0), ([256, 1], 1), ([8, 4, 16], 1),
    ([8, 16, 4], 0), ([2, 4, 64], 2),
]  # fmt: skip


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize("combine", ["add", "max", "first", "argmax"])
def test_reduce(combine: str, warps: int) -> None:
    elems = itertools.cycle(["f32", "i32", "f16", "bf16", "i64", "i8", "f64", "u16"])
    start = WARPS.index(warps) % 2  # each shape with half of the widths
    for (shape, axis), elem in zip(SHAPES[start::2], elems, strict=False):
        check(tirgen.reduction(elem, shape, axis, combine), warps)


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("combine", ["add", "affine"])
def test_scan(combine: str, reverse: bool, warps: int) -> None:
    elems = itertools.cycle(["i32", "i64", "u16"])
    start = (WARPS.index(warps) + reverse) % 2
    for (shape, axis), elem in zip(SHAPES[start::2], elems, strict=False):
        check(tirgen.scan(elem, shape, axis, reverse, combine), warps)


SIZES = [
    (1, 1, 1), (16, 8, 16), (16, 16, 32), (32, 32, 32), (8, 16, 32), (16, 4, 16),
    (32, 64, 8), (64, 64, 32), (128, 16, 64), (16, 128, 16),
]  # fmt: skip


@pytest.mark.parametrize("target", ["emu:75", "emu:80", "emu:89", "emu:90a"])
@pytest.mark.parametrize(
    ("elem", "acc"),
    [("f16", "f32"), ("f16", "f16"), ("bf16", "f32"), ("f32", "f32"), ("i8", "i32"),
     ("f8e4m3", "f32"), ("f8e5m2", "f32"), ("f64", "f64")],
)  # fmt: skip
def test_dot(elem: str, acc: str, target: str) -> None:
    precisions = itertools.cycle(["tf32", "tf32x3", "ieee"])
    cases = list(zip(SIZES, itertools.cycle(WARPS), precisions, strict=False))
    for i, (size, warps, precision) in enumerate(cases[int(target[4:6]) % 2 :: 2]):
        text = tirgen.dot(elem, acc, size, precision, transposed=i % 3 == 1)
        check(text, warps, target, "1e-4")


@pytest.mark.parametrize("elem", ["f16", "f32", "f64"])
def test_batched_dot(elem: str) -> None:
    acc = "f64" if elem == "f64" else "f32"
    check(tirgen.dot(elem, acc, (32, 32, 32), batch=4), 4, error="1e-4")
    check(tirgen.dot(elem, acc, (4, 4, 8), batch=2, transposed=True), 2, error="1e-4")


SMALL = [
    (1, 1, 1), (1, 8, 16), (1, 64, 64), (2, 16, 4), (4, 2, 8), (8, 8, 8), (8, 64, 32),
    (16, 1, 2), (16, 2, 16), (32, 4, 1), (64, 1, 64), (16, 16, 4), (64, 32, 8),
]  # fmt: skip


@pytest.mark.parametrize("target", ["emu:75", "emu:80", "emu:89", "emu:90a"])
@pytest.mark.parametrize("elem", ["f16", "bf16", "f32", "i8", "f8e4m3", "f64"])
def test_dot_smaller_than_an_instruction(elem: str, target: str) -> None:
    """Lanes hold copies; along K zeros fill up."""
    acc = {"i8": "i32", "f64": "f64"}.get(elem, "f32")
    for i, size in enumerate(SMALL):
        batch = 2 if i % 4 == 3 else 0
        text = tirgen.dot(elem, acc, size, "tf32x3", batch, transposed=i % 3 == 1)
        check(text, WARPS[i % 4], target, "1e-4")


@pytest.mark.parametrize("target", ["emu:80", "emu:90a", "emu:100a"])
def test_f64_dot_is_a_chain_of_multiply_adds(target: str) -> None:
    """In the order of k, as the interpreter: not one bit differs."""
    for i, size in enumerate([(16, 8, 4), (32, 16, 64), (64, 64, 16), (8, 8, 32)]):
        check(tirgen.dot("f64", "f64", size), WARPS[i], target, "0")


def test_mixed_float8() -> None:
    for target in ("emu:80", "emu:89", "emu:90a", "emu:120a"):
        for a, b in (("f8e4m3", "f8e5m2"), ("f8e5m2", "f8e4m3")):
            for size in ((16, 8, 16), (32, 16, 32), (64, 64, 64)):
                check(tirgen.dot(a, "f32", size, b_elem=b), 4, target, "1e-4")


def test_dot_whose_operands_come_in_chunks() -> None:
    check(tirgen.dot("f64", "f64", (64, 64, 128)), 4, error="1e-6")
    check(tirgen.dot("f32", "f32", (128, 64, 128), "ieee"), 8, "emu:75", "1e-4")


@pytest.mark.parametrize("warps", WARPS)
def test_gather(warps: int) -> None:
    for elem in ("f32", "i8", "i64", "i1"):
        check(tirgen.gather(elem, [64], [128], 0), warps)
        check(tirgen.gather(elem, [16, 32], [16, 8], 1), warps)
        check(tirgen.gather(elem, [16, 32], [64, 32], 0), warps)


@pytest.mark.parametrize("warps", WARPS)
def test_histogram(warps: int) -> None:
    for elem, n, bins in (
        ("i32", 256, 16),
        ("u8", 1024, 128),
        ("i8", 64, 256),
        ("i64", 16, 2),
    ):
        check(tirgen.histogram(elem, n, bins, masked=warps % 4 == 0), warps)


@pytest.mark.parametrize(
    ("elem", "warps"), [("f32", 4), ("f16", 1), ("i8", 2), ("i64", 8), ("i1", 4)]
)
def test_layout_changes(elem: str, warps: int) -> None:
    for shape in ([64], [16, 8], [2, 4, 8], [128, 64]):
        for perm in itertools.permutations(range(len(shape))):
            check(tirgen.transpose(elem, shape, perm), warps)
        check(tirgen.join_and_split(elem, shape), warps)


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize(
    ("elem", "rmw"),
    [("i32", "add"), ("i64", "max"), ("u32", "min"), ("f32", "add"), ("f32", "max"),
     ("f64", "min"), ("f16", "add"), ("bf16", "add"), ("i32", "xor"), ("u64", "and"),
     ("f16", "max"), ("bf16", "min")],
)  # fmt: skip
def test_atomics_act_once(elem: str, rmw: str, warps: int) -> None:
    check(tirgen.atomic(elem, 256, 16, rmw), warps)
    check(tirgen.atomic(elem, 16, 16, rmw), warps)
    if rmw == "add":
        check(tirgen.scalar_atomic(elem), warps)


@pytest.mark.parametrize(
    "op", ["exp", "exp2", "log", "log2", "sin", "cos", "tanh", "erf"]
)
def test_f64_math_has_no_libm(op: str) -> None:
    check(tirgen.elementwise(op, "f64", 1), 4, error="1e-14")


LARGE = """// ARG: [random 32768 5]
// ARG: [0 x 32768]
func @f(%p: ptr<i32>, %q: ptr<i32>) {
  %i = arange {start=0, end=32768} : i32[32768]
  %s = splat %p : ptr<i32>[32768]
  %a = addptr %s, %i : ptr<i32>[32768]
  %t = splat %q : ptr<i32>[32768]
  %v = addptr %t, %i : ptr<i32>[32768]
  %x = load %a : i32[32768]
  %seven = const splat(7) : i32[32768]
  %three = const splat(3) : i32[32768]
  %d = div %x, %seven : i32[32768]
  %e = rem %d, %three : i32[32768]
  %f = add %e, %x : i32[32768]
  %g = gather %f, %i {axis=0} : i32[32768]
  store %v, %g
  %h = gather %e, %i {axis=0} : i32[32768]
  store %v, %h
  %k = gather %x, %i {axis=0} : i32[32768]
  store %v, %k
  return
}
"""


def test_gathers_piece_by_piece() -> None:
    """Blocks of 1024 registers a thread lie in local memory: gathers have 32 at a time."""

    def tirc(word: str) -> str:
        return subprocess.run(
            [TIRC, "-t", "emu:80", "-w", "1", word, "-"],
            input=LARGE, capture_output=True, text=True, timeout=600, check=True,
        ).stdout  # fmt: skip

    tirc("tile,simt,check")
    ptx = tirc("tile,simt,ptx")
    assert ptx.count("\n") < 3000
    (local,) = re.findall(r"__local_depot0\[(\d+)\]", ptx)
    assert int(local) <= 5 * 4096


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", range(24))
def test_random_kernels(seed: int) -> None:
    warps, target = WARPS[seed % 4], ["emu:75", "emu:80", "emu:90a"][seed % 3]
    args = [
        str(TIRC),
        "-t",
        target,
        "-w",
        str(warps),
        "--random",
        str(seed),
        "-n",
        "80",
    ]
    done = subprocess.run(
        [*args, "tile,simt,check"], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, f"{' '.join(args)}\n{done.stdout}{done.stderr}"
