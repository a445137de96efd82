"""What differs between two sides' answers.

    compare.py DIR          DIR/triton.jsonl beside DIR/tegula.jsonl

Prints a table, a line per area, and what differs; writes DIR/differences/, a file each.
Equal is: the same bits, any NaN for any NaN; or refused by both.
"""

from __future__ import annotations

import argparse
import base64
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import areas as all_cases
import deliberate
from case import Array, Case, decode
from element_types import FORMATS, storage

Answer = dict[str, Any]
# What is a difference. That Tegula takes more is none, if only Triton says so itself.
BAD = ["type", "value", "we refuse", "crash", "hang"]


def unpack(slot: list) -> np.ndarray:
    return np.frombuffer(base64.b64decode(slot[2]), storage(slot[0]))


def bits(x: np.ndarray) -> np.ndarray:
    return x.view(f"u{x.itemsize}")


def is_nan(x: np.ndarray, dtype: str) -> np.ndarray:
    v = decode(x, dtype)
    return (
        np.isnan(v)
        if dtype in FORMATS or v.dtype.kind == "f"
        else np.zeros(len(v), bool)
    )


def unequal(dtype: str, x: np.ndarray, y: np.ndarray, ulp: float = 0) -> np.ndarray:
    """Where two results differ: any NaN is equal to any other, floats may be ulp apart."""
    differ = (bits(x) != bits(y)) & ~(is_nan(x, dtype) & is_nan(y, dtype))
    if 0 < ulp < 1:
        return differ & ~np.isclose(x, y, rtol=ulp, atol=1e-6, equal_nan=True)
    if ulp and dtype in ("float32", "float64"):
        # As integers floats are in order; what is negative runs the other way.
        signed = [bits(v).astype(object) for v in (x[differ], y[differ])]
        top = 1 << 8 * x.itemsize - 1
        a, b = (np.where(v < top, v, top - v) for v in signed)
        differ[differ] = (np.abs(a - b) > ulp) | (
            is_nan(x, dtype)[differ] | is_nan(y, dtype)[differ]
        )
    return differ


def slack(case: Case, slot: list) -> float:
    """Last places that this result may be off; below 1 a share of it."""
    return 1e-5 if slot[-1] in case.near else case.ulp


def verdict(case: Case, theirs: Answer, ours: Answer) -> str:
    """The kind of a difference, "" where there is none."""
    s, t = theirs["status"], ours["status"]
    for status in ("late", "fault"):
        if status in (s, t):
            return status
    if t in ("crash", "hang"):
        return t
    if s != "ok" or t != "ok":
        return (
            ""
            if s != "ok" and t != "ok"
            else "we refuse"
            if s == "ok"
            else "they refuse"
        )
    for a, b in zip(theirs["slots"], ours["slots"], strict=True):
        if a[:2] != b[:2]:
            return "type"
        if unequal(a[0], unpack(a), unpack(b), slack(case, a)).any():
            return "value"
    return ""


def apart(
    case: Case, kind: str, theirs: Answer, ours: Answer
) -> list[deliberate.Apart]:
    """Each result that differs; of one of another type no elements."""
    found = []
    for a, b in (
        zip(theirs["slots"], ours["slots"], strict=True)
        if kind in ("value", "type")
        else ()
    ):
        x, y = unpack(a), unpack(b)
        if kind == "value":
            at = np.flatnonzero(unequal(a[0], x, y, slack(case, a)))
        else:
            at = np.zeros(int(a[:2] != b[:2]), int)
        if len(at):
            x, y = decode(x, a[0]), decode(y, b[0])
            some = (x[at], y[at]) if kind == "value" else (x[:0], y[:0])
            found.append(deliberate.Apart(case, b[0], at, *some, a[0], y))
    return found


def shown(slot: list) -> str:
    return f"{slot[0]}{slot[1]}"


def brief(case: Case, kind: str, theirs: Answer, ours: Answer) -> str:
    if kind == "we refuse":
        return ours.get("why", "")
    if kind == "they refuse":
        return theirs.get("why", theirs["status"])
    if kind not in ("type", "value"):
        return ""
    for i, (a, b) in enumerate(zip(theirs["slots"], ours["slots"], strict=True)):
        if a[:2] != b[:2]:
            return f"{shown(a)} there, {shown(b)} here"
        x, y = unpack(a), unpack(b)
        bad = np.flatnonzero(unequal(a[0], x, y, slack(case, a)))
        if len(bad):
            k = bad[0]
            u, v = decode(x, a[0])[k], decode(y, a[0])[k]
            return (
                f"{a[0]} [{k}]: {u} there, {v} here; {len(bad)} of {len(x)}; result {i}"
            )
    return ""


