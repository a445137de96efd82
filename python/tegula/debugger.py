"""Kernels in the interpreter, seen from Python: ``breakpoint()`` and ``print()``.

A program that comes to one of them calls ``act`` with the values in sight. They become
NumPy arrays, scalars NumPy scalars; bfloat16 and float8, which NumPy lacks, are float32,
and pointers are addresses. For a breakpoint each function from the kernel inwards gets a
frame of Python's own, with its file, line and variables, so that pdb's ``where``, ``up``,
``p x`` work as anywhere. The arrays are copies: what a debugger writes into them is not
seen by the kernel.

Stepping (``n``, ``s``) does not go through the kernel line by line: pdb follows frames of
Python, and a program has some only while it is stopped; what runs is tile IR, op by op, in
C. ``c`` goes on to the next ``breakpoint()``, which may stand under an ``if``.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Callable
from typing import Any

Leaf = tuple[str, tuple[int, ...], bytes]  # type, shape, elements in memory

DTYPES = {
    "i1": "?",
    **{f"{k}{n}": f"<{k}{n // 8}" for k in "iu" for n in (8, 16, 32, 64)},
}
DTYPES |= {f"f{n}": f"<f{n // 8}" for n in (16, 32, 64)}
NEXT = "__tegula_next__"

program: tuple[int, int, int] | None = None
"""Which program of the grid is stopped, for those who ask in a debugger."""


class Word(str):
    """What is no tensor and no constant, in words."""

    def __repr__(self) -> str:
        return f"<{self}>"


def _array(leaf: Leaf) -> Any:
    import numpy as np

    dtype, shape, data = leaf
    flat = np.frombuffer(data, DTYPES[dtype]).copy()
    return flat.reshape(shape) if shape else flat[0]


def _value(spec: Any, leaves: list[Any]) -> Any:
    kind, what = spec
    if kind == "v":
        return leaves[what]
    if kind == "t":
        return tuple(_value(s, leaves) for s in what)
    return Word(what) if kind == "n" else what


def _globals(file: str, fallback: dict[str, Any]) -> dict[str, Any]:
    """Those of the module that file is."""
    if fallback.get("__file__") == file:
        return dict(fallback)
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == file:
            return dict(vars(module))
    return dict(fallback)


def _frame(
    name: str, file: str, line: int, names: dict[str, Any], local: dict[str, Any]
) -> Callable[[], Any]:
    """A call of it runs in a frame with that name, place and variables. What it does is to
    call NEXT, or the debugger."""
    call = "breakpoint" if NEXT not in names else NEXT
    tree = ast.parse(f"{call}()", file, "exec")
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            node.lineno = node.end_lineno = line  # type: ignore[attr-defined]
    code = compile(tree, file, "exec", dont_inherit=True)
    code = code.replace(co_name=name, co_qualname=name)
    return functools.partial(exec, code, names, local)


def act(
    kernel: Any, text: str, values: list[Leaf], at: tuple[int, int, int]
) -> Callable[[], Any] | None:
    """What the interpreter is to call: a debugger in the frames of the kernel; or None."""
    global program
    kind, _, said = text.partition("\n")
    leaves = [_array(v) for v in values]
    if kind == "print":
        import numpy as np

        with np.printoptions(threshold=sys.maxsize):
            print(*(_value(s, leaves) for s in ast.literal_eval(said)))
        return None
    program = at
    inner: Callable[[], Any] | None = None
    own = kernel.fn.__globals__
    for name, file, line, specs in reversed(ast.literal_eval(said)):
        names = _globals(file, own)
        if inner is not None:
            names[NEXT] = inner
        local = {n: _value(s, leaves) for n, s in specs.items()}
        inner = _frame(name, file, line, names, local)
    return inner
