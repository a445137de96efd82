"""``compile(ASTSource(...))``: a variant from types, without a launch.

Triton's form of ``kernel.compile("*fp32:16", "i32", BLOCK=64, target="cuda:sm_90a")``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from tegula._core import CompiledKernel as CompiledKernel
from tegula.backends import BaseBackend, GPUTarget
from tegula.errors import CompilationError as CompilationError
from tegula.errors import CompileTimeAssertionFailure as CompileTimeAssertionFailure
from tegula.errors import (
    UnsupportedLanguageConstruct as UnsupportedLanguageConstruct,
)

__path__: list[str] = []  # Triton has a package here: see tegula.compat

_DIVISIBLE = "tt.divisibility"


class LazyDict:
    """A dict, part of which is computed when it is asked for."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = dict(data)
        self.extras: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []

    def add(self, func: Callable[..., Any], args: tuple[Any, ...]) -> None:
        """func(*args) gives further items."""
        self.extras.append((func, args))

    def get(self) -> dict[str, Any]:
        for func, args in self.extras:
            self.data = self.data | func(*args)
        self.extras.clear()
        return self.data


class ASTSource:
    """A kernel and the types of its arguments.

    signature    {name: "*fp32", "i32", .. or "constexpr"}
    constexprs   {name, or (position,): value}
    attrs        {(position,): [["tt.divisibility", 16]]}
    """

    ext = "ttir"

    def __init__(
        self,
        fn: Any,
        signature: dict[str, str],
        constexprs: dict[Any, Any] | None = None,
        attrs: dict[Any, Any] | None = None,
    ) -> None:
        self.fn = fn
        self.name = fn.__name__
        for name in signature:
            if not isinstance(name, str):
                raise TypeError(f"a signature maps names to types, not {name!r}")
        self.signature = dict(signature)
        self.constants = {
            (fn.arg_names.index(k),) if isinstance(k, str) else k: v
            for k, v in (constexprs or {}).items()
        }
        self.attrs = dict(attrs or {})

    def hash(self) -> str:
        types = sorted(self.signature.items())
        text = f"{self.fn.cache_key} {types} {self.constants} {self.attrs}"
        return hashlib.sha256(text.encode()).hexdigest()

    def arguments(self) -> dict[str, Any]:
        """What ``kernel.compile`` takes by keyword."""
        given: dict[str, Any] = {}
        for i, name in enumerate(self.fn.arg_names):
            if (i,) in self.constants:
                given[name] = self.constants[(i,)]
            elif name in self.signature and self.signature[name] != "constexpr":
                facts = {a[0]: a[1] for a in self.attrs.get((i,), ())}
                by = facts.get(_DIVISIBLE)
                given[name] = self.signature[name] + (f":{by}" if by else "")
        return given


class IRSource:
    """A kernel from a file of IR. Triton's IR is not ours, so there is none to read."""

    def __init__(self, path: str, *_: Any) -> None:
        raise NotImplementedError(
            f"{path}: tegula reads its own tile IR only, with the tirc tool"
        )


def make_backend(target: GPUTarget) -> BaseBackend:
    """What compiles for a target."""
    if not BaseBackend.supports_target(target):
        raise RuntimeError(f"no backend for {target}: tegula has cuda, emu and cpu")
    return BaseBackend(target)


def compile(
    src: ASTSource,
    target: GPUTarget | str | None = None,
    options: dict[str, Any] | None = None,
) -> CompiledKernel:
    """Compile a kernel for types. target: a GPUTarget or "cuda:sm_90a"; options: those of
    a launch, such as num_warps. Without a target, for ``driver.active``'s."""
    if isinstance(src, str):
        IRSource(src)
    if target is None:
        from tegula import driver

        target = driver.active.get_current_target()
    text = target if isinstance(target, str) else target.text
    if hasattr(options, "__dict__"):
        options = vars(options)
    kernel = src.fn
    while not hasattr(kernel, "compile"):
        kernel = kernel.fn  # a tuner's
    return kernel.compile(**src.arguments(), target=text, **(options or {}))
