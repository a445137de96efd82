"""``compiled.report``: what became of each line of a kernel, and what it costs in all.

    softmax for cuda:sm_90a, 4 warps
    28 registers, 0 spilled, 32 bytes of shared memory; 64 of 64 warps fit
    latest launch: 8192 programs, 131 MB loaded, 131 MB stored, 168 Mflop
    roofline: bound by memory: 0.0545 ms at 4.81 TB/s, 0.0025 ms at 67 Tflop/s
       7 | x = tl.load(x_ptr + row * n + i, mask=i < n)
    line    7  load                  8 loads of 4 bytes
               why: `n` is not known to be a multiple of 16: ..

The compiler writes the rows (``csrc/ir/report.c``) and counts the launch
(``csrc/analysis/traffic.c``); advice.py has the words for both, the rest is here.
"""

from __future__ import annotations

import html
import inspect
import re
import textwrap
from typing import Any, NamedTuple

from tegula import _core, advice


class Row(NamedTuple):
    line: int
    what: str  # load, reduce, padding ..
    text: str  # what it became
    source: str  # of the line; empty where it is not known
    why: str  # it is narrow; empty where it is not, or nobody knows
    fix: str  # what the user can do where the text says what is not as it could be


_ROW = re.compile(r"^line +(\d+)  (.*?)  +(.*)$")
# More than one: a thread with one element has nothing to widen.
_NAME = re.compile(r"(?<!\.)\b[A-Za-z_]\w*")
_ACCESS = re.compile(r"\b(?:load|store|atomic_\w+)\(")
_NARROW = re.compile(
    r"(?:[2-9]|\d\d+) (?:loads|stores|asynchronous copies) of (\d+) byte"
)
_DIVISIBLE = 30  # FACT_DIV2 .. FACT_DIV16 of csrc/ir/ir.h


class KernelReport(str):
    """The text, and its parts: ``rows``, ``totals``, ``_repr_html_`` for notebooks.

    ``traffic`` is None before the first launch; then what the latest one loaded and stored
    and how many operations it did, counted by running its masks and loops alone.
    """

    rows: list[Row]
    totals: dict[str, int]
    traffic: dict[str, Any] | None  # of the latest launch
    notes: list[str]  # the lines above the rows: of the whole kernel

    def html(self) -> str:
        """A table by itself."""
        head, *more = self.notes
        # Said of each cell: Jupyter has rules of its own for those of any table.
        left = '<td style="text-align: left">'
        out = f"<table><caption>{html.escape(head)}</caption>\n"
        for row in self.rows:
            why = "".join(
                f"<br><i>{html.escape(t)}</i>" for t in (row.why, row.fix) if t
            )
            cells = f"<td>{row.line}</td>{left}<code>{html.escape(row.source)}</code>"
            cells += f"</td>{left}{html.escape(row.what)}</td>"
            out += f"<tr>{cells}{left}{html.escape(row.text)}{why}</td></tr>\n"
        return out + f"</table>\n<p>{'<br>'.join(map(html.escape, more))}</p>\n"

    _repr_html_ = html


def report(compiled: Any) -> KernelReport:
    """What ``compiled.report`` gives."""
    sources = _sources(compiled)
    unknown = _unknown(compiled)
    rows = []
    for line in compiled._costs.splitlines():
        found = _ROW.match(line)
        if not found:
            continue
        at, what, text = int(found[1]), found[2], found[3]
        elsewhere = text.endswith(")") and ".py)" in text
        source = "" if elsewhere else sources.get(at, "")
        is_access = what.startswith(("load", "store")) and compiled.target != "cpu"
        why = _why(text, source, unknown, sources) if is_access else ""
        rows.append(Row(at, what, text, source, why, advice.fix_for(text)))
    rows.sort(key=lambda r: (not r.source, r.text.endswith(".py)"), r.line))
    totals = _totals(compiled)
    traffic = compiled._traffic()
    lines = [_head(compiled), *_total_lines(compiled, totals)]
    lines += _launch_lines(compiled, traffic)
    notes = list(lines)
    shown = None
    for row in rows:
        if row.source and row.line != shown:
            lines.append(f"{row.line:4d} | {row.source}")
            shown = row.line
        lines.append(f"line {row.line:4d}  {row.what:<20s}  {row.text}")
        lines += [f"           why: {row.why}"] * bool(row.why)
        lines += [f"           try: {row.fix}"] * bool(row.fix)
    made = KernelReport("\n".join(lines) + "\n")
    made.rows, made.totals, made.traffic = rows, totals, traffic
    made.notes = notes
    return made


def _head(compiled: Any) -> str:
    text = f"{compiled.name} for {compiled.target}"
    if compiled.target != "cpu":
        text += f", {compiled.metadata.num_warps} warps"
    types = ", ".join(
        f"{'*' * is_ptr}{str(ty).lstrip('*')}" for _, ty, is_ptr, *_ in compiled._params
    )
    return f"{text}: {types}" if types else text


def _sources(compiled: Any) -> dict[int, str]:
    """The kernel's lines by their numbers; nothing where there is no text of it."""
    try:
        lines, first = inspect.getsourcelines(compiled._kernel.fn)
    except (OSError, TypeError, AttributeError):
        return {}
    first = max(first, 1)
    return {first + i: line.partition("  #")[0].strip() for i, line in enumerate(lines)}


