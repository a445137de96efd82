"""The smallest kernel near one that fails, by way of its syntax tree.

    python shrink.py SEED | FILE        prints the case that is left

Statements go, blocks are replaced by what is in them, expressions by one of their parts,
for as long as the same thing is said of the case.
"""

from __future__ import annotations

import ast
import copy
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from maker import Case, Draw, make
from maker.watch import Watch


def kind(said: str) -> str:
    """What must not change: the target, and the error or that results differ."""
    if said.startswith("skip"):
        return ""
    form = re.match(r"([\w:]+: )(\w+\[|\w+Error|\w+:)", said)
    return (
        form[1] + ("differs" if form[2].endswith("[") else form[2])
        if form
        else said[:40]
    )


def smaller(tree: ast.Module) -> Iterator[ast.Module]:
    """Trees with one thing less, largest first."""
    kernel = tree.body[-1]
    for node in ast.walk(kernel):
        for name in ("body", "orelse"):
            suite = getattr(node, name, None)
            if not isinstance(suite, list):
                continue
            for i, s in enumerate(suite):
                inner = getattr(s, "body", None)
                for new in ([], inner) if isinstance(inner, list) else ([],):
                    keep = suite[:]
                    suite[i : i + 1] = new
                    if suite or name == "orelse":
                        yield tree
                    suite[:] = keep
    nodes = [n for n in ast.walk(kernel) if isinstance(n, ast.expr)]
    for node in sorted(nodes, key=lambda n: -len(ast.unparse(n))):
        for parent in ast.walk(kernel):
            for field, value in ast.iter_fields(parent):
                spots = value if isinstance(value, list) else [value]
                if not any(v is node for v in spots):
                    continue
                parts = [
                    c
                    for c in ast.walk(node)
                    if isinstance(c, ast.expr)
                    and c is not node
                    and not isinstance(c, (ast.Slice, ast.Starred, ast.Name))
                ]
                names = [c for c in ast.walk(node) if isinstance(c, ast.Name)]
                if isinstance(getattr(node, "ctx", ast.Load()), ast.Store):
                    continue
                small = [ast.Constant(1)] if not isinstance(node, ast.Constant) else []
                for part in [*parts[:12], *names[:4], *small]:
                    if isinstance(value, list):
                        at = next(i for i, v in enumerate(value) if v is node)
                        value[at] = part
                        yield tree
                        value[at] = node
                    else:
                        setattr(parent, field, part)
                        yield tree
                        setattr(parent, field, node)


def shrink(case: Case, watch: Watch, limit: int = 3000) -> Case:
    wanted = kind(watch.compare(case))
    if not wanted:  # it fits no machine, or fails now and then
        return case
    for facts in ({"grid": 1}, {"n": 1}, {"n": 3}, {"emu_seed": 0}):
        small = replace(case, **facts)
        if kind(watch.compare(small)) == wanted:
            case = small
    tried: set[str] = set()
    tree = ast.parse(case.text)
    again = True
    while again and limit > 0:
        again = False
        for new in smaller(tree):
            try:
                text = ast.unparse(ast.fix_missing_locations(new)) + "\n"
            except Exception:
                continue
            if text in tried:
                continue
            tried.add(text)
            limit -= 1
            trial = replace(case, text=text)
            if kind(watch.compare(trial)) == wanted:
                case, again = trial, True
                tree = copy.deepcopy(new)
                break
            if limit < 0:
                break
    return case


if __name__ == "__main__":
    watch = Watch()
    for word in sys.argv[1:]:
        is_file = Path(word).is_file()
        case = Case.load(Path(word).read_text()) if is_file else make(Draw(int(word)))
        case = shrink(case, watch)
        print(f"# {watch.compare(case)}\n{case.dump()}")
    watch.close()
