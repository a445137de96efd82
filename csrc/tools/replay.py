"""Which kernels compile to other PTX than at another commit, and where.

    python csrc/tools/replay.py              the working tree beside HEAD~1
    python csrc/tools/replay.py main -v      beside main, with the differing lines
    python csrc/tools/replay.py v0.1 -t sm_80 -t sm_120a -k matmul

A refactor says so in its title, and this shows it: "no PTX differs". The kernels are the
working tree's tests/ptx/cases.py for both sides, so what differs is the compiler's doing.
The other commit is checked out and built under build/replay; both sides stay there as text.
"""

from __future__ import annotations

import argparse
import difflib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STORE = ROOT / "build" / "replay"


def run(*command: object, cwd: Path = ROOT, **more: str) -> str:
    done = subprocess.run(
        [str(c) for c in command],
        cwd=cwd,
        env={**os.environ, **more},
        stdout=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        sys.exit(f"replay: {' '.join(map(str, command))}: exit {done.returncode}")
    return done.stdout.strip()


def build(tree: Path) -> None:
    run(
        *("make", "-s", "-f", "csrc/Makefile", f"-j{os.cpu_count()}"),
        *(f"PYTHON={sys.executable}", "core"),
        cwd=tree,
    )


def checked_out(commit: str) -> Path:
    """The commit's tree, built. Kept: a second run starts at once."""
    tree = STORE / f"tree-{commit[:12]}"
    if not tree.exists():
        run("git", "worktree", "prune")
        run("git", "worktree", "add", "--detach", tree, commit)
    build(tree)
    return tree


def emit(out: Path, targets: list[str], word: str) -> None:
    """The PTX of every case, one file each, by the tegula that PYTHONPATH leads to."""
    sys.path.insert(0, str(ROOT / "tests/ptx"))
    from cases import CASES, compiled

    import tegula

    tegula.knobs.nvidia.ptxas = "none"
    out.mkdir(parents=True, exist_ok=True)
    for old in out.iterdir():
        old.unlink()
    for case in CASES:
        for target in targets:
            if word not in case.name:
                continue
            try:
                text = compiled(case, target).asm["ptx"]
            except tegula.CompileError as e:
                text = f"{e.code}: {e.message}\n"
            # Comments name the compiler and lines of its input.
            lines = [line.split("//")[0].rstrip() for line in text.splitlines()]
            name = f"{case.name.replace(' ', '_')}.{target}.ptx"
            (out / name).write_text("\n".join(filter(None, lines)) + "\n")


def compare(old: Path, new: Path, verbose: bool) -> int:
    names = sorted({p.name for p in (*old.iterdir(), *new.iterdir())})
    differ = 0
    for name in names:
        sides = [
            (d / name).read_text().splitlines(True) if (d / name).exists() else []
            for d in (old, new)
        ]
        diff = list(difflib.unified_diff(*sides, f"old/{name}", f"new/{name}", n=2))
        if not diff:
            continue
        differ += 1
        gone = sum(line[0] == "-" for line in diff) - 1
        came = sum(line[0] == "+" for line in diff) - 1
        print(f"{name:44} {len(sides[0]):6} lines  -{gone} +{came}")
        if verbose:
            sys.stdout.writelines(diff)
    print(f"{differ or 'no'} PTX of {len(names)} differ{'' if differ else 's'}")
    return 1 if differ else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="PTX of two commits")
    parser.add_argument("commit", nargs="?", default="HEAD~1")
    parser.add_argument("-t", "--target", action="append", metavar="sm_80")
    parser.add_argument(
        "-k", metavar="WORD", default="", help="kernels whose name has it"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="show the lines")
    parser.add_argument("--emit", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    targets = args.target or ["sm_80", "sm_90a"]
    if args.emit:
        emit(args.emit, targets, args.k)
        return 0
    commit = run("git", "rev-parse", "--verify", f"{args.commit}^{{commit}}")
    options = [o for t in targets for o in ("-t", t)] + ["-k", args.k]
    build(ROOT)
    for tree, name in ((checked_out(commit), "old"), (ROOT, "new")):
        run(
            *(sys.executable, __file__, "--emit", STORE / name, *options),
            PYTHONPATH=str(tree / "python"),
            TEGULA_CACHE_DIR="",
        )
    return compare(STORE / "old", STORE / "new", args.verbose)


if __name__ == "__main__":
    sys.exit(main())
