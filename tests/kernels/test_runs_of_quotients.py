"""Places that // and % take apart, on CPUs: steps in which no quotient changes have code of
their own (csrc/codegen/host/runs.c), and give what the others give.

The first launch of a kernel checks its accesses, by code without such steps, so all are
launched twice. What comes is compared with the interpreter's bits.
"""

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def planes(
    x_ptr, w_ptr, out_ptr, sum_ptr, first, n, width, pitch, rows, BLOCK: tl.constexpr
):
    """Of an image with padding, each row times a weight of its own, shifted by one."""
    at = first + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = at // width
    x = at % width
    inside = (at >= 0) & (at < n)
    ok = inside & (x >= 1) & (y % rows < rows)
    v = tl.load(x_ptr + y * pitch + x - 1, mask=ok, other=-1)
    w = tl.load(w_ptr + y, mask=inside, other=3)
    tl.store(out_ptr + y * pitch + x, v * w, mask=inside)
    tl.store(sum_ptr + tl.program_id(0), tl.sum(tl.where(inside, v + w, 0), 0))


@tegula.jit
def bare(
    x_ptr,
    w_ptr,
    out_ptr,
    first,
    width,
    pitch,
    OFFSET: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Without masks; the numbers of all lanes are stored."""
    at = first + tl.arange(0, BLOCK)
    y, x = at // width, at % width
    v = tl.load(x_ptr + OFFSET + y * pitch + x) + tl.load(w_ptr + OFFSET + y)
    tl.store(out_ptr + tl.arange(0, BLOCK), v + (y * 100 + x))


@tegula.jit
def divided(x_ptr, out_ptr, first, width, BLOCK: tl.constexpr):
    """Of any numbers: negative ones, the largest, divisors of 0."""
    at = first + tl.arange(0, BLOCK)
    y, x = at // width, at % width
    v = tl.load(x_ptr + (x & 63))
    tl.store(out_ptr + tl.arange(0, BLOCK), v + y * 3 + x)


@tegula.jit
def image(
    x_ptr, w_ptr, y_ptr, B, C, H, W, F, R: tl.constexpr, BM: tl.constexpr,
    BN: tl.constexpr, BK: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    """A convolution by a product: rows are places of all images."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    f = tl.program_id(1) * BN + tl.arange(0, BN)
    b, oy, ox = m // (H * W), m // W % H, m % W
    acc = tl.zeros((BM, BN), ACC)
    K = C * R * R
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        c, ry, rx = k // (R * R), k // R % R, k % R
        iy = oy[:, None] + ry[None, :] - R // 2
        ix = ox[:, None] + rx[None, :] - R // 2
        ok = (iy >= 0) & (iy < H) & (ix >= 0) & (ix < W)
        ok &= (m < B * H * W)[:, None] & (k < K)[None, :]
        x = tl.load(
            x_ptr + ((b[:, None] * C + c[None, :]) * H + iy) * W + ix,
            mask=ok,
            other=0,
        )
        w = tl.load(
            w_ptr + f[None, :] * K + k[:, None],
            mask=(f < F)[None, :] & (k < K)[:, None],
            other=0,
        )
        acc = tl.dot(x, w, acc, out_dtype=ACC, input_precision="ieee")
    at = (b[:, None] * F + f[None, :]) * H * W + (oy * W + ox)[:, None]
    tl.store(y_ptr + at, acc, mask=(m < B * H * W)[:, None] & (f < F)[None, :])


@tegula.jit
def weight_gradient(
    x_ptr, dy_ptr, dw_ptr, C, H, W, F, R: tl.constexpr, BM: tl.constexpr,
    BF: tl.constexpr, BK: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    """Of that convolution, of one image: places are what the product sums up over."""
    f, k, K = tl.arange(0, BF), tl.arange(0, BK), C * R * R
    c, ry, rx = k // (R * R), k // R % R, k % R
    acc = tl.zeros((BF, BK), ACC)
    for m0 in range(0, H * W, BM):
        m = m0 + tl.arange(0, BM)
        iy = (m // W)[:, None] + ry[None, :] - R // 2
        ix = (m % W)[:, None] + rx[None, :] - R // 2
        ok = (iy >= 0) & (iy < H) & (ix >= 0) & (ix < W) & (k < K)[None, :]
        x = tl.load(x_ptr + (c[None, :] * H + iy) * W + ix, mask=ok, other=0)
        ok = (f < F)[:, None] & (m < H * W)[None, :]
        dy = tl.load(dy_ptr + f[:, None] * (H * W) + m[None, :], mask=ok, other=0)
        acc = tl.dot(dy, x, acc, out_dtype=ACC, input_precision="ieee")
    ok = (f < F)[:, None] & (k < K)[None, :]
    tl.store(dw_ptr + f[:, None] * K + k[None, :], acc, mask=ok)


def launch(kernel, grid, *args, **options):
    """By the interpreter, and twice as code: the arrays that both have written."""

    def one(k, times):
        mine = [x.copy() if isinstance(x, np.ndarray) else x for x in args]
        for _ in range(times):
            k[grid](*mine, **options)
        return [x for x in mine if isinstance(x, np.ndarray)]

    return one(tegula.jit(kernel.fn, interpret=True), 1), one(kernel, 2)


def check(kernel, grid, *args, **options):
    for want, got in zip(*launch(kernel, grid, *args, **options), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int64"])
@pytest.mark.parametrize("width", [1, 3, 8, 16, 28, 33, 100, 1000])
def test_planes(rng, dtype, width):
    n, pitch = 1500, width + 5
    size = (n // width + 2) * pitch
    x, out = rng.integers(-9, 9, (2, size)).astype(dtype)
    w = rng.integers(-9, 9, n + 1).astype(dtype)
    sums = np.zeros(4, dtype)
    for first in (0, 5, -40):
        check(planes, (4,), x, w, out, sums, first, n, width, pitch, 7, BLOCK=512)


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint32])
@pytest.mark.parametrize("width", [1, 5, 8, 31, 256])
def test_without_masks(rng, kind, width):
    x, w = rng.integers(-9, 9, (2, 1 << 15)).astype(np.float32)
    out = np.zeros(256, np.float32)
    for first in (0, 3, 77):
        check(bare, (1,), x, w, out, kind(first), kind(width), 9 + width, 0, 256)


@pytest.mark.parametrize("width", [-100, -3, -1, 0, 1, 7, 64, 200, 2**31 - 1, -(2**31)])
def test_any_numbers(rng, width):
    x, out = rng.integers(-9, 9, 64).astype(np.int32), np.zeros(256, np.int32)
    for first in (-300, -128, -1, 5, 2**31 - 257, -(2**31)):
        check(divided, (1,), x, out, first, width, 256)


@pytest.mark.parametrize(
    ("B", "C", "side", "F", "R"),
    [
        (1, 3, (9, 28), 5, 3),
        (2, 8, (5, 7), 16, 1),
        (3, 4, (8, 16), 20, 3),
        (1, 2, (1, 1), 1, 3),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_image(rng, B, C, side, F, R, dtype):
    H, W = side
    x = rng.integers(-4, 4, (B, C, H, W)).astype(dtype)
    w = rng.integers(-4, 4, (F, C, R, R)).astype(dtype)
    sums = tl.float32 if dtype == "float32" else tl.int32
    y = np.full((B, F, H, W), -7, sums.name.replace("fp", "float"))
    grid = (tegula.cdiv(B * H * W, 64), tegula.cdiv(F, 32))
    sizes = {"R": R, "BM": 64, "BN": 32, "BK": 16, "ACC": sums}
    check(image, grid, x, w, y, B, C, H, W, F, **sizes)


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("side", [(9, 28), (5, 7), (8, 16), (40, 33)])
def test_weight_gradient(rng, side, dtype):
    """Rows of the second operand are places: they are turned in registers."""
    H, W = side
    x = rng.integers(-4, 4, (3, H, W)).astype(dtype)
    dy = rng.integers(-4, 4, (5, H, W)).astype(dtype)
    sums = tl.float32 if dtype == "float32" else tl.int32
    dw = np.full((5, 3, 3, 3), -7, sums.name.replace("fp", "float"))
    sizes = {"R": 3, "BM": 64, "BF": 16, "BK": 32, "ACC": sums}
    check(weight_gradient, (1,), x, dy, dw, 3, H, W, 5, **sizes)
