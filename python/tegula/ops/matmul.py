"""Matrix products with any strides: plain, batched, and with bias and activation.

One kernel. Backward is two more products, and the slope of the activation at what it was
applied to, which forward keeps.
"""

from __future__ import annotations

from typing import Any

import tegula
import tegula.language as tl
from tegula.ops import activation, arrays

PRECISIONS = ("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6")


@tegula.jit
def kernel(
    a_ptr, b_ptr, bias_ptr, c_ptr, pre_ptr, M, N, K, a_z, a_m, a_k, b_z, b_k, b_n,
    ACT: tl.constexpr, ACC: tl.constexpr, PRECISION: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    # Programs that run together share rows of a and columns of b: GROUP rows of tiles
    # at a time, column by column.
    pid = tl.program_id(0)
    z = tl.program_id(1).to(tl.int64)
    width = GROUP * tl.cdiv(N, BN)
    first = pid // width * GROUP
    height = min(tl.cdiv(M, BM) - first, GROUP)
    pm = first + pid % width % height
    pn = pid % width // height
    m = (pm * BM + tl.arange(0, BM)).to(tl.int64)
    n = (pn * BN + tl.arange(0, BN)).to(tl.int64)
    k = tl.arange(0, BK).to(tl.int64)
    a_ptrs = a_ptr + z * a_z + m[:, None] * a_m + k[None, :] * a_k
    b_ptrs = b_ptr + z * b_z + k[:, None] * b_k + n[None, :] * b_n
    acc = tl.zeros((BM, BN), dtype=ACC)
    for start in range(0, K, BK):
        a = tl.load(a_ptrs, mask=(m[:, None] < M) & (k[None, :] + start < K), other=0.0)
        b = tl.load(b_ptrs, mask=(k[:, None] + start < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc, input_precision=PRECISION, out_dtype=ACC)
        a_ptrs += BK * a_k
        b_ptrs += BK * b_k
    mask = (m[:, None] < M) & (n[None, :] < N)
    at = z * M * N + m[:, None] * N + n[None, :]
    if bias_ptr is not None:
        acc += tl.load(bias_ptr + n, mask=n < N, other=0.0).to(ACC)[None, :]
    if pre_ptr is not None:
        tl.store(pre_ptr + at, acc, mask=mask)
    tl.store(c_ptr + at, activation.apply(acc, ACT), mask=mask)


def _strides(x: Any) -> tuple[int, ...]:
    """In elements, with a 0 for the batch of a matrix."""
    if arrays.is_torch(x):
        strides = x.stride()
    else:
        strides = tuple(s // x.itemsize for s in x.strides)
    return strides if len(strides) == 3 else (0, *strides)


def outputs(a: Any, b: Any, bias: Any, act: str, precision: str) -> tuple:
    """The product, and what the activation was applied to where it has a slope."""
    shape = (*a.shape[:-1], b.shape[-1])
    return arrays.empty(a, shape), arrays.empty(a, shape if act else (0,))


def run(outs: tuple, a: Any, b: Any, bias: Any, act: str, precision: str) -> None:
    c, pre = outs
    (M, K), N = a.shape[-2:], b.shape[-1]
    acc, _ = arrays.accumulator(a)
    BM, BN, BK = (32, 32, 16) if acc == tl.float64 else (64, 64, 32)
    tiles = tegula.cdiv(M, BM) * tegula.cdiv(N, BN)
    kernel[(tiles, a.shape[0] if a.ndim == 3 else 1)](
        a, b, None if bias is None else arrays.contiguous(bias), c,
        pre if act else None, M, N, K, *_strides(a), *_strides(b),
        ACT=act, ACC=acc, PRECISION=precision, BM=BM, BN=BN, BK=BK, GROUP=8,
    )  # fmt: skip


def gradient(args: Any, outs: Any, grads: Any, wanted: Any) -> tuple:
    a, b, bias, act, precision = args
    dc = grads[0]
    if act:
        dc = activation._backward(outs[1], None, dc, act)[0]

    def product(x: Any, y: Any) -> Any:
        return _matmul(x, y, None, "", precision)[0]

    da = product(dc, b.mT) if wanted[0] else None
    db = product(a.mT, dc) if wanted[1] else None
    dbias = dc.sum(0) if bias is not None and wanted[2] else None
    return da, db, dbias


_matmul = arrays.Op(
    "matmul(Tensor a, Tensor b, Tensor? bias, str act, str precision) -> (Tensor, Tensor)",
    outputs,
    run,
    gradient,
)


def _check(op: str, a: Any, b: Any, precision: str) -> None:
    arrays.check_arrays(op, a=a, b=b)
    if (
        a.ndim not in (2, 3)
        or a.ndim != b.ndim
        or a.shape[-1] != b.shape[-2]
        or tuple(a.shape[:-2]) != tuple(b.shape[:-2])
    ):
        raise ValueError(
            f"{op}: cannot multiply {list(a.shape)} by {list(b.shape)}; "
            "expected [M, K] and [K, N], or both with the same batch in front"
        )
    if precision not in PRECISIONS:
        raise ValueError(
            f"{op}: input_precision is one of {', '.join(PRECISIONS)}, not {precision!r}"
        )


def matmul(a: Any, b: Any, input_precision: str = "ieee") -> Any:
    """``a @ b``, of matrices or of batches of them.

    Shapes: a [M, K], b [K, N], any strides; the result [M, N] is contiguous. Or
            a [B, M, K], b [B, K, N] and [B, M, N].
    Types:  f16, bf16, f32, f64, the same for both; sums are f32 (f64 for f64).
    input_precision is how f32 is multiplied on tensor cores, as in ``tl.dot``.
    Errors: TypeError for other or mixed dtypes, ValueError for shapes that do not fit.
    """
    _check("matmul", a, b, input_precision)
    return _matmul(a, b, None, "", input_precision)[0]


def linear(
    x: Any,
    weight: Any,
    bias: Any = None,
    activation: str = "",
    input_precision: str = "ieee",
) -> Any:
    """``f(x @ weight.T + bias)`` in one kernel.

    Shapes: x [..., K], weight [N, K] as torch.nn.Linear has it, bias [N] or None.
    Types:  f16, bf16, f32, f64, the same for all; sums are f32 (f64 for f64).
    activation is "", relu, silu, gelu or gelu_tanh.
    Errors: TypeError for other or mixed dtypes, ValueError for shapes that do not fit.
    """
    if activation not in ACTIVATIONS:
        raise ValueError(
            f"linear: activation is one of {', '.join(ACTIVATIONS[1:])}, "
            f"not {activation!r}"
        )
    if x.ndim < 1 or weight.ndim != 2:
        raise ValueError(
            f"linear: x {list(x.shape)} and weight {list(weight.shape)}; "
            "expected [..., K] and [N, K]"
        )
    rows = x.reshape(-1, x.shape[-1]) if x.ndim != 2 else x
    _check("linear", rows, weight.T, input_precision)
    if bias is not None:
        arrays.check_arrays("linear", x=x, bias=bias)
        if tuple(bias.shape) != tuple(weight.shape[:1]):
            raise ValueError(
                f"linear: bias has shape {list(bias.shape)}, expected [{weight.shape[0]}]"
            )
    y = _matmul(rows, weight.T, bias, activation, input_precision)[0]
    return y if x.ndim == 2 else y.reshape(*x.shape[:-1], weight.shape[0])


ACTIVATIONS = activation.NAMES
