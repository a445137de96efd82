"""Elementwise functions. The bodies are in C.

Shapes: the result has the shape of the operand; two operands broadcast.
Types:  float32 and float64 unless a function says otherwise; the result has the type of
        the operand. Number literals are typed first: ``maximum(x_f16, 0.0)`` is float32.
Errors: CompileError[TYPE] for another type: convert with ``.to(tl.float32)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .builtin import builtin, outside
from .types import PropagateNan, tensor

if TYPE_CHECKING:
    from .types import Operand


@builtin
def exp(x: Operand) -> tensor:
    """e to the x.

    Shapes: the result has the shape of x.
    Types:  float32 or float64, the result as x; float8 to bfloat16: convert with ``.to``.
    Accuracy: float32 to 2 ulp, on GPUs to 110; subnormal results are 0 there.
    Cost:   one or two instructions of the special function unit on GPUs (float32).
    Errors: CompileError[TYPE] for another type.

    >>> tl.exp(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [1, 2.718, 7.389, 20.09]
    """
    return outside()


@builtin
def exp2(x: Operand) -> tensor:
    """2 to the x.

    Shapes: the result has the shape of x.
    Types:  float32 or float64, the result as x; float8 to bfloat16: convert with ``.to``.
    Accuracy: float32 to 2 ulp, on GPUs to 3; subnormal results are 0 on GPUs.
    Cost:   one or two instructions of the special function unit on GPUs (float32).
    Errors: CompileError[TYPE] for another type.

    >>> tl.exp2(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [1, 2, 4, 8]
    """
    return outside()


@builtin
def log(x: Operand) -> tensor:
    """Natural logarithm; NaN below 0, -inf at 0.

    Shapes: the result has the shape of x.
    Types:  float32 or float64, the result as x; float8 to bfloat16: convert with ``.to``.
    Accuracy: float32 to 2 ulp.
    Cost:   one or two instructions of the special function unit on GPUs (float32).
    Errors: CompileError[TYPE] for another type.

    >>> tl.log(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [-inf, 0, 0.6931, 1.099]
    """
    return outside()


@builtin
def log2(x: Operand) -> tensor:
    """Logarithm to base 2; NaN below 0, -inf at 0.

    Shapes: the result has the shape of x.
    Types:  float32 or float64, the result as x; float8 to bfloat16: convert with ``.to``.
    Accuracy: float32 to 2 ulp.
    Cost:   one or two instructions of the special function unit on GPUs (float32).
    Errors: CompileError[TYPE] for another type.

    >>> tl.log2(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [-inf, 0, 1, 1.585]
    """
    return outside()


@builtin
def sin(x: Operand) -> tensor:
    """Sine of radians.

    Shapes: the result has the shape of x.
    Types:  float32 or float64, the result as x; float8 to bfloat16: convert with ``.to``.
    Accuracy: float32 to 2 ulp.
    Errors: CompileError[TYPE] for another type.

    >>> tl.sin(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [0, 0.8415, 0.9093, 0.1411]
    """
    return outside()


@builtin
def cos(x: Operand) -> tensor:
    """Cosine of radians.

    Shapes: the result has the shape of x.
    Types:  float32 or float64, the result as x; float8 to bfloat16: convert with ``.to``.
    Accuracy: float32 to 2 ulp.
    Errors: CompileError[TYPE] for another type.

    >>> tl.cos(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [1, 0.5403, -0.4161, -0.99]
    """
    return outside()


@builtin
def sqrt(x: Operand) -> tensor:
    """Square root; approximate for float32 on GPUs: sqrt_rn is exact.

    Shapes: the result has the shape of x.
    Types:  float32 or float64, the result as x; float8 to bfloat16: convert with ``.to``.
    Accuracy: float32 to 0.5 ulp, on GPUs to 1.
    Cost:   one or two instructions of the special function unit on GPUs (float32).
    Errors: CompileError[TYPE] for another type.

    >>> tl.sqrt(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [0, 1, 1.414, 1.732]
    """
    return outside()


@builtin
def rsqrt(x: Operand) -> tensor:
    """``1 / sqrt(x)``, approximate for float32 on GPUs.

    Shapes: the result has the shape of x.
    Types:  float32 or float64, the result as x; float8 to bfloat16: convert with ``.to``.
    Accuracy: float32 to 2 ulp; subnormal x is 0 on GPUs.
    Cost:   one or two instructions of the special function unit on GPUs (float32).
    Errors: CompileError[TYPE] for another type.

    >>> tl.rsqrt(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [inf, 1, 0.7071, 0.5774]
    """
    return outside()


@builtin
def erf(x: Operand) -> tensor:
    """Error function.

    Shapes: the result has the shape of x.
    Types:  float32 or float64, the result as x; float8 to bfloat16: convert with ``.to``.
    Accuracy: float32 to 3 ulp.
    Errors: CompileError[TYPE] for another type.

    >>> tl.erf(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [0, 0.8427, 0.9953, 1]
    """
    return outside()


@builtin
def floor(x: Operand) -> tensor:
    """Round down, to a float.

    Shapes: the result has the shape of x.
    Types:  float32 or float64, the result as x; float8 to bfloat16: convert with ``.to``.
    Errors: CompileError[TYPE] for another type.

    >>> tl.floor(tl.load(x_ptr + tl.arange(0, 4)) / 2)
    float32[4]: [0, 0, 1, 1]
    """
    return outside()


@builtin
def ceil(x: Operand) -> tensor:
    """Round up, to a float.

    Shapes: the result has the shape of x.
    Types:  float32 or float64, the result as x; float8 to bfloat16: convert with ``.to``.
    Errors: CompileError[TYPE] for another type.

    >>> tl.ceil(tl.load(x_ptr + tl.arange(0, 4)) / 2)
    float32[4]: [0, 1, 1, 2]
    """
    return outside()


@builtin
def rint(x: Operand) -> tensor:
    """Round to the nearest whole number, halves to even, to a float.

    Shapes: the result has the shape of x.
    Types:  float32 or float64, the result as x; as a method (``x.rint()``) any float.
    Cost:   one instruction.
    Errors: CompileError[TYPE] for another type.

    >>> tl.rint(tl.load(x_ptr + tl.arange(0, 4)) / 2)
    float32[4]: [0, 0, 1, 2]
    """
    return outside()


@builtin
def tanh(x: Operand) -> tensor:
    """Hyperbolic tangent.

    Shapes: the result has the shape of x.
    Types:  float32 or float64, the result as x; float8 to bfloat16: convert with ``.to``.
    Accuracy: float32 to 3 ulp.
    Errors: CompileError[TYPE] for another type.

    >>> tl.math.tanh(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [0, 0.7616, 0.964, 0.9951]
    """
    return outside()


@builtin
def sqrt_rn(x: Operand) -> tensor:
    """Square root, rounded to nearest.

    Shapes: the result has the shape of x.
    Types:  float32, the result too.
    Errors: CompileError[TYPE] for another type.

    >>> tl.sqrt_rn(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [0, 1, 1.414, 1.732]
    """
    return outside()


@builtin
def abs(x: Operand) -> tensor:
    """Absolute value.

    Shapes: the result has the shape of x.
    Types:  any float or integer, the result as x; unsigned integers are unchanged, and the
            most negative signed one too.
    Errors: CompileError[TYPE] for another type.

    >>> tl.abs(tl.load(x_ptr + tl.arange(0, 4)) - 2)
    float32[4]: [2, 1, 0, 1]
    """
    return outside()


@builtin
def fma(x: Operand, y: Operand, z: Operand) -> tensor:
    """``x * y + z``, rounded once.

    Shapes: the operands broadcast together.
    Types:  floats, promoted to one type; the result has it.
    Errors: CompileError[TYPE] for another type; CompileError[SHAPE] for shapes that do not
            broadcast.

    >>> tl.fma(tl.load(x_ptr + tl.arange(0, 4)), 2.0, 1.0)
    float32[4]: [1, 3, 5, 7]
    """
    return outside()


@builtin
def fdiv(
    x: Operand,
    y: Operand,
    ieee_rounding: bool = False,
    approx: bool = False,
) -> tensor:
    """Quotient of floats, within 2 ulp, on GPUs 3.

    Shapes: the operands broadcast together.
    Types:  two floats of one type, the result's; float16 and bfloat16 divide as float32.
            ieee_rounding rounds to nearest, where ``x / y`` does not yet. approx, of
            float32, is ``div.approx`` on a GPU: 2 ulp for denominators from 2^-126 to
            2^126, and beyond them it may give 0.
    Errors: CompileError[TYPE] for another type, and for approx with other than float32;
            CompileError[VALUE] for ieee_rounding and approx together; CompileError[SHAPE]
            for shapes that do not broadcast.

    >>> tl.fdiv(tl.load(x_ptr + tl.arange(0, 4)), 2.0)
    float32[4]: [0, 0.5, 1, 1.5]
    """
    return outside()


@builtin
def div_rn(x: Operand, y: Operand) -> tensor:
    """Quotient, rounded to nearest.

    Shapes: the operands broadcast together.
    Types:  float32, the result too.
    Errors: CompileError[TYPE] for another type; CompileError[SHAPE] for shapes that do not
            broadcast.

    >>> tl.div_rn(tl.load(x_ptr + tl.arange(0, 4)), 3.0)
    float32[4]: [0, 0.3333, 0.6667, 1]
    """
    return outside()


@builtin
def polynomial(x: Operand, coefficients: Any) -> tensor:
    """``c[0] + x * (c[1] + x * (c[2] + ..))``, one fused multiply-add a coefficient.

    Shapes: the result has the shape of x.
    Types:  float32 or float64, the result as x. The coefficients are constants, lowest
            first, and exact in that type.
    Cost:   ``len(coefficients) - 1`` fused multiply-adds.
    Errors: CompileError[TYPE] for another type; CompileError[VALUE] without coefficients.

    >>> tl.polynomial(tl.load(x_ptr + tl.arange(0, 4)), (1.0, 0.5, 2.0))
    float32[4]: [1, 3.5, 10, 20.5]
    """
    return outside()


@builtin
def umulhi(x: Operand, y: Operand) -> tensor:
    """High half of the unsigned product.

    Shapes: the operands broadcast together.
    Types:  integers of 32 or 64 bits, the result as they promote.
    Errors: CompileError[TYPE] for another type; CompileError[SHAPE] for shapes that do not
            broadcast.

    >>> tl.umulhi(tl.full((2,), 1 << 31, tl.uint32), 6)
    uint32[2]: [3, 3]
    """
    return outside()


@builtin
def add(x: Operand, y: Operand, sanitize_overflow: bool = True) -> tensor:
    """``x + y``; with sanitize_overflow debug builds check that integers do not wrap.

    Shapes: the operands broadcast together.
    Types:  as the operator promotes: numbers, or a pointer and an integer.
    Errors: CompileError[TYPE] for another type; CompileError[SHAPE] for shapes that do not
            broadcast.

    >>> tl.add(tl.arange(0, 4), 1)
    int32[4]: [1, 2, 3, 4]
    """
    return outside()


@builtin
def sub(x: Operand, y: Operand, sanitize_overflow: bool = True) -> tensor:
    """``x - y``; with sanitize_overflow debug builds check that integers do not wrap.

    Shapes: the operands broadcast together.
    Types:  as the operator promotes: numbers, or a pointer and an integer.
    Errors: CompileError[TYPE] for another type; CompileError[SHAPE] for shapes that do not
            broadcast.

    >>> tl.sub(tl.arange(0, 4), 1)
    int32[4]: [-1, 0, 1, 2]
    """
    return outside()


@builtin
def mul(x: Operand, y: Operand, sanitize_overflow: bool = True) -> tensor:
    """``x * y``; with sanitize_overflow debug builds check that integers do not wrap.

    Shapes: the operands broadcast together.
    Types:  as the operator promotes: numbers.
    Errors: CompileError[TYPE] for another type; CompileError[SHAPE] for shapes that do not
            broadcast.

    >>> tl.mul(tl.arange(0, 4), 3)
    int32[4]: [0, 3, 6, 9]
    """
    return outside()


@builtin
def logical_and(x: Operand, other: Operand) -> tensor:
    """Are both true?

    Shapes: the operands broadcast together.
    Types:  int1, the result too; compare other types with ``!= 0``.
    Errors: CompileError[TYPE] for another type; CompileError[SHAPE] for shapes that do not
            broadcast.

    >>> i = tl.arange(0, 4)
    >>> tl.logical_and(i > 0, i < 3)
    int1[4]: [0, 1, 1, 0]
    """
    return outside()


@builtin
def logical_or(x: Operand, other: Operand) -> tensor:
    """Is either true?

    Shapes: the operands broadcast together.
    Types:  int1, the result too; compare other types with ``!= 0``.
    Errors: CompileError[TYPE] for another type; CompileError[SHAPE] for shapes that do not
            broadcast.

    >>> i = tl.arange(0, 4)
    >>> tl.logical_or(i < 1, i > 2)
    int1[4]: [1, 0, 0, 1]
    """
    return outside()


@builtin
def minimum(
    x: Operand,
    y: Operand,
    propagate_nan: PropagateNan = PropagateNan.NONE,
) -> tensor:
    """The smaller one, element by element.

    A NaN loses against a number, unless propagate_nan is PropagateNan.ALL.

    Shapes: the operands broadcast together.
    Types:  any numbers, promoted after literals became tensors: a float16 block and 0.0
            give float32; bfloat16 gives float32.
    Errors: CompileError[TYPE] for another type; CompileError[SHAPE] for shapes that do not
            broadcast.

    >>> tl.minimum(tl.load(x_ptr + tl.arange(0, 4)), 1.5)
    float32[4]: [0, 1, 1.5, 1.5]
    """
    return outside()


@builtin
def maximum(
    x: Operand,
    y: Operand,
    propagate_nan: PropagateNan = PropagateNan.NONE,
) -> tensor:
    """The larger one, element by element.

    A NaN loses against a number, unless propagate_nan is PropagateNan.ALL.

    Shapes: the operands broadcast together.
    Types:  any numbers, promoted after literals became tensors: a float16 block and 0.0
            give float32; bfloat16 gives float32.
    Errors: CompileError[TYPE] for another type; CompileError[SHAPE] for shapes that do not
            broadcast.

    >>> tl.maximum(tl.load(x_ptr + tl.arange(0, 4)), 1.5)
    float32[4]: [1.5, 1.5, 2, 3]
    """
    return outside()


@builtin
def clamp(
    x: Operand,
    min: Operand,
    max: Operand,
    propagate_nan: PropagateNan = PropagateNan.NONE,
) -> tensor:
    """x, but at least min and at most max.

    A NaN becomes min, unless propagate_nan is PropagateNan.ALL.

    Shapes: the operands broadcast together.
    Types:  floats, promoted as by maximum, the bounds first: integers may be clamped
            between 0 and 2.5.
    Errors: CompileError[TYPE] for another type; CompileError[SHAPE] for shapes that do not
            broadcast.

    >>> tl.clamp(tl.load(x_ptr + tl.arange(0, 4)), 0.5, 2.0)
    float32[4]: [0.5, 1, 2, 2]
    """
    return outside()


@builtin
def where(condition: Operand, x: Operand, y: Operand) -> tensor:
    """x where condition is true, else y.

    Both x and y are computed; to skip one, use ``if``. Mask the load, not its result: an
    address outside is read before where can choose.

    Shapes: the operands broadcast together.
    Types:  condition counts as != 0 where it is not int1; x and y promote, and numbers take
            the type of the other one; pointers of one type too.
    Errors: CompileError[TYPE] for another type; CompileError[SHAPE] for shapes that do not
            broadcast.

    >>> i = tl.arange(0, 4)
    >>> tl.where(i < 2, i, -i)
    int32[4]: [0, 1, -2, -3]
    """
    return outside()


@builtin
def cdiv(x: Operand, div: Operand) -> tensor:
    """``(x + (div - 1)) // div``: the quotient of positive integers, rounded up.

    Shapes: the operands broadcast together.
    Types:  integers, the result as they promote; two constants give a constant.
    Errors: CompileError[TYPE] for another type; CompileError[SHAPE] for shapes that do not
            broadcast.

    >>> tl.cdiv(tl.arange(0, 4), 2)
    int32[4]: [0, 1, 1, 2]
    """
    return outside()


@builtin
def sigmoid(x: Operand) -> tensor:
    """``1 / (1 + exp(-x))``.

    Shapes: the result has the shape of x.
    Types:  float32 or float64, the result as x; float8 to bfloat16: convert with ``.to``.
    Accuracy: float32 to 4 ulp, on GPUs to 110; subnormal results may be 0.
    Cost:   one or two instructions of the special function unit on GPUs (float32).
    Errors: CompileError[TYPE] for another type.

    >>> tl.sigmoid(tl.load(x_ptr + tl.arange(0, 4)))
    float32[4]: [0.5, 0.7311, 0.8808, 0.9526]
    """
    return outside()


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        # Until Triton 3 this module was libdevice, and kernels of that age still are about.
        import importlib

        if name in ("max", "min"):
            return globals()[name + "imum"]
        if not name.startswith("_"):  # import * asks for __all__
            libdevice = importlib.import_module(".extra.libdevice", __package__)
            if hasattr(libdevice, name):
                return getattr(libdevice, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
