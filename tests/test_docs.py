"""The pages for whoever works on Tegula name what exists.

Each path, link, make target, environment variable, subcommand, option and identifier in the
pages of PAGES is looked up in the tree. A page may name what a reader is to make, in words:
only what is written as code is looked at.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    "csrc/codegen/simt/PORTING.md",
]
SUFFIX = r"(?:c|h|def|py|pyi|md|sh|tir|ipynb|toml|yml|map|txt)"
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
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target and not (page.parent / target).exists():
            out.append(f"{name}: the link {target} leads nowhere")
    for n, text, in_fence in code(page):
        text = re.sub(r"(^|\s)# .*", "", text)
        where = f"{name}:{n}: {text.strip()}:"
        for make in re.findall(r"\bmake ((?:[\w-]+\s*)+)(?!=)", text):
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
            if not path.startswith(("build/", ".venv")) and not is_path(path, page):
                out.append(f"{where} no file {path}")
        if not in_fence and re.fullmatch(r"[A-Za-z_]\w*_\w*(\(\))?", text):
            if text.rstrip("()") not in words():
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


def slots() -> list[str]:
    """The members of Machine, in order."""
    text = (ROOT / "csrc/codegen/simt/machine.h").read_text()
    body = re.search(r"typedef struct Machine \{(.*?)\} Machine;", text, re.S)
    assert body
    plain = re.sub(r"/\*.*?\*/", "", body[1], flags=re.S)
    found = re.findall(r"\(\*(\w+)\)\(|[*\s](\w+);", plain)
    return [a or b for a, b in found]


def test_the_port_guide_has_each_slot() -> None:
    page = (ROOT / "csrc/codegen/simt/PORTING.md").read_text()
    table = page.split("## The slots")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", table, re.M)
    told = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert len(slots()) > 30
    assert sorted(set(slots()) - set(told)) == [], "slots that the guide does not have"
    # A slot that has gone goes from the guide as well.
    assert sorted(set(told) - set(slots())) == [], "rows without a slot"
