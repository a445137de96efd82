"""What the kernels of this folder ask of a GPU: counted, not timed.

python benchmarks/count.py                         a table of all kernels, for sm_90a
python benchmarks/count.py transpose --lines       one kernel, line by line of its source
python benchmarks/count.py --sm sm_80 --json out.json

Each kernel runs on csrc/tools/ptxsim, an interpreter of the PTX that a GPU would get, on a
grid of a few programs; its results are checked against NumPy, so what is counted was
right. Counts are exact and the same every time: instructions that warps issue, sectors of
32 bytes that their accesses touch, wavefronts of shared memory by true addresses. They say
nothing of latency, of caches or of what ptxas makes of the PTX.

A kernel with a loop runs at two sizes; the difference is what one more iteration costs.
"""

from __future__ import annotations

import argparse
import ctypes
import inspect
import json
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "benchmarks"), str(ROOT / "tests/ptxsim")]

import attention  # noqa: E402
import matmul  # noqa: E402
import memory  # noqa: E402
import simulated  # noqa: E402

import tegula  # noqa: E402

# ---- memory of the simulated device -------------------------------------------------


def bf16(x: np.ndarray) -> np.ndarray:
    """Rounded to nearest, as 16 bits."""
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def numbers(x: simulated.Tensor) -> np.ndarray:
    """As float64."""
    if x.dtype == "bfloat16":
        return (x.array.astype(np.uint32) << 16).view(np.float32).astype(float)
    return x.array.astype(float)


class Device:
    """Makes tensors of a chip; random ones are the same in every run."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.lib = simulated.start()
        self.lib.ptxsim_profiled.restype = ctypes.c_char_p
        self.rng = np.random.default_rng(0)

    def array(self, values: np.ndarray, dtype: str = "float32") -> simulated.Tensor:
        packed = bf16(values) if dtype == "bfloat16" else values.astype(dtype)
        made = simulated.put(packed, self.target)
        made.dtype = dtype
        return made

    def random(self, *shape: int, dtype: str = "float32") -> simulated.Tensor:
        return self.array(self.rng.normal(size=shape), dtype)

    def empty(self, *shape: int, dtype: str = "float32") -> simulated.Tensor:
        return self.array(np.full(shape, np.nan), dtype)

    def profile(self, launch: Callable[[], Any]) -> dict[str, Any]:
        """What one launch did: csrc/tools/ptxsim/count.c says what is in it."""
        self.lib.ptxsim_profiled()
        self.lib.ptxsim_profile(1)
        try:
            launch()
        finally:
            self.lib.ptxsim_profile(0)
        (one,) = json.loads(self.lib.ptxsim_profiled())
        return one


# ---- what is counted ----------------------------------------------------------------


@dataclass
class Run:
    """One launch: how to make it, and how far its result may be from `want`."""

    kernel: Callable[..., Any]
    grid: tuple[int, ...]
    args: list[Any]
    options: dict[str, Any]
    out: simulated.Tensor
    want: np.ndarray | None
    tolerance: float = 1e-2


@dataclass
class Count:
    """A kernel's numbers. `loop`: of one more iteration, where it has a loop."""

    name: str
    warps: int
    rows: list[dict[str, Any]]
    loop: list[dict[str, Any]] = field(default_factory=list)
    source: str | None = None

    def total(self, key: str, *classes: str, loop: bool = False) -> int:
        """Of all instructions of these classes; of none given, of all."""
        rows = self.loop if loop else self.rows
        return sum(r[key] for r in rows if not classes or r["class"] in classes)

    def where(self, prefix: str, loop: bool = False) -> list[dict[str, Any]]:
        rows = self.loop if loop else self.rows
        return [r for r in rows if r["op"].startswith(prefix) and r["run"]]

    def conflicts(self, *classes: str) -> int:
        return self.total("wavefronts", *classes) - self.total("phases", *classes)

    def efficiency(self, *classes: str) -> float:
        """Bytes wanted over bytes moved, of global memory."""
        rows = [r for r in self.rows if not classes or r["class"] in classes]
        rows = [r for r in rows if r["sectors"]]
        moved = 32 * sum(r["sectors"] for r in rows)
        return sum(r["bytes"] for r in rows) / moved if moved else math.nan

    def widths(self, *classes: str) -> list[int]:
        """Bytes a lane of these accesses, each once."""
        return sorted({r["width"] for r in self.rows if r["class"] in classes})


