"""Kernels of one's own inside of ``torch.compile(fullgraph=True)``, forward and backward.

    from tegula.torch import custom_op

    @custom_op("mine::scaled")
    def scaled(x: torch.Tensor, a: float) -> torch.Tensor:
        y = torch.empty_like(x)
        scale_kernel[(tegula.cdiv(x.numel(), 1024),)](x, y, x.numel(), a, BLOCK=1024)
        return y

    @scaled.backward
    def _(args, outs, grads):
        x, a = args
        return scaled(grads[0], a), None

``scaled`` is a function. To ``torch.compile`` it is one node of the graph, whose shapes
come from the function itself, run on tensors without memory and without its launches. Its
backward function is an op as well, so it may launch kernels.

Inside of a compiled function a launch that no op surrounds breaks the graph.
"""

from __future__ import annotations

import functools
import inspect
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch

from tegula import compat
from tegula.jit import JITFunction, KernelInterface
from tegula.ops import registered

F = TypeVar("F", bound=Callable[..., Any])
__all__ = ["CustomOp", "custom_op", "triton_op", "wrap_triton"]


# --- functions without their launches -----------------------------------------------------
_tracing = threading.RLock()


@contextmanager
def _no_launches() -> Iterator[None]:
    """``kernel[grid](..)`` of this thread does nothing: its tensors have no memory."""
    me = threading.get_ident()

    def without(original: Callable[..., Any]) -> Callable[..., Any]:
        def getitem(kernel: Any, grid: Any) -> Any:
            if threading.get_ident() == me:
                return lambda *args, **kwargs: None
            return original(kernel, grid)

        return getitem

    with _tracing:
        plain, derived = JITFunction.__getitem__, KernelInterface.__getitem__
        has_own = "__getitem__" in JITFunction.__dict__
        JITFunction.__getitem__ = without(plain)  # type: ignore[method-assign]
        KernelInterface.__getitem__ = without(derived)  # type: ignore[method-assign]
        try:
            yield
        finally:
            KernelInterface.__getitem__ = derived  # type: ignore[method-assign]
            if has_own:
                JITFunction.__getitem__ = plain  # type: ignore[method-assign]
            else:
                del JITFunction.__getitem__


