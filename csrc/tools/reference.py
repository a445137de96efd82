"""The reference of the language: one file per group, one section per name.

What stands in it is the docstring of the name, its signature, and whether tensors have it
as a method (csrc/frontend/builtins.def). Examples are the doctest lines of the docstring;
tests/test_reference.py runs them, so what they show is what happens.

A file per group and not per name: neighbours are read together (load beside store, the
float functions beside each other), a change is one diff, and ``memory.md#load`` is still
an address for one name.
"""

from __future__ import annotations

import doctest
import enum
import importlib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

Rows = Callable[[str, str], Iterator[list[str]]]  # gen.rows: path, macro
FOLDER = "python/tegula/language/reference"


@dataclass
class Group:
    file: str  # FOLDER/<file>.md
    title: str
    modules: tuple[str, ...]  # whose names these are
    prefix: str  # how a kernel writes them


TL = "tegula.language"
HOST = (
    "_core jit configs autotune constexprs compat.compiler tensors language.aggregates "
    "errors compat.async_compile"
)
LIBDEVICE = (
    "_arithmetic _bits _circular _conversions _exponential _roots _fast _special "
    "_bessel _whole"
)
TESTING = "testing reports peaks"
TOOLS = "tensor_descriptor mxfp ragged_tma disasm linear_layout"
ROWS = (  # file, title, package, its modules, prefix
    ("shape", "Programs, blocks, shapes, dot", TL, "shape scaled", "tl."),
    ("memory", "Memory", TL, "memory", "tl."),
    ("math", "Elementwise functions", TL, "math", "tl."),
    ("reduction", "Reductions and scans", TL, "reduction", "tl."),
    ("standard", "Library", TL, "standard", "tl."),
    ("random", "Random numbers", TL, "random", "tl."),
    ("control", "Loops, hints, assertions, prints", TL, "debug", "tl."),
    ("external", "Foreign code", TL, "external builtin", "tl."),
    ("types", "Types and constants", TL, "types aggregates", "tl."),
    ("target_info", "The target", TL, "target_info", "tl.target_info."),
    ("cuda", "CUDA", f"{TL}.extra", "cuda", "tl.extra.cuda."),
    ("libdevice", "libdevice", f"{TL}.extra.libdevice", LIBDEVICE, "tl.extra.libdevice."),
    ("host", "Around the kernel", "tegula", HOST, "tegula."),
    ("testing", "Measuring and comparing", "tegula", TESTING, "tegula.testing."),
    ("tools", "Tools", "tegula.tools", TOOLS, "tegula.tools."),
)  # fmt: skip
GROUPS = tuple(
    Group(file, title, tuple(f"{package}.{name}" for name in names.split()), prefix)
    for file, title, package, names, prefix in ROWS
)

# Files of a package, whose names are what it exports.
SHOWN_BY = {
    "host": "tegula",
    "libdevice": "tegula.language.extra.libdevice",
    "testing": "tegula.testing",
    "types": "tegula.language",
}
ON_HOST = ("host", "testing", "tools")  # whose examples are programs, not kernels
# Public, and for the package itself.
INNER = "of_signature Clock CpuClock TorchClock CupyClock quantile outside".split()


@dataclass
class Entry:
    name: str
    obj: Any
    group: Group

    @property
    def doc(self) -> str:
        return inspect.cleandoc(self.obj.__doc__ or "")

    @property
    def examples(self) -> list[doctest.Example]:
        return doctest.DocTestParser().get_examples(self.doc)

    @property
    def kind(self) -> str:
        kind = type(self.obj).__name__
        if isinstance(self.obj, type):
            return "class"
        if kind == "ConstexprFunction":
            return "function of constants, on the host too"
        return "function"

    @property
    def home(self) -> str:
        """What stands in front of the name where it is written out."""
        own = self.group.file == "tools"
        return f"{self.obj.__module__}." if own else self.group.prefix

    def signature(self) -> str:
        """As it is called: without what is passed behind the user's back."""
        fn = inspect.unwrap(getattr(self.obj, "fn", self.obj))
        if isinstance(fn, type):
            if issubclass(fn, enum.Enum):
                return ""
            fn = fn.__init__
            if fn is object.__init__:
                return ""
        try:
            signature = inspect.signature(fn)
        except (TypeError, ValueError):
            return "(..)"
        params = [
            p.replace(annotation=p.empty)
            for p in signature.parameters.values()
            if p.name != "self"
        ]
        text = str(signature.replace(parameters=params, return_annotation=p_empty))
        text = re.sub(r"<PropagateNan\.(\w+): \w+>", r"PropagateNan.\1", text)
        text = re.sub(r"=constexpr\[(.*?)\]", r"=\1", text)
        return re.sub(r"<function (\w+) at 0x\w+>", r"\1", text)


p_empty = inspect.Signature.empty


