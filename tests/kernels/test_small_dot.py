"""tl.dot by itself: what tensor cores of each chip take, blocks smaller than any of their
instructions, and what is infinite or no number."""

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl

EMULATED = ["emu:sm_75", "emu:sm_80", "emu:sm_89", "emu:sm_90a", "emu:sm_120a"]


@pytest.fixture(params=["cpu", *EMULATED])
def target(request):
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.target = request.param
        yield request.param


@triton.jit
def dot_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    d_ptr,
    B: tl.constexpr,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    PRECISION: tl.constexpr,
):
    z = tl.arange(0, B)[:, None, None]
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + z * (M * K) + m[None, :, None] * K + k[None, None, :])
    b = tl.load(b_ptr + z * (K * N) + k[None, :, None] * N + n[None, None, :])
    at = z * (M * N) + m[None, :, None] * N + n[None, None, :]
    c = tl.load(c_ptr + at)
    d = tl.dot(a, b, c, input_precision=PRECISION)
    tl.store(d_ptr + at, d)


def dot(a, b, c, precision="ieee", **options):
    """a [B, M, K] @ b [B, K, N] + c."""
    d = np.full_like(c, 77)
    sizes = {"B": a.shape[0], "M": a.shape[1], "N": b.shape[2], "K": a.shape[2]}
    dot_kernel[(1,)](a, b, c, d, **sizes, PRECISION=precision, **options)
    return d


SHAPES = [
    (1, 1, 1), (1, 32, 64), (8, 4, 2), (4, 64, 8), (16, 2, 16), (64, 1, 32), (32, 32, 4),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8"])
def test_blocks_smaller_than_an_instruction(target, rng, dtype):
    acc = {"float64": np.float64, "int8": np.int32}.get(dtype, np.float32)
    for i, (m, n, k) in enumerate(SHAPES):
        batch = 1 + i % 2
        a, b, c = (
            (rng.standard_normal(s) * 9).astype(t)
            for s, t in (
                ((batch, m, k), dtype),
                ((batch, k, n), dtype),
                ((batch, m, n), acc),
            )
        )
        got = dot(a, b, c, "tf32x3", num_warps=(1, 2, 4, 8)[i % 4])
        want = a.astype(np.float64) @ b.astype(np.float64) + c
        tol = 1e-13 if dtype == "float64" else 0 if dtype == "int8" else 2e-5
        np.testing.assert_allclose(got, want, rtol=tol, atol=tol * 50)


@triton.jit
def loop_kernel(
    a_ptr, b_ptr, c_ptr, k_end, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    c = tl.zeros((M, N), tl.float32)
    for at in range(0, k_end, K):
        a = tl.load(a_ptr + m[:, None] * k_end + at + k[None, :])
        c += tl.dot(a, tl.load(b_ptr + (at + k)[:, None] * N + n[None, :]))
    tl.store(c_ptr + m[:, None] * N + n[None, :], c)


@pytest.mark.parametrize("shape", [(64, 1, 16), (1, 64, 16), (64, 64, 1), (64, 1, 1)])
def test_a_loop_over_blocks_with_a_side_of_one(target, rng, shape):
    m, n, k = shape
    a = rng.integers(-9, 9, (m, 4 * k)).astype(np.float16)
    b = rng.integers(-9, 9, (4 * k, n)).astype(np.float16)
    c = np.full((m, n), np.nan, np.float32)
    loop_kernel[(1,)](a, b, c, 4 * k, M=m, N=n, K=k)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_what_fills_up_meets_no_infinity(target, dtype):
    """Of blocks short along K: no lane multiplies an element by another's padding."""
    a, b = np.ones((1, 16, 2), dtype), np.ones((1, 2, 8), dtype)
    a[0, 3, 1], b[0, 0, 5] = np.inf, -np.inf
    c = np.zeros((1, 16, 8), np.float64 if dtype == "float64" else np.float32)
    with np.errstate(invalid="ignore"):
        want = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_array_equal(dot(a, b, c), want)


def test_f64_rounds_as_a_chain_along_k(target, rng):
    """The same bits on every target: one fused multiply-add after the other."""
    if target == "cpu":
        pytest.skip("the CPU's order is its own")
    a, b = rng.standard_normal((2, 1, 16, 16))
    c = rng.standard_normal((1, 16, 16))
    want = c.astype(np.longdouble)
    for k in range(
        16
    ):  # 64 bits of mantissa: a double rounding is rare, not impossible
        step = want + a[:, :, k, None].astype(np.longdouble) * b[:, None, k]
        want = step.astype(np.float64).astype(np.longdouble)
    got = dot(a, b, c)
    assert (got == want.astype(np.float64)).mean() > 0.97
    np.testing.assert_allclose(got, want.astype(np.float64), rtol=1e-14, atol=1e-15)


@triton.jit
def both_shapes(x_ptr, v_ptr, d_ptr, BACK: tl.constexpr):
    at = tl.arange(0, 16)[:, None] * 32 + tl.arange(0, 32)[None, :]
    flat = tl.arange(0, 64)[:, None] * 8 + tl.arange(0, 8)[None, :]
    v = tl.zeros((16, 32), tl.float32)
    for i in range(2):
        v += tl.load(x_ptr + at + i)
    if BACK:
        w = tl.reshape(v, (64, 8))
        ones, more = (
            tl.full((16, 16), 1.0, tl.float32),
            tl.full((16, 32), 1.0, tl.float32),
        )
        tl.store(d_ptr + at, tl.dot(ones, more, acc=v))
        tl.store(v_ptr + flat, w)
    else:
        ones, more = (
            tl.full((64, 16), 1.0, tl.float32),
            tl.full((16, 8), 1.0, tl.float32),
        )
        tl.store(d_ptr + flat, tl.dot(ones, more, acc=tl.reshape(v, (64, 8)) + 0.0))
        tl.store(v_ptr + at, v)


@pytest.mark.parametrize("back", [False, True])
def test_accumulator_that_is_read_in_another_shape(target, back, rng):
    """A reshape shares its operand's memory on the CPU: neither is a product's to overwrite
    while the other is needed."""
    x = rng.integers(-9, 9, 600).astype(np.float32)
    v, d = (np.full(512, np.nan, np.float32) for _ in "vd")
    both_shapes[(1,)](x, v, d, BACK=back)
    want = x[:512] + x[1:513]
    np.testing.assert_array_equal(v, want)
    np.testing.assert_array_equal(d, want + 16)
