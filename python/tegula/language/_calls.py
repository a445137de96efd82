"""Python functions that a kernel calls while it is compiled: what they are given.

Numbers and strings as constexprs, tensors as objects that stand for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .types import constexpr


class Callee:
    """The function of a tl.constexpr(function), as kernels call it."""

    __tegula_constexpr__ = True

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        self.__name__ = fn.__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        named = {k: self._given(v) for k, v in kwargs.items()}
        return self.fn(*map(self._given, args), **named)

    @staticmethod
    def _given(x: Any) -> Any:
        """Numbers come as constexprs; dtypes as they are: functions ask them is_bf16()."""
        return constexpr(x) if isinstance(x, (int, float, str)) else x


class Placeholder:
    """A tensor, for a function that may only pass it on."""


class StandIn:
    """A tensor, for a function of constants: what is known of it while compiling."""

    _cls: type

    def __init__(self, cls: type, known: dict[str, Any]) -> None:
        self.__dict__.update(known, _cls=cls)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return self._cls

    def _unknown(self, *args: Any) -> Any:
        raise TypeError("its value is known only when the kernel runs")

    __bool__ = __eq__ = __ne__ = __hash__ = _unknown


def call_foreign(fn: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """fn, which a library marked with ``__triton_builtin__``, on what a kernel passes."""

    def given(x: Any) -> Any:
        plain = x is None or isinstance(x, (int, float, str))
        return constexpr(x) if plain else x

    named = {k: given(v) for k, v in kwargs.items()}
    return fn(*map(given, args), **named, _semantic=None)
