"""What functions of float32 may be off, in units of the last place: as docstrings say it.

Distances are from the exact result, so a correctly rounded one is up to 0.5 off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from accuracy import CASES

FLOAT = (24, -149, 128)  # bits, the exponent of the last place of all, of infinity
INF = float("inf")


@dataclass(frozen=True)
class Row:
    """what(x, ..) of float32 beside right(x, ..) of float64.

    host, gpu  bounds; gpu None: as the host
    low        where an operand or the result is subnormal: host, gpu (inf: flushed)
    near       from .. to: beyond, `far` bounds the absolute error in units of 1's
    """

    n: int
    what: str
    right: str
    host: float
    gpu: float | None = None
    low: tuple[float, float] = (1, 1)
    near: tuple[float, float] = (-INF, INF)
    far: float = 0
    form: tuple[int, int, int] = FLOAT
    specials: bool = True  # on GPUs: NaNs, infinities, zeros as C has them

    def allowed(self, target: str) -> tuple[float, float, float]:
        on_gpu = target == "cuda" or target.startswith("sm_")
        gpu = self.host if self.gpu is None else self.gpu
        return (gpu if on_gpu else self.host, self.low[on_gpu], self.far)

    def loose(self, target: str) -> bool:
        on_gpu = target == "cuda" or target.startswith("sm_")
        return on_gpu and not self.specials


# Read on an H200, over all float32 (two operands: samples), and rounded up.
ON_GPUS = {
    "exp": 2,
    "exp2": 3,
    "exp10": 3,
    "expm1": 2,
    "log2": 2,
    "log10": 3,
}


def of_libdevice() -> dict[str, Row]:
    rows = {}
    for name, case in CASES.items():
        if name == "powi":
            continue
        n = len(case.ranges)
        call = f"libdevice.{name}({', '.join('xyzw'[:n])})"
        more: dict[str, Any] = {}
        if name in ("j0", "j1", "y0", "y1"):
            more = {"near": (-8.0, 8.0), "far": 2}
        if name == "rsqrt":
            more = {"specials": False}  # of -1e-40 it is -inf, as of -0
        if name in ON_GPUS:
            more = {"gpu": ON_GPUS[name]}
        if name == "lgamma":
            more = {"near": (-2.0, INF), "far": 4}
        gpu = ON_GPUS.get(name, case.ulp32)
        low = (case.ulp32, INF if name == "rsqrt" else gpu)
        rows[name] = Row(n, call, call, case.ulp32, low=low, **more)
    return rows


def fast() -> dict[str, Row]:
    rows = {}
    for name in ("sin", "cos", "tan", "exp", "exp10", "log2", "log", "log10"):
        right = f"libdevice.{name}(x)"
        rows[f"fast_{name}f"] = Row(
            1, f"libdevice.fast_{name}f(x)", right, 4, INF, (4, INF), specials=False
        )
    rows["fast_tanhf"] = Row(
        1, "libdevice.fast_tanhf(x)", "libdevice.tanh(x)", 4, INF, (4, INF)
    )
    return rows


# Of a GPU's own: e^x is 2^(x log2 e), whose product is rounded; subnormals are flushed.
FLUSHED = (2, INF)
FLOAT32: dict[str, Row] = {
    "tl.exp": Row(1, "tl.exp(x)", "libdevice.exp(x)", 2, 110, FLUSHED),
    "tl.exp2": Row(1, "tl.exp2(x)", "libdevice.exp2(x)", 2, 3, FLUSHED),
    "tl.log": Row(1, "tl.log(x)", "libdevice.log(x)", 2),
    "tl.log2": Row(1, "tl.log2(x)", "libdevice.log2(x)", 2),
    "tl.sin": Row(1, "tl.sin(x)", "libdevice.sin(x)", 2, low=(2, 2)),
    "tl.cos": Row(1, "tl.cos(x)", "libdevice.cos(x)", 2, low=(2, 2)),
    "tl.math.tanh": Row(1, "libdevice.tanh(x)", "libdevice.tanh(x)", 3, low=(3, 3)),
    "tl.erf": Row(1, "tl.erf(x)", "libdevice.erf(x)", 3, low=(3, 3)),
    "tl.sqrt": Row(1, "tl.sqrt(x)", "tl.sqrt(x)", 0.5, 1, (0.5, 1)),
    "tl.sqrt_rn": Row(1, "tl.sqrt_rn(x)", "tl.sqrt(x)", 0.5),
    "tl.rsqrt": Row(
        1, "tl.rsqrt(x)", "libdevice.rsqrt(x)", 2, 2, FLUSHED, specials=False
    ),
    "tl.sigmoid": Row(
        1, "tl.sigmoid(x)", "1 / (1 + libdevice.exp(-x))", 4, 110, (INF, INF)
    ),
    "tl.fdiv": Row(2, "tl.fdiv(x, y)", "x / y", 2, 3, FLUSHED),
    "tl.div_rn": Row(2, "tl.div_rn(x, y)", "x / y", 0.5001, low=(0.5001, 0.5001)),
    "+": Row(2, "x + y", "x + y", 0.5001, low=(0.5001, 0.5001)),
    "*": Row(2, "x * y", "x * y", 0.5001, low=(0.5001, 0.5001)),
    "fmod": Row(2, "libdevice.fmod(x, y)", "libdevice.fmod(x, y)", 0, low=(0, 0)),
    "remainder": Row(
        2, "libdevice.remainder(x, y)", "libdevice.remainder(x, y)", 0, low=(0, 0)
    ),
    **of_libdevice(),
    **fast(),
}

# x to a narrower type, nearest and toward zero: the exact value is x.
CASTS: dict[str, Row] = {
    "to fp16": Row(1, "x.to(tl.float16)", "x", 0.5, low=(0.5, 0.5), form=(11, -24, 16)),
    "to bf16": Row(
        1,
        "x.to(tl.bfloat16).to(tl.float32)",
        "x",
        0.5,
        low=(0.5, 0.5),
        form=(8, -133, 128),
    ),
}

# Of float16 and bfloat16: sums and products round once, quotients are float32.
HALVES: dict[str, Row] = {
    "+": Row(2, "x + y", "x + y", 0.5001, low=(0.5001, 0.5001)),
    "-": Row(2, "x - y", "x - y", 0.5001, low=(0.5001, 0.5001)),
    "*": Row(2, "x * y", "x * y", 0.5001, low=(0.5001, 0.5001)),
    "/": Row(2, "x / y", "x / y", 0.001, low=(0.001, 0.001)),
}
