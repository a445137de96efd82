"""What the op tests share: the element types with their bits, kernels made of a few lines
of text, and how a result is compared.

Arrays are in storage form: NumPy's own type where there is one, else the bits (uint16 for
bfloat16, uint8 for float8). `decode` gives their values as float64, `encode` rounds to
nearest even; both are written from the formats' definitions, not from the compiler.
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

import tegula
import tegula.language as tl

SINTS = ("int8", "int16", "int32", "int64")
UINTS = ("uint8", "uint16", "uint32", "uint64")
INTS = SINTS + UINTS
FLOATS = ("float16", "bfloat16", "float32", "float64")
FNUZ = ("float8e4b8", "float8e5b16")
FP8 = ("float8e4nv", "float8e5", "float8e4b15", *FNUZ)
ALL = ("int1", *INTS, *FLOATS, *FP8)

# Bits of exponent and mantissa, bias; NumPy's own types round by themselves.
FORMATS = {
    "bfloat16": (8, 7, 127),
    "float8e4nv": (4, 3, 7),
    "float8e5": (5, 2, 15),
    "float8e4b15": (4, 3, 15),
    "float8e4b8": (4, 3, 8),
    "float8e5b16": (5, 2, 16),
}
BITS_OF = {"bfloat16": np.uint16} | dict.fromkeys(FP8, np.uint8)
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


def storage(dtype: str) -> np.dtype:
    """The NumPy type that holds elements of dtype in memory."""
    if dtype == "int1":
        return np.dtype(bool)
    return np.dtype(BITS_OF.get(dtype, dtype))


def is_float(dtype: str) -> bool:
    return dtype in EPS


@cache
def table(dtype: str) -> np.ndarray:
    """The value of every bit pattern."""
    n_exp, n_man, bias = FORMATS[dtype]
    bits = np.arange(2 ** (1 + n_exp + n_man))
    sign = np.where(bits >> (n_exp + n_man), -1.0, 1.0)
    exp, man = bits >> n_man & (2**n_exp - 1), bits & (2**n_man - 1)
    scale = np.exp2(np.maximum(exp, 1) - bias - n_man)
    value = sign * (man + np.where(exp > 0, 2**n_man, 0)) * scale
    top = exp == 2**n_exp - 1
    if dtype == "float8e4nv":  # no infinity; of the largest exponent one is NaN
        value[top & (man == 7)] = np.nan
    elif dtype in FNUZ:  # no infinity, no -0.0: that is the NaN
        value[128] = np.nan
    elif dtype != "float8e4b15":  # which has neither
        value[top] = np.where(man[top] == 0, sign[top] * np.inf, np.nan)
    return value


def decode(x: np.ndarray, dtype: str) -> np.ndarray:
    """The values: float64 for floats, x itself for integers."""
    if dtype in FORMATS:
        return table(dtype)[x]
    with np.errstate(invalid="ignore"):
        return x.astype(np.float64) if is_float(dtype) else x


def encode(x: Any, dtype: str) -> np.ndarray:
    """To nearest even; beyond the largest number, infinity, which float8 has not: it
    saturates, as hardware is asked to. float8e4b15: halves go away from zero, to 1.75."""
    x = np.asarray(x)
    if dtype not in FORMATS:
        with np.errstate(all="ignore"):
            return x.astype(storage(dtype))
    n_exp, n_man, _ = FORMATS[dtype]
    x = x.astype(np.float64)
    values = table(dtype)[: 2 ** (n_exp + n_man)]
    finite = np.flatnonzero(np.isfinite(values))
    if dtype == "float8e4b15":  # what Triton's conversion never gives
        finite = finite[:-1]
    known = values[finite]
    size = np.abs(np.where(np.isnan(x), 0, x))
    high = np.searchsorted(known, size).clip(1, len(known) - 1)
    low = high - 1
    up, down = known[high] - size, size - known[low]
    takes_high = high % 2 == 0 if dtype != "float8e4b15" else True
    pick = np.where((up < down) | ((up == down) & takes_high), high, low)
    if dtype == "bfloat16":
        limit = known[-1] + (known[-1] - known[-2]) / 2
        pick = np.where(size >= limit, 255 << 7, pick)
    if dtype in FNUZ:
        bits = pick | np.where(pick > 0, np.signbit(x).astype(int) << 7, 0)
        return np.where(np.isfinite(x), bits, 128).astype(np.uint8)
    if dtype == "float8e4b15":
        pick = np.where(np.isnan(x), 126, pick)
        x = np.where(np.isnan(x), 0, x)
    else:
        pick = np.where(np.isnan(x), 2 ** (n_exp + n_man) - 1, pick)
    return (pick | np.signbit(x).astype(int) << (n_exp + n_man)).astype(storage(dtype))


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