def report(case: Case, kind: str, theirs: Answer, ours: Answer) -> str:
    """All of a difference: the kernel, what it was given, what came out."""
    lines = [f"{case.name}: {kind}", "", case.body, ""]
    lines += [f"{a}" for a in case.args]
    for name, answer in (("Triton", theirs), ("Tegula", ours)):
        lines.append(f"{name}: {answer['status']} {answer.get('why', '')}")
    if kind == "value":
        for i, (a, b) in enumerate(zip(theirs["slots"], ours["slots"], strict=True)):
            x, y = unpack(a), unpack(b)
            for k in np.flatnonzero(unequal(a[0], x, y, slack(case, a)))[:32]:
                given = [
                    f"{p.name}={decode(case.elements(p), p.dtype)[k]!r}"
                    for p in case.args
                    if isinstance(p, Array) and k < p.n
                ]
                u, v = decode(x, a[0])[k], decode(y, a[0])[k]
                lines.append(
                    f"result {i} {shown(a)} [{k}]: {u!r} there ({bits(x)[k]:#x}), "
                    f"{v!r} here ({bits(y)[k]:#x}); {' '.join(given)}"
                )
    elif kind == "type":
        lines += [
            f"{shown(a)} there, {shown(b)} here"
            for a, b in zip(theirs["slots"], ours["slots"], strict=True)
        ]
    return "\n".join(lines) + "\n"


def read(path: Path) -> dict[str, Answer]:
    answers = (json.loads(line) for line in path.open())
    return {a["name"]: a for a in answers}


def main() -> int:
    p = argparse.ArgumentParser()
    p.add_argument("dir", type=Path)
    p.add_argument(
        "--simulated",
        action="store_true",
        help="Tegula's answers are the simulated GPU's, Triton's a real one's",
    )
    p.add_argument("--show", type=int, default=60, help="differences to print")
    a = p.parse_args()
    theirs, ours = read(a.dir / "triton.jsonl"), read(a.dir / "tegula.jsonl")
    folder = a.dir / "differences"
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    table: dict[str, Counter] = {}
    found: dict[tuple[str, str], list[str]] = {}
    known: Counter = Counter()
    changed = 0  # cases that the two sides knew in different forms
    for case in all_cases.make():
        if case.name not in theirs or case.name not in ours:
            continue
        s, t = theirs[case.name], ours[case.name]
        if s["of"] and t["of"] and s["of"] != t["of"]:
            changed += 1
            continue
        area = case.name.split("/")[0]
        count = table.setdefault(area, Counter())
        kind = verdict(case, s, t)
        if not kind:
            count["same" if s["status"] == "ok" else "both refuse"] += 1
            continue
        if kind not in ("late", "fault") and (
            why := deliberate.reason(
                case.name, kind, apart(case, kind, s, t), a.simulated
            )
        ):
            count["meant"] += 1
            known[why] += 1
            continue
        count[kind] += 1
        if kind in ("late", "fault"):
            continue
        stem = re.sub(r"[^\w.+-]", "_", case.name)
        (folder / f"{stem}.txt").write_text(report(case, kind, s, t))
        what = brief(case, kind, s, t)
        found.setdefault((case.name.rsplit("/", 1)[0], kind), []).append(
            f"{case.name.rsplit('/', 1)[1]}: {what}"
        )
    heads = ["same", "both refuse", "meant", *BAD, "they refuse", "late", "fault"]
    print(f"{'':20}" + "".join(f"{h:>12}" for h in heads))
    for area, count in table.items():
        print(f"{area:20}" + "".join(f"{count[h] or '':>12}" for h in heads))
    total = sum(table.values(), Counter())
    print(f"{'all':20}" + "".join(f"{total[h]:>12}" for h in heads))
    for why, n in known.items():
        print(f"meant ({n}): {why}")
    left = a.show
    for (group, kind), items in sorted(
        found.items(), key=lambda x: x[0][1] == "they refuse"
    ):
        if left <= 0:
            print(f"and more: {folder}")
            break
        left -= 1
        print(f"{kind}: {group} x{len(items)}: {'; '.join(items[:3])}"[:400])
    if changed:
        print(f"{changed} cases were asked in different forms: not compared")
    bad = sum(total[h] for h in BAD)
    print(
        f"{sum(total.values())} cases, {bad} differ, {total['they refuse']} that only "
        f"Tegula takes, {total['late'] + total['fault']} not compared"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
