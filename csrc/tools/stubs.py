"""Stubs for editors and type checkers: what Python cannot say about our own objects.

``language/_tensor.pyi``  the tensor with its methods: the MEMBER rows of builtins.def, each
                          with signature and docstring of the function of that name
``language/_members.py``  the names of these methods, for ``dir(tl.tensor)``
``_core.pyi``             what the C core exports: names and parameters as the built core
                          has them, types from CORE below; a name without a row, or with
                          other parameters, is an error
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import typing
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

Rows = Callable[[str, str], Iterator[list[str]]]

# --- tensor ----------------------------------------------------------------------------
TENSOR_HEAD = '''\
# Made by csrc/tools/stubs.py from csrc/frontend/builtins.def: make gen.
# ruff: noqa: E501
from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from .types import Operand, PropagateNan, Shape
from .types import block_type as _block_type
from .types import dtype as _dtype
from .types import constexpr, tensor_descriptor_type

class tensor_descriptor:
    """What ``tl.make_tensor_descriptor`` gives, or a host's TensorDescriptor is."""

    shape: Sequence[tensor]
    strides: Sequence[tensor]
    dtype: _dtype
    block_shape: Sequence[int]
    block_type: _block_type
    type: tensor_descriptor_type
    def load(self, offsets: Sequence[Operand]) -> tensor: ...
    def store(self, offsets: Sequence[Operand], value: tensor) -> None: ...
    def gather(self, x_offsets: tensor, y_offset: Operand) -> tensor: ...
    def scatter(self, value: tensor, x_offsets: tensor, y_offset: Operand) -> None: ...
    def atomic_add(self, offsets: Sequence[Operand], value: tensor) -> None: ...
    def atomic_min(self, offsets: Sequence[Operand], value: tensor) -> None: ...
    def atomic_max(self, offsets: Sequence[Operand], value: tensor) -> None: ...
    def atomic_and(self, offsets: Sequence[Operand], value: tensor) -> None: ...
    def atomic_or(self, offsets: Sequence[Operand], value: tensor) -> None: ...
    def atomic_xor(self, offsets: Sequence[Operand], value: tensor) -> None: ...

