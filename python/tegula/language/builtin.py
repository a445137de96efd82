"""The mark on names whose body is in C (csrc/frontend/builtins.def)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType, MappingProxyType
from typing import Any, TypeVar

from tegula._core import LanguageModule

F = TypeVar("F", bound=Callable[..., Any])


def builtin(fn: F) -> F:
    """Declare a function of the language: name, signature and documentation.

    The body is never run: kernels are compiled, and outside of one it has no meaning.
    """
    fn.__tegula_builtin__ = fn.__name__  # type: ignore[attr-defined]
    fn.__signature__ = _Signature(fn)  # type: ignore[attr-defined]
    return fn


class _Parameters(dict[str, Any]):
    """Of a stub. Asked by name there is ``_semantic``, which nobody writes and kernels take
    no notice of: torch.compile asks, to learn how its wrappers are to hand it on."""

    def __contains__(self, name: object) -> bool:
        return name == "_semantic" or super().__contains__(name)


class _Signature:
    """Of a stub: made when somebody asks, as inspect is slow to import."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self._fn: Any = fn

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        import inspect

        return inspect.Signature

    def _made(self) -> Any:
        import inspect

        fn = self._fn
        bare: Any = FunctionType(fn.__code__, fn.__globals__, None, fn.__defaults__)
        bare.__kwdefaults__, bare.__annotations__ = (
            fn.__kwdefaults__,
            fn.__annotations__,
        )
        return inspect.signature(bare)

    @property
    def parameters(self) -> Any:
        return MappingProxyType(_Parameters(self._made().parameters))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made(), name)

    def __eq__(self, other: object) -> bool:
        return bool(self._made() == other)

    def __hash__(self) -> int:
        return hash(self._made())

    def __repr__(self) -> str:
        return repr(self._made())

    def __str__(self) -> str:
        return str(self._made())


def _notice(package: str) -> None:
    """Kernels notice from now on when a name of these modules is bound anew."""
    for name, module in list(sys.modules.items()):
        if name == package or name.startswith(package + "."):
            module.__class__ = LanguageModule


def outside() -> Any:
    """What the body of every stub does."""
    debugger = sys.modules.get("tegula.debugger")
    if debugger is not None and debugger.program is not None:  # a kernel is stopped
        from tegula.debug_prompt import call

        stub = sys._getframe(1)
        return call(stub.f_code.co_name, stub.f_locals)
    name = sys._getframe(1).f_code.co_name
    both = ("cdiv", "next_power_of_2")
    raise ValueError(
        f"tegula.language.{name}() was called outside of a kernel: "
        "did you forget @triton.jit (here: @tegula.jit) on the caller?"
        + (f" The host has tegula.{name}()." if name in both else "")
    )
