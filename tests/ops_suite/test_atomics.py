"""Atomics: every operation on every type it has, in every order and scope; old values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from element_types import encode, is_float, storage
from suite import Arg, Machine, decode, result, same_bits

import tegula

WORDS = ("int32", "int64", "uint32", "uint64")
HAVE = {
    "add": (*WORDS, "float16", "bfloat16", "float32", "float64"),
    "max": (*WORDS, "float32", "float64"),
    "min": (*WORDS, "float32", "float64"),
    "and": WORDS,
    "or": WORDS,
    "xor": WORDS,
    "xchg": (*WORDS, "float32", "float64"),
}
DO = {
    "add": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "xchg": lambda a, b: b,
}
ORDERS = [
    (s, c)
    for s in ("acquire", "release", "acq_rel", "relaxed")
    for c in ("gpu", "cta", "sys")
]
CASES = [(op, t) for op, types in HAVE.items() for t in types]
ids = ["-".join(c) for c in CASES]


def whole(rng: Any, dtype: str, n: int) -> np.ndarray:
    """Small whole numbers: sums of them are exact in any order."""
    low = 0 if dtype[0] == "u" else -8
    return encode(rng.integers(low, 9, n), dtype)


@pytest.mark.parametrize("op,dtype", CASES, ids=ids)
def test_distinct(machine: Machine, rng: Any, op: str, dtype: str) -> None:
    """Each element has a place of its own; some are masked off."""
    memory, x = whole(rng, dtype, 128), whole(rng, dtype, 128)
    sem, scope = ORDERS[sum(map(ord, op + dtype)) % len(ORDERS)]
    body = f"""
i = tl.arange(0, 128)
old = tl.atomic_{op}(x0 + i, tl.load(x1 + i), mask=i % 7 != 2, sem="{sem}", scope="{scope}")
tl.store(x2 + i, old, mask=i % 7 != 2)
"""
    got = machine.run(body, Arg(memory, dtype), Arg(x, dtype), result(dtype, 128))
    a, b = decode(memory, dtype), decode(x, dtype)
    on = np.arange(128) % 7 != 2
    same_bits(got[0], encode(np.where(on, DO[op](a, b), a), dtype), dtype)
    same_bits(got[2], np.where(on, memory, result(dtype, 128).data), dtype)


@pytest.mark.parametrize("used", [False, True], ids=["red", "atom"])
@pytest.mark.parametrize("n", [256, 200, 133])
@pytest.mark.parametrize("dtype", HAVE["add"])
def test_rows(machine: Machine, rng: Any, dtype: str, n: int, used: bool) -> None:
    """Neighbours in one access, where GPUs have that; an odd row ends inside of a pair."""
    memory, x = whole(rng, dtype, 256), whole(rng, dtype, 256)
    sem, scope = ORDERS[(sum(map(ord, dtype)) + n) % len(ORDERS)]
    body = f"""
i = tl.arange(0, 256)
old = tl.atomic_add(x0 + i, tl.load(x1 + i), mask=i < {n}, sem="{sem}", scope="{scope}")
"""
    body += f"tl.store(x2 + i, old, mask=i < {n})\n" if used else ""
    got = machine.run(body, Arg(memory, dtype), Arg(x, dtype), result(dtype, 256))
    on = np.arange(256) < n
    want = np.where(on, decode(memory, dtype) + decode(x, dtype), decode(memory, dtype))
    same_bits(got[0], encode(want, dtype), dtype)
    if used:
        same_bits(got[2], np.where(on, memory, result(dtype, 256).data), dtype)


@pytest.mark.parametrize("op,dtype", [c for c in CASES if c[0] != "xchg"])
def test_contended(machine: Machine, rng: Any, op: str, dtype: str) -> None:
    """512 elements of 2 programs in 8 places; the results of any order are the same."""
    memory, x = whole(rng, dtype, 8), whole(rng, dtype, 512)
    if op == "add":
        x = encode(decode(x, dtype) // 4, dtype)  # 16-bit sums stay exact
    body = f"""
i = tl.program_id(0) * 256 + tl.arange(0, 256)
tl.atomic_{op}(x0 + i % 8, tl.load(x1 + i))
"""
    got = machine.run(body, Arg(memory, dtype), Arg(x, dtype), grid=(2,))[0]
    want = decode(memory, dtype)
    for row in decode(x, dtype).reshape(64, 8):
        want = DO[op](want, row)
    same_bits(got, encode(want, dtype), dtype)


@pytest.mark.parametrize("sem,scope", ORDERS, ids=["-".join(o) for o in ORDERS])
def test_tickets(machine: Machine, sem: str, scope: str) -> None:
    """Everyone who adds one to a counter gets a number of their own; so does a scalar."""
    body = f"""
i = tl.arange(0, 128)
one = tl.full((128,), 1, tl.int32)
mine = tl.atomic_add(x0 + i * 0, one, sem="{sem}", scope="{scope}")
tl.store(x1 + tl.program_id(0) * 128 + i, mine)
tl.store(x2 + tl.program_id(0), tl.atomic_add(x0 + 1, 1, sem="{sem}", scope="{scope}"))
"""
    zero = Arg(np.zeros(2, np.int32), "int32")
    got = machine.run(body, zero, result("int32", 384), result("int32", 3), grid=(3,))
    np.testing.assert_array_equal(np.sort(got[1]), np.arange(384))
    np.testing.assert_array_equal(np.sort(got[2]), np.arange(3))
    np.testing.assert_array_equal(got[0], (384, 3))


@pytest.mark.parametrize("op,dtype", CASES, ids=ids)
def test_scalar(machine: Machine, rng: Any, op: str, dtype: str) -> None:
    memory = whole(rng, dtype, 2)
    memory[0] = encode(5, dtype)
    value = 6.0 if is_float(dtype) else 6
    body = f"""