class tensor:
    """What a kernel computes with: a scalar, or a block of elements of one dtype."""

    @property
    def dtype(self) -> _dtype:
        """The type of an element; a pointer_type for pointers."""
    @property
    def type(self) -> _dtype:
        """The dtype, or for a block a block_type with shape."""
    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, constexpr; () for a scalar."""
    @property
    def numel(self) -> int:
        """How many elements, constexpr."""
    @property
    def T(self) -> tensor:
        """Rows and columns swapped; of two dims."""
    def __getitem__(self, key: Any) -> tensor:
        """``x[:, None]`` inserts a dim of 1."""
    def __bool__(self) -> bool:
        """In the condition of an ``if`` or ``while``: a scalar."""
    def __index__(self) -> int:
        """As a bound of ``range``: an integer scalar."""
    def __int__(self) -> int: ...
    def __len__(self) -> int:
        """The extent of the first dim, constexpr."""
    def __abs__(self) -> tensor: ...
    def __float__(self) -> float: ...
'''
NOT_HASHED = "    __hash__: None  # type: ignore[assignment]\n"
NOT_ITERATED = "    __iter__: None\n"
TWO = "add sub mul truediv floordiv mod lshift rshift and or xor".split()
COMPARE = "eq ne lt le gt ge".split()
ONE = "neg invert".split()


def one_parameter(p: inspect.Parameter) -> str:
    star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
    plain = p.default is None or isinstance(p.default, (bool, int, float, str, tuple))
    default = "" if p.default is p.empty else f" = {p.default!r}" if plain else " = ..."
    kind = "Any" if p.annotation is p.empty else p.annotation
    # Within the class the name is the property's.
    kind = re.sub(r"\bdtype\b", "_dtype", kind)
    return f"{star}{p.name}: {kind}{default}"


def method(name: str, fn: Any) -> str:
    """A function of the language as a method: the first parameter is the tensor."""
    doc = (
        inspect.cleandoc(fn.__doc__ or "").partition("\n\n>>>")[0].partition("\n>>>")[0]
    )
    heads = [head(name, f) for f in typing.get_overloads(fn) or [getattr(fn, "fn", fn)]]
    mark = "    @overload\n" if len(heads) > 1 else ""
    return "".join(f"{mark}{h}:\n" + quoted(doc, " " * 8) for h in heads)


def head(name: str, fn: Any) -> str:
    signature = inspect.signature(fn)
    params, starred = ["self"], False
    for p in list(signature.parameters.values())[1:]:
        if p.kind is p.KEYWORD_ONLY and not starred:
            params.append("*")
        starred = starred or p.kind in (p.VAR_POSITIONAL, p.KEYWORD_ONLY)
        params.append(one_parameter(p))
    result = signature.return_annotation
    result = "Any" if result is signature.empty else result
    return f"    def {name}({', '.join(params)}) -> {result}"


def members(rows: Rows) -> list[str]:
    """Functions of the language that tensors have as methods."""
    path = "csrc/frontend/builtins.def"
    names = {r[0] for r in rows(path, "BUILTIN") if "BI_MEMBER" in r[3]}
    return sorted(names | {r[0] for r in rows(path, "JIT_MEMBER")})


def members_module(rows: Rows) -> str:
    names = textwrap.indent(textwrap.fill(" ".join(members(rows)), 84), "    ")
    return (
        '"""Methods of tensors, by name. Made by csrc/tools/stubs.py: make gen."""\n\n'
        f'MEMBERS = """\n{names}\n""".split()\n'
    )


def tensor_stub(rows: Rows) -> str:
    import tegula.language as tl

    out = TENSOR_HEAD
    for name in TWO:
        for side in ("", "r"):
            out += f"    def __{side}{name}__(self, other: Operand) -> tensor: ...\n"
    for name in COMPARE:
        # object promises bool for == and !=; a block gives a block.
        ignore = "  # type: ignore[override]" if name in ("eq", "ne") else ""
        out += f"    def __{name}__(self, other: Operand) -> tensor: ...{ignore}\n"
    for name in ONE:
        out += f"    def __{name}__(self) -> tensor: ...\n"
    out += NOT_HASHED + NOT_ITERATED
    for name in members(rows):
        fn = getattr(tl, "cast" if name == "to" else name)
        out += method(name, fn)
    return out


# --- _core -----------------------------------------------------------------------------
# What the built core exports, and its types. Parameters of functions are compared with the
# text signatures of C.
CORE_HEAD = """\
# Made by csrc/tools/stubs.py from the built core: make gen.
# ruff: noqa: E501
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, TypeAlias

