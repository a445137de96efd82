"""How many units of the last place functions are off, over all float32: `make accuracy`.

    measure.py [--target T] [--triton] [--match REGEX] [--stride N] [--json FILE]

A float32 function of one operand meets all 2^32 bit patterns on a GPU, elsewhere every
stride-th. Those of more operands meet a stream of numbers made by a hash (counting.py),
operators of halves every pair. What is right is the same function of float64, whose own
distance from mpmath is in the rows of float64, of samples on the host.

A row: the greatest distance where operands and result are normal numbers; where one is
subnormal; where the bound is one of the absolute error (far zeros); and how many NaNs,
infinities and signs of zeros are not as they must be. --triton measures CUDA's libdevice,
as Triton calls it. The exit status says whether all bounds of bounds.py hold.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "ptxsim"), str(HERE.parent)]

from accuracy import CASES, distance, guarded, samples  # noqa: E402
from bounds import CASTS, FLOAT32, HALVES, INF, Row  # noqa: E402
from mpmath import mpf  # noqa: E402

BLOCK, TIMES = 256, 16  # elements of a block, blocks of a program
HALF = {"fp16": (11, -24, 16), "bf16": (8, -133, 128)}
N_ALL = 2**32


@dataclass
class Result:
    """name and type; ulp: normal, subnormal, far; where each is; wrong specials."""

    name: str
    type: str
    ulp: list[float]
    at: list[list[str]]
    wrong: int
    wrong_at: list[str]


class Side:
    """Launches: of Triton on a GPU; of Tegula there, on a CPU, the interpreter, PTX's."""

    def __init__(
        self, target: str, is_triton: bool = False, more: Sequence[tuple[int, str]] = ()
    ) -> None:
        self.target, self.is_triton, self.more = target, is_triton, more
        if not is_triton:
            import tegula

            self.knobs = tegula.knobs
        if target == "cuda":
            import torch

            self.torch = torch
        if target.startswith("sm_"):
            import simulated

            self.simulated = simulated
        self.folder = tempfile.TemporaryDirectory()
        with self.importing():
            self.kernels = load(HERE / "counting.py")
            self.functions = self.named()

    @contextmanager
    def importing(self) -> Iterator[None]:
        """Here kernels' triton is Triton, or Tegula; nobody else is to notice."""
        if self.is_triton:
            yield
            return
        from tegula import compat

        was_installed = compat.is_installed()
        compat.install()
        try:
            yield
        finally:
            if not was_installed:
                compat.uninstall()

    def named(self) -> Any:
        """A module of functions whose names are those of rows: kernels call them."""
        text = ["import triton", "import triton.language as tl"]
        text += ["from triton.language.extra import libdevice", ""]
        for n, what in sorted(expressions() | set(self.more)):
            names = ", ".join("xyzw"[:n])
            text += ["@triton.jit", f"def {spelled(n, what)}({names}):"]
            text += [f"    return {what}", ""]
        path = Path(self.folder.name, "functions.py")
        path.write_text("\n".join(text))
        return load(path)

    def function(self, n: int, what: str) -> Any:
        return getattr(self.functions, spelled(n, what))

    def put(self, x: np.ndarray) -> Any:
        if self.target == "cuda":
            return self.torch.from_numpy(x.copy()).cuda()
        if self.target.startswith("sm_"):
            return self.simulated.put(x, self.target)
        return x

    def get(self, x: Any) -> np.ndarray:
        x = x.cpu() if self.target == "cuda" else x
        return x if isinstance(x, np.ndarray) else x.numpy()

    def launch(self, name: str, grid: int, *args: Any, **constants: Any) -> None:
        kernel = getattr(self.kernels, name)
        if self.target == "cuda":
            kernel[(grid,)](*args, **constants)
            return
        if self.target.startswith("sm_"):
            with self.simulated.driver():
                kernel[(grid,)](*args, **constants)
            return
        with self.knobs.runtime.scope():
            if self.target == "interpreter":
                self.knobs.runtime.interpret = True
            else:
                self.knobs.runtime.target = self.target
            kernel[(grid,)](*args, **constants)


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def spelled(n: int, what: str) -> str:
    words = {"+": "plus", "-": "minus", "*": "times", "/": "over"}
    for sign, word in words.items():
        what = what.replace(sign, word)
    return f"f{n}_" + re.sub(r"\W+", "_", what).strip("_")


def expressions() -> set[tuple[int, str]]:
    rows = [*FLOAT32.values(), *HALVES.values(), *CASTS.values()]
    pairs = {(r.n, e) for r in rows for e in (r.what, r.right)}
    for name, case in CASES.items():
        pairs.add((len(case.ranges), of_case(name)))
    return pairs


def of_case(name: str) -> str:
    n = len(CASES[name].ranges)
    called = "pow" if name == "powi" else name
    return f"libdevice.{called}({', '.join('xyzw'[:n])})"


