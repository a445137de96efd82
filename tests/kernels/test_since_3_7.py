"""What Triton's language has said since 3.7: signatures that grew, rules that changed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def products(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    wide = tl.cumprod(v, 0, dtype=tl.int64)
    tl.static_assert(wide.dtype == tl.int64)
    tl.static_assert(v.cumprod(dtype=tl.float32).dtype == tl.float32)
    tl.static_assert(v.cumsum(dtype=tl.int64).dtype == tl.int64)
    tl.static_assert(tl.cumprod(v.to(tl.int8)).dtype == tl.int32)
    tl.store(out + i, wide)


def test_dtype_of_running_products(device: Any) -> None:
    """The product is made in the type that is asked for, so it does not overflow before."""
    x = np.full(16, 7, dtype=np.int32)
    out = device.poison(16, np.int64)
    products[(1,)](device.put(x), device.put(x), out, 16)
    assert (device.get(out) == 7 ** np.arange(1, 17, dtype=np.int64)).all()


@tegula.jit
def quotients(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.math.fdiv(tl.load(x + i), tl.load(y + i), approx=True))


def test_approximate_quotient(device: Any) -> None:
    """Two units of the last place, for denominators between the bounds it states."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal(256).astype(np.float32)
    y = np.ldexp(rng.standard_normal(256), rng.integers(-60, 60, 256)).astype(
        np.float32
    )
    out = device.poison(256, np.float32)
    quotients[(1,)](device.put(x), device.put(y), out, 256)
    want = x.astype(np.float64) / y
    ulp = np.spacing(np.abs(want).astype(np.float32)).astype(np.float64)
    assert (np.abs(device.get(out) - want) <= 2 * ulp).all()


def test_approximate_quotient_is_one_instruction() -> None:
    types = ("*fp32", "*fp32", "*fp32")
    ptx = quotients.compile(*types, N=128, target="cuda:sm_90a").asm["ptx"]
    assert "div.approx.f32" in ptx and "div.full" not in ptx


@tegula.jit
def quotient_of_halves(x):
    v = tl.load(x).to(tl.float16)
    tl.store(x, tl.fdiv(v, v, approx=True))


@tegula.jit
def quotient_both(x):
    v = tl.load(x)
    tl.store(x, tl.fdiv(v, v, ieee_rounding=True, approx=True))


@tegula.jit
def least_zero(x):
    tl.store(x, min(-0.0, 1.0))


@tegula.jit
def largest_zero(x, ZERO: tl.constexpr):
    tl.store(x, max(0.0, ZERO))


@tegula.jit
def other_accumulator(x):
    a = tl.full((16, 16), 1.0, tl.float16)
    acc = tl.zeros((16, 16), tl.float16)
    tl.store(x, tl.sum(tl.dot(a, a, acc, out_dtype=tl.float32)))


@pytest.mark.parametrize(
    "kernel,message",
    [
        (quotient_of_halves, "approx=True takes float32, not f16"),
        (quotient_both, "ieee_rounding or approx, not both"),
        (least_zero, r"min of constants takes no -0\.0"),
        (other_accumulator, r"pass out_dtype=tl\.float16"),
    ],
)
def test_refused(kernel: Any, message: str) -> None:
    with pytest.raises(tegula.CompileError, match=message):
        kernel.lower("*fp32")


def test_zero_of_a_launch() -> None:
    x = np.zeros(1, np.float32)
    largest_zero[(1,)](x, 0.0)
    with pytest.raises(tegula.CompileError, match=r"max of constants takes no -0\.0"):
        largest_zero[(1,)](x, -0.0)


@tegula.jit
def accumulators(x):
    half = tl.full((16, 16), 1.0, tl.float16)
    small = tl.full((16, 32), 1, tl.int8)
    tl.static_assert(tl.dot(half, half).dtype == tl.float32)
    tl.static_assert(tl.dot(half, half, half).dtype == tl.float16)
    tl.static_assert(tl.dot(small, tl.trans(small)).dtype == tl.int32)
    tl.store(x, tl.sum(tl.dot(half, half, half).to(tl.float32)))


def test_dot_takes_the_type_of_its_accumulator(device: Any) -> None:
    out = device.poison(1, np.float32)
    accumulators[(1,)](out)
    assert device.get(out)[0] == 16 * 16 * 17


@tegula.jit
def smallest(x, out, N: tl.constexpr, K: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    tl.store(out + tl.arange(0, K), tl.topk(v, K, descending=False))


def test_smallest_first(device: Any) -> None:
    x = np.random.default_rng(1).permutation(64).astype(np.float32)
    out = device.poison(8, np.float32)
    smallest[(1,)](device.put(x), out, 64, 8)
    assert (device.get(out) == np.arange(8)).all()


@tegula.jit
def backwards(out, N: tl.constexpr):
    k = 0
    for i in tl.range(N - 1, -1, -1):
        tl.store(out + k, i)
        k += 1


def test_negative_step(device: Any) -> None:
    out = device.poison(8, np.int32)
    backwards[(1,)](out, 8)
    assert (device.get(out) == np.arange(8)[::-1]).all()


def test_address_space_is_a_word() -> None:
    assert tl.pointer_type(tl.float32).address_space == "global"
    assert tl.pointer_type(tl.float32) == tl.pointer_type(tl.float32, "global")
