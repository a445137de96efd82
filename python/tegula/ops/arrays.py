"""What the ops share: arrays of NumPy and torch alike, and the class of an op."""

from __future__ import annotations

import functools
import math
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import tegula
import tegula.language as tl
from tegula.ops import registered

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


def cast(x: Any, dtype: str) -> Any:
    if is_torch(x):
        return x.to(getattr(sys.modules["torch"], dtype))
    return x.astype(dtype)


def stacked(x: Any, y: Any) -> Any:
    """Along a new last side."""
    if is_torch(x):
        return sys.modules["torch"].stack((x, y), -1)
    import numpy as np

    return np.stack((x, y), -1)


def largest(x: Any) -> Any:
    """Along the last side."""
    return x.amax(-1) if is_torch(x) else x.max(-1)


def contiguous(x: Any) -> Any:
    if is_torch(x):
        return x.contiguous()
    import numpy as np

    return np.ascontiguousarray(x)


def n_rows(x: Any) -> int:
    return math.prod(x.shape[:-1])


def size(x: Any) -> int:
    return math.prod(x.shape)


def accumulator(x: Any) -> tuple[Any, str]:
    """What sums over x are kept in, as the language's type and by its name."""
    wide = dtype_name(x) == "float64"
    return (tl.float64, "float64") if wide else (tl.float32, "float32")


def is_on_gpu(x: Any) -> bool:
    return is_torch(x) and x.device.type == "cuda"


@functools.cache
def _n_multiprocessors(device: int) -> int:
    torch = sys.modules["torch"]
    return int(torch.cuda.get_device_properties(device).multi_processor_count)


def n_resident(x: Any, each: int = 2) -> int:
    """Programs that walk over the work where it lies: some for each multiprocessor.

    On CPUs the number is the same everywhere, so that sums have one order everywhere.
    """
    return each * _n_multiprocessors(x.device.index) if is_on_gpu(x) else 64


def n_threads() -> int:
    """Of a launch on the CPU."""
    return tegula.knobs.runtime.num_threads or len(os.sched_getaffinity(0))


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


def check_no_gradient(op: str, *given: Any) -> None:
    """RuntimeError where autograd would want a gradient that the op has not."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.is_grad_enabled():
        if any(is_torch(x) and x.requires_grad for x in given):
            raise RuntimeError(
                f"{op} has no backward pass, and an input requires a gradient; call it "
                "under torch.no_grad() or detach the input"
            )


def check_rows(op: str, x: Any, most: int | None = MAX_ROW) -> None:
    """ValueError unless rows of x have between 1 and most elements."""
    if x.ndim < 1 or x.shape[-1] < 1 or (most and x.shape[-1] > most):
        raise ValueError(
            f"{op}: x has shape {list(x.shape)}; the last side must be "
            + (f"between 1 and {most}" if most else "1 or more")
        )


# --- ops ------------------------------------------------------------------------------
class Op:
    """What kernels compute, for NumPy, torch, its autograd and its compiler.

    schema     "softmax(Tensor x) -> Tensor", as torch.library has them
    outputs    outputs(*args) -> a tuple of empty arrays: shapes and dtypes, no kernel
    run        run(outs, *args) launches the kernels that fill them
    gradient   gradient(args, outs, grads, wanted) -> one gradient for each argument, or
               None; wanted[i] says whether anyone asks for it. Its kernels are an Op, too

    A call gives all outputs. Eager torch comes by an autograd.Function, which costs a
    third of a call through torch's dispatcher; what traces, ``torch.compile`` above all,
    finds the op ``torch.ops.tegula.<name>``.
    """

    def __init__(
        self,
        schema: str,
        outputs: Callable[..., tuple],
        run: Callable[..., None],
        gradient: Callable[..., tuple] | None = None,
    ) -> None:
        self.name, _, self.signature = schema.partition("(")
        self.signature = "(" + self.signature
        self.outputs = outputs
        self.run = run
        self.gradient = gradient
        BY_NAME[self.name] = self

    def compute(self, *args: Any) -> tuple:
        outs = self.outputs(*args)
        self.run(outs, *args)
        return outs

    def traced(self, *args: Any) -> tuple:
        outs = getattr(registered, self.name)(*args)
        return tuple(outs) if isinstance(outs, (tuple, list)) else (outs,)

    def keep(self, ctx: Any, args: tuple, outs: tuple) -> None:
        registered.keep(ctx, args, outs)

    def differentiate(self, ctx: Any, grads: tuple, wanted: Any) -> tuple:
        return registered.differentiate(self, ctx, grads, wanted)

    def __call__(self, *args: Any) -> tuple:
        if not any(is_torch(x) for x in args):
            return self.compute(*args)
        torch = sys.modules["torch"]
        if torch.compiler.is_compiling() or any(is_traced(x) for x in args):
            return self.traced(*args)
        if torch._C._are_functorch_transforms_active():  # torch.func, torch.vmap
            return registered.Transformed.apply(self, *args)
        if self.gradient and torch.is_grad_enabled():
            if any(is_torch(x) and x.requires_grad for x in args):
                return registered.Function.apply(self, *args)
        return self.compute(*args)


BY_NAME: dict[str, Op] = {}


def is_traced(x: Any) -> bool:
    """Does x stand for a tensor: FakeTensor, a proxy, a wrapper, one of device "meta"?"""
    torch = sys.modules["torch"]
    plain = torch.Tensor, torch.nn.Parameter
    return isinstance(x, torch.Tensor) and (type(x) not in plain or x.is_meta)
