"""Loads and stores in every form on every element type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from element_types import FORMATS, encode, is_float
from suite import ALL, Arg, Machine, make, numbers, result, same_bits

# What memory must hold after the body ran on x0 = a, n = 100 elements of 128 where masked.
# o: what x1 held before.
FORMS = {
    "plain": ("tl.store(x1 + i, tl.load(x0 + i))", lambda a, o, k: a),
    "masked": (
        "tl.store(x1 + i, tl.load(x0 + i, mask=i < 100))",
        lambda a, o, k: np.where(np.arange(128) < 100, a, np.zeros(1, a.dtype)),
    ),
    "other": (
        "tl.store(x1 + i, tl.load(x0 + i, mask=i < 100, other=1))",
        lambda a, o, k: np.where(np.arange(128) < 100, a, k),
    ),
    "other block": (
        "tl.store(x1 + i, tl.load(x0 + i, mask=i % 3 == 0, other=tl.load(x0 + 127 - i)))",
        lambda a, o, k: np.where(np.arange(128) % 3 == 0, a, a[::-1]),
    ),
    "store masked": (
        "tl.store(x1 + i, tl.load(x0 + i), mask=i % 5 < 3)",
        lambda a, o, k: np.where(np.arange(128) % 5 < 3, a, o),
    ),
    "scalar": (
        "tl.store(x1 + 3, tl.load(x0 + 7))\ntl.store(x1, tl.load(x0 + 9), mask=i_am_false)",
        lambda a, o, k: np.concatenate([o[:3], a[7:8], o[4:]]),
    ),
    "scalar splat": ("tl.store(x1 + i, tl.load(x0 + 5))", lambda a, o, k: np.full(128, a[5])),
    "scalar masked": (
        "tl.store(x1 + i, tl.load(x0 + 5, mask=i_am_false, other=1))",
        lambda a, o, k: np.full(128, k),
    ),
    "constant": ("tl.store(x1 + i, 1)", lambda a, o, k: np.full(128, k)),
    "mask True": (
        "tl.store(x1 + i, tl.load(x0 + i, mask=True), mask=True)", lambda a, o, k: a
    ),
    "strided": ("tl.store(x1 + i, tl.load(x0 + i * 77 % 128))", lambda a, o, k: a[np.arange(128) * 77 % 128]),
    "shifted": (
        "tl.store(x1 + i, tl.load(x0 + i + 1, mask=i < 127, other=1))",
        lambda a, o, k: np.append(a[1:], k),
    ),
    "scatter": ("tl.store(x1 + (i ^ 5), tl.load(x0 + i))", lambda a, o, k: a[np.arange(128) ^ 5]),
    "2-D": (
        "r = tl.arange(0, 8)[:, None]\nc = tl.arange(0, 16)[None, :]\n"
        "tl.store(x1 + r * 16 + c, tl.load(x0 + c * 8 + r, mask=(r < 7) & (c < 13), other=1))",
        lambda a, o, k: np.where(
            (np.arange(8)[:, None] < 7) & (np.arange(16) < 13), a.reshape(16, 8).T, k
        ).ravel(),
    ),
    "enlarged": (
        "r = tl.arange(0, 8)[:, None]\nc = tl.arange(0, 16)[None, :]\n"
        "tl.store(x1 + r * 16 + c, tl.load(x0 + c, mask=r < 5, other=1))",
        lambda a, o, k: np.where(np.arange(8)[:, None] < 5, a[None, :16], k).ravel(),
    ),
    "wide offsets": ("tl.store(x1 + i.to(tl.int64), tl.load(x0 + i.to(tl.uint8)))", lambda a, o, k: a),
    "negative": (
        "tl.store(x1 + i, tl.load(x0 + 127 + -i))", lambda a, o, k: a[::-1]
    ),
    "reordered": (
        "y = tl.load(x0 + i)\ntl.debug_barrier()\ntl.store(x0 + i, tl.load(x0 + (i ^ 1)))\n"
        "tl.debug_barrier()\ntl.store(x1 + i, y)",
        lambda a, o, k: a,
    ),
}  # fmt: skip
for modifier in (".ca", ".cg", ".cv"):
    FORMS[f"load {modifier}"] = (
        f'tl.store(x1 + i, tl.load(x0 + i, mask=i < 100, other=1, cache_modifier="{modifier}"))',
        FORMS["other"][1],
    )
for modifier in (".wb", ".cg", ".cs", ".wt"):
    FORMS[f"store {modifier}"] = (
        f'tl.store(x1 + i, tl.load(x0 + i), mask=i % 5 < 3, cache_modifier="{modifier}")',
        FORMS["store masked"][1],
    )
for policy in ("evict_first", "evict_last"):
    FORMS[policy] = (
        f'x = tl.load(x0 + i, mask=i < 100, other=1, eviction_policy="{policy}")\n'
        f'tl.store(x1 + i, x, eviction_policy="{policy}")',
        FORMS["other"][1],
    )
for level in ("L1", "L2"):
    FORMS[f"prefetch {level}"] = (
        "tl.prefetch(x0 + i * 1000000, mask=i_am_false)\n"
        f'tl.prefetch(x0 + (i ^ 5), mask=i < 100, level="{level}")\n'
        f'tl.prefetch(x0, level="{level}")\ntl.store(x1 + i, tl.load(x0 + i))',
        lambda a, o, k: a,
    )
FORMS["volatile"] = (
    "tl.store(x1 + i, tl.load(x0 + i, mask=i < 100, other=1, volatile=True))",
    FORMS["other"][1],
)

CASES = [(f, t) for f in FORMS for t in ALL]


@pytest.mark.parametrize("form,dtype", CASES, ids=[f"{f}-{t}" for f, t in CASES])
def test_form(machine: Machine, rng: Any, form: str, dtype: str) -> None:
    text, want = FORMS[form]
    if dtype in FORMATS and dtype != "bfloat16":
        # An integer literal does not become eight bits of a float.
        text = text.replace("other=1", "other=1.0").replace(
            "x1 + i, 1)", "x1 + i, 1.0)"
        )
    x = numbers(rng, dtype, 128)
    before = numbers(rng, dtype, 128)
    one = encode(np.ones(1), dtype)[0]
    body = (
        "i = tl.arange(0, 128)\ni_am_false = tl.load(x0 + 1) != tl.load(x0 + 1)\n"
        + text
    )
    if is_float(dtype):
        x[1] = encode(1.0, dtype)
    warps = (1, 4, 8)[sum(map(ord, form + dtype)) % 3]
    got = machine.run(
        body, Arg(x, dtype), Arg(before, dtype), options={"num_warps": warps}
    )
    same_bits(got[1], want(x, before, one), dtype)


@pytest.mark.parametrize("dtype", ALL)
def test_tail(machine: Machine, rng: Any, dtype: str) -> None:
    """Programs over a length that no block divides, and that no vector divides."""
    n = 333
    x = numbers(rng, dtype, n)
    body = """