SHARED = ("ld.shared", "st.shared", "cp.async")
NUMBERS = ("run", "lanes", "requests", "bytes", "sectors", "phases", "wavefronts")


def difference(more: list[dict], less: list[dict], n: int) -> list[dict[str, Any]]:
    """Row by row (more - less) / n: the text is the same, so the lines are."""
    before = {(r["line"], r["op"]): r for r in less}
    rows = []
    for r in more:
        old = before.get((r["line"], r["op"]), {})
        change = {k: (r[k] - old.get(k, 0)) / n for k in NUMBERS}
        if any(change.values()):
            rows.append(r | change)
    return rows


def counted(device: Device, name: str, run: Run) -> Count:
    kernel = tegula.jit(run.kernel)
    launch = device.profile(lambda: kernel[run.grid](*run.args, **run.options))
    if run.want is not None:
        got = numbers(run.out).reshape(-1)[: run.want.size].reshape(run.want.shape)
        error = np.abs(got - run.want).max() / np.abs(run.want).max()
        assert error < run.tolerance, f"{name}: off by {error}"
    path = inspect.getsourcefile(run.kernel)
    return Count(name, launch["warps"], launch["rows"], source=path)


Make = Callable[[Device, int], Run]
TABLE: dict[str, tuple[Make, tuple[int, ...]]] = {}


def row(name: str, *sizes: int) -> Callable[[Make], Make]:
    """sizes: numbers of iterations, two where the loop is to be looked at."""

    def add(make: Make) -> Make:
        TABLE[name] = make, sizes or (1,)
        return make

    return add


def rows_of_bf16(
    d: Device, width: int, programs: int = 2
) -> tuple[simulated.Tensor, ...]:
    return (
        d.random(programs, width, dtype="bfloat16"),
        d.empty(programs, width, dtype="bfloat16"),
    )


def softmax_of(width: int, warps: int) -> Make:
    def make(d: Device, _: int) -> Run:
        x, y = rows_of_bf16(d, width)
        e = np.exp(numbers(x) - numbers(x).max(1, keepdims=True))
        options = {"BLOCK": width, "num_warps": warps}
        want = e / e.sum(1, keepdims=True)
        return Run(memory.softmax, (2,), [x, y, width], options, y, want)

    return make


row("softmax 4096 bf16")(softmax_of(4096, 8))
row("softmax 32768 bf16")(softmax_of(32768, 16))


@row("layer norm 8192 bf16")
def layer_norm(d: Device, _: int) -> Run:
    n = 8192
    x, y = rows_of_bf16(d, n)
    w, b = (d.random(n, dtype="bfloat16") for _ in range(2))
    v = numbers(x)
    v = (v - v.mean(1, keepdims=True)) / np.sqrt(v.var(1, keepdims=True) + 1e-5)
    want = v * numbers(w) + numbers(b)
    options = {"BLOCK": n, "num_warps": 8}
    return Run(memory.layer_norm, (2,), [x, w, b, y, n, 1e-5], options, y, want)


@row("rms norm loop bf16", 3, 2)
def rms_norm(d: Device, iterations: int) -> Run:
    n = 4096 * iterations
    x, y = rows_of_bf16(d, n)
    w = d.random(n, dtype="bfloat16")
    v = numbers(x)
    want = v / np.sqrt((v * v).mean(1, keepdims=True) + 1e-6) * numbers(w)
    options = {"BLOCK": 4096, "num_warps": 8}
    return Run(memory.rms_norm, (2,), [x, w, y, n, 1e-6], options, y, want)


@row("cross entropy 32000 bf16")
def cross_entropy(d: Device, _: int) -> Run:
    n = 32000
    x, _ = rows_of_bf16(d, n)
    target, loss = d.array(np.array([5, 31999]), "int64"), d.empty(2)
    v = numbers(x)
    want = np.log(np.exp(v).sum(1)) - v[[0, 1], [5, 31999]]
    options = {"BLOCK": 32768, "num_warps": 16}
    return Run(memory.cross_entropy, (2,), [x, target, loss, n], options, loss, want)


