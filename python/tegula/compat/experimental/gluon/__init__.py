"""``triton.experimental.gluon``: importable, since libraries import it beside ``triton``
whether or not they will use it, and refusing when one of its kernels is to run.

Gluon is another language: its kernels state the layouts, copies and barriers of a certain
GPU, which tegula's compiler chooses itself.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NoReturn

from tegula.constexprs import constexpr_function as constexpr_function

from . import language as language

__all__ = ["GluonKernel", "constexpr_function", "jit", "language"]


class GluonKernel:
    """A function under ``@gluon.jit``: it has its name and its text, but does not run."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        functools.update_wrapper(self, fn)
        self.fn = fn
        self.arg_names = list(inspect.signature(fn).parameters)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(
            f"{self.fn.__qualname__} is written in Gluon: it states a GPU's layouts and "
            "copies itself. tegula compiles kernels under @triton.jit only, and chooses "
            "those; see whether the library has one, as it must for older GPUs"
        )

    __call__ = __getitem__ = run = warmup = compile = _refuse

    def __repr__(self) -> str:
        return f"<Gluon kernel {self.fn.__qualname__}: not for tegula>"


def jit(fn: Callable[..., Any] | None = None, **_options: Any) -> Any:
    """``@gluon.jit``: the decorated function becomes a GluonKernel."""
    return GluonKernel if fn is None else GluonKernel(fn)
