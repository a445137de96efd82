"""Both sides and what differs: `make against-triton`.

    run.py [--out DIR] [--triton PYTHON] [--match REGEX] [--part I/N] [-j N] [--seconds S]

Where torch sees a GPU, both sides run on it. Elsewhere Triton's compiler makes PTX without
one, and build/libptxsim.so interprets that and Tegula's. Without Triton there is nothing to
do: that is said, and is no failure.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def can(python: str, what: str) -> bool:
    done = subprocess.run([python, "-c", what], capture_output=True, check=False)
    return done.returncode == 0


def main() -> int:
    p = argparse.ArgumentParser()
    p.add_argument("--out", type=Path, default=ROOT / "build" / "against_triton")
    p.add_argument("--triton", default=sys.executable, help="a Python that has it")
    p.add_argument("--match", default="", help="cases to run, a regular expression")
    p.add_argument(
        "--part", default="1/1", help="2/3: the second of every three kernels"
    )
    p.add_argument("-j", type=int, default=max(1, (os.cpu_count() or 2) - 1))
    p.add_argument("--seconds", type=float, default=1e9, help="for both sides together")
    p.add_argument("--show", default="60", help="differences to print")
    a = p.parse_args()
    # Tegula under Triton's name would agree with itself.
    if not can(a.triton, "import triton._C.libtriton"):
        print(f"against-triton: {a.triton} has no triton; nothing is compared")
        return 0
    gpu = "import torch, sys; sys.exit(not torch.cuda.is_available())"
    device = "cuda" if can(a.triton, gpu) and can(sys.executable, gpu) else "sim"
    if device == "sim" and not (ROOT / "build" / "libptxsim.so").exists():
        print("against-triton: neither a GPU nor build/libptxsim.so (make ptxsim)")
        return 1
    os.environ.setdefault("TRITON_DISABLE_LINE_INFO", "1")
    end = time.monotonic() + a.seconds
    for side, python, share in (
        ("tegula", sys.executable, 0.4),
        ("triton", a.triton, 1.0),
    ):
        seconds = str((end - time.monotonic()) * share)
        how = [
            "--device",
            device,
            "--out",
            str(a.out),
            "-j",
            str(a.j),
            "--part",
            a.part,
        ]
        how += ["--match", a.match, "--seconds", seconds]
        subprocess.run([python, str(HERE / "half.py"), side, *how], check=True)
    compare = [sys.executable, str(HERE / "compare.py"), str(a.out), "--show", a.show]
    return subprocess.run(compare, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
