"""Products that read what threads make of what they load: weights of 8 and 16 bits."""

from __future__ import annotations

import numpy as np
import pytest
import simulated
from test_roles import whole_numbers

import tegula
import tegula.language as tl

pytestmark = pytest.mark.usefixtures("ptxsim")
TARGET = "sm_90a"


@tegula.jit
def dequantised(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_ptrs = a_ptr + m[:, None] * K + k[None, :]
    b_ptrs = b_ptr + k[:, None] * N + n[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs).to(tl.float16), acc)
        a_ptrs += BK
        b_ptrs += BK * N
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16])
def test_weights_run_ahead(kind):
    """A block with a multiprocessor of its own has a brought by warps of their own."""
    m, n, k = 64, 128, 256
    a = whole_numbers(1, m, k)
    info = np.iinfo(np.int8 if kind == np.int16 else kind)
    b = np.random.default_rng(2).integers(info.min, info.max + 1, (k, n)).astype(kind)
    c = simulated.put(np.full((m, n), np.nan, np.float32), TARGET)
    there = [simulated.put(x, TARGET) for x in (a, b)]
    compiled = dequantised[(1, 1)](*there, c, m, n, k, BM=m, BN=n, BK=64, num_warps=4)
    np.testing.assert_array_equal(c.numpy(), a.astype(np.float64) @ b)
    assert "level 3" in compiled.report
    assert "load ahead (loop)" in compiled.report


@pytest.mark.parametrize("bn,warps,level", [(256, 8, 3), (128, 8, 2), (128, 4, 2)])
def test_blocks_beside_each_other_have_no_such_warps(bn, warps, level):
    c = dequantised.compile(
        "*fp16:16", "*i8:16", "*fp32:16", *["i32:16"] * 3, BM=128, BN=bn, BK=64,
        num_warps=warps, num_stages=3, target="cuda:sm_90a",
    )  # fmt: skip
    assert f"level {level}: wgmma" in c.report
    if level == 2:
        assert "beside those of a second block" in c.report


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("turns", [1, 2, 3, 7])
def test_beside_warps_that_bring_the_other(turns, warps):
    """Asked for: a comes by a ring, which leaves room for what runs ahead of b."""
    m, n, k = 2 * 16 * warps, 128, 64 * turns
    a = whole_numbers(1, m, k)
    b = np.random.default_rng(2).integers(-128, 128, (k, n)).astype(np.int8)
    c = simulated.put(np.full((m, n), np.nan, np.float32), TARGET)
    there = [simulated.put(x, TARGET) for x in (a, b)]
    compiled = dequantised[(2, 1)](
        *there, c, m, n, k, BM=16 * warps, BN=n, BK=64, num_warps=warps, hopper="3"
    )
    np.testing.assert_array_equal(c.numpy(), a.astype(np.float64) @ b)
    assert "ring_alloc" in compiled.asm["simt"]
    assert "load ahead (loop)" in str(compiled.report)