# --- ops ----------------------------------------------------------------------------------
class CustomOp:
    """A function that launches kernels, as an op of torch; ``custom_op`` makes them.

    ``op.backward(f)`` and ``op.fake(f)`` are decorators. ``op.op`` is torch's: what
    ``torch.library.opcheck`` takes.
    """

    def __init__(
        self, fn: Callable[..., Any], name: str, mutates_args: Iterable[str]
    ) -> None:
        if isinstance(fn, KernelInterface):
            raise TypeError(
                f"custom_op {name}: {getattr(fn, '__name__', fn)} is a kernel; the op is a "
                "function of its own, which makes the results and launches kernels"
            )
        if name.count("::") != 1:
            raise ValueError(f"custom_op: the name is 'yours::{name}', not {name!r}")
        self.name, self._fn = name, fn
        self._fake: Callable[..., Any] | None = None
        self._backward: Callable[..., Any] | None = None
        self._backward_op: Any = None
        functools.update_wrapper(self, fn)
        try:
            self.op = torch.library.custom_op(
                name, fn, mutates_args=tuple(mutates_args)
            )
        except ValueError as e:
            raise TypeError(
                f"custom_op {name}: every parameter and the result need an annotation "
                f"that torch knows, such as torch.Tensor, int, float: {e}"
            ) from e
        self.op.register_fake(self._shapes)
        self.op.register_vmap(registered.one_by_one(self.op))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        is_compiling = torch.compiler.is_compiling()
        if is_compiling or not torch._C._are_functorch_transforms_active():
            return self.op(*args, **kwargs)
        if self._backward_op is None:
            return self.op(*args, **kwargs)
        bound = inspect.signature(self._fn).bind(*args, **kwargs)
        bound.apply_defaults()
        return registered.Transformed.apply(self, *bound.args)

    def traced(self, *args: Any) -> Any:
        return self.op(*args)

    def __repr__(self) -> str:
        return f"<tegula.torch.CustomOp {self.name}>"

    def __reduce__(self) -> str:
        # Like a function: pickled by its name, and its own copy.
        return self._fn.__qualname__

    # --- shapes -------------------------------------------------------------------------
    def fake(self, fn: F) -> F:
        """The decorated function gives the result's shape: empty tensors, no kernels.

        Wanted where the op's own function looks at what its tensors hold.
        """
        self._fake = fn
        return fn

    def _shapes(self, *args: Any, **kwargs: Any) -> Any:
        if self._fake is not None:
            return self._fake(*args, **kwargs)
        try:
            with _no_launches():
                return self._fn(*args, **kwargs)
        except Exception as e:
            raise RuntimeError(
                f"custom_op {self.name}: torch.compile asks for the shape of the result, "
                f"and {self._fn.__qualname__} fails on tensors without memory "
                f"({type(e).__name__}: {e}). Give the shape by a function of its own, "
                f"@{self._fn.__name__}.fake, which returns empty tensors"
            ) from e

    # --- gradients ----------------------------------------------------------------------
    def backward(self, fn: F) -> F:
        """The decorated function makes the gradients: ``fn(args, outs, grads)``.

        args are what the op was called with, outs its results, grads the gradients of
        those (None where nobody uses one), all tuples. It returns one gradient for each
        argument, None for what has none; a gradient has the shape and the type of its
        argument. It runs as an op of its own, so it may launch kernels.
        """
        if self._backward is not None:
            raise RuntimeError(f"custom_op {self.name}: there is a backward function")
        self._backward = fn
        name = f"{self.name}_backward"
        made = torch.library.custom_op(
            name, self._gradients, mutates_args=(), schema=self._backward_schema()
        )
        made.register_fake(self._shapes_of_gradients)
        self._backward_op = made
        self.op.register_autograd(
            lambda ctx, *grads: self.differentiate(ctx, grads, ctx.needs_input_grad),
            setup_context=self.keep,
        )
        made.register_vmap(registered.one_by_one(made))
        return fn

    def _backward_schema(self) -> str:
        """(arguments, outs, grads, which gradients are wanted) -> gradients."""
        schema = self.op._opoverload._schema
        kinds = [str(r.type) for r in schema.returns]
        if not kinds or any(k != "Tensor" for k in kinds):
            raise TypeError(
                f"custom_op {self.name}: a gradient needs results that are tensors, "
                f"not {', '.join(kinds) or 'nothing'}"
            )
        if any(a.kwarg_only for a in schema.arguments):
            raise TypeError(
                f"custom_op {self.name}: an op with a gradient takes no arguments by "
                "keyword alone"
            )
        given = [f"{_kind(a)} a{i}" for i, a in enumerate(schema.arguments)]
        outs = [f"Tensor out{i}" for i in range(len(kinds))]
        grads = [f"Tensor? grad{i}" for i in range(len(kinds))]
        every = ", ".join([*given, *outs, *grads, "bool[] wanted"])
        return f"({every}) -> Tensor[]"

    def keep(self, ctx: Any, inputs: tuple, output: Any) -> None:
        outs = output if isinstance(output, (tuple, list)) else (output,)
        # torch leaves out the last arguments where they have their default values.
        omitted = self.op._opoverload._schema.arguments[len(inputs) :]
        every = (*inputs, *(a.default_value for a in omitted), *outs)
        ctx.save_for_backward(*(x for x in every if isinstance(x, torch.Tensor)))
        ctx.rest = [None if isinstance(x, torch.Tensor) else (x,) for x in every]
        ctx.set_materialize_grads(False)

    def differentiate(self, ctx: Any, grads: tuple, needed: Any) -> tuple:
        if all(g is None for g in grads):
            return (None,) * len(needed)
        n_args = len(self.op._opoverload._schema.arguments)
        wanted = [*needed, *[False] * (n_args - len(needed))]
        tensors = iter(ctx.saved_tensors)
        every = [x[0] if x else next(tensors) for x in ctx.rest]
        given = (*every, *grads, wanted)
        if torch._C._are_functorch_transforms_active():
            found = iter(registered.Transformed.apply(_Backward(self), *given))
        else:
            found = iter(self._backward_op(*given))
        return tuple(next(found) if w else None for w in needed)

    def _split(self, every: tuple) -> tuple[tuple, tuple, tuple, list[bool]]:
        """(args, outs, grads, wanted) of what the backward op is called with."""
        *rest, wanted = every
        n_args = len(wanted)
        n_outs = (len(rest) - n_args) // 2
        outs = n_args + n_outs
        return (
            tuple(rest[:n_args]),
            tuple(rest[n_args:outs]),
            tuple(rest[outs:]),
            wanted,
        )

    def _shapes_of_gradients(self, *every: Any) -> list[Any]:
        args, _, _, wanted = self._split(every)
        pairs = zip(args, wanted, strict=True)
        return [torch.empty_like(a) for a, w in pairs if w]

    def _gradients(self, *every: Any) -> list[Any]:
        args, outs, grads, wanted = self._split(every)
        assert self._backward is not None
        found = self._backward(args, outs, grads)
        found = found if isinstance(found, (tuple, list)) else (found,)
        if len(found) != len(args):
            raise RuntimeError(
                f"custom_op {self.name}: its backward function gave {len(found)} "
                f"gradients for {len(args)} arguments; None stands for none"
            )
        return [
            self._checked(i, a, g)
            for i, (a, g, w) in enumerate(zip(args, found, wanted, strict=True))
            if w
        ]

    def _checked(self, i: int, x: Any, grad: Any) -> Any:
        """grad in the memory order that the op's shapes promise, and no input itself."""
        if grad is None:
            return torch.zeros_like(x)
        if grad.shape != x.shape or grad.dtype != x.dtype:
            raise RuntimeError(
                f"custom_op {self.name}: gradient {i} is {grad.dtype} "
                f"{list(grad.shape)}, and its argument {x.dtype} {list(x.shape)}"
            )
        return torch.empty_like(x).copy_(grad) if _differs(x, grad) else grad


