"""Kernels in the interpreter, as Python's debuggers see them.

The interpreter runs tile IR, in C; a debugger follows frames of Python. So each function of
the user's that runs, from the kernel inwards, gets a frame of Python's own while somebody
looks on. Its code is a shadow of the function: it has its name, file and lines, and what
it does at a line is to let the interpreter run to the next one::

    def kernel():
        step(0)                            # to the first line
        while True:                        # no line of the source: nothing is traced here
            if below(12):
                if step(11): return value()    # line 11: runs it; true: the function ended
            else:
                if step(12): return value()    # line 12

A helper that a line calls is the shadow of that helper, called by ``step``. All frames are
real, so whatever follows Python follows kernels: pdb, IPython's, sys.settrace, VS Code.
The other half is csrc/runtime/stepping.c.

``frame.f_locals`` of a shadow is a Locals: a mapping that reads the interpreter's values
when they are asked for, and writes there what is assigned.
"""

from __future__ import annotations

import ast
import functools
import linecache
import sys
import textwrap
import types
import warnings
from collections.abc import Iterator, MutableMapping
from typing import Any

from tegula import _core
from tegula.debug_values import Leaf, Word, show, to_bytes, value_of

program: tuple[int, int, int] | None = None
"""Which program of the grid is stopped, for those who ask in a debugger."""

# ---- variables -----------------------------------------------------------------------


@functools.lru_cache(maxsize=512)
def _specs(text: str) -> Any:
    """What a mark says: csrc/frontend/builtins/builtins_stop.c."""
    return ast.literal_eval(text)


class Locals(MutableMapping[str, Any]):
    """The variables of one frame. Values are read when asked for, and are the same objects
    until the kernel goes on; then what was changed in an array is written back. A name
    that the kernel does not have is the debugger's own."""

    def __init__(self, handle: Any, level: int, serial: int, free: dict[str, Any]):
        self._at = (handle, level, serial)
        self._own: dict[str, Any] = {}
        self._free = free
        self._seen: dict[int, tuple[Any, Leaf]] = {}

    def _names(self) -> dict[str, Any]:
        text = _core._debug_spec(*self._at)
        return _specs(text) if text is not None else {}

    def _leaf(self, i: int) -> Any:
        if i not in self._seen:
            leaf = _core._debug_read(*self._at, i)
            self._seen[i] = (show(leaf), leaf)
        return self._seen[i][0]

    def __getitem__(self, name: str) -> Any:
        if name.endswith(" "):
            return Argument(self, name[:-1])
        if name in self._own:
            return self._own[name]
        names = self._names()
        if name in names:
            return value_of(names[name], self._leaf)
        return self._free[name]

    def __setitem__(self, name: str, value: Any) -> None:
        if name.endswith(" "):
            return
        spec = self._names().get(name)
        if spec is None:
            self._own[name] = value
        elif spec[0] == "v":
            leaf = _core._debug_read(*self._at, spec[1])
            _core._debug_write(*self._at, spec[1], to_bytes(leaf, value))
            self._seen.pop(spec[1], None)
        else:
            what = "a constant" if spec[0] in "cx" else "no tensor"
            raise TypeError(
                f"{name} cannot be assigned: it is {what} that this variant of the "
                "kernel was compiled for"
            )

    def __delitem__(self, name: str) -> None:
        if name.endswith(" "):
            return
        if name not in self._own:
            raise TypeError(f"{name} is a variable of a kernel: it cannot be deleted")
        del self._own[name]

    def __iter__(self) -> Iterator[str]:
        yield from {**self._names(), **self._own}

    def __len__(self) -> int:
        return len({**self._names(), **self._own})

    def __repr__(self) -> str:
        return repr(dict(self))

    def _settle(self) -> None:
        """The kernel goes on: what was written into arrays is written to it."""
        for i, (array, leaf) in self._seen.items():
            if getattr(array, "shape", ()) and array.tobytes() != leaf[2]:
                _core._debug_write(*self._at, i, array.tobytes())
        self._seen.clear()

    def _freeze(self) -> None:
        """The frame ends by an exception: what it has now is what a post-mortem sees."""
        self._own = {**{n: self[n] for n in self._names()}, **self._own}
        self._seen.clear()


class Argument:
    """What pdb's `args` shows of a parameter. Its name in the code of the frame has a space
    behind it, so that the fast variable of that name, which CPython before 3.13 copies to
    and fro, is never the kernel's."""

    def __init__(self, variables: Locals, name: str):
        self._variables, self._name = variables, name

    def __repr__(self) -> str:
        return repr(self._variables[self._name])


def _pretty() -> None:
    """pprint, and so pdb's pp, lays a Locals out as a dict."""
    import pprint

    table: Any = getattr(pprint.PrettyPrinter, "_dispatch", {})
    as_dict = table.get(dict.__repr__)
    if as_dict is not None:
        table[Locals.__repr__] = as_dict


_pretty()

# ---- shadows -------------------------------------------------------------------------

NOWHERE = 1 << 28  # stands for "no line" until the line table is written


