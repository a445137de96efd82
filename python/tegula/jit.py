"""``@jit``: a Python function becomes a kernel.

The work is done by ``_core.Kernel``. What stands here is the decorator and those
attributes of a kernel that are looked at by people and libraries, never by a launch.
"""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable, Iterable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from tegula import _core
from tegula._core import Kernel

if TYPE_CHECKING:  # they take a third of our import; only inquiries need them
    import inspect

    from tegula._core import CompiledKernel, Grid
    from tegula.signatures import KernelParam

R = TypeVar("R")

# Other threads may compile: those of ptxas end, with the files they have.
atexit.register(_core._stop_compiles)


class _Wrapped:
    """``__wrapped__`` of what has an fn; its class has none, for inspect would take it."""

    def __get__(self, obj: Any, cls: type | None = None) -> Any:
        if obj is None:
            raise AttributeError("__wrapped__")
        return obj.fn  # so that inspect, and ?? in IPython, find the kernel's source


# What kernels of other packages have under these names.
_OF_OTHERS = {
    **dict.fromkeys(
        ("forall", "launch", "configure"),
        "k[(cdiv(n, BLOCK),)](..) launches a program for each block",
    ),
    **dict.fromkeys(
        ("asm", "ptx", "n_regs", "n_spills", "report", "inspect_asm", "inspect_llvm"),
        "a launch, k[grid](..), and k.compile(..) return the compiled kernel, which has "
        "asm, n_regs, n_spills and report",
    ),
    "py_func": "k.fn is the Python function",
    "apply": "a gradient is made by tegula.torch.custom_op, or torch.autograd.Function",
}


