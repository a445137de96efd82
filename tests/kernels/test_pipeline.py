"""Loops whose loads run ahead: every distance, trip count and order of threads.

The emulator lands an asynchronous copy as late as it may and reports a read that comes
too early or a write that overtakes a reader, so a wait that is off by one or a barrier
that is missing fails here whatever the values are.
"""

import itertools
import re
import shutil
import subprocess

import numpy as np
import pytest

import tegula
import tegula as triton
import tegula.language as tl

# Before sm_80 there are no asynchronous copies: registers run ahead.
with_registers = pytest.mark.parametrize(
    "device",
    ["cpu", "emu:sm_75", "emu:sm_80", "emu:sm_90a", "cuda"],
    indirect=True,
)


@triton.jit
def matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    K,
    a_m,
    a_k,
    b_k,
    b_n,
    M: tl.constexpr,
    N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    ACC: tl.constexpr,
    PRECISION: tl.constexpr = "tf32",
):
    m = tl.program_id(0) * M + tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + m[:, None] * a_m + k[None, :] * a_k
    b_ptrs = b_ptr + k[:, None] * b_k + n[None, :] * b_n
    acc = tl.zeros((M, N), dtype=ACC)
    for k0 in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=k[None, :] < K - k0, other=0)
        b = tl.load(b_ptrs, mask=k[:, None] < K - k0, other=0)
        acc = tl.dot(a, b, acc, out_dtype=ACC, input_precision=PRECISION)
        a_ptrs += BLOCK_K * a_k
        b_ptrs += BLOCK_K * b_k
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


@triton.jit
def known_kernel(
    a_ptr, b_ptr, c_ptr,
    M: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr, TRIPS: tl.constexpr,
):  # fmt: skip
    m, n, k = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, BLOCK_K)
    acc = tl.zeros((M, N), tl.float32)
    for i in range(TRIPS):
        at = i * BLOCK_K + k
        a = tl.load(a_ptr + m * (TRIPS * BLOCK_K) + at[None, :])
        acc = tl.dot(a, tl.load(b_ptr + at[:, None] * N + n), acc)
    tl.store(c_ptr + m * N + n, acc)


def operand(rng, shape, dtype, is_transposed):
    """Small whole numbers: every order of summation gives the same bits."""
    x = rng.integers(-3, 4, shape).astype(dtype)
    return np.ascontiguousarray(x.T).T if is_transposed else x


def check_matmul(
    device, rng, dtype, trips, block_k, turned=(False, False), sides=(64, 32), **options
):
    M, N = sides
    K = max(trips * block_k - (8 if trips % 2 else 0), 0)
    a = operand(rng, (M, max(K, 1)), dtype, turned[0])
    b = operand(rng, (max(K, 1), N), dtype, turned[1])
    acc, out = (tl.int32, np.int32) if dtype == np.int8 else (tl.float32, np.float32)
    c = device.poison((M, N), out)
    steps = [s // x.itemsize for x in (a, b) for s in x.strides]
    da, db = (device.put(x.T if t else x) for x, t in zip((a, b), turned, strict=True))
    matmul_kernel[(1,)](
        da, db, c, K, *steps, M=M, N=N, BLOCK_K=block_k, ACC=acc, **options
    )
    want = a[:, :K].astype(np.float64) @ b[:K].astype(np.float64)
    np.testing.assert_array_equal(device.get(c), want)


@with_registers
@pytest.mark.parametrize("trips", [0, 1, 2, 3, 4, 7])
@pytest.mark.parametrize("num_stages", [1, 2, 3, 4, 5])
def test_distances(device, rng, num_stages, trips):
    check_matmul(device, rng, np.float16, trips, 32, num_stages=num_stages)


@with_registers
@pytest.mark.parametrize("trips", [2, 3, 4, 5])
@pytest.mark.parametrize("num_stages", [2, 3, 4])
def test_known_trips(device, rng, num_stages, trips):
    """Few are copied in front of the loop, more are not."""
    a = operand(rng, (64, 32 * trips), np.float16, False)
    b = operand(rng, (32 * trips, 32), np.float16, False)
    c = device.poison((64, 32), np.float32)
    known_kernel[(1,)](
        device.put(a), device.put(b), c, M=64, N=32, BLOCK_K=32, TRIPS=trips,
        num_stages=num_stages,
    )  # fmt: skip
    want = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_array_equal(device.get(c), want)


TURNED = list(itertools.product([False, True], repeat=2))


@with_registers
@pytest.mark.parametrize("turned", TURNED, ids=["ab", "ab'", "a'b", "a'b'"])
@pytest.mark.parametrize("num_warps", [1, 2, 8])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8])
def test_operands(device, rng, dtype, num_warps, turned):
    check_matmul(device, rng, dtype, 3, 32, turned, num_warps=num_warps, num_stages=3)