@row("dropout f32")
def dropout(d: Device, _: int) -> Run:
    n = 2048
    x, y = d.random(n), d.empty(n)
    options = {"BLOCK": 1024, "num_warps": 4}
    return Run(memory.dropout, (2,), [x, y, n, 0.5, 123], options, y, None)


@row("column sum f32", 4, 3)
def column_sum(d: Device, iterations: int) -> Run:
    rows, cols = 32 * iterations, 128
    x, y = d.random(rows, cols), d.empty(cols)
    options = {"BLOCK_M": 32, "BLOCK_N": 64, "num_warps": 8}
    want = numbers(x).sum(0)
    return Run(memory.column_sum, (2,), [x, y, rows, cols], options, y, want)


@row("cumsum 4096 f32")
def cumsum(d: Device, _: int) -> Run:
    x, y = d.random(2, 4096), d.empty(2, 4096)
    options = {"BLOCK": 4096, "num_warps": 8}
    return Run(memory.cumsum, (2,), [x, y, 4096], options, y, numbers(x).cumsum(1))


@row("transpose 64 f32")
def transpose(d: Device, _: int) -> Run:
    x, y = d.random(128, 128), d.empty(128, 128)
    options = {"BLOCK": 64, "num_warps": 8}
    return Run(memory.transpose, (2, 2), [x, y, 128, 128], options, y, numbers(x).T)


def matmul_of(
    m: int, n: int, k: int, warps: int, stages: int, dtype: str = "float16"
) -> Make:
    def make(d: Device, iterations: int) -> Run:
        depth = k * iterations
        a = d.random(m, depth, dtype=dtype)
        b, c = d.random(depth, n, dtype=dtype), d.empty(m, n, dtype=dtype)
        options = {"BM": m, "BN": n, "BK": k, "GROUP": 8}
        options |= {"num_warps": warps, "num_stages": stages}
        want = numbers(a) @ numbers(b)
        return Run(matmul.matmul_kernel, (1,), [a, b, c, m, n, depth], options, c, want)

    return make


row("matmul 128x128x64 f16", 9, 8)(matmul_of(128, 128, 64, 8, 3))
row("matmul 256x128x32 f16", 11, 10)(matmul_of(256, 128, 32, 8, 4))
row("matmul 64x64x64 f16", 9, 8)(matmul_of(64, 64, 64, 4, 4))
row("matmul 64x64x32 f32", 5, 4)(matmul_of(64, 64, 32, 4, 3, "float32"))


