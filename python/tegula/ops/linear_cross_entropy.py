"""The loss of a language model from its last hidden states, without its matrix of logits.

The logits of some rows at a time are made, used and forgotten; backward makes them again.
Of [tokens, vocabulary] only CHUNK rows ever exist.
"""

from __future__ import annotations

from typing import Any

from tegula.ops import arrays
from tegula.ops.cross_entropy import check_reduction, reduced
from tegula.ops.cross_entropy import outputs as loss_outputs
from tegula.ops.cross_entropy import run as run_loss
from tegula.ops.cross_entropy import run_backward as run_loss_backward
from tegula.ops.matmul import _matmul

CHUNK = 1 << 24  # logits at once


def _chunks(x: Any, weight: Any) -> list[slice]:
    rows = max(1, CHUNK // weight.shape[0])
    return [slice(i, min(i + rows, x.shape[0])) for i in range(0, x.shape[0], rows)]


def _product(a: Any, b: Any) -> Any:
    return _matmul.compute(a, b, None, "", "ieee")[0]


def run(outs: tuple, x: Any, weight: Any, target: Any, ignore: int) -> None:
    for rows in _chunks(x, weight):
        logits = _product(x[rows], weight.T)
        part = tuple(out[rows] for out in outs)
        run_loss(part, logits, target[rows], ignore)


def run_backward(
    outs: tuple, x: Any, weight: Any, target: Any, lse: Any, dloss: Any, ignore: int
) -> None:
    dx, dw = outs
    dw[...] = 0
    for rows in _chunks(x, weight):
        logits = _product(x[rows], weight.T)
        d = arrays.empty(logits, logits.shape)
        given = logits, target[rows], lse[rows], dloss[rows], None
        run_loss_backward((d,), *given, ignore)
        dx[rows] = _product(d, weight)
        dw += _product(d.T, x[rows])


def backward_outputs(x: Any, weight: Any, *_: Any) -> tuple:
    name = arrays.accumulator(weight)[1]
    return arrays.empty(x, x.shape), arrays.empty(weight, weight.shape, name)


def gradient(args: Any, outs: Any, grads: Any, wanted: Any) -> tuple:
    x, weight, target, ignore = args
    dx, dw = _backward(x, weight, target, outs[1], grads[0], ignore)
    return dx, dw.to(weight.dtype), None


_backward = arrays.Op(
    "linear_cross_entropy_backward(Tensor x, Tensor weight, Tensor target, Tensor lse,"
    " Tensor dloss, int ignore) -> (Tensor, Tensor)",
    backward_outputs,
    run_backward,
)
_losses = arrays.Op(
    "linear_cross_entropy(Tensor x, Tensor weight, Tensor target, int ignore)"
    " -> (Tensor, Tensor)",
    lambda x, weight, target, ignore: loss_outputs(x, target, ignore),
    run,
    gradient,
)


def linear_cross_entropy(
    x: Any,
    weight: Any,
    target: Any,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Any:
    """``cross_entropy(x @ weight.T, target)`` in the memory of some of its rows.

    Shapes: x [N, K], weight [C, K], target [N]. "none" gives [N], else a scalar.
    Types:  as cross_entropy's and matmul's.
    Cost:   one matrix product forward, three backward.
    """
    arrays.check_arrays("linear_cross_entropy", x=x, weight=weight)
    arrays.check_arrays("linear_cross_entropy", ("int32", "int64"), target=target)
    if (
        x.ndim != 2
        or weight.ndim != 2
        or x.shape[1] != weight.shape[1]
        or tuple(target.shape) != tuple(x.shape[:1])
    ):
        raise ValueError(
            f"linear_cross_entropy: x {list(x.shape)}, weight {list(weight.shape)}, "
            f"target {list(target.shape)}; expected [N, K], [C, K] and [N]"
        )
    check_reduction(reduction)
    losses = _losses(x, weight, target, int(ignore_index))[0]
    return reduced(losses, target, ignore_index, reduction)
