"""Matrix products with any strides: plain, batched, and with bias and activation.

One kernel. Backward is two more products, and the slope of the activation at what it was
applied to, which forward keeps.
"""

from __future__ import annotations

import functools
from typing import Any

import tegula
import tegula.language as tl
from tegula.ops import activation, arrays

PRECISIONS = ("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6")


@tegula.jit
def tile_of(pid, M, N, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    """(row, column) of a program's tile. Programs that run together share rows of a and
    columns of b: GROUP rows of tiles at a time, column by column."""
    width = GROUP * tl.cdiv(N, BN)
    first = pid // width * GROUP
    height = min(tl.cdiv(M, BM) - first, GROUP)
    return first + pid % width % height, pid % width // height


@tegula.jit
def product(
    a_ptrs, b_ptrs, in_m, in_n, K, a_k, b_k, ACC: tl.constexpr, PRECISION: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, RUN: tl.constexpr,
):  # fmt: skip
    """A tile of a @ b. Sums of RUN products are added up, where RUN is not 0: the error of
    one long sum grows with its length."""
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=ACC)
    if RUN == 0:
        for start in range(0, K, BK):
            a = tl.load(
                a_ptrs, mask=in_m[:, None] & (k + start < K)[None, :], other=0.0
            )
            b = tl.load(
                b_ptrs, mask=(k + start < K)[:, None] & in_n[None, :], other=0.0
            )
            acc = tl.dot(a, b, acc, input_precision=PRECISION, out_dtype=ACC)
            a_ptrs += BK * a_k
            b_ptrs += BK * b_k
    else:
        for first in range(0, K, RUN):
            part = tl.zeros((BM, BN), dtype=ACC)
            for start in range(first, min(first + RUN, K), BK):
                a = tl.load(
                    a_ptrs, mask=in_m[:, None] & (k + start < K)[None, :], other=0.0
                )
                b = tl.load(
                    b_ptrs, mask=(k + start < K)[:, None] & in_n[None, :], other=0.0
                )
                part = tl.dot(a, b, part, input_precision=PRECISION, out_dtype=ACC)
                a_ptrs += BK * a_k
                b_ptrs += BK * b_k
            acc += part
    return acc


@tegula.jit
def kernel(
    a_ptr, b_ptr, bias_ptr, c_ptr, pre_ptr, M, N, K, a_z, a_m, a_k, b_z, b_k, b_n,
    ACT: tl.constexpr, ACC: tl.constexpr, PRECISION: tl.constexpr, BM: tl.constexpr,
    BN: tl.constexpr, BK: tl.constexpr, RUN: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    pm, pn = tile_of(tl.program_id(0), M, N, BM, BN, GROUP)
    z = tl.program_id(1).to(tl.int64)
    m = (pm * BM + tl.arange(0, BM)).to(tl.int64)
    n = (pn * BN + tl.arange(0, BN)).to(tl.int64)
    k = tl.arange(0, BK).to(tl.int64)
    acc = product(
        a_ptr + z * a_z + m[:, None] * a_m + k[None, :] * a_k,
        b_ptr + z * b_z + k[:, None] * b_k + n[None, :] * b_n,
        m < M, n < N, K, a_k, b_k, ACC, PRECISION, BM, BN, BK, RUN,
    )  # fmt: skip
    mask = (m < M)[:, None] & (n < N)[None, :]
    at = z * M * N + m[:, None] * N + n[None, :]
    if bias_ptr is not None:
        acc += tl.load(bias_ptr + n, mask=n < N, other=0.0).to(ACC)[None, :]
    if pre_ptr is not None:
        tl.store(pre_ptr + at, acc, mask=mask)
    tl.store(c_ptr + at, activation.apply(acc, ACT), mask=mask)


SIDES = (256, 192, 128, 96, 64)


def _side(n: int, largest: int) -> int:
    """Of a tile on a CPU: the largest that covers n nearly as well as the best does."""
    if n <= 32:
        return max(tegula.next_power_of_2(n), 16)
    sides = [s for s in SIDES if s <= largest]
    covered = {s: -(-n // s) * s for s in sides}
    return next(s for s in sides if covered[s] <= min(covered.values()) * 9 // 8)


@functools.cache
def _sides(M: int, N: int, batch: int, largest: int, threads: int) -> tuple[int, int]:
    """Of a tile on a CPU: the largest whose tiles keep all threads busy nearly as well as
    the best do: 9 tiles of 256 x 256 take two threads as long as 10 do."""

    def work(m: int, n: int) -> int:
        tiles = batch * tegula.cdiv(M, m) * tegula.cdiv(N, n)
        return tegula.cdiv(tiles, threads) * m * n

    bn = _side(N, largest)
    bms = [s for s in SIDES if s <= _side(M, largest)]
    bms = bms or [tegula.next_power_of_2(max(M, 1))]
    least = min(work(m, bn) for m in bms)
    return next(m for m in bms if work(m, bn) * 16 <= least * 17), bn


def options(a: Any, M: int, N: int, K: int, batch: int = 1) -> dict[str, Any]:
    """The sides of a tile and what else a product of a's type on its machine wants."""
    acc, name = arrays.accumulator(a)
    kind = arrays.dtype_name(a)
    out = {"ACC": acc, "BM": 64, "BN": 64, "BK": 32, "RUN": 0}
    if not arrays.is_on_gpu(a):
        # 256 x 256 read half as much of a and b, where each thread has four of them.
        is_wide = batch * M * N >= 256 * 256 * 4 * arrays.n_threads()
        most = 256 if is_wide and name != "float64" else 128
        bm, bn = _sides(M, N, batch, most, arrays.n_threads())
        # The accumulator is read and written once a BK. By AMX 256 of bf16 were 1.2 times
        # as fast as 128 (512^3 to 2048^3, a Xeon), and take the room of 128 of f32.
        bk = 128 if K > 256 and kind in ("float32", "float64") else 256
        return out | {"BM": bm, "BN": bn, "BK": _side(K, bk)}
    if name == "float64":
        out |= {"BM": 32, "BN": 32, "BK": 16}
    elif min(M, N) >= 128 and kind != "float32":
        is_wide = M * N >= 128 * 256 * 132
        out |= {"BM": 128, "BN": 256 if is_wide else 128, "BK": 64}
        out |= {"num_warps": 8, "num_stages": 3}
    if kind in ("float32", "float64"):
        out["RUN"] = 128  # a CPU sums each BK by itself
    return out


def strides(x: Any) -> tuple[int, ...]:
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
    batch = a.shape[0] if a.ndim == 3 else 1
    chosen = options(a, M, N, K, batch)
    tiles = tegula.cdiv(M, chosen["BM"]) * tegula.cdiv(N, chosen["BN"])
    kernel[(tiles, batch)](
        a, b, None if bias is None else arrays.contiguous(bias), c,
        pre if act else None, M, N, K, *strides(a), *strides(b),
        ACT=act, PRECISION=precision, GROUP=8, **chosen,
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
    check_precision(op, precision)


def check_precision(op: str, precision: str) -> None:
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
    arrays.check_arrays("linear", x=x, weight=weight)
    if x.ndim < 1 or weight.ndim != 2 or x.shape[-1] != weight.shape[1]:
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
