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
        diff_col: bool = False,
        save_precision: int = 6,
        **kwargs: Any,
    ) -> Any:
        """Measure, and print, plot, save or return what was asked for.

        save_path is a folder: a plot and a csv of each benchmark, with save_precision
        digits behind the point, and results.html, which shows all plots. diff_col adds
        how much the second of two lines is above the first. show_plots and save_path need
        matplotlib, return_df needs pandas. A list of benchmarks gives a list of frames.
        """
        many = isinstance(self.benchmarks, (list, tuple))
        benchmarks = self.benchmarks if many else [self.benchmarks]
        frames = []
        for bench in benchmarks:
            rows = self._measure(bench, kwargs)
            names, values = _columns(bench, rows, diff_col)
            if print_data:
                print(f"{bench.plot_name}:\n{_table(names, values)}")
            if show_plots or save_path:
                _plot(bench, rows, show_plots, save_path)
            if save_path:
                _save(
                    os.path.join(save_path, bench.plot_name + ".csv"),
                    names,
                    values,
                    save_precision,
                )
            if return_df:
                import pandas

                frames.append(pandas.DataFrame(values, columns=names))
        if save_path:
            with open(
                os.path.join(save_path, "results.html"), "w", encoding="utf-8"
            ) as out:
                images = (f'<img src="{b.plot_name}.png">' for b in benchmarks)
                print("<html><body>", *images, "</body></html>", sep="\n", file=out)
        if return_df:
            return frames if many else frames[0]
        return None


def _columns(
    bench: Benchmark, rows: list[list[Any]], diff: bool
) -> tuple[list[str], list[list[Any]]]:
    """Names of columns, and rows: the x values and the mean of each line."""
    n = len(bench.x_names)
    names = bench.x_names + bench.line_names
    values = [r[:n] + [v[0] for v in r[n:]] for r in rows]
    if diff and len(bench.line_names) == 2:
        names = [*names, "Diff"]
        values = [[*r, r[n + 1] - r[n]] for r in values]
    return names, values


def _save(path: str, names: list[str], rows: list[list[Any]], digits: int) -> None:
    with open(path, "w", encoding="utf-8") as out:
        print(*names, sep=",", file=out)
        for row in rows:
            print(
                *(f"{v:.{digits}f}" if isinstance(v, float) else v for v in row),
                sep=",",
                file=out,
            )


def _table(names: list[str], rows: list[list[Any]]) -> str:
    cells = [names]
    cells += [[f"{v:.6g}" if isinstance(v, float) else str(v) for v in r] for r in rows]
    widths = [max(len(r[i]) for r in cells) for i in range(len(names))]
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
        figure.savefig(os.path.join(save_path, bench.plot_name + ".png"))
    plt.close(figure)


def perf_report(benchmarks: Any) -> Callable[[Callable[..., Any]], Mark]:
    """Decorator: measures fn(x.., line_arg=..) -> value or (mean, low, high).

    benchmarks: a ``Benchmark``, or a list of them. The result has
    ``run(show_plots, print_data, save_path, return_df, diff_col, save_precision, **more)``.

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
