"""Control flow: each kernel also runs as Python, with one element a block."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def early(x, n, flag):
    if n == 0:
        return 10
    if flag:
        if n > 5:
            return 20
        n = n + 1
    else:
        n = n - 1
    for k in tl.static_range(3):
        if n == k + 3:
            return 30 + k
    return tl.load(x + n)


@tegula.jit
def early_kernel(x, out, n, flag):
    tl.store(out, early(x, n, flag))
    if n > 6:
        return
    tl.store(out + 1, n)


def early_python(x: Any, n: int, flag: bool) -> int:
    if n == 0:
        return 10
    if flag:
        if n > 5:
            return 20
        n += 1
    else:
        n -= 1
    if n in (3, 4, 5):
        return 30 + n - 3
    return int(x[n])


@pytest.mark.parametrize("flag", [False, True])
@pytest.mark.parametrize("n", range(9))
def test_early_return(run: Any, n: int, flag: bool) -> None:
    x = np.arange(100, 110, dtype=np.int32)
    out = np.full(2, -1, np.int32)
    run(early_kernel, x, out, n, flag)
    assert out.tolist() == [early_python(x, n, flag), n if n <= 6 else -1]


@tegula.jit
def loops(out, n, m):
    total = 0
    last = -1
    for i in range(n):
        for j in range(i, n, 2):
            if (i + j) % 3 == 0:
                total += i * j
                last = j
            elif j > 4:
                total -= 1
    down = 0
    for i in range(n, m, -3):
        down = (down * 7 + i) & 0xFFFF
    k = n
    steps = 0
    while (k > 1) & (steps < 200):
        k = k // 2 if k % 2 == 0 else 3 * k + 1
        steps += 1
    i = tl.arange(0, 4)
    late = tl.where(i == 2, down, steps)
    tl.store(out + i, tl.where(i == 0, total, tl.where(i == 1, last, late)))


@pytest.mark.parametrize("n,m", [(0, 0), (1, 5), (7, 0), (9, -4), (12, 12), (27, -2)])
def test_loops(run: Any, n: int, m: int) -> None:
    total, last = 0, -1
    for i in range(n):
        for j in range(i, n, 2):
            if (i + j) % 3 == 0:
                total += i * j
                last = j
            elif j > 4:
                total -= 1
    down = 0
    for i in range(n, m, -3):
        down = (down * 7 + i) & 0xFFFF
    k, steps = n, 0
    while k > 1:
        k = k // 2 if k % 2 == 0 else 3 * k + 1
        steps += 1
    out = np.zeros(4, np.int32)
    run(loops, out, n, m)
    assert out.tolist() == [total, last, down, steps]


class Pair(NamedTuple):
    a: Any
    b: Any


@tegula.jit
def swap(p):
    return Pair(p.b, b=p.a)


@tegula.jit
def sum_of(a, *rest, scale: tl.constexpr = 1):
    for r in rest:
        a += r
    return a * scale


@tegula.jit
def tuples(out, n):
    p = Pair(n, n * 2)
    for _ in range(3):
        p = swap(p)
    if n > 4:
        p = Pair(p.b, p.a)
    (a, b), c = p, [v + 1 for v in (n, 2, 3)]
    tl.store(out, a)
    tl.store(out + 1, b)
    tl.store(out + 2, sum_of(*c, scale=2))
    tl.store(out + 3, c[-1] + len(c[1:]) + (0, 1, 2)[1])


@pytest.mark.parametrize("n", [1, 3, 8])
def test_tuples(run: Any, n: int) -> None:
    out = np.zeros(4, np.int32)
    run(tuples, out, n)
    a, b = (2 * n, n) if n <= 4 else (n, 2 * n)
    assert out.tolist() == [a, b, 2 * (n + 1 + 3 + 4), 4 + 2 + 1]


@tegula.jit
def bools(out, n, DEBUG: tl.constexpr, NOTHING: tl.constexpr):
    a = n > 3 and n < 8
    b = n == 1 or not a
    c: tl.constexpr = DEBUG and undefined_name  # noqa: F821
    d: tl.constexpr = NOTHING is None or NOTHING > 3
    e = n > 2 and DEBUG is not None
    tl.store(out, a.to(tl.int32) + 2 * b.to(tl.int32) + 4 * e.to(tl.int32))
    if c:
        tl.store(out, 100)
    tl.static_assert(d)


@pytest.mark.parametrize("n", range(10))
def test_booleans(run: Any, n: int) -> None:
    out = np.zeros(1, np.int32)
    run(bools, out, n, DEBUG=False, NOTHING=None)
    a = 3 < n < 8
    assert out[0] == a + 2 * (n == 1 or not a) + 4 * (n > 2)


@tegula.jit
def merged(x, out, n):
    i = tl.arange(0, 8)
    acc = tl.zeros((8,), tl.float32)
    p = x + i
    for _ in range(n):
        v = tl.load(p)
        if tl.sum(v) > 30:
            acc += v
            q = p
        else:
            acc -= 1
            q = p + 8
        p = q
    tl.store(out + i, acc)


def test_blocks_through_branches(run: Any) -> None:
    x = np.arange(32, dtype=np.float32)
    out = np.zeros(8, np.float32)
    run(merged, x, out, 4)
    acc, at = np.zeros(8, np.float32), 0
    for _ in range(4):
        v = x[at : at + 8]
        if v.sum() > 30:
            acc += v
        else:
            acc -= 1
            at += 8
    assert out.tolist() == acc.tolist()


@tegula.jit
def changes_n(out, n, k):
    tl.static_assert(k.dtype == tl.int32)
    if k > 3:
        n = n + 1
    for _ in range(k):
        n += 2
    tl.store(out, n)


@pytest.mark.parametrize("k", [0, 1, 5])
def test_a_parameter_that_is_one_may_change(run: Any, k: int) -> None:
    """An argument of 1 is a constant, unless a loop or a branch assigns it."""
    out = np.zeros(1, np.int32)
    run(changes_n, out, 1, k)
    assert out[0] == 1 + (k > 3) + 2 * k


def test_unread_parameters_ask_nothing() -> None:
    @tegula.jit
    def kernel(out, n, m, DEAD: tl.constexpr):
        if DEAD:
            tl.store(out, m)
        tl.store(out, n)

    text = kernel.lower("*i32", "i32", "i32", DEAD=False)
    assert "%n: i32 {?eq1}" in text
    assert "%m: i32," in text or "%m: i32)" in text


@tegula.jit(debug=True)
def checked(x, out, n):
    v = tl.load(x)
    tl.store(out, v * n + 1)
    tl.store(out + 1, tl.add(v, n, sanitize_overflow=False))


@tegula.jit(debug=True)
def checked_library(out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.randint(n, i)
    bits = tl.extra.libdevice.popc(x) + tl.extra.libdevice.ffs(x)
    tl.store(out + i, bits + (tl.rand(n, i) < 1.0))


def test_the_library_has_no_false_overflows(run: Any) -> None:
    out = np.zeros(64, np.int32)
    run(checked_library, out, 12345, N=64)
    assert out.min() > 1


def test_overflow_checks() -> None:
    """They are asserts, in debug builds, around + - * of integers below 64 bits."""
    text = checked.lower("*i32", "*i32", "i32")
    messages = re.findall(r"int32 overflow detected for operation (.)", text)
    assert messages.count("*") == 1 and messages.count("+") == 1, text
    assert "overflow" not in checked.lower("*i64", "*i64", "i64")


@tegula.jit
def target_kernel(out):
    if tl.target_info.is_cuda():
        tl.store(out, 1)
    if tl.target_info.cuda_capability_geq(8, 6):
        tl.store(out + 1, 1)
    if tl.target_info.is_hip():
        tl.store(out + 2, 1)
    tl.store(out + 3, tl.extra.cuda.num_threads())


@pytest.mark.parametrize(
    "target,want", [("cpu", [0, 0]), ("emu:sm_80", [1, 0]), ("emu:sm_90a", [1, 1])]
)
def test_target_info(target: str, want: list) -> None:
    out = np.zeros(4, np.int32)
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = target
        target_kernel[(1,)](out, num_warps=2)
    assert out.tolist() == [*want, 0, 64]


@tegula.jit
def at_three(n):
    for i in range(n):
        if i == 3:
            return i, 1.5


@tegula.jit
def large(n):
    if n > 3:
        return n * 2
    elif n > 1:
        return n + 1


@tegula.jit
def while_flag(x, n):
    goes_on = n > 0
    i = 0
    while goes_on:
        if i > 5:
            break
        i += 1
        goes_on = i < n
    tl.store(x, i)


@pytest.mark.parametrize("n", [0, 3, 10])
def test_break_out_of_a_while_whose_condition_is_a_variable(run: Any, n: int) -> None:
    x = np.zeros(1, np.int32)
    run(while_flag, x, n)
    assert x.tolist() == [min(n, 6)]


@tegula.jit
def open_end(x, N: tl.constexpr):
    for k in range(2, N):
        a, b = at_three(k)
        tl.store(x + 3 * k, a)
        tl.store(x + 3 * k + 1, b * 2)
        tl.store(x + 3 * k + 2, large(k - 2))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_end_without_return(run: Any) -> None:
    """Of a function that may return a value and may end: 0, where Triton leaves it open."""
    n = 9
    x = np.zeros(3 * n, np.int32)
    run(open_end, x, N=n)
    want = [[3, 3] if k > 3 else [0, 0] for k in range(2, n)]
    for k, row in enumerate(want, 2):
        m = k - 2
        row.append(m * 2 if m > 3 else m + 1 if m > 1 else 0)
    assert x.reshape(n, 3)[2:].tolist() == want


@tegula.jit(debug=True)
def asserting(out):
    tl.device_assert(tl.load(out) == 1, "one")


def test_debug_of_a_launch_stands_over_the_decorators() -> None:
    """`debug=False` at the launch switches off what @jit(debug=True) switched on, and
    nothing switches off the knob."""
    out = np.zeros(1, np.int32)
    asserting[(1,)](out, debug=False)
    for options in ({}, {"debug": None}, {"debug": True}):
        with pytest.raises(tegula.errors.DeviceAssertError, match="one"):
            asserting[(1,)](out, **options)
    with tegula.knobs.runtime.scope() as group:
        group.debug = True
        with pytest.raises(tegula.errors.DeviceAssertError, match="one"):
            asserting[(1,)](out, debug=False)
