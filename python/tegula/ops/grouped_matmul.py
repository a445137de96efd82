"""Products of ragged groups of rows with a matrix each, as in a mixture of experts.

Programs are persistent: each takes every so many-th tile of all groups, of which nobody on
the host knows how many there are. What begins where is read on the device, so a launch does
not wait for a router's counts.
"""

from __future__ import annotations

from typing import Any

import tegula
import tegula.language as tl
from tegula.ops import arrays
from tegula.ops.matmul import check_precision, options, product, strides


@tegula.jit
def kernel(
    a_ptr, b_ptr, starts_ptr, c_ptr, groups, T, N, K, a_m, a_k, b_z, b_k, b_n,
    ACC: tl.constexpr, PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr, RUN: tl.constexpr,
):  # fmt: skip
    tile = tl.program_id(0)
    before = 0  # tiles of the groups ahead of this one
    across = tl.cdiv(N, BN)
    k = tl.arange(0, BK).to(tl.int64)
    # The rows behind the last group are one more, whose sums have no terms.
    for g in range(groups + 1):
        first = tl.load(starts_ptr + g).to(tl.int32)
        end = tl.load(starts_ptr + g + 1, mask=g < groups, other=T).to(tl.int32)
        behind = before + tl.cdiv(end - first, BM) * across
        while tile < behind:
            m = (first + (tile - before) // across * BM + tl.arange(0, BM)).to(tl.int64)
            n = ((tile - before) % across * BN + tl.arange(0, BN)).to(tl.int64)
            acc = product(
                a_ptr + m[:, None] * a_m + k[None, :] * a_k,
                b_ptr + g.to(tl.int64) * b_z + k[:, None] * b_k + n[None, :] * b_n,
                m < end, n < N, K if g < groups else 0, a_k, b_k, ACC, PRECISION,
                BM, BN, BK, RUN,
            )  # fmt: skip
            mask = (m < end)[:, None] & (n < N)[None, :]
            tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=mask)
            tile += tl.num_programs(0)
        before = behind


@tegula.jit
def weights_kernel(
    a_ptr, dc_ptr, starts_ptr, db_ptr, N, K, a_m, a_k, c_m, c_n,
    ACC: tl.constexpr, PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr, RUN: tl.constexpr,
):  # fmt: skip
    """a^T @ dc over the rows of one group, a tile of K x N for each program."""
    g = tl.program_id(1).to(tl.int64)
    first = tl.load(starts_ptr + g).to(tl.int64)
    across = tl.cdiv(N, BN)
    i = (tl.program_id(0) // across * BM + tl.arange(0, BM)).to(tl.int64)
    n = (tl.program_id(0) % across * BN + tl.arange(0, BN)).to(tl.int64)
    t = first + tl.arange(0, BK).to(tl.int64)
    acc = product(
        a_ptr + i[:, None] * a_k + t[None, :] * a_m,
        dc_ptr + t[:, None] * c_m + n[None, :] * c_n,
        i < K, n < N, (tl.load(starts_ptr + g + 1) - first).to(tl.int32), a_m, c_m,
        ACC, PRECISION, BM, BN, BK, RUN,
    )  # fmt: skip
    mask = (i < K)[:, None] & (n < N)[None, :]
    tl.store(db_ptr + (g * K + i[:, None]) * N + n[None, :], acc, mask=mask)


def run(outs: tuple, a: Any, b: Any, starts: Any, precision: str) -> None:
    (T, K), (groups, _, N) = a.shape, b.shape
    chosen = options(a, T // max(1, groups), N, K, groups)
    most = (tegula.cdiv(T, chosen["BM"]) + groups) * tegula.cdiv(N, chosen["BN"])
    programs = min(most, arrays.n_resident(a, 2))
    kernel[(programs if T else 0,)](
        a, b, arrays.contiguous(starts), *outs, groups, T, N, K,
        *strides(a)[1:], *strides(b), PRECISION=precision, **chosen,
    )  # fmt: skip


def run_weights(
    outs: tuple, a: Any, dc: Any, starts: Any, groups: int, precision: str
) -> None:
    K, N = a.shape[1], dc.shape[1]
    chosen = options(a, K, N, a.shape[0] // max(1, groups), groups)
    tiles = tegula.cdiv(K, chosen["BM"]) * tegula.cdiv(N, chosen["BN"])
    weights_kernel[(tiles, groups)](
        a, dc, arrays.contiguous(starts), *outs, N, K, *strides(a)[1:],
        *strides(dc)[1:], PRECISION=precision, **chosen,
    )  # fmt: skip


def gradient(args: Any, outs: Any, grads: Any, wanted: Any) -> tuple:
    a, b, starts, precision = args
    dc = grads[0]
    da = _grouped(dc, b.mT, starts, precision)[0] if wanted[0] else None
    if not wanted[1]:
        return da, None, None
    return da, _weights(a, dc, starts, b.shape[0], precision)[0], None


_weights = arrays.Op(
    "grouped_matmul_weights(Tensor a, Tensor dc, Tensor starts, int groups,"
    " str precision) -> Tensor",
    lambda a, dc, starts, groups, _: (
        arrays.empty(a, (groups, a.shape[1], dc.shape[1])),
    ),
    run_weights,
)
_grouped = arrays.Op(
    "grouped_matmul(Tensor a, Tensor b, Tensor starts, str precision) -> Tensor",
    lambda a, b, *_: (arrays.empty(a, (a.shape[0], b.shape[2])),),
    run,
    gradient,
)


def grouped_matmul(a: Any, b: Any, starts: Any, input_precision: str = "ieee") -> Any:
    """Rows ``starts[g]`` to ``starts[g + 1]`` of a, times ``b[g]``, for each group g.

    Shapes: a [T, K], b [G, K, N], any strides; starts [G + 1], i32 or i64, ascending from 0
            to at most T. The result [T, N] is contiguous; rows of no group are 0.
    Types:  f16, bf16, f32, f64, the same for a and b; sums are f32 (f64 for f64).
    Backward: gradients of a and of b, by a kernel each.
    """
    arrays.check_arrays("grouped_matmul", a=a, b=b)
    arrays.check_arrays("grouped_matmul", ("int32", "int64"), starts=starts)
    if a.ndim != 2 or b.ndim != 3 or a.shape[1] != b.shape[1]:
        raise ValueError(
            f"grouped_matmul: a {list(a.shape)} and b {list(b.shape)}; expected [T, K] "
            "and [G, K, N]"
        )
    if tuple(starts.shape) != (b.shape[0] + 1,):
        raise ValueError(
            f"grouped_matmul: starts has shape {list(starts.shape)}, expected "
            f"[{b.shape[0] + 1}]"
        )
    check_precision("grouped_matmul", input_precision)
    return _grouped(a, b, starts, input_precision)[0]
