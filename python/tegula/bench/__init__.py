"""``python -m tegula bench``: the ops beside torch, torch.compile and Triton.

    python -m tegula bench                         all ops, on the GPU if there is one
    python -m tegula bench softmax matmul --device cpu
    python -m tegula bench --group memory --json new.json --compare old.json --html b.html

cases.py has the ops and their sizes, contenders.py who else solves them, timing.py how they
are measured, results.py tables and files, page.py the HTML page.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tegula.bench.timing import Row


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", help="ops; all where none is named")
    parser.add_argument("--device", choices=("cpu", "cuda"))
    parser.add_argument("--group", choices=("memory", "products"))
    parser.add_argument(
        "--beside",
        default="torch,compile,triton",
        help="who else, of those installed: torch,compile,triton, or none",
    )
    parser.add_argument("--forward", action="store_true", help="no backward passes")
    parser.add_argument(
        "--rounds", type=int, default=15, help="turns of each contender"
    )
    parser.add_argument(
        "--threads", type=int, default=0, help="of a CPU, for everybody"
    )
    parser.add_argument("--json", type=Path, help="keep the results in this file")
    parser.add_argument("--compare", type=Path, help="an older --json file")
    parser.add_argument("--html", type=Path, help="a page with plots and a roofline")


def run(
    names: Sequence[str], device: str, beside: list[str], rounds: int = 15,
    modes: tuple[str, ...] = ("forward", "backward"),
) -> list[Row]:  # fmt: skip
    """Measure these ops, printing each as it is done."""
    from tegula.bench import cases, contenders, results, timing

    clock, rows = timing.Clock(device), []
    for name in names:
        group, make = cases.CASES[name]
        problem = make(cases.Inputs(device, contenders.torch_or_none()))
        who = contenders.of(problem, beside)
        got = list(timing.measure(name, group, problem, who, clock, rounds, modes))
        print(results.table(got), flush=True)
        rows += got
    return rows


def chosen(names: Sequence[str], group: str | None) -> list[str]:
    from tegula.bench import cases

    unknown = set(names) - set(cases.CASES)
    if unknown:
        raise SystemExit(
            f"bench: no op {', '.join(sorted(unknown))}; there are "
            + ", ".join(cases.CASES)
        )
    return [
        n
        for n, (g, _) in cases.CASES.items()
        if (not names or n in names) and (not group or g == group)
    ]


def who_runs(wanted: str, device: str) -> list[str]:
    from tegula.bench import contenders

    names = [w for w in wanted.split(",") if w and w != "none"]
    unknown = set(names) - set(contenders.BESIDE)
    if unknown:
        raise SystemExit(
            f"bench: --beside takes {', '.join(contenders.BESIDE)}, "
            f"not {', '.join(sorted(unknown))}"
        )
    return [w for w in contenders.available(device) if w in names]


def command(args: argparse.Namespace) -> int:
    if importlib.util.find_spec("numpy") is None:
        raise SystemExit("bench: needs NumPy: pip install numpy")
    from tegula.bench import contenders, machine, page, results, timing

    torch = contenders.torch_or_none()
    has_gpu = torch is not None and torch.cuda.is_available()
    device = args.device or ("cuda" if has_gpu else "cpu")
    if device == "cuda" and not has_gpu:
        raise SystemExit("bench: --device cuda needs torch and a GPU")
    if args.rounds < 2:
        raise SystemExit("bench: --rounds is 2 or more: a median needs them")
    old = _read(args.compare) if args.compare else None
    names = chosen(args.names, args.group)
    begin = time.perf_counter()
    with timing.threads(args.threads if device == "cpu" else 0):
        rows = run(
            names,
            device,
            who_runs(args.beside, device),
            args.rounds,
            ("forward",) if args.forward else timing.MODES,
        )
        about = machine.describe(device, args.threads)
    print("\n" + results.table(rows))
    print("\nms: median. backward: forward and backward in one call. ratio: their time")
    print("over ours in this run, above 1 we are faster.\n")
    print(results.summary(rows))
    if any(r.who == "torch" for r in rows):
        print(results.errors(rows))
    print(f"{about['machine']}; {time.perf_counter() - begin:.0f} s")
    if old is not None:
        print("\n" + results.compare(old, rows))
    if args.json:
        results.save(args.json, about, rows)
    if args.html:
        page.save(args.html, about, rows)
    return 0


def _read(path: Path) -> list[Row]:
    from tegula.bench import results

    try:
        return results.load(path)[1]
    except (OSError, ValueError) as e:
        print(f"bench: {e}", file=sys.stderr)
        raise SystemExit(2) from None
