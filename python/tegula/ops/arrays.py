"""What the ops share: arrays of NumPy and torch alike, and the way into autograd."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import tegula
import tegula.language as tl

FLOATS = ("float16", "bfloat16", "float32", "float64")
MAX_ROW = 1 << 16  # one program holds a row; larger ones spill whatever the target


def is_torch(x: Any) -> bool:
    torch = sys.modules.get("torch")  # nobody has a tensor without having loaded it
    return torch is not None and isinstance(x, torch.Tensor)


def dtype_name(x: Any) -> str:
    return str(x.dtype).removeprefix("torch.")


def empty(like: Any, shape: Sequence[int], dtype: str | None = None) -> Any:
    """Memory beside `like`, of its dtype or the one named."""
    if is_torch(like):
        torch = sys.modules["torch"]
        kind = getattr(torch, dtype) if dtype else like.dtype
        return torch.empty(tuple(shape), dtype=kind, device=like.device)
    import numpy as np

    return np.empty(tuple(shape), dtype or like.dtype)


def contiguous(x: Any) -> Any:
    if is_torch(x):
        return x.contiguous()
    import numpy as np

    return np.ascontiguousarray(x)


def n_rows(x: Any) -> int:
    return math.prod(x.shape[:-1])


def accumulator(x: Any) -> tuple[Any, str]:
    """What sums over x are kept in, as the language's type and by its name."""
    wide = dtype_name(x) == "float64"
    return (tl.float64, "float64") if wide else (tl.float32, "float32")


def row_options(n: int) -> dict[str, Any]:
    """BLOCK and num_warps of a kernel whose program holds a row of n."""
    block = tegula.next_power_of_2(n)
    return {"BLOCK": block, "num_warps": max(1, min(16, block // 512))}


# --- what an op may be given ----------------------------------------------------------
def check_arrays(op: str, dtypes: Sequence[str] = FLOATS, **arrays: Any) -> None:
    """TypeError unless all are of one library and one of these dtypes, the same one."""
    first = next(iter(arrays))
    for name, x in arrays.items():
        if x is None:
            continue
        numpy = sys.modules.get("numpy")
        is_numpy = numpy is not None and isinstance(x, numpy.ndarray)
        if not is_torch(x) and not is_numpy:
            kind = type(x).__name__
            raise TypeError(f"{op}: {name} is a {kind}, not a NumPy array or tensor")
        if is_torch(x) != is_torch(arrays[first]):
            raise TypeError(f"{op}: {first} and {name} are of different libraries")
        if dtype_name(x) not in dtypes:
            raise TypeError(
                f"{op}: {name} is {dtype_name(x)}; expected {', '.join(dtypes)}"
            )
        if dtype_name(x) != dtype_name(arrays[first]):
            raise TypeError(
                f"{op}: {name} is {dtype_name(x)} and {first} is "
                f"{dtype_name(arrays[first])}"
            )


def check_rows(op: str, x: Any) -> None:
    """ValueError unless a program can hold a row of x."""
    if x.ndim < 1 or not 1 <= x.shape[-1] <= MAX_ROW:
        raise ValueError(
            f"{op}: x has shape {list(x.shape)}; "
            f"the last side must be between 1 and {MAX_ROW}"
        )


# --- autograd -------------------------------------------------------------------------
def differentiable(
    forward: Callable[..., tuple[Any, tuple]], backward: Callable[..., tuple]
) -> Callable[..., Any]:
    """forward and backward as one op: call(options, *arrays) -> array.

    forward(options, *arrays)          the result, and what backward wants kept
    backward(options, kept, grad, wanted)
                                       one gradient for each array, or None;
                                       wanted[i] says whether anyone asks for it
    torch tensors go through a torch.autograd.Function, all else through forward alone.
    """

    @functools.cache
    def function() -> Any:
        import torch

        class Function(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, options: dict, *arrays: Any) -> Any:
                out, kept = forward(options, *arrays)
                ctx.options = options
                ctx.save_for_backward(*kept)
                return out

            @staticmethod
            @torch.autograd.function.once_differentiable
            def backward(ctx: Any, grad: Any) -> Any:
                wanted = ctx.needs_input_grad[1:]
                grads = backward(ctx.options, ctx.saved_tensors, grad, wanted)
                return None, *grads

        Function.__name__ = Function.__qualname__ = forward.__module__.split(".")[-1]
        return Function

    def call(options: dict[str, Any], *arrays: Any) -> Any:
        if is_torch(arrays[0]):
            return function().apply(options, *arrays)
        return forward(options, *arrays)[0]

    return call
