"""``python -m tegula.profiler``: profile a script, or show a profile.

python -m tegula.profiler script.py arguments ..     runs it and shows what it launched
python -m tegula.profiler --trace script.py          each launch, for ui.perfetto.dev
python -m tegula.profiler matmul.hatchet             shows one that was kept
"""

from __future__ import annotations

import argparse
import os
import sys

from tegula import kernel_report, profiler
from tegula.profiler import viewer

METRICS = ("time/ms", "avg_time/us", "count", "gbyte/s", "gflop/s")


def run(args: argparse.Namespace) -> None:
    name = args.name or os.path.splitext(os.path.basename(args.file))[0]
    session = profiler.start(name, data="trace" if args.trace else "tree")
    try:
        kernel_report.run(args.file, args.arguments)
    finally:
        profiler.finalize(session)
    if args.trace:
        print(f"{name}.chrome_trace: open it in https://ui.perfetto.dev")
    else:
        viewer.show(f"{name}.hatchet", METRICS)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tegula.profiler",
        description="Profile a script's kernels, or show a profile.",
    )
    parser.add_argument(
        "--trace", action="store_true", help="each launch with its time"
    )
    parser.add_argument("-n", "--name", help="of the file that is written")
    parser.add_argument("file", help="script.py, or a .hatchet to show")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    args = parser.parse_args(argv)
    if args.file.endswith(".hatchet"):
        viewer.show(args.file, METRICS)
    else:
        run(args)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
