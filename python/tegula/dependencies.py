"""What a function reads of its module, as a hash: for tools with caches of their own.

The compiler does not use this: what its compiles depend on is found while they run, in C.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping
from typing import Any

from ._core import Kernel
from .language.types import constexpr


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
            self.hasher.update(value.cache_key.encode())
        elif isinstance(value, bool | int | float | str) or type(value) is constexpr:
            self.used_global_vals[name, id(names)] = (value, names)
            self.hasher.update(f"{name}={value!r}".encode())