@with_registers
@pytest.mark.parametrize("seed", range(1, 6))
def test_orders(device, rng, seed):
    """Warps that run away, warps that stay behind."""
    tegula.knobs.runtime.emu_seed = seed
    check_matmul(device, rng, np.float16, 5, 16, num_stages=1 + seed % 4, num_warps=4)


@with_registers
@pytest.mark.parametrize("num_stages", [3, 4])
def test_stages_leave_little_to_multiply_adds(device, rng, num_stages):
    """The buffers of the stages take nearly all shared memory; a product by multiply-adds
    wants some, too, and makes do with what is left."""
    check_matmul(
        device,
        rng,
        np.float32,
        3,
        32,
        sides=(256, 128),
        num_stages=num_stages,
        PRECISION="ieee",
    )


@triton.jit
def attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    scale,
    n,
    D: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    start = tl.program_id(0) * BM
    rows = start + tl.arange(0, BM)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + d[None, :])
    peak = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), dtype=tl.float32)
    acc = tl.zeros((BM, D), dtype=tl.float32)
    last = n
    if CAUSAL:
        last = tl.minimum(start + BM, n)
    for at in range(0, last, BN):
        keys = at + tl.arange(0, BN)
        seen = keys[None, :] < n
        k = tl.load(k_ptr + keys[:, None] * D + d[None, :], mask=keys[:, None] < n)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        s = tl.where(seen, tl.dot(q, tl.trans(k)) * scale, -float("inf"))
        new_peak = tl.maximum(peak, tl.max(s, axis=1))
        p = tl.exp2(s - new_peak[:, None])
        shrink = tl.exp2(peak - new_peak)
        total = total * shrink + tl.sum(p, axis=1)
        v = tl.load(v_ptr + keys[:, None] * D + d[None, :], mask=keys[:, None] < n)
        acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None])
        peak = new_peak
    tl.store(o_ptr + rows[:, None] * D + d[None, :], acc / total[:, None])


# The last needs so many registers that the queries wait in shared memory.
@with_registers
@pytest.mark.parametrize("size", [(64, 32, 64), (32, 16, 32), (128, 64, 128)], ids=str)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("num_stages", [1, 2, 3])
def test_attention(device, rng, num_stages, causal, size):
    BM, BN, D = size
    n = BM + BN // 2 if not causal else BM
    q = rng.standard_normal((BM, D)).astype(np.float16)
    k, v = rng.standard_normal((2, n, D)).astype(np.float16)
    scale = float(np.log2(np.e) / D**0.5)
    o = device.poison((BM, D), np.float32)
    attention_kernel[(1,)](
        *(device.put(x) for x in (q, k, v)),
        o,
        scale,
        n,
        D=D,
        BM=BM,
        BN=BN,
        CAUSAL=causal,
        num_warps=4,
        num_stages=num_stages,
    )
    s = q.astype(np.float64) @ k.T.astype(np.float64) * scale
    if causal:
        s[np.triu_indices(n, 1)] = -np.inf
    p = np.exp2(s - s.max(axis=1, keepdims=True))
    want = p / p.sum(axis=1, keepdims=True) @ v
    np.testing.assert_allclose(device.get(o), want, rtol=2e-2, atol=4e-3)


@triton.jit
def pages_kernel(table_ptr, x_ptr, y_ptr, n, P: tl.constexpr, STAGES: tl.constexpr):
    i = tl.arange(0, P)
    acc = tl.zeros((P, P), dtype=tl.float32)
    for at in tl.range(0, n, num_stages=STAGES):
        page = tl.load(table_ptr + at)
        x = tl.load(x_ptr + page * P * P + i[:, None] * P + i[None, :])
        acc = tl.dot(x, x, acc)
    tl.store(y_ptr + i[:, None] * P + i[None, :], acc)