def corners() -> np.ndarray:
    some = [0.0, 1.0, 0.5, 2.0, 3.0, np.inf, np.nan, 2.0**-126, 2.0**-149, 1.5]
    some += [2.0**-127, 3.4028234663852886e38, 2.0**64, 2.0**-64, 2.0**24 + 1, 1 / 3]
    some += [np.nextafter(np.float32(1), np.float32(k)) for k in (0, 2)]
    some += [2.0**23 - 0.5, 1e30, 1e-30, 0.1, 7.0, 2.0**31]
    a = np.array(some, np.float32)
    return np.concatenate([a, -a])


def worst(side: Side, kernel: str, n: int, *args: Any, **constants: Any) -> Any:
    """(best as counting.py keeps it, the number of wrong ones)"""
    best, count = side.put(np.zeros(4, np.int64)), side.put(np.zeros(1, np.int32))
    grid = -(-n // (BLOCK * TIMES))
    constants |= {"TIMES": TIMES, "B": BLOCK}
    side.launch(kernel, grid, best, count, n, *args, **constants)
    return side.get(best), int(side.get(count)[0])


def result(name: str, kind: str, best: Any, wrong: int, who: Any) -> Result:
    d = (best >> 32).astype(np.int32).view(np.float32).astype(float)
    at = [who(int(b & 0xFFFFFFFF)) if b >> 32 else [] for b in best]
    order = (0, 1, 3)  # NORMAL, LOW, FAR
    return Result(
        name, kind, [float(d[i]) for i in order], [at[i] for i in order], wrong, at[2]
    )


def hexed(x: Any) -> str:
    return float(x).hex() if np.isfinite(x) else str(float(x))


def of_one(side: Side, name: str, row: Row, stride: int) -> Result:
    p, least, top = row.form
    lo, hi = row.near
    forms = {"P": p, "LEAST": least, "TOP": top, "LO": lo, "HI": hi}
    best, wrong = worst(
        side,
        "of_bits",
        N_ALL // stride,
        stride,
        F=side.function(1, row.what),
        G=side.function(1, row.right),
        **forms,
    )

    def who(i: int) -> list[str]:
        return [hexed(np.uint32(i).view(np.float32))]

    return result(name, "fp32", best, wrong, who)


def of_more(side: Side, name: str, row: Row, n: int) -> Result:
    table = corners()
    there = side.put(table)
    best, wrong = worst(
        side,
        "of_more",
        n,
        there,
        F=side.function(row.n, row.what),
        G=side.function(row.n, row.right),
        OPERANDS=row.n,
        N=len(table),
    )

    def who(i: int) -> list[str]:
        out = side.put(np.zeros(4, np.float32))
        side.launch("operands", 1, out, i, there, N=len(table))
        return [hexed(v) for v in side.get(out)[: row.n]]

    return result(name, "fp32", best, wrong, who)


def of_halves(side: Side, name: str, row: Row, stride: int, kind: str) -> Result:
    p, least, top = HALF[kind]
    tl = side.kernels.tl
    best, wrong = worst(
        side,
        "of_halves",
        N_ALL // stride,
        stride,
        F=side.function(2, row.what),
        G=side.function(2, row.right),
        T=tl.float16 if kind == "fp16" else tl.bfloat16,
        P=p,
        LEAST=least,
        TOP=top,
    )
    return result(name, kind, best, wrong, lambda i: [hex(i & 0xFFFF), hex(i >> 16)])


# --- float64, beside mpmath ------------------------------------------------------------
def of_arrays(side: Side, what: str, args: list[np.ndarray]) -> np.ndarray:
    n = len(args[0])
    out = side.put(np.zeros(n, args[0].dtype))
    there = [side.put(a) for a in args]
    f = side.function(len(args), what)
    kernel = f"of_array{len(args)}"
    side.launch(kernel, -(-n // BLOCK), out, *there, n, F=f, B=BLOCK)
    return side.get(out)


def distances(name: str, got: np.ndarray, args: list[np.ndarray]) -> list[float]:
    fn = guarded(CASES[name].fn)
    rows = zip(*[a.tolist() for a in args], strict=True)
    off = []
    for g, row in zip(got, rows, strict=True):
        want = fn(*[mpf(v) if isinstance(v, float) else v for v in row])
        off.append(distance(g, want, np.float64))
    return off


def of_doubles(side: Side, pool: Any, n: int, match: str) -> list[Result]:
    """Samples of all functions of libdevice, in n pieces each; the pool's work."""
    jobs = []
    for name, case in CASES.items():
        if not re.search(match, f"{name} fp64"):
            continue
        args = samples(case, np.float64, n, seed=n)
        try:
            got = of_arrays(side, of_case(name), args)
        except Exception:
            if not side.is_triton:
                raise
            continue  # which has no such function
        jobs.append((name, args, pool.apply_async(distances, (name, got, args))))
    done = []
    for name, args, job in jobs:
        off = np.array(job.get())
        i = int(np.argmax(np.where(np.isinf(off), -1, off)))
        bad = np.flatnonzero(np.isinf(off))
        at = [hexed(a[i]) for a in args]
        wrong_at = [hexed(a[bad[0]]) for a in args] if len(bad) else []
        none: list[str] = []
        ulp = [float(off[i]), 0.0, 0.0]
        done.append(Result(name, "fp64", ulp, [at, none, none], len(bad), wrong_at))
    return done


# --- all of it ---------------------------------------------------------------------------
def bounds_of(r: Result, target: str) -> tuple[float, float, float]:
    """What is allowed: normal, subnormal, far."""
    if r.type == "fp64":
        return CASES[r.name].ulp64, 0, 0
    rows = FLOAT32 if r.type == "fp32" else HALVES
    row = rows.get(r.name) or CASTS[r.name]
    return row.allowed(target)


def is_fine(r: Result, target: str) -> bool:
    row = FLOAT32.get(r.name) if r.type == "fp32" else None
    allowed = bounds_of(r, target)
    wrong_ok = not r.wrong or (row is not None and row.loose(target))
    return (
        wrong_ok
        and r.ulp[0] < INF
        and all(u <= b for u, b in zip(r.ulp, allowed, strict=True))
    )


def measured(
    side: Side, match: str, stride: int, n_more: int, n_double: int, cores: int
) -> Any:
    """Results, one by one."""
    pool = multiprocessing.get_context("spawn").Pool(cores) if n_double else None
    if pool:
        yield from of_doubles(side, pool, n_double, match)
        pool.close()
    for name, row in {**FLOAT32, **CASTS}.items():
        if re.search(match, f"{name} fp32"):
            how, n = (of_one, stride) if row.n == 1 else (of_more, n_more)
            yield tried(how, side, name, row, n)
    for name, row in HALVES.items():
        for kind in HALF:
            if re.search(match, f"{name} {kind}"):
                yield tried(of_halves, side, name, row, stride, kind)


def tried(
    how: Any, side: Side, name: str, row: Row, n: int, kind: str = "fp32"
) -> Result:
    """A function that does not compile (Triton lacks some) is off by infinity."""
    try:
        return how(side, name, row, n, *([kind] if how is of_halves else []))
    except Exception as e:
        why = (str(e).strip().splitlines() or [""])[-1]
        return Result(
            name, kind, [INF, 0, 0], [[], [], []], 1, [type(e).__name__, why[:60]]
        )


def show(r: Result, allowed: tuple[float, float, float], fine: bool) -> str:
    cells = []
    for u, at, b in zip(r.ulp, r.at, allowed, strict=True):
        where = ", ".join(at)
        cells.append(f"{u:11.4g} of {b:<6g} {where:<26s}" if u else f"{'-':46s}")
    wrong = f"{r.wrong} wrong: {', '.join(r.wrong_at)}" if r.wrong else ""
    return (
        f"{'' if fine else 'BEYOND':7s}{r.name:20s} {r.type} {' '.join(cells)} {wrong}"
    )


def main() -> int:
    p = argparse.ArgumentParser()
    p.add_argument(
        "--target", help="cuda, cpu, interpreter, emu:sm_80, sm_90a (ptxsim)"
    )
    p.add_argument("--triton", action="store_true", help="CUDA's libdevice, on a GPU")
    p.add_argument("--match", default="", help="functions, a regular expression")
    p.add_argument("--stride", type=int, help="of the float32 that are tried")
    p.add_argument("--more", type=int, help="cases of functions of several operands")
    p.add_argument("--doubles", type=int, help="samples of a function of float64")
    p.add_argument("--cores", type=int, default=multiprocessing.cpu_count())
    p.add_argument("--json", type=Path)
    a = p.parse_args()
    target = a.target or ("cuda" if has_gpu() else "cpu")
    few = {"cuda": 0, "cpu": 10}.get(target, 18)  # bits of the stride
    stride = a.stride or (1 if not few else (1 << few) + 1)
    n_more = a.more or 2**30 >> few
    n_double = 4000 >> few // 6 if a.doubles is None else a.doubles
    side = Side(target, a.triton)
    start, good, rows = time.monotonic(), True, []
    for r in measured(side, a.match, stride, n_more, n_double, a.cores):
        fine = is_fine(r, target)
        good = good and fine
        rows.append({**r.__dict__, "allowed": bounds_of(r, target), "fine": fine})
        print(show(r, bounds_of(r, target), fine), flush=True)
    print(
        f"{target}, {'Triton' if a.triton else 'Tegula'}: {len(rows)} functions, "
        f"{N_ALL // stride} arguments each, {time.monotonic() - start:.0f} s"
    )
    if a.json:
        a.json.write_text(json.dumps(rows, indent=1))
    return 0 if good or a.triton else 1


def has_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


if __name__ == "__main__":
    sys.exit(main())
