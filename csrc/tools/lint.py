"""What the compiler and ruff do not check of this tree.

    python csrc/tools/lint.py [build/check]

Each check is a function below that yields complaints, one line each, and its docstring
is the rule. An exception to a rule is a row in that rule's table, with its reason. The
checks that read object files want a built variant (``make lint`` builds it).
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CSRC = ROOT / "csrc"

# What each folder stands on: whose headers it may include and whose symbols it may use.
# "csrc" is compile.c and what it calls beside it. A row names rows above it, so there are
# no circles.
ARROWS = {
    "base": "",
    "ptx": "",  # an engine that knows nothing of the compiler
    "layout": "base",
    "ir": "base layout",
    "interp": "base ir ptx",
    "analysis": "base layout ir ptx",
    "passes": "analysis",  # the table; the rooms below share it
    "passes/tile": "base ir analysis passes",
    "passes/simt": "base layout ir analysis passes passes/tile",
    "passes/host": "base ir analysis passes",
    "passes/run": "base ir passes passes/tile passes/simt passes/host",
    "runtime/emu": "base ptx",
    "codegen": "base ir analysis ptx",
    "codegen/library": "base ir ptx codegen",
    "codegen/host": "base ir analysis ptx runtime/emu codegen codegen/library",
    "codegen/simt": "base layout ir analysis ptx codegen codegen/library",
    "frontend": "ir",  # fe.h; the rooms below share it
    "frontend/program": "base ir frontend",
    "frontend/values": "base ir frontend frontend/program",
    "frontend/syntax": "base frontend frontend/program frontend/values",
    "frontend/operators": "base ir frontend frontend/values frontend/syntax",
    "frontend/builtins": "base ir ptx frontend frontend/program frontend/values "
    "frontend/syntax frontend/operators",
    "frontend/walk": "base ir frontend frontend/program frontend/values "
    "frontend/syntax frontend/operators frontend/builtins",
    "csrc": "base ir analysis codegen codegen/library codegen/host codegen/simt "
    "passes passes/host passes/run frontend frontend/walk",
    "runtime": "base ir interp ptx codegen codegen/library codegen/host csrc "
    "runtime/emu frontend frontend/program frontend/values",
    "module": "base ir analysis codegen csrc runtime runtime/emu frontend/program",
    "tests": "base ir",  # what tools use of them: tests/c/random
    "tools": "base layout ir interp ptx analysis codegen codegen/host codegen/simt "
    "csrc runtime runtime/emu tests passes passes/host passes/run",
}
MAY_INCLUDE_PYTHON = {
    "frontend",
    "frontend/program",
    "frontend/values",
    "frontend/syntax",
    "frontend/operators",
    "frontend/builtins",
    "frontend/walk",
    "runtime",
    "module",
    "csrc",
}

# Writable data with a reason.
WRITABLE: dict[str, str] = {
    "mod_def": "PyModuleDef: CPython counts references in it",
    "mod_slots": "PyModuleDef_Slot[]: CPython wants it writable",
    "targets_once": "llvm.c: LLVM's targets are the process's",
    "crash": "crash.c: signals are the process's",
    "crash_place": "crash.c: thread-local; a handler gets no pointer of ours",
    "crash_has_stack": "crash.c: thread-local; an alternate stack is a thread's",
    "stack_bounds": "stack.c: thread-local; asked of the system once a thread",
    "current": "llvm.c: thread-local; LLVM's fatal-error handler gets no pointer of ours",
    "asides": "aside.c: compiles that are left behind are the process's",
    "is_ending": "aside.c: the process's end is the process's",
    "pool": "pool.c: threads are the process's",
    "pool_once": "pool.c: threads are the process's",
    "pool_size": "pool.c: the CPUs of the process, counted once",
    "record": "record.c: thread-local; one call of a thread starts it, another ends it",
    "names": "a keyword list: CPython's prototype is char **",
}
WRITABLE_TYPES = re.compile(r"_(slots|spec|methods|members|getset)$")

# Not called from a second file, and yet not static.
GLOBAL_ALONE: dict[str, str] = {
    "__cxa_atexit": "LLVM's libraries call it",
    "PyInit__core": "what Python looks up",
    "main": "what the system calls",
    "tegula_assembly": "compiled CPU code calls it",
    "tegula_assert": "compiled CPU code calls it",
    "tegula_bounds": "compiled CPU code calls it",
    "tegula_poll": "compiled CPU code calls it",
    "tegula_print": "compiled CPU code calls it",
    "tegula_fiber_enter": "called from assembly",
    "tegula_fiber_start": "called from assembly",
    "tegula_fiber_swap": "written in assembly",
}

# Files whose names a process looks up: a library's entry points.
EXPORTING = {
    "csrc/tools/ptxsim/driver.c": re.compile(r"(cu[A-Z]|ptxsim_)\w+$"),
    "csrc/tools/ptxsim/count.c": re.compile(r"ptxsim_\w+$"),
}
NOTHING = re.compile(r"$")

# Files of one folder that reach each other by calls: more than these are hard to read one
# at a time.
CIRCLE = 15

LONG, TOO_LONG = 800, 1200

# A folder of some machine, spelled so that this line is not one.
MACHINE_PATH = re.compile(r"(?:^|[^\w./$}~-])/(?:work|farm|home|root|Users|mnt)/\w")


@cache
def text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def git_files(*patterns: str) -> list[Path]:
    cmd = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    out = subprocess.run(
        [*cmd, "--", *patterns], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return [p for f in sorted(out.split("\0")) if f and (p := ROOT / f).is_file()]


def rel(path: Path) -> str:
    return str(path.relative_to(ROOT))


def folder(path: Path) -> str:
    parts = path.relative_to(CSRC).parts[:-1]
    if not parts:
        return "csrc"
    nested = "/".join(parts[:2])
    return nested if nested in ARROWS else parts[0]


def without_comments(source: str) -> str:
    """C text with comments and strings blanked out, lines kept."""

    def blank(match: re.Match[str]) -> str:
        found = match[0]
        return found if found[0] in "\"'" else re.sub(r"[^\n]", " ", found)

    return re.sub(
        r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'',
        blank,
        source,
        flags=re.S,
    )


def numbered(source: str) -> Iterator[tuple[int, str]]:
    return enumerate(source.split("\n"), 1)


def may_use(here: str, there: str) -> bool:
    return here == there or there in ARROWS[here].split()


# --- rules of the sources ------------------------------------------------------------
def check_order() -> Iterator[str]:
    """A row of ARROWS names rows above it: no folders stand on each other."""
    above: set[str] = set()
    for here, row in ARROWS.items():
        for there in set(row.split()) - above:
            yield f"csrc/tools/lint.py: {here}/ names {there}/, which is no row above it"
        above.add(here)


def check_arrows() -> Iterator[str]:
    """Includes point one way, and only the folders at Python's side know Python."""
    for path in git_files("csrc/*.c", "csrc/*.h"):
        here = folder(path)
        if here not in ARROWS:
            yield f"{rel(path)}: folder {here} has no row in lint.py's ARROWS"
            continue
        for n, line in numbered(text(path)):
            match = re.match(r'\s*#\s*include\s+[<"]([^>"]+)[>"]', line)
            if not match:
                continue
            name = match[1]
            if name == "Python.h" and here not in MAY_INCLUDE_PYTHON:
                yield f"{rel(path)}:{n}: {here}/ knows nothing of Python"
            target = CSRC / name
            if target.is_file() and not may_use(here, folder(target)):
                yield f"{rel(path)}:{n}: {here}/ does not stand on {folder(target)}/"
            elif not target.is_file() and (path.parent / name).is_file():
                yield f'{rel(path)}:{n}: write "{rel(path.parent / name)[5:]}"'


