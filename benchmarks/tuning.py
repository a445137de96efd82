"""Seconds from the first call of an autotuned product to its result, caches empty.

python benchmarks/tuning.py [--sides 512 1024 4096]    on a GPU; Triton too, if installed

Each row is a process of its own: import is not counted, the compiles of 24 configurations
and their timings are.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time

# BM, BN, BK, warps, stages
BLOCKS = (
    (128, 256, 64, 8, 3), (64, 256, 32, 4, 4), (128, 128, 32, 4, 4), (128, 64, 32, 4, 4),
    (64, 128, 32, 4, 4), (128, 32, 32, 4, 4), (64, 32, 32, 2, 5), (32, 64, 32, 2, 5),
    (128, 256, 128, 8, 3), (256, 128, 128, 8, 3), (256, 64, 128, 4, 4),
    (64, 256, 128, 4, 4),
    (128, 128, 128, 4, 4), (128, 64, 64, 4, 4), (64, 128, 64, 4, 4), (128, 32, 64, 4, 4),
    (256, 128, 64, 8, 3), (128, 128, 64, 4, 3), (128, 128, 64, 8, 4), (64, 64, 64, 4, 5),
    (64, 64, 32, 4, 3), (256, 64, 32, 8, 3), (128, 256, 32, 8, 4), (32, 128, 64, 4, 4),
)  # fmt: skip


def child(name: str, side: int) -> None:
    import matmul
    import torch

    import harness
    import tegula

    library, kernel = tegula, tegula.jit(matmul.matmul_kernel)
    if name == "triton":
        import triton

        library, kernel = triton, harness.triton_kernel(matmul.matmul_kernel, "cuda")
    configs = [
        library.Config(
            {"BM": m, "BN": n, "BK": k, "GROUP": 8}, num_warps=warps, num_stages=stages
        )
        for m, n, k, warps, stages in BLOCKS
    ]
    tuned = library.autotune(configs, key=["M", "N", "K"])(kernel)
    a, b = torch.randn(2, side, side, device="cuda", dtype=torch.float16)
    c, want = torch.full_like(a, float("nan")), a @ b
    torch.cuda.synchronize()
    start = time.perf_counter()
    tuned[lambda given: matmul.grid(side, given)](
        a, b, c, side, side, side, ACC=library.language.float32
    )
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    torch.testing.assert_close(c, want, rtol=1e-2, atol=1e-1)
    print(f"{name:8}{side:6}^3{seconds:9.2f} s  {tuned.best_config}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Cold autotuning of a product")
    parser.add_argument("--sides", type=int, nargs="+", default=[512, 1024, 4096])
    parser.add_argument("--child", nargs=2, metavar=("NAME", "SIDE"))
    args = parser.parse_args()
    if args.child:
        child(args.child[0], int(args.child[1]))
        return 0
    names = [n for n in ("tegula", "triton") if importlib.util.find_spec(n)]
    for side in args.sides:
        for name in names:
            with tempfile.TemporaryDirectory() as folder:
                caches = {"TEGULA_CACHE_DIR": folder, "TRITON_CACHE_DIR": folder}
                subprocess.run(
                    [sys.executable, __file__, "--child", name, str(side)],
                    env={**os.environ, **caches},
                    check=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
