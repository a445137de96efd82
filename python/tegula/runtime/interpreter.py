"""``InterpretedFunction``: what Triton calls a kernel that its interpreter runs.

Here such a kernel is a JITFunction as any other, which runs in the interpreter of tile IR.
``isinstance`` tells which they are.
"""

from __future__ import annotations

from typing import Any

from tegula import knobs
from tegula.errors import InterpreterError as InterpreterError
from tegula.jit import JITFunction


class _Meta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        if not isinstance(instance, JITFunction):
            return False
        return instance.interpret or bool(knobs.runtime.interpret)


class InterpretedFunction(metaclass=_Meta):
    """A kernel of ``@jit(interpret=True)``, or any under ``TEGULA_INTERPRET=1``."""

    def __new__(cls, fn: Any, **options: Any) -> Any:
        return JITFunction(fn, interpret=True, **options)
