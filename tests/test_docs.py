"""READMEs, and the pages for whoever works on Tegula, name what exists.

Each path, link, make target, environment variable, subcommand, option and identifier in the
pages of PAGES is looked up in the tree. A page may name what a reader is to make, in words:
only what is written as code is looked at.
"""

from __future__ import annotations

import os
import re
import runpy
import subprocess
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Not what others wrote (tests/compat names their files and functions), nor what is made.
PAGES = sorted(
    str(p.relative_to(ROOT))
    for p in [
        *ROOT.glob("*.md"),
        *(ROOT / "csrc").rglob("*.md"),
        *(ROOT / "tests").rglob("README.md"),
        *(ROOT / "benchmarks").glob("*.md"),
        *(ROOT / f"{d}/README.md" for d in ("tutorials", "python/tegula")),
    ]
    if p.name != "CHANGELOG.md" and p.parent.name != "compat"
)
SUFFIX = r"(?:c|h|def|py|pyi|md|sh|tir|ipynb|toml|yml|map|txt)"
# What a reader writes or is given: the examples' own files.
READERS = {
    *(
        "script.py",
        "f.py",
        "kernel.tir",
        "row_max.tir",
        "edited.tir",
        "00-frontend.tir",
    ),
    *("dump/", "-emit.ptx", "k.tir", "a.py", "b.py"),
}
OTHERS = {"dlpack.h", "cuda.h", "Py_MOD_GIL_NOT_USED"}
NOT_OURS = {"build", ".venv", ".whl", ".git", "__pycache__"}


@cache
def tree() -> set[str]:
    """Every file and folder of the sources, from the root; folders end with a slash."""
    found = set()
    for top, folders, files in os.walk(ROOT):
        folders[:] = [f for f in folders if f not in NOT_OURS]
        at = Path(top).relative_to(ROOT)
        found |= {str(at / f) for f in files} | {f"{at / f}/" for f in folders}
    return {f.removeprefix("./") for f in found}


@cache
def words() -> set[str]:
    """Every identifier in the sources, and in what the build and the tests are made of."""
    kinds = (".c", ".h", ".def", ".py", ".sh", ".toml", ".map", ".tir")
    files = [f for f in tree() if f.endswith((*kinds, "Makefile"))]
    files.remove("tests/test_docs.py")
    text = "\n".join((ROOT / f).read_text(errors="replace") for f in files)
    return set(re.findall(r"[A-Za-z_][A-Za-z_0-9]*", text))


def is_path(text: str, page: Path) -> bool:
    """text, perhaps with * in it, is a file or folder: from the root, from csrc/, from the
    page's folder, or (a bare name) anywhere."""
    rest = re.escape(text.rstrip("/")).replace(r"\*", "[^/]*") + "/?"
    beside = os.path.relpath(page.parent, ROOT)
    if text.startswith("../"):
        slash = "/" if text.endswith("/") else ""
        return f"{os.path.normpath(os.path.join(beside, text))}{slash}" in tree()
    heads = ["", "csrc/", "python/", "python/tegula/", f"{beside}/"]
    if "/" not in text.rstrip("/"):
        heads.append(".*/")
    return any(re.fullmatch(h + rest, f) for h in heads for f in tree())


def code(page: Path) -> list[tuple[int, str, bool]]:
    """What stands as code: line, text, whether it stands in a fence."""
    out, fence = [], ""
    for n, line in enumerate(page.read_text().split("\n"), 1):
        if line.startswith("```"):
            fence = "" if fence else line[3:] or "text"
        elif fence:
            out += [(n, line, True)] if fence == "sh" else []
        else:
            out += [(n, span, False) for span in re.findall(r"`([^`]+)`", line)]
    return out


@cache
def targets() -> set[str]:
    text = (ROOT / "Makefile").read_text()
    return set(re.findall(r"^([\w-]+):(?!=)", text, re.M))


@cache
def inner_targets() -> set[str]:
    text = (ROOT / "csrc/Makefile").read_text()
    return set(re.findall(r"^([\w-]+):(?!=)", text, re.M))