def attention_of(width: int, warps: int, causal: bool) -> Make:
    """Causally all programs, for they differ; else the first alone."""

    def make(d: Device, iterations: int) -> Run:
        n = 64 * iterations
        q, k, v = (d.random(n, width, dtype="float16") for _ in range(3))
        o = d.empty(n, width, dtype="float16")
        options = {"D": width, "BM": 128, "BN": 64, "CAUSAL": causal, "EVEN": True}
        options |= {"num_warps": warps, "num_stages": 3}
        args = [q, k, v, o, math.log2(math.e) / math.sqrt(width), n]
        want = attention.attention(numbers(q), numbers(k), numbers(v), causal)
        grid = (n // 128, 1) if causal else (1, 1)
        done = want if causal else want[:128]
        return Run(attention.attention_kernel, grid, args, options, o, done)

    return make


row("attention D=64 f16", 6, 4)(attention_of(64, 4, False))
row("attention D=64 causal f16", 6)(attention_of(64, 4, True))
row("attention D=128 f16", 6, 4)(attention_of(128, 8, False))
row("attention D=128 causal f16", 6)(attention_of(128, 8, True))


def count(device: Device, name: str) -> Count:
    make, sizes = TABLE[name]
    result = counted(device, name, make(device, sizes[0]))
    if len(sizes) > 1:
        less = counted(device, name, make(device, sizes[1]))
        # Per warp: programs may be more of them at the larger size.
        more = [r | {k: r[k] / result.warps for k in NUMBERS} for r in result.rows]
        old = [r | {k: r[k] / less.warps for k in NUMBERS} for r in less.rows]
        result.loop = difference(more, old, sizes[0] - sizes[1])
    return result


# ---- how it is shown ----------------------------------------------------------------

CLASSES = {
    "mma": ("mma",),
    "fma": ("fma",),
    "sfu": ("sfu",),
    "int, cvt": ("alu", "cvt"),
    "shfl": ("shfl",),
    "shared": ("ld.shared", "st.shared"),
    "cp.async": ("cp.async",),
    "global": ("ld.global", "st.global", "atomic"),
    "bar": ("bar", "async"),
}


def rounded(x: float) -> str:
    return f"{x:.0f}" if abs(x - round(x)) < 0.05 or x >= 100 else f"{x:.1f}"


def line_of(name: str, per: Callable[..., float]) -> list[str]:
    """per(classes..) -> instructions; with none, all of them."""
    return [name, rounded(per()), *(rounded(per(*c)) for c in CLASSES.values())]


def show(table: list[list[str]]) -> None:
    for i, cells in enumerate(table):
        print("| " + " | ".join(cells) + " |")
        if i == 0:
            print("|" + "---|" * len(cells))


def instructions(counts: list[Count]) -> list[list[str]]:
    """Of a warp: the whole kernel, and below one iteration of its loop."""
    table = [["kernel", "all", *CLASSES]]
    for c in counts:
        table.append(line_of(c.name, lambda *x, c=c: c.total("run", *x) / c.warps))
        if c.loop:
            name = "... an iteration"
            table.append(line_of(name, lambda *x, c=c: c.total("run", *x, loop=True)))
    return table


def accesses(counts: list[Count]) -> list[list[str]]:
    table = [
        [
            "kernel",
            "bytes a lane, loads",
            "stores",
            "used of sectors",
            "shared wavefronts",
        ]
        + ["conflicts", "where"]
    ]
    for c in counts:
        widths = [
            ", ".join(map(str, c.widths(*x))) or "-"
            for x in (("ld.global", "cp.async"), ("st.global",))
        ]
        rows = [r for r in c.rows if r["wavefronts"] > r["phases"]]
        where = [f"{r['op']} +{r['wavefronts'] - r['phases']}" for r in rows]
        table.append(
            [c.name, *widths, f"{100 * c.efficiency():.0f}%"]
            + [
                str(c.total("wavefronts")),
                str(c.conflicts()),
                "; ".join(where[:4]) or "-",
            ]
        )
    return table


def lines(c: Count) -> list[list[str]]:
    """By line of the kernel's source."""
    text = Path(c.source).read_text().splitlines() if c.source else []
    by_line: dict[int, list[dict[str, Any]]] = {}
    for r in c.rows:
        by_line.setdefault(r["src"], []).append(r)
    table = [
        ["line", "instructions", "sectors", "used", "wavefronts", "conflicts", "text"]
    ]
    for at, rows in sorted(by_line.items()):
        total = {k: sum(r[k] for r in rows) for k in NUMBERS}
        used = total["bytes"] if total["sectors"] else 0
        table.append(
            [str(at), rounded(total["run"] / c.warps), str(total["sectors"])]
            + [f"{used / 32 / total['sectors']:.0%}" if total["sectors"] else "-"]
            + [str(total["wavefronts"]), str(total["wavefronts"] - total["phases"])]
            + [f"`{text[at - 1].strip()}`" if 0 < at <= len(text) else ""]
        )
    return table


def chosen(words: list[str]) -> Iterator[str]:
    for name in TABLE:
        if not words or any(w in name for w in words):
            yield name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "names", nargs="*", help="kernels with one of these in their names"
    )
    parser.add_argument("--sm", default="sm_90a", help="whose code: sm_75, sm_80, ..")
    parser.add_argument("--lines", action="store_true", help="by line of the source")
    parser.add_argument(
        "--json", metavar="FILE", help="all counts, row by row of the PTX"
    )
    args = parser.parse_args()
    tegula.knobs.nvidia.ptxas = "none"
    tegula.knobs.compilation.line_info = True
    device = Device(args.sm)
    counts = [count(device, name) for name in chosen(args.names)]
    if args.json:
        Path(args.json).write_text(json.dumps([asdict(c) for c in counts], indent=1))
    for c in counts if args.lines else ():
        print(f"\n{c.name}")
        show(lines(c))
    if not args.lines:
        show(instructions(counts))
        print()
        show(accesses(counts))


if __name__ == "__main__":
    main()