def _statements(file: str, first: int, last: int) -> tuple[list[int], tuple[str, ...]]:
    """The lines at which statements of the function begin (functions in it are some), and
    its parameters."""
    lines = linecache.getlines(file)[first - 1 : last]
    try:
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except SyntaxError:  # a lambda, or a file that changed
        return list(range(first, last + 1)), ()
    functions = (n for n in tree.body if isinstance(n, ast.FunctionDef))
    of = getattr(next(functions, None), "args", None)
    given = (
        [*of.posonlyargs, *of.args, of.vararg, *of.kwonlyargs, of.kwarg] if of else []
    )
    found = {
        first - 1 + n.lineno
        for n in ast.walk(tree)
        if isinstance(n, ast.stmt) and n not in tree.body
    }
    names = [f"{a.arg} " for a in given if a]
    return sorted(found) or [first], tuple(names[:256])  # stepping.c: MAX_ARGS


def _table(code: types.CodeType, first: int) -> bytes:
    """co_linetable of code, whose instructions of NOWHERE get no line. The format is that
    of CPython since 3.11 (Objects/locations.md there): runs of up to 8 code units, each
    with its distance in lines from the last."""
    units = [p[0] for p in code.co_positions()]
    out, at, now = bytearray(), 0, first
    while at < len(units):
        n = 1
        while n < 8 and at + n < len(units) and units[at + n] == units[at]:
            n += 1
        line = units[at]
        at += n
        if line is None or line >= NOWHERE:
            out.append(0x80 | 15 << 3 | n - 1)
            continue
        out.append(0x80 | 13 << 3 | n - 1)
        delta, now = line - now, line
        bits = -delta << 1 | 1 if delta < 0 else delta << 1
        while bits >= 64:
            out.append(64 | bits & 63)
            bits >>= 6
        out.append(bits)
    return bytes(out)


CALLS = {
    "tegula step": _core._debug_step,
    "tegula below": _core._debug_below,
    "tegula value": _core._debug_value,
}


def _text(lines: list[int], first: int) -> Iterator[tuple[str, int]]:
    """The shadow of a function with statements at lines: its text and where that stands.
    What it calls are constants, so that no name is looked up."""

    def tree(low: int, high: int, pad: str) -> Iterator[tuple[str, int]]:
        if high - low == 1:
            at = lines[low]
            yield f"{pad}if 'tegula step'({at}): return 'tegula value'()", at
            return
        mid = (low + high) // 2
        yield f"{pad}if 'tegula below'({lines[mid]}):", NOWHERE
        yield from tree(low, mid, pad + " ")
        yield f"{pad}else:", NOWHERE
        yield from tree(mid, high, pad + " ")

    yield "def shadow():", first
    yield " 'tegula step'(0)", NOWHERE
    yield " while True:", NOWHERE
    yield from tree(0, len(lines), "  ")


@functools.lru_cache(maxsize=1024)
def shadow(name: str, file: str, first: int, last: int) -> types.CodeType:
    """The code of a frame that stands for the function of these lines."""
    lines, parameters = _statements(file, first, last)
    text = list(_text(lines, first))
    module = ast.parse("\n".join(t for t, _ in text))
    for node in ast.walk(module):
        if hasattr(node, "lineno"):
            node.lineno = node.end_lineno = text[node.lineno - 1][1]  # type: ignore[attr-defined]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a constant is called
        outer = compile(module, file, "exec", dont_inherit=True)
    code: types.CodeType = next(c for c in outer.co_consts if hasattr(c, "co_code"))
    return code.replace(
        co_argcount=len(parameters),
        co_nlocals=len(parameters),
        co_varnames=parameters,
        co_name=name,
        co_qualname=name,
        co_firstlineno=first,
        co_flags=code.co_flags
        & ~3,  # its variables are the mapping that it is run with
        co_consts=tuple(
            CALLS.get(c, c) if isinstance(c, str) else c for c in code.co_consts
        ),
        co_linetable=_table(code, first),
    )


def _globals(file: str, fallback: dict[str, Any]) -> dict[str, Any]:
    """Those of the module that file is."""
    if fallback.get("__file__") == file:
        return fallback
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == file:
            return vars(module)
    return fallback


def _free(fn: Any) -> dict[str, Any]:
    """What the functions around fn have."""
    free = {}
    names = getattr(getattr(fn, "__code__", None), "co_freevars", ())
    cells = getattr(fn, "__closure__", None) or ()
    for name, cell in zip(names, cells, strict=False):
        try:
            free[name] = cell.cell_contents
        except ValueError:
            pass
    return free


def enter(
    handle: Any, at: tuple[int, int], kernel: Any, name: str, place: tuple[Any, ...]
) -> tuple[types.CodeType, dict[str, Any], Locals]:
    """The frame that begins: what C evaluates. place: file, first and last line."""
    fn = kernel.fn
    names = _globals(place[0], fn.__globals__)
    free = _free(fn) if at[0] == 0 else {}
    shown = "<lambda>" if name == "lambda" else name
    return shadow(shown, *place), names, Locals(handle, *at, free)


def returned(text: str, leaves: list[Leaf]) -> Any:
    """What a function returns."""
    return value_of(_specs(text), [show(v) for v in leaves].__getitem__)


def printed(text: str, leaves: list[Leaf]) -> None:
    """print() of a kernel."""
    values = [show(v) for v in leaves]
    specs = _specs(text)
    out = [value_of(s, values.__getitem__) for s in specs]
    if any(hasattr(v, "dtype") for v in values):
        import numpy as np

        with np.printoptions(threshold=sys.maxsize):
            print(*out)
    else:
        print(*out)


__all__ = ["Locals", "Word", "enter", "printed", "program", "returned", "shadow"]