@cache
def tirc_words() -> set[str]:
    passes = (ROOT / "csrc/passes/passes.def").read_text()
    own = (ROOT / "csrc/tools/tirc.c").read_text()
    return set(re.findall(r"^PASS\((\w+)", passes, re.M)) | set(
        re.findall(r'strcmp\(w(?:ord)?, "(\w+)"', own)
    )


@cache
def subcommands() -> set[str]:
    text = (ROOT / "python/tegula/__main__.py").read_text()
    return set(re.findall(r'^    "(\w+)": \(', text, re.M))


def complaints(page: Path) -> list[str]:
    name = page.name
    out = []
    prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    spoken = re.sub(r"`[^`\n]+`", "", prose)
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", spoken):
        if "://" not in target and not (page.parent / target).exists():
            out.append(f"{name}: the link {target} leads nowhere")
    for n, text, in_fence in code(page):
        text = re.sub(r"(^|\s)# .*", "", text)
        where = f"{name}:{n}: {text.strip()}:"
        for make in re.findall(r"\bmake ((?:[a-z][\w-]*\s*)+)(?!=)", text):
            out += [
                f"{where} no make target {t}"
                for t in make.split()
                if t not in targets() and "=" not in text
            ]
        for inner in re.findall(r"make -f csrc/Makefile (?:-\w+ )*([\w-]+)", text):
            if inner not in inner_targets():
                out.append(f"{where} no target {inner} in csrc/Makefile")
        for variable in re.findall(r"\bTEGULA_[A-Z_]+\b", text):
            if variable not in words():
                out.append(f"{where} nobody reads {variable}")
        for asked in re.findall(r"build/tirc ((?:-\w \S+ )*)([\w,]+)", text):
            for w in asked[1].split(","):
                if w not in tirc_words():
                    out.append(f"{where} no word {w} of tirc")
        for sub in re.findall(r"-m tegula (\w+)", text):
            if sub not in subcommands():
                out.append(f"{where} no subcommand {sub}")
        paths = re.findall(
            rf"(?<![\w/.$<~-])([\w*.][\w./*-]*\.{SUFFIX})\b(?![\w*(])", text
        )
        if not in_fence and re.fullmatch(r"[\w.*/-]+/", text):
            paths.append(text)
        for path in paths:
            here = (
                path.startswith(("build/", ".venv", "dump/"))
                or path in READERS | OTHERS
            )
            made = f"`{path}`, a new file" in prose
            if not here and not made and not is_path(path, page):
                out.append(f"{where} no file {path}")
        if not in_fence and re.fullmatch(r"[A-Za-z_]\w*_\w*(?:\(\))?", text):
            if text.endswith("_"):  # a prefix
                known = any(w.startswith(text) for w in words())
            else:
                known = text.rstrip("()") in words() | OTHERS
                known = known or f"`{text}`, which" in prose
            if not known:
                out.append(f"{where} the sources have no such name")
    return out


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_names_exists(page: str) -> None:
    assert not complaints(ROOT / page)


def test_a_page_that_is_wrong_is_told(tmp_path: Path) -> None:
    """Each kind of name is looked at: of these lines, every one is a complaint."""
    page = tmp_path / "wrong.md"
    wrong = [
        "[a link](nowhere.md)",
        "`csrc/ir/nowhere.c`",
        "`nowhere/`",
        "`make nothing`",
        "`TEGULA_NOTHING=1`",
        "`build/tirc nothing x`",
        "`python -m tegula nothing`",
        "`ir_nothing_of_the_kind`",
    ]
    page.write_text("\n".join(wrong))
    assert len(complaints(page)) == len(wrong)


SOURCES = sorted((ROOT / "csrc").rglob("*.c"))


@pytest.mark.parametrize(
    "folder", sorted({str(p.parent.relative_to(ROOT)) for p in SOURCES})
)
def test_a_readme_names_each_file_of_its_folder(folder: str) -> None:
    """That of the folder, or, where it has none, of the one above; `ptx_*.c` is a name."""
    pages = (ROOT / folder / "README.md", ROOT / folder / "../README.md")
    page = next(p for p in pages if p.exists())
    named = re.findall(r"[\w*]+\.c\b", page.read_text())
    here = [p.name for p in SOURCES if p.parent == ROOT / folder]
    assert [f for f in here if not any(fnmatch(f, n) for n in named)] == []


