"""Cross entropy of logits and class indices, without the matrix of probabilities.

Forward walks a row once, in blocks, with a running maximum; it keeps the row's
log(sum(exp)) and nothing else. Backward makes the probabilities again from that.
"""

from __future__ import annotations

from typing import Any

import tegula
import tegula.language as tl
from tegula.ops import arrays

MAX_BLOCK = 4096


@tegula.jit
def forward_kernel(
    x_ptr, target_ptr, loss_ptr, lse_ptr, n, ignore,
    ACC: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    top = tl.full((), -float("inf"), ACC)
    total = tl.full((), 0.0, ACC)
    for start in range(0, n, BLOCK):
        x = tl.load(
            x_ptr + row * n + start + i, mask=start + i < n, other=-float("inf")
        ).to(ACC)
        higher = tl.maximum(top, tl.max(x, axis=0))
        # A row that has only been -inf so far: keep what is subtracted finite.
        shift = tl.where(higher == -float("inf"), 0.0, higher)
        total = total * tl.exp(top - shift) + tl.sum(tl.exp(x - shift), axis=0)
        top = higher
    lse = tl.log(total) + tl.where(top == -float("inf"), 0.0, top)
    target = tl.load(target_ptr + row)
    known = (target >= 0) & (target < n)
    x = tl.load(x_ptr + row * n + target, mask=known, other=float("nan")).to(ACC)
    tl.store(loss_ptr + row, tl.where(target == ignore, 0.0, lse - x))
    tl.store(lse_ptr + row, lse)


@tegula.jit
def backward_kernel(
    x_ptr, target_ptr, lse_ptr, dloss_ptr, count_ptr, dx_ptr, n, ignore,
    REDUCED: tl.constexpr, ACC: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """REDUCED: the gradient is that of one sum, which was divided by what count_ptr has."""
    row = tl.program_id(0).to(tl.int64)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    target = tl.load(target_ptr + row)
    lse = tl.load(lse_ptr + row)
    x = tl.load(x_ptr + row * n + i, mask=i < n, other=-float("inf")).to(ACC)
    dloss = tl.load(dloss_ptr + (0 if REDUCED else row))
    if REDUCED:
        dloss = dloss / tl.load(count_ptr)
    # Rounded once: the other order rounds p - 1, and then its product.
    dx = tl.exp(x - lse) * dloss - tl.where(i == target, dloss, 0.0)
    dx = tl.where(target == ignore, 0.0, dx)
    tl.store(dx_ptr + row * n + i, dx, mask=i < n)


@tegula.jit
def reduce_kernel(
    loss_ptr, target_ptr, out_ptr, count_ptr, rows, ignore,
    MEAN: tl.constexpr, ACC: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The sum of all losses, by how many it is to be divided, and the quotient."""
    total = tl.zeros((BLOCK,), ACC)
    count = tl.zeros((BLOCK,), ACC)
    for start in range(0, rows, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.load(loss_ptr + i, mask=i < rows, other=0.0)
        target = tl.load(target_ptr + i, mask=i < rows, other=ignore)
        count += tl.where(target == ignore, 0.0, 1.0)
    n = tl.sum(count, axis=0) if MEAN else tl.full((), 1.0, ACC)
    tl.store(count_ptr, n)
    tl.store(out_ptr, tl.sum(total, axis=0) / n)


def _block(n: int) -> int:
    return min(MAX_BLOCK, tegula.next_power_of_2(n))


def outputs(x: Any, *_: Any) -> tuple:
    """The losses, and log(sum(exp)) of the rows."""
    name = arrays.accumulator(x)[1]
    return tuple(arrays.empty(x, x.shape[:1], name) for _ in range(2))


def run(outs: tuple, x: Any, target: Any, ignore: int) -> None:
    x, target = arrays.contiguous(x), arrays.contiguous(target)
    rows, n = x.shape
    acc, _ = arrays.accumulator(x)
    forward_kernel[(rows,)](x, target, *outs, n, ignore, ACC=acc, BLOCK=_block(n))


def run_backward(
    outs: tuple, x: Any, target: Any, lse: Any, dloss: Any, count: Any, ignore: int
) -> None:
    """count is None where dloss has a gradient for each row."""
    x, target, dloss = (arrays.contiguous(a) for a in (x, target, dloss))
    rows, n = x.shape
    acc, _ = arrays.accumulator(x)
    backward_kernel[(rows, tegula.cdiv(n, _block(n)))](
        x, target, lse, dloss, count, *outs, n, ignore, REDUCED=count is not None,
        ACC=acc, BLOCK=_block(n),
    )  # fmt: skip


_backward = arrays.Op(
    "cross_entropy_backward(Tensor x, Tensor target, Tensor lse, Tensor dloss,"
    " Tensor? count, int ignore) -> Tensor",
    lambda x, *_: (arrays.empty(x, x.shape),),
    run_backward,
)
_losses = arrays.Op(
    "cross_entropy(Tensor x, Tensor target, int ignore) -> (Tensor, Tensor)",
    outputs,
    run,
    lambda args, outs, grads, wanted: _backward(
        *args[:2], outs[1], grads[0], None, args[2]
    ),
)


def reduced_outputs(x: Any, target: Any, ignore: int, mean: bool) -> tuple:
    """The loss, log(sum(exp)) of the rows, what the sum was divided by."""
    name = arrays.accumulator(x)[1]
    shapes = (), x.shape[:1], (1,)
    return tuple(arrays.empty(x, shape, name) for shape in shapes)


def run_reduced(outs: tuple, x: Any, target: Any, ignore: int, mean: bool) -> None:
    out, lse, count = outs
    losses = arrays.empty(lse, lse.shape)
    run((losses, lse), x, target, ignore)
    reduce_kernel[(1,)](
        losses, arrays.contiguous(target), out, count, x.shape[0], ignore,
        MEAN=mean, ACC=arrays.accumulator(x)[0], BLOCK=4096, num_warps=8,
    )  # fmt: skip


_reduced = arrays.Op(
    "cross_entropy_reduced(Tensor x, Tensor target, int ignore, bool mean)"
    " -> (Tensor, Tensor, Tensor)",
    reduced_outputs,
    run_reduced,
    lambda args, outs, grads, wanted: _backward(
        *args[:2], outs[1], grads[0], outs[2], args[2]
    ),
)


def check_reduction(reduction: str) -> None:
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(
            f"cross_entropy: reduction is mean, sum or none, not {reduction!r}"
        )


def reduced(losses: Any, target: Any, ignore: int, reduction: str) -> Any:
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    n = (target != ignore).sum()
    # NumPy divides float32 by an integer in float64.
    return losses.sum() / (n if arrays.is_torch(losses) else losses.dtype.type(n))


def cross_entropy(
    logits: Any, target: Any, ignore_index: int = -100, reduction: str = "mean"
) -> Any:
    """``-log(softmax(logits)[target])`` of each row, then their mean, sum, or all.

    Shapes: logits [N, C] with C >= 1; target [N]. "none" gives [N], else a scalar.
    Types:  logits f16, bf16, f32, f64; target i32 or i64. The loss is f32 (f64 for f64).
    Rows whose target is ignore_index count for nothing; the mean is over the others. A
    target outside 0..C-1 makes its row NaN: to raise would be to wait for the GPU.
    Cost:   logits read once; backward reads them again and writes as much.
    Errors: TypeError for other dtypes, ValueError for shapes that do not fit.
    """
    arrays.check_arrays("cross_entropy", logits=logits)
    arrays.check_arrays("cross_entropy", ("int32", "int64"), target=target)
    if arrays.is_torch(logits) != arrays.is_torch(target):
        raise TypeError("cross_entropy: logits and target are of different libraries")
    if logits.ndim != 2 or logits.shape[1] < 1 or target.shape != logits.shape[:1]:
        raise ValueError(
            f"cross_entropy: logits have shape {list(logits.shape)} and target "
            f"{list(target.shape)}; expected [N, C] and [N]"
        )
    check_reduction(reduction)
    given = logits, target, int(ignore_index)
    if reduction == "none":
        return _losses(*given)[0]
    loss = _reduced(*given, reduction == "mean")[0]
    return loss if arrays.is_torch(logits) else loss[()]
