"""Kernels as libraries write them, beside Triton. GPU only.

    python benchmarks/survey.py                  # all: some minutes
    python benchmarks/survey.py paged experts    # rows with such words
    python benchmarks/survey.py --size small     # small arrays: does everything run

The same source goes through Tegula and Triton with the same configuration; both take turns
behind a write that empties the caches. Results are compared with each other, and a row
says where they differ. survey_kernels.py has the kernels; a function here makes what each
is given.
tests/ptx/test_survey.py runs all of them on a CPU, with small arrays.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import survey_kernels as kernels

import harness
import tegula

Config = dict[str, Any]


@dataclass
class Case:
    name: str
    kernel: Callable[..., None]
    args: list[Any]
    outs: list[Any]  # of args, those it writes
    grid: Callable[[Config], tuple[int, ...]]
    configs: list[Config]
    flops: float

    def run(self, jitted: Any, config: Config) -> list[Any]:
        for x in self.outs:
            x.fill_(float("nan") if x.is_floating_point() else -1)
        jitted[self.grid(config)](*self.args, **config)
        return self.outs


class Arrays:
    """Where they are, and how large."""

    def __init__(self, device: str, is_small: bool) -> None:
        self.torch = harness.torch_or_none()
        self.device, self.is_small = device, is_small
        self.torch.manual_seed(0)

    def size(self, large: int, small: int) -> int:
        return small if self.is_small else large

    def new(self, *shape: int, dtype: str = "bfloat16", scale: float = 1.0) -> Any:
        x = self.torch.randn(*shape, device=self.device) * scale
        return x.to(getattr(self.torch, dtype))

    def rand(self, *shape: int) -> Any:
        return self.torch.rand(*shape, device=self.device)

    def bytes(self, *shape: int) -> Any:
        kind = self.torch.int8
        return self.torch.randint(-128, 128, shape, device=self.device, dtype=kind)

    def ints(self, values: Any) -> Any:
        return self.torch.tensor(values, device=self.device, dtype=self.torch.int32)

    def permutation(self, n: int) -> Any:
        return self.torch.randperm(n, device=self.device).int()


def configs(names: str, *rows: tuple[int, ...], **constants: Any) -> list[Config]:
    keys = [*names.split(), "num_warps", "num_stages"]
    return [{**constants, **dict(zip(keys, r, strict=True))} for r in rows]


def tiles(*rows: tuple[int, ...], **constants: Any) -> list[Config]:
    return configs("BM BN BK", *rows, **constants)


def of_tiles(m: int, n: int) -> Callable[[Config], tuple[int, ...]]:
    return lambda c: (tegula.cdiv(m, c["BM"]), tegula.cdiv(n, c["BN"]))


Maker = Callable[[Arrays], Iterator[Case]]
MAKERS: dict[str, Maker] = {}


def case(make: Maker) -> Maker:
    MAKERS[make.__name__] = make
    return make


# --- attention ----------------------------------------------------------------------------
@case
def varlen(a: Arrays) -> Iterator[Case]:
    starts = [0, 900, 3000, 4100, 6148, 8192]
    if a.is_small:
        starts = [0, 37, 165]
    lengths = [y - x for x, y in itertools.pairwise(starts)]
    for d, h in ((128, 16), (64, 32)):
        h = a.size(h, 2)
        q, k, v, out = (a.new(starts[-1], h, d) for _ in range(4))
        yield Case(
            f"varlen {d}", kernels.varlen_kernel,
            [q, k, v, out, a.ints(starts), 0.1, h], [out],
            lambda c, h=h: (tegula.cdiv(max(lengths), c["BM"]), h, len(lengths)),
            configs("BM BN", (128, 64, 8, 3), (128, 128, 8, 2), (64, 64, 4, 3), D=d),
            2 * h * d * sum(n * n for n in lengths),
        )  # fmt: skip


@case
def window(a: Arrays) -> Iterator[Case]:
    t, seen = a.size(8192, 384), a.size(2048, 100)
    for d, h in ((128, 16), (256, 8)):
        h = a.size(h, 2)
        q, out = a.new(h, t, d), a.new(h, t, d)
        k, v = a.new(h // 2, t, d), a.new(h // 2, t, d)
        rows = (128, 64, 8, 2), (64, 64, 4, 2), (128, 32, 8, 3)
        yield Case(
            f"window {d}", kernels.window_kernel,
            [q, k, v, out, 0.08, 50.0, t, seen], [out],
            lambda c, h=h: (t // c["BM"], h), configs("BM BN", *rows, D=d, GROUP=2),
            4 * h * d * t * seen,
        )  # fmt: skip


@case
def paged(a: Arrays) -> Iterator[Case]:
    z, h, d, t, split = a.size(64, 2), 16, 128, a.size(4096, 1024), 4
    torch = a.torch
    for page, warps, stages in ((16, 2, 4), (64, 4, 3), (128, 4, 2)):
        n = t // page
        k, v = a.new(z * n, page, d), a.new(z * n, page, d)
        lengths = torch.randint(a.size(t // 2, t - 64), t, (z,), device=a.device).int()
        out = a.new(z, split, h, d, dtype="float32")
        lse = a.new(z, split, h, dtype="float32")
        table = a.permutation(z * n).view(z, n)
        yield Case(
            f"paged {page}", kernels.paged_kernel,
            [a.new(z, h, d), k, v, table, lengths, out, lse, 0.1, n], [out, lse],
            lambda c: (z, split),
            configs("PAGE", (page, warps, stages), H=h, D=d, SPLIT=split),
            4 * h * d * int(lengths.sum()),
        )  # fmt: skip


@case
def latent(a: Arrays) -> Iterator[Case]:
    z, h, t, d, r, split = a.size(64, 1), 16, a.size(4096, 128), 512, 64, 4
    q, keys = a.new(z, h, d + r, scale=0.1), a.new(z, t, d + r, scale=0.3)
    out = a.new(z, split, h, d, dtype="float32")
    lse = a.new(z, split, h, dtype="float32")
    rows = (32, 4, 2), (16, 4, 3), (64, 8, 1)
    yield Case(
        "latent", kernels.latent_kernel, [q, keys, out, lse, 0.1, t], [out, lse],
        lambda c: (z, split), configs("BN", *rows, H=h, D=d, R=r, SPLIT=split),
        2 * z * h * t * (2 * d + r),
    )  # fmt: skip


@case
def attention_backward(a: Arrays) -> Iterator[Case]:
    for d in (64, 128):
        heads, t = a.size(32768 // d, 1), a.size(2048, 256)
        q, k, v, do = (a.new(heads, t, d, scale=0.3) for _ in range(4))
        dq, dk, dv = (a.new(heads, t, d) for _ in range(3))
        lse, delta = a.rand(heads, t) + 8, a.new(heads, t, dtype="float32")
        rows = (64, 128, 8, 2), (32, 128, 4, 3), (64, 64, 4, 2)
        yield Case(
            f"keys, values {d}", kernels.keys_and_values_kernel,
            [q, k, v, do, dk, dv, lse, delta, 0.1, t], [dk, dv],
            lambda c, n=heads, t=t: (t // c["BN"], n), configs("BM BN", *rows, D=d),
            8 * heads * t * t * d,
        )  # fmt: skip
        rows = (128, 64, 8, 2), (128, 32, 4, 3), (64, 64, 4, 2)
        yield Case(
            f"queries {d}", kernels.queries_kernel,
            [q, k, v, do, dq, lse, delta, 0.1, t], [dq],
            lambda c, n=heads, t=t: (t // c["BM"], n), configs("BM BN", *rows, D=d),
            6 * heads * t * t * d,
        )  # fmt: skip


# --- states that are carried --------------------------------------------------------------
@case
def linear_attention(a: Arrays) -> Iterator[Case]:
    heads, t, dk, dv = a.size(64, 1), a.size(4096, 256), 64, 128
    q, k = (a.new(heads, t, dk, scale=0.1) for _ in range(2))
    v, out = a.new(heads, t, dv), a.new(heads, t, dv)
    rows = (64, 64, 4, 2), (128, 64, 4, 2), (64, 64, 8, 3)
    yield Case(
        "linear attention", kernels.linear_attention_kernel, [q, k, v, out, t], [out],
        lambda c: (dv // c["BV"], heads), configs("BV C", *rows, DK=dk, DV=dv),
        2 * heads * t * (64 * dk + 64 * dv + 2 * dk * dv),
    )  # fmt: skip


@case
def gated(a: Arrays) -> Iterator[Case]:
    heads, t, d, c = a.size(32, 1), a.size(4096, 128), 128, 64
    q, k, w = (a.new(heads, t, d, scale=s) for s in (0.1, 0.1, 0.05))
    v, states = a.new(heads, t, d), a.new(heads, t // c, d, d)
    gates, out = -a.rand(heads, t), a.new(heads, t, d)
    rows = (64, 64, 4, 2), (128, 128, 8, 2), (64, 128, 4, 3)
    yield Case(
        "gated output", kernels.gated_output_kernel,
        [q, k, v, states, gates, out, 0.1, t], [out],
        lambda x: (d // x["BV"], t // c, heads),
        configs("BK BV", *rows, DK=d, DV=d, C=c),
        2 * heads * t * (d * d + 2 * d * c),
    )  # fmt: skip
    rows = (64, 4, 2), (32, 4, 3), (128, 8, 1)
    yield Case(
        "delta rule", kernels.delta_rule_kernel,
        [k, v, w, gates, states, out, t], [states, out],
        lambda x: (d // x["BV"], heads), configs("BV", *rows, DK=d, DV=d, C=c),
        4 * heads * t * d * d,
    )  # fmt: skip


# --- products of small numbers ------------------------------------------------------------
@case
def scaled_blocks(a: Arrays) -> Iterator[Case]:
    n = a.size(4096, 256)
    x, y = (a.new(n, n, dtype="float8_e4m3fn") for _ in range(2))
    scales = a.rand(n, n // 128), a.rand(n // 128, n // 128)
    rows = (64, 64, 128, 4, 4), (128, 128, 128, 8, 3), (64, 128, 128, 4, 3)
    out = a.new(n, n)
    yield Case("scaled blocks", kernels.scaled_blocks_kernel, [x, y, out, *scales, n, n],
               [out], of_tiles(n, n), tiles(*rows), 2 * n**3)  # fmt: skip


@case
def scaled_bytes(a: Arrays) -> Iterator[Case]:
    n = a.size(4096, 256)
    out, scales = a.new(n, n), [a.rand(n) for _ in range(3)]
    rows = (128, 128, 128, 8, 3), (128, 256, 64, 8, 3), (64, 128, 128, 4, 3)
    yield Case("scaled bytes", kernels.scaled_bytes_kernel,
               [a.bytes(n, n), a.bytes(n, n), out, *scales, n, n, n], [out],
               of_tiles(n, n), tiles(*rows), 2 * n**3)  # fmt: skip


# --- products whose rows or tiles are somebody's choice -----------------------------------
@case
def experts(a: Arrays) -> Iterator[Case]:
    t, n, k, e = a.size(4096, 256), a.size(4096, 128), a.size(2048, 128), a.size(8, 2)
    x, w, out = a.new(t // 2, k), a.new(e, n, k), a.new(t, n)
    for row in (64, 128, 64, 4, 4), (128, 128, 64, 8, 3), (16, 128, 64, 4, 4):
        blocks = t // row[0]
        chosen = a.ints([i * e // blocks for i in range(blocks)])
        yield Case(
            "experts", kernels.experts_kernel,
            [x, w, out, a.permutation(t), chosen, n, k, t], [out],
            lambda c: (t // c["BM"] * (n // c["BN"]),), tiles(row, GROUP=8), 2 * t * n * k,
        )  # fmt: skip


@case
def grouped_rows(a: Arrays) -> Iterator[Case]:
    counts = [30, 0, 130] if a.is_small else [300, 1024, 77, 2000, 695]
    n, k = a.size(4096, 256), a.size(2048, 128)
    x, w, out = a.new(sum(counts), k), a.new(len(counts), n, k), a.new(sum(counts), n)
    starts = a.ints([sum(counts[:i]) for i in range(len(counts) + 1)])
    for row in (128, 128, 64, 8, 3), (64, 128, 64, 4, 4), (128, 256, 64, 8, 3):
        blocks = [(g, i) for g, m in enumerate(counts) for i in range(-(-m // row[0]))]
        lists = [a.ints(list(x)) for x in zip(*blocks, strict=True)]
        yield Case(
            "grouped rows", kernels.grouped_rows_kernel,
            [*lists, starts, x, w, out, n, k], [out],
            lambda c, lists=lists: (len(lists[0]), n // c["BN"]), tiles(row),
            2 * sum(counts) * n * k,
        )  # fmt: skip


@case
def sparse(a: Arrays) -> Iterator[Case]:
    n = a.size(4096, 256)
    x, w, out = a.new(n, n), a.new(n, n), a.new(n, n)
    for row in (128, 128, 64, 8, 3), (64, 128, 64, 4, 4), (128, 128, 32, 4, 4):
        m, k = n // row[0], n // row[2]
        blocks = a.torch.stack([a.permutation(k) for _ in range(m)])
        yield Case(
            "sparse", kernels.sparse_kernel,
            [x, w, out, blocks, a.ints([k // 2] * m), n, n], [out],
            of_tiles(n, n), tiles(row), n**3,
        )  # fmt: skip


@case
def in_turn(a: Arrays) -> Iterator[Case]:
    n, programs = a.size(4096, 256), a.size(132, 3)
    for m in (a.size(3072, 200), a.size(4000, 256)):
        out = a.new(m, n)
        rows = (128, 128, 64, 8, 3), (128, 256, 64, 8, 3), (64, 128, 64, 4, 4)
        yield Case(
            f"in turn {m}", kernels.in_turn_kernel,
            [a.new(m, n), a.new(n, n), out, m, n, n, programs], [out],
            lambda c: (programs,), tiles(*rows), 2 * m * n * n,
        )  # fmt: skip


@case
def mirrored(a: Arrays) -> Iterator[Case]:
    n = a.size(4096, 256)
    out = a.new(n, n)
    rows = (128, 128, 64, 8, 3), (128, 256, 64, 8, 3), (64, 64, 64, 4, 4)
    yield Case("mirrored", kernels.mirrored_kernel, [a.new(n, n), out, n, n], [out],
               of_tiles(n, n), tiles(*rows), n**3)  # fmt: skip


@case
def convolution(a: Arrays) -> Iterator[Case]:
    images, side, c = a.size(32, 1), a.size(32, 16), a.size(256, 64)
    x, w = a.new(images, side, side, c), a.new(3, 3, c, 256, scale=0.1)
    y, m = a.new(images, side, side, 256), images * side * side
    rows = (128, 128, 64, 8, 3), (128, 64, 32, 4, 4), (64, 128, 64, 4, 4)
    yield Case("convolution", kernels.convolution_kernel, [x, w, y, side, side, c, 256],
               [y], of_tiles(m, 256), tiles(*rows, R=3), 2 * m * 9 * c * 256)  # fmt: skip


# --- products one after another, batched, and in other types ------------------------------
@case
def low_rank(a: Arrays) -> Iterator[Case]:
    n = a.size(4096, 256)
    for r in (16, 64):
        x, p, q, y = a.new(n, n), a.new(n, r, scale=0.1), a.new(r, n), a.new(n, n)
        rows = (64, 256, 64, 4, 3), (128, 256, 64, 8, 3), (64, 128, 128, 4, 3)
        yield Case(f"low rank {r}", kernels.low_rank_kernel, [x, p, q, y, n, n], [y],
                   of_tiles(n, n), tiles(*rows, R=r), 4 * n * n * r)  # fmt: skip


@case
def adapter(a: Arrays) -> Iterator[Case]:
    n, r = a.size(4096, 256), 16
    x, p, q, base, y = (a.new(n, n), a.new(n, r), a.new(r, n), a.new(n, n), a.new(n, n))
    rows = (64, 128, 64, 4, 3), (32, 128, 128, 4, 3)
    yield Case("adapter", kernels.adapter_kernel, [x, p, q, base, y, n, n], [y],
               lambda c: (n // c["BM"],), tiles(*rows, R=r), 4 * n * n * r)  # fmt: skip


@case
def two_layers(a: Arrays) -> Iterator[Case]:
    m, f = a.size(65536, 256), a.size(512, 256)
    for k in (64, 128):
        x, w1, w2 = (
            a.new(m, k, scale=0.3),
            a.new(k, f, scale=0.1),
            a.new(f, k, scale=0.1),
        )
        y, rows = a.new(m, k), [(128, 64, 8, 3), (128, 64, 4, 3), (64, 64, 4, 3)]
        yield Case(f"two layers {k}", kernels.two_layers_kernel, [x, w1, w2, y, f], [y],
                   lambda c: (m // c["BM"],), configs("BM BN", *rows, K=k),
                   4 * m * f * k)  # fmt: skip


@case
def log_sum(a: Arrays) -> Iterator[Case]:
    m, v, k = a.size(8192, 256), a.size(8192, 512), a.size(1024, 128)
    x, w, out = a.new(m, k, scale=0.05), a.new(v, k), a.new(m, dtype="float32")
    rows = (128, 128, 64, 8, 3), (64, 128, 64, 4, 3), (128, 256, 64, 8, 3)
    yield Case("log sum", kernels.log_sum_kernel, [x, w, out, v, k], [out],
               lambda c: (m // c["BM"],), tiles(*rows), 2 * m * v * k)  # fmt: skip


@case
def three_sides(a: Arrays) -> Iterator[Case]:
    n, k = a.size(1024, 8), 256
    for b, m, s, bk, warps, stages in (
        (4, 64, 64, 32, 4, 3),
        (2, 64, 64, 64, 4, 3),
        (8, 32, 32, 32, 4, 2),
    ):
        out = a.new(n, m, s)
        yield Case(
            f"three sides {m}", kernels.three_sides_kernel,
            [a.new(n, m, k), a.new(n, k, s), out], [out], lambda c: (n // c["B"],),
            configs("B M N BK", (b, m, s, bk, warps, stages), K=k), 2 * n * k * m * s,
        )  # fmt: skip


@case
def precision(a: Arrays) -> Iterator[Case]:
    n = a.size(2048, 128)
    x, y, out = (a.new(n, n, dtype="float32") for _ in range(3))
    for p in ("tf32", "tf32x3", "ieee"):
        rows = (64, 64, 32, 4, 3), (128, 64, 32, 4, 3), (128, 128, 32, 8, 3)
        yield Case(f"precision {p}", kernels.precision_kernel, [x, y, out, n, n], [out],
                   of_tiles(n, n), tiles(*rows, PRECISION=p), 2 * n**3)  # fmt: skip


@case
def half_sums(a: Arrays) -> Iterator[Case]:
    n = a.size(4096, 256)
    x, y = (a.new(n, n, dtype="float16", scale=0.1) for _ in range(2))
    out = a.new(n, n, dtype="float16")
    rows = (128, 128, 64, 8, 3), (128, 256, 64, 8, 3), (64, 128, 64, 4, 4)
    yield Case("half sums", kernels.half_sums_kernel, [x, y, out, n, n], [out],
               of_tiles(n, n), tiles(*rows), 2 * n**3)  # fmt: skip


@case
def inverse(a: Arrays) -> Iterator[Case]:
    z = a.size(8192, 3)
    for n, warps in ((64, 4), (32, 2), (16, 1)):
        x = a.new(z, n, n, dtype="float32", scale=0.1)
        out = a.new(z, n, n, dtype="float32")
        yield Case(f"inverse {n}", kernels.inverse_kernel, [x, out], [out],
                   lambda c: (z,), configs("N TURNS", (n, 5, warps, 2)),
                   20 * z * n**3)  # fmt: skip


def cases(device: str, is_small: bool) -> Iterator[Case]:
    for make in MAKERS.values():
        yield from make(Arrays(device, is_small))


# --- measuring ----------------------------------------------------------------------------
def difference(got: list[Any], want: list[Any]) -> float:
    pairs = [(x.float(), y.float()) for x, y in zip(got, want, strict=True)]
    return max(float((x - y).norm() / y.norm()) for x, y in pairs)


def measure(case: Case, config: Config, repeats: int) -> float | None:
    """A printed row; Triton's time over ours where both have one."""
    torch = harness.torch_or_none()
    ready: dict[str, Callable[[], Any]] = {}
    got: dict[str, list[Any]] = {}
    failed = []
    contenders = {
        "tegula": tegula.jit(case.kernel),
        "triton": harness.triton_kernel(case.kernel, "cuda"),
    }
    for who, jitted in contenders.items():
        if jitted is None:
            continue
        launch = lambda j=jitted: j[case.grid(config)](*case.args, **config)
        try:
            case.run(jitted, config)
            torch.cuda.synchronize()
            got[who] = [x.clone() for x in case.outs]
            ready[who] = launch
        except Exception as e:  # a contender may refuse a configuration
            failed.append(f"{who}: {type(e).__name__}: {e}"[:160].replace("\n", " "))
    ms = harness.in_turn(ready, repeats)
    both = len(ms) == 2
    if both and not (error := difference(got["tegula"], got["triton"])) <= 2e-2:
        failed.append(f"they differ by {error:.1e}")
    rates = " ".join(f"{who} {case.flops / t / 1e9:.1f}" for who, t in ms.items())
    ratio = ms["triton"] / ms["tegula"] if both else None
    words = harness.words(
        {k: v for k, v in config.items() if k.islower() or k[0] == "B"}
    )
    shown = "" if ratio is None else f"{ratio:.2f}"
    print(
        f"{case.name:18} {words:46} {shown:5} {rates}  {' '.join(failed)}", flush=True
    )
    return ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="words of a row's name")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--size", choices=("large", "small"), default="large")
    args = parser.parse_args()
    if not harness.has_gpu():
        raise SystemExit("benchmarks/survey.py wants a GPU and torch")
    ratios = []
    for case in cases("cuda", args.size == "small"):
        if args.names and not any(n in case.name for n in args.names):
            continue
        ratios += [measure(case, config, args.repeats) for config in case.configs]
    known = sorted(r for r in ratios if r is not None)
    if known:
        mean = statistics.geometric_mean(known)
        print(f"{len(known)} of {len(ratios)} rows have both: {mean:.2f} of Triton in the "
              f"geometric mean, the least {known[0]:.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
