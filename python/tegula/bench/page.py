"""One HTML page of a run: bars beside the others, a roofline, the table. No dependency."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tegula.bench import results
from tegula.bench.timing import Row

COLOURS = {
    "tegula": "#1f6feb",
    "torch": "#d9730d",
    "compile": "#8250df",
    "triton": "#1a7f37",
}
STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;
padding:0 1rem;color:#1f2328}table{border-collapse:collapse;font-size:13px}
td,th{padding:.15rem .6rem;text-align:right;border-bottom:1px solid #d8dee4}
td:nth-child(-n+3),th:nth-child(-n+3){text-align:left}svg{width:100%;height:auto}
svg text{font:11px system-ui,sans-serif;fill:#1f2328}.wide{overflow-x:auto}
.axis{stroke:#8c959f;stroke-width:1}.grid{stroke:#eaeef2;stroke-width:1}"""


def text(x: float, y: float, s: str, anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(s)}</text>'
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "axis") -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def svg(width: int, height: int, parts: Sequence[str], title: str) -> str:
    name = html.escape(title)
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{name}">'
        f"<title>{name}</title>{''.join(parts)}</svg>"
    )


# --- bars: their time over ours ----------------------------------------------------------
def bars(rows: Sequence[Row]) -> str:
    cases = results.by_case(rows)
    others = [w for w in dict.fromkeys(r.who for r in rows) if w != "tegula"]
    found = [
        (key, who, r)
        for key, case in cases.items()
        for who in others
        if (r := results.ratio(case, who))
    ]
    if not found:
        return "<p>Nobody else ran.</p>"
    left, right, step = 190, 880, 15
    most = max(1.25, *(min(r, 6.0) for *_, r in found))

    def x(r: float) -> float:
        return left + (right - left) * min(r, most) / most

    parts, y, last = [], 30.0, None
    for key, who, r in found:
        if key != last:
            y += 6
            parts.append(text(left - 8, y + 10, " ".join(key), "end"))
            last = key
        parts.append(
            f'<rect x="{left}" y="{y:.1f}" width="{x(r) - left:.1f}" height="{step - 3}" '
            f'fill="{COLOURS.get(who, "#57606a")}"/>'
        )
        parts.append(text(x(r) + 5, y + 10, f"{r:.2f}"))
        y += step
    parts.append(line(x(1), 24, x(1), y + 4))
    parts.append(text(x(1), 18, "as fast as we", "middle"))
    for i, who in enumerate(others):
        parts.append(
            f'<rect x="{600 + 110 * i}" y="4" width="10" height="10" '
            f'fill="{COLOURS.get(who, "#57606a")}"/>' + text(614 + 110 * i, 13, who)
        )
    return svg(940, int(y) + 12, parts, "Their time over ours")


# --- the roofline -----------------------------------------------------------------------
class Log:
    """A logarithmic axis from value low..high to place at..to."""

    def __init__(self, low: float, high: float, at: float, to: float) -> None:
        self.low, self.high, self._at, self._to = low, high, at, to

    def __call__(self, v: float) -> float:
        span = math.log(self.high / self.low)
        share = math.log(max(v, self.low) / self.low) / span
        return self._at + (self._to - self._at) * min(share, 1.0)

    def decades(self) -> list[float]:
        first = math.ceil(math.log10(self.low) - 1e-9)
        last = math.floor(math.log10(self.high) + 1e-9)
        return [10.0**i for i in range(first, last + 1)]


def intensity(row: Row) -> float:
    """Operations for a byte; one for each element where only bytes are counted."""
    return (row.flops or row.n_bytes / 4) / row.n_bytes


def roofline(rows: Sequence[Row], run: dict[str, Any]) -> str:
    """TFLOP/s over operations for a byte, below the machine's two ceilings."""
    gb, tflop = run.get("peak_gb_per_s") or 0.0, run.get("peak_tflop_per_s") or 0.0
    timed = [r for r in rows if r.ms and r.n_bytes]
    if not (gb and tflop and timed):
        return "<p>The ceilings of this machine are not known.</p>"
    rates = {id(r): intensity(r) * r.gb_per_s / 1e3 for r in timed}
    ridge = tflop * 1e3 / gb
    across = Log(0.1, max(10 * ridge, 2 * max(map(intensity, timed))), 60, 900)
    up = Log(min(rates.values()) / 3, max(tflop, *rates.values()) * 2, 420, 20)
    parts = [line(60, 420, 900, 420), line(60, 420, 60, 20)]
    for v in across.decades():
        parts.append(line(across(v), 420, across(v), 20, "grid"))
        parts.append(text(across(v), 436, f"{v:g}", "middle"))
    for v in up.decades():
        parts.append(line(60, up(v), 900, up(v), "grid"))
        parts.append(text(54, up(v) + 4, f"{v:g}", "end"))
    start = max(across.low, up.low * 1e3 / gb)
    parts.append(line(across(start), up(start * gb / 1e3), across(ridge), up(tflop)))
    parts.append(line(across(ridge), up(tflop), 900, up(tflop)))
    parts.append(text(895, up(tflop) - 6, f"{tflop:.3g} TFLOP/s", "end"))
    parts.append(text(66, 34, f"{gb:.0f} GB/s along the slope"))
    for r in timed:
        what = f"{r.name} {r.mode}, {r.who}: {r.ms:.3g} ms"
        parts.append(
            f'<circle cx="{across(intensity(r)):.1f}" cy="{up(rates[id(r)]):.1f}" r="4" '
            f'fill="{COLOURS.get(r.who, "#57606a")}" fill-opacity=".75">'
            f"<title>{html.escape(what)}</title></circle>"
        )
    parts.append(text(480, 454, "operations for a byte", "middle"))
    parts.append(text(8, 14, "TFLOP/s"))
    return svg(940, 462, parts, "Roofline")


# --- the page ---------------------------------------------------------------------------
def rows_table(rows: Sequence[Row]) -> str:
    out = ["<tr>" + "".join(f"<th>{h}</th>" for h in results.HEAD) + "</tr>"]
    for case in results.by_case(rows).values():
        for row in case.values():
            cells = results._cells(case, row)
            out.append(
                "<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in cells) + "</tr>"
            )
    return f'<div class="wide"><table>{"".join(out)}</table></div>'


def page(run: dict[str, Any], rows: Sequence[Row]) -> str:
    title = f"Tegula's ops on {run.get('machine', 'this machine')}"
    facts = ", ".join(f"{k} {v}" for k, v in run.get("versions", {}).items())
    told = "<br>".join(html.escape(s) for s in results.summary(rows).split("\n"))
    return (
        '<!DOCTYPE html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style>"
        f"<h1>{html.escape(title)}</h1><p>{html.escape(facts)}</p><p>{told}</p>"
        "<h2>Their time over ours</h2><p>Contenders took turns, caches cold, medians. "
        "A bar beyond the line is slower than we are.</p>"
        f"{bars(rows)}<h2>Roofline</h2><p>A point names its op when the pointer rests on "
        f"it.</p>{roofline(rows, run)}<h2>All rows</h2>{rows_table(rows)}</html>\n"
    )


def save(path: Path, run: dict[str, Any], rows: Sequence[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(run, rows), encoding="utf-8")
