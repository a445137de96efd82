"""Arithmetic of bfloat16: one instruction where the chip has it, rounded as by float."""

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def arithmetic(x_ptr, y_ptr, z_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i).to(tl.bfloat16, bitcast=True)
    y = tl.load(y_ptr + i).to(tl.bfloat16, bitcast=True)
    tl.store(z_ptr + i, (x * y).to(tl.int16, bitcast=True))
    tl.store(z_ptr + N + i, (x + y).to(tl.int16, bitcast=True))
    tl.store(z_ptr + 2 * N + i, (x - y).to(tl.int16, bitcast=True))


@pytest.mark.parametrize(("sm", "n"), [("90a", 1), ("80", 0)])
def test_instructions(sm, n):
    c = arithmetic.compile(*["*i16:16"] * 3, target=f"cuda:sm_{sm}", N=128, num_warps=4)
    for op in ("mul", "add", "sub"):
        assert c.asm["ptx"].count(f"{op}.rn.bf16 ") == n


def to_float(x):
    return (x.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def rounded(x):
    """To the nearest bfloat16, ties to even."""
    bits = x.view(np.uint32).astype(np.uint64)
    up = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return np.where(np.isnan(x), x, up.astype(np.uint32).view(np.float32))


def test_rounded_as_by_way_of_float(device, rng):
    """Subnormals, infinities and all."""
    n = 1024
    x, y = rng.integers(-(2**15), 2**15, (2, n)).astype(np.int16)
    out = device.poison(3 * n, np.int16)
    arithmetic[(1,)](device.put(x), device.put(y), out, N=n)
    a, b = to_float(x), to_float(y)
    with np.errstate(all="ignore"):
        want = np.concatenate([rounded(a * b), rounded(a + b), rounded(a - b)])
    np.testing.assert_array_equal(to_float(device.get(out)), want)