Sides: TypeAlias = int | Sequence[int]
Grid: TypeAlias = Sides | Callable[[dict[str, Any]], Sides]
"""
CORE = {
    "build": "build: str",
    "llvm": "llvm: str",
    "_debug_below": "(line: int, /) -> bool",
    "_debug_grid": "() -> tuple[int, int, int]",
    "_debug_load": "(kind: str, addresses: bytes, /) -> bytes",
    "_debug_read": "(handle: object, level: int, serial: int, i: int, /) -> tuple[str, tuple[int, ...], bytes]",  # noqa: E501
    "_debug_spec": "(handle: object, level: int, serial: int, /) -> str | None",
    "_debug_step": "(line: int, /) -> bool",
    "_debug_value": "() -> Any",
    "_debug_write": "(handle: object, level: int, serial: int, i: int, data: bytes, /) -> None",  # noqa: E501
    "_record_start": "() -> None",
    "_record_stop": "() -> bytes",
    "_fail_after": "(n: int) -> None",
    "_stop_compiles": "() -> None",
    "_n_edits": "() -> int",
    "_option_names": "() -> list[str]",
    "configure": "(**knobs: Any) -> None",
    "cuda_devices": "() -> list[dict[str, Any]]",
    "_cuda_load_binary": "(name: str, code: bytes, shared: int, device: int, /) -> tuple[int, int, int, int, int]",  # noqa: E501
    "_cuda_unload_binary": "(module: int, /) -> None",
    "_chip": "(sm: int, /) -> dict[str, int]",
    "_chip_blocks": "(sm: int, threads: int, registers: int, shared: int, /) -> int",
    "_cuda_count_clusters": "(function: int, shared: int, num_ctas: int, /) -> int",
    "_cuda_printf_size": "(bytes: int, /) -> None",
    "_cuda_fill_tma": "(address: int, swizzle: int, elem_bytes: int, elem_type: int, block: Sequence[int], shape: Sequence[int], strides: Sequence[int], padding: int, /) -> bytes",  # noqa: E501
    "hash_bytes": "(data: bytes) -> int",
    "build_id": "() -> str",
    "fingerprint": (
        "(args: tuple[Any, ...], kwargs: dict[str, Any], keys: tuple[str, ...], "
        "places: tuple[int, ...]) -> tuple[Any, ...]"
    ),
    "prune_cache": "(dir: str, max_bytes: int) -> int",
    "find_in_wheels": "(name: str) -> str | None",
    "CompiledKernel.__getitem__": "(self, grid: Grid, /) -> Callable[..., Any]",
    "CompiledKernel._answers": "list[tuple[int, int, int]]",
    "CompiledKernel._facts": "dict[str, Any]",
    "CompiledKernel._init_handles": "(self) -> None",
    "CompiledKernel._traffic": "(self) -> dict[str, Any] | None",
    "CompiledKernel._launched": "tuple[int, ...]",
    "CompiledKernel._loosely": "(self, grid: Grid, /) -> Callable[..., Any]",
    "CompiledKernel._params": "list[tuple[int, str, bool]]",
    "CompiledKernel._devices": "list[int]",
    "CompiledKernel._stages": "dict[str, Any]",
    "CompiledKernel.asm": "Mapping[str, Any]",
    "CompiledKernel.function": "int | None",
    "CompiledKernel.hash": "str",
    "CompiledKernel.kernel": "bytes",
    "CompiledKernel.launch_metadata": "Callable[..., Any]",
    "CompiledKernel.metadata": "Any",
    "CompiledKernel.metadata_group": "dict[str, str]",
    "CompiledKernel.module": "int | None",
    "CompiledKernel.packed_metadata": "tuple[int, int, int]",
    "CompiledKernel.run": "Callable[..., None]",
    "CompiledKernel.n_regs": "int",
    "CompiledKernel.n_spills": "int",
    "CompiledKernel.n_max_threads": "int",
    "CompiledKernel.name": "str",
    "CompiledKernel._costs": "str",
    "CompiledKernel.report": "str",
    "CompiledKernel._kernel": "Kernel",
    "CompiledKernel.src": "Any",
    "CompiledKernel.target": "str",
    "CompiledKernel.timings": "dict[str, float]",
    "Kernel.__call__": "(self, /, *args: Any, **kwargs: Any) -> Any",
    "Kernel.__getitem__": "(self, grid: Grid, /) -> Callable[..., CompiledKernel]",
    "Kernel.__init__": "(self, fn: Callable[..., Any], *, do_not_specialize: Sequence[int | str] = ..., do_not_specialize_on_alignment: Sequence[int | str] = ..., debug: bool = ..., interpret: bool = ...) -> None",  # noqa: E501
    "Kernel._forget": "(self) -> None",
    "Kernel._set_source": "(self, text: str, file: str) -> None",
    "Kernel.add_pre_run_hook": "(self, hook: Callable[..., Any]) -> None",
    "Kernel.arg_names": "list[str]",
    "Kernel._source": "str",
    "Kernel.compile": "(self, *signature: Any, target: str | None = ..., **constexprs: Any) -> CompiledKernel",  # noqa: E501
    "Kernel._fn": "Callable[..., Any]",
    "Kernel.fn": "Callable[..., Any]",
    "Kernel.lower": "(self, *signature: Any, target: str | None = ..., **constexprs: Any) -> str",  # noqa: E501
    "Kernel.prepare": "(self, *args: Any, grid: Grid, **kwargs: Any) -> CompiledKernel",
    "Kernel.run": "(self, *args: Any, grid: Grid, warmup: bool = ..., **kwargs: Any) -> CompiledKernel",  # noqa: E501
    "Kernel.variants": "list[CompiledKernel]",
    "Kernel.warmup": "(self, *args: Any, grid: Grid | None = ..., **kwargs: Any) -> CompiledKernel",  # noqa: E501
}
LAUNCH = """\
Sets the grid of a launch: ``kernel[grid](*args, **options)``.