def slots() -> list[str]:
    """The members of Machine, in order."""
    text = (ROOT / "csrc/codegen/simt/machine.h").read_text()
    body = re.search(r"typedef struct Machine \{(.*?)\} Machine;", text, re.S)
    assert body
    plain = re.sub(r"/\*.*?\*/|#define[^\n]*", "", body[1], flags=re.S)
    rows = (ROOT / "csrc/codegen/simt/machine.def").read_text()
    return re.findall(r"[*\s](\w+);", plain) + re.findall(
        r"^(?:SLOT|COUNTED)\(\w+, (\w+),", rows, re.M
    )


def test_the_port_guide_has_each_slot() -> None:
    page = (ROOT / "csrc/codegen/simt/PORTING.md").read_text()
    table = page.split("## The slots")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", table, re.M)
    told = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert len(slots()) > 30
    assert sorted(set(slots()) - set(told)) == [], "slots that the guide does not have"
    # A slot that has gone goes from the guide as well.
    assert sorted(set(told) - set(slots())) == [], "rows without a slot"


# ---- the path of one kernel, in csrc/DESIGN.md ----

DESIGN = ROOT / "csrc/DESIGN.md"
SHOWN = re.compile(
    r"^<!-- (kernel|lower|tirc .*?) -->\n```\w*\n(.*?)^```$", re.M | re.S
)


def lowered(kernel: str, folder: Path) -> str:
    """The tile IR that the frontend makes of the page's kernel."""
    file = folder / "page.py"
    file.write_text(
        f"import tegula as triton\nimport tegula.language as tl\n\n{kernel}"
    )
    row_max = runpy.run_path(str(file))["row_max"]
    return row_max.lower("*fp32:16", "*fp32:16", "i32:16", BLOCK=256)


def test_the_path_of_a_kernel(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """What the page shows is what the compiler prints; --bless writes it anew."""
    tirc = ROOT / "build/tirc"
    if not tirc.is_file():
        pytest.fail("build/tirc is missing: make tirc")
    page = DESIGN.read_text()
    shown = {m[1]: m for m in SHOWN.finditer(page)}
    assert len(shown) == 5
    text = lowered(shown["kernel"][2], tmp_path)
    (tmp_path / "row_max.tir").write_text(text)
    for head, m in reversed(shown.items()):
        if head == "kernel":
            continue
        got = text
        if head != "lower":
            argv = [str(tirc), *head.split()[1:], str(tmp_path / "row_max.tir")]
            got = subprocess.run(
                argv, capture_output=True, text=True, check=True
            ).stdout
        if request.config.getoption("--bless"):
            page = page[: m.start(2)] + got + page[m.end(2) :]
        else:
            assert m[2] == got, f"DESIGN.md, {head}: if that is right, pytest --bless"
    if request.config.getoption("--bless"):
        DESIGN.write_text(page)


def test_commands_of_the_path_are_those_that_were_run() -> None:
    page = DESIGN.read_text()
    heads = [m[1].removeprefix("tirc ") for m in SHOWN.finditer(page)]
    for head in heads[2:]:
        assert f"build/tirc {head} row_max.tir" in page, head


# ---- the forge ----


@pytest.mark.parametrize("name", ["ci.yml", "release.yml"])
def test_workflows_call_the_makefile(name: str) -> None:
    """What runs is a target of ours; no secret, and nobody's action but GitHub's own."""
    text = (ROOT / ".github/workflows" / name).read_text()
    assert "secrets." not in text and "\t" not in text
    made = re.findall(r"run: make ((?:[\w-]+ ?)+)", text)
    assert made
    assert {t for m in made for t in m.split() if t != "TORCH"} <= targets()
    uses = re.findall(r"uses: (\S+)", text)
    assert all(re.fullmatch(r"actions/[\w-]+@v\d+", u) for u in uses)
