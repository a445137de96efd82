"""``python -m tegula.tools.link``: one C function out of several compiled kernels.

    python -m tegula.tools.link build/*.h -o build/matmul

The headers are those of ``tegula.tools.compile``. Kernels of one ``--out-name`` are taken
together; ``build/matmul.h`` and ``.c`` then have, for each such name,

    CUresult matmul_fp16(CUstream stream, .., int algo_id);
    CUresult matmul_fp16_default(CUstream stream, ..);         algo_id 0
    int matmul_fp16_get_num_algos(void);
    CUresult load_matmul_fp16(void);  void unload_matmul_fp16(void);

An algorithm is a choice of constants, warps and stages. Inside of one, the call goes to the
variant that knows most of its arguments (which are multiples of 16, which are 1) among
those for which all that they know is true; where there is none, the result is
CUDA_ERROR_INVALID_VALUE.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tegula.tools.compile import DIRECTIVE

GUARD_BEGIN = '#ifdef __cplusplus\nextern "C" {\n#endif\n'
GUARD_END = "#ifdef __cplusplus\n}\n#endif\n"


class LinkerError(Exception):
    """The headers do not fit together."""


@dataclass
class Variant:
    """A kernel of one header."""

    name: str
    function: str
    parameters: list[tuple[str, str, str]]  # C type, name, hint
    algorithm: str
    header: str

    @property
    def types(self) -> list[tuple[str, str]]:
        return [(ty, name) for ty, name, _ in self.parameters]

    @property
    def n_hints(self) -> int:
        """How much it knows: 1 says more than a multiple of 16."""
        return sum({"": 0, "16": 1, "1": 2}[hint] for _, _, hint in self.parameters)

    def holds(self) -> str:
        """True where the arguments are what it knows of them; in C."""
        tests = [
            f"{name} % 16 == 0" if hint == "16" else f"{name} == 1"
            for _, name, hint in self.parameters
            if hint
        ]
        return " && ".join(tests) or "1"


def read_header(path: Path) -> list[Variant]:
    """The variants that a header declares."""
    found = []
    for line in path.read_text().splitlines():
        if line.startswith(DIRECTIVE):
            row = json.loads(line.removeprefix(DIRECTIVE))
            given = [(ty, name, hint) for ty, name, hint in row["parameters"]]
            found.append(
                Variant(
                    row["name"], row["function"], given, row["algorithm"], path.name
                )
            )
    return found


def group(variants: Iterable[Variant]) -> dict[str, dict[str, list[Variant]]]:
    """By name, then by algorithm; the variants that know most come first."""
    names: dict[str, dict[str, list[Variant]]] = {}
    for v in sorted(variants, key=lambda v: (v.name, v.algorithm, v.function)):
        algorithms = names.setdefault(v.name, {})
        first = next(iter(algorithms.values()), [v])[0]
        if first.types != v.types:
            raise LinkerError(
                f"{v.name}: the parameters in {v.header} are not those in {first.header}"
            )
        algorithms.setdefault(v.algorithm, []).append(v)
    for algorithms in names.values():
        for of in algorithms.values():
            of.sort(key=lambda v: -v.n_hints)
    return names


def _dispatch(name: str, number: int, algorithm: str, variants: list[Variant]) -> str:
    given = "".join(f", {ty} {n}" for ty, n in variants[0].types)
    passed = "".join(f", {n}" for _, n in variants[0].types)
    lines = [
        f"/* {algorithm} */",
        "static CUresult",
        f"{name}_algorithm_{number}(CUstream stream{given})",
        "{",
    ]
    for v in variants:
        lines += [
            f"    if ({v.holds()})",
            f"        return {v.function}(stream{passed});",
        ]
    lines += ["    return CUDA_ERROR_INVALID_VALUE;", "}", ""]
    return "\n".join(lines)


def _functions(name: str, algorithms: dict[str, list[Variant]]) -> tuple[str, str]:
    """Declarations and definitions for one name."""
    every = [v for of in algorithms.values() for v in of]
    given = "".join(f", {ty} {n}" for ty, n in every[0].types)
    passed = "".join(f", {n}" for _, n in every[0].types)
    heads = [
        f"CUresult load_{name}(void);",
        f"void unload_{name}(void);",
        f"int {name}_get_num_algos(void);",
        f"CUresult {name}_default(CUstream stream{given});",
        f"CUresult {name}(CUstream stream{given}, int algo_id);",
    ]
    body = [
        _dispatch(name, i, a, of)
        for i, (a, of) in enumerate(sorted(algorithms.items()))
    ]
    loads = "\n".join(
        f"    if (e == CUDA_SUCCESS)\n        e = load_{v.function}();" for v in every
    )
    unloads = "\n".join(f"    unload_{v.function}();" for v in every)
    cases = "\n".join(
        f"    case {i}: return {name}_algorithm_{i}(stream{passed});"
        for i in range(len(algorithms))
    )
    body.append(
        f"""CUresult
load_{name}(void)
{{
    CUresult e = CUDA_SUCCESS;
{loads}
    return e;
}}

void
unload_{name}(void)
{{
{unloads}
}}

int
{name}_get_num_algos(void)
{{
    return {len(algorithms)};
}}

CUresult
{name}(CUstream stream{given}, int algo_id)
{{
    switch (algo_id) {{
{cases}
    default: return CUDA_ERROR_INVALID_VALUE;
    }}
}}

CUresult
{name}_default(CUstream stream{given})
{{
    return {name}(stream{passed}, 0);
}}
"""
    )
    return "\n".join(heads) + "\n", "\n".join(body)


def link(headers: Sequence[Path], out: Path) -> list[Path]:
    """Write out.h and out.c; their paths."""
    variants = [v for path in headers for v in read_header(path)]
    if not variants:
        raise LinkerError("no header has a kernel of tegula.tools.compile")
    includes = "".join(
        f'#include "{h}"\n' for h in sorted({v.header for v in variants})
    )
    parts = [_functions(name, of) for name, of in group(variants).items()]
    head = "/* Made by tegula.tools.link. */\n#pragma once\n\n#include <cuda.h>\n"
    head += "#include <stdint.h>\n\n" + GUARD_BEGIN + "\n"
    head += "\n".join(h for h, _ in parts) + "\n" + GUARD_END
    code = f'/* Made by tegula.tools.link. */\n#include "{out.name}.h"\n\n{includes}\n'
    code += "\n".join(c for _, c in parts)
    written = []
    for ext, text in (("h", head), ("c", code)):
        path = out.parent / f"{out.name}.{ext}"
        path.write_text(text)
        written.append(path)
    return written


def main(argv: Sequence[str] | None = None) -> int:
    text = "Link compiled kernels behind one C function."
    parser = argparse.ArgumentParser(prog="tegula.tools.link", description=text)
    parser.add_argument("headers", nargs="+", type=Path, help="of tools.compile")
    parser.add_argument(
        "-o", "--out", type=Path, required=True, help="without extension"
    )
    args = parser.parse_args(argv)
    try:
        link(args.headers, args.out)
    except LinkerError as e:
        parser.error(str(e))
    return 0


if __name__ == "__main__":
    sys.exit(main())
