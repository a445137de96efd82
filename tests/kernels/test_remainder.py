"""% of floats is C's fmod, to the last bit: huge quotients, subnormals, infinities."""

import math

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl
from tegula.language.extra import libdevice


@triton.jit
def rem_kernel(x_ptr, y_ptr, out_ptr, HOW: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    y = tl.load(y_ptr + i)
    if HOW == "%":
        z = x % y
    elif HOW == "fmod":
        z = libdevice.fmod(x, y)
    else:
        z = libdevice.remainder(x, y)
    tl.store(out_ptr + i, z)


def hard(rng, dtype: type, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of every distance of exponents, and those where x / y rounds to a whole."""
    info = np.finfo(dtype)
    low, high = info.minexp - info.nmant, info.maxexp

    def some() -> np.ndarray:
        e = rng.integers(low, high, n)
        return np.ldexp(rng.uniform(1, 2, n).astype(dtype), e.astype(np.int32))

    x, y = some(), some()
    near = slice(0, n // 2)  # quotients around 2^0 .. 2^nmant+3, nearly whole
    k = rng.integers(1, 2 ** (info.nmant // 2 + 2), n // 2).astype(dtype)
    with np.errstate(over="ignore"):
        x[near] = y[near] * k
    x[: n // 4] = np.nextafter(x[: n // 4], 0)
    x *= rng.choice(np.array([-1, 1], dtype), n)
    y *= rng.choice(np.array([-1, 1], dtype), n)
    tiny = info.smallest_subnormal
    odd = np.array(
        [
            0,
            1,
            3,
            tiny,
            3 * tiny,
            info.tiny,
            np.nextafter(info.tiny, dtype(0)),
            info.max,
        ]
        + [np.inf, np.nan, 2**23 - 1, 2**24 + 2, 2.0**52 + 1, np.nextafter(dtype(1), 0)]
        + [np.nextafter(dtype(3), 0), np.nextafter(info.max, dtype(0)), 1 / 3, 1e30],
        dtype,
    )
    odd = np.concatenate([odd, -odd])
    pairs = np.meshgrid(odd, odd)
    x[-(odd.size**2) :], y[-(odd.size**2) :] = pairs[0].ravel(), pairs[1].ravel()
    return x, y


def ieee_remainder(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """C's remainder."""

    def one(a: float, b: float) -> float:
        try:
            return math.remainder(a, b)
        except ValueError:  # by 0, or of an infinity
            return math.nan

    return np.vectorize(one, otypes=[np.float64])(x, y).astype(x.dtype)


def same_bits(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    bits = np.dtype(f"u{got.itemsize}")
    return (got.view(bits) == want.view(bits)) | (np.isnan(got) & np.isnan(want))


def check(x, y, got, want) -> None:
    bad = np.flatnonzero(~same_bits(got, want))
    i = bad[0] if len(bad) else 0
    assert not len(bad), f"{x[i]!r} and {y[i]!r}: {got[i]!r}, not {want[i]!r}"


@pytest.mark.parametrize("how", ["%", "fmod", "remainder"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_remainder(device, rng, how, dtype):
    n = 4096
    x, y = hard(rng, dtype, n)
    out = device.poison(n, dtype)
    rem_kernel[(n // 256,)](device.put(x), device.put(y), out, how, BLOCK=256)
    with np.errstate(invalid="ignore"):
        want = ieee_remainder(x, y) if how == "remainder" else np.fmod(x, y)
    check(x, y, device.get(out), want)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_remainder_interpreted(rng, dtype):
    n = 2048
    x, y = hard(rng, dtype, n)
    out = np.full(n, np.nan, dtype)
    interpreted = triton.jit(rem_kernel.fn, interpret=True)
    interpreted[(1,)](x, y, out, "%", BLOCK=n)
    with np.errstate(invalid="ignore"):
        check(x, y, out, np.fmod(x, y))


@triton.jit
def rem_by_kernel(x_ptr, y, out_ptr, low_ptr, BLOCK: tl.constexpr):
    """In a loop and in a combine function; by what is uniform; in 16 bits."""
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    z = x
    for k in range(3):
        z = (z * 1e6) % (y + k)
    tl.store(out_ptr + i, z)
    least = tl.reduce(tl.abs(x) + 1.0, 0, lambda a, b: tl.where(a < b, b % a, a % b))
    tl.store(out_ptr + BLOCK, least)
    tl.store(low_ptr + i, (x.to(tl.float16) % x.to(tl.bfloat16)).to(tl.float32))


def test_remainder_among_others(device, rng):
    """The same kernel on the CPU and elsewhere: the code around the branch is right."""
    n = 128
    x = (rng.standard_normal(n) * 1e3).astype(np.float32)
    z = x
    for k in range(3):
        z = np.fmod((z * np.float32(1e6)).astype(np.float32), np.float32(0.37) + k)
    out, low = device.poison(n + 1, np.float32), device.poison(n, np.float32)
    rem_by_kernel[(1,)](device.put(x), 0.37, out, low, BLOCK=n, enable_fp_fusion=False)
    assert np.array_equal(device.get(out)[:n], z)
    assert not np.isnan(device.get(low)).any()
