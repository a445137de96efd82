"""Functions of a bitcode library as functions of the language.

    python -m tegula.tools.build_extern --lib-path FILE.bc --lib-name libdevice -o DIR

writes DIR/libdevice.py: for each name of the library a function that kernels call, with a
row for each combination of types it is there for. A function is known under the name of its
symbol; of CUDA's libdevice, ``__nv_sinf`` and ``__nv_sin`` are both ``sin``.

Needs llvm-dis (``--llvm-dis PATH``) of a version that reads the bitcode.
"""

from __future__ import annotations

import argparse
import keyword
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_TYPES = {
    "i1": "int1",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "half": "fp16",
    "bfloat": "bf16",
    "float": "fp32",
    "double": "fp64",
}
_DEFINED = re.compile(r"^define\s+([^@]*)@([\w.$]+)\((.*?)\)", re.M)


@dataclass(frozen=True)
class Symbol:
    """One function of the library; types are names of tegula.language.dtype."""

    name: str  # as kernels call it
    symbol: str  # in the library
    arg_types: tuple[str, ...]
    ret_type: str


class Library:
    """The functions of a library, by the name that kernels call them."""

    def __init__(self, name: str, path: str) -> None:
        self.name = name
        self.path = path
        self.symbols: dict[str, list[Symbol]] = {}

    def plain_name(self, symbol: str, types: Sequence[str]) -> str:
        """What kernels call it: types are those of its arguments, then its own."""
        return symbol

    def parse(self, text: str) -> None:
        """Take in what llvm-dis says; functions of pointers or structures are left out."""
        for head, symbol, params in _DEFINED.findall(text):
            words = head.split()
            ret = _TYPES.get(words[-1]) if words else None
            types = [_TYPES.get(p.split()[0]) for p in params.split(",") if p.split()]
            known = tuple(t for t in types if t)
            if ret is None or not known or len(known) < len(types):
                continue
            if {"internal", "private"} & set(words):
                continue
            name = self.plain_name(symbol, (*known, ret))
            rows = self.symbols.setdefault(name, [])
            if all(known != old.arg_types for old in rows):
                rows.append(Symbol(name, symbol, known, ret))

    def source(self) -> str:
        """The module in Python."""
        lines = [f'"""Functions of {Path(self.path).name}, written by build_extern."""']
        lines += ["", "from tegula.language import core"]
        for name, rows in sorted(self.symbols.items()):
            plain = f"{name}_" if keyword.iskeyword(name) else name
            n = len(rows[0].arg_types)
            params = ", ".join(f"arg{i}" for i in range(n))
            lines += ["", "", "@core.extern", f"def {plain}({params}, _semantic=None):"]
            lines += ["    return core.extern_elementwise("]
            lines += [f'        "{self.name}",', f"        {self.path!r},"]
            lines += [f"        [{params}],", "        {"]
            for row in rows:
                if len(row.arg_types) == n:
                    types = "".join(f'core.dtype("{t}"), ' for t in row.arg_types)
                    value = f'("{row.symbol}", core.dtype("{row.ret_type}"))'
                    lines += [f"            ({types}): {value},"]
            lines += ["        },", "        is_pure=True,"]
            lines += ["        _semantic=_semantic,", "    )"]
        return "\n".join(lines) + "\n"


class Libdevice(Library):
    """CUDA's: __nv_sinf of floats and __nv_sin of doubles are one function."""

    def plain_name(self, symbol: str, types: Sequence[str]) -> str:
        name = symbol.removeprefix("__nv_")
        # fast_sinf has no partner, and keeps its name; so do conversions.
        alone = name.startswith("fast_") or "2" in name or "_as_" in name
        is_single = "fp32" in types and "fp64" not in types
        if name.endswith("f") and is_single and not alone and name != "erf":
            return name.removesuffix("f")
        return name


def build(llvm_dis_path: str, lib_path: str, lib_name: str, output_dir: str) -> Path:
    """Write the module; its path."""
    command = [llvm_dis_path, lib_path, "-o", "-"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.strip()}")
    library = (Libdevice if lib_name == "libdevice" else Library)(lib_name, lib_path)
    library.parse(done.stdout)
    out = Path(output_dir) / f"{lib_name}.py"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(library.source())
    return out


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="build_extern", description=__doc__)
    parser.add_argument("--llvm-dis", default="llvm-dis", help="the program llvm-dis")
    parser.add_argument("--lib-path", required=True, help="the file of bitcode")
    parser.add_argument("--lib-name", required=True, help="the name of the library")
    parser.add_argument("-o", "--output", default=".", help="the folder to write to")
    args = parser.parse_args(argv)
    print(build(args.llvm_dis, args.lib_path, args.lib_name, args.output))
    return 0


if __name__ == "__main__":
    sys.exit(main())
