"""How long a cold compile takes, by stage: each sample is a process of its own.

python benchmarks/compile.py                    medians of 15 processes a row
python benchmarks/compile.py --samples 5 --json build/compile.json

A process imports tegula, compiles one kernel for one target with the cache on disk off,
and ends. For the CPU `total` goes as far as machine code in memory, ready to run; for CUDA
as far as PTX: the assembler's time is taken out. `total` is the clock's around it all, so
it holds what no stage owns: the signature, LLVM's registry, the objects of Python.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

POINTER, WIDE = "*fp32:16", "*bf16:16"
TILES = {"BM": 128, "BN": 256, "BK": 64}
HEAD = {"D": 128, "BM": 128, "BN": 128, "EVEN": True}
WARPS = {"num_warps": 8, "num_stages": 3}
# case: function, types, constants and options
CASES: dict[str, tuple[str, list[str], dict[str, Any]]] = {
    "vector add": ("add", [POINTER] * 3 + ["i32:16"], {"BLOCK": 1024}),
    "softmax 1024": ("softmax", [POINTER] * 2 + ["i32:16"], {"BLOCK": 1024}),
    "matmul 64x64x32": (
        "matmul",
        [POINTER] * 3 + ["i32:16"] * 3,
        {"BM": 64, "BN": 64, "BK": 32},
    ),
    "matmul 128x256x64": ("matmul", [WIDE] * 3 + ["i32:16"] * 3, TILES | WARPS),
    "attention 128": (
        "attention",
        [WIDE] * 4 + ["fp32", "i32:16"],
        HEAD | WARPS | {"CAUSAL": False},
    ),
    "attention 128 causal": (
        "attention",
        [WIDE] * 4 + ["fp32", "i32:16"],
        HEAD | WARPS | {"CAUSAL": True},
    ),
}
# Milliseconds, in the order of CASES; the last three are of level 3, which sm_90a has.
BARS = {
    "cpu": (15, 40, 120),
    "cuda:sm_80": (10, 25, 80),
    "cuda:sm_90a": (10, 25, 80, 80, 150, 150),
}
ROWS = [(t, c, bar) for t, bars in BARS.items() for c, bar in zip(CASES, bars)]  # noqa: B905
IMPORT_BAR = 50
COLUMNS = ("frontend", "passes", "codegen", "llvm")


def child(case: str, target: str) -> None:
    """One sample, as JSON on stdout."""
    start = time.perf_counter()
    import tegula

    imported = time.perf_counter()
    name, types, options = CASES[case]
    if name == "attention":
        from attention import attention_kernel

        kernel = tegula.jit(attention_kernel)
    else:
        import compile_kernels

        kernel = getattr(compile_kernels, name)

    ready = time.perf_counter()
    compiled = kernel.compile(*types, **options, target=target)
    if target == "cpu":
        compiled._init_handles()
    total = (time.perf_counter() - ready) * 1e3
    ms = dict(compiled.timings)
    total -= ms.pop("ptxas")
    out = {"import": (imported - start) * 1e3, "total": total, **ms}
    print(json.dumps({"build": tegula._core.build, "ms": out}))


def sample(case: str, target: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, __file__, "--child", case, target],
        env={**os.environ, "TEGULA_CACHE_DIR": ""},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{case} for {target}:\n{done.stderr}")
    return json.loads(done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description="Compile times of fresh processes")
    parser.add_argument("--samples", type=int, default=15)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", nargs=2, metavar=("CASE", "TARGET"))
    args = parser.parse_args()
    if args.child:
        child(*args.child)
        return 0

    # The cases take turns, so that a busy moment of the machine hits all alike.
    got: dict[tuple[str, str], list[dict[str, float]]] = {}
    build = ""
    for _ in range(args.samples):
        for target, case, _ in ROWS:
            one = sample(case, target)
            build = one["build"]
            got.setdefault((target, case), []).append(one["ms"])

    def median(rows: list[dict[str, float]], column: str) -> float:
        return statistics.median(r[column] for r in rows)

    print(f"{'target':12} {'kernel':20}", *(f"{c:>9}" for c in COLUMNS), end="")
    print(f" {'total':>9} {'least':>7} {'bar':>5}   ms")
    table = []
    for target, case, bar in ROWS:
        rows = got[target, case]
        ms = {c: median(rows, c) for c in (*COLUMNS, "total")}
        least = min(r["total"] for r in rows)
        print(f"{target:12} {case:20}", *(f"{ms[c]:9.2f}" for c in COLUMNS), end="")
        print(f" {ms['total']:9.2f} {least:7.2f} {bar:5}")
        table.append({"target": target, "kernel": case, "bar": bar, **ms})
    imports = [r["import"] for rows in got.values() for r in rows]
    ms = {"median": statistics.median(imports), "least": min(imports)}
    print(
        f"import tegula: {ms['median']:.1f} (least {ms['least']:.1f}), bar {IMPORT_BAR}"
    )
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
    print(f"{args.samples} processes a row; core: {build}; load {load}")
    if args.json:
        out = {"build": build, "rows": table, "import": ms, "load": os.getloadavg()}
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(out, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