class _Backward:
    """The backward op of an op, inside of torch.func's transforms."""

    def __init__(self, op: CustomOp) -> None:
        self.name, self._op = f"the gradient of custom_op {op.name}", op._backward_op

    def traced(self, *args: Any) -> tuple:
        return tuple(self._op(*args))

    def keep(self, ctx: Any, args: tuple, outs: tuple) -> None:
        pass

    def differentiate(self, *_: Any) -> tuple:
        raise RuntimeError(f"{self.name} has no derivative")


def _differs(x: Any, grad: Any) -> bool:
    return torch.empty_like(x, device="meta").stride() != grad.stride()


def _kind(argument: Any) -> str:
    """The type of an argument in a schema: Tensor?, float, SymInt[]."""
    text = str(argument.type)
    while found := re.fullmatch(r"(.*)(Optional|List)\[([^][]*)\](.*)", text):
        before, outer, inner, behind = found.groups()
        text = before + inner + ("?" if outer == "Optional" else "[]") + behind
    return text.replace("int", "SymInt")


def custom_op(name: Any = None, *, mutates_args: Iterable[str] = ()) -> Any:
    """Decorator: a function that launches kernels becomes an op of torch.

    name is "library::op"; without one, ``@custom_op`` takes the function's module and name.
    The function has annotations (torch.Tensor, int, float, bool, str, lists and optional
    ones of those), and returns new tensors: none of its arguments, no view of one. What it
    writes to is named in mutates_args.

    >>> import torch
    >>> from tegula.torch import custom_op
    >>> @tegula.jit
    ... def negate_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    ...     i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ...     tl.store(y_ptr + i, -tl.load(x_ptr + i, mask=i < n), mask=i < n)
    >>> @custom_op("documented::negated")
    ... def negated(x: torch.Tensor) -> torch.Tensor:
    ...     y = torch.empty_like(x)
    ...     negate_kernel[(tegula.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
    ...     return y
    >>> f = torch.compile(lambda x: negated(x) + 1, fullgraph=True, backend="eager")
    >>> f(torch.arange(3.0)).tolist()
    [1.0, 0.0, -1.0]
    """
    if callable(name):
        return CustomOp(name, _name_of(name), mutates_args)
    return lambda fn: CustomOp(fn, name or _name_of(fn), mutates_args)


def _name_of(fn: Callable[..., Any]) -> str:
    words = f"{fn.__module__}.{fn.__qualname__}".replace("<locals>.", "")
    library, _, op = words.replace(".", "_").rpartition("_")
    return f"tegula_{library}::{op}" if op else f"tegula_ops::{library}"


# --- Triton's way -------------------------------------------------------------------------
def _library(name: str) -> Any:
    if not compat.is_installed():
        raise RuntimeError(
            f"tegula.torch.{name}: torch.library.{name} compiles kernels by `import "
            "triton`, which is not tegula here. Call tegula.compat.install() before torch "
            "is imported, or use tegula.torch.custom_op, which needs no Triton"
        )
    return getattr(torch.library, name)


def wrap_triton(kernel: Any) -> Any:
    """``torch.library.wrap_triton``, with a reason where it cannot work."""
    return _library("wrap_triton")(kernel)


def triton_op(name: str, fn: Any = None, *, mutates_args: Any) -> Any:
    """``torch.library.triton_op``, with a reason where it cannot work."""
    return _library("triton_op")(name, fn, mutates_args=mutates_args)
