"""What moves elements about, and what makes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from element_types import encode
from suite import ALL, Arg, Machine, index, numbers, result, same_bits

# name -> shape of x (and of y), what z is, and what NumPy makes of it
MOVES = {
    "reshape": ((4, 32), "tl.reshape(x, (8, 2, 8))", lambda x, y: x.reshape(8, 2, 8)),
    "reshape method": ((128,), "x.reshape(2, 64)", lambda x, y: x.reshape(2, 64)),
    "reshape to 1": ((16, 8), "tl.reshape(x, (1, 128, 1))", lambda x, y: x.reshape(1, 128, 1)),
    "ravel": ((2, 4, 8), "tl.ravel(x)", lambda x, y: x.ravel()),
    "trans": ((4, 64), "tl.trans(x)", lambda x, y: x.T),
    "T": ((32, 8), "x.T", lambda x, y: x.T),
    "trans 3-D": ((2, 4, 16), "tl.trans(x)", lambda x, y: x.swapaxes(1, 2)),
    "permute": ((2, 4, 16), "tl.permute(x, (2, 0, 1))", lambda x, y: x.transpose(2, 0, 1)),
    "permute 4-D": ((2, 4, 8, 4), "tl.permute(x, 3, 1, 0, 2)", lambda x, y: x.transpose(3, 1, 0, 2)),
    "trans dims": ((8, 1, 32), "tl.trans(x, 1, 2, 0)", lambda x, y: x.transpose(1, 2, 0)),
    "expand_dims": ((64,), "tl.expand_dims(x, 0)", lambda x, y: x[None]),
    "expand_dims many": ((8, 4), "tl.expand_dims(x, [0, -1])", lambda x, y: x[None, :, :, None]),
    "index None": ((64,), "x[:, None]", lambda x, y: x[:, None]),
    "broadcast_to": ((1, 32), "tl.broadcast_to(x, (8, 32))", lambda x, y: np.broadcast_to(x, (8, 32))),
    "broadcast_to 3-D": ((4, 1, 1), "tl.broadcast_to(x, 4, 8, 2)", lambda x, y: np.broadcast_to(x, (4, 8, 2))),
    "join": ((64,), "tl.join(x, y)", lambda x, y: np.stack([x, y], -1)),
    "join 2-D": ((4, 8), "tl.join(x, y)", lambda x, y: np.stack([x, y], -1)),
    "split left": ((16, 4, 2), "tl.split(x)[0]", lambda x, y: x[..., 0]),
    "split right": ((64, 2), "tl.split(x)[1]", lambda x, y: x[..., 1]),
    "interleave": ((32,), "tl.interleave(x, y)", lambda x, y: np.stack([x, y], -1).reshape(64)),
    "interleave 2-D": ((4, 16), "tl.interleave(x, y)", lambda x, y: np.stack([x, y], -1).reshape(4, 32)),
    "cat": ((64,), "tl.cat(x, y)", lambda x, y: np.concatenate([x, y])),
    "cat dim 0": ((4, 8), "tl.cat(x, y, dim=0)", lambda x, y: np.concatenate([x, y], 0)),
    "cat dim 1": ((4, 8), "tl.cat(x, y, dim=1)", lambda x, y: np.concatenate([x, y], 1)),
    "full": ((1,), "tl.full((4, 8), 1, x.dtype)", lambda x, y: np.full((4, 8), encode(1, "int8"))),
    "zeros_like": ((8, 4), "tl.zeros_like(x)", lambda x, y: np.zeros((8, 4))),
    "reshape plain": ((24, 4), "tl.reshape(x, (96,))", lambda x, y: x.ravel()),
    "reshape plain back": ((5, 96, 2), "x.reshape(5, 3, 64)", lambda x, y: x.reshape(5, 3, 64)),
    "reshape moved": ((96,), "tl.reshape(x, (4, 24))", lambda x, y: x.reshape(4, 24)),
    "reshape moved back": ((6, 10), "x.reshape(4, 15)", lambda x, y: x.reshape(4, 15)),
    "reshape 3-D": ((3, 5, 7), "x.reshape(7, 15)", lambda x, y: x.reshape(7, 15)),
    "ravel odd": ((3, 1, 7), "tl.ravel(x)", lambda x, y: x.ravel()),
    "trans odd": ((3, 100), "tl.trans(x)", lambda x, y: x.T),
    "permute odd": ((3, 4, 5), "tl.permute(x, (2, 0, 1))", lambda x, y: x.transpose(2, 0, 1)),
    "broadcast_to odd": ((1, 7), "tl.broadcast_to(x, (5, 7))", lambda x, y: np.broadcast_to(x, (5, 7))),
    "join odd": ((7,), "tl.join(x, y)", lambda x, y: np.stack([x, y], -1)),
    "split odd": ((5, 3, 2), "tl.split(x)[1]", lambda x, y: x[..., 1]),
    "interleave odd": ((3, 5), "tl.interleave(x, y)", lambda x, y: np.stack([x, y], -1).reshape(3, 10)),
    "cat odd": ((48,), "tl.cat(x, y)", lambda x, y: np.concatenate([x, y])),
    "cat dim 0 odd": ((3, 5), "tl.cat(x, y, dim=0)", lambda x, y: np.concatenate([x, y], 0)),
    "cat dim 1 odd": ((3, 5), "tl.cat(x, y, dim=1)", lambda x, y: np.concatenate([x, y], 1)),
    "resize": ((5, 12), "tl.resize(x, (3, 12))", lambda x, y: x[:3]),
    "resize free": ((7, 12), "tl.resize(x, (5, 10))", lambda x, y: x[:5, :10]),
    "resize of powers": ((16, 4), "tl.resize(x, (4, 2))", lambda x, y: x[:4, :2]),
    "resize up": ((3, 12), "tl.resize(x, (9, 16))", lambda x, y: np.pad(x, ((0, 6), (0, 4)))),
    "slice": ((5, 100), "x[1:4, :96]", lambda x, y: x[1:4, :96]),
    "slice steps": ((100,), "x[90:3:-7]", lambda x, y: x[90:3:-7]),
    "slice of powers": ((64,), "x[:48]", lambda x, y: x[:48]),
    "row": ((5, 24), "x[3]", lambda x, y: x[3]),
    "column": ((5, 24), "x[:, -1]", lambda x, y: x[:, -1]),
    "zeros odd": ((3, 5), "tl.zeros_like(x)", lambda x, y: np.zeros((3, 5))),
}  # fmt: skip
CASES = [(m, t) for m in MOVES for t in ALL]


@pytest.mark.parametrize("move,dtype", CASES, ids=["-".join(c) for c in CASES])
def test_move(machine: Machine, rng: Any, move: str, dtype: str) -> None:
    shape, text, reference = MOVES[move]
    x, y = numbers(rng, dtype, shape), numbers(rng, dtype, shape)
    if move == "full":
        want = encode(np.ones((4, 8)), dtype)
        text = text.replace(" 1,", " 1.0,") if dtype.startswith("float") else text
    else:
        want = reference(x, y).astype(x.dtype)
    body = f"""
