"""``compile(ASTSource(...))``: a variant from types, without a launch.

Triton's form of ``kernel.compile("*fp32:16", "i32", BLOCK=64, target="cuda:sm_90a")``.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from tegula import _core
from tegula import errors as errors
from tegula._core import CompiledKernel as CompiledKernel
from tegula.compat.backends import BaseBackend, GPUTarget
from tegula.compat.backends import Language as Language
from tegula.errors import CompilationError as CompilationError
from tegula.errors import CompileTimeAssertionFailure as CompileTimeAssertionFailure
from tegula.errors import OutOfResources as OutOfResources  # Triton 2 had it here
from tegula.errors import (
    UnsupportedLanguageConstruct as UnsupportedLanguageConstruct,
)

__path__: list[str] = []  # Triton has a package here: see tegula.compat

_DIVISIBLE = "tt.divisibility"


class LazyDict:
    """A dict, part of which is computed when it is asked for.

    ``variant`` is the compiled kernel, where a launch is what it tells of.
    """

    variant: Any = None

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

    signature    {name: "*fp32", "i32", "tensordesc<fp16[64, 64]>", "constexpr", or a tuple
                 of these}
    constexprs   {name, or (position,): value}; (1, 0) is the first element of the tuple
                 that is the second parameter
    attrs        {(position,): [["tt.divisibility", 16]]}, likewise

    >>> @tegula.jit
    ... def fill(x_ptr, value, N: tl.constexpr):
    ...     tl.store(x_ptr + tl.arange(0, N), value)
    >>> types = {"x_ptr": "*fp32", "value": "i32", "N": "constexpr"}
    >>> source = tegula.ASTSource(fill, types, {"N": 64}, {(0,): [["tt.divisibility", 16]]})
    >>> tegula.compile(source, "cpu").name
    'fill'
    """

    ext = "ttir"

    def __init__(
        self,
        fn: Any,
        signature: dict[str, Any],
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

    language = Language.TRITON

    def parse_options(self) -> dict[str, Any]:
        """Options that the source gives: none, they are a launch's."""
        return {}

    def hash(self) -> str:
        types = sorted(self.signature.items())
        text = f"{self.fn.cache_key} {types} {self.constants} {self.attrs}"
        return hashlib.sha256(text.encode()).hexdigest()

    def arguments(self) -> dict[str, Any]:
        """What ``kernel.compile`` takes by keyword."""
        given: dict[str, Any] = {}
        for i, name in enumerate(self.fn.arg_names):
            ty = self.signature.get(name)
            if (i,) in self.constants or (ty is not None and ty != "constexpr"):
                given[name] = self._argument((i,), ty)
        return given

    def make_ir(
        self,
        target: Any,
        options: Any,
        codegen_fns: Any,
        module_map: Any,
        context: Any,
    ) -> Any:
        """A summary of the kernel in the form that torch.compile walks over: what it reads
        and writes. See ``tegula.compat.mlir``; the IR itself is ``compiled.asm["tir"]``.
        """
        from tegula.compat.mlir import module_of

        return module_of(self, compile(self, target, options))

    def _argument(self, path: tuple[int, ...], ty: Any) -> Any:
        if path in self.constants:
            from tegula.language import constexpr

            value = self.constants[path]
            # Inside of the code, also where the kernel does not say tl.constexpr.
            return constexpr(value) if isinstance(value, (int, float, str)) else value
        if isinstance(ty, (tuple, list)):
            parts = [self._argument((*path, i), t) for i, t in enumerate(ty)]
            fields = hasattr(ty, "_fields")
            return type(ty)(*parts) if fields else tuple(parts)
        facts = {a[0]: a[1] for a in self.attrs.get(path, ())}
        by = None if str(ty).startswith("tensordesc") else facts.get(_DIVISIBLE)
        return ty + (f":{by}" if by else "")


def get_cache_key(
    src: ASTSource, backend: BaseBackend, backend_options: Any, env_vars: dict[str, str]
) -> str:
    """What a compile depends on, as one text. Ours is inside of the launch: this is for
    programs that keep a cache of their own."""
    from tegula.runtime.cache import triton_key

    options = getattr(backend_options, "hash", None)
    parts = (
        triton_key(),
        src.hash(),
        backend.hash(),
        options() if callable(options) else str(backend_options),
        str(sorted(env_vars.items())),
    )
    return "-".join(parts)


def _max_shared_mem(device: int = 0) -> int:
    """Bytes of shared memory that a program can have."""
    from tegula.compat import driver

    active: Any = driver.active
    most: int = active.utils.get_device_properties(device)["max_shared_mem"]
    return most


def make_backend(target: GPUTarget) -> BaseBackend:
    """What compiles for a target."""
    if not BaseBackend.supports_target(target):
        raise RuntimeError(f"no backend for {target}: tegula has cuda, emu and cpu")
    return BaseBackend(target)


def _is_run_by_us(caller: FrameType) -> bool:
    """Does the caller launch by ``compiled.run``? torch's Inductor does, but where it
    stores the cubin for a launcher in C++."""
    if caller.f_globals.get("__name__") != "torch._inductor.runtime.triton_heuristics":
        return False
    meta = getattr(caller.f_locals.get("self"), "inductor_meta", None)
    return isinstance(meta, dict) and not meta.get("store_cubin")


def compile(
    src: Any,
    target: GPUTarget | str | None = None,
    options: dict[str, Any] | None = None,
    _env_vars: dict[str, str] | None = None,
) -> CompiledKernel:
    """Compile a kernel for types, an ASTSource, or a file of one of our stages: its name.
    target: a GPUTarget or "cuda:sm_90a"; options: those of a launch, such as num_warps;
    what is none is left out. Without a target, for ``driver.active``'s. The code has the
    kernel's own parameters and no others, so that any launcher may run it: on sm_90 it
    has no tensor maps, unless options says ``{"abi": "tegula"}`` or torch.compile asks,
    which launches by ``compiled.run``.

    >>> @tegula.jit
    ... def double(x_ptr):
    ...     tl.store(x_ptr, tl.load(x_ptr) * 2)
    >>> source = tegula.ASTSource(double, {"x_ptr": "*fp32"})
    >>> compiled = tegula.compile(source, "cuda:sm_80", {"num_warps": 2})
    >>> compiled.metadata.num_warps, "ld.global" in compiled.asm["ptx"]
    (2, True)
    """
    if isinstance(src, (str, os.PathLike)):
        from tegula.compat.ir_source import IRSource

        src = IRSource(src)
    if hasattr(src, "arg_names"):
        name = src.__name__
        raise TypeError(
            f"compile() takes ASTSource({name}, {{'x': '*fp32', ..}}), not a kernel; "
            f"{name}.warmup(.., grid=(1,)) compiles for arguments"
        )
    if target is None:
        from tegula.compat import driver

        active: Any = driver.active
        target = active.get_current_target()
    text = target if isinstance(target, str) else target.text
    given = vars(options) if hasattr(options, "__dict__") else options or {}
    # What is no option is left out: programs hand over all that a tuner chose.
    given = {**given, **src.parse_options()}
    known = {k: v for k, v in given.items() if k in _core._option_names()}
    # Who compiles without a launch often takes the cubin to a launcher of their own.
    if text.startswith("cuda") and not _is_run_by_us(sys._getframe(1)):
        known.setdefault("abi", "plain")
    kernel = src.fn
    while not hasattr(kernel, "compile"):
        kernel = kernel.fn  # a tuner's
    return kernel.compile(**src.arguments(), target=text, **known)


def __getattr__(name: str) -> Any:
    if name == "IRSource":
        from tegula.compat.ir_source import IRSource

        return IRSource
    if name == "driver":
        import importlib

        return importlib.import_module("tegula.compat.driver")
    if name == "code_generator":
        import importlib

        return importlib.import_module("tegula.compat.code_generator")
    if name == "max_shared_mem":
        return _max_shared_mem
    if name == "compiler":  # Triton has a package and a module in it
        return sys.modules[__name__]
    from tegula.compat.later import find

    return find(__name__, name)