def public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Names that are defined here, as they stand in the file."""
    names = [n for n in vars(module) if not n.startswith("_")]
    for name in names:
        obj = getattr(module, name)
        own = getattr(obj, "__module__", None) == module.__name__
        documented = callable(obj) and getattr(obj, "__name__", None) == name
        if own and documented and obj.__doc__ and name not in INNER:
            yield name, obj


def entries(group: Group) -> list[Entry]:
    found = []
    for name in group.modules:
        module = importlib.import_module(name)
        shown = list(public(module))
        if group.file in SHOWN_BY:
            package = importlib.import_module(SHOWN_BY[group.file])
            shown = [(n, o) for n, o in shown if getattr(package, n, None) is o]
        found += [Entry(n, o, group) for n, o in shown]
    return sorted(found, key=lambda e: e.name.lower())


# --- text ------------------------------------------------------------------------------
COLUMNS = re.compile(r"^(\S.*?) {2,}(\S.*)$")  # a name, and what it means
LABEL = re.compile(r"^(Shapes?|Types?|Errors|Cost|Hints|Accuracy|Order|See):\s*(.*)$")


def markdown(doc: str) -> str:
    """A docstring as Markdown: labelled lines as a list, examples as a block of code."""
    out: list[str] = []
    mode = "text"
    for line in doc.split("\n"):
        code = line.startswith((">>>", "..."))
        if mode != "code" and not code:
            line = line.replace("``", "`")
        label = LABEL.match(line)
        if mode == "code" and line.strip():
            out.append(line)
            continue
        if mode == "code":
            out.append("```")
            mode = "text"
        if code:
            out += ["```python", line]
            mode = "code"
        elif label:
            if mode != "list":
                out.append("")
            out.append(f"- **{label[1]}**: {label[2]}")
            mode = "list"
        elif COLUMNS.match(line):
            if mode != "list":
                out.append("")
            out.append(COLUMNS.sub(r"- `\1`: \2", line))
            mode = "list"
        elif mode == "list" and line.startswith(" "):
            out.append("  " + line.strip())
        else:
            if mode == "list" and line.strip():
                out.append("")
            mode = "text" if line.strip() else mode
            out.append(line)
    if mode == "code":
        out.append("```")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip()


def wrapped(name: str, signature: str) -> str:
    """name(a, b=None) in lines of at most 88 columns, which need no scroll bar."""
    if len(name + signature) <= 88:
        return name + signature
    inner = textwrap.fill(
        signature[1:-1], 84, break_long_words=False, break_on_hyphens=False
    )
    return f"{name}(\n{textwrap.indent(inner, '    ')}\n)"


def page(group: Group, members: set[str]) -> str:
    module = importlib.import_module(group.modules[0])
    out = [
        f"# {group.title}",
        "",
        "Made by csrc/tools/reference.py from the docstrings: `make gen`.",
    ]
    if group.file not in ("host", "tools"):
        out += ["", markdown(inspect.cleandoc(module.__doc__ or ""))]
    for e in entries(group):
        out += ["", f"## {e.name}", "", "```python"]
        out += [wrapped(e.home + e.name, e.signature()), "```", markdown(e.doc)]
        if e.name in members and group.prefix == "tl.":
            out += ["", f"Also a method of tensors: `x.{e.name}(..)`."]
    return "\n".join(out) + "\n"


def table_reference() -> str:
    """The index: every name, a link each."""
    out = "| group | names |\n|---|---|\n"
    for g in GROUPS:
        links = [
            f"[{e.name}](reference/{g.file}.md#{e.name.lower()})" for e in entries(g)
        ]
        out += f"| [{g.title}](reference/{g.file}.md) `{g.prefix}` | {', '.join(links)} |\n"
    return out


def members(rows: Rows) -> set[str]:
    """What tensors have as a method."""
    path = "csrc/frontend/builtins.def"
    found = {r[0] for r in rows(path, "BUILTIN") if "BI_MEMBER" in r[3]}
    return found | {r[0] for r in rows(path, "JIT_MEMBER")}


def home(name: str) -> str:
    """A link to the section of a name of tl, or the name."""
    for g in GROUPS:
        if g.prefix == "tl." and any(e.name == name for e in entries(g)):
            return f"[`{name}`](reference/{g.file}.md#{name})"
    return f"`{name}`"


def table_members(rows: Rows) -> str:
    names = sorted(members(rows))
    return ", ".join(home("cast" if n == "to" else n) for n in names) + "\n"


def table_python(rows: Rows) -> str:
    out = "| name | signature | in a kernel |\n|---|---|---|\n"
    for name, signature, _, flags, doc in rows("csrc/frontend/builtins.def", "BUILTIN"):
        if "BI_PY" in flags:
            out += f"| `{name}` | `({signature.replace('=', '=..')})` | {doc} |\n"
    return out


def table_dtypes() -> str:
    import tegula.language as tl

    out = "| `tl.` | `str()` | bits | kind |\n|---|---|---|---|\n"
    for name, t in vars(tl).items():
        if type(t) is tl.dtype and not t.name == "void":
            kind = t.kind().name.lower()
            if kind == "integral":
                kind = "signed" if t.is_int_signed() else "unsigned"
            out += f"| `{name}` | `{t}` | {t.primitive_bitwidth} | {kind} |\n"
    return out


def pages(rows: Rows) -> Iterator[tuple[str, str]]:
    for g in GROUPS:
        yield f"{FOLDER}/{g.file}.md", page(g, members(rows))
