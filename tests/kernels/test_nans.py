"""NaNs, and signs of zeros, of halves and of operands, that ptxas 13.0 forgets."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def bounds(x_ptr, o_ptr, OF: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    if OF == "abs":
        y = tl.abs(x)
    elif OF == "square":
        y = x * x
    elif OF == "sum":
        y = tl.abs(x) + 1.0
    elif OF == "exp2":
        y = tl.exp2(x)
    else:
        y = tl.where(i % 2 == 0, tl.abs(x), 2.0)
    tl.store(o_ptr + i, y >= 0.0)
    tl.store(o_ptr + N + i, y > -3.0)
    tl.store(o_ptr + 2 * N + i, -y < 3.0)
    tl.store(o_ptr + 3 * N + i, -y <= 0.0)
    tl.store(o_ptr + 4 * N + i, y < 0.0)


@pytest.mark.parametrize("of", ["abs", "square", "sum", "exp2", "select"])
def test_no_bounds_of_nans(device, of):
    """What is never negative may yet be no number, and no comparison holds of that."""
    x = np.array([np.nan, -1, -0.0, 0, 2, -np.inf, np.inf, np.nan] * 8, np.float32)
    y = np.where(np.isnan(x), x, 0)
    if of == "select":
        y[1::2] = 2
    o = device.poison(320, np.int8)
    bounds[(1,)](device.put(x), o, of, 64)
    holds = ~np.isnan(y)
    want = [holds] * 4 + [np.zeros(64, bool)]
    np.testing.assert_array_equal(device.get(o), np.concatenate(want))


@pytest.mark.parametrize("of", ["abs", "square", "sum", "exp2", "select"])
def test_no_comparison_that_ptxas_decides(of):
    code = bounds.compile("*fp32", "*i8", OF=of, N=64, target="cuda:sm_80").asm["ptx"]
    assert not re.search(r"setp\.(lt|le|gt|ge)\.f32", code)
    assert re.search(r"setp\.(ltu|leu|gtu|geu)\.f32", code)


@triton.jit
def chosen(x_ptr, o_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(o_ptr + i, -tl.where(x == 1.0, x, 0.0))
    tl.store(o_ptr + N + i, tl.where(x == 2.0, 1.0, -0.0))
    tl.store(o_ptr + 2 * N + i, tl.where(x < 3.0, -0.0, 1.0))
    tl.store(o_ptr + 3 * N + i, tl.where(x < 4.0, -0.0, -1.0))


def test_zeros_that_are_chosen(device):
    """1 and -0 by a comparison of their own are no conversion of its bit."""
    x = np.arange(64, dtype=np.float32) % 7
    o = device.poison(256, np.float32)
    chosen[(1,)](device.put(x), o, 64)
    zero = np.float32(-0.0)
    one = np.float32(1)
    want = [np.where(x == 1, -one, zero), np.where(x == 2, one, zero)]
    want += [np.where(x < 3, zero, one), np.where(x < 4, zero, -one)]
    want = np.concatenate(want)
    np.testing.assert_array_equal(device.get(o).view(np.int32), want.view(np.int32))


def test_no_zero_that_ptxas_converts():
    code = chosen.compile("*fp32", "*fp32", N=64, target="cuda:sm_80").asm["ptx"]
    assert "selp.f32" not in code and code.count("selp.b32") == 4


@triton.jit
def turned(x_ptr, y_ptr, o_ptr, N: tl.constexpr):
    i, j = tl.arange(0, N), tl.arange(0, 2 * N)
    x = tl.interleave(tl.load(x_ptr + i), tl.full([N], -2.0, tl.float16))
    tl.store(o_ptr + j, x * tl.load(y_ptr + j))


def test_negative_halves(device, rng):
    """A pair of f16, one of which is a negative constant."""
    x = rng.integers(-8, 8, 512).astype(np.float16)
    y = rng.integers(-8, 8, 1024).astype(np.float16)
    o = device.poison(1024, np.float16)
    turned[(1,)](device.put(x), device.put(y), o, 512)
    pairs = np.stack([x, np.full(512, -2, np.float16)], axis=1)
    np.testing.assert_array_equal(device.get(o), pairs.reshape(1024) * y)


def test_no_negative_half_of_a_pair():
    """Of several pairs that have it, ptxas 13.0 negates some and forgets others."""
    types = ("*fp16:16", "*fp16:16", "*fp16:16")
    code = turned.compile(*types, N=512, target="cuda:sm_90a").asm["ptx"]
    assert code.count("or.b32") == code.count("mul.rn.f16x2") == 4


@triton.jit
def signs(x_ptr, o_ptr, TO: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(o_ptr + i, (-(x > 0).to(tl.int32)).to(tl.float32).to(TO))
    tl.store(o_ptr + N + i, tl.where(x > 2, -1.0, 0.0).to(TO))


@pytest.mark.parametrize("to", ["uint8", "uint16", "uint32", "uint64", "int32"])
def test_minus_ones_as_integers(device, to):
    """-1.0, where it was selected, is 0 as a number without a sign."""
    x = np.arange(-32, 32, dtype=np.int32)
    o = device.poison(128, to)
    signs[(1,)](device.put(x), o, getattr(tl, to), 64)
    least = -1 if to == "int32" else 0
    want = [np.where(x > 0, least, 0), np.where(x > 2, least, 0)]
    np.testing.assert_array_equal(device.get(o), np.concatenate(want).astype(to))


def test_no_minus_one_that_ptxas_converts():
    types = ("*i32", "*u8")
    code = signs.compile(*types, TO=tl.uint8, N=64, target="cuda:sm_90a").asm["ptx"]
    assert "selp.f32" not in code and code.count("selp.b32") == 2


@triton.jit
def signed_bits(x_ptr, y_ptr, o_ptr, T: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    bit = (x == y) & (x > 0)
    tl.store(o_ptr.to(tl.pointer_type(T)) + i, (-bit.to(tl.int32)).to(T))


@pytest.mark.parametrize(
    "dtype, bits, one",
    [
        (tl.bfloat16, np.int16, 0xBF80),
        (tl.float16, np.int16, 0xBC00),
        (tl.float32, np.int32, 0xBF800000),
        (tl.float64, np.int64, 0xBFF0000000000000),
    ],
    ids=["bfloat16", "float16", "float32", "float64"],
)
def test_bits_keep_their_sign(device, rng, dtype, bits, one):
    """LLVM 22 makes 1.0 of a bit with its sign for bfloat16 on GPUs."""
    x, y = rng.integers(-2, 3, (2, 256)).astype(np.int32)
    o = device.poison(256, bits)
    signed_bits[(1,)](device.put(x), device.put(y), o, dtype, 256)
    want = np.where((x == y) & (x > 0), np.array(one, np.uint64).astype(bits), 0)
    np.testing.assert_array_equal(device.get(o), want)


def test_no_signed_bit_is_converted():
    code = signed_bits.compile(
        *("*i32", "*i32", "*i16"), T=tl.bfloat16, N=256, target="cuda:sm_90a"
    ).asm["ptx"]
    assert "cvt" not in code.split("setp.")[1] and "0xBF80, 0x0000" in code


@triton.jit
def endless(x_ptr, y_ptr, o_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    most = (x == y).to(tl.float64) * tl.full([N], float("inf"), tl.float64)
    tl.store(o_ptr + i, most.to(tl.float32) * x.to(tl.float32))


def test_selected_infinities(device, rng):
    x, y = rng.integers(-2, 3, (2, 256)).astype(np.float64)
    o = device.poison(256, np.float32)
    endless[(1,)](device.put(x), device.put(y), o, 256)
    with np.errstate(invalid="ignore"):
        want = np.where(x == y, np.inf, np.nan) * x
    np.testing.assert_array_equal(device.get(o), want.astype(np.float32))


def test_no_selection_is_converted():
    """ptxas 13.0 drops some of many such conversions in a kernel that spills."""
    types = ("*fp64", "*fp64", "*fp32")
    code = endless.compile(*types, N=256, target="cuda:sm_90a").asm["ptx"]
    assert code.count("cvt.rn.f32.f64") == code.count("selp") > 0


@triton.jit
def least(x_ptr, y_ptr, z_ptr, o_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y, z = tl.load(x_ptr + i), tl.load(y_ptr + i), tl.load(z_ptr + i)
    tl.store(o_ptr + i, tl.minimum(x, y - tl.where(z == z, z, 0.0)))
    tl.store(o_ptr + N + i, tl.maximum(x, y * tl.where(z == z, z, 1.0)))


def test_signaling_nans_lose(device):
    """LLVM takes x - 0 and x * 1 for x itself, so that no NaN is made quiet."""
    x, y, z = np.ones((3, 64), np.float32)
    y.view(np.int32)[::2] = 0x7F800001
    z[::4] = np.nan
    o = device.poison(128, np.float32)
    least[(1,)](*(device.put(a) for a in (x, y, z)), o, 64)
    difference = np.where(np.isnan(z), 1, 0)
    want = np.where(np.isnan(y), 1, np.minimum(1, difference))
    np.testing.assert_array_equal(device.get(o), np.concatenate([want, np.ones(64)]))


@triton.jit
def scaled_rows(x_ptr, o_ptr, SCALE: tl.constexpr, K: tl.constexpr):
    i, k, j = tl.arange(0, 16), tl.arange(0, K), tl.arange(0, 8)
    x = tl.load(x_ptr + i[:, None] * K + k)
    z = tl.dot(x, tl.full([K, 8], SCALE, x.dtype))
    tl.store(o_ptr + i[:, None] * 8 + j, z)


@pytest.mark.parametrize("scale", [-12.0, -0.5, 3.0])
@pytest.mark.parametrize("k", [8, 16, 32])
def test_products_with_a_constant(device, rng, k, scale):
    """The operands are pairs of one number, whose signs are two."""
    x = rng.integers(-8, 8, (16, k)).astype(np.float16)
    o = device.poison(128, np.float32)
    scaled_rows[(1,)](device.put(x.ravel()), o, scale, k, num_warps=1)
    want = x.astype(np.float32) @ np.full((k, 8), scale, np.float32)
    np.testing.assert_array_equal(device.get(o), want.ravel())


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_no_negative_operand_of_a_product(dtype):
    """ptxas 13.0 negates a pair as one number of 32 bits, and mma.sync both of it."""
    options = {"num_warps": 1, "target": "cuda:sm_90a"}
    code = [
        scaled_rows.compile(f"*{dtype}", "*fp32", SCALE=scale, K=8, **options).asm[
            "ptx"
        ]
        for scale in (-12.0, 12.0)
    ]
    assert all("mma.sync.aligned.m16n8k8" in ptx for ptx in code)
    assert ["%lanemask_ge" in ptx for ptx in code] == [True, False]
