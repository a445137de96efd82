"""What autotuning shows: a line while it measures, and a table afterwards.

A record is what is known of one kernel, key and machine, in memory, in results that are
shipped and on disk: a dict of JSON's types,
    {"kernel": "mm", "machine": "cpu", "key": ["512"], "seconds": 0.4,
     "work": {"flops": 1e9}, "pinned": None, "rows": [
        {"config": {"BM": 64, "num_warps": 4}, "ms": [1.0, 0.9, 1.1], "why": "",
         "registers": 40, "spills": 0, "shared": 0}]}
ms are the median, the 0.2 and the 0.8 quantile, None where why says why not.
"""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

from tegula import advice

Record = dict[str, Any]


def settings(config: Mapping[str, Any], leave_out: Sequence[str] = ()) -> str:
    return ", ".join(f"{k}: {v}" for k, v in config.items() if k not in leave_out)


class Report:
    """The table of one record; ``print`` it, or let a notebook show it.

    ``data`` is the record. ``html()`` is a table by itself, for a file.
    """

    def __init__(self, record: Record) -> None:
        self.data = record
        rows = record["rows"]
        timed = [r for r in rows if r["ms"]]
        self._timed = sorted(timed, key=lambda r: r["ms"][0])
        self._others = [r for r in rows if not r["ms"]]
        # What all have in common is said once, at the top.
        names = dict.fromkeys(k for r in rows for k in r["config"])
        first = rows[0]["config"] if rows else {}
        self._common = [
            k
            for k in names
            if len(rows) > 1
            and all(k in r["config"] and r["config"][k] == first[k] for r in rows)
        ]

    # --- its parts ---------------------------------------------------------------------
    def title(self) -> str:
        d = self.data
        key = ", ".join(map(str, d["key"])) or "all arguments"
        n = len(d["rows"])
        text = f"{d['kernel']} for {key}, on {d['machine']}: {n} configuration"
        text += "s" * (n != 1)
        if d.get("seconds"):
            text += f" in {d['seconds']:.2f} s"
        if self._common:
            first = d["rows"][0]["config"]
            text += f"; all with {settings({k: first[k] for k in self._common})}"
        return text

    def lead(self) -> str:
        """By how much the winner won."""
        if self.data.get("pinned"):
            return f"pinned: {settings(self.data['pinned'])}"
        apart = [r for r in self._timed if not r["why"]]
        if len(apart) < 2:
            return ""
        best, second = apart[0]["ms"], apart[1]["ms"]
        text = f"the winner leads by {second[0] / best[0] - 1:.0%}"
        if second[1] <= best[2]:
            text += ", which is within the noise"
        return text

    def _rate(self, ms: float) -> str:
        work = self.data.get("work") or {}
        if work.get("flops"):
            return advice.amount(work["flops"] / ms * 1e3, "FLOP/s")
        if work.get("bytes"):
            return f"{work['bytes'] / ms / 1e6:.4g} GB/s"
        return ""

    def table(self) -> list[list[str]]:
        """Rows of text, the head first; a column that nobody has is left out."""
        head = ["", "config", "ms", "p20 - p80", "rate"]
        head += ["registers", "spills", "shared", ""]
        out = []
        best = self._timed[0] if self._timed else None
        for r in self._timed + self._others:
            line = ["*" if r is best else "", settings(r["config"], self._common)]
            if r["ms"]:
                ms, low, high = r["ms"]
                line += [f"{ms:.4g}", f"{low:.4g} - {high:.4g}", self._rate(ms)]
            else:
                line += ["", "", ""]
            for number in ("registers", "spills", "shared"):
                line.append("" if r.get(number) is None else str(r[number]))
            out.append([*line, r["why"].partition("\n")[0]])
        kept = [i for i in range(len(head)) if i < 3 or any(row[i] for row in out)]
        return [[row[i] for i in kept] for row in [head, *out]]

    # --- its forms ---------------------------------------------------------------------
    def __str__(self) -> str:
        rows = self.table()
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = [self.title()]
        for row in rows:
            cells = [
                t.ljust(w) if i < 2 or i == len(row) - 1 else t.rjust(w)
                for i, (t, w) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append("  ".join(cells).rstrip())
        return "\n".join([*lines, *filter(None, [self.lead()])])

    __repr__ = __str__

    def html(self) -> str:
        head, *rows = self.table()
        # Said of each cell: Jupyter has rules of its own for those of any table.
        last = len(head) - (head[-1] == "")  # why, which may be long
        styles = [
            f"text-align: {'right' if 2 <= i < last else 'left'}"
            + "; white-space: nowrap" * (i < last)
            for i in range(len(head))
        ]
        out = f"<table><caption>{html.escape(self.title())}</caption>\n"
        for row in [head, *rows]:
            cell = "th" if row is head else "td"
            bold = ' style="font-weight: bold"' if row[0] else ""
            cells = "".join(
                f'<{cell} style="{style}">{html.escape(t)}</{cell}>'
                for t, style in zip(row, styles, strict=True)
            )
            out += f"<tr{bold}>{cells}</tr>\n"
        return out + f"</table>\n<p>{html.escape(self.lead())}</p>\n"

    _repr_html_ = html

    def plot(self, ax: Any = None) -> Any:
        """A bar for each configuration that was timed; needs matplotlib."""
        import matplotlib.pyplot as plt

        ax = ax or plt.subplots(figsize=(7, 0.6 + 0.3 * len(self._timed)))[1]
        ms = [r["ms"] for r in self._timed]
        ax.barh(
            [settings(r["config"], self._common) for r in self._timed],
            [m[0] for m in ms],
            xerr=[[m[0] - m[1] for m in ms], [m[2] - m[0] for m in ms]],
        )
        ax.invert_yaxis()
        ax.set_xlabel("ms, p20 to p80")
        ax.set_title(self.title(), fontsize="small")
        return ax


# --- while it measures ---------------------------------------------------------------
PATIENCE = 0.5  # seconds that nobody needs to be told of


class Progress:
    """One line that changes: on a terminal by stderr, in a notebook as its output.

    Whoever reads neither, a log say, gets nothing.
    """

    def __init__(
        self,
        kernel: str,
        n: int,
        clock: Callable[[], float] = time.perf_counter,
        stream: TextIO | None = None,
    ) -> None:
        self._kernel, self._n, self._clock = kernel, n, clock
        self._stream = stream or sys.stderr
        self._start = clock()
        self._shown: Any = None  # what update() changes, or True

    def say(self, done: int, best: str) -> None:
        if self._shown is None and self._clock() - self._start < PATIENCE:
            return
        line = f"autotuning {self._kernel}: {done}/{self._n}"
        self._show(line + (f", best {best}" if best else ""))

    def _show(self, line: str) -> None:
        cell = _notebook()
        if cell:
            shown = {"text/plain": line}
            if self._shown is None:
                self._shown = cell(shown, raw=True, display_id=True)
            else:
                self._shown.update(shown, raw=True)
        elif self._stream is not None and self._stream.isatty():
            import shutil

            self._shown = True
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(f"\r\x1b[K{line[:width]}")
            self._stream.flush()

    def close(self) -> None:
        """A terminal's line goes; a notebook's stays and says how to see more."""
        if self._shown is True:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
        elif self._shown is not None:
            took = self._clock() - self._start
            self._show(
                f"autotuning {self._kernel}: {self._n} configurations in {took:.1f} s; "
                f"{self._kernel}.report() shows them"
            )


def _notebook() -> Callable[..., Any] | None:
    """IPython's display, where cells are run by a kernel of Jupyter's."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display

    return display
