"""The first call of a kernel in a new process that finds it in the cache on disk.

python benchmarks/first_call.py                 medians of 11 processes a row

A process imports tegula and the file of the kernel, and then asks for the variant:
frontend, look-up, for the CPU also machine code in memory. What follows is a launch.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

POINTER, INT = "*fp32:16", "i32:16"
TARGETS = ("cpu", "cuda:sm_90a")
TILE = {"BM": 64, "BN": 64, "BK": 32}
# file: function: types, constants
KERNELS = {
    "vector_add:add_kernel": ([POINTER] * 3 + [INT], {"BLOCK": 1024}),
    "softmax:softmax_kernel": ([POINTER] * 2 + [INT], {"BLOCK": 1024}),
    "layer_norm:layer_norm_kernel": ([POINTER] * 4 + [INT, "fp32"], {"BLOCK": 1024}),
    "compile_kernels:matmul": ([POINTER] * 3 + [INT] * 3, TILE),
    "matmul:matmul_kernel": ([POINTER] * 3 + [INT] * 3, {**TILE, "GROUP": 8}),
    "grouped:pointers": (["*i64:16", INT], {**TILE, "PROGRAMS": 132, "T": "float16"}),
    "grouped:descriptors": (
        ["*i64:16", INT],
        {**TILE, "PROGRAMS": 132, "T": "float16"},
    ),
    "attention:attention_kernel": (
        ["*fp16:16"] * 4 + ["fp32", INT],
        {"D": 64, "BM": 128, "BN": 64, "CAUSAL": True, "EVEN": True},
    ),
}


def child(case: str, target: str) -> None:
    """One sample: milliseconds, those of the thread, and whether the disk had it."""
    import tegula
    import tegula.language as tl

    module, name = case.split(":", 1)
    fn = getattr(__import__(module), name)
    kernel = fn if hasattr(fn, "compile") else tegula.jit(fn)
    types, constants = KERNELS[case]
    given = {k: getattr(tl, v) if k == "T" else v for k, v in constants.items()}
    start, cpu = time.perf_counter(), time.thread_time()
    compiled = kernel.compile(*types, target=target, **given)
    if target == "cpu":
        compiled._init_handles()
    wall, cpu = time.perf_counter() - start, time.thread_time() - cpu
    print(wall * 1e3, cpu * 1e3, compiled.metadata.from_disk)


def sample(case: str, target: str, folder: str) -> tuple[float, float, bool]:
    done = subprocess.run(
        [sys.executable, __file__, "--child", case, target],
        env={**os.environ, "TEGULA_CACHE_DIR": folder},
        capture_output=True,
        text=True,
        check=True,
    )
    wall, cpu, from_disk = done.stdout.split()
    return float(wall), float(cpu), from_disk == "True"


def main() -> int:
    parser = argparse.ArgumentParser(description="First calls with a warm cache")
    parser.add_argument("--samples", type=int, default=11)
    parser.add_argument("--child", nargs=2, metavar=("CASE", "TARGET"))
    args = parser.parse_args()
    if args.child:
        child(*args.child)
        return 0
    rows = [(case, target) for case in KERNELS for target in TARGETS]
    got: dict[tuple[str, str], list[tuple[float, float]]] = {row: [] for row in rows}
    with tempfile.TemporaryDirectory() as folder:
        cold = {row: sample(*row, folder)[0] for row in rows}
        for _ in range(args.samples):
            for row in rows:
                *ms, from_disk = sample(*row, folder)
                assert from_disk, f"{row} was compiled again"
                got[row].append((ms[0], ms[1]))
    print(f"{'ms':42}{'cold':>9}{'median':>9}{'worst':>9}{'CPU time':>9}{'worst':>9}")
    every: list[tuple[float, float]] = []
    for (case, target), ms in got.items():
        every += ms
        print(f"{case:28}{target:14}{cold[case, target]:9.1f}{columns(ms)}")
    print(f"{'all':51}{columns(every)}")
    return 0


def columns(ms: list[tuple[float, float]]) -> str:
    """Median and worst of the clock's, and of the thread's own time."""
    numbers = [f(x) for x in zip(*ms, strict=True) for f in (statistics.median, max)]
    return "".join(f"{x:9.2f}" for x in numbers)


if __name__ == "__main__":
    sys.exit(main())