class KernelInterface:
    """What can be launched with ``kernel[grid](...)``: autotuners and heuristics.

    A class derived from this one has ``run(*args, grid, warmup, **kwargs)``; the rest
    follows. ``fn`` is what it wraps, down to the kernel.

    >>> @tegula.jit
    ... def fill(x_ptr, value):
    ...     tl.store(x_ptr, value)
    >>> class Filler(tegula.KernelInterface):
    ...     fn = fill
    ...     def run(self, x, grid, warmup):
    ...         return self.fn.run(x, 7, grid=grid, warmup=warmup)
    >>> x = np.zeros(1, np.float32)
    >>> done = Filler()[(1,)](x)
    >>> x.tolist()
    [7.0]
    """

    fn: Any

    __wrapped__ = _Wrapped()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({getattr(self, 'fn', None)!r})"

    def run(self, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        raise NotImplementedError

    def __getitem__(self, grid: Grid) -> Callable[..., CompiledKernel]:
        """Sets the grid of a launch: ``kernel[grid](*args, **options)``.

        grid is a tuple of one to three ints, or a function that gives one for the dict of
        all arguments, those a config chose among them.
        """
        return partial(self.run, grid=grid, warmup=False)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            more = f": {_OF_OTHERS[name]}" if name in _OF_OTHERS else ""
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}{more}",
                name=name,
                obj=self,
            )

    # Anything is a grid, so `x in kernel` and `list(kernel)` would never end.
    __iter__ = None

    def warmup(self, *args: Any, grid: Any = None, **kwargs: Any) -> Any:
        return self.run(*args, grid=grid, warmup=True, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = getattr(self.fn, "__name__", "kernel")
        raise RuntimeError(
            f"{name} is a kernel and cannot be called like a function: "
            f"write {name}[grid](...)"
        )


class JITFunction(Kernel, KernelInterface, Generic[R]):
    """A kernel: launch it with ``kernel[grid](...)``, or call it from another kernel.

    >>> @tegula.jit
    ... def double(x_ptr, N: tl.constexpr):
    ...     i = tl.arange(0, N)
    ...     tl.store(x_ptr + i, tl.load(x_ptr + i) * 2)
    >>> double.arg_names, double.constexprs
    (['x_ptr', 'N'], [1])
    """

    # To type checkers R is what it returns to another kernel.

    if TYPE_CHECKING:

        def __call__(self, *args: Any, **kwargs: Any) -> R: ...

    __name__: str
    __qualname__: str

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """``kernel[grid](..)`` is a call of ``run`` where a class has one of its own."""
        super().__init_subclass__(**kwargs)
        if "run" in cls.__dict__ and "__getitem__" not in cls.__dict__:
            cls.__getitem__ = KernelInterface.__getitem__  # type: ignore[method-assign,assignment]

    def __init__(
        self,
        fn: Callable[..., Any],
        version: int | None = None,
        do_not_specialize: Iterable[int | str] | None = None,
        do_not_specialize_on_alignment: Iterable[int | str] | None = None,
        debug: bool | None = None,
        noinline: bool | None = None,
        interpret: bool | None = None,
        repr: Callable[[Any], str] | None = None,
        launch_metadata: Callable[..., Any] | None = None,
    ) -> None:
        self.version = version
        self.do_not_specialize = list(do_not_specialize or ())
        self.do_not_specialize_on_alignment = list(do_not_specialize_on_alignment or ())
        self.debug = debug
        self.noinline = noinline
        self.interpret = bool(interpret)
        self.launch_metadata = launch_metadata
        self.pre_run_hooks: list[Callable[..., Any]] = []
        self._repr = repr
        self._new_src: str | None = None
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(self, name, getattr(fn, name))
        super().__init__(
            fn,
            do_not_specialize=self.do_not_specialize,
            do_not_specialize_on_alignment=self.do_not_specialize_on_alignment,
            debug=bool(debug),
            interpret=bool(interpret),
        )

    def _names(self, chosen: list[int | str], num: int) -> bool:
        names = self.arg_names  # without the name of *args
        return num in chosen or (num < len(names) and names[num] in chosen)

    # --- what the function is ---------------------------------------------------------
    @property
    def __globals__(self) -> dict[str, Any]:
        return self._fn.__globals__

    @property
    def module(self) -> str:
        return self.__module__

    @property
    def signature(self) -> inspect.Signature:
        import inspect

        return inspect.signature(self._fn)

    @property
    def params(self) -> list[KernelParam]:
        from tegula.signatures import KernelParam

        params = self.signature.parameters.values()
        return [
            KernelParam(
                i,
                p,
                self._names(self.do_not_specialize, i),
                self._names(self.do_not_specialize_on_alignment, i),
            )
            for i, p in enumerate(params)
        ]

    @property
    def constexprs(self) -> list[int]:
        """Positions of the parameters that are constants of the compile."""
        return [p.num for p in self.params if p.is_constexpr]

    # Assigned to by libraries that make kernels out of kernels, so no properties.
    @cached_property
    def raw_src(self) -> list[str]:
        """The lines as written, decorators included."""
        if self._new_src is not None:
            import inspect

            return inspect.getsourcelines(self._fn)[0]
        return [line + "\n" for line in self._source.rstrip().split("\n")]

    @cached_property
    def starting_line_number(self) -> int:
        return self._fn.__code__.co_firstlineno

    @cached_property
    def def_file_line_number(self) -> int:
        """The line of ``def``, behind the decorators."""
        return self.starting_line_number + self._def_line()

    @cached_property
    def def_file_col_number(self) -> int:
        line = self.raw_src[self._def_line()]
        return len(line) - len(line.lstrip())

    def _def_line(self) -> int:
        starts = ("def ", "async ")
        return next(
            i for i, s in enumerate(self.raw_src) if s.lstrip().startswith(starts)
        )

    @property
    def src(self) -> str:
        """The text from ``def`` on, without its indentation."""
        if self._new_src is not None:
            return self._new_src
        import textwrap

        text = textwrap.dedent(self._source.rstrip() + "\n")
        lines = text.splitlines(keepends=True)
        first = next(i for i, s in enumerate(lines) if s.startswith(("def ", "async ")))
        return "".join(lines[first:])

    def _unsafe_update_src(self, new_src: str) -> None:
        """Compile this text from now on; the parameters stay as they are.

        Ahead of the first launch only: what is compiled would not follow.
        """
        import linecache

        # Messages show lines of the new text: it is a file of its own.
        file = f"<{self.__name__} as updated, {id(self):#x}>"
        self._set_source(new_src, file)
        lines = new_src.splitlines(keepends=True)
        linecache.cache[file] = (len(new_src), None, lines, file)
        self._new_src = new_src

    def parse(self) -> Any:
        """The syntax tree of ``src``: an ast.Module with one function."""
        import ast

        return ast.parse(self.src)

    @property
    def cache_key(self) -> str:
        """A name for the kernel's source and all that it uses, 64 hexadecimal digits."""
        from tegula.dependencies import cache_key

        return cache_key(self)

    @property
    def hash(self) -> str:
        return self.cache_key

    @hash.setter
    def hash(self, value: None) -> None:
        """Programs that change a kernel forget its hash with None; ours is never kept."""
        if value is not None:
            raise AttributeError("the hash of a kernel is computed: None forgets it")

    def repr(self, specialization: Any = None) -> str:
        """The name of a variant; ``@jit(repr=...)`` chooses it."""
        return self._repr(specialization) if self._repr else get_full_name(self)

    # Triton's are set by a subclass that is a kernel of one variant; ours has none.
    kernel = None

    @property
    def type(self) -> Any:
        from tegula.language import core

        return core.constexpr_type(self)

    def is_gluon(self) -> bool:
        return False

    def get_capture_scope(self) -> dict[str, Any]:
        """The names from outside that the function sees: globals and closure."""
        cells = self._fn.__closure__ or ()
        outer = zip(self._fn.__code__.co_freevars, cells, strict=True)
        captured = {k: c.cell_contents for k, c in outer if _is_filled(c)}
        return self.__globals__ | captured

    # --- variants ----------------------------------------------------------------------
    @property
    def used_global_vals(self) -> dict[tuple[str, int], tuple[Any, dict[str, Any]]]:
        """The constants that ``src`` reads from outside: (name, id(its dict)) to the value
        and the dict. Functions, modules and types are not among them."""
        import ast

        from tegula.language import constexpr

        local = set(self.arg_names)
        tree = self.parse()
        names = [n for n in ast.walk(tree) if isinstance(n, ast.Name)]
        local |= {n.id for n in names if isinstance(n.ctx, ast.Store)}
        closure = dict(
            zip(self._fn.__code__.co_freevars, self._fn.__closure__ or (), strict=False)
        )
        found: dict[tuple[str, int], tuple[Any, dict[str, Any]]] = {}
        outside = {k: c.cell_contents for k, c in closure.items() if _is_filled(c)}
        for name in (n.id for n in names if n.id not in local):
            where = outside if name in outside else self.__globals__
            value = where.get(name)
            is_constant = isinstance(value, constexpr) or not (
                isinstance(value, type(ast)) or callable(value)
            )
            if name in where and is_constant:
                found[name, id(where)] = (value, where)
        return found

    @property
    def device_caches(self) -> dict[Any, tuple[dict[str, Any], dict[str, Any]]]:
        """By device ("cpu", or the number of a GPU; 0 is the only device of a machine
        without one): a dict of the variants by their hash, and an empty one. To look at;
        ``clear()`` of any of them makes the kernel forget all of its variants."""
        from tegula.compiled import DeviceCaches

        return DeviceCaches(self)

    def create_binder(self) -> Callable[..., Any]:
        """binder(*args, **kwargs) -> (arguments by name, specialisation, options)."""
        from tegula.signatures import signature_text

        def bind(*args: Any, **kwargs: Any) -> Any:
            options = {k: v for k, v in kwargs.items() if k not in self.arg_names}
            named = {k: v for k, v in kwargs.items() if k in self.arg_names}
            bound = self.signature.bind(*args, **named)
            bound.apply_defaults()
            types = [
                ("constexpr", x) if p.is_constexpr else (signature_text(x, True), None)
                for p, x in zip(self.params, bound.arguments.values(), strict=True)
            ]
            return dict(bound.arguments), types, options

        return bind

    def preload(self, specialization_data: str) -> CompiledKernel:
        """Compile what ``jit_cache_hook`` was told of in another process."""
        import json

        data = json.loads(specialization_data)
        if data["name"] != self.__qualname__:
            raise RuntimeError(
                f"Specialization data is for {data['name']}, not {self.__qualname__}"
            )
        given = {k: _untuple(v) for k, v in (data["types"] | data["constants"]).items()}
        return self.compile(**given, target=data["target"], **data["options"])

    def warmup(
        self, *args: Any, grid: Grid | None = None, **kwargs: Any
    ) -> CompiledKernel:
        """Compile what ``kernel[grid](...)`` would run, and do not run it; dtypes of torch
        may stand for tensors. In an ``AsyncCompileMode`` a FutureKernel comes back."""
        module = sys.modules.get("tegula.compat.async_compile")
        mode = module.active.get() if module else None
        if mode is None:
            return super().warmup(*args, grid=grid, **kwargs)
        compile = super().warmup
        _, types, options = self.create_binder()(*args, **kwargs)
        key = repr((id(self), types, sorted(options.items())))
        future: Any = mode.submit(key, lambda: compile(*args, grid=grid, **kwargs))
        return future

    # --- hooks -------------------------------------------------------------------------
    def add_pre_run_hook(self, hook: Callable[..., Any]) -> None:
        """hook(*args, **kwargs) is called before each launch."""
        super().add_pre_run_hook(hook)
        self.pre_run_hooks.append(hook)

    def __repr__(self) -> str:
        return f"JITFunction({self.__module__}:{self.__qualname__})"

    def __reduce__(self) -> str:
        # Like a function: pickled by its name, and its own copy.
        return self.__qualname__


def _untuple(x: Any) -> Any:
    """JSON's lists are tuples, {"constexpr": v} is a constant, {"dtype": s} a dtype."""
    if isinstance(x, dict) and x.keys() == {"dtype"}:
        from tegula.language import dtype

        return dtype(x["dtype"])
    if isinstance(x, dict) and x.keys() == {"constexpr"}:
        from tegula.language import constexpr

        return constexpr(_untuple(x["constexpr"]))
    return tuple(map(_untuple, x)) if isinstance(x, list) else x


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def get_full_name(fn: Any) -> str:
    """Of a function or kernel: with its module."""
    return f"{fn.__module__}.{fn.__qualname__}"


def get_jit_fn_file_line(fn: Any) -> tuple[str, int]:
    """Where a kernel, or what is inside of a tuner, is defined: file, and line of def."""
    while not isinstance(fn, JITFunction):
        fn = fn.fn
    return fn.fn.__code__.co_filename, fn.def_file_line_number


def get_device_key() -> str:
    """The machine that kernels run on now: "cpu:0", "cuda:1"."""
    from tegula.compat import driver

    active: Any = driver.active
    return f"{active.get_current_target().backend}:{active.get_current_device()}"


@overload
def jit(
    fn: Callable[..., R],
    *,
    version: int | None = None,
    repr: Callable[[Any], str] | None = None,
    launch_metadata: Callable[..., Any] | None = None,
    do_not_specialize: Iterable[int | str] | None = None,
    do_not_specialize_on_alignment: Iterable[int | str] | None = None,
    debug: bool | None = None,
    noinline: bool | None = None,
    interpret: bool | None = None,
) -> JITFunction[R]: ...
@overload
def jit(
    *,
    version: int | None = None,
    repr: Callable[[Any], str] | None = None,
    launch_metadata: Callable[..., Any] | None = None,
    do_not_specialize: Iterable[int | str] | None = None,
    do_not_specialize_on_alignment: Iterable[int | str] | None = None,
    debug: bool | None = None,
    noinline: bool | None = None,
    interpret: bool | None = None,
) -> Callable[[Callable[..., R]], JITFunction[R]]: ...
def jit(
    fn: Callable[..., Any] | None = None,
    *,
    version: int | None = None,
    repr: Callable[[Any], str] | None = None,
    launch_metadata: Callable[..., Any] | None = None,
    do_not_specialize: Iterable[int | str] | None = None,
    do_not_specialize_on_alignment: Iterable[int | str] | None = None,
    debug: bool | None = None,
    noinline: bool | None = None,
    interpret: bool | None = None,
    **others: Any,
) -> Any:
    """Compile a function written in ``tegula.language``.

    do_not_specialize               parameters (names or positions) whose value never
                                    makes a new variant
    do_not_specialize_on_alignment  the same for their divisibility alone
    debug                           device_assert and overflow checks are live; debug= of a
                                    launch stands over it
    noinline                        accepted for Triton's sake; we inline
    interpret                       runs in the reference interpreter, program by program:
                                    ``breakpoint()`` and ``print(x)`` show whole blocks
    repr                            repr(specialization) gives the name of the variant

    The kernel runs as ``kernel[grid](*args, **options)``: grid is a tuple of up to three
    ints, or a function that gives one for the dict of all parameters. Options are
    num_warps (4), num_stages (3), num_ctas (1), maxnreg and others.

    Types:  tensors of any framework with DLPack or ``data_ptr``; ints, floats, bools;
            constexpr parameters take any constant.
    Cost:   one compile for each set of types and constants; later launches look it up.
    Errors: CompileError with the kernel's line; TypeError for arguments that do not fit.

    >>> @tegula.jit
    ... def add_one(x_ptr, n, BLOCK: tl.constexpr):
    ...     i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ...     x = tl.load(x_ptr + i, mask=i < n)
    ...     tl.store(x_ptr + i, x + 1, mask=i < n)
    >>> x = np.zeros(5, np.float32)
    >>> done = add_one[(tegula.cdiv(5, 4),)](x, 5, BLOCK=4)
    >>> x.tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """

    for name in others:
        from tegula.configs import did_you_mean

        near = did_you_mean(name, jit.__kwdefaults__ or ())
        raise TypeError(
            f"jit() takes no {name!r}"
            + (
                near
                or ": options are given at the launch, k[grid](.., num_warps=4), or by "
                "a Config of @autotune"
            )
        )

    def make(f: Callable[..., Any]) -> JITFunction[Any]:
        if isinstance(f, JITFunction):
            return f
        if isinstance(f, (staticmethod, classmethod)):
            raise TypeError("@jit stands below @staticmethod, next to the function")
        if not hasattr(f, "__code__"):
            text = f"@jit needs a Python function, not {f!r}"
            if isinstance(f, str):  # Numba's signatures
                text += "; types are those of a launch's arguments"
            if isinstance(f, KernelInterface):
                text += ": @jit stands below @autotune and @heuristics"
            raise TypeError(text)
        if hasattr(f, "__wrapped__"):
            inner = getattr(f.__code__, "co_qualname", f.__code__.co_name)
            raise TypeError(
                f"@jit stands next to the function, below the decorator whose "
                f"{inner}() is in the place of {f.__name__}()"
            )
        return JITFunction(
            f,
            version=version,
            do_not_specialize=do_not_specialize,
            do_not_specialize_on_alignment=do_not_specialize_on_alignment,
            debug=debug,
            noinline=noinline,
            interpret=interpret,
            repr=repr,
            launch_metadata=launch_metadata,
        )

    return make if fn is None else make(fn)


# Triton defines these beside JITFunction, and libraries import them from there.
_ELSEWHERE = {
    "ConstexprFunction": "constexprs",
    "DependenciesFinder": "dependencies",
    "BaseBackend": "compat.backends",
    "JITCallable": "_core",
    "JitFunctionInfo": "compat.hooks",
    "KernelParam": "signatures",
    "find_paths_if": "compat.utils",
    "get_cache_key": "compat.compiler",
    "get_iterable_path": "compat.utils",
    "is_namedtuple": "compat.utils",
    "mangle_type": "signatures",
    "native_specialize_impl": "signatures",
    "MockTensor": "tensors",
    "TensorWrapper": "tensors",
    "constexpr_function": "constexprs",
    "reinterpret": "tensors",
    "serialize_specialization_data": "compat.hooks",
    "type_canonicalisation_dict": "signatures",
}


def __getattr__(name: str) -> Any:
    import importlib

    if name == "driver":
        return importlib.import_module("tegula.compat.driver")
    if name in _ELSEWHERE:
        module = importlib.import_module(f"tegula.{_ELSEWHERE[name]}")
        return getattr(module, "Kernel" if name == "JITCallable" else name)
    from tegula.compat.later import find

    return find(__name__, name)