def check_lengths() -> Iterator[str]:
    """Past 800 lines the head says why it is one thing; past 1200 a file is split."""
    for path in git_files("csrc/*.c", "csrc/*.h", "csrc/*.py", "python/*.py"):
        n = text(path).count("\n")
        if n > TOO_LONG:
            yield f"{rel(path)}: {n} lines; split it (at most {TOO_LONG})"
        elif n > LONG:
            head = text(path)[:3000]
            if not re.search(r"one (file|thing|table)", head, re.I):
                yield f"{rel(path)}: {n} lines; say on top why it is one thing"


def check_errors_used() -> Iterator[str]:
    """Every row of errors.def is raised somewhere."""
    table = CSRC / "base/errors.def"
    code = "\n".join(
        without_comments(text(p)) for p in git_files("csrc/*.c", "csrc/*.h")
    )
    for n, line in numbered(text(table)):
        match = re.match(r"ERR\((\w+)", line)
        if not match:
            continue
        name = match[1]
        used = (
            rf"\bERR_{name}\b|\b\w*(?:err|error|_at|fail)\w*\([^;]*?,\s*{name}\s*[,)]"
        )
        if not re.search(used, code, re.S):
            yield f"{rel(table)}:{n}: nobody raises {name}"


def check_c_words() -> Iterator[str]:
    """Slips that compile: private Python names, version tests, environment, TODOs."""
    for path in git_files("csrc/*.c", "csrc/*.h"):
        for n, line in numbered(without_comments(text(path))):
            where = f"{rel(path)}:{n}"
            if re.search(r"\b_Py[A-Z]\w*", line):
                yield f"{where}: a private name of CPython is not in the Limited API"
            if "PY_VERSION_HEX" in line and path.name != "compat.h":
                yield f"{where}: version tests stand in module/compat.h"
            # PATH, TMPDIR and their like are the system's, and read where they matter.
            if re.search(r"\bgetenv\(\"(TEGULA|TRITON)_", line):
                yield f"{where}: our variables are read in knobs.py"
    for path in git_files("csrc/*.[ch]", "python/*.py", "tests/*"):
        for n, line in numbered(text(path)):
            if re.search(r"\b(TODO|FIXME|XXX)\b(?!\(?#?\d)", line) and path != Path(
                __file__
            ):
                yield f"{rel(path)}:{n}: a TODO carries an issue's number"