@tegula.jit
def scaled(
    a_ptr, b_ptr, scales_ptr, zeros_ptr, c_ptr, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Columns of b have scales of their own, and of each GROUP rows where that is not 0 a
    scale and a zero point, which the loop loads."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    scale = tl.load(scales_ptr + n)
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(0, K, BK):
        k = at + tl.arange(0, BK)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :])
        b = tl.load(b_ptr + k[:, None] * N + n[None, :]).to(tl.float16)
        if GROUP:
            zero = tl.load(zeros_ptr + at // GROUP * N + n)
            scale = tl.load(scales_ptr + at // GROUP * N + n)
            b = (b - zero[None, :]) * scale[None, :]
        else:
            b = b * scale[None, :]
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90a"])
@pytest.mark.parametrize("group", [0, 64])
def test_scaled_weights_run_ahead(group, target):
    m, n, k = 64, 64, 256
    rng = np.random.default_rng(3)
    a = whole_numbers(1, m, k)
    b = rng.integers(-16, 16, (k, n)).astype(np.int8)
    scales = rng.choice(np.array([0.5, 1, 2], np.float16), (max(k // 64, 1), n))
    zeros = rng.integers(-4, 4, scales.shape).astype(np.float16)
    of = np.arange(k) // 64 if group else np.zeros(k, int)
    weights = (b - (zeros[of] if group else 0)) * scales[of].astype(np.float64)
    c = simulated.put(np.full((m, n), np.nan, np.float32), target)
    there = [simulated.put(x, target) for x in (a, b, scales, zeros)]
    compiled = scaled[(1, 1)](
        *there, c, m, n, k, BM=m, BN=n, BK=32, GROUP=group, num_warps=4
    )
    np.testing.assert_array_equal(c.numpy(), a.astype(np.float64) @ weights)
    if target != "sm_75":
        line = next(
            i for i, s in enumerate(str(compiled.report).splitlines()) if "b_ptr" in s
        )
        assert "load ahead" in str(compiled.report).splitlines()[line + 1]


@tegula.jit
def cast_bytes(x_ptr, half_ptr, brain_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(half_ptr + i, x.to(tl.float16))
    tl.store(brain_ptr + i, x.to(tl.bfloat16).to(tl.int16, bitcast=True))


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90a"])
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_every_byte_as_16_bits(kind, target):
    """Four in a thread's word are converted two at a time."""
    bits = np.arange(256, dtype=np.uint8)
    x = np.concatenate([bits, np.random.default_rng(4).permutation(bits)]).view(kind)
    half = simulated.put(np.full(512, np.nan, np.float16), target)
    brain = simulated.put(np.zeros(512, np.int16), target)
    run = cast_bytes[(1,)](simulated.put(x, target), half, brain, 512, num_warps=1)
    np.testing.assert_array_equal(
        half.numpy().view(np.int16), x.astype("f2").view("i2")
    )
    as_float = brain.numpy().astype(np.uint16).astype(np.uint32) << 16
    np.testing.assert_array_equal(as_float, x.astype(np.float32).view(np.uint32))
    assert ("sub.rn.bf16x2" in run.asm["ptx"]) == (
        kind == np.int8 and target == "sm_90a"
    )


def test_no_driver_is_asked_on_the_emulator():
    """Whether slots pay is asked of a launch's grid on chips alone."""
    m, n, k = 64, 64, 128
    a, b = whole_numbers(1, m, k), whole_numbers(2, k, n).astype(np.int32)
    scales, zeros = np.ones((2, n), np.float16), np.zeros((2, n), np.float16)
    c = np.full((m, n), np.nan, np.float32)
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = "emu:sm_90a"
        run = scaled[(1, 1)](
            a, b, scales, zeros, c, m, n, k, BM=64, BN=64, BK=64, GROUP=64,
            num_warps=4, num_stages=3,
        )  # fmt: skip
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b)
    assert "room for fewer blocks" in run.report


@tegula.jit
def both_made(a_ptr, b_ptr, c_ptr, K, BK: tl.constexpr):
    m = tl.arange(0, 64)
    acc = tl.zeros((64, 64), tl.float32)
    for at in range(0, K, BK):
        k = at + tl.arange(0, BK)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :])
        b = tl.load(b_ptr + k[:, None] * 64 + m[None, :])
        acc = tl.dot((a * 0.5).to(tl.float16), (b * 2.0).to(tl.float16), acc)
    tl.store(c_ptr + m[:, None] * 64 + m[None, :], acc)


def test_nothing_is_copied_where_slots_cost_blocks():
    """Then no iteration commits or waits for copies that are none."""
    c = both_made.compile(
        "*fp32:16", "*fp32:16", "*fp32:16", "i32:16", BK=128, num_warps=4, num_stages=3,
        target="cuda:sm_90a", abi="plain",
    )  # fmt: skip
    assert "room for fewer blocks" in c.report
    assert "async_commit" not in c.asm["simt"] and "async_wait" not in c.asm["simt"]


@tegula.jit
def packed(
    a_ptr, b_ptr, scales_ptr, zeros_ptr, c_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr, GROUP: tl.constexpr, ALONG_N: tl.constexpr,
):  # fmt: skip
    """Words of eight weights along k or n; zeros are packed along n, too."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    column = n[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(0, K, BK):
        k = at + tl.arange(0, BK)
        row = k[:, None]
        inside = row < K
        if ALONG_N:
            words = tl.load(b_ptr + row * (N // 8) + column // 8, inside, other=0)
            w = words >> (column % 8 * 4) & 15
        else:
            words = tl.load(b_ptr + row // 8 * N + column, inside, other=0)
            w = words >> (row % 8 * 4) & 15
        scale = tl.load(scales_ptr + row // GROUP * N + column, inside, other=0.0)
        zero = tl.load(zeros_ptr + at // GROUP * (N // 8) + n // 8) >> (n % 8 * 4) & 15
        a = tl.load(a_ptr + m[:, None] * K + k[None, :], k[None, :] < K, other=0.0)
        acc += tl.dot(a, ((w - zero[None, :]) * scale).to(tl.float16))
    tl.store(c_ptr + m[:, None] * N + column, acc)


def pack(x: np.ndarray, axis: int) -> np.ndarray:
    """Eight numbers of four bits a word."""
    x = np.moveaxis(x, axis, -1).astype(np.uint32)
    words = x.reshape(*x.shape[:-1], -1, 8) << np.arange(0, 32, 4, dtype=np.uint32)
    return np.moveaxis(words.sum(-1, dtype=np.uint32).view(np.int32), -1, axis).copy()


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90a"])
@pytest.mark.parametrize("along_n", [False, True])
@pytest.mark.parametrize("bm,bk,k", [(16, 64, 192), (64, 32, 160), (64, 64, 160)])
def test_packed_weights(bm, bk, k, along_n, target):
    m, n, group = 64, 128, 16
    rng = np.random.default_rng(5)
    a, w = whole_numbers(1, m, k), rng.integers(0, 16, (k, n))
    zeros = rng.integers(0, 16, (k // group + 1, n))
    scales = rng.choice(np.array([0.5, 1, 2], np.float16), (k // group, n))
    of = np.arange(k) // bk * bk // group
    want = (w - zeros[of]) * scales[np.arange(k) // group].astype(np.float64)
    c = simulated.put(np.full((m, n), np.nan, np.float32), target)
    rest = pack(w, 1 if along_n else 0), scales, pack(zeros, 1)
    there = [simulated.put(x, target) for x in (a, *rest)]
    run = packed[(m // bm, n // 64)](
        *there, c, n, k, BM=bm, BN=64, BK=bk, GROUP=group, ALONG_N=along_n, num_warps=4
    )
    np.testing.assert_array_equal(c.numpy(), a.astype(np.float64) @ want)
    few = [bk, 8] if along_n else [bk // 8, 64]
    assert f"i32{few}" in run.asm["simt"]
    assert f"f16[{bk // group}, 64]" in run.asm["simt"]


@tegula.jit
def arithmetic(x_ptr, y_ptr, out_ptr, N: tl.constexpr, BRAIN: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    if BRAIN:
        x, y = x.to(tl.bfloat16, bitcast=True), y.to(tl.bfloat16, bitcast=True)
    else:
        x, y = x.to(tl.float16, bitcast=True), y.to(tl.float16, bitcast=True)
    tl.store(out_ptr + i, (x + y).to(tl.int16, bitcast=True))
    tl.store(out_ptr + N + i, (x - y).to(tl.int16, bitcast=True))
    tl.store(out_ptr + 2 * N + i, (x * y).to(tl.int16, bitcast=True))


def as_floats(bits: np.ndarray, is_brain: bool) -> np.ndarray:
    if is_brain:
        return (bits.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return bits.view(np.float16).astype(np.float32)


def as_bits(x: np.ndarray, is_brain: bool) -> np.ndarray:
    """float32, rounded to nearest."""
    if not is_brain:
        return x.astype(np.float16).view(np.int16)
    bits = x.view(np.uint32)
    return (bits + 0x7FFF + (bits >> 16 & 1) >> 16).astype(np.uint16).view(np.int16)


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90a"])
@pytest.mark.parametrize("kind", ["f16", "bf16"])
@np.errstate(all="ignore")
def test_two_of_16_bits_at_a_time(kind, target):
    """Of all bits: infinities, numbers that are none, and those without a leading one."""
    n, is_brain, rng = 4096, kind == "bf16", np.random.default_rng(6)
    x, y = (rng.integers(-(2**15), 2**15, n).astype(np.int16) for _ in range(2))
    x[:512], y[256:768] = x[:512] & -0x7C01, y[256:768] & -0x7C01
    out = simulated.put(np.zeros(3 * n, np.int16), target)
    there = [simulated.put(v, target) for v in (x, y)]
    run = arithmetic[(1,)](*there, out, n, is_brain, num_warps=4)
    a, b = as_floats(x, is_brain), as_floats(y, is_brain)
    want = as_floats(as_bits(np.stack([a + b, a - b, a * b]), is_brain), is_brain)
    got = as_floats(out.numpy(), is_brain).reshape(3, n)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got)[got == 0], np.signbit(want)[got == 0])
    has_pairs = kind == "f16" or target == "sm_90a"
    assert (f"mul.rn.{kind}x2" in run.asm["ptx"]) == has_pairs


@tegula.jit
def left_made(
    a_ptr, s_ptr, b_ptr, c_ptr, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Columns of A are scaled, and cast."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        k = i + tl.arange(0, BK)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :]) * tl.load(s_ptr + k)[None, :]
        b = tl.load(b_ptr + k[:, None] * N + n[None, :])
        acc = tl.dot(a.to(tl.float16), b, acc)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


@pytest.mark.parametrize("k", [64, 128, 448])
def test_the_left_operand_is_read_an_iteration_ahead(k):
    """Of one iteration and of two no copy is on its way for the next, which is read."""
    m, n = 128, 256
    a = whole_numbers(1, m, k).astype(np.float32)
    s = whole_numbers(2, 1, k).astype(np.float32)[0]
    b = whole_numbers(3, k, n)
    c = simulated.put(np.full((m, n), np.nan, np.float32), TARGET)
    there = [simulated.put(x, TARGET) for x in (a, s, b)]
    compiled = left_made[(1, 1)](*there, c, n, k, BM=m, BN=n, BK=64, num_warps=8)
    np.testing.assert_array_equal(c.numpy(), (a * s).astype(np.float64) @ b)
    assert "read an iteration ahead, beside the product" in compiled.report
    loop = compiled.asm["simt"].partition("mma_start")[2].partition("yield")[0]
    places = [
        loop.index(x) for x in ("async_copy", "async_wait", "barrier", "mma_wait")
    ]
    assert places == sorted(places)
