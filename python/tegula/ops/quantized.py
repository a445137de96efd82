"""Products with weights of 8 or 4 bits, scaled in groups along K.

    y = x @ W.T + bias,  W[n, k] = (w[n, k] - zeros[n, k // group]) * scales[n, k // group]

Forward multiplies x by integers, which all float types hold exactly, and scales the sums of
each group. So weights are not rounded to x's type, where zero points are whole numbers as
those of `quantize` are. Backward rounds them: its sums run across the groups' scales.
"""

from __future__ import annotations

from typing import Any

import tegula
import tegula.language as tl
from tegula.ops import arrays


@tegula.jit
def integers(
    w_ptr, n, N, start, K, BITS: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    """[BN, BK] of the weights, 4 bits as 0..15: two to a byte, the lower half first."""
    if BITS == 8:
        k = start + tl.arange(0, BK)
        at = n[:, None].to(tl.int64) * K + k[None, :]
        return tl.load(w_ptr + at, mask=(n < N)[:, None] & (k < K)[None, :], other=0)
    else:
        j = start // 2 + tl.arange(0, BK // 2)
        at = n[:, None].to(tl.int64) * (K // 2) + j[None, :]
        mask = (n < N)[:, None] & (j < K // 2)[None, :]
        both = tl.load(w_ptr + at, mask=mask, other=0)
        return tl.interleave(both & 15, both >> 4)


@tegula.jit
def of_group(ptr, n, N, g, groups, ACC: tl.constexpr):
    at = n.to(tl.int64) * groups + g
    return tl.load(ptr + at, mask=n < N, other=0.0).to(ACC)


@tegula.jit
def forward_kernel(
    x_ptr, w_ptr, scale_ptr, zero_ptr, bias_ptr, y_ptr, M, N, K, groups, SIZE,
    BITS: tl.constexpr, ACC: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), ACC)
    for start in range(0, K, BK):
        at = m[:, None].to(tl.int64) * K + start + k[None, :]
        mask = (m < M)[:, None] & (start + k < K)[None, :]
        x = tl.load(x_ptr + at, mask=mask, other=0.0)
        w = integers(w_ptr, n, N, start, K, BITS, BN, BK).to(ACC)
        g = start // SIZE
        if zero_ptr is not None:
            w -= of_group(zero_ptr, n, N, g, groups, ACC)[:, None]
        w = tl.trans(w.to(x.dtype))
        part = tl.dot(x, w, out_dtype=ACC, input_precision="ieee")
        acc += part * of_group(scale_ptr, n, N, g, groups, ACC)[None, :]
    if bias_ptr is not None:
        acc += tl.load(bias_ptr + n, mask=n < N, other=0.0).to(ACC)[None, :]
    at = m[:, None].to(tl.int64) * N + n[None, :]
    tl.store(y_ptr + at, acc, mask=(m < M)[:, None] & (n < N)[None, :])


@tegula.jit
def backward_kernel(
    dy_ptr, w_ptr, scale_ptr, zero_ptr, dx_ptr, M, N, K, groups, SIZE,
    BITS: tl.constexpr, ACC: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr,
):  # fmt: skip
    """dx = dy @ W, BK columns of one group for each program."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    start = tl.program_id(1) * BK
    k = start + tl.arange(0, BK)
    acc = tl.zeros((BM, BK), ACC)
    for first in range(0, N, BN):
        n = first + tl.arange(0, BN)
        at = m[:, None].to(tl.int64) * N + n[None, :]
        mask = (m < M)[:, None] & (n < N)[None, :]
        dy = tl.load(dy_ptr + at, mask=mask, other=0.0)
        w = integers(w_ptr, n, N, start, K, BITS, BN, BK).to(ACC)
        g = start // SIZE
        if zero_ptr is not None:
            w -= of_group(zero_ptr, n, N, g, groups, ACC)[:, None]
        w *= of_group(scale_ptr, n, N, g, groups, ACC)[:, None]
        acc = tl.dot(dy, w.to(dy.dtype), acc, out_dtype=ACC, input_precision="ieee")
    at = m[:, None].to(tl.int64) * K + k[None, :]
    tl.store(dx_ptr + at, acc, mask=(m < M)[:, None] & (k < K)[None, :])


def _options(x: Any, rows: int, size: int, bits: int) -> dict[str, Any]:
    acc, name = arrays.accumulator(x)
    # A step along K stays in one group: the largest power of two that divides its size.
    side = min(size & -size, 32 if name == "float64" else 64)
    few = 16 if rows <= 16 else 64
    BM, BN = (min(few, 32), 32) if name == "float64" else (few, 64)
    return {"BITS": bits, "ACC": acc, "BM": BM, "BN": BN, "BK": side}


def _launch(
    kernel: Any, given: tuple, out: Any, x: Any, scales: Any, N: int, K: int, bits: int,
    is_forward: bool,
) -> None:  # fmt: skip
    groups, rows = scales.shape[1], arrays.n_rows(x)
    chosen = _options(x, rows, K // groups, bits)
    across = tegula.cdiv(N, chosen["BN"]) if is_forward else K // chosen["BK"]
    kernel[(tegula.cdiv(rows, chosen["BM"]), across)](
        *(None if a is None else arrays.contiguous(a) for a in given), out, rows, N, K,
        groups, K // groups, **chosen,
    )  # fmt: skip


def run(
    outs: tuple, x: Any, w: Any, scales: Any, zeros: Any, bias: Any, bits: int
) -> None:
    given, N = (x, w, scales, zeros, bias), w.shape[0]
    _launch(forward_kernel, given, *outs, x, scales, N, x.shape[1], bits, True)


def run_backward(
    outs: tuple, dy: Any, w: Any, scales: Any, zeros: Any, bits: int
) -> None:
    given, (N, K) = (dy, w, scales, zeros), w.shape
    K = K * 8 // bits
    _launch(backward_kernel, given, *outs, dy, scales, N, K, bits, False)


def gradient(args: Any, outs: Any, grads: Any, wanted: Any) -> tuple:
    _, w, scales, zeros, bias, bits = args
    if wanted[2] or wanted[3]:
        raise RuntimeError("quantized_linear: scales and zeros have no gradient here")
    dy = grads[0]
    dx = _backward(dy, w, scales, zeros, bits)[0] if wanted[0] else None
    dbias = dy.sum(0) if bias is not None and wanted[4] else None
    return dx, None, None, None, dbias


_backward = arrays.Op(
    "quantized_linear_backward(Tensor dy, Tensor w, Tensor scales, Tensor? zeros,"
    " int bits) -> Tensor",
    lambda dy, w, scales, zeros, bits: (
        arrays.empty(dy, (dy.shape[0], w.shape[1] * 8 // bits)),
    ),
    run_backward,
)
_linear = arrays.Op(
    "quantized_linear(Tensor x, Tensor w, Tensor scales, Tensor? zeros, Tensor? bias,"
    " int bits) -> Tensor",
    lambda x, w, *_: (arrays.empty(x, (x.shape[0], w.shape[0])),),
    run,
    gradient,
)


def quantized_linear(
    x: Any,
    weight: Any,
    scales: Any,
    zeros: Any = None,
    bias: Any = None,
    bits: int = 8,
) -> Any:
    """``x @ ((weight - zeros) * scales).T + bias``, weights of 8 or 4 bits.

    Shapes: x [..., K]; scales and zeros [N, K / group], the group a multiple of 16;
            bias [N]. bits=8: weight [N, K], i8. bits=4: weight [N, K / 2], u8, two numbers
            of 0..15 a byte, the lower half first. ``quantize`` makes them.
    Types:  x f16, bf16, f32, f64; scales, zeros and bias as x; sums are f32 (f64 for f64).
    zeros   None for none.
    Backward: gradients of x and of bias.
    """
    op = "quantized_linear"
    arrays.check_arrays(op, x=x, scales=scales, zeros=zeros, bias=bias)
    if bits not in (4, 8):
        raise ValueError(f"{op}: bits is 4 or 8, not {bits}")
    arrays.check_arrays(op, ("int8" if bits == 8 else "uint8",), weight=weight)
    if x.ndim < 1 or weight.ndim != 2 or x.shape[-1] * bits != weight.shape[1] * 8:
        raise ValueError(
            f"{op}: x {list(x.shape)} and weight {list(weight.shape)} of {bits} bits do "
            "not fit each other"
        )
    N, K = weight.shape[0], x.shape[-1]
    groups = scales.shape[1] if scales.ndim == 2 else 0
    if not groups or scales.shape[0] != N or K % groups or K // groups % 16:
        raise ValueError(
            f"{op}: scales has shape {list(scales.shape)}; expected [{N}, {K} / group] "
            "with a group that is a multiple of 16"
        )
    for name, a, shape in (("zeros", zeros, scales.shape), ("bias", bias, (N,))):
        if a is not None and tuple(a.shape) != tuple(shape):
            raise ValueError(
                f"{op}: {name} has shape {list(a.shape)}, expected {list(shape)}"
            )
    rows = x.reshape(-1, K) if x.ndim != 2 else x
    y = _linear(rows, weight, scales, zeros, bias, int(bits))[0]
    return y if x.ndim == 2 else y.reshape(*x.shape[:-1], N)


def quantize(
    weight: Any, bits: int = 8, group: int = 64, zeros: bool = False
) -> tuple[Any, Any, Any]:
    """(integers, scales, zeros or None) of a weight [N, K], as quantized_linear takes them.

    The largest of each group of neighbours along K decides its scale, and with zeros its
    least as well. 4 bits without zeros have 8 as their zero point, which zeros then holds.
    """
    arrays.check_arrays("quantize", weight=weight)
    if bits not in (4, 8):
        raise ValueError(f"quantize: bits is 4 or 8, not {bits}")
    if weight.ndim != 2:
        raise ValueError(f"quantize: weight has shape {list(weight.shape)}, not [N, K]")
    if group < 16 or group % 16:
        raise ValueError(f"quantize: group is a multiple of 16, not {group}")
    N, K = weight.shape
    if K % group:
        raise ValueError(f"quantize: rows of {K} have no groups of {group}")
    w = weight.reshape(N, K // group, group)
    low, high = (0, 15) if bits == 4 else (-128, 127)
    if zeros:
        # An empty range would divide by 0.
        top, least = arrays.largest(w), -arrays.largest(-w)
        scale = (top - least).clip(1e-6) / (high - low)
        zero = (low - least / scale).round()
    else:
        scale = arrays.largest(abs(w)).clip(1e-6) / (7 if bits == 4 else 127)
        zero = scale * 0 + (8 if bits == 4 else 0)
    q = (w / scale[..., None] + zero[..., None]).round().clip(low, high)
    q = q.reshape(N, K)
    if bits == 4:
        q = q[:, ::2] + 16 * q[:, 1::2]
    return (
        arrays.cast(q, "int8" if bits == 8 else "uint8"),
        scale,
        zero if zeros or bits == 4 else None,
    )


def dequantize(weight: Any, scales: Any, zeros: Any = None, bits: int = 8) -> Any:
    """The weight [N, K] that quantized_linear multiplies by, of the type of scales."""
    N = weight.shape[0]
    q = arrays.cast(weight, arrays.dtype_name(scales))
    if bits == 4:
        high = arrays.cast(weight // 16, arrays.dtype_name(scales))
        q = arrays.stacked(q - 16 * high, high).reshape(N, -1)
    q = q.reshape(*scales.shape, -1)
    if zeros is not None:
        q = q - zeros[..., None]
    return (q * scales[..., None]).reshape(N, -1)
