"""Products by warpgroups, run as PTX: operands that lie this way and that, in shared memory
and in registers, sides that fill nothing, sums that stay open from turn to turn."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import simulated

import tegula
import tegula.language as tl

pytestmark = pytest.mark.usefixtures("ptxsim")
TARGET = "sm_90a"


@tegula.jit
def matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, sam, sak, sbk, sbn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_ptrs = a_ptr + m[:, None] * sam + k[None, :] * sak
    b_ptrs = b_ptr + k[:, None] * sbk + n[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, K, BK):
        a = tl.load(a_ptrs, mask=(m[:, None] < M) & (k[None, :] < K - k0), other=0.0)
        b = tl.load(b_ptrs, mask=(k[:, None] < K - k0) & (n[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BK * sak
        b_ptrs += BK * sbk
    tl.store(
        c_ptr + m[:, None] * N + n[None, :],
        acc,
        mask=(m[:, None] < M) & (n[None, :] < N),
    )


@tegula.jit
def two_products(a_ptr, b_ptr, c_ptr, n, BM: tl.constexpr, BN: tl.constexpr):
    """sum over blocks of (A @ B_i) @ B_i^T: the second A is computed."""
    m, k, j = tl.arange(0, BM), tl.arange(0, 64), tl.arange(0, BN)
    a = tl.load(a_ptr + m[:, None] * 64 + k[None, :])
    acc = tl.zeros((BM, 64), dtype=tl.float32)
    for i in range(0, n, BN):
        b = tl.load(b_ptr + k[:, None] * n + i + j[None, :])
        p = tl.dot(a, b)
        acc = tl.dot((p * 0.5).to(tl.float16), tl.trans(b), acc)
    tl.store(c_ptr + m[:, None] * 64 + k[None, :], acc)


@tegula.jit
def scaled_product(a_ptr, b_ptr, c_ptr, K, BK: tl.constexpr):
    """(A / 2) @ B, of 64 columns and 64 rows; A / 2 is computed, and B runs along K."""
    m, k = tl.arange(0, 64), tl.arange(0, BK)
    acc = tl.zeros((64, 64), dtype=tl.float32)
    for k0 in range(0, K, BK):
        a = tl.load(a_ptr + m[:, None] * K + k0 + k[None, :])
        b = tl.load(b_ptr + m[None, :] * K + k0 + k[:, None])
        acc = tl.dot(a * 0.5, b, acc)
    tl.store(c_ptr + m[:, None] * 64 + m[None, :], acc)


@tegula.jit
def with_epilogue(
    a_ptr, b_ptr, bias_ptr, c_ptr, sums_ptr, top_ptr, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """relu(A @ B + bias) as bfloat16, each row's sum and each column's maximum."""
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, K, BK):
        a = tl.load(a_ptr + m[:, None] * K + k0 + k[None, :])
        b = tl.load(b_ptr + (k0 + k)[:, None] * BN + n[None, :])
        acc = tl.dot(a, b, acc)
    acc = tl.maximum(acc + tl.load(bias_ptr + n)[None, :], 0)
    tl.store(c_ptr + m[:, None] * BN + n[None, :], acc.to(tl.bfloat16).to(tl.float32))
    tl.store(sums_ptr + m, tl.sum(acc, axis=1))
    tl.store(top_ptr + n, tl.max(acc, axis=0))


@tegula.jit
def straight(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """A @ B + C, all row-major, without a loop."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    at = c_ptr + m[:, None] * N + n[None, :]
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + n[None, :])
    tl.store(at, tl.dot(a, b, tl.load(at)))


@tegula.jit
def sums_of(x_ptr, N: tl.constexpr, FORM: tl.constexpr):
    """What a product begins with; of some forms registers have the same numbers."""
    x = tl.load(x_ptr + tl.arange(0, 64)[:, None] * N + tl.arange(0, N)[None, :])
    if FORM == "constant":
        x = tl.full((64, N), 6.0, tl.float32)
    if FORM == "row":
        x = tl.load(x_ptr + tl.arange(0, N))[None, :] + tl.zeros((64, N), tl.float32)
    if FORM == "number":
        x = tl.load(x_ptr) + tl.zeros((64, N), tl.float32)
    return x


