"""What the op tests share: the element types with their bits, kernels made of a few lines
of text, and how a result is compared.

Arrays are in storage form, see element_types.py. `decode` gives their values as float64,
`encode` rounds to nearest even.
"""

from __future__ import annotations

import ctypes
import itertools
import linecache
import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import simulated
from element_types import FLOATS, FNUZ, FORMATS, INTS, encode, is_float, storage, table

import tegula
import tegula.language as tl

FP8 = ("float8e4nv", "float8e5", "float8e4b15", *FNUZ)
ALL = ("int1", *INTS, *FLOATS, *FP8)

# The distance from 1 to the next number.
EPS = {
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
    "float32": 2.0**-23,
    "float64": 2.0**-52,
    "float8e4nv": 2.0**-3,
    "float8e5": 2.0**-2,
    "float8e4b15": 2.0**-3,
    "float8e4b8": 2.0**-3,
    "float8e5b16": 2.0**-2,
}


def decode(x: np.ndarray, dtype: str) -> np.ndarray:
    """The values: float64 for floats, x itself for integers."""
    if dtype in FORMATS:
        return table(dtype)[x]
    with np.errstate(invalid="ignore"):
        return x.astype(np.float64) if is_float(dtype) else x


def rounded(x: Any, dtype: str) -> np.ndarray:
    """Values of dtype nearest to x, as float64."""
    return decode(encode(x, dtype), dtype)


def numbers(
    rng: np.random.Generator, dtype: str, shape: Any, special: bool = True
) -> Any:
    """Elements of dtype, in storage form: extremes and odd ones first, then any."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    n = int(np.prod(shape))
    if dtype == "int1":
        return rng.integers(0, 2, n).astype(bool).reshape(shape)
    if is_float(dtype):
        x = rng.standard_normal(n) * np.exp2(rng.integers(-3, 4, n))
        odd = [0.0, -0.0, 1.0, -1.0, np.nan, -2.5, 0.75]
        if dtype != "float8e4nv":
            odd += [np.inf, -np.inf]
        if special:
            x[: len(odd)] = odd[:n]
            rng.shuffle(x)
        return encode(x, dtype).reshape(shape)
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
    odd = np.array([info.min, info.max, 0, 1, info.max // 2], dtype)
    if special:
        small = rng.integers(0, 2, n).astype(bool)
        x[small] %= np.array(100, dtype)
        x[: len(odd)] = odd[:n]
        rng.shuffle(x)
    return x.reshape(shape)


# --- kernels of text -----------------------------------------------------------------
class Arg(NamedTuple):
    """An argument: what memory holds, and the type kernels see."""

    data: np.ndarray
    dtype: str


_numbers = itertools.count()


@cache
def make(body: str, types: tuple[str, ...], names: str, helpers: tuple) -> Any:
    """A kernel with the pointers x0, x1, .. to `types`, and the constants `names`."""
    pointers = [f"x{i}" for i in range(len(types))]
    constants = [f"{name}: tl.constexpr" for name in names.split()]
    lines = [f"def kernel({', '.join(pointers + constants)}):"]
    for i, t in enumerate(types):
        if t in FORMATS:  # memory that the caller can only describe as integers
            lines.append(f"    x{i} = x{i}.to(tl.pointer_type(tl.{t}))")
    lines += ["    " + line for line in body.strip("\n").split("\n")]
    text = "\n".join(lines) + "\n"
    file = f"<op case {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {"tl": tl, **{h.__name__: h for h in helpers}}
    exec(compile(text, file, "exec"), space)
    return tegula.jit(space["kernel"])


@cache
def torch_cuda() -> Any:
    """torch where it sees a GPU, else None."""
    try:
        ctypes.CDLL("libcuda.so.1")  # no driver: no need to wait for torch
        import torch
    except (ImportError, OSError):
        return None
    return torch if torch.cuda.is_available() else None


class Machine:
    """Where a case runs."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_emulated = name.startswith("emu")
        self.is_simulated = name.startswith("ptxsim")
        self.is_ptx = self.is_simulated or name == "cuda"
        self.record: Any = None  # where results are kept: beside.Record

    def run(
        self,
        body: str,
        *args: Arg,
        grid: tuple[int, ...] = (1,),
        helpers: tuple = (),
        options: dict[str, Any] | None = None,
        **constants: Any,
    ) -> list[np.ndarray]:
        """Launches body over copies of args, which it may write; gives them back."""
        types = tuple(a.dtype for a in args)
        kernel = make(body, types, " ".join(constants), helpers)
        there = [self.put(a.data) for a in args]
        kernel[grid](*there, **constants, **(options or {}))
        results = [self.get(t) for t in there]
        if self.record:
            self.record.add(results, types)
        return results

    def put(self, x: np.ndarray) -> Any:
        """A copy of x where kernels can reach it."""
        if self.name == "cuda":
            return torch_cuda().from_numpy(np.ascontiguousarray(x)).cuda()
        if self.is_simulated:
            return simulated.put(x, self.name.removeprefix("ptxsim:"))
        return np.array(x, order="C")

    def get(self, x: Any) -> np.ndarray:
        if self.is_simulated:
            return x.numpy()
        return x.cpu().numpy() if self.name == "cuda" else x

    def address(self, x: Any) -> int:
        return x.data_ptr() if self.is_ptx else x.ctypes.data


def result(dtype: str, shape: Any) -> Arg:
    """Memory for a result, of what no kernel means to write."""
    there = storage(dtype)
    if dtype == "int1":
        return Arg(np.zeros(shape, bool), dtype)
    raw = np.full(np.prod(shape, dtype=int) * there.itemsize, 0x5B, np.uint8)
    return Arg(raw.view(there).reshape(shape), dtype)


def index(shape: tuple[int, ...]) -> str:
    """The offsets of a row-major block as an expression."""
    n = math.prod(shape)
    flat = f"tl.arange(0, {n})"
    return flat if len(shape) == 1 else f"tl.reshape({flat}, {shape})"


# --- comparing -----------------------------------------------------------------------
def same_bits(got: np.ndarray, want: np.ndarray, dtype: str) -> None:
    """Equal to the bit; NaN equals NaN of any payload."""
    got, want = np.asarray(got), np.asarray(want)
    if not is_float(dtype):
        np.testing.assert_array_equal(got, want)
        return
    g, w = decode(got, dtype), decode(want, dtype)
    np.testing.assert_array_equal(g, w)
    signs = np.signbit(g) != np.signbit(w)
    assert not (signs & ~np.isnan(g)).any(), "signs of zeros differ"


def close(
    got: np.ndarray, want: Any, dtype: str, ulp: float, tiny: float = 0.0
) -> None:
    """Within ulp units of the last place of dtype (want: float64 values)."""
    g = decode(np.asarray(got), dtype)
    want = np.asarray(want, np.float64)
    with np.errstate(all="ignore"):
        w = rounded(want, dtype)
        unit = np.maximum(np.abs(w) * EPS[dtype], tiny)
        bad = ~((np.abs(g - w) <= ulp * unit) | (g == w) | (np.isnan(g) & np.isnan(w)))
    assert not bad.any(), (
        f"{bad.sum()} of {bad.size} off, first got {g[bad][:4]} want {w[bad][:4]}"
    )
