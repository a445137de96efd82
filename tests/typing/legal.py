"""Kernels as people write them: no checker may complain about any of it."""

import numpy as np

import tegula
import tegula.language as tl
from tegula.language.extra import libdevice
from tegula.language.extra.cuda import libdevice as cuda_libdevice
from tegula.tools.tensor_descriptor import TensorDescriptor

LOG2_E: tl.constexpr = tl.constexpr(1.4426950408889634)
NEG_INF = tl.constexpr(float("-inf"))
DTYPES = {np.dtype(np.float16): tl.float16, np.dtype(np.float32): tl.float32}


@tegula.constexpr_function
def log2(n):
    return n.bit_length() - 1


@tegula.jit
def swizzle(pid, num_m, num_n, GROUP: tl.constexpr):
    group = pid // (num_n * GROUP)
    first = group * GROUP
    size = min(num_m - first, GROUP)
    return first + (pid % size), (pid % (num_n * GROUP)) // size


@tegula.jit
def combine(a, b):
    return tl.maximum(a, b)


@tegula.jit
def argmax_combine(value, index, other, other_index):
    take = (value > other) | ((value == other) & (index < other_index))
    return tl.where(take, value, other), tl.where(take, index, other_index)


@tegula.jit
def fill(x_ptr: tl.const, y_ptr: tl.tensor, n: int, eps: float, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    offs = tl.max_contiguous(tl.multiple_of(offs, BLOCK), BLOCK)
    n = tl.multiple_of(n, 16)
    mask = (offs >= 0) & (offs < n)
    mask &= ~(offs == 3)
    x = tl.load(
        x_ptr + offs, mask, 0.0, cache_modifier=None, eviction_policy="evict_last"
    )
    x = (1.0 - x) * 2 / (x + eps) // 3 % 5
    x = tl.where(mask, x, NEG_INF) * LOG2_E
    x -= tl.max(x, axis=0)
    x = tl.exp2(x.to(tl.float32)) + libdevice.rsqrt(x) + cuda_libdevice.tanh(x)
    best, where = tl.max(x, 0, return_indices=True)
    found, at = tl.reduce((x, offs), 0, argmax_combine)
    running = tl.associative_scan(x, 0, combine)
    x += abs(x) + min(BLOCK, tl.program_id(1)) + len(x)
    total = tl.cumsum(x) + x.sum() + x.max().to(tl.float32) + best + where + found + at
    bits = x.to(tl.int32, bitcast=True) << 2 >> 1 ^ 5 | 7
    tl.store(y_ptr + offs, total + running + bits, mask=mask)
    tl.atomic_add(y_ptr, 1, sem="relaxed", scope="gpu")
    old = tl.atomic_cas(y_ptr, 0, 1)
    if old == 0 and n > 4:
        tl.device_assert(n < 100, "far too many")
    elif not (n < 3 or old != 1):
        tl.device_print("old ", old, n)
    tl.static_assert(BLOCK % 16 == 0, "BLOCK")
    tl.static_print(BLOCK, x.dtype, x.shape)


@tegula.autotune(
    configs=[
        tegula.Config({"BM": bm, "BN": 64, "BK": 32}, num_warps=w, num_stages=3)
        for bm in (32, 64)
        for w in [4, 8]
    ],
    key=["M", "N", "K"],
    prune_configs_by={"early_config_prune": lambda configs, args, **kw: configs},
)
@tegula.heuristics({"EVEN": lambda args: args["K"] % args["BK"] == 0})
@tegula.jit
def matmul(
    a_ptr,
    b_ptr,
    c_ptr,
    bias_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak: tl.constexpr,
    stride_bk,
    stride_bn: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    EVEN: tl.constexpr,
    ACT: tl.constexpr = "",
    DTYPE: tl.constexpr = tl.float16,
):
    i, j = swizzle(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), 8)
    rm = (i * BM + tl.arange(0, BM)) % M
    rn = (j * BN + tl.arange(0, BN)) % N
    rk = tl.arange(0, BK)
    a = a_ptr + (rm[:, None] * stride_am + rk[None, :] * stride_ak)
    b = b_ptr + (rk[:, None] * stride_bk + rn[None, :] * stride_bn)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):  # noqa: PIE808
        if EVEN:
            x, y = tl.load(a), tl.load(b)
        else:
            x = tl.load(a, mask=rk[None, :] < K - k * BK, other=0.0)
            y = tl.load(b, mask=rk[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(x, y, acc, input_precision="ieee")
        acc += tl.dot(x, y.T.trans(), out_dtype=tl.float32)
        a += BK * stride_ak
        b += BK * stride_bk
    for _ in tl.range(0, K, BK, num_stages=2, flatten=True, warp_specialize=False):
        acc *= 2
    for s in tl.static_range(log2(BK)):
        acc += s
    if bias_ptr is not None:
        acc += tl.load(bias_ptr + rn)[None, :]
    if ACT == "relu":
        acc = tl.maximum(acc, 0)
    lo, hi = acc.reshape(BM, BN // 2, 2).split()
    acc = tl.join(lo, hi).reshape((BM, BN))
    acc = tl.interleave(lo, hi)
    c = acc.to(DTYPE if c_ptr.dtype.element_ty.is_fp16() else c_ptr.dtype.element_ty)
    tl.store(c_ptr + rm[:, None] * N + rn, c, mask=(rm[:, None] < M) & (rn < N))


@tegula.jit(do_not_specialize=["n"])
def blocks(x_ptr, desc, n, BLOCK: tl.constexpr):
    p = tl.make_block_ptr(x_ptr, (n, 64), (64, 1), (0, 0), (BLOCK, 64), order=(1, 0))
    x = tl.load(p, boundary_check=(0, 1), padding_option="zero")
    p = tl.advance(p, (BLOCK, 0))
    tl.store(p, x.to(p.dtype.element_ty), boundary_check=(0,))
    own = tl.make_tensor_descriptor(
        x_ptr, shape=[n, 64], strides=[64, 1], block_shape=[BLOCK, 64]
    )
    y = own.load([0, 0]) + desc.load([0, 0])
    own.store([0, 0], y)
    half: tl.constexpr = BLOCK // 2
    z = (
        tl.full([half], 1, x.dtype)
        if x.dtype == tl.float16
        else tl.zeros([half], x.dtype)
    )
    tl.store(x_ptr + tl.arange(0, half), z)
    seed = tl.randint(7, tl.arange(0, half)) & 0xFF
    (r, *_) = tl.randn4x(7, seed)
    tl.store(
        x_ptr + seed, tl.sort(r) + tl.sigmoid(r) + tl.fdiv(r, 2.0) + tl.math.exp(r)
    )
    while tl.load(x_ptr) < 4:
        tl.debug_barrier()


def run(x: np.ndarray, n: int) -> None:
    matmul[lambda meta: (tegula.cdiv(n, meta["BM"]) * tegula.cdiv(n, meta["BN"]),)](
        x, x, x, None, n, n, n, *x.strides, 1, 1
    )
    fill[(n,)](x, x, n, 1e-5, BLOCK=tegula.next_power_of_2(n), num_warps=4)
    done = fill[n, 1](x, x, n, 1e-5, BLOCK=128)
    print(done.asm["tir"], done.n_regs, done.metadata.shared, matmul.best_config)
    blocks[(1,)](x, TensorDescriptor(x, [n, 64], [64, 1], [16, 64]), n, 16)
    blocks.warmup(x, x, n, 16, grid=(1,))
    ms, low, high = tegula.testing.do_bench(
        lambda: fill[(1,)](x, x, n, 0.0, 128), quantiles=[0.5, 0.2, 0.8]
    )
    print(ms, low, high, DTYPES[x.dtype].primitive_bitwidth)


@tegula.aggregate
class Sums:
    total: tl.tensor
    step: tl.constexpr

    def __init__(self, total, step):
        self.total = total
        self.step = tl.constexpr(step)

    @tegula.jit
    def add(self, v):
        return Sums(self.total + v, self.step)


@tegula.jit
def of_sums(x, n, N: tl.constexpr):
    v = tl.load(x + tl.arange(start=0, end=N), other=0.0, mask=None)
    s = Sums(v, 3)
    s = s.add(v[..., None][None, ..., 0].reshape(N, can_reorder=True))
    low, high = tl.split(tl.join(s.total, v))
    first = tl.inline_asm_elementwise(
        "mov.b32 $0, $1;", "=r,r", args=[low], dtype=tl.int32, is_pure=True, pack=1
    )
    a, b = tl.reduce((first, high), 0, lambda a, b, c, d: (a + c, b + d))
    for i in tl.range(0, n, step=1, num_stages=3, flatten=True, warp_specialize=False):
        a += i
    tl.store(pointer=x, value=a + b, mask=True, eviction_policy="evict_first")


# As calls, with options.
tegula.jit(swizzle.fn, interpret=True)
tegula.jit(combine, do_not_specialize=["a"], noinline=True)
tegula.autotune([tegula.Config({"GROUP": 8})], key=[])(tegula.jit(swizzle, debug=True))

# Names that are found when first asked for.
print(
    tegula.AsyncCompileMode,
    tegula.ASTSource,
    tegula.aggregate,
    tegula.CompilationError,
    tegula.CompiledKernel,
    tegula.FutureKernel,
    tegula.InterpreterError,
    tegula.MockTensor,
    tegula.OutOfResources,
    tegula.PTXASError,
    tegula.TensorWrapper,
    tegula.TritonError,
    tegula.compile,
    tegula.get_allocator,
    tegula.must_use_result,
    tegula.reinterpret,
    tegula.set_allocator,
)