@tegula.jit
def with_sums(a_ptr, b_ptr, x_ptr, c_ptr, N: tl.constexpr, FORM: tl.constexpr):
    """(x + A @ B) * (x + 2 A @ B) + x: all three use x."""
    m, n, k = tl.arange(0, 64), tl.arange(0, N), tl.arange(0, 32)
    a = tl.load(a_ptr + m[:, None] * 32 + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + n[None, :])
    x = sums_of(x_ptr, N, FORM)
    c = tl.dot(a, b, x) * tl.dot(a + a, b, x) + x
    tl.store(c_ptr + m[:, None] * N + n[None, :], c)


@tegula.jit
def one_turn(a_ptr, b_ptr, x_ptr, c_ptr, N: tl.constexpr, FORM: tl.constexpr):
    m, n, k = tl.arange(0, 64), tl.arange(0, N), tl.arange(0, 32)
    x = sums_of(x_ptr, N, FORM)
    for k0 in range(0, 32, 32):
        a = tl.load(a_ptr + m[:, None] * 32 + (k0 + k)[None, :])
        x = tl.dot(a, tl.load(b_ptr + (k0 + k)[:, None] * N + n[None, :]), x)
    tl.store(c_ptr + m[:, None] * N + n[None, :], x)


@tegula.jit
def half_sums(
    a_ptr, b_ptr, c_ptr, K, sam, sak, sbk, sbn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BEGIN: tl.constexpr,
):  # fmt: skip
    """A @ B + BEGIN, summed in float16."""
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    m += tl.program_id(0) * BM
    acc = tl.full((BM, BN), BEGIN, tl.float16)
    for k0 in range(0, K, BK):
        a = tl.load(a_ptr + m[:, None] * sam + (k0 + k)[None, :] * sak)
        b = tl.load(b_ptr + (k0 + k)[:, None] * sbk + n[None, :] * sbn)
        acc = tl.dot(a, b, acc, out_dtype=tl.float16)
    tl.store(c_ptr + m[:, None] * BN + n[None, :], acc)


def whole_numbers(seed: int, *shape: int, dtype=np.float16) -> np.ndarray:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


