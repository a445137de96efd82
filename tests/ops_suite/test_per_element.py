"""Functions of single elements that branch, loop, load, print and assert: what runs for
whole blocks must do for each element what Python does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from suite import Arg, Machine, result

import tegula
import tegula.language as tl


@tegula.jit
def collatz(n):
    """A while whose elements leave one by one."""
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def test_while(machine: Machine) -> None:
    body = "tl.store(x0 + i, tl.map_elementwise(collatz, i + 1))"
    body = f"i = tl.arange(0, 32)\n{body}"
    got = machine.run(body, result("int32", 32), helpers=(collatz,))[0]
    want = [collatz.fn(n) for n in range(1, 33)]
    np.testing.assert_array_equal(got, want)


@tegula.jit
def first_divisor(n, least):
    """Bounds that differ, a return and a continue inside, what follows the loop."""
    found = 0
    for k in range(least, n):
        if k % 4 == 3:
            continue
        found += k
        if n % k == 0:
            return k, found
    if found > 100:
        return -1, found
    return 0, found


@tegula.jit
def breaks(n, m):
    """A common bound, a nested loop with bounds that differ, break in both, backwards."""
    total = 0
    for i in range(12):
        if i > m:
            break
        for j in range(n, 0, -1):
            if j * i == 20:
                break
            total += j
        else_ = total
    else_ = total + 1
    return else_


@pytest.mark.parametrize("n", (32, 24))
def test_for(machine: Machine, n: int) -> None:
    body = f"""