i = {index(shape)}
x = tl.load(x0 + i)
y = tl.load(x1 + i)
z = {text}
tl.store(x2 + {index(want.shape)}, z)
"""
    warps = (1, 4, 8)[sum(map(ord, move + dtype)) % 3]
    args = Arg(x, dtype), Arg(y, dtype), result(dtype, want.shape)
    got = machine.run(body, *args, options={"num_warps": warps})[2]
    same_bits(got, want, dtype)


def test_cat_in_any_order(machine: Machine) -> None:
    x = np.arange(64, dtype=np.int32)
    body = """
i = tl.arange(0, 64)
x = tl.load(x0 + i)
tl.store(x1 + tl.arange(0, 128), tl.cat(x, x + 64, can_reorder=True))
"""
    got = machine.run(body, Arg(x, "int32"), result("int32", 128))[1]
    np.testing.assert_array_equal(np.sort(got), np.arange(128))


def test_scalars(machine: Machine) -> None:
    """Joined, split, expanded, made items of."""
    body = """
a = tl.load(x0)
b = tl.load(x0 + 1)
tl.store(x1 + tl.arange(0, 2), tl.join(a, b))
p, q = tl.split(tl.join(b, a))
tl.store(x1 + 2, p)
tl.store(x1 + 3, q)
tl.store(x1 + 4 + tl.arange(0, 1), a[None])
tl.store(x1 + 5, tl.reshape(tl.load(x0 + tl.arange(0, 1)), ()))
tl.store(x1 + 6, tl.load(x0 + 1 + tl.arange(0, 1)).item())
tl.store(x1 + 7, tl.full([], 9, tl.int32))
"""
    x = Arg(np.array([3, 4], np.int32), "int32")
    got = machine.run(body, x, result("int32", 8))[1]
    np.testing.assert_array_equal(got, [3, 4, 4, 3, 3, 3, 4, 9])


@pytest.mark.parametrize(
    "start,end",
    (
        (0, 3),
        (7, 107),
        (0, 96),
        (2**32 - 6, 2**32 - 1),
        (0, 1),
        (5, 6),
        (0, 1024),
        (100, 228),
        (2**31, 2**31 + 8),
    ),
)
def test_arange(machine: Machine, start: int, end: int) -> None:
    n = end - start
    body = f"tl.store(x0 + tl.arange(0, {n}), tl.arange({start}, {end}))"
    got = machine.run(body, result("int32", n))[0]
    np.testing.assert_array_equal(
        got, np.arange(start, end).astype(np.uint32).view(np.int32)
    )


def test_swizzle2d(machine: Machine) -> None:
    body = """
i, j = tl.swizzle2d(tl.program_id(0), tl.program_id(1), tl.num_programs(0), tl.num_programs(1), 2)
tl.store(x0 + i * tl.num_programs(1) + j, tl.program_id(0) * tl.num_programs(1) + tl.program_id(1))
"""
    got = machine.run(body, result("int32", (5, 4)), grid=(5, 4))[0]
    # Down a column of two rows, then the next column; the last group has one row.
    want = [
        [0, 2, 4, 6],
        [1, 3, 5, 7],
        [8, 10, 12, 14],
        [9, 11, 13, 15],
        [16, 17, 18, 19],
    ]
    np.testing.assert_array_equal(got, want)