@with_registers
@pytest.mark.parametrize("n", [0, 1, 3, 6])
@pytest.mark.parametrize("stages", [1, 2, 4])
def test_pages(device, rng, stages, n):
    """An index that is loaded runs ahead as well, and stops where the table ends."""
    P = 16
    x = rng.integers(-3, 4, (8, P, P)).astype(np.float16)
    table = rng.permutation(8)[: max(n, 1)].astype(np.int32)
    y = device.poison((P, P), np.float32)
    pages_kernel[(1,)](
        device.put(table), device.put(x), y, n, P=P, STAGES=stages, num_warps=1
    )
    pages = x[table[:n]].astype(np.float64)
    np.testing.assert_array_equal(device.get(y), (pages @ pages).sum(axis=0))


@triton.jit
def row_sums_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for at in tl.range(0, n, BLOCK, num_stages=STAGES):
        acc += tl.load(x_ptr + row * n + at + i, mask=at + i < n, other=0.0)
    tl.store(y_ptr + row, tl.sum(acc))


@pytest.mark.parametrize("n", [1, 128, 500, 1000])
@pytest.mark.parametrize("stages", [1, 3])
def test_without_a_dot(device, rng, stages, n):
    x = rng.integers(-9, 10, (3, n)).astype(np.float32)
    y = device.poison(3, np.float32)
    row_sums_kernel[(3,)](device.put(x), y, n, BLOCK=256, STAGES=stages)
    np.testing.assert_array_equal(device.get(y), x.sum(axis=1))


@triton.jit
def unrolled_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, UNROLL: tl.constexpr):
    i = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for at in tl.range(
        0,
        n,
        BLOCK,
        num_stages=3,
        loop_unroll_factor=UNROLL,
        flatten=True,
        disallow_acc_multi_buffer=True,
        warp_specialize=True,
    ):
        acc = acc * 2 + tl.load(x_ptr + at + i)
    tl.store(y_ptr + i, acc)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 7])
@pytest.mark.parametrize("unroll", [1, 2, 4])
def test_hints_together(device, rng, unroll, n):
    """A loop that is unrolled is pipelined as well; what remains of it is in order."""
    x = rng.integers(-9, 10, (max(n, 1), 128)).astype(np.float32)
    y = device.poison(128, np.float32)
    unrolled_kernel[(1,)](device.put(x), y, 128 * n, BLOCK=128, UNROLL=unroll)
    want = np.zeros(128)
    for row in x[:n]:
        want = want * 2 + row
    np.testing.assert_array_equal(device.get(y), want)


