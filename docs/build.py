"""Builds the site: ``make docs``.

Gathers the pages in build/docs/source and has Sphinx make build/docs/html of them, where
a link without a target is an error. A page is one of
    docs/*.md                           written by hand
    tutorials/*.ipynb                   run on the way; cells that need torch only with it
    tegula/language/reference/*.md      made by csrc/tools/reference.py
    ops.md, errors.md, variables.md     made here, from docstrings and tables

    --no-run     notebooks as they are, without what they print: quick
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
OUT = ROOT / "build" / "docs"
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "csrc" / "tools")]
import gen  # noqa: E402
import reference  # noqa: E402


# --- pages made of tables and docstrings ---------------------------------------------
def language() -> Iterator[tuple[str, str]]:
    readme = (ROOT / "python/tegula/language/README.md").read_text(encoding="utf-8")
    sections = readme[readme.index("In examples, `x_ptr`") :]
    files = "\n".join(f"{g.file} <reference/{g.file}>" for g in reference.GROUPS)
    files = re.sub(r"^(\w+) <", lambda m: f"{title(m[1])} <", files, flags=re.M)
    yield (
        "language.md",
        "# The language\n\n"
        "Every name, with its shapes, types, errors and an example that the tests run.\n\n"
        f"```{{toctree}}\n:hidden:\n\n{files}\n```\n\n"
        f"{reference.table_reference()}\n{sections}",
    )
    for path, text in reference.pages(gen.rows):
        # Functions are documented under their headings; signatures are no programs.
        text = text.replace(
            "\n\nMade by csrc/tools/reference.py from the docstrings: `make gen`.", ""
        )
        yield (
            f"reference/{Path(path).name}",
            text.replace("```python\n>>>", "```pycon\n>>>"),
        )


def title(file: str) -> str:
    return next(g.title for g in reference.GROUPS if g.file == file)


def ops() -> str:
    from tegula import ops as package

    out = (
        "# Ready kernels: tegula.ops\n\n"
        "```python\nfrom tegula import ops\n```\n\n"
        "Each function takes NumPy arrays or torch tensors and has a gradient. "
        "`torch.compile(fullgraph=True)` takes all of them, and `ops.nn` has modules.\n"
    )
    names = [n for n in vars(package) if inspect.isfunction(getattr(package, n))]
    for name in sorted(n for n in names if not n.startswith("_")):
        f = getattr(package, name)
        signature = inspect.signature(f)
        plain = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
        shown = inspect.Signature(plain)
        doc = reference.markdown(inspect.getdoc(f) or "")
        call = reference.wrapped(f"ops.{name}", str(shown))
        out += f"\n## {name}\n\n```python\n{call}\n```\n{doc}\n"
    return out


MARK = "\n# ----\n"


def example(code: str) -> tuple[str, str] | None:
    """The shortest kernel of tests/errors that earns the code, and what it is told."""
    found = []
    for path in sorted((ROOT / "tests/errors").rglob("*.py")):
        source, _, said = path.read_text(encoding="utf-8").partition(MARK)
        message = re.sub(r"^# ?", "", said, flags=re.M)
        if f"CompileError[{code}]" not in message.partition("\n")[0]:
            continue
        kernel = source.partition("def run():")[0].partition("import tegula.language")[
            2
        ]
        kernel = kernel.partition("\n")[2].strip()
        found.append((len(kernel) + len(message), kernel, message.rstrip()))
    return min(found)[1:] if found else None


def errors() -> str:
    from tegula.explanations import TEXTS

    out = (
        "# Errors\n\n"
        "`CompileError[CODE]` names the line, underlines the place and says what to write "
        "instead. `python -m tegula explain CODE` prints the paragraphs of this page. "
        "Errors while a kernel runs are at the end.\n"
    )
    for name, _, _ in gen.rows("csrc/base/errors.def", "ERR"):
        if name not in TEXTS:
            continue
        out += f"\n## {name}\n\n{TEXTS[name]}\n"
        shown = example(name)
        if shown:
            kernel, message = shown
            out += f"\n```python\n{kernel}\n```\n\n```text\n{message}\n```\n"
    out += "\n## While a kernel runs\n\n"
    out += gen.head("class", "what happened")
    import tegula.errors

    for name, cls in sorted(vars(tegula.errors).items()):
        if isinstance(cls, type) and issubclass(cls, tegula.errors.TegulaError):
            first = (inspect.getdoc(cls) or "").partition("\n\n")[0].replace("\n", " ")
            out += gen.cells(f"`{name}`", first)
    return out


def variables() -> str:
    from tegula.knobs import ROWS

    out = (
        "# Environment variables\n\n"
        "`python -m tegula knobs` prints their values. Each is an attribute of "
        "`tegula.knobs` as well, which a program may set: `with knobs.runtime.scope():` "
        "takes the change back. A misspelt `TEGULA_` variable earns a warning.\n"
    )
    group = None
    for row in ROWS:
        if row.group != group:
            group = row.group
            out += f"\n## knobs.{group}\n\n"
        also = f", also `{row.triton}`" if row.triton else ""
        doc = row.doc.replace("<", "&lt;")
        out += f"`{row.variable}`{also}, `{group}.{row.name}`\n: {doc}\n\n"
    return out


# --- notebooks -----------------------------------------------------------------------
def notebook(path: Path) -> str:
    book = json.loads(path.read_text(encoding="utf-8"))
    torch = importlib.util.find_spec("torch") is not None
    for cell in book["cells"]:
        tags = cell["metadata"].setdefault("tags", [])
        if "torch" in tags and not torch:
            tags.append("skip-execution")
    book["metadata"]["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    return json.dumps(book, indent=1)


# --- together ------------------------------------------------------------------------
def pages() -> Iterator[tuple[str, str]]:
    for path in sorted(DOCS.rglob("*.md")):
        if path.name != "README.md":
            yield str(path.relative_to(DOCS)), path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "tutorials").glob("*.ipynb")):
        yield f"tutorials/{path.name}", notebook(path)
    for path in sorted((ROOT / "tutorials").glob("*.svg")):
        yield f"tutorials/{path.name}", path.read_text(encoding="utf-8")
    yield from language()
    yield "ops.md", ops()
    yield "errors.md", errors()
    yield "variables.md", variables()


def gather(source: Path) -> None:
    """Writes what changed, so that Sphinx reads no page twice, and removes what went."""
    made = set()
    for name, text in pages():
        path = source / name
        made.add(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in [p for p in source.rglob("*") if p.is_file()]:
        if path not in made:
            path.unlink()


def main(argv: list[str]) -> int:
    gather(OUT / "source")
    env = {
        **os.environ,
        "TEGULA_DOCS_RUN": "0" if "--no-run" in argv else "1",
        "TEGULA_DOCS_CACHE": str(OUT / "notebooks"),
        "PYTHONPATH": str(ROOT / "python"),
    }
    # -W: a warning is an error. -n: so is a reference to nowhere.
    cmd = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-n",
        "-b",
        "html",
    ]
    cmd += [
        "-c",
        str(DOCS),
        "-d",
        str(OUT / "trees"),
        str(OUT / "source"),
        str(OUT / "html"),
    ]
    status = subprocess.run(cmd, env=env).returncode
    if status == 0:
        print(f"the site: {OUT / 'html' / 'index.html'}")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
