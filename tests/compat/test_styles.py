"""Kernels in the styles of libraries, under the name triton, on each target."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl
from tegula.language.extra import libdevice
from tegula.language.math import rsqrt

TARGETS = ["cpu", "emu:sm_90a"]

exp2 = tl.exp2  # libraries keep the builtin they want under a name of their own
LOG2E = tl.constexpr(1.4426950408889634)


@pytest.fixture(params=TARGETS, autouse=True)
def target(request):
    from tegula import knobs

    with knobs.runtime.scope():
        knobs.runtime.target = request.param
        yield request.param


def randn(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


# --- block pointers, boundary checks, heuristics under autotune ----------
def keep_small(configs, named_args, **kwargs):
    return [c for c in configs if c.kwargs["BT"] <= named_args["T"]]


@triton.autotune(
    configs=[triton.Config({"BT": bt}, num_warps=w) for bt in (16, 64) for w in (1,)],
    key=["T", "D"],
    prune_configs_by={"early_config_prune": keep_small},
    do_bench=lambda call, quantiles: (call(), [1.0, 1.0, 1.0])[1],
)
@triton.heuristics(
    {
        "HAS_BIAS": lambda args: args["bias"] is not None,
        "BD": lambda args: triton.next_power_of_2(args["D"]),
    }
)
@triton.jit(do_not_specialize=["T"])
def scaled_cumsum(
    x, bias, out, scale, T, D: tl.constexpr, BT: tl.constexpr, BD: tl.constexpr,
    HAS_BIAS: tl.constexpr,
):  # fmt: skip
    carry = tl.zeros([BD], dtype=tl.float32)
    for i in range(tl.cdiv(T, BT)):
        p_x = tl.make_block_ptr(x, (T, D), (D, 1), (i * BT, 0), (BT, BD), (1, 0))
        p_o = tl.make_block_ptr(out, (T, D), (D, 1), (i * BT, 0), (BT, BD), (1, 0))
        b_x = tl.load(p_x, boundary_check=(0, 1)).to(tl.float32) * scale
        if HAS_BIAS:
            p_b = tl.make_block_ptr(bias, (D,), (1,), (0,), (BD,), (0,))
            b_x += tl.load(p_b, boundary_check=(0,))[None, :]
        b_o = tl.cumsum(b_x, 0) + carry[None, :]
        tl.store(p_o, b_o.to(p_o.dtype.element_ty), boundary_check=(0, 1))
        carry += tl.sum(tl.where((i * BT + tl.arange(0, BT) < T)[:, None], b_x, 0.0), 0)


@pytest.mark.parametrize("bias", [None, randn(20)])
def test_block_pointers(bias):
    scaled_cumsum.cache.clear()
    x, out = randn(70, 20), np.zeros((70, 20), np.float32)
    scaled_cumsum[(1,)](x, bias, out, 0.5, 70, 20)
    want = np.cumsum(x * 0.5 + (0 if bias is None else bias), axis=0)
    np.testing.assert_allclose(out, want, rtol=1e-4, atol=1e-4)
    x, out = randn(20, 20), np.zeros((20, 20), np.float32)
    scaled_cumsum[(1,)](x, bias, out, 0.5, 20, 20)
    assert scaled_cumsum.best_config.kwargs == {"BT": 16}


# --- plain calls instead of decorators, options by keyword ----------
def _rms_forward(
    Y, Y_row_stride, X, X_row_stride, W, r, n_cols: tl.constexpr, eps: tl.constexpr,
    GEMMA: tl.constexpr, BLOCK_SIZE: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    Y += row * Y_row_stride
    X += row * X_row_stride
    x = tl.load(X + cols, mask=mask, other=0).to(tl.float32)
    w = tl.load(W + cols, mask=mask, other=0)
    inv = rsqrt(tl.sum(x * x, axis=0) / n_cols + eps)
    tl.store(r + row, inv)
    if GEMMA:
        y = x * inv * (w + 1.0)
    else:
        y = (x * inv).to(w.dtype) * w
    tl.store(Y + cols, y, mask=mask)


rms_forward = triton.jit(_rms_forward)
rms_forward = triton.heuristics({"GEMMA": lambda args: bool(args["GEMMA"])})(
    rms_forward
)


@pytest.mark.parametrize("gemma", [0, 1])
def test_plain_calls(gemma):
    x, w, y, r = randn(5, 100), randn(100), np.zeros((5, 100), np.float32), randn(5)
    block = triton.next_power_of_2(100)
    rms_forward[(5,)](
        y, y.strides[0] // 4, x, 100, w, r, 100, 1e-6,
        GEMMA=gemma, BLOCK_SIZE=block, num_warps=4,
    )  # fmt: skip
    want = x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-6) * (w + gemma)
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-5)


# --- named tuples, tuples, nested helpers ----------
class Matrix(NamedTuple):
    ptr: object
    stride_row: object
    stride_col: object


@triton.jit
def _address(m: Matrix, i, j):
    return m.ptr + i[:, None] * m.stride_row + j[None, :] * m.stride_col


@triton.jit
def _activate(x, KIND: tl.constexpr):
    if KIND == "silu":
        return x * tl.sigmoid(x)
    elif KIND == "relu2":
        y = tl.maximum(x, 0.0)
        return y * y
    else:
        tl.static_assert(KIND == "none", "unknown activation")
        return x


@triton.jit
def _rows_and_cols(pid, n, BM: tl.constexpr, BN: tl.constexpr):
    per_row = tl.cdiv(n, BN)
    return pid // per_row * BM + tl.arange(0, BM), pid % per_row * BN + tl.arange(0, BN)


@triton.jit
def matmul(
    a: Matrix, b: Matrix, c: Matrix, sizes, ACT: tl.constexpr, BM: tl.constexpr,
    BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    m, n, k = sizes
    rows, cols = _rows_and_cols(tl.program_id(0), n, BM, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in tl.range(0, k, BK, num_stages=2):
        ks = start + tl.arange(0, BK)
        in_a = (rows[:, None] < m) & (ks[None, :] < k)
        in_b = (ks[:, None] < k) & (cols[None, :] < n)
        x = tl.load(_address(a, rows, ks), mask=in_a, other=0.0)
        y = tl.load(_address(b, ks, cols), mask=in_b, other=0.0)
        acc = tl.dot(x, y, acc, input_precision="ieee")
    acc = _activate(acc, ACT)
    tl.store(
        _address(c, rows, cols), acc, mask=(rows[:, None] < m) & (cols[None, :] < n)
    )


@pytest.mark.parametrize("act", ["none", "silu", "relu2"])
def test_named_tuples(act):
    a, b, c = randn(40, 36), randn(36, 24), np.zeros((40, 24), np.float32)
    args = [Matrix(x, x.strides[0] // 4, x.strides[1] // 4) for x in (a, b, c)]
    grid = (triton.cdiv(40, 16) * triton.cdiv(24, 16),)
    matmul[grid](*args, (40, 24, 36), ACT=act, BM=16, BN=16, BK=16)
    want = a.astype(np.float64) @ b
    want = {
        "none": want, "silu": want / (1 + np.exp(-want)), "relu2": np.maximum(want, 0) ** 2
    }[act]  # fmt: skip
    np.testing.assert_allclose(c, want, rtol=1e-4, atol=1e-4)


# --- 64-bit offsets ----------
@triton.jit
def far(x, out, stride, SIDE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = row * stride - (row << 33) // 4
    tl.store(out + row, tl.load(x + at + SIDE))


def test_64_bit_offsets():
    x, out = randn(8), np.zeros(4, np.float32)
    far[(4,)](x, out, 2**31 + 1, 2)  # an i64: the products do not fit 32 bits
    np.testing.assert_array_equal(out, x[2:6])


# --- libdevice, aliases of builtins, a constant of the module ----------
@triton.jit
def special(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    v = tl.load(x + at)
    tl.store(out + at, libdevice.tanh(v))
    tl.store(out + N + at, libdevice.rsqrt(v * v + 1.0))
    tl.store(out + 2 * N + at, exp2(v * LOG2E))
    tl.store(out + 3 * N + at, tl.extra.cuda.libdevice.rint(v * 10.0))
    tl.store(out + 4 * N + at, tl.math.erf(v))


def test_libdevice():
    from math import erf

    x, out = randn(64), np.zeros((5, 64), np.float32)
    special[(1,)](x, out, 64)
    rows = [np.tanh(x), 1 / np.sqrt(x * x + 1), np.exp(x), np.rint(x * 10)]
    rows.append([erf(v) for v in x])
    np.testing.assert_allclose(out, np.array(rows), rtol=3e-6, atol=1e-6)


# --- None pointers gated by constants, loops carried by pointers, atomics ----------
@triton.jit
def backward(dy, x, dw, db, locks, n_rows, N: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    at = tl.arange(0, N)
    sum_w = tl.zeros((N,), dtype=tl.float32)
    sum_b = tl.zeros((N,), dtype=tl.float32)
    p_dy = dy + pid * N + at
    p_x = x + pid * N + at
    for _ in range(pid, n_rows, tl.num_programs(0)):
        g = tl.load(p_dy)
        sum_w += g * tl.load(p_x)
        if db is not None:
            sum_b += g
        p_dy += tl.num_programs(0) * N
        p_x += tl.num_programs(0) * N
    lock = locks + pid % GROUP
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(dw + at, tl.load(dw + at) + sum_w)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)
    if db is not None:
        tl.atomic_add(db + at, sum_b)


@pytest.mark.parametrize("has_bias", [False, True])
def test_locks_and_none(has_bias):
    dy, x, dw = randn(30, 32), randn(30, 32), np.zeros(32, np.float32)
    db = np.zeros(32, np.float32) if has_bias else None
    backward[(4,)](dy, x, dw, db, np.zeros(1, np.int32), 30, 32, 1)
    np.testing.assert_allclose(dw, (dy * x).sum(0), rtol=1e-4, atol=1e-4)
    if has_bias:
        np.testing.assert_allclose(db, dy.sum(0), rtol=1e-4, atol=1e-4)


# --- an autotuner of one's own ----------
def test_subclass_of_the_autotuner():
    from tegula.autotune import Autotuner

    class Remembering(Autotuner):
        def __init__(
            self, fn, arg_names, configs, key, reset_to_zero, restore_value, **kw
        ):
            super().__init__(
                fn, arg_names, configs, key, reset_to_zero, restore_value, **kw
            )
            self.asked = []

        def run(self, *args, **kwargs):
            named = dict(zip(self.arg_names, args, strict=False)) | kwargs
            key = [named[k] for k in self.keys if k in named]
            key += [str(a.dtype) for a in named.values() if hasattr(a, "dtype")]
            self.asked.append(tuple(key))
            self.cache.setdefault(tuple(key), self.configs[1])
            return super().run(*args, **kwargs)

    @triton.jit
    def fill(x, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x + at, BLOCK, mask=at < n)

    configs = [triton.Config({"BLOCK": b}) for b in (16, 32)]
    tuner = Remembering(fill, fill.arg_names, configs, ["n"], None, ["x"])
    assert not tuner.user_defined_pre_hook and tuner.restore_value == ["x"]
    x = np.zeros(40, np.float32)
    tuner[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, 40)
    assert (x == 32).all() and tuner.asked == [(40, "float32")]


# --- tensors for parameters annotated tl.constexpr ----------------------------------------
@triton.jit
def _inner(acc, x, offs: tl.constexpr, N: tl.constexpr, STAGE: tl.constexpr):
    lo, hi = (0, N) if STAGE == 1 else (N // 2, N)
    for i in range(lo, hi):
        acc += tl.load(x + i * N + offs)
    return acc


@triton.jit
def stages(x, out, N: tl.constexpr, STAGE: tl.constexpr):
    offs = tl.arange(0, N)
    acc = tl.zeros([N], dtype=tl.float32)
    if STAGE & 1:
        acc = _inner(acc, x, offs, N, 4 - STAGE)
    if STAGE & 2:
        acc = _inner(acc, x, offs, N, 2)
    tl.store(out + offs, acc.to(out.type.element_ty))


def test_tensors_for_constexpr_parameters():
    x, out = randn(16, 16), np.zeros(16, np.float32)
    stages[(1,)](x, out, 16, STAGE=3)
    np.testing.assert_allclose(out, x.sum(0) + x[8:].sum(0), rtol=1e-5, atol=1e-5)
