"""The library that is written in the language, against NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula.language.extra import libdevice


@tegula.jit
def sort_kernel(x, out, N: tl.constexpr, M: tl.constexpr, DOWN: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + i, tl.sort(tl.load(x + i), descending=DOWN))


@pytest.mark.parametrize(
    "dtype", [np.float32, np.int8, np.uint16, np.float16, np.int64]
)
@pytest.mark.parametrize("n,m", [(1, 1), (2, 2), (16, 1), (8, 4)])
@pytest.mark.parametrize("down", [False, True])
def test_sort(run: Any, dtype: Any, n: int, m: int, down: bool) -> None:
    rng = np.random.default_rng(n + m)
    x = rng.integers(0, 100, (m, n)).astype(dtype)
    out = np.zeros_like(x)
    run(sort_kernel, x, out, N=n, M=m, DOWN=down)
    want = np.sort(x, 1)
    np.testing.assert_array_equal(out, want[:, ::-1] if down else want)


@tegula.jit
def pick_kernel(x, top, flipped, soft, N: tl.constexpr, K: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(top + tl.arange(0, K), tl.topk(v, K))
    tl.store(flipped + i, tl.flip(v, 0))
    tl.store(soft + i, v.softmax())


def test_topk_flip_softmax(run: Any) -> None:
    x = np.random.default_rng(3).standard_normal(16).astype(np.float32)
    top, flipped, soft = np.zeros(4, x.dtype), np.zeros_like(x), np.zeros_like(x)
    run(pick_kernel, x, top, flipped, soft, N=16, K=4)
    np.testing.assert_array_equal(top, np.sort(x)[::-1][:4])
    np.testing.assert_array_equal(flipped, x[::-1])
    e = np.exp(x - x.max())
    np.testing.assert_allclose(soft, e / e.sum(), rtol=1e-6)


@tegula.jit
def swizzle_kernel(out, W: tl.constexpr, H: tl.constexpr, G: tl.constexpr):
    p = tl.arange(0, 16)
    i, j = tl.swizzle2d(p // W, p % W, H, W, G)
    tl.store(out + p, i * W + j)


def test_swizzle(run: Any) -> None:
    out = np.zeros(16, np.int32)
    run(swizzle_kernel, out, W=4, H=4, G=2)
    assert sorted(out.tolist()) == list(range(16))
    assert out.tolist()[:4] == [0, 4, 1, 5]


def philox(key: tuple, counter: list) -> list:
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [
            (p1 >> 32) ^ c[1] ^ k[0],
            p1 & 0xFFFFFFFF,
            (p0 >> 32) ^ c[3] ^ k[1],
            p0 & 0xFFFFFFFF,
        ]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


@tegula.jit
def random_kernel(bits, uniform, normal, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b, c, d = tl.randint4x(seed, i)
    tl.store(bits + i * 4, a)
    tl.store(bits + i * 4 + 1, b)
    tl.store(bits + i * 4 + 2, c)
    tl.store(bits + i * 4 + 3, d)
    tl.store(uniform + i, tl.rand(seed, i))
    tl.store(normal + i, tl.randn(seed, i))


@pytest.mark.parametrize("seed", [0, 42, 2**40 + 5])
def test_random(run: Any, seed: int) -> None:
    bits, uniform, normal = (
        np.zeros(n, t) for n, t in [(64, "u4"), (16, "f4"), (16, "f4")]
    )
    run(random_kernel, bits, uniform, normal, seed, N=16)
    key = (seed & 0xFFFFFFFF, seed >> 32)
    want = [philox(key, [i, 0, 0, 0]) for i in range(16)]
    assert bits.reshape(16, 4).tolist() == want
    one = bits.reshape(16, 4)[:, 0].view(np.int32).astype(np.int64)
    folded = np.where(one < 0, -one - 1, one)
    np.testing.assert_allclose(uniform, folded * 4.6566127342e-10, rtol=1e-6)
    assert (uniform >= 0).all() and (uniform < 1).all()
    assert np.abs(normal).max() < 6 and normal.std() > 0.3


def test_philox_known_answer() -> None:
    """The zero vector of Random123's test file."""
    assert [hex(w) for w in philox((0, 0), [0, 0, 0, 0])] == [
        "0x6627e8d5",
        "0xe169c58d",
        "0xbc57ac4c",
        "0x9b00dbd8",
    ]


