"""Runs the benchmarks of this folder.

python benchmarks/run.py                     all, on the GPU if there is one
python benchmarks/run.py softmax --device cpu --json out.json --plot out.png
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import harness  # noqa: E402  this folder is no package: it is not installed


def benchmarks() -> list[str]:
    """The files whose cases are of a device alone; others are programs of their own."""
    cases = re.compile(r"^def cases\(device: str\)", re.M)
    return sorted(p.stem for p in HERE.glob("*.py") if cases.search(p.read_text()))


def main() -> int:
    names = benchmarks()
    parser = argparse.ArgumentParser(description="Tegula's benchmarks")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(names)}")
    parser.add_argument("--device", choices=("cpu", "cuda"))
    parser.add_argument("--seconds", type=float, default=1.0, help="for each case")
    parser.add_argument(
        "--configs", action="store_true", help="print what every configuration took"
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    args = parser.parse_args()
    device = args.device or ("cuda" if harness.has_gpu() else "cpu")
    unknown = set(args.names) - set(names)
    if unknown:
        parser.error(
            f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(names)}"
        )

    rows = []
    for name in args.names or names:
        module = importlib.import_module(name)
        budget_ms = args.seconds * 1000
        rows += harness.run(module.cases(device), device, budget_ms, args.configs)
    env = harness.environment(device)
    print(harness.show(rows))
    print("\n" + ", ".join(f"{k} {v}" for k, v in env.items()))
    if env["build"] != "release":
        print(
            "NOTE: not a release build (make build): launches are slower than they are"
        )
    if args.json:
        harness.save(args.json, env, rows)
    if args.plot:
        harness.plot(args.plot, env, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
