"""Plots and tables of measurements: ``Benchmark`` and ``perf_report``.

Public under ``tegula.testing``. matplotlib and pandas are imported when asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any


class Benchmark:
    """What one plot shows: a line per line_val over x_vals.

    x_names      the parameters that get a value of x_vals, or its parts
    line_arg     the parameter that gets a value of line_vals; line_names are their labels
    args         what all calls get, by name
    x_log, y_log, xlabel, ylabel, styles, plot_name   how it looks, and its file's name

    >>> b = tegula.testing.Benchmark(["m", "n"], [8, (8, 16)], "by", [1], ["one"], "p", {})
    >>> b.points()
    [(8, 8), (8, 16)]
    """

    def __init__(
        self,
        x_names: Sequence[str],
        x_vals: Sequence[Any],
        line_arg: str,
        line_vals: Sequence[Any],
        line_names: Sequence[str],
        plot_name: str,
        args: dict[str, Any],
        xlabel: str = "",
        ylabel: str = "",
        x_log: bool = False,
        y_log: bool = False,
        styles: Sequence[tuple[str, str]] | None = None,
    ) -> None:
        self.x_names = list(x_names)
        self.x_vals = list(x_vals)
        self.line_arg = line_arg
        self.line_vals = list(line_vals)
        self.line_names = list(line_names)
        self.plot_name = plot_name
        self.args = args
        self.xlabel = xlabel
        self.ylabel = ylabel
        self.x_log = x_log
        self.y_log = y_log
        self.styles = styles

    def points(self) -> list[tuple[Any, ...]]:
        """x_vals, one tuple per point; a single value stands for all x_names."""
        out = []
        for x in self.x_vals:
            values = (
                tuple(x) if isinstance(x, (list, tuple)) else (x,) * len(self.x_names)
            )
            if len(values) != len(self.x_names):
                raise ValueError(f"expected {len(self.x_names)} values, got {x}")
            out.append(values)
        return out


class Mark:
    """A function under ``perf_report``."""

    def __init__(self, fn: Callable[..., Any], benchmarks: Any) -> None:
        self.fn = fn
        self.benchmarks = benchmarks

    def _measure(self, bench: Benchmark, kwargs: dict[str, Any]) -> list[list[Any]]:
        """One row per point: the x values, then (mean, low, high) per line."""
        rows = []
        for values in bench.points():
            row: list[Any] = list(values)
            for line in bench.line_vals:
                got = self.fn(
                    **dict(zip(bench.x_names, values, strict=True)),
                    **{bench.line_arg: line},
                    **bench.args,
                    **kwargs,
                )
                row.append(got if isinstance(got, tuple) else (got, None, None))
            rows.append(row)
        return rows

    def run(
        self,
        show_plots: bool = False,
        print_data: bool = False,
        save_path: str = "",
        return_df: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Measure, and print, plot, save or return what was asked for.

        show_plots and save_path need matplotlib, return_df needs pandas. A list of
        benchmarks gives a list of frames.
        """
        many = isinstance(self.benchmarks, (list, tuple))
        frames = []
        for bench in self.benchmarks if many else [self.benchmarks]:
            rows = self._measure(bench, kwargs)
            if print_data:
                print(f"{bench.plot_name}:\n{_table(bench, rows)}")
            if show_plots or save_path:
                _plot(bench, rows, show_plots, save_path)
            if return_df:
                import pandas

                frames.append(
                    pandas.DataFrame(
                        [
                            r[: len(bench.x_names)]
                            + [v[0] for v in r[len(bench.x_names) :]]
                            for r in rows
                        ],
                        columns=bench.x_names + bench.line_names,
                    )
                )
        if return_df:
            return frames if many else frames[0]
        return None


def _table(bench: Benchmark, rows: list[list[Any]]) -> str:
    n = len(bench.x_names)
    cells = [bench.x_names + bench.line_names]
    cells += [[str(x) for x in r[:n]] + [f"{v[0]:.6g}" for v in r[n:]] for r in rows]
    widths = [max(len(r[i]) for r in cells) for i in range(len(cells[0]))]
    return "\n".join(
        "  ".join(c.rjust(w) for c, w in zip(r, widths, strict=True)) for r in cells
    )


def _plot(bench: Benchmark, rows: list[list[Any]], show: bool, save_path: str) -> None:
    import matplotlib.pyplot as plt

    n = len(bench.x_names)
    figure, axes = plt.subplots()
    for i, name in enumerate(bench.line_names):
        style = bench.styles[i] if bench.styles else (None, "-")
        xs = [row[0] for row in rows]
        ys = [row[n + i][0] for row in rows]
        axes.plot(xs, ys, label=name, color=style[0], linestyle=style[1])
        low, high = ([row[n + i][k] for row in rows] for k in (1, 2))
        if None not in low + high:
            axes.fill_between(xs, low, high, alpha=0.15, color=style[0])
    axes.set_xlabel(bench.xlabel or bench.x_names[0])
    axes.set_ylabel(bench.ylabel)
    axes.set_xscale("log" if bench.x_log else "linear")
    axes.set_yscale("log" if bench.y_log else "linear")
    axes.legend()
    if show:
        plt.show()
    if save_path:
        os.makedirs(save_path, exist_ok=True)
        base = os.path.join(save_path, bench.plot_name)
        figure.savefig(base + ".png")
        with open(base + ".csv", "w", encoding="utf-8") as out:
            print(*bench.x_names, *bench.line_names, sep=",", file=out)
            for row in rows:
                print(*row[:n], *(v[0] for v in row[n:]), sep=",", file=out)
    plt.close(figure)


def perf_report(benchmarks: Any) -> Callable[[Callable[..., Any]], Mark]:
    """Decorator: measures fn(x.., line_arg=..) -> value or (mean, low, high).

    benchmarks: a ``Benchmark``, or a list of them. The result has
    ``run(show_plots, print_data, save_path, return_df, **more)``.

    >>> @tegula.testing.perf_report(
    ...     tegula.testing.Benchmark(["n"], [1, 2], "k", [3, 4], ["three", "four"], "p", {})
    ... )
    ... def product(n, k):
    ...     return float(n * k)
    >>> seen = []
    >>> product.fn = lambda n, k: seen.append((n, k)) or 0.0
    >>> product.run()
    >>> seen
    [(1, 3), (1, 4), (2, 3), (2, 4)]
    """
    return lambda fn: Mark(fn, benchmarks)
