"""Elementwise functions. The bodies are in C.

Shapes: the result has the shape of the operand; two operands broadcast.
Types:  float32 and float64 unless a function says otherwise; the result has the type of
        the operand. Number literals are typed first: ``maximum(x_f16, 0.0)`` is float32.
Errors: CompileError[TYPE] for another type: convert with ``.to(tl.float32)``.
"""

from __future__ import annotations

from typing import Any

from .builtin import builtin, outside
from .types import PropagateNan, tensor


@builtin
def exp(x: Any, _semantic: Any = None) -> tensor:
    """e to the x. float32 or float64."""
    return outside()


@builtin
def exp2(x: Any, _semantic: Any = None) -> tensor:
    """2 to the x. float32 or float64."""
    return outside()


@builtin
def log(x: Any, _semantic: Any = None) -> tensor:
    """Natural logarithm. float32 or float64."""
    return outside()


@builtin
def log2(x: Any, _semantic: Any = None) -> tensor:
    """Logarithm to base 2. float32 or float64."""
    return outside()


@builtin
def sin(x: Any, _semantic: Any = None) -> tensor:
    """Sine of radians. float32 or float64."""
    return outside()


@builtin
def cos(x: Any, _semantic: Any = None) -> tensor:
    """Cosine of radians. float32 or float64."""
    return outside()


@builtin
def sqrt(x: Any, _semantic: Any = None) -> tensor:
    """Square root, approximate on GPUs. float32 or float64."""
    return outside()


@builtin
def rsqrt(x: Any, _semantic: Any = None) -> tensor:
    """``1 / sqrt(x)``, approximate. float32 or float64."""
    return outside()


@builtin
def erf(x: Any, _semantic: Any = None) -> tensor:
    """Error function. float32 or float64."""
    return outside()


@builtin
def floor(x: Any, _semantic: Any = None) -> tensor:
    """Round down. float32 or float64."""
    return outside()


@builtin
def ceil(x: Any, _semantic: Any = None) -> tensor:
    """Round up. float32 or float64."""
    return outside()


@builtin
def tanh(x: Any, _semantic: Any = None) -> tensor:
    """Hyperbolic tangent. float32 or float64."""
    return outside()


@builtin
def sqrt_rn(x: Any, _semantic: Any = None) -> tensor:
    """Square root, rounded to nearest. float32."""
    return outside()


@builtin
def abs(x: Any, _semantic: Any = None) -> tensor:
    """Absolute value. Any float or integer; unsigned integers are unchanged."""
    return outside()


@builtin
def fma(x: Any, y: Any, z: Any, _semantic: Any = None) -> tensor:
    """``x * y + z``, rounded once, after promotion to one float type."""
    return outside()


@builtin
def fdiv(x: Any, y: Any, ieee_rounding: bool = False, _semantic: Any = None) -> tensor:
    """Quotient of two floats of one type, within 2 ulp; exact with ieee_rounding."""
    return outside()


@builtin
def div_rn(x: Any, y: Any, _semantic: Any = None) -> tensor:
    """Quotient, rounded to nearest. float32."""
    return outside()


@builtin
def umulhi(x: Any, y: Any, _semantic: Any = None) -> tensor:
    """High half of the unsigned product. Integers of 32 or 64 bits."""
    return outside()


@builtin
def add(
    x: Any, y: Any, sanitize_overflow: bool = True, _semantic: Any = None
) -> tensor:
    """``x + y``."""
    return outside()


@builtin
def sub(
    x: Any, y: Any, sanitize_overflow: bool = True, _semantic: Any = None
) -> tensor:
    """``x - y``."""
    return outside()


@builtin
def mul(
    x: Any, y: Any, sanitize_overflow: bool = True, _semantic: Any = None
) -> tensor:
    """``x * y``."""
    return outside()


@builtin
def logical_and(x: Any, y: Any, _semantic: Any = None) -> tensor:
    """Both, of int1."""
    return outside()


@builtin
def logical_or(x: Any, y: Any, _semantic: Any = None) -> tensor:
    """Either, of int1."""
    return outside()


@builtin
def minimum(
    x: Any,
    y: Any,
    propagate_nan: PropagateNan = PropagateNan.NONE,
    _semantic: Any = None,
) -> tensor:
    """The smaller, elementwise, of any numbers; bfloat16 gives float32.

    A NaN loses against a number, unless propagate_nan is PropagateNan.ALL.
    """
    return outside()


@builtin
def maximum(
    x: Any,
    y: Any,
    propagate_nan: PropagateNan = PropagateNan.NONE,
    _semantic: Any = None,
) -> tensor:
    """The larger, as minimum."""
    return outside()


@builtin
def clamp(
    x: Any,
    min: Any,
    max: Any,
    propagate_nan: PropagateNan = PropagateNan.NONE,
    _semantic: Any = None,
) -> tensor:
    """x between two bounds. Floats."""
    return outside()


@builtin
def where(condition: Any, x: Any, y: Any, _semantic: Any = None) -> tensor:
    """x where condition is true, else y; all three broadcast, x and y promote.

    Both x and y are computed; to skip one, use ``if``.
    """
    return outside()


@builtin
def cdiv(x: Any, div: Any, _semantic: Any = None) -> tensor:
    """``(x + (div - 1)) // div``: the quotient of positive integers, rounded up."""
    return outside()


@builtin
def sigmoid(x: Any, _semantic: Any = None) -> tensor:
    """``1 / (1 + exp(-x))``. float32 or float64."""
    return outside()