def run_matmul(sides, block, turned=(0, 0), dtype=np.float16, **options):
    (m, n, k), (bm, bn, bk) = sides, block
    a, b = whole_numbers(1, m, k, dtype=dtype), whole_numbers(2, k, n, dtype=dtype)
    lie = [
        np.ascontiguousarray(x.T) if t else x
        for x, t in zip((a, b), turned, strict=True)
    ]
    there = [
        simulated.put(x, TARGET) for x in (*lie, np.full((m, n), np.nan, np.float32))
    ]
    strides = []
    for t, x in zip(turned, (a, b), strict=True):
        strides += (1, x.shape[0]) if t else (x.shape[1], 1)
    grid = (-(-m // bm), -(-n // bn))
    compiled = matmul[grid](*there, m, n, k, *strides, BM=bm, BN=bn, BK=bk, **options)
    np.testing.assert_array_equal(
        there[2].numpy(), a.astype(np.float32) @ b.astype(np.float32)
    )
    return compiled


@pytest.mark.parametrize("turned", list(product((0, 1), repeat=2)))
@pytest.mark.parametrize("hopper", ["2,0", "2,1"])
def test_as_they_lie(turned, hopper):
    c = run_matmul((100, 72, 96), (64, 64, 32), turned, num_warps=4, hopper=hopper)
    wide = run_matmul(
        (128, 128, 192), (64, 128, 128), turned, num_warps=8, hopper=hopper
    )
    for ptx in (c.asm["ptx"], wide.asm["ptx"]):
        assert "wgmma.mma_async" in ptx and "mma.sync" not in ptx


@pytest.mark.parametrize(
    ("block", "warps", "instruction"),
    [
        ((128, 256, 64), 8, "m64n256k16"),
        ((64, 256, 16), 8, "m64n128k16"),  # two warpgroups share the columns
        ((256, 64, 32), 4, "m64n64k16"),  # one has four tiles of rows
        ((64, 16, 64), 4, "m64n16k16"),
        ((256, 64, 16), 16, "m64n64k16"),
    ],
)
def test_shares(block, warps, instruction):
    sides = (block[0], block[1] - 8, 2 * block[2] + 8)
    c = run_matmul(sides, block, num_warps=warps, num_stages=3)
    assert f"wgmma.mma_async.sync.aligned.{instruction}." in c.asm["ptx"]


@pytest.mark.parametrize("hopper", ["2,0", "2,1"])
def test_tf32_along_k(hopper):
    c = run_matmul(
        (100, 72, 96), (64, 64, 32), (0, 1), np.float32, num_warps=4, hopper=hopper
    )
    assert "m64n64k8.f32.tf32.tf32" in c.asm["ptx"]
    assert "mma.sync" not in c.asm["ptx"]


@pytest.mark.parametrize(
    ("block", "warps", "instruction"),
    [
        ((128, 128, 32), 8, "m64n128k8"),
        ((64, 256, 16), 8, "m64n128k8"),
        ((256, 64, 32), 4, "m64n64k8"),
        ((64, 16, 64), 4, "m64n16k8"),
        ((64, 32, 8), 4, "m64n32k8"),
    ],
)
def test_shares_of_tf32(block, warps, instruction):
    sides = (block[0], block[1] - 8, 2 * block[2] + 8)
    c = run_matmul(sides, block, (0, 1), np.float32, num_warps=warps, num_stages=3)
    assert f"wgmma.mma_async.sync.aligned.{instruction}." in c.asm["ptx"]


@pytest.mark.parametrize("hopper", ["2,0", "2,1"])
@pytest.mark.parametrize(
    ("turned", "instruction"),
    [((0, 0), "m64n64k8"), ((1, 1), "m64n64k8")],  # B^T A^T, and A out of its slot
)
def test_tf32_along_one_side(turned, instruction, hopper):
    sides = 100, 72, 96
    c = run_matmul(sides, (64, 64, 32), turned, np.float32, num_warps=4, hopper=hopper)
    wide = run_matmul(
        (120, 264, 72), (128, 256, 32), turned, np.float32, num_warps=8, hopper=hopper
    )
    for ptx in (c.asm["ptx"], wide.asm["ptx"]):
        assert "wgmma.mma_async" in ptx and "mma.sync" not in ptx
        assert "0f3A000000" in ptx  # half of the last place is added
    assert f"{instruction}.f32.tf32.tf32" in c.asm["ptx"]


@pytest.mark.parametrize(
    ("block", "warps", "instruction"),
    [
        ((128, 128, 32), 8, "m64n128k8"),
        ((256, 64, 16), 8, "m64n128k8"),  # two warpgroups share the 256 rows
        ((64, 256, 32), 4, "m64n64k8"),  # one has four tiles of columns
        ((16, 64, 64), 4, "m64n16k8"),
        ((32, 64, 8), 4, "m64n32k8"),  # one step: no second set of registers
    ],
)
def test_shares_of_swapped_tf32(block, warps, instruction):
    sides = (block[0], block[1] - 8, 2 * block[2] + 8)
    c = run_matmul(sides, block, (0, 0), np.float32, num_warps=warps, num_stages=3)
    assert f"wgmma.mma_async.sync.aligned.{instruction}." in c.asm["ptx"]


@pytest.mark.parametrize(
    ("block", "warps"),
    [((64, 64, 32), 4), ((128, 128, 16), 8), ((16, 128, 32), 4)],
)
def test_what_follows_a_swapped_product(block, warps):
    (m, n, k), depth = block, 96
    a = whole_numbers(1, m, depth, dtype=np.float32)
    b, bias = (
        whole_numbers(2, depth, n, dtype=np.float32),
        whole_numbers(3, n, dtype=np.float32),
    )
    out = [np.full(s, np.nan, np.float32) for s in ((m, n), m, n)]
    there = [simulated.put(x, TARGET) for x in (a, b, bias, *out)]
    c = with_epilogue[(1,)](*there, depth, BM=m, BN=n, BK=k, num_warps=warps)
    want = np.maximum(a @ b + bias, 0)
    bits = want.view(np.uint32)
    short = ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view(np.float32)
    for got, x in zip(
        there[3:], (short, want.sum(axis=1), want.max(axis=0)), strict=True
    ):
        np.testing.assert_array_equal(got.numpy(), x)
    assert f"m64n{m}k8" in c.asm["ptx"]


def test_swapped_without_a_loop():
    a = whole_numbers(1, 64, 32, dtype=np.float32)
    b, c = (
        whole_numbers(2, 32, 128, dtype=np.float32),
        whole_numbers(3, 64, 128, dtype=np.float32),
    )
    there = [simulated.put(x, TARGET) for x in (a, b, c)]
    compiled = straight[(1,)](*there, M=64, N=128, K=32, num_warps=4)
    np.testing.assert_array_equal(there[2].numpy(), a @ b + c)
    assert "m64n64k8" in compiled.asm["ptx"]


def test_tf32_of_which_nothing_runs_along_k_is_for_mma():
    c = run_matmul((100, 72, 96), (64, 64, 32), (1, 0), np.float32, num_warps=4)
    assert "wgmma" not in c.asm["ptx"]
    assert "level 1, no wgmma: wgmma takes 32-bit operands that run along K" in c.report


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_computed_in_a_loop(dtype):
    a, b = whole_numbers(5, 64, 96, dtype=dtype), whole_numbers(6, 64, 96, dtype=dtype)
    there = [simulated.put(x, TARGET) for x in (a, b, np.zeros((64, 64), np.float32))]
    c = scaled_product[(1,)](*there, 96, BK=32, num_warps=4)
    want = a.astype(np.float32) * 0.5 @ b.astype(np.float32).T
    np.testing.assert_array_equal(there[2].numpy(), want)
    assert "wgmma.mma_async" in c.asm["ptx"]


@pytest.mark.parametrize("warps", [4, 8])
def test_a_in_registers(warps):
    a, b = whole_numbers(3, 64, 64), whole_numbers(4, 64, 128)
    there = [simulated.put(x, TARGET) for x in (a, b, np.zeros((64, 64), np.float32))]
    c = two_products[(1,)](*there, 128, BM=64, BN=32, num_warps=warps, num_stages=2)
    p = (a.astype(np.float32) @ b.astype(np.float32)) * 0.5
    want = p.astype(np.float16).astype(np.float64) @ b.T.astype(np.float64)
    np.testing.assert_allclose(there[2].numpy(), want, rtol=1e-6)
    assert "wgmma.mma_async" in c.asm["ptx"]


@pytest.mark.parametrize("form", ["tile", "constant", "row", "number"])
@pytest.mark.parametrize("kernel", [with_sums, one_turn])
def test_sums_that_others_have_written_or_use(kernel, form):
    """A copy into an accumulator stands in front of the fence."""
    a, b, x = (
        whole_numbers(i, *s) for i, s in ((7, (64, 32)), (8, (32, 64)), (9, (64, 64)))
    )
    arrays = a, b, x.astype(np.float32), np.zeros((64, 64), np.float32)
    there = [simulated.put(array, TARGET) for array in arrays]
    c = kernel[(1,)](*there, N=64, FORM=form, num_warps=4)
    ab, x = a.astype(np.float32) @ b.astype(np.float32), x.astype(np.float32)
    x = {"tile": x, "constant": np.float32(6), "row": x[0], "number": x[0, 0]}[form]
    want = x + ab if kernel is one_turn else (x + ab) * (x + 2 * ab) + x
    np.testing.assert_array_equal(there[3].numpy(), want)
    assert "wgmma.mma_async" in c.asm["ptx"]


@tegula.jit
def constant_operand(b_ptr, c_ptr, N: tl.constexpr):
    """48 x 20 of one number, which padding makes 64 x 32, times 20 x N."""
    k, n, m = tl.arange(0, 20), tl.arange(0, N), tl.arange(0, 48)
    b = tl.load(b_ptr + k[:, None] * N + n[None, :])
    out = tl.dot(tl.full((48, 20), -4.0, tl.float16), b)
    tl.store(c_ptr + m[:, None] * N + n[None, :], out)


def test_an_operand_of_one_number():
    """What padding makes of it stands in front of the fence, too."""
    b = whole_numbers(5, 20, 64)
    there = [simulated.put(x, TARGET) for x in (b, np.zeros((48, 64), np.float32))]
    c = constant_operand[(1,)](*there, N=64, num_warps=4)
    want = np.broadcast_to(-4.0 * b.astype(np.float32).sum(0), (48, 64))
    np.testing.assert_array_equal(there[1].numpy(), want)
    assert "wgmma.mma_async" in c.asm["ptx"]


def test_no_turn_of_the_loop():
    c = run_matmul((64, 64, 0), (64, 64, 32), num_warps=4, hopper="2,1")
    assert "wait_group.sync.aligned 1" in c.asm["ptx"]


@pytest.mark.parametrize("turned", list(product((0, 1), repeat=2)))
@pytest.mark.parametrize("hopper", ["2,0", "2,1", "3"])
@pytest.mark.parametrize(
    ("block", "warps", "instruction"),
    [
        ((64, 64, 64), 4, "m64n64k16.f16.f16.f16"),
        ((128, 256, 64), 4, "m64n256k16.f16.f16.f16"),  # 128 words a thread
        ((64, 128, 32), 8, "m64n64k16.f16.f16.f16"),
    ],
)
@pytest.mark.parametrize("begin", [0, 3])
def test_sums_in_f16(turned, hopper, block, warps, instruction, begin):
    bm, bn, bk = block
    a, b = whole_numbers(1, 2 * bm, 3 * bk) / 4, whole_numbers(2, 3 * bk, bn)
    a = a.astype(np.float16)
    lie = [np.ascontiguousarray(x.T) if t else x for x, t in zip((a, b), turned)]
    there = [simulated.put(x, TARGET) for x in lie]
    c = simulated.put(np.full((2 * bm, bn), np.nan, np.float16), TARGET)
    strides = []
    for t, x in zip(turned, (a, b)):
        strides += (1, x.shape[0]) if t else (x.shape[1], 1)
    run = half_sums[(2,)](
        *there, c, 3 * bk, *strides, BM=bm, BN=bn, BK=bk, BEGIN=begin, num_warps=warps,
        hopper=hopper,
    )  # fmt: skip
    assert instruction in run.asm["ptx"] and "mma.sync" not in run.asm["ptx"]
    want = a.astype(np.float64) @ b.astype(np.float64) + begin  # exact in float16
    np.testing.assert_array_equal(c.numpy(), want.astype(np.float16))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"num_warps": 2, "maxnreg": 255}, "a warpgroup is 4 warps"),
        ({"num_warps": 4, "hopper": "1"}, "hopper=1"),
        ({"num_warps": 4, "debug": True}, "one wgmma at a time"),
        ({"num_warps": 8, "BM": 32, "BN": 32}, "64 x 16 at least"),
        ({"num_warps": 8, "BM": 256, "BN": 256}, "leave no registers"),
    ],
)
def test_level_one_says_why(options, why):
    block = {"BM": 64, "BN": 64, "BK": 32, **options}
    signature = (
        "*fp16:16 *fp16:16 *fp32:16 i32:16 i32:16 i32:16 i32:16 i32:1 i32:16 i32:1"
    )
    c = matmul.compile(*signature.split(), **block, target="cuda:sm_90a")
    assert "wgmma" not in c.asm["ptx"]
    assert why in c.report and "level 1" in c.report


def test_other_chips_say_nothing():
    signature = (
        "*fp16:16 *fp16:16 *fp32:16 i32:16 i32:16 i32:16 i32:16 i32:1 i32:16 i32:1"
    )
    c = matmul.compile(*signature.split(), BM=64, BN=64, BK=32, target="cuda:sm_80")
    assert "level" not in c.report
