"""Tiled matmul with masks: every M, N, K; every dtype a dot takes."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
    ACC: tl.constexpr,
    PRECISION: tl.constexpr,
):
    pid = tl.program_id(0)
    num_m = tl.cdiv(M, BLOCK_M)
    num_n = tl.cdiv(N, BLOCK_N)
    in_group = GROUP_M * num_n
    first_m = pid // in_group * GROUP_M
    group = min(num_m - first_m, GROUP_M)
    pid_m = first_m + pid % in_group % group
    pid_n = pid % in_group // group
    m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + m[:, None] * stride_am + k[None, :] * stride_ak
    b_ptrs = b_ptr + k[:, None] * stride_bk + n[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=ACC)
    for i in range(tl.cdiv(K, BLOCK_K)):
        left = K - i * BLOCK_K
        a = tl.load(a_ptrs, mask=(m[:, None] < M) & (k[None, :] < left), other=0)
        b = tl.load(b_ptrs, mask=(k[:, None] < left) & (n[None, :] < N), other=0)
        acc = tl.dot(a, b, acc, out_dtype=ACC, input_precision=PRECISION)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    c_ptrs = c_ptr + m[:, None] * stride_cm + n[None, :] * stride_cn
    mask = (m[:, None] < M) & (n[None, :] < N)
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=mask)


def matmul(
    device, a, b, block, precision="ieee", acc=tl.float32, out=np.float32, **options
):
    (M, K), N = a.shape, b.shape[1]
    c = device.poison((M, N), out)
    bm, bn, bk = block

    def strides(x):
        return [s // x.itemsize for s in x.strides]

    # put() makes C order: a transposed view goes over as its base, with its strides.
    def parts(x):
        return (
            (device.put(x.T), strides(x))
            if x.flags.f_contiguous
            else (device.put(x), strides(x))
        )

    (da, sa), (db, sb) = parts(a), parts(b)
    matmul_kernel[(triton.cdiv(M, bm) * triton.cdiv(N, bn),)](
        da,
        db,
        c,
        M,
        N,
        K,
        *sa,
        *sb,
        N,
        1,
        BLOCK_M=bm,
        BLOCK_N=bn,
        BLOCK_K=bk,
        GROUP_M=4,
        ACC=acc,
        PRECISION=precision,
        **options,
    )
    return device.get(c)


SHAPES = [(1, 1, 1), (33, 65, 17), (128, 128, 128), (1000, 1000, 1000)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("block", [(16, 16, 16), (64, 64, 32), (96, 80, 48)], ids=str)
def test_shapes_f32(device, rng, shape, block):
    M, N, K = shape
    if M == 1000 and (block[0] == 16 or device.is_emulated):
        pytest.skip("too many programs")
    a, b = (
        rng.standard_normal((M, K), np.float32),
        rng.standard_normal((K, N), np.float32),
    )
    got = matmul(device, a, b, block)
    expected = a.astype(np.float64) @ b
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5 * K**0.5)


def test_tutorial_size_on_the_emulator(device, rng):
    """One column of programs of 1000x1000x1000, with the emulator too."""
    a, b = (
        rng.standard_normal((1000, 1000), np.float32),
        rng.standard_normal((1000, 64), np.float32),
    )
    if device.is_emulated:
        a = a[:100]
    got = matmul(device, a.astype(np.float16), b.astype(np.float16), (64, 64, 32))
    expected = a.astype(np.float16).astype(np.float64) @ b.astype(np.float16)
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("num_warps", [1, 4, 8])
def test_dtypes(device, rng, dtype, num_warps):
    a, b = rng.standard_normal((2, 64, 64)).astype(dtype)
    acc = tl.float64 if dtype == np.float64 else tl.float32
    got = matmul(
        device,
        a,
        b,
        (32, 32, 32),
        acc=acc,
        out=np.float64 if acc is tl.float64 else np.float32,
        num_warps=num_warps,
    )
    expected = a.astype(np.float64) @ b.astype(np.float64)
    tol = 1e-12 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(got, expected, rtol=tol, atol=tol)


def test_bf16(device, rng):
    torch = pytest.importorskip("torch")
    where = "cuda" if device.target == "cuda" else "cpu"
    a, b = (
        torch.from_numpy(rng.standard_normal((2, 64, 64))).to(torch.bfloat16).to(where)
    )
    c = torch.full((64, 64), float("nan"), device=where)
    matmul_kernel[(4,)](
        a,
        b,
        c,
        64,
        64,
        64,
        64,
        1,
        64,
        1,
        64,
        1,
        BLOCK_M=32,
        BLOCK_N=32,
        BLOCK_K=32,
        GROUP_M=4,
        ACC=tl.float32,
        PRECISION="ieee",
    )
    torch.testing.assert_close(
        c.double(), a.double() @ b.double(), rtol=1e-4, atol=1e-4
    )


def test_tf32(device, rng):
    a, b = rng.standard_normal((2, 64, 64)).astype(np.float32)
    got = matmul(device, a, b, (32, 32, 32), precision="tf32")
    np.testing.assert_allclose(got, a.astype(np.float64) @ b, rtol=0, atol=4e-2)


def test_tf32x3_is_nearly_ieee(device, rng):
    a, b = rng.standard_normal((2, 64, 64)).astype(np.float32)
    got = matmul(device, a, b, (32, 32, 32), precision="tf32x3")
    np.testing.assert_allclose(got, a.astype(np.float64) @ b, rtol=0, atol=1e-4)


def test_int8(device, rng):
    a, b = rng.integers(-128, 128, (2, 64, 64)).astype(np.int8)
    got = matmul(device, a, b, (32, 32, 32), precision=None, acc=tl.int32, out=np.int32)
    np.testing.assert_array_equal(got, a.astype(np.int32) @ b.astype(np.int32))


@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
def test_transposed_operands(device, rng, ta, tb):
    a, b = rng.standard_normal((2, 48, 48)).astype(np.float16)
    a, b = (a.T if ta else a), (b.T if tb else b)
    got = matmul(device, a, b, (32, 32, 16))
    np.testing.assert_allclose(got, a.astype(np.float64) @ b, rtol=1e-3, atol=1e-3)


@triton.jit
def small_dot_kernel(
    a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + n[None, :])
    tl.store(c_ptr + m[:, None] * N + n[None, :], tl.dot(a, b, input_precision="ieee"))


@pytest.mark.parametrize(
    "shape", [(1, 1, 16), (2, 64, 16), (16, 8, 32), (64, 16, 64), (128, 4, 16)], ids=str
)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_block_shapes(device, rng, shape, dtype):
    M, N, K = shape
    a, b = (
        rng.standard_normal((M, K)).astype(dtype),
        rng.standard_normal((K, N)).astype(dtype),
    )
    c = device.poison((M, N), np.float32)
    small_dot_kernel[(1,)](device.put(a), device.put(b), c, M, N, K)
    np.testing.assert_allclose(
        device.get(c), a.astype(np.float64) @ b.astype(np.float64), rtol=1e-3, atol=1e-3
    )


def cpu_has(flag: str) -> bool:
    """As Linux lists it."""
    try:
        return flag in Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return False


def cpu_gives_tiles() -> bool:
    """AMX, which Linux gives to who asks: arch_prctl(ARCH_REQ_XCOMP_PERM, TILE_DATA)."""
    arch_prctl, request, tile_data = 158, 0x1023, 18
    return (
        cpu_has("amx_tile")
        and ctypes.CDLL(None).syscall(arch_prctl, request, tile_data) == 0
    )


@pytest.mark.parametrize(
    "sides", [(64, 64, 64), (33, 50, 18), (16, 16, 2), (40, 70, 7)]
)
@pytest.mark.parametrize("block", [(32, 32, 32), (16, 64, 8), (8, 16, 2)])
def test_bf16_by_pairs_along_k(sides, block):
    """What the CPU's instruction adds up by twos, with masks along every side."""
    torch = pytest.importorskip("torch")
    (m, n, k), (bm, bn, bk) = sides, block
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-8, 9, s).astype(np.float32) for s in ((m, k), (k, n)))
    x, y = (torch.from_numpy(v).to(torch.bfloat16) for v in (a, b))
    out = torch.full((m, n), float("nan"))
    c = matmul_kernel[(-(-m // bm) * -(-n // bn),)](
        x, y, out, m, n, k, *(k, 1, n, 1, n, 1),
        BLOCK_M=bm, BLOCK_N=bn, BLOCK_K=bk, GROUP_M=8, ACC=tl.float32, PRECISION="ieee",
    )  # fmt: skip
    np.testing.assert_array_equal(out.numpy(), a @ b)
    word = "tdpbf16ps" if cpu_gives_tiles() else "vdpbf16ps"
    if cpu_has("avx512_bf16"):
        assert word in c.asm["asm"]


@pytest.mark.parametrize(
    "sides", [(64, 64, 64), (33, 50, 18), (16, 16, 4), (40, 70, 7)]
)
@pytest.mark.parametrize("block", [(32, 32, 32), (16, 64, 8), (8, 16, 4)])
def test_int8_by_fours_along_k(sides, block):
    """What the CPU's instruction takes as unsigned, too: all of -128 .. 127."""
    (m, n, k), (bm, bn, bk) = sides, block
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-128, 128, s).astype(np.int8) for s in ((m, k), (k, n)))
    a[0], b[:, 0] = -128, 127
    out = np.full((m, n), -1, np.int32)
    c = matmul_kernel[(-(-m // bm) * -(-n // bn),)](
        a, b, out, m, n, k, *(k, 1, n, 1, n, 1),
        BLOCK_M=bm, BLOCK_N=bn, BLOCK_K=bk, GROUP_M=8, ACC=tl.int32, PRECISION="ieee",
    )  # fmt: skip
    np.testing.assert_array_equal(out, a.astype(np.int32) @ b.astype(np.int32))
    word = "tdpbssd" if cpu_gives_tiles() else "vpdpbusd"
    if cpu_has("avx512_vnni"):
        assert word in c.asm["asm"]


def test_bf16_of_special_numbers():
    """Infinities and NaN go where they belong; below 2^-126 a CPU may take all for 0."""
    torch = pytest.importorskip("torch")
    n = 32
    a, b = np.ones((n, n), np.float32), np.ones((n, n), np.float32)
    a[1, 3], a[2, 5], a[3, 7] = np.inf, -np.inf, np.nan
    a[4, 0], a[4, 1] = np.inf, -np.inf
    b[3, 2], b[9], b[9, 4] = 0, 0, np.inf
    a[6], a[6, 9] = 2.0**-130, 1  # one of them for 0 would be NaN beside the infinity
    x, y = (torch.from_numpy(v).to(torch.bfloat16) for v in (a, b))
    outs = []
    for _ in range(2):  # the first launch is a checked one
        out = torch.full((n, n), 7.0)
        matmul_kernel[(1,)](
            x, y, out, n, n, n, *(n, 1, n, 1, n, 1),
            BLOCK_M=n, BLOCK_N=n, BLOCK_K=n, GROUP_M=1, ACC=tl.float32, PRECISION="ieee",
        )  # fmt: skip
        outs.append(out.numpy())
    np.testing.assert_array_equal(outs[0].view(np.int32), outs[1].view(np.int32))
    with np.errstate(invalid="ignore"):
        want = a @ b
    finite = np.isfinite(want)
    np.testing.assert_array_equal(np.isnan(outs[0]), np.isnan(want))
    np.testing.assert_array_equal(outs[0][np.isinf(want)], want[np.isinf(want)])
    np.testing.assert_allclose(outs[0][finite], want[finite], atol=2.0**-120)