def check_knobs_used() -> Iterator[str]:
    """Every knob is read somewhere, and Python reads no variable without a row."""
    table = ROOT / "python/tegula/knobs.py"
    setter = CSRC / "module/config.c"  # puts values into Config; others read them there
    sources = [
        p
        for p in git_files("python/*.py", "csrc/*.c", "csrc/*.h")
        if p not in (table, setter)
    ]
    code = "\n".join(text(p) for p in sources)
    row = r'Row\("(\w+)", "(\w+)", "(\w+)"(.*?)\),?\n(?=    Row|\))'
    rows = re.findall(row, text(table), re.S)
    for group, name, variable, rest in rows:
        core = re.search(r', "(\w+)"$', rest)
        used = [f"{group}.{name}", f'"{group}", "{name}"', variable]
        if core:
            used += [f"config->{core[1]}", f"config.{core[1]}"]
        # `in` comes first: it is much faster.
        if not any(u in code and re.search(rf"{re.escape(u)}\b", code) for u in used):
            yield f"{rel(table)}: nobody reads {group}.{name}"
    known = {row[2] for row in rows}
    for path in git_files("python/*.py"):
        for n, line in numbered(text(path)):
            for variable in re.findall(r"environ[^\n]*?[\"'](TEGULA_\w+)", line):
                if variable not in known:
                    yield f"{rel(path)}:{n}: {variable} has no row in knobs.py"


def check_paths() -> Iterator[str]:
    """Nothing here knows the machine it was written on."""
    for path in git_files():
        if path.suffix in (".png", ".bin", ".cubin") or path == Path(__file__):
            continue
        for n, line in numbered(text(path)):
            if MACHINE_PATH.search(line) and not line.startswith("#!"):
                yield f"{rel(path)}:{n}: a path of one machine"


# --- rules of the objects ------------------------------------------------------------
def objects(build: Path) -> list[Path]:
    return [o for o in sorted(build.rglob("*.o")) if source_of(o, build).is_file()]


def source_of(obj: Path, build: Path) -> Path:
    return ROOT / obj.relative_to(build).with_suffix(".c")


def tool(*cmd: str) -> str:
    return subprocess.run(cmd, capture_output=True, text=True, check=True).stdout


