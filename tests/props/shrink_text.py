"""The smallest tile IR near one of which tirc says the same.

    python tests/props/shrink_text.py "-t cpu -e 0 tile,check" FILE
    python tests/props/shrink_text.py "-t emu:80 -e 0 tile,simt,check" --random 5136 -n 60

Lines go, blocks with what is in them; what a line computes becomes a constant, which cuts
it from its operands. Numbers of the message do not count.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

TIRC = Path(__file__).parents[2] / "build" / "tirc"


def said(args: list[str], lines: list[str]) -> str:
    done = subprocess.run(
        [TIRC, *args, "-"], input="\n".join(lines), capture_output=True, text=True
    )
    if done.returncode < 0:
        return str(done.returncode)
    first = done.stderr.splitlines()[:1]
    return re.sub(r"[\d.]+", "N", first[0]) if first else ""


def end_of(lines: list[str], i: int) -> int:
    """Behind the last line of what begins at line i."""
    depth = 0
    for k in range(i, len(lines)):
        depth += lines[k].count("{") - lines[k].count("}")
        if depth <= 0 and not lines[k].rstrip().endswith("} else {"):
            return k + 1
    return len(lines)


def constant(line: str) -> str | None:
    """The same name and type, without operands."""
    form = re.match(r"( *)(%[\w.]+) = .* : ([a-z]\w*)(\[[\d, ]+\])?( #\w+)?$", line)
    if not form or " = const " in line:
        return None
    zero = "false" if form[3] == "i1" else "0.0" if form[3][0] in "fb" else "0"
    value = f"splat({zero})" if form[4] else zero
    return (
        f"{form[1]}{form[2]} = const {value} : {form[3]}{form[4] or ''}{form[5] or ''}"
    )


def shrink(args: list[str], lines: list[str]) -> list[str]:
    wanted = said(args, lines)
    assert wanted, "tirc finds nothing wrong with this"
    again = True
    while again:
        again = False
        for n in (32, 16, 8, 4, 2, 1):
            i = len(lines) - 1
            while i >= 0:
                trial = lines[:i] + lines[max(end_of(lines, i), i + n) :]
                if len(trial) < len(lines) and said(args, trial) == wanted:
                    lines, again = trial, True
                i -= max(n // 2, 1)
        for i in range(len(lines)):
            new = constant(lines[i]) if i < len(lines) else None
            # A store's elements keep places of their own.
            name = lines[i].split(" = ")[0].strip() if new else ""
            places = re.compile(rf"addptr .*, {re.escape(name)} :")
            if new and not any(places.search(line) for line in lines):
                trial = lines[:i] + [new] + lines[end_of(lines, i) :]
                if said(args, trial) == wanted:
                    lines, again = trial, True
    return lines


if __name__ == "__main__":
    asked = sys.argv[1].split()
    if sys.argv[2] == "--random":
        text = subprocess.run(
            [TIRC, *sys.argv[2:], "print"], capture_output=True, text=True, check=True
        ).stdout
    else:
        text = Path(sys.argv[2]).read_text(encoding="utf-8")
    print("\n".join(shrink(asked, text.splitlines())))