i = tl.program_id(0) * 64 + tl.arange(0, 64)
tl.store(x1 + i, tl.load(x0 + i, mask=i < N), mask=i < N)
"""
    got = machine.run(body, Arg(x, dtype), result(dtype, n), grid=(6,), N=n)[1]
    same_bits(got, x, dtype)


def test_bool_is_any_bit(machine: Machine) -> None:
    """A bool in memory is true when its byte is not 0; stores write 0 or 1."""
    x = np.array([0, 1, 2, 255, 128, 0, 7, 1], np.uint8)
    body = """
i = tl.arange(0, 8)
b = tl.load(x0.to(tl.pointer_type(tl.int1)) + i)
tl.store(x1 + i, b.to(tl.int32) * 10)
tl.store(x2 + i, b)
"""
    got = machine.run(body, Arg(x, "uint8"), result("int32", 8), result("int1", 8))
    np.testing.assert_array_equal(got[1], (x != 0) * 10)
    np.testing.assert_array_equal(got[2].view(np.uint8), x != 0)


def test_loaded_pointers(machine: Machine) -> None:
    """Pointers are 64-bit integers in memory."""
    x, y = np.arange(8, dtype=np.float32), np.arange(8, dtype=np.float32) + 100
    body = """
i = tl.arange(0, 8)
p = tl.load(x0 + tl.program_id(0)).to(tl.pointer_type(tl.float32))
tl.store(x1 + tl.program_id(0) * 8 + i, tl.load(p + i))
# The bounds of what may be read are those of the arguments.
tl.static_assert(x2.dtype == x3.dtype)
"""
    kernel = make(body, ("int64", *("float32",) * 3), "", ())
    x, y, out = (machine.put(v) for v in (x, y, np.zeros(16, np.float32)))
    table = machine.put(np.array([machine.address(x), machine.address(y)]))
    kernel[(2,)](table, out, x, y)
    want = np.concatenate([machine.get(x), machine.get(y)])
    np.testing.assert_array_equal(machine.get(out), want)


@pytest.mark.parametrize("axis", (0, 1, 2))
def test_program_id(machine: Machine, axis: int) -> None:
    body = f"""
flat = (tl.program_id(2) * 2 + tl.program_id(1)) * 3 + tl.program_id(0)
tl.store(x0 + flat, tl.program_id({axis}))
tl.store(x1 + flat, tl.num_programs({axis}))
"""
    grid = (3, 2, 4)
    got = machine.run(body, result("int32", 24), result("int32", 24), grid=grid)
    ids = np.indices(grid[::-1])[2 - axis].ravel()
    np.testing.assert_array_equal(got[0], ids)
    np.testing.assert_array_equal(got[1], grid[axis])
