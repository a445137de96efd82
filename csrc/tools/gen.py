"""Writes the files that are made from tables, so a fact stands in one place.

    python csrc/tools/gen.py           write them
    python csrc/tools/gen.py --check   say which are out of date, and fail

In any README.md of the tree, what stands between ``<!-- table: NAME -->`` and
``<!-- end of table -->`` is replaced by the table of that name: ops, types, attrs,
passes, errors, knobs, reference. stubs.py makes the stubs for type checkers, reference.py
the reference of the language; both look into the built package.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import reference  # noqa: E402
import stubs  # noqa: E402

TABLE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end of table -->)", re.S)


# --- reading .def files --------------------------------------------------------------
def rows(path: str, macro: str) -> Iterator[list[str]]:
    """The arguments of each MACRO(...) row: strings unquoted, the rest as written.

    A row of another macro counts where the file defines that as one MACRO(...), and so
    does one of a table that the file includes then.
    """
    text = source(path)
    short = {
        define[1]: (define[2].split(", "), arguments(text, define.end()))
        for define in re.finditer(rf"^#define (\w+)\((.*?)\) {macro}\(", text, re.M)
    }
    tables = [text, *map(source, re.findall(r'^#include "(.*\.def)"', text, re.M))]
    for i, table in enumerate(tables):
        for match in re.finditer(r"^(\w+)\(", table, re.M):
            if match[1] == macro and i == 0:
                yield arguments(table, match.end())
            elif match[1] in short:
                yield expanded(*short[match[1]], arguments(table, match.end()))


def expanded(names: list[str], body: list[str], row: list[str]) -> list[str]:
    """The body of a macro of these parameters, for a row."""
    values = dict(zip(names, row, strict=True))
    return [re.sub(r"#?(\w+)", lambda m: values.get(m[1], m[0]), word) for word in body]


def source(path: str) -> str:
    """A table without its comments; includes are relative to csrc."""
    file = ROOT / path if path.startswith("csrc/") else ROOT / "csrc" / path
    return re.sub(r"/\*.*?\*/", "", file.read_text(encoding="utf-8"), flags=re.S)


def arguments(text: str, at: int) -> list[str]:
    """Splits at the commas of depth 0, from just behind the opening parenthesis."""
    out, depth, start = [], 0, at
    while True:
        c = text[at]
        if c == '"':
            at = re.compile(r'"(?:\\.|[^"\\])*"').match(text, at).end()  # type: ignore[union-attr]
            continue
        if c == "(":
            depth += 1
        elif c in ",)" and depth == 0:
            out.append(text[start:at].strip())
            start = at + 1
            if c == ")":
                break
        elif c == ")":
            depth -= 1
        at += 1
    return [unquote(a) for a in out]


def unquote(arg: str) -> str:
    parts = re.findall(r'"(?:\\.|[^"\\])*"', arg)
    if not parts or re.sub(r'"(?:\\.|[^"\\])*"|\s', "", arg):
        return arg
    return "".join(ast.literal_eval(p) for p in parts)


# --- tables --------------------------------------------------------------------------
def cells(*columns: str) -> str:
    return "| " + " | ".join(c.replace("|", "\\|") for c in columns) + " |\n"


def head(*columns: str) -> str:
    return cells(*columns) + "|" + "---|" * len(columns) + "\n"


def count(n: str) -> str:
    return "any" if n == "-1" else n


def words(flags: str) -> str:
    found = [f.strip().lower() for f in flags.split("|")]
    return ", ".join(f for f in found if f != "0")


def attr_names(attrs: str) -> str:
    inner = re.fullmatch(r"A\d\((.*)\)", attrs)
    return ", ".join(
        a.strip().lower() for a in (inner[1] if inner else "").split(",") if a
    )


def table_ops() -> str:
    out = head(
        "op", "operands", "results", "regions", "attributes", "flags", "what it does"
    )
    for _, text, args, res, reg, flags, _, attrs, doc in rows("csrc/ir/ops.def", "OP"):
        n, names = (count(args), count(res), reg), attr_names(attrs)
        out += cells(f"`{text}`", *n, names, words(flags), doc)
    return out


def table_types() -> str:
    out = head("type", "`tegula.language`", "signature", "bits", "bytes in memory")
    for _, text, tl, sig, _, bits, n_bytes, *_ in rows("csrc/ir/types.def", "ELEM"):
        out += cells(f"`{text}`", f"`{tl}`", f"`{sig}`", bits, n_bytes)
    return out


def table_attrs() -> str:
    out = head("attribute", "values")
    for _, text, values in rows("csrc/ir/attrs.def", "ATTR"):
        out += cells(f"`{text}`", "a number" if values == "NULL" else values)
    return out


def table_passes() -> str:
    out = head("pass", "level", "what it does")
    for name, level, doc in rows("csrc/passes/passes.def", "PASS"):
        out += cells(f"`{name}`", level.lower(), doc)
    return out


def table_errors() -> str:
    whose = {"USER": "the kernel", "LIMIT": "we cannot yet", "BUG": "ours"}
    out = head("code", "whose fault", "message")
    for name, cls, fmt in rows("csrc/base/errors.def", "ERR"):
        out += cells(f"`{name}`", whose.get(cls, "-"), fmt)
    return out


def table_knobs() -> str:
    from tegula.knobs import ROWS

    out = head("variable", "also", "attribute of `tegula.knobs`", "meaning")
    for row in ROWS:
        also = f"`{row.triton}`" if row.triton else ""
        out += cells(f"`{row.variable}`", also, f"`{row.group}.{row.name}`", row.doc)
    return out


def table_files(folder: Path) -> str:
    """A row for each source file: the first sentence of the comment that it opens with."""
    out = head("file", "what it does")
    for path in sorted([*folder.glob("*.c"), *folder.glob("*.h")]):
        text = path.read_text(encoding="utf-8")
        idea = re.match(r"/\* [\w.]+: (.*?)(?:\n \*\n|\*/)", text, re.S)
        if not idea:
            sys.exit(f"gen: {path}: the file does not open with /* name: what it does")
        words = " ".join(re.sub(r"\n \* ?", " ", idea[1]).split())
        out += cells(f"`{path.name}`", re.split(r"(?<=[^.]\.) ", words)[0].rstrip(".:"))
    return out


TABLES: dict[str, Callable[[], str]] = {
    "ops": table_ops,
    "types": table_types,
    "attrs": table_attrs,
    "passes": table_passes,
    "errors": table_errors,
    "knobs": table_knobs,
    "reference": reference.table_reference,
    "members": lambda: reference.table_members(rows),
    "python": lambda: reference.table_python(rows),
    "dtypes": reference.table_dtypes,
}


def readmes() -> Iterator[tuple[Path, str]]:
    cmd = "git ls-files --cached --others --exclude-standard *README.md".split()
    files = subprocess.run(cmd, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in files.stdout.split("\n"):
        path = ROOT / name
        if name and path.is_file():
            old = path.read_text(encoding="utf-8")
            if TABLE.search(old):
                yield path, filled(old, path)


def filled(text: str, readme: Path) -> str:
    def table(m: re.Match[str]) -> str:
        files = m[2] == "files"
        return m[1] + (table_files(readme.parent) if files else TABLES[m[2]]()) + m[3]

    return TABLE.sub(table, text)


def main(argv: list[str]) -> int:
    stale = []
    made = [
        *readmes(),
        (ROOT / "python/tegula/_core.pyi", stubs.core_stub()),
        (ROOT / "python/tegula/language/_tensor.pyi", stubs.tensor_stub(rows)),
        (ROOT / "python/tegula/language/_members.py", stubs.members_module(rows)),
        *((ROOT / path, text) for path, text in reference.pages(rows)),
    ]
    for path, new in made:
        if path.is_file() and path.read_text(encoding="utf-8") == new:
            continue
        stale.append(str(path.relative_to(ROOT)))
        if "--check" not in argv:
            path.parent.mkdir(exist_ok=True)
            path.write_text(new, encoding="utf-8")
    if stale:
        verb = "out of date (make gen)" if "--check" in argv else "written"
        print(f"gen: {', '.join(stale)} {verb}")
    return 1 if stale and "--check" in argv else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
