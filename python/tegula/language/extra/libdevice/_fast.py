"""Fast approximations of float32: an instruction or two of a GPU's special function unit.

On the CPU, in the emulator and in the interpreter they are the accurate functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tegula.jit import jit

from ... import core as tl
from ... import math
from ...external import inline_asm_elementwise
from ...target_info import is_ptx
from ._circular import tan
from ._exponential import exp10, log2, log10, pow
from ._typed import div, typed

if TYPE_CHECKING:
    from ...types import tensor

__all__ = [
    "fast_cosf", "fast_dividef", "fast_exp10f", "fast_expf", "fast_log2f",
    "fast_log10f", "fast_logf", "fast_powf", "fast_sinf", "fast_tanf", "fast_tanhf",
]  # fmt: skip


@jit
def _of_one(x, name: tl.constexpr):
    return inline_asm_elementwise(
        name + ".approx.ftz.f32 $0, $1;", "=f,f", (x,), tl.float32, True, 1
    )


@typed("f32")
def fast_sinf(x) -> tensor:
    """Sine of radians. On GPUs: 2^-21 within -pi .. pi, worse beyond.

    >>> tl.extra.libdevice.fast_sinf(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [0, 0.8415, 0.9093, 0.1411]
    """
    return _of_one(x, "sin") if is_ptx() else math.sin(x)


@typed("f32")
def fast_cosf(x) -> tensor:
    """Cosine of radians. On GPUs: 2^-21 within -pi .. pi, worse beyond.

    >>> tl.extra.libdevice.fast_cosf(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [1, 0.5403, -0.4161, -0.99]
    """
    return _of_one(x, "cos") if is_ptx() else math.cos(x)


@typed("f32")
def fast_tanf(x) -> tensor:
    """Tangent of radians. On GPUs: the quotient of fast_sinf and fast_cosf.

    >>> tl.extra.libdevice.fast_tanf(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [0, 1.557, -2.185, -0.1425]
    """
    if is_ptx():
        return _of_one(x, "sin") * _of_one(_of_one(x, "cos"), "rcp")
    else:
        return tan(x)


@typed("f32")
def fast_tanhf(x) -> tensor:
    """Hyperbolic tangent. On GPUs: 2^-11 of the result.

    >>> tl.extra.libdevice.fast_tanhf(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [0, 0.7616, 0.964, 0.9951]
    """
    if is_ptx():
        return inline_asm_elementwise(
            "tanh.approx.f32 $0, $1;", "=f,f", (x,), tl.float32, True, 1
        )
    else:
        return math.tanh(x)


@typed("f32")
def fast_expf(x) -> tensor:
    """e to the x. On GPUs: 2 ulp and as many as x / 88 takes; subnormals are 0.

    >>> tl.extra.libdevice.fast_expf(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [1, 2.718, 7.389, 20.09]
    """
    return math.exp(x)


@typed("f32")
def fast_exp10f(x) -> tensor:
    """10 to the x. On GPUs: as fast_expf.

    >>> tl.extra.libdevice.fast_exp10f(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [1, 10, 100, 1000]
    """
    return _of_one(x * 3.321928094887362, "ex2") if is_ptx() else exp10(x)


@typed("f32")
def fast_log2f(x) -> tensor:
    """Logarithm to base 2. On GPUs: 2^-22 near 1, else 1 ulp.

    >>> tl.extra.libdevice.fast_log2f(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [-inf, 0, 1, 1.585]
    """
    return _of_one(x, "lg2") if is_ptx() else log2(x)


@typed("f32")
def fast_logf(x) -> tensor:
    """Natural logarithm. On GPUs: 2^-21 near 1, else 3 ulp.

    >>> tl.extra.libdevice.fast_logf(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [-inf, 0, 0.6931, 1.099]
    """
    return _of_one(x, "lg2") * 0.6931471805599453 if is_ptx() else math.log(x)


@typed("f32")
def fast_log10f(x) -> tensor:
    """Logarithm to base 10. On GPUs: 2^-21 near 1, else 3 ulp.

    >>> tl.extra.libdevice.fast_log10f(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [-inf, 0, 0.301, 0.4771]
    """
    return _of_one(x, "lg2") * 0.3010299956639812 if is_ptx() else log10(x)


@typed("f32 f32")
def fast_powf(x, y) -> tensor:
    """x to the y for positive x. On GPUs: 2 to the y * log2(x), each an approximation.

    >>> tl.extra.libdevice.fast_powf(tl.load(x_ptr + tl.arange(0, 4)), 1.5)
    float32[4]: [0, 1, 2.828, 5.196]
    """
    if is_ptx():
        return _of_one(y * _of_one(x, "lg2"), "ex2")
    else:
        return pow(x, y)


@typed("f32 f32")
def fast_dividef(x, y) -> tensor:
    """x / y. On GPUs: 2 ulp for y within 2^-126 .. 2^126; 0 for larger finite ones.

    >>> x = tl.load(x_ptr + tl.arange(0, 4))
    >>> tl.extra.libdevice.fast_dividef(x, x + 1.0)
    float32[4]: [0, 0.5, 0.6667, 0.75]
    """
    if is_ptx():
        return inline_asm_elementwise(
            "div.approx.ftz.f32 $0, $1, $2;", "=f,f,f", (x, y), tl.float32, True, 1
        )
    else:
        return div(x, y)
