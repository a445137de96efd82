"""The mark on names whose body is in C (csrc/frontend/builtins.def)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def builtin(fn: F) -> F:
    """Declare a function of the language: name, signature and documentation.

    The body is never run: kernels are compiled, and outside of one it has no meaning.
    """
    fn.__tegula_builtin__ = fn.__name__  # type: ignore[attr-defined]
    return fn


def outside() -> Any:
    """What the body of every stub does."""
    debugger = sys.modules.get("tegula.debugger")
    if debugger is not None and debugger.program is not None:  # a kernel is stopped
        from tegula.debug_prompt import call

        stub = sys._getframe(1)
        return call(stub.f_code.co_name, stub.f_locals)
    raise ValueError(
        "a function of tegula.language was called outside of a kernel: "
        "did you forget @triton.jit (here: @tegula.jit) on the caller?"
    )
