"""Draws docs/_static/speed.svg, which the README shows, and the halves of it in tutorials/,
which notebooks show, from the tables of benchmarks/README.md:

    python docs/plot.py

Nothing is typed in here but which rows are shown, and the two ceilings, which are NVIDIA's
for an H200: what its memory moves, and what its tensor cores do with 16-bit operands.
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]

COLORS = {"Tegula": "#b3441e", "Triton": "#7a8da3", "torch": "#c9d2dc"}
LEFT, BAR, GAP, WIDTH = 168, 10, 8, 250  # of a panel, in pixels
TOP, FOOT = 74, 40


class Panel(NamedTuple):
    title: str
    unit: str
    ceiling: float
    ceiling_name: str
    rows: list[tuple[str, dict[str, float]]]  # label, {contender: number}


def table(text: str, head: str) -> list[dict[str, str]]:
    """The rows of the table whose first line begins with head."""
    lines = text[text.index("\n" + head) + 1 :].split("\n\n", 1)[0].splitlines()
    names, _, *rows = (
        [c.strip() for c in line.strip("|").split("|")] for line in lines
    )
    return [dict(zip(names, row, strict=True)) for row in rows]


def memory(text: str) -> Panel:
    shown = {
        "add 2^27 f32": "add, 2^27 f32",
        "softmax 8192x4096 bf16": "softmax 4096",
        "softmax 4096x32768 bf16": "softmax 32768",
        "layer_norm 4096x8192 bf16": "layer norm 8192",
        "cross_entropy 4096x32000 bf16": "cross entropy 32000",
        "cumsum 16384x4096 f32": "cumsum 4096 f32",
        "transpose 8192^2 f32": "transpose 8192^2 f32",
    }
    found = {
        r["kernel"]: r for r in table(text, "| kernel | Tegula | Triton | torch |")
    }
    rows = [
        (label, {c: float(found[name][c]) / 1000 for c in COLORS})
        for name, label in shown.items()
    ]
    return Panel("Bound by memory, bf16", "TB/s", 4.8, "memory 4.8 TB/s", rows)


def products(text: str) -> Panel:
    found = {
        r["work, bf16 where nothing else stands"]: r
        for r in table(text, "| work, bf16")
    }
    rows = [
        (f"matmul {name}", {c: float(found[name][c]) for c in COLORS})
        for name in ("8192^3", "4096^3", "2048^3")
    ]
    for r in table(text, "| D | | Tegula |"):
        numbers = {"Tegula": r["Tegula"], "Triton": r["Triton"], "torch": r["cuDNN"]}
        label = f"attention {r['D']}{', causal' * (r[''] == 'causal')}"
        rows.append((label, {c: float(n) for c, n in numbers.items()}))
    return Panel(
        "Bound by tensor cores, bf16", "TFLOP/s", 989, "peak 989 TFLOP/s", rows
    )


def line(x: float, y: float, text: str, size: int = 12, **more: str) -> str:
    style = "".join(f' {k.replace("_", "-")}="{v}"' for k, v in more.items())
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}"{style}>{escape(text)}</text>'
    )


def bars(x0: int, y: int, row: tuple[str, dict[str, float]], p: Panel) -> list[str]:
    label, numbers = row
    out = [line(x0 + LEFT - 8, y + 18, label, text_anchor="end")]
    for i, (name, n) in enumerate(numbers.items()):
        width, top = WIDTH * n / p.ceiling, y + i * BAR
        out.append(
            f'<rect x="{x0 + LEFT}" y="{top}" width="{width:.1f}" height="{BAR - 1}" '
            f'fill="{COLORS[name]}"><title>{name}: {n:g} {p.unit}</title></rect>'
        )
        if name == "Tegula":
            more = {"font_weight": "bold", "fill": COLORS[name]}
            at = x0 + LEFT + width + 4
            if width > WIDTH - 32:  # the ceiling stands there
                at, more = at - 7, {"text_anchor": "end", "fill": "#fff"}
            out.append(line(at, top + 9, f"{n:.3g}", 10, **more))
    return out


def panel(x0: int, p: Panel) -> list[str]:
    out = [line(x0 + LEFT, TOP - 18, f"{p.title} ({p.unit})", 13, font_weight="bold")]
    y = TOP
    for row in p.rows:
        out += bars(x0, y, row, p)
        y += 3 * BAR + GAP
    end = x0 + LEFT + WIDTH
    out.append(
        f'<line x1="{end}" y1="{TOP - 6}" x2="{end}" y2="{y}" stroke="#444" '
        'stroke-dasharray="3 3"/>'
    )
    return [*out, line(end, y + 14, p.ceiling_name, 11, text_anchor="end", fill="#444")]


def legend(x: int) -> list[str]:
    out = []
    labels = {"Tegula": "Tegula", "Triton": "Triton 3.6", "torch": "torch 2.11"}
    for name, color in COLORS.items():
        out.append(f'<rect x="{x}" y="18" width="11" height="11" fill="{color}"/>')
        out.append(line(x + 16, 28, labels[name]))
        x += 100
    return [*out, line(x + 10, 28, "one H200, medians, in turn", 11, fill="#444")]


def svg(panels: list[Panel]) -> str:
    width = len(panels) * (LEFT + WIDTH + 20) + 20
    height = TOP + max(len(p.rows) for p in panels) * (3 * BAR + GAP) + FOOT
    body = legend(LEFT + 10 if len(panels) > 1 else 8)
    for i, p in enumerate(panels):
        body += panel(i * (LEFT + WIDTH + 20), p)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" font-family="Helvetica, Arial, sans-serif" fill="#222">',
            f'<rect width="{width}" height="{height}" rx="8" fill="#fff"/>',
            *body,
            "</svg>\n",
        ]
    )


def pictures() -> dict[str, str]:
    """Their files and texts."""
    text = (ROOT / "benchmarks/README.md").read_text(encoding="utf-8")
    rows, dots = memory(text), products(text)
    return {
        "docs/_static/speed.svg": svg([rows, dots]),
        "tutorials/h200_rows.svg": svg([rows]),
        "tutorials/h200_products.svg": svg([dots]),
    }


def main() -> int:
    for name, text in pictures().items():
        (ROOT / name).write_text(text)
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
