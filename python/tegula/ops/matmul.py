"""Matrix product of two matrices with any strides; backward is two more of them."""

from __future__ import annotations

from typing import Any

import tegula
import tegula.language as tl
from tegula.ops import arrays

PRECISIONS = ("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6")


@tegula.jit
def kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_m, a_k, b_k, b_n,
    ACC: tl.constexpr, PRECISION: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    # Programs that run together share rows of a and columns of b: GROUP rows of tiles
    # at a time, column by column.
    pid = tl.program_id(0)
    width = GROUP * tl.cdiv(N, BN)
    first = pid // width * GROUP
    height = min(tl.cdiv(M, BM) - first, GROUP)
    pm = first + pid % width % height
    pn = pid % width // height
    m = (pm * BM + tl.arange(0, BM)).to(tl.int64)
    n = (pn * BN + tl.arange(0, BN)).to(tl.int64)
    k = tl.arange(0, BK).to(tl.int64)
    a_ptrs = a_ptr + m[:, None] * a_m + k[None, :] * a_k
    b_ptrs = b_ptr + k[:, None] * b_k + n[None, :] * b_n
    acc = tl.zeros((BM, BN), dtype=ACC)
    for start in range(0, K, BK):
        a = tl.load(a_ptrs, mask=(m[:, None] < M) & (k[None, :] + start < K), other=0.0)
        b = tl.load(b_ptrs, mask=(k[:, None] + start < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc, input_precision=PRECISION, out_dtype=ACC)
        a_ptrs += BK * a_k
        b_ptrs += BK * b_k
    mask = (m[:, None] < M) & (n[None, :] < N)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=mask)


def _strides(x: Any) -> tuple[int, ...]:
    """In elements."""
    if arrays.is_torch(x):
        return x.stride()
    return tuple(s // x.itemsize for s in x.strides)


def _product(options: dict, a: Any, b: Any) -> Any:
    (M, K), N = a.shape, b.shape[1]
    acc, _ = arrays.accumulator(a)
    c = arrays.empty(a, (M, N))
    BM, BN, BK = (32, 32, 16) if acc == tl.float64 else (64, 64, 32)
    kernel[(tegula.cdiv(M, BM) * tegula.cdiv(N, BN),)](
        a, b, c, M, N, K, *_strides(a), *_strides(b),
        ACC=acc, PRECISION=options["precision"], BM=BM, BN=BN, BK=BK, GROUP=8,
    )  # fmt: skip
    return c


def forward(options: dict, a: Any, b: Any) -> tuple[Any, tuple]:
    return _product(options, a, b), (a, b)


def backward(options: dict, kept: tuple, dc: Any, wanted: tuple) -> tuple:
    a, b = kept
    da = _product(options, dc, b.T) if wanted[0] else None
    db = _product(options, a.T, dc) if wanted[1] else None
    return da, db


_matmul = arrays.differentiable(forward, backward)


def matmul(a: Any, b: Any, input_precision: str = "ieee") -> Any:
    """``a @ b``.

    Shapes: a [M, K], b [K, N], any strides; the result [M, N] is contiguous.
    Types:  f16, bf16, f32, f64, the same for both; sums are f32 (f64 for f64).
    input_precision is how f32 is multiplied on tensor cores, as in ``tl.dot``.
    Errors: TypeError for other or mixed dtypes, ValueError for shapes that do not fit.
    """
    arrays.check_arrays("matmul", a=a, b=b)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise ValueError(
            f"matmul: cannot multiply {list(a.shape)} by {list(b.shape)}; "
            "expected [M, K] and [K, N]"
        )
    if input_precision not in PRECISIONS:
        raise ValueError(
            f"matmul: input_precision is one of {', '.join(PRECISIONS)}, "
            f"not {input_precision!r}"
        )
    return _matmul({"precision": input_precision}, a, b)