i = tl.arange(0, {n})
a, b = tl.map_elementwise(first_divisor, i + 9, i % 3 + 2)
tl.store(x0 + i, a)
tl.store(x1 + i, b)
tl.store(x2 + i, tl.map_elementwise(breaks, i % 7, i // 2))
"""
    outs = [result("int32", n) for _ in range(3)]
    got = machine.run(body, *outs, helpers=(first_divisor, breaks))
    pairs = [first_divisor.fn(i + 9, i % 3 + 2) for i in range(n)]
    np.testing.assert_array_equal(got[0], [p[0] for p in pairs])
    np.testing.assert_array_equal(got[1], [p[1] for p in pairs])
    np.testing.assert_array_equal(got[2], [breaks.fn(i % 7, i // 2) for i in range(n)])


@tegula.jit
def walk(start, table, out):
    """Follows a chain in memory; a branch alone stores and counts."""
    at = start
    n = 0
    while at >= 0 and n < 10:
        at = tl.load(table + at)
        n += 1
    if n == 10:
        tl.store(out + start, 1)
        tl.atomic_add(out + 32, n)
        old = tl.atomic_cas(out + 33, 0, start + 1)
        n = n if old == 0 else -n
    return n


def test_memory(machine: Machine) -> None:
    """Elements that took another branch touch no memory: pointers may be wild there."""
    body = """
i = tl.arange(0, 32)
tl.store(x1 + i, tl.map_elementwise(lambda s: walk(s, x0, x2), i))
"""
    table = np.array([(7 * k + 3) % 32 if k % 11 else -1 for k in range(32)], np.int32)
    marks = np.zeros(34, np.int32)
    args = Arg(table, "int32"), result("int32", 32), Arg(marks, "int32")
    got = machine.run(body, *args, helpers=(walk,))
    steps = []
    for s in range(32):
        at, n = s, 0
        while at >= 0 and n < 10:
            at, n = table[at], n + 1
        steps.append(n)
    long = np.array(steps) == 10
    assert long.any() and not long.all()
    np.testing.assert_array_equal(np.abs(got[1]), steps)
    assert (got[1] < 0).sum() == long.sum() - 1  # one of them won the exchange
    np.testing.assert_array_equal(got[2][:32], long)
    assert got[2][32] == 10 * long.sum()
    assert long[got[2][33] - 1] and got[1][got[2][33] - 1] == 10


@tegula.jit
def tell(v):
    if v > 2:
        tl.device_print("large", v, v * 2)
        print("seen")
    tl.device_assert(v < 9, "below nine")
    return v


def lines(capfd: Any, machine: Machine) -> list[str]:
    if machine.name == "cuda":
        from suite import torch_cuda

        torch_cuda().cuda.synchronize()
    return sorted(set(capfd.readouterr().out.splitlines()))


def test_print(machine: Machine, capfd: Any) -> None:
    body = "tl.store(x0 + i, tl.map_elementwise(tell, i))"
    body = f"i = tl.arange(0, 8)\n{body}"
    got = machine.run(body, result("int32", 8), helpers=(tell,))[0]
    np.testing.assert_array_equal(got, np.arange(8))
    found = lines(capfd, machine)
    want = {f"pid (0, 0, 0) idx ({i}) large: (operand 0) {i}" for i in range(3, 8)}
    want |= {f"pid (0, 0, 0) idx ({i}) large: (operand 1) {2 * i}" for i in range(3, 8)}
    assert want == {s for s in found if "large" in s}
    assert sum("seen" in s for s in found) == 1


def test_assert(machine: Machine) -> None:
    """An assertion in a branch is of the elements that get there."""
    body = """
def f(v):
    if v > 3:
        tl.device_assert(v > tl.load(x1), "above three")
    return v
i = tl.arange(0, 8)
tl.store(x0 + i, tl.map_elementwise(f, i))
tl.store(x0 + 8, tl.reduce(i, 0, lambda a, b: f(a + b)))
"""
    out = result("int32", 9)

    def limit(n: int) -> Arg:
        return Arg(np.array([n], np.int32), "int32")

    got = machine.run(body, out, limit(3), options={"debug": True})[0]
    np.testing.assert_array_equal(got, [*range(8), 28])
    if machine.name == "cuda":
        pytest.skip("a trap ends the context of every later test")
    error = RuntimeError if machine.is_simulated else tegula.TegulaError
    with pytest.raises(error, match="above three"):
        machine.run(body, out, limit(4), options={"debug": True})


@tegula.jit
def gcd(a, b):
    """Combines by a loop, prints what is rare, looks into memory."""
    while b != 0:
        a, b = b, a % b
    if a == 1:
        tl.device_print("coprime", a)
    return a


@pytest.mark.parametrize("shape", ((8, 16), (5, 12), (1, 3), (16, 1)))
def test_reduce(machine: Machine, capfd: Any, shape: tuple[int, int]) -> None:
    m, n = shape
    body = f"""
i, j = tl.arange(0, {m}), tl.arange(0, {n})
x = tl.load(x0 + i[:, None] * {n} + j[None, :])
tl.store(x1 + i, tl.reduce(x, 1, gcd))
tl.store(x2 + j[None, :], tl.reduce(x, 0, gcd, keep_dims=True))
tl.store(x3, tl.reduce(x, None, gcd))
"""
    x = (np.random.default_rng(n).integers(1, 9, shape) * 6).astype(np.int32)
    outs = [result("int32", k) for k in (m, n, 1)]
    got = machine.run(body, Arg(x, "int32"), *outs, helpers=(gcd,))[1:]
    np.testing.assert_array_equal(got[0], np.gcd.reduce(x, axis=1))
    np.testing.assert_array_equal(got[1], np.gcd.reduce(x, axis=0))
    np.testing.assert_array_equal(got[2], [np.gcd.reduce(x.ravel())])
    assert not lines(capfd, machine)


@tegula.jit
def joined(a, b, c, d, table):
    """Keeps the order: (first of the left, last of the right), and asserts it."""
    tl.device_assert(b + 1 == c, "neighbours")
    e = a
    if tl.load(table + d) > 0:
        e = a
    return e, d


@pytest.mark.parametrize("reverse", (False, True))
@pytest.mark.parametrize("n", (16, 13, 1))
def test_order(machine: Machine, n: int, reverse: bool) -> None:
    """Neighbours are combined, in order, whatever the shape."""
    body = f"""
i = tl.arange(0, {n})
a, b = tl.reduce((i, i), 0, lambda a, b, c, d: joined(a, b, c, d, x0))
tl.store(x1, a)
tl.store(x1 + 1, b)
def join(a, b, c, d):
    if {reverse}:
        e, f = joined(c, d, a, b, x0)
    else:
        e, f = joined(a, b, c, d, x0)
    return e, f
c, d = tl.associative_scan((i, i), 0, join, reverse={reverse})
tl.store(x2 + i, c)
tl.store(x3 + i, d)
"""
    table = Arg(np.ones(n, np.int32), "int32")
    outs = [result("int32", k) for k in (2, n, n)]
    got = machine.run(body, table, *outs, helpers=(joined,), options={"debug": True})[
        1:
    ]
    np.testing.assert_array_equal(got[0], [0, n - 1])
    i = np.arange(n)
    np.testing.assert_array_equal(got[1], i if reverse else np.zeros(n))
    np.testing.assert_array_equal(got[2], np.full(n, n - 1) if reverse else i)


@tegula.jit
def loud(a, b):
    tl.static_print("combines", a, b)
    tl.device_print("a", a, b)
    return a + b


def test_print_combine(machine: Machine, capfd: Any) -> None:
    """A function is looked at once, and n values are combined n - 1 times."""
    body = "tl.store(x0, tl.reduce(tl.arange(0, 8) + 1, 0, loud))"
    with tegula.knobs.compilation.scope() as group:
        group.always_compile = True
        got = machine.run(body, result("int32", 1), helpers=(loud,))[0]
    assert got[0] == 36
    out = capfd.readouterr().out.splitlines()
    assert out.count("combines int32[] int32[]") == 1
    if machine.name in ("cpu", "interpreter"):  # a GPU may print from several threads
        assert sum("(operand 0)" in s for s in out) == 7


def test_overflow(machine: Machine) -> None:
    """debug=True: also what combine functions add is checked."""
    body = (
        "tl.store(x1, tl.reduce(tl.load(x0 + tl.arange(0, 4)), 0, lambda a, b: a + b))"
    )
    x = np.array([2**29, 5, 7, 2**29], np.int32)
    args = Arg(x, "int32"), result("int32", 1)
    got = machine.run(body, *args, options={"debug": True})[1]
    assert got[0] == x.sum()
    if machine.name == "cuda":
        pytest.skip("a trap ends the context of every later test")
    error = RuntimeError if machine.is_simulated else tegula.TegulaError
    with pytest.raises(error, match="overflow"):
        machine.run(
            body, Arg(2 * x, "int32"), result("int32", 1), options={"debug": True}
        )


@tegula.jit
def add_pairs(a, b):
    return tl.inline_asm_elementwise(
        "{ add.s32 $0, $2, $4; add.s32 $1, $3, $5; }",
        "=r,=r,r,r,r,r",
        [a, b],
        dtype=tl.int32,
        is_pure=True,
        pack=2,
    )


def test_packed_assembly(machine: Machine) -> None:
    """Assembly that takes two elements at a time combines neighbours of the row, too."""
    body = """
v = tl.load(x0 + tl.arange(0, 64))
tl.store(x1, tl.reduce(v, 0, add_pairs))
tl.store(x2 + tl.arange(0, 64), tl.associative_scan(v, 0, add_pairs))
"""
    x = np.arange(64, dtype=np.int32) - 20
    args = Arg(x, "int32"), result("int32", 1), result("int32", 64)
    got = machine.run(body, *args, helpers=(add_pairs,))
    assert got[1][0] == x.sum()
    np.testing.assert_array_equal(got[2], np.cumsum(x))
