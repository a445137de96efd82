"""What a function reads of its module, as a hash: for tools with caches of their own.

The compiler does not use this: what its compiles depend on is found while they run, in C.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping
from types import CodeType, ModuleType
from typing import Any

from . import knobs
from ._core import Kernel
from .language import constexpr


class DependenciesFinder(ast.NodeVisitor):
    """Visit the tree of a function; ``ret`` is then a hash of its text, of the kernels and
    helpers it names, and of the constants it reads.

    >>> finder = DependenciesFinder(add.__name__, add.fn.__globals__, {}, add.src)
    >>> finder.visit(add.parse())
    >>> len(finder.ret)
    64
    """

    def __init__(
        self,
        name: str,
        globals: Mapping[str, Any],
        nonlocals: Mapping[str, Any] | None = None,
        src: str = "",
    ) -> None:
        self.name = name
        self.globals = globals
        self.nonlocals = nonlocals or {}
        self.hasher = hashlib.sha256(src.encode())
        self.used_global_vals: dict[tuple[str, int], tuple[Any, Mapping[str, Any]]] = {}
        self._seen: set[str] = set()

    @property
    def ret(self) -> str:
        """The hash, of what was visited so far."""
        return self.hasher.hexdigest()

    def visit_Name(self, node: ast.Name) -> None:
        """One name: a local has no part in the hash."""
        for names in (self.nonlocals, self.globals):
            if node.id in names and node.id not in self._seen:
                self._seen.add(node.id)
                self._take(node.id, names)
                return

    def _take(self, name: str, names: Mapping[str, Any]) -> None:
        value = names[name]
        if isinstance(value, Kernel):
            self.hasher.update(cache_key(value).encode())
        elif isinstance(value, bool | int | float | str) or type(value) is constexpr:
            self.used_global_vals[name, id(names)] = (value, names)
            self.hasher.update(f"{name}={value!r}".encode())


class _Text:
    """The text of a kernel and of all that it names, piece by piece into SHA-256.

    A piece has its length in front, so that no two sequences of pieces look alike.
    Functions of our own language count by name: they change with the package.
    """

    def __init__(self) -> None:
        self.hasher = hashlib.sha256()
        self.seen: set[int] = set()

    def add(self, *pieces: object) -> None:
        for piece in pieces:
            data = str(piece).encode("utf-8", "backslashreplace")
            self.hasher.update(b"%d:%s" % (len(data), data))

    def kernel(self, kernel: Any) -> None:
        self.add(kernel._fn.__name__)
        if id(kernel) in self.seen or _is_of_language(kernel._fn):
            return
        self.seen.add(id(kernel))
        if kernel._fn.__name__ == "<lambda>":  # a line may have several
            self.add(kernel._source)
            self.code(kernel._fn.__code__)
            names = [[name] for name in kernel._fn.__code__.co_names]
        else:
            names = self.tree(kernel.parse().body[0])
        scope = kernel.get_capture_scope()
        for name, *attributes in names:
            if name in scope:
                value = scope[name]
                while attributes and isinstance(value, ModuleType):
                    value = getattr(value, attributes.pop(0), None)
                self.add(name)
                self.value(value)
        for default in kernel._fn.__defaults__ or ():
            self.value(default)
        for name, default in (kernel._fn.__kwdefaults__ or {}).items():
            self.add(name)
            self.value(default)

    def tree(self, function: Any) -> list[list[str]]:
        """Without positions, decorators and docstring: the names from outside in it."""
        function.decorator_list = []
        if ast.get_docstring(function, clean=False) is not None:
            del function.body[0]
        self.add(ast.dump(function))
        nodes = list(ast.walk(function))
        local = {n.arg for n in nodes if isinstance(n, ast.arg)}
        local |= {
            n.id
            for n in nodes
            if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
        }
        chains = (_chain(n) for n in nodes)
        return [c for c in chains if c and c[0] not in local]

    def code(self, code: CodeType) -> None:
        self.add(code.co_code, code.co_names, code.co_varnames)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self.code(constant)
            else:
                self.add(repr(constant))

    def methods(self, cls: type) -> None:
        """The fields of a tuple or an aggregate, and its methods: they may be inlined."""
        self.add(cls.__qualname__, getattr(cls, "_fields", ()))
        for default in getattr(cls, "_field_defaults", {}).values():
            self.value(default)
        for base in cls.__mro__:
            if base not in (tuple, object):
                for name, method in vars(base).items():
                    method = getattr(method, "__func__", method)
                    if callable(method) or type(method) is constexpr:
                        self.add(name)
                        self.value(method)

    def value(self, value: Any) -> None:
        self.add(type(value).__name__)
        if type(value) is constexpr:
            self.value(value.value)
        elif isinstance(value, tuple):
            self.add(len(value))
            for v in value:
                self.value(v)
        elif isinstance(value, Kernel):
            self.kernel(value)
        elif isinstance(value, ModuleType) or hasattr(value, "__tegula_builtin__"):
            self.add(value.__name__)
        elif isinstance(value, type) and hasattr(value, "_fields"):
            self.methods(value)
        else:
            function = getattr(value, "fn", value)
            if isinstance(code := getattr(function, "__code__", None), CodeType):
                self.code(code)
                for cell in function.__closure__ or ():  # of a decorator's wrapper
                    inner = getattr(cell, "cell_contents", None)
                    if isinstance(c := getattr(inner, "__code__", None), CodeType):
                        self.code(c)
            else:
                self.add(repr(value))


def _is_of_language(fn: Any) -> bool:
    return str(fn.__module__).startswith("tegula.language")


def _chain(node: ast.AST) -> list[str]:
    """The names of ``a.b.c``, and of ``a`` alone; none of other expressions."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute) and (of := _chain(node.value)):
        return [*of, node.attr]
    return []


def cache_key(kernel: Kernel) -> str:
    """A name for what a kernel's text says, for tools that keep something of their own.

    Into it go the syntax tree without positions, docstring and decorators, the values of
    what the kernel names from outside, its defaults, and the same of each kernel among
    those. A value whose repr holds an address makes a new name in each process.
    """
    text = _Text()
    text.add(knobs.language.fp32_default, knobs.compilation.allow_non_constexpr_globals)
    text.kernel(kernel)
    return text.hasher.hexdigest()
