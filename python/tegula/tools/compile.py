"""``python -m tegula.tools.compile``: a kernel as C source, with its machine code inside.

    python -m tegula.tools.compile kernel.py -n matmul -t cuda:sm_90a \\
        -s "*fp16:16, *fp16:16, *fp32:16, i32, i32:16, 64, 128" -g "M/64, N/128, 1" \\
        -on matmul_fp16 -o build/matmul

Two files come out, ``build/matmul.<hash>_<types>.c`` and ``.h``. They need CUDA's
``cuda.h`` and driver (12.0 or newer) and nothing of Python:

    CUresult matmul_fp16_<hash>_<types>(CUstream stream, CUdeviceptr a, .., int32_t n);
    CUresult load_..(void);  void unload_..(void);  the first call loads, too

The signature has an item for each parameter: a type (``*fp32``, ``i64``), with ``:16``
where the argument is a multiple of 16 and ``:1`` where it is 1, or a constant.
The grid is three C expressions over the names of the parameters. A call whose arguments
break what the signature says gives CUDA_ERROR_INVALID_VALUE and runs nothing.

``python -m tegula.tools.link *.h -o matmul`` makes one function out of several of these.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DIRECTIVE = "// tt-linker: "

_C_TYPES = {"i1": "int8_t", "fp16": "uint16_t", "bf16": "uint16_t"}
_C_TYPES |= {"fp32": "float", "fp64": "double"}
_C_TYPES |= {f"i{n}": f"int{n}_t" for n in (8, 16, 32, 64)}
_C_TYPES |= {f"u{n}": f"uint{n}_t" for n in (8, 16, 32, 64)}
_C_TYPES |= {"u1": "int8_t", "B": "int8_t"}


@dataclass
class CompileArgs:
    """The options of the command line."""

    path: str
    kernel_name: str
    signature: str
    grid: str
    target: str | None = None
    num_warps: int = 1
    num_stages: int = 3
    out_name: str | None = None
    out_path: Path | None = None


@dataclass
class Parameter:
    """A parameter of the C function."""

    name: str
    type: str  # in C
    hint: str  # "", "16" or "1"
    code: str  # of the signature, for the name of the function


def parse_target(text: str | None) -> str:
    """ "cuda:90:32" as Triton writes it, or "cuda:sm_90a", as we do."""
    if text is None:
        from tegula.compat import driver

        target = driver.active.get_current_target()
        if target.backend != "cuda":
            raise SystemExit("there is no GPU here: say which with -t cuda:90:32")
        return str(target.text)
    parts = text.split(":")
    if len(parts) == 3:
        from tegula.compat.backends import GPUTarget

        if parts[0] != "cuda" or not parts[1].isdigit():
            raise SystemExit(f"target {text}: C code is made for cuda alone")
        return GPUTarget("cuda", int(parts[1]), int(parts[2])).text
    if not text.startswith("cuda:sm_"):
        raise SystemExit(f"target {text}: expected cuda:90:32 or cuda:sm_90a")
    return text


def load_kernel(path: str, name: str) -> Any:
    """Run the file and take the kernel from it, without what tuners put around it."""
    file = Path(path).resolve()
    sys.path.insert(0, str(file.parent))
    try:
        spec = importlib.util.spec_from_file_location(file.stem, file)
        if spec is None or spec.loader is None:
            raise SystemExit(f"{path}: not a Python file")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    kernel = getattr(module, name, None)
    while kernel is not None and not hasattr(kernel, "compile"):
        kernel = getattr(kernel, "fn", None)
    if kernel is None:
        raise SystemExit(f"{path} has no kernel {name!r}")
    return kernel


def parse_signature(kernel: Any, text: str) -> tuple[list[Any], list[Parameter | None]]:
    """What ``kernel.compile`` takes, and the parameters in C: None for a constant."""
    items = [s.strip() for s in text.split(",")]
    if len(items) != len(kernel.arg_names):
        raise SystemExit(
            f"the signature has {len(items)} items, {kernel.__name__}() has "
            f"{len(kernel.arg_names)} parameters: {', '.join(kernel.arg_names)}"
        )
    parameters: list[Parameter | None] = []
    for name, item in zip(kernel.arg_names, items, strict=True):
        code, _, hint = item.partition(":")
        if hint not in ("", "1", "16"):
            raise SystemExit(f"{item}: after the colon comes 16 or 1")
        if code.startswith("*"):
            parameters.append(Parameter(name, "CUdeviceptr", hint, code))
        elif code in _C_TYPES:
            parameters.append(Parameter(name, _C_TYPES[code], hint, code))
        else:
            parameters.append(None)
    return items, parameters


def _suffix(parameters: Sequence[Parameter | None]) -> str:
    """0d1d2 for a signature whose first two arguments are multiples of 16; c is a 1."""
    mark = {"": "", "16": "d", "1": "c"}
    kept = [(i, p) for i, p in enumerate(parameters) if p]
    return "".join(f"{i}{mark[p.hint]}" for i, p in kept)


def _bytes(data: bytes) -> str:
    rows = [data[i : i + 16] for i in range(0, len(data), 16)]
    return "\n".join("    " + " ".join(f"0x{b:02x}," for b in row) for row in rows)


def _check(p: Parameter) -> str:
    """True where an argument breaks what the signature says of it; in C."""
    if p.hint == "16":
        return f"{p.name} % 16 != 0"
    return f"{p.name} != 1"


def fill(template: str, values: dict[str, str]) -> str:
    """The template with every @NAME@ replaced."""
    return re.sub(r"@(\w+)@", lambda m: values[m[1]], template)


def source(kernel: Any, args: CompileArgs, target: str) -> tuple[str, dict[str, str]]:
    """The stem of the files, and what fills the templates."""
    items, parameters = parse_signature(kernel, args.signature)
    grid = [s.strip() for s in args.grid.split(",")]
    if len(grid) != 3:
        raise SystemExit(f"the grid has three sides, not {len(grid)}: {args.grid}")
    # The C code hands on the kernel's own parameters, and no tensor maps.
    compiled = kernel.compile(
        *items,
        target=target,
        num_warps=args.num_warps,
        num_stages=args.num_stages,
        abi="plain",
    )
    code = compiled.asm["cubin"] if "cubin" in compiled.asm else None
    if code is None:  # without an assembler here, the driver's is used
        code = compiled.asm["ptx"].encode() + b"\0"
    name = args.out_name or args.kernel_name
    constants = [s for s, p in zip(items, parameters, strict=True) if not p]
    text = json.dumps([items, target, args.num_warps, args.num_stages])
    unique = hashlib.sha256(text.encode()).hexdigest()[:8]
    function = f"{name}_{unique}_{_suffix(parameters)}"
    kept = [p for p in parameters if p]
    directive = {
        "name": name,
        "function": function,
        "parameters": [[p.type, p.name, p.hint] for p in kept],
        "algorithm": "x".join(constants) + f" {args.num_warps} warps, "
        f"{args.num_stages} stages",
    }
    passed = [kernel.arg_names[at] for at, *_ in compiled._params]
    checks = " ||\n        ".join(_check(p) for p in kept if p.hint) or "0"
    m = compiled.metadata
    return function, {
        "NAME": function,
        "KERNEL": args.kernel_name,
        "SIGNATURE": args.signature,
        "TARGET": target,
        "DIRECTIVE": DIRECTIVE + json.dumps(directive),
        "PARAMETERS": "".join(f", {p.type} {p.name}" for p in kept),
        "POINTERS": "".join(f"(void *)&{n}, " for n in passed) + "NULL",
        "UNUSED": " ".join(f"(void){p.name};" for p in kept),
        "CHECKS": checks,
        "GRID_X": grid[0],
        "GRID_Y": grid[1],
        "GRID_Z": grid[2],
        "NUM_CTAS": str(m.num_ctas),
        "THREADS": str(32 * m.num_warps),
        "SHARED": str(m.shared),
        "SYMBOL": compiled.name,
        "SIZE": str(len(code)),
        "CODE": _bytes(code),
    }


def compile_kernel(args: CompileArgs) -> tuple[str, list[Path]]:
    """Write the files; the name of the function and their paths."""
    target = parse_target(args.target)
    kernel = load_kernel(args.path, args.kernel_name)
    function, values = source(kernel, args, target)
    name = args.out_name or args.kernel_name
    stem = str(args.out_path or Path.cwd() / name)
    written = []
    for ext in ("c", "h"):
        path = Path(f"{stem}.{function.removeprefix(name + '_')}.{ext}")
        values["HEADER"] = f"{path.stem}.h"
        path.write_text(fill((HERE / f"aot_kernel.{ext}.in").read_text(), values))
        written.append(path)
    return function, written


def main(argv: Sequence[str] | None = None) -> int:
    text = "Compile a kernel to C source with the machine code inside."
    parser = argparse.ArgumentParser(prog="tegula.tools.compile", description=text)
    add = parser.add_argument
    add("path", help="Python file with the kernel; it is run")
    add("-n", "--kernel-name", required=True, help="name of the kernel")
    add("-s", "--signature", required=True, help="type or constant per parameter")
    add("-g", "--grid", required=True, help="three C expressions: 'n/64, 1, 1'")
    add("-t", "--target", help="cuda:90:32 or cuda:sm_90a; else the GPU here")
    add("-w", "--num-warps", type=int, default=1)
    add("-ns", "--num-stages", type=int, default=3)
    add("-on", "--out-name", help="name of the C function; else the kernel's")
    add("-o", "--out-path", type=Path, help="path of the files, without extension")
    compile_kernel(CompileArgs(**vars(parser.parse_args(argv))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