old = tl.atomic_{op}(x0, {value})
tl.store(x1, old)
tl.atomic_{op}(x0 + 1, {value}, mask=old != old)
"""
    got = machine.run(body, Arg(memory, dtype), result(dtype, 1))
    want = memory.copy()
    want[0] = encode(
        DO[op](decode(memory[:1], dtype), decode(encode([6], dtype), dtype)), dtype
    )[0]
    same_bits(got[0], want, dtype)
    same_bits(got[1], memory[:1], dtype)


FLOAT_ORDER = [-np.inf, -2.5, -1.0, -0.5, 0.0, 0.25, 3.0, np.inf]


@pytest.mark.parametrize("dtype", ("float32", "float64"))
def test_float_min_max(machine: Machine, rng: Any, dtype: str) -> None:
    """By value, whatever the signs: not as the bits of integers would have it."""
    a, b = (np.array(v, dtype).ravel() for v in np.meshgrid(FLOAT_ORDER, FLOAT_ORDER))
    body = """
i = tl.arange(0, 64)
tl.atomic_max(x0 + i, tl.load(x2 + i))
tl.atomic_min(x1 + i, tl.load(x2 + i))
"""
    got = machine.run(body, Arg(a, dtype), Arg(a, dtype), Arg(b, dtype))
    np.testing.assert_array_equal(got[0], np.maximum(a, b))
    np.testing.assert_array_equal(got[1], np.minimum(a, b))


@pytest.mark.parametrize(
    "sem,scope", ORDERS[::5], ids=["-".join(o) for o in ORDERS[::5]]
)
@pytest.mark.parametrize(
    "dtype", (*WORDS, "int16", "uint16", "float16", "bfloat16", "float32", "float64")
)
def test_cas(machine: Machine, rng: Any, dtype: str, sem: str, scope: str) -> None:
    memory = whole(rng, dtype, 64)
    other = encode(3, dtype)
    cmp = np.where(np.arange(64) % 2 == 0, memory, other).astype(storage(dtype))
    new = whole(rng, dtype, 64)
    body = f"""
i = tl.arange(0, 64)
old = tl.atomic_cas(x0 + i, tl.load(x1 + i), tl.load(x2 + i), sem="{sem}", scope="{scope}")
tl.store(x3 + i, old)
"""
    got = machine.run(
        body, *(Arg(v, dtype) for v in (memory, cmp, new)), result(dtype, 64)
    )
    same_bits(got[3], memory, dtype)
    same_bits(got[0], np.where(memory == cmp, new, memory), dtype)


def test_lock(machine: Machine) -> None:
    body = """
while tl.atomic_cas(x0, 0, 1) == 1:
    pass
tl.store(x1, tl.load(x1) + 1)
tl.debug_barrier()
tl.atomic_xchg(x0, 0)
"""
    lock, sum_ = (Arg(np.zeros(1, np.int32), "int32") for _ in "ls")
    got = machine.run(body, lock, sum_, grid=(8,))
    assert got[0] == 0 and got[1] == 8


REFUSED = [
    ("add", "int8"),
    ("add", "uint16"),
    ("max", "float16"),
    ("and", "float16"),
    ("xor", "int1"),
]


@pytest.mark.parametrize("op,dtype", REFUSED, ids=["-".join(r) for r in REFUSED])
def test_refused(machine: Machine, op: str, dtype: str) -> None:
    with pytest.raises(tegula.CompileError, match="does not support pointers"):
        machine.run(f"tl.atomic_{op}(x0, 1)", result(dtype, 1))


# --- descriptors ---------------------------------------------------------------------
DESCRIPTOR = [
    (op, t)
    for op, types in HAVE.items()
    for t in (*types, *(("float16", "bfloat16") if op in ("max", "min") else ()))
    if op != "xchg"
]


@pytest.mark.parametrize("op,dtype", DESCRIPTOR, ids=["-".join(c) for c in DESCRIPTOR])
def test_descriptor(machine: Machine, rng: Any, op: str, dtype: str) -> None:
    """Blocks of a [9, 40] tensor, added to by two programs; what is outside stays."""
    memory, x = whole(rng, dtype, 360), whole(rng, dtype, 1024)
    body = f"""
d = tl.make_tensor_descriptor(x0, [9, 40], [40, 1], [8, 32])
i = tl.reshape(tl.arange(0, 256), (8, 32))
for at in range(4):
    v = tl.load(x1 + at * 256 + i)
    d.atomic_{op}([at // 2 * 8, at % 2 * 32], v)
"""
    got = machine.run(body, Arg(memory, dtype), Arg(x, dtype), grid=(2,))[0]
    want = decode(memory, dtype).reshape(9, 40).copy()
    for at, v in enumerate(decode(x, dtype).reshape(4, 8, 32)):
        part = want[at // 2 * 8 :, at % 2 * 32 :][:8, :32]
        for _ in range(2):
            part[:] = DO[op](part, v[: part.shape[0], : part.shape[1]])
    same_bits(got.reshape(9, 40), encode(want, dtype), dtype)
