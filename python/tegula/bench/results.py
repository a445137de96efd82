"""A run's rows: as a table, kept as JSON, beside an older run's."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tegula.bench.timing import Row

Key = tuple[str, str]
HEAD = ("op", "", "who", "ms", "+-", "GB/s", "TFLOP/s", "error", "ratio")


def by_case(rows: Iterable[Row]) -> dict[Key, dict[str, Row]]:
    out: dict[Key, dict[str, Row]] = {}
    for r in rows:
        out.setdefault((r.name, r.mode), {})[r.who] = r
    return out


def ratio(case: dict[str, Row], who: str) -> float | None:
    """Their time over ours in the same run: above 1, we are faster."""
    ours, theirs = case.get("tegula"), case.get(who)
    return theirs.ms / ours.ms if ours and theirs and ours.ms and theirs.ms else None


def _cells(case: dict[str, Row], row: Row) -> tuple[str, ...]:
    if row.why:
        return (row.name, row.mode, row.who, "", "", "", "", "", row.why)
    found = ratio(case, row.who)
    return (
        row.name,
        row.mode,
        row.who,
        f"{row.ms:.4g}",
        f"{row.spread:.0%}",
        "" if row.flops else f"{row.gb_per_s:.0f}",
        f"{row.tflop_per_s:.3g}" if row.flops else "",
        "" if row.error is None else f"{row.error:.1e}",
        "" if found is None or row.who == "tegula" else f"{found:.2f}",
    )


def columns(lines: Sequence[Sequence[str]], left: int) -> str:
    """Lines of cells below each other, the first `left` cells and the last to the left."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            c.ljust(w) if i < left or (i and i == len(line) - 1) else c.rjust(w)
            for i, (c, w) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def table(rows: Iterable[Row]) -> str:
    cases = by_case(rows)
    return columns(
        [HEAD, *(_cells(c, r) for c in cases.values() for r in c.values())], 3
    )


# --- how the ops stand ------------------------------------------------------------------
def geometric_mean(xs: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, xs)) / len(xs)) if xs else 0.0


def ratios(rows: Iterable[Row], who: str, group: str = "") -> dict[Key, float]:
    out = {}
    for key, case in by_case(rows).items():
        found = ratio(case, who)
        if found and (not group or case["tegula"].group == group):
            out[key] = found
    return out


def summary(rows: Sequence[Row]) -> str:
    """A line for each group and contender: geometric mean, the least and where it is."""
    lines = []
    for group in dict.fromkeys(r.group for r in rows):
        for who in dict.fromkeys(r.who for r in rows if r.who != "tegula"):
            found = ratios(rows, who, group)
            if not found:
                continue
            least = min(found, key=lambda k: found[k])
            lines.append(
                f"{group}: {geometric_mean(list(found.values())):.2f} of {who} in the "
                f"geometric mean of {len(found)}; least {found[least]:.2f}, "
                f"{' '.join(least)}"
            )
    return "\n".join(lines)


def errors(rows: Iterable[Row], most: float = 1.5) -> str:
    """The cases whose error is more than `most` of torch's own in the same type."""
    lines = []
    for key, case in by_case(rows).items():
        ours, theirs = case.get("tegula"), case.get("torch")
        if ours and theirs and ours.error is not None and theirs.error is not None:
            if ours.error > most * theirs.error:
                lines.append(
                    f"{' '.join(key)}: {ours.error:.1e}, torch {theirs.error:.1e}"
                )
    if not lines:
        return f"no error is more than {most} of torch's"
    return f"errors of more than {most} of torch's: " + "; ".join(lines)


# --- files --------------------------------------------------------------------------------
def save(path: Path, run: dict[str, Any], rows: Iterable[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = {"run": run, "rows": [asdict(r) for r in rows]}
    path.write_text(json.dumps(data, indent=1) + "\n")


def load(path: Path) -> tuple[dict[str, Any], list[Row]]:
    """ValueError unless the file is one that ``--json`` wrote."""
    try:
        data = json.loads(path.read_text())
        return data["run"], [Row(**r) for r in data["rows"]]
    except (KeyError, TypeError, json.JSONDecodeError) as e:
        raise ValueError(f"{path} holds no results of python -m tegula bench") from e


def compare(old: Sequence[Row], new: Sequence[Row]) -> str:
    """Our times then and now. A machine's pace changes from run to run, so the last column
    takes torch's own time in both runs as the measure, where both have it."""
    before = by_case(old)
    lines: list[tuple[str, ...]] = [
        ("op", "", "ms then", "ms now", "then / now", "by torch")
    ]
    for key, case in by_case(new).items():
        was, now = before.get(key, {}).get("tegula"), case.get("tegula")
        if not was or not now or not was.ms or not now.ms:
            continue
        a, b = ratio(before[key], "torch"), ratio(case, "torch")
        fair = f"{b / a:.2f}" if a and b else ""
        lines.append(
            (*key, f"{was.ms:.4g}", f"{now.ms:.4g}", f"{was.ms / now.ms:.2f}", fair)
        )
    if len(lines) == 1:
        return "The two runs have no case in common."
    return columns(lines, 2)