def _unknown(compiled: Any) -> list[str]:
    """Integers of which the compiler asked what they are multiples of, in vain."""
    names = getattr(compiled._kernel, "arg_names", [])
    return [
        names[at]
        for at, asked, truth in compiled._answers
        if asked & _DIVISIBLE & ~truth and at < len(names)
    ]


def _names(text: str, sources: dict[int, str]) -> set[str]:
    """The names in text, and those that the kernel's lines compute them from, up to what
    is loaded: an address is rarely."""
    found: set[str] = set()
    new = set(_NAME.findall(text))
    while new:
        found |= new
        assigns = re.compile(rf"({'|'.join(new)})\s*\W?=(?!.*\bload\()")
        lines = [s for s in sources.values() if assigns.match(s)]
        new = {n for s in lines for n in _NAME.findall(s)} - found
    return found


def _pointer(source: str) -> str:
    """The pointer of the line's access; all of the line where it does not end there."""
    call = _ACCESS.search(source)
    text, depth = source[call.end() :] if call else "", 0
    for at, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if depth < 0 or (c == "," and not depth):
            return text[:at]
    return source


def _why(text: str, source: str, unknown: list[str], sources: dict[int, str]) -> str:
    narrow = _NARROW.search(text)
    if not narrow or int(narrow[1]) >= 16:
        return ""
    # The pointer first: a mask is asked of neighbours that the pointer makes one access,
    # and seldom parts them.
    for part in (_pointer(source), source):
        asked = _names(part, sources)
        names = [n for n in unknown if n in asked]
        if names:
            break
    else:
        return ""
    shown = " and ".join(f"`{n}`" for n in names)
    verb = "is" if len(names) == 1 else "are"
    hints = ", ".join(f"tl.multiple_of({n}, 16)" for n in names)
    return (
        f"{shown} {verb} not known to be a multiple of 16 here: launch with such a "
        f"value, pass a tl.constexpr, or promise {hints}"
    )


def _block_warps(compiled: Any) -> int:
    threads = re.search(r"\.reqntid (\d+)", compiled.asm["ptx"])
    return int(threads[1]) // 32 if threads else compiled.metadata.num_warps


def _totals(compiled: Any) -> dict[str, int]:
    if not compiled.target.startswith("cuda"):
        return (
            {"scratch": compiled.metadata.scratch} if compiled.target == "cpu" else {}
        )
    found = {"shared": compiled.metadata.shared}
    if compiled.n_regs > 0:  # an assembler was there
        found = {"registers": compiled.n_regs, "spills": compiled.n_spills} | found
    sm = re.search(r"sm_(\d+)", compiled.target)
    if sm and compiled.n_regs > 0:
        warps = _block_warps(compiled)  # those that bring tiles, too
        blocks = _core._chip_blocks(
            int(sm[1]), 32 * warps, compiled.n_regs, compiled.metadata.shared
        )
        found["warps_that_fit"] = warps * blocks
        found["most_warps"] = _core._chip(int(sm[1]))["threads"] // 32
    return found


def _total_lines(compiled: Any, totals: dict[str, int]) -> list[str]:
    if compiled.target == "cpu":
        n = totals["scratch"]
        return [f"{n} bytes of scratch for a program"]
    if not totals:
        return []
    parts = []
    if "registers" in totals:
        parts.append(f"{totals['registers']} registers, {totals['spills']} spilled")
    parts.append(f"{totals['shared']} bytes of shared memory")
    text = ", ".join(parts)
    if "most_warps" in totals:
        text += f"; {totals['warps_that_fit']} of {totals['most_warps']} warps fit"
    return textwrap.wrap(text, 100)


def _launch_lines(compiled: Any, traffic: dict[str, Any] | None) -> list[str]:
    if not traffic:
        return []
    peaks = advice.peaks_of(compiled, traffic)
    lines = [advice.moved(traffic)]
    return [*lines, advice.roofline(traffic, *peaks)] if peaks else lines


def run(script: str, arguments: list[str]) -> list[Any]:
    """Run it as Python would; the kernels that there are then, in order of their lines."""
    import gc
    import os
    import runpy
    import sys

    from tegula.jit import JITFunction

    if not os.path.exists(script):
        raise SystemExit(f"there is no file {script!r}")
    sys.argv = [script, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    kept = runpy.run_path(script, run_name="__main__")
    # Not isinstance, which asks objects of others for their __class__.
    kernels = [k for k in gc.get_objects() if issubclass(type(k), JITFunction)]
    del kept
    return sorted(kernels, key=lambda k: k.fn.__code__.co_firstlineno)


def of_script(script: str, arguments: list[str]) -> int:
    """``python -m tegula report script.py``: of each variant that the script compiled."""
    import os

    path, n = os.path.abspath(script), 0
    for kernel in run(script, arguments):
        if os.path.abspath(kernel.fn.__code__.co_filename) != path:
            continue
        for variant in kernel.variants:
            print(variant.report)
            n += 1
    print(f"{n} variant{'s' * (n != 1)}")
    return 0