def check_writable(build: Path) -> Iterator[str]:
    """No mutable data at file scope: two compiles, or two modules, would share it."""
    for obj in objects(build):
        if folder_of(obj, build) in ("tools", "tests"):
            continue
        for line in tool("objdump", "-t", str(obj)).split("\n"):
            match = re.match(r"\S+ .{7} (\S+)\s+\S+\s+(?:\.hidden )?(\S+)$", line)
            if not match:
                continue
            section, symbol = match[1], re.sub(r"\.\d+$", "", match[2])
            mutable = section.startswith((".bss", ".data", ".tbss", ".tdata", "*COM*"))
            if not mutable or section.startswith(".data.rel.ro") or symbol[0] == ".":
                continue
            if symbol not in WRITABLE and not WRITABLE_TYPES.search(symbol):
                yield f"{rel(source_of(obj, build))}: {symbol} is writable ({section})"


def folder_of(obj: Path, build: Path) -> str:
    source = source_of(obj, build)
    return folder(source) if source.is_relative_to(CSRC) else "tests"


@cache
def symbols(build: Path) -> tuple[dict[str, Path], dict[str, set[Path]]]:
    """Global name -> the object that defines it; name -> the objects that use it."""
    defined: dict[str, Path] = {}
    used: dict[str, set[Path]] = defaultdict(set)
    # One call: nm loads LLVM as a plugin, each time.
    for line in tool("nm", "-P", "-A", *map(str, objects(build))).splitlines():
        where, name, kind = line.split()[:3]
        obj = Path(where.removesuffix(":"))
        if kind in "TDBRVW":
            defined[name] = obj
        elif kind == "U":
            used[name].add(obj)
    return defined, used


def check_symbols(build: Path) -> Iterator[str]:
    """What a folder calls belongs to a folder that it stands on."""
    defined, used = symbols(build)
    for name, obj in sorted(defined.items()):
        there = folder_of(obj, build)
        for user in sorted(used[name]):
            here = folder_of(user, build)
            if here != "tests" and not may_use(here, there):
                where = rel(source_of(user, build))
                yield f"{where}: {name} is {there}/'s; {here}/ does not stand on that"


def check_circles(build: Path) -> Iterator[str]:
    """Files that reach each other by calls are of one folder, and few."""
    defined, used = symbols(build)
    calls: dict[Path, set[Path]] = defaultdict(set)
    for name, obj in defined.items():
        for user in used[name]:
            if folder_of(user, build) != "tests":
                calls[source_of(user, build)].add(source_of(obj, build))

    def reached(start: Path) -> set[Path]:
        seen: set[Path] = set()
        todo = [start]
        while todo:
            new = calls[todo.pop()] - seen
            seen |= new
            todo += new
        return seen

    reach = {file: reached(file) for file in list(calls)}
    circles = {
        frozenset(f for f in reach[file] if file in reach.get(f, ()))
        for file in reach
        if file in reach[file]
    }
    for circle in sorted(circles, key=sorted):
        folders = sorted({rel(file.parent) for file in circle})
        names = ", ".join(sorted(file.stem for file in circle))
        if len(folders) > 1:
            yield f"{' and '.join(folders)}: a circle of calls across folders: {names}"
        elif len(circle) > CIRCLE:
            yield f"{folders[0]}: a circle of {len(circle)} files, not {CIRCLE}: {names}"


def check_static(build: Path) -> Iterator[str]:
    """Everything is static until a second file needs it."""
    defined, used = symbols(build)
    for name, obj in sorted(defined.items()):
        if EXPORTING.get(rel(source_of(obj, build)), NOTHING).match(name):
            continue
        if not used[name] and name not in GLOBAL_ALONE:
            yield f"{rel(source_of(obj, build))}: {name} is used in no other file"


def main(argv: list[str]) -> int:
    build = Path(argv[1] if len(argv) > 1 else "build/check").resolve()
    checks = [
        (check_order, ()),
        (check_arrows, ()),
        (check_lengths, ()),
        (check_errors_used, ()),
        (check_c_words, ()),
        (check_knobs_used, ()),
        (check_paths, ()),
    ]
    if not objects(build):
        print(f"lint: no objects in {build}: make lint builds them", file=sys.stderr)
        return 2
    checks += [
        (check, (build,))
        for check in (check_writable, check_symbols, check_circles, check_static)
    ]
    n = 0
    for check, args in checks:
        complaints = list(check(*args))
        if complaints:
            print(f"-- {(check.__doc__ or '').splitlines()[0]}")
        for line in complaints:
            print(f"   {line}")
        n += len(complaints)
    print(f"lint: {n} complaint{'s' if n != 1 else ''}" if n else "lint: clean")
    return 1 if n else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
