"""Lines per folder beside their caps: growth is noticed when it happens.

    python csrc/tools/sz.py          a table; status 1 where a folder has outgrown its cap

A cap is no goal. It is a little above what the folder has today, so that whoever needs
more raises it in the same commit, and says there what the lines buy.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Lines of code: without blank lines, comments and docstrings.
CAPS = {
    "csrc": 960,
    "csrc/analysis": 6518,
    "csrc/base": 1799,
    "csrc/codegen": 3917,
    "csrc/codegen/host": 6698,
    "csrc/codegen/library": 1147,
    "csrc/codegen/simt": 8033,
    "csrc/frontend": 1064,
    "csrc/frontend/builtins": 4121,
    "csrc/frontend/operators": 921,
    "csrc/frontend/program": 3204,
    "csrc/frontend/syntax": 831,
    "csrc/frontend/values": 1959,
    "csrc/frontend/walk": 3433,
    "csrc/interp": 1006,
    "csrc/ir": 5218,
    "csrc/layout": 1792,
    "csrc/module": 1727,
    "csrc/passes": 76,
    "csrc/passes/host": 971,
    "csrc/passes/run": 181,
    "csrc/passes/simt": 11239,
    "csrc/passes/tile": 4497,
    "csrc/ptx": 11852,
    "csrc/runtime": 11070,
    "csrc/runtime/emu": 316,
    "csrc/tools": 3053,
    "csrc/tools/ptxsim": 993,
    "python/tegula": 17508,
}


def c_code(text: str) -> int:
    text = re.sub(r'/\*.*?\*/|//[^\n]*|("(?:\\.|[^"\\\n])*")', r"\1", text, flags=re.S)
    return sum(bool(line.strip()) for line in text.splitlines())


def python_code(text: str) -> int:
    lines: set[int] = set()
    fresh = True  # at the start of a statement, where a lone string is a docstring
    for t in tokenize.generate_tokens(io.StringIO(text).readline):
        if t.type in (tokenize.COMMENT, tokenize.NL, tokenize.ENDMARKER):
            continue
        if t.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            fresh = True
            continue
        if not (fresh and t.type == tokenize.STRING):
            lines.update(range(t.start[0], t.end[0] + 1))
        fresh = False
    return len(lines)


def folder(path: str) -> str:
    parts = path.split("/")[:-1]
    nested = ("codegen", "frontend", "passes", "runtime", "tools")
    depth = 3 if parts[0] == "csrc" and parts[1:2] and parts[1] in nested else 2
    return "/".join(parts[:depth])


def main() -> int:
    files = subprocess.run(
        ["git", "ls-files", "csrc", "python", "tests", "benchmarks"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    rows: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    for file in files:
        path = ROOT / file
        if path.suffix not in (".c", ".h", ".def", ".py") or not path.is_file():
            continue
        text = path.read_text()
        code = python_code(text) if path.suffix == ".py" else c_code(text)
        rows[folder(file)].append((text.count("\n"), code, path.name))
    over = []
    print(f"{'folder':28} {'files':>5} {'lines':>6} {'code':>6} {'cap':>6}  longest")
    for name, group in sorted(rows.items()):
        code = sum(c for _, c, _ in group)
        cap = CAPS.get(name)
        longest = max(group)
        print(
            f"{name:28} {len(group):5} {sum(n for n, _, _ in group):6} {code:6} "
            f"{cap if cap else '-':>6}  {longest[2]} {longest[0]}"
        )
        if cap and code > cap:
            over.append(f"{name}: {code} lines of code, at most {cap}")
    every = [row for group in rows.values() for row in group]
    total = [sum(n for n, _, _ in every), sum(c for _, c, _ in every)]
    print(f"{'all':28} {len(every):5} {total[0]:6} {total[1]:6}")
    for name in sorted(set(CAPS) - set(rows)):
        over.append(f"{name}: no such folder")
    print("\n".join(over), file=sys.stderr)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