SPREAD = [
    0.0,
    -0.0,
    0.1,
    -0.3,
    0.5,
    -0.5,
    0.9,
    -0.99,
    1.0,
    -1.0,
    1.5,
    -2.5,
    3.0,
    7.25,
    -20.0,
]
UNARY = {
    "atan": (libdevice.atan, math.atan, SPREAD),
    "asin": (libdevice.asin, math.asin, [v for v in SPREAD if abs(v) <= 1]),
    "acos": (libdevice.acos, math.acos, [v for v in SPREAD if abs(v) < 1]),
    "sinh": (libdevice.sinh, math.sinh, SPREAD),
    "cosh": (libdevice.cosh, math.cosh, SPREAD),
    "asinh": (libdevice.asinh, math.asinh, SPREAD),
    "atanh": (libdevice.atanh, math.atanh, [v for v in SPREAD if abs(v) < 1]),
    "expm1": (libdevice.expm1, math.expm1, SPREAD),
    "log1p": (libdevice.log1p, math.log1p, [v for v in SPREAD if v > -1]),
    "cbrt": (libdevice.cbrt, np.cbrt, SPREAD),
    "tan": (libdevice.tan, math.tan, SPREAD),
    "round": (
        libdevice.round,
        lambda v: math.copysign(math.floor(abs(v) + 0.5), v),
        SPREAD,
    ),
    "rint": (libdevice.rint, np.rint, SPREAD),
    "trunc": (libdevice.trunc, np.trunc, SPREAD),
    "exp10": (libdevice.exp10, lambda v: 10.0**v, SPREAD),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", UNARY)
def test_libdevice(run: Any, name: str, dtype: Any) -> None:
    fn, want, values = UNARY[name]

    @tegula.jit
    def kernel(x, out, F: tl.constexpr):
        i = tl.arange(0, 16)
        tl.store(out + i, F(tl.load(x + i)))

    x = np.array((values + [0.25] * 16)[:16], dtype)
    out = np.zeros_like(x)
    kernel_run = kernel
    run(kernel_run, x, out, F=fn)
    expect = np.array([want(float(v)) for v in x])
    eps = 40 * np.finfo(dtype).eps
    np.testing.assert_allclose(out, expect, rtol=eps, atol=eps)
    if name in ("round", "rint", "trunc"):
        np.testing.assert_array_equal(np.signbit(out), np.signbit(x))


@tegula.jit
def two_kernel(x, y, p, a, h, N: tl.constexpr):
    i = tl.arange(0, N)
    u = tl.load(x + i)
    v = tl.load(y + i)
    tl.store(p + i, libdevice.pow(u, v))
    tl.store(a + i, libdevice.atan2(u, v))
    tl.store(h + i, libdevice.hypot(u, v))


def test_two_operands(run: Any) -> None:
    x = np.array([2, 3, 0.5, -2, -2, 1, 0, 5], np.float32)
    y = np.array([10, -2, 0.5, 3, -2, 9, -1, 0], np.float32)
    p, a, h = (np.zeros_like(x) for _ in range(3))
    run(two_kernel, x, y, p, a, h, N=8)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(p, np.power(x, y), rtol=1e-6)
    np.testing.assert_allclose(a, np.arctan2(x, y), rtol=1e-6)
    np.testing.assert_allclose(h, np.hypot(x, y), rtol=1e-6)


@tegula.jit
def bits_kernel(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, libdevice.popc(v))
    tl.store(out + N + i, libdevice.clz(v))
    tl.store(out + 2 * N + i, libdevice.ffs(v))


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_bits(run: Any, dtype: Any) -> None:
    x = np.array([0, 1, 2, 3, 255, 1 << 30, 12345, 7], dtype)
    out = np.zeros(24, np.int32)
    run(bits_kernel, x, out, N=8)
    n = x.itemsize * 8
    ints = [int(v) for v in x]
    assert out[:8].tolist() == [bin(v).count("1") for v in ints]
    assert out[8:16].tolist() == [n - v.bit_length() for v in ints]
    assert out[16:].tolist() == [(v & -v).bit_length() for v in ints]


@tegula.jit
def window_kernel(x, out, h, w, BH: tl.constexpr, BW: tl.constexpr):
    src = tl.make_block_ptr(x, (h, w), (w, 1), (0, 0), (BH, BW), (1, 0))
    dst = tl.make_block_ptr(out, (h, w), (w, 1), (0, 0), (BH, BW), (1, 0))
    for _ in range(tl.cdiv(w, BW)):
        v = tl.load(src, boundary_check=(0, 1), padding_option="zero")
        tl.store(dst, (v * 2).to(dst.dtype.element_ty), boundary_check=(0, 1))
        src = tl.advance(src, (0, BW))
        dst = tl.advance(dst, (0, BW))


def test_block_pointers(run: Any) -> None:
    x = np.arange(15, dtype=np.float32).reshape(3, 5)
    out = np.zeros_like(x)
    run(window_kernel, x, out, 3, 5, BH=4, BW=2)
    np.testing.assert_array_equal(out, 2 * x)


@tegula.jit
def first(a, b):
    return tl.where(a == a, a, b)


@tegula.jit
def scan_kernel(x, out, last, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, tl.associative_scan(v, 0, joined, reverse=True))
    tl.store(out + N + i, tl.cumsum(v, 0))
    _, at = tl.max(v, 0, return_indices=True)
    tl.store(last, at)
    tl.store(last + 1, tl.argmin(v, 0))


@tegula.jit
def joined(a, b):
    return a + b


def test_scans(run: Any) -> None:
    x = np.array([3, 1, 4, 1, 5, 9, 2, 9], np.float32)
    out, last = np.zeros(16, np.float32), np.zeros(2, np.int32)
    run(scan_kernel, x, out, last, N=8)
    np.testing.assert_array_equal(out[:8], np.cumsum(x[::-1])[::-1])
    np.testing.assert_array_equal(out[8:], np.cumsum(x))
    assert last.tolist() == [5, 1]


@tegula.jit
def descriptor_kernel(x, out, picked, h, w, BH: tl.constexpr, BW: tl.constexpr):
    src = tl.make_tensor_descriptor(x, [h, w], [w, 1], [BH, BW])
    dst = tl.make_tensor_descriptor(out, [h, w], [w, 1], [BH, BW])
    tl.static_assert(isinstance(src, tl.tensor_descriptor))
    tl.static_assert(src.block_shape[1] == BW and src.dtype == tl.float32)
    for j in range(0, w, BW):
        v = src.load([0, j])
        if j > 3:
            v += 100
        dst.store([0, j], v)
    rows = tl.make_tensor_descriptor(x, (h, w), (w, 1), (1, BW), padding_option="nan")
    i = tl.arange(0, 2)
    tl.store(
        picked + i[:, None] * BW + tl.arange(0, BW)[None, :], rows.gather(2 - i, 4)
    )
    tl.debug_barrier()
    dst.atomic_add([2, 0], tl.full((BH, BW), 1000.0, tl.float32))


def test_descriptors(run: Any) -> None:
    x = np.arange(18, dtype=np.float32).reshape(3, 6)
    out, picked = np.zeros_like(x), np.zeros((2, 4), np.float32)
    run(descriptor_kernel, x, out, picked, 3, 6, BH=4, BW=4)
    want = x.copy()
    want[:, 4:] += 100
    want[2, :4] += 1000
    np.testing.assert_array_equal(out, want)
    nan = float("nan")
    np.testing.assert_array_equal(picked, [[16, 17, nan, nan], [10, 11, nan, nan]])


@tegula.jit
def folded_kernel(out, N: tl.constexpr):
    blocks: tl.constexpr = tl.cdiv(N, 4)
    tl.store(out + tl.arange(0, blocks), blocks)


def test_a_folded_helper_is_a_constant(run: Any) -> None:
    out = np.zeros(4, np.int32)
    run(folded_kernel, out, N=13)
    assert out.tolist() == [4, 4, 4, 4]