grid is a tuple of one to three ints, or a function that gives one for the dict of all
arguments: ``kernel[lambda meta: (tegula.cdiv(n, meta["BLOCK"]),)](x, n, BLOCK=128)``.
Options: num_warps, num_stages, num_ctas, maxnreg, stream and others.
"""


class Stale(Exception):
    """CORE does not say what the built core has."""


def names_of(text: str) -> list[str]:
    """The parameters of "(self, a: T = .., *args: T) -> R", without self, * and /."""
    found = inspect.signature(eval(f"lambda {bare(text)}: 0")).parameters
    return [n for n in found if n != "self"]


def bare(text: str) -> str:
    tree = ast.parse(f"def f{text}: ...").body[0]
    assert isinstance(tree, ast.FunctionDef)
    args = tree.args
    for a in [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]:
        if a:
            a.annotation = None
    return ast.unparse(args)


def row(path: str, obj: Any, indent: str = "") -> str:
    """The lines of one name, from its row, after a look at the built one."""
    if path not in CORE:
        raise Stale(f"_core.{path} has no row in CORE of csrc/tools/stubs.py")
    text, name = CORE[path], path.rpartition(".")[2]
    if not text.startswith("("):
        line = text if text.startswith(f"{name}:") else f"{name}: {text}"
        doc = inspect.cleandoc(obj.__doc__ or "") if indent else ""
        return f"{indent}{line}\n" + quoted(doc, indent)
    try:
        built = [n for n in inspect.signature(obj).parameters if n != "self"]
    except (TypeError, ValueError):
        built = names_of(text)  # C tells nothing of this one
    if not name.startswith("__") and built != names_of(text):
        raise Stale(f"_core.{path} takes {built}, CORE says {text}")
    doc = inspect.cleandoc(obj.__doc__ or "")
    if name.startswith("__"):
        doc = LAUNCH if name == "__getitem__" else ""
    if not doc:
        return f"{indent}def {name}{text}: ...\n"
    return f"{indent}def {name}{text}:\n" + quoted(doc, indent + "    ")


def quoted(doc: str, indent: str) -> str:
    """A docstring's lines; "" for none. Editors show those of attributes, too."""
    if not doc:
        return ""
    return textwrap.indent(f'"""{doc}{chr(10) * (chr(10) in doc)}"""', indent) + "\n"


def core_stub() -> str:
    from tegula import _core

    values, functions, classes = "", "", ""
    for name, obj in sorted(vars(_core).items()):
        if name.startswith("__"):
            continue
        if isinstance(obj, type):
            base = "(ModuleType)" if issubclass(obj, ModuleType) else ""
            classes += f"\nclass {name}{base}:\n" + quoted(obj.__doc__ or "", "    ")
            for key, value in sorted(vars(obj).items()):
                if key in ("__call__", "__getitem__", "__init__") or key[:2] != "__":
                    classes += row(f"{name}.{key}", value, "    ")
        elif callable(obj):
            functions += row(name, obj)
        else:
            values += row(name, obj)
    return f"{CORE_HEAD}\n{values}\n{functions}{classes}"