# --- beside stores and atomics ---------------------------------------------------------
@triton.jit
def in_place_kernel(x_ptr, n, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    at = x_ptr + tl.program_id(0) * n + tl.arange(0, BLOCK)
    for k in tl.range(0, n, BLOCK, num_stages=STAGES):
        mask = k + tl.arange(0, BLOCK) < n
        x = tl.load(at, mask=mask)
        tl.store(at, x * 2 + k, mask=mask)
        at += BLOCK


@pytest.mark.parametrize("n", [0, 1, 256, 1000])
@pytest.mark.parametrize("stages", [1, 2, 4])
def test_in_place(device, rng, stages, n):
    """Each load lies a block beyond the stores that it overtakes."""
    if device.is_emulated:
        tegula.knobs.runtime.emu_seed = stages + n
    x = rng.integers(-99, 100, (2, max(n, 1))).astype(np.float32)
    d = device.put(x)
    in_place_kernel[(2,)](d, n, BLOCK=256, STAGES=stages)
    want = x.copy()
    want[:, :n] = x[:, :n] * 2 + np.arange(n) // 256 * 256
    np.testing.assert_array_equal(device.get(d), want)


@triton.jit
def prefix_kernel(x_ptr, n, BLOCK: tl.constexpr):
    """x[i + 1] += x[i], a block at a time: what is stored is loaded next."""
    i = tl.arange(0, BLOCK)
    for k in tl.range(0, n - BLOCK, BLOCK, num_stages=4):
        x = tl.load(x_ptr + k + i)
        y = tl.load(x_ptr + k + BLOCK + i)
        tl.store(x_ptr + k + BLOCK + i, x + y)


def test_what_is_stored_is_loaded_next(device, rng):
    x = rng.integers(-9, 10, (8, 128)).astype(np.float32)
    d = device.put(x.reshape(-1))
    prefix_kernel[(1,)](d, x.size, BLOCK=128)
    want = np.cumsum(x, axis=0).reshape(-1)
    np.testing.assert_array_equal(device.get(d), want)


@triton.jit
def states_kernel(
    k_ptr, v_ptr, h_ptr, sum_ptr, n, D: tl.constexpr, T: tl.constexpr, SEM: tl.constexpr
):
    """The running product of chunks of k and v, stored at each chunk, and its sum."""
    t = tl.arange(0, T)
    d = tl.arange(0, D)
    h = tl.zeros((D, D), dtype=tl.float32)
    for c in range(n):
        k = tl.load(k_ptr + (c * T + t[None, :]) * D + d[:, None])
        v = tl.load(v_ptr + (c * T + t[:, None]) * D + d[None, :])
        tl.store(h_ptr + c * D * D + d[:, None] * D + d[None, :], h)
        h = tl.dot(k, v, h)
        if SEM is not None:
            tl.atomic_add(sum_ptr + d[:, None] * D + d[None, :], h, sem=SEM)
    tl.store(h_ptr + n * D * D + d[:, None] * D + d[None, :], h)


@with_registers
@pytest.mark.parametrize("sem", [None, "relaxed", "acq_rel"])
@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("num_stages", [1, 2, 4])
def test_dots_that_store(device, rng, num_stages, n, sem):
    D, T = 32, 16
    k, v = rng.integers(-3, 4, (2, max(n, 1) * T, D)).astype(np.float16)
    h, total = (
        device.poison((n + 1, D, D), np.float32),
        device.put(np.zeros((D, D), np.float32)),
    )
    states_kernel[(1,)](
        device.put(k),
        device.put(v),
        h,
        total,
        n,
        D=D,
        T=T,
        SEM=sem,
        num_stages=num_stages,
    )
    each = k.reshape(-1, T, D).transpose(0, 2, 1).astype(np.float64) @ v.reshape(
        -1, T, D
    )
    want = np.concatenate([np.zeros((1, D, D)), np.cumsum(each[:n], axis=0)])
    np.testing.assert_array_equal(device.get(h), want)
    if sem:
        np.testing.assert_array_equal(device.get(total), want.sum(axis=0))


@triton.jit
def filled_kernel(x_ptr, w_ptr, y_ptr, z_ptr, n, P: tl.constexpr, STAGES: tl.constexpr):
    i = tl.arange(0, P)
    most = tl.full((P, P), -1e30, dtype=tl.float32)
    acc = tl.zeros((P, P), dtype=tl.float32)
    for k in tl.range(0, n, P, num_stages=STAGES):
        at = i[:, None] * n + k + i[None, :]
        x = tl.load(x_ptr + at, mask=k + i[None, :] < n, other=-float("inf"))
        w = tl.load(w_ptr + at, mask=k + i[None, :] < n, other=1.0)
        most = tl.maximum(most, x)
        acc = tl.dot(w, tl.trans(w), acc)
    tl.store(y_ptr + i, tl.max(most, axis=1))
    tl.store(z_ptr + i[:, None] * P + i[None, :], acc)


@with_registers
@pytest.mark.parametrize("n", [16, 40, 76])
@pytest.mark.parametrize("stages", [1, 3])
def test_filled(device, rng, stages, n):
    """What a copy leaves zero becomes `other` on the way out of shared memory."""
    P = 16
    x = -1 - rng.integers(0, 9, (P, n)).astype(np.float32)
    w = rng.integers(-3, 4, (P, n)).astype(np.float16)
    y, z = device.poison(P, np.float32), device.poison((P, P), np.float32)
    filled_kernel[(1,)](
        device.put(x), device.put(w), y, z, n, P=P, STAGES=stages, num_warps=2
    )
    np.testing.assert_array_equal(device.get(y), x.max(axis=1))
    full = np.ones((P, -(-n // P) * P))
    full[:, :n] = w
    np.testing.assert_array_equal(device.get(z), full @ full.T)


@triton.jit
def steps_kernel(x_ptr, y_ptr, lo, hi, step, P: tl.constexpr, STAGES: tl.constexpr):
    i = tl.arange(0, P)
    acc = tl.zeros((P, P), dtype=tl.float32)
    for k in tl.range(lo, hi, step, num_stages=STAGES):
        x = tl.load(x_ptr + k * P * P + i[:, None] * P + i[None, :])
        acc = tl.dot(x, x, acc)
    tl.store(y_ptr + i[:, None] * P + i[None, :], acc)


RANGES = [(0, 8, 3), (2, 8, 2), (0, 8, 100), (7, -1, -1), (7, 0, -3), (0, 0, 2)]
FAR = (0, 2, 2**31 - 1)  # what comes after 0 would not fit into 32 bits


@with_registers
@pytest.mark.parametrize("loop", [*RANGES, FAR], ids=str)
@pytest.mark.parametrize("stages", [1, 2, 4])
def test_steps_that_are_arguments(device, rng, stages, loop):
    P = 16
    x = rng.integers(-3, 4, (8, P, P)).astype(np.float16)
    y = device.poison((P, P), np.float32)
    steps_kernel[(1,)](device.put(x), y, *loop, P=P, STAGES=stages, num_warps=1)
    pages = x[list(range(*loop))].astype(np.float64)
    np.testing.assert_array_equal(device.get(y), (pages @ pages).sum(axis=0))


@triton.jit
def nested_kernel(x_ptr, w_ptr, y_ptr, n, P: tl.constexpr, STAGES: tl.constexpr):
    i = tl.arange(0, P)
    for r in tl.range(0, n, num_stages=STAGES):
        x = tl.load(x_ptr + r * P * P + i[:, None] * P + i[None, :])
        acc = tl.zeros((P, P), dtype=tl.float32)
        for c in tl.range(0, n, num_stages=STAGES):
            w = tl.load(w_ptr + c * P * P + i[:, None] * P + i[None, :])
            acc = tl.dot(x, w, acc)
        tl.store(y_ptr + r * P * P + i[:, None] * P + i[None, :], acc)


@with_registers
@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.parametrize("stages", [1, 3])
def test_nested(device, rng, stages, n):
    P = 16
    x, w = rng.integers(-3, 4, (2, n, P, P)).astype(np.float16)
    y = device.poison((n, P, P), np.float32)
    nested_kernel[(1,)](
        device.put(x), device.put(w), y, n, P=P, STAGES=stages, num_warps=2
    )
    want = x.astype(np.float64) @ w.sum(axis=0, dtype=np.float64)
    np.testing.assert_array_equal(device.get(y), want)


@pytest.mark.parametrize("shift,width", [(0, 16), (4, 8), (2, 4)])
def test_narrow_copies(device, rng, shift, width):
    """Rows that begin at 8 or 4 bytes of 16 come in copies of that size."""
    n, P = 1024 + 8, 256
    x = rng.integers(-9, 10, n).astype(np.float16)
    y = device.poison(1, np.float32)
    row_sums_f16_kernel[(1,)](device.put(x)[shift:], y, 1024, BLOCK=P)
    assert device.get(y)[0] == x[shift : shift + 1024].sum(dtype=np.float64)
    align = {16: ":16", 8: ":8", 4: ":4"}[width]
    kernel = row_sums_f16_kernel.compile(
        f"*fp16{align}", "*fp32:16", "i32:16", BLOCK=P, target="cuda:sm_80", num_warps=1
    )
    kind = "cg" if width == 16 else "ca"
    found = re.findall(
        rf"cp\.async\.{kind}\.shared\.global .*, {width}", kernel.asm["ptx"]
    )
    assert found and "bar.sync" not in kernel.asm["ptx"]


@triton.jit
def row_sums_f16_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for at in tl.range(0, n, BLOCK, num_stages=3):
        acc += tl.load(x_ptr + at + i)
    tl.store(y_ptr, tl.sum(acc))


OVERTAKING = {
    "in place": (in_place_kernel, "*fp32:16 i32:16", {"BLOCK": 256, "STAGES": 3}),
    "stores": (
        states_kernel,
        "*fp16:16 *fp16:16 *fp32:16 *fp32:16 i32",
        {"D": 32, "T": 16, "SEM": None},
    ),
    "atomics": (
        states_kernel,
        "*fp16:16 *fp16:16 *fp32:16 *fp32:16 i32",
        {"D": 32, "T": 16, "SEM": "acq_rel"},
    ),
    "any step": (
        steps_kernel,
        "*fp16:16 *fp32:16 i32 i32 i32",
        {"P": 16, "STAGES": 3},
    ),
}


@pytest.mark.parametrize("name", OVERTAKING)
def test_code_of_overtaking(name):
    kernel, signature, options = OVERTAKING[name]
    ptx = kernel.compile(*signature.split(), **options, target="cuda:sm_80").asm["ptx"]
    assert "cp.async.wait_group" in ptx
    if name == "in place":  # threads read what they copied
        assert "bar.sync" not in ptx


def test_code_of_what_must_not_overtake():
    c = prefix_kernel.compile("*fp32:16", "i32:16", BLOCK=128, target="cuda:sm_80")
    assert "cp.async" not in c.asm["ptx"]


# --- what the code is made of ---------------------------------------------------------
SIGNATURE = ["*fp16:16", "*fp16:16", "*fp32:16"] + ["i32:16"] * 2 + ["1", "i32:16", "1"]


def matmul_ptx(target, M, N, block_k, **options):
    kernel = matmul_kernel.compile(
        *SIGNATURE,
        target=target,
        M=M,
        N=N,
        BLOCK_K=block_k,
        ACC=tl.float32,
        **options,
    )
    return kernel.asm["ptx"]


def last_loop(ptx):
    """The text between the last label that is jumped back to and that jump."""
    found = ""
    for jump in re.finditer(r"bra(?:\.uni)?\s+(\$\w+);", ptx):
        label = ptx.rfind(f"{jump[1]}:", 0, jump.start())
        if label >= 0 and "mma.sync" in ptx[label : jump.start()]:
            found = ptx[label : jump.start()]
    return found


ARCHS = ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"]
TILES = [(128, 128, 32, 4), (128, 256, 32, 8), (128, 128, 64, 4), (128, 256, 64, 8)]


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_code_of_matmul(tile):
    M, N, block_k, num_warps = tile
    ptx = matmul_ptx("cuda:sm_80", M, N, block_k, num_warps=num_warps, num_stages=3)
    loop = last_loop(ptx)
    warps_m = 2
    warps_n = num_warps // warps_m
    words = (M // warps_m + N // warps_n) * block_k // 64  # 32 bits a lane
    copies = (M + N) * block_k * 2 // 16 // (32 * num_warps)
    # By four warps a slot less makes room for a second block, and copies wait for reads.
    assert loop.count("bar.sync") == (2 if tile == (128, 128, 64, 4) else 1)
    assert loop.count("cp.async.wait_group") == 1
    assert len(re.findall(r"cp\.async\.cg\.shared\.global .*, 16", loop)) == copies
    assert loop.count("ldmatrix.sync.aligned.m8n8.x4") == words // 4
    products = M * N * block_k // (num_warps * 16 * 8 * 16)
    assert loop.count("mma.sync.aligned.m16n8k16") == products
    assert "ld.shared" not in loop and "st.shared" not in loop


@triton.jit
def gathered_kernel(
    q_ptr, k_ptr, rows_ptr, out_ptr, n, D: tl.constexpr, N: tl.constexpr
):
    m, d, r = tl.arange(0, 16), tl.arange(0, D), tl.arange(0, N)
    q = tl.load(q_ptr + m[:, None] * D + d[None, :])
    acc = tl.zeros((16, N), dtype=tl.float32)
    for i in range(0, n, N):
        row = tl.load(rows_ptr + i + r, mask=i + r < n, other=0)
        k = tl.load(
            k_ptr + row[None, :] * D + d[:, None], mask=(i + r < n)[None, :], other=0.0
        )
        acc += tl.exp(tl.dot(q, k))
    tl.store(out_ptr + m[:, None] * N + r[None, :], acc)


@pytest.mark.parametrize(
    ("n", "D", "N", "stages"),
    [(75, 256, 32, 1), (75, 256, 32, 2), (150, 512, 64, 2), (280, 256, 64, 4)],
)
def test_gathered_rows(device, rng, n, D, N, stages):
    """Rows' numbers go to other lanes by shuffles, over which reads of slots may wait
    until the dot wants them. The larger blocks leave room for one program, and for two
    with a slot less."""
    q, k = (rng.standard_normal((m, D), dtype=np.float32) / 16 for m in (16, 90))
    q, k = q.astype(np.float16), k.astype(np.float16)
    rows = rng.integers(0, 90, n, dtype=np.int32)
    out = device.poison((16, N), np.float32)
    gathered_kernel[(1,)](
        device.put(q), device.put(k), device.put(rows), out, n,
        D=D, N=N, num_stages=stages, num_warps=2,
    )  # fmt: skip
    rest = np.ones((16, -n % N), np.float32)
    each = np.exp(q.astype(np.float32) @ k[rows].astype(np.float32).T)
    want = np.concatenate([each, rest], 1).reshape(16, -1, N).sum(1)
    np.testing.assert_allclose(device.get(out), want, rtol=2e-3)


@pytest.mark.parametrize(
    ("D", "N", "stages", "slots", "late"),
    [(256, 32, 2, 2, False), (512, 64, 2, 1, True), (256, 64, 4, 3, False)],
)
def test_slots_where_few_warps_fit(D, N, stages, slots, late):
    """Two iterations ahead where that makes room for a block, else where has been read."""
    signature = ["*fp16:16", "*fp16:16", "*i32:16", "*fp32:16", "i32"]
    c = gathered_kernel.compile(
        *signature, target="cuda:sm_90a", D=D, N=N, num_stages=stages, num_warps=2
    )
    assert late == ("into its own slot" in c.report)
    assert f"smem<{slots} x f16[{D}, {N}]>" in c.asm["simt"]


def test_one_stage_is_one_slot():
    """Threads read it; where warpgroups' products do, they would have to be waited for."""
    signature = ["*fp16:16", "*fp16:16", "*i32:16", "*fp32:16", "i32"]
    c = gathered_kernel.compile(
        *signature, target="cuda:sm_90a", D=256, N=32, num_stages=1, num_warps=2
    )
    loop = c.asm["simt"].partition(" for ")[2].partition("yield")[0]
    assert "smem<1 x f16[256, 32]>" in c.asm["simt"]
    assert loop.index("= dot ") < loop.index("barrier", 400) < loop.index("async_copy")
    c = cast_kernel.compile(
        *["*fp16:16"] * 3, "i32:16", M=128, N=64, BLOCK_K=64, num_warps=4, num_stages=1,
        target="cuda:sm_90a", hopper="2",
    )  # fmt: skip
    assert "wgmma" in c.asm["ptx"] and "cp.async" not in c.asm["ptx"]


@triton.jit
def cast_kernel(
    a_ptr, b_ptr, c_ptr, K, M: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr
):
    m, n, k = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, BLOCK_K)
    acc = tl.zeros((M, N), tl.float32)
    for i in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + m * K + (i + k)[None, :]).to(tl.float16)
        b = tl.load(b_ptr + (i + k)[:, None] * N + n).to(tl.float16)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + m * N + n, acc)


CASTS = {
    "a": ("f4", "f2", 128, 64), "b": ("f2", "f4", 128, 64), "both": ("f4", "f4", 128, 64),
    "wide b": ("f2", "f4", 64, 128),
}  # fmt: skip


@pytest.mark.parametrize("device", ["emu:sm_90a", "cuda"], indirect=True)
@pytest.mark.parametrize("cast", CASTS.values(), ids=CASTS)
@pytest.mark.parametrize("trips", [0, 1, 2, 3, 6])
@pytest.mark.parametrize("num_stages", [2, 3, 4])
def test_cast_operands(device, rng, num_stages, trips, cast):
    """Slots that threads read are overwritten while the product runs, others are not."""
    K, (*types, M, N) = trips * 64, cast
    a = operand(rng, (M, max(K, 1)), types[0], False)
    b = operand(rng, (max(K, 1), N), types[1], False)
    c = device.poison((M, N), np.float32)
    cast_kernel[(1,)](
        device.put(a), device.put(b), c, K, M=M, N=N, BLOCK_K=64,
        num_warps=4, num_stages=num_stages,
    )  # fmt: skip
    want = a[:, :K].astype(np.float64) @ b[:K].astype(np.float64)
    np.testing.assert_array_equal(device.get(c), want)


@pytest.mark.parametrize("cast", CASTS.values(), ids=CASTS)
def test_code_of_cast_operands(cast):
    """What threads read has a slot less than what a product reads; that begins first."""
    types, (a, b, M, N) = {"f4": "fp32", "f2": "fp16"}, cast
    c = cast_kernel.compile(
        f"*{types[a]}:16", f"*{types[b]}:16", "*fp16:16", "i32:16", M=M, N=N,
        BLOCK_K=64, num_warps=4, num_stages=3, target="cuda:sm_90a",
    )  # fmt: skip
    is_late = cast != CASTS["b"]
    assert ("into its own slot" in c.report) == is_late
    slots = re.findall(r"smem<(\d) x f\d\d\[\d+, \d+\]> #l\d+\n", c.asm["simt"])
    assert slots[:2] == ["2" if is_late and x == "f4" else "3" for x in (a, b)]
    loop = c.asm["simt"].partition(" for ")[2].partition("yield")[0]
    assert loop.index("mma_start") < loop.index("async_copy")
    assert loop.count(" barrier\n") == 2


def test_no_product_stays_open_for_nearer_copies():
    """By 128 x 128 a fourth slot has no room beside a second place of what threads make."""
    c = cast_kernel.compile(
        "*fp16:16", "*fp32:16", "*fp16:16", "i32:16", M=128, N=128, BLOCK_K=64,
        num_warps=8, num_stages=3, target="cuda:sm_90a",
    )  # fmt: skip
    assert "waited for within the iteration" in c.report
    assert re.findall(r"smem<(\d) x f32", c.asm["simt"])[0] == "3"


def test_reads_wait_for_the_dot():
    signature = ["*fp16:16", "*fp16:16", "*i32:16", "*fp32:16", "i32"]
    ptx = gathered_kernel.compile(
        *signature, target="cuda:sm_80", D=512, N=32, num_warps=4, num_stages=2
    ).asm["ptx"]
    loop = last_loop(ptx)
    assert loop.count("ldmatrix") == 16
    assert loop[: loop.index("cp.async.c")].count("ldmatrix") <= 2


@triton.jit
def scaled_kernel(a_ptr, s_ptr, b_ptr, c_ptr, K, N: tl.constexpr):
    m, k = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    acc = tl.zeros((N, N), dtype=tl.float32)
    for i in range(0, K, N):
        a = tl.load(a_ptr + m * K + i + k).to(tl.float32)
        s = tl.load(s_ptr + m * K + i + k).to(tl.float32)
        b = tl.load(b_ptr + (i + m) * N + k)
        acc = tl.dot((a * s).to(tl.float16), b, acc)
    tl.store(c_ptr + m * N + k, acc)


def test_loads_that_are_no_copies_take_registers():
    """Without copies as many blocks would fit as with them, because of what is loaded."""
    signature = [*["*fp16:16"] * 3, "*fp32:16", "i32:16"]
    c = scaled_kernel.compile(
        *signature, target="cuda:sm_90a", N=64, num_warps=4, num_stages=3
    )
    assert "room for fewer blocks" not in c.report
    assert c.asm["simt"].count("= shared_alloc") == 3


@pytest.mark.parametrize("dtype", ["fp16", "i8"])
def test_code_with_registers(dtype):
    """sm_75: loads, then products, then stores into the other slot; one barrier."""
    signature = [s.replace("fp16", dtype) for s in SIGNATURE]
    acc = tl.int32 if dtype == "i8" else tl.float32
    if dtype == "i8":
        signature[2] = "*i32:16"
    options = {"M": 128, "N": 128, "BLOCK_K": 32, "ACC": acc, "num_warps": 8}
    for stages in (1, 2, 4):
        c = matmul_kernel.compile(
            *signature, target="cuda:sm_75", **options, num_stages=stages
        )
        ptx = c.asm["ptx"]
        loop = last_loop(ptx)
        order = [loop.rfind("ld.global"), loop.find("mma."), loop.rfind("mma.")]
        order.append(loop.find("st.shared"))
        assert "cp.async" not in ptx and min(order) > 0
        slots = 256 * 32 * (2 if dtype == "fp16" else 1) * 2
        if stages > 1:
            assert order == sorted(order)
            assert loop.count("bar.sync") == 1 and c.metadata.shared == slots
        else:
            assert loop.count("bar.sync") > 1 and c.metadata.shared < slots


@pytest.mark.parametrize("tile", TILES, ids=str)
@pytest.mark.parametrize(
    "arch", ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"]
)
def test_registers_of_matmul(arch, tile, tmp_path):
    ptxas = shutil.which("ptxas")
    if not ptxas:
        pytest.skip("no ptxas")
    M, N, block_k, num_warps = tile
    text = matmul_ptx(f"cuda:{arch}", M, N, block_k, num_warps=num_warps, num_stages=3)
    (tmp_path / "a.ptx").write_text(text)
    args = [ptxas, "-v", f"-arch={arch}", "a.ptx", "-o", "a.cubin"]
    done = subprocess.run(args, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert " 0 bytes spill stores, 0 bytes spill loads" in done.stderr, done.stderr
