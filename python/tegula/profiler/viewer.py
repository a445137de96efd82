"""Profiles as text: ``viewer.show("matmul.hatchet")``."""

from __future__ import annotations

import json
from typing import Any

_UNIT = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0}


def _time(metrics: dict[str, float]) -> float:
    return metrics.get("time (ns)", 0.0)


def _value(node: dict[str, Any], metric: str) -> float:
    """time/ms, avg_time/us, count, tflop/s, gbyte/s, or a number of the profile."""
    own: dict[str, float] = dict(node["metrics"])
    for child in node["children"]:
        for key in ("time (ns)", "count", "bytes", "flops"):
            own[key] = own.get(key, 0) + _value(child, key)
    name, _, unit = metric.partition("/")
    if name in ("time", "avg_time") and unit in _UNIT:
        n = own.get("count", 1) if name == "avg_time" else 1
        return _time(own) / _UNIT[unit] / (n or 1)
    scale = {"t": 1e12, "g": 1e9, "m": 1e6}.get(name[:1])
    if unit == "s" and scale:
        what = name[1:]
        amount = own.get("bytes" if what == "byte" else f"{what}s", 0)
        if what == "flop" and not amount:
            amount = sum(own.get(f"flops{bits}", 0) for bits in (8, 16, 32, 64))
        seconds = _time(own) / 1e9
        return amount / seconds / scale if seconds else 0.0
    return own.get(metric, 0.0)


def parse(
    metrics: list[str], filename: str, *_: Any
) -> tuple[dict[str, Any], list[str]]:
    """The profile in a file, for ``print_tree``."""
    with open(filename) as f:
        return json.load(f)[0], list(metrics)


def print_tree(tree: dict[str, Any], metrics: list[str], *_: Any) -> None:
    """A line for each scope and kernel, its metrics in front."""

    def line(node: dict[str, Any], depth: int) -> None:
        shown = "  ".join(f"{_value(node, m):12.3f}" for m in metrics)
        print(f"{shown}  {'  ' * depth}{node['frame']['name']}")
        for child in node["children"]:
            line(child, depth + 1)

    print("  ".join(f"{m:>12}" for m in metrics))
    line(tree, 0)


def show(
    filename: str, metrics: tuple[str, ...] = ("time/ms", "avg_time/us", "count")
) -> None:
    """Print a profile."""
    print_tree(*parse(list(metrics), filename))
