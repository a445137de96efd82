"""Assembly that does more than compute: once for each pack, on every target.

Ticks are atomic additions whose old values come back: what ran twice, or not at all, shows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl

TICK = tl.constexpr("""{
    .reg .u32 old;
    atom.global.add.u32 old, [$2], 1;
    mov.b32 $0, old;
    mul.lo.u32 $1, $3, 3;
}""")


@triton.jit
def tick(x, count, seen, tripled, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    at = count + v % 4
    old, three = tl.inline_asm_elementwise(
        TICK, "=r,=r,l,r", [at, v], (tl.int32, tl.int32), False, 1
    )
    tl.store(seen + i, old)
    tl.store(tripled + i, three)


def check_ticks(count: np.ndarray, seen: np.ndarray, which: np.ndarray) -> None:
    want = np.bincount(which, minlength=len(count))
    np.testing.assert_array_equal(count, want)
    for k in range(len(count)):  # every count was seen once
        np.testing.assert_array_equal(np.sort(seen[which == k]), np.arange(want[k]))


@pytest.mark.parametrize("n", [1, 8, 48, 100, 128, 512])
def test_several_results(device: Any, rng: Any, n: int) -> None:
    """Fewer elements than threads: copies of them in other threads do not run; padding
    neither."""
    x = rng.integers(0, 100, n).astype(np.int32)
    count = device.put(np.zeros(4, np.int32))
    seen, tripled = (device.poison((n,), np.int32) for _ in range(2))
    tick[(1,)](device.put(x), count, seen, tripled, N=n)
    check_ticks(device.get(count), device.get(seen), x % 4)
    np.testing.assert_array_equal(device.get(tripled), 3 * x)


@triton.jit
def tick_2d(x, count, seen, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    v = tl.load(x + i * N + j)
    old, _ = tl.inline_asm_elementwise(
        TICK, "=r,=r,l,r", [count + v % 4, v], (tl.int32, tl.int32), False, 1
    )
    tl.store(seen + i * N + j, old)


def test_rows_that_are_not_full(device: Any, rng: Any) -> None:
    m, n = 6, 20
    x = rng.integers(0, 100, (m, n)).astype(np.int32)
    count, seen = device.put(np.zeros(4, np.int32)), device.poison((m, n), np.int32)
    tick_2d[(1,)](device.put(x), count, seen, M=m, N=n)
    check_ticks(device.get(count), device.get(seen).ravel(), x.ravel() % 4)


@triton.jit
def tick_branch(v, at):
    r = 0
    if v % 3 == 0:
        if v % 2 == 0:
            r, twice = tl.inline_asm_elementwise(
                "atom.global.add.u32 $0, [$2], 1; add.u32 $1, $3, $3;",
                "=r,=r,l,r", [at, v], (tl.int32, tl.int32), False, 1,
            )  # fmt: skip
            r += 1000 * twice
    else:
        tl.inline_asm_elementwise(
            "red.global.add.u32 [$1+16], 1; mov.u32 $0, 0;",
            "=r,l", [at], tl.int32, False, 1,
        )  # fmt: skip
    return r


@triton.jit
def branches(x, count, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, tl.map_elementwise(tick_branch, v, count + v % 4))


@pytest.mark.parametrize("n", [1, 16, 60, 256])
def test_branch_of_a_mapped_function(device: Any, rng: Any, n: int) -> None:
    x = rng.integers(0, 1000, n).astype(np.int32)
    count, out = device.put(np.zeros(8, np.int32)), device.poison((n,), np.int32)
    branches[(1,)](device.put(x), count, out, N=n)
    got, six = device.get(out), x % 6 == 0
    assert (got[~six] == 0).all()
    np.testing.assert_array_equal(got[six] // 2000, x[six])
    check_ticks(device.get(count)[:4], got[six] % 2000, x[six] % 4)
    other = np.bincount(x[x % 3 != 0] % 4, minlength=4)
    np.testing.assert_array_equal(device.get(count)[4:], other)


@triton.jit
def until(v, at):
    n = 0
    while v > 1:
        v = v // 2 if v % 2 == 0 else 3 * v + 1
        n += 1 + 0 * tl.inline_asm_elementwise(
            "red.global.add.u32 [$1], 1; mov.u32 $0, 5;",
            "=r,l", [at], tl.int32, False, 1,
        )  # fmt: skip
    return n


@triton.jit
def loops(x, count, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, tl.map_elementwise(until, v, count + i))


def test_loop_of_a_mapped_function(device: Any, rng: Any) -> None:
    x = rng.integers(0, 30, 64).astype(np.int32)
    count, out = device.put(np.zeros(64, np.int32)), device.poison((64,), np.int32)
    loops[(1,)](device.put(x), count, out, N=64)
    want = []
    for v in x:
        n = 0
        while v > 1:
            v, n = v // 2 if v % 2 == 0 else 3 * v + 1, n + 1
        want.append(n)
    np.testing.assert_array_equal(device.get(out), want)
    np.testing.assert_array_equal(device.get(count), want)


@triton.jit
def no_operands(v):
    r = 7
    if v > 50:
        r = tl.inline_asm_elementwise("mov.u32 $0, 9;", "=r", [], tl.int32, False, 1)
    return r


@triton.jit
def without_operands(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.map_elementwise(no_operands, tl.load(x + i)))


@pytest.mark.parametrize("n", [16, 60])
def test_no_operands_in_a_branch(device: Any, rng: Any, n: int) -> None:
    x = rng.integers(0, 100, n).astype(np.int32)
    out = device.poison((n,), np.int32)
    without_operands[(1,)](device.put(x), out, N=n)
    np.testing.assert_array_equal(device.get(out), np.where(x > 50, 9, 7))


@triton.jit
def packed(x, y, z, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    low, inverted = tl.inline_asm_elementwise(
        """{
            .reg .b16 a, b;
            mov.b32 {a, b}, $4;
            st.global.b16 [$2], a;
            st.global.b16 [$3], b;
            mov.b32 $0, $4;
            not.b32 $1, $4;
        }""",
        "=r,=r,l,l,r", [y + i, v], (tl.int16, tl.int16), False, 2,
    )  # fmt: skip
    tl.store(z + i, low)
    tl.store(z + N + i, inverted)


@pytest.mark.parametrize("n", [1, 2, 31, 64, 512])
def test_padding_and_packs(device: Any, rng: Any, n: int) -> None:
    """An element that is not there is as one of its pack that is: it has no address."""
    x = rng.integers(0, 1 << 15, n).astype(np.int16)
    y, z = device.poison((n,), np.int16), device.poison((2 * n,), np.int16)
    packed[(1,)](device.put(x), y, z, N=n)
    np.testing.assert_array_equal(device.get(y), x)
    np.testing.assert_array_equal(device.get(z), np.concatenate([x, ~x]))


@triton.jit
def store_pairs(v, at):
    r = v
    if v % 3 == 0:
        r, _ = tl.inline_asm_elementwise(
            """{
                .reg .b16 a, b;
                mov.b32 {a, b}, $4;
                st.global.b16 [$2], a;
                st.global.b16 [$3], b;
                not.b32 $0, $4;
                mov.b32 $1, 0;
            }""",
            "=r,=r,l,l,r", [at, v], (tl.int16, tl.int16), False, 2,
        )  # fmt: skip
    return r


@triton.jit
def pairs_in_branches(x, y, z, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(z + i, tl.map_elementwise(store_pairs, tl.load(x + i), y + i))


@pytest.mark.parametrize("n", [1, 2, 31, 64, 512])
def test_packs_in_branches(device: Any, rng: Any, n: int) -> None:
    """A pack of which one element takes the branch runs; the other one stores nothing."""
    x = rng.integers(0, 1 << 15, n).astype(np.int16)
    y, z = device.put(np.zeros(n, np.int16)), device.poison((n,), np.int16)
    pairs_in_branches[(1,)](device.put(x), y, z, N=n)
    np.testing.assert_array_equal(device.get(y), np.where(x % 3, 0, x))
    np.testing.assert_array_equal(device.get(z), np.where(x % 3, x, ~x))


@triton.jit
def counted_sum(a, m, b, n):
    """Sums, and counts in memory how often; m, n: where."""
    old, total = tl.inline_asm_elementwise(
        "atom.global.add.u32 $0, [$2], 1; add.s32 $1, $3, $4;",
        "=r,=r,l,r,r", [m, a, b], (tl.int32, tl.int32), False, 1,
    )  # fmt: skip
    if old < 0:
        total = 0
    return total, m


@triton.jit
def counted_sums(x, count, out, N: tl.constexpr):
    i = tl.arange(0, N)
    at = tl.full((N,), 0, tl.int64) + count.to(tl.int64)
    total, _ = tl.reduce((tl.load(x + i), at), 0, counted_sum)
    tl.store(out, total)


@pytest.mark.parametrize("n", [1, 16, 60, 256])
def test_effects_in_a_combine_function(device: Any, rng: Any, n: int) -> None:
    x = rng.integers(-1000, 1000, n).astype(np.int32)
    count, out = device.put(np.zeros(1, np.int32)), device.poison((1,), np.int32)
    counted_sums[(1,)](device.put(x), count, out, N=n)
    assert device.get(out)[0] == x.sum()
    assert device.get(count)[0] == n - 1


@triton.jit
def both(a, b):
    lo, hi = tl.inline_asm_elementwise(
        "min.s32 $0, $2, $3; max.s32 $1, $2, $3;", "=r,=r,r,r", [a, b],
        (tl.int32, tl.int32), True, 1,
    )  # fmt: skip
    return hi - 0 * lo


@triton.jit
def both_two(a, c, b, d):
    return tl.inline_asm_elementwise(
        "min.s32 $0, $2, $4; max.s32 $1, $3, $5;", "=r,=r,r,r,r,r", [a, c, b, d],
        (tl.int32, tl.int32), True, 1,
    )  # fmt: skip


@triton.jit
def only(a, b):
    return tl.inline_asm_elementwise(
        "max.s32 $0, $1, $2;", "=r,r,r", [a, b], tl.int32, True, 1
    )


@triton.jit
def combines(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out, tl.reduce(v, 0, both))
    lo, hi = tl.reduce((v, v), 0, both_two)
    tl.store(out + 1, lo)
    tl.store(out + 2, hi)
    tl.store(out + 3, tl.reduce(v, 0, only))
    low, high = tl.associative_scan((v, v), 0, both_two)
    tl.store(out + 4 + i, low)
    tl.store(out + 4 + N + i, high)


@pytest.mark.parametrize("n", [1, 16, 60, 256])
def test_combine_functions(device: Any, rng: Any, n: int) -> None:
    x = rng.integers(-1000, 1000, n).astype(np.int32)
    out = device.poison((4 + 2 * n,), np.int32)
    combines[(1,)](device.put(x), out, N=n)
    got = device.get(out)
    np.testing.assert_array_equal(got[:4], [x.max(), x.min(), x.max(), x.max()])
    np.testing.assert_array_equal(got[4 : 4 + n], np.minimum.accumulate(x))
    np.testing.assert_array_equal(got[4 + n :], np.maximum.accumulate(x))


KERNELS: dict[str, Any] = {
    "ticks": (tick, 3, lambda x: [np.bincount(x % 4, minlength=8)]),
    "branches": (
        branches, 2,
        lambda x: [np.concatenate([np.bincount(x[x % 6 == 0] % 4, minlength=4),
                                   np.bincount(x[x % 3 != 0] % 4, minlength=4)])],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("n", [1, 48, 256])
def test_interpreted(name: str, n: int, rng: Any) -> None:
    kernel, n_out, want = KERNELS[name]
    x = rng.integers(0, 1000, n).astype(np.int32)
    count = np.zeros(8, np.int32)
    out = [np.zeros(n, np.int32) for _ in range(n_out - 1)]
    triton.jit(kernel.fn, interpret=True)[(1,)](x, count, *out, N=n)
    np.testing.assert_array_equal(count, want(x)[0])
    if name == "ticks":
        check_ticks(count[:4], out[0], x % 4)
        np.testing.assert_array_equal(out[1], 3 * x)
