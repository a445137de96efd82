"""What the files of libdevice share: the decorator that says which types a function takes,
numbers of a type, and the steps from a float to its neighbours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tegula.jit import JITFunction, jit

from ... import core as tl
from ... import math
from ...external import inline_asm_elementwise
from ...math import abs, where
from ...target_info import is_ptx

# Rows of types; a function of two is called with both float32 or both float64, and so on.
F = "f32, f64"
FF = "f32 f32, f64 f64"
FFF = "f32 f32 f32, f64 f64 f64"
FFFF = "f32 f32 f32 f32, f64 f64 f64 f64"
INF = tl.constexpr(float("inf"))


R = TypeVar("R")


def typed(types: str) -> Callable[[Callable[..., R]], JITFunction[R]]:
    """``@jit`` for a function that takes these types: rows of types, with commas between.

    Its parameters arrive as tensors of one shape, whose types are those of a row: exactly,
    or after promotion. csrc/frontend/operators/typed.c reads this.
    """

    def wrap(fn: Callable[..., R]) -> JITFunction[R]:
        fn.__tegula_types__ = types  # type: ignore[attr-defined]
        return jit(fn)

    return wrap


@jit
def const(value: tl.constexpr, x):
    """The number value, exactly, in the type of x: literals would be float32 first."""
    return math.polynomial(x, (value,))


@jit
def bits(x):
    return x.to(tl.get_int_dtype(x.dtype.primitive_bitwidth, True), bitcast=True)


@jit
def is_negative(x):
    """The sign bit of x, as int1."""
    return bits(x) < 0


@jit
def with_sign(x, y):
    """|x| with the sign bit of y."""
    top: tl.constexpr = -(2 ** (x.dtype.primitive_bitwidth - 1))
    return ((bits(x) & (-1 - top)) | (bits(y) & top)).to(x.dtype, bitcast=True)


@jit
def div(x, y):
    """The IEEE quotient; ``/`` is an approximation of it on GPUs."""
    return math.fdiv(x, y, True)


@jit
def root(x):
    """The IEEE square root."""
    if x.dtype == tl.float32:
        return math.sqrt_rn(x)
    else:
        return math.sqrt(x)


@jit
def of_assembly(x, text: tl.constexpr):
    """One float32 of one, by assembly of a GPU."""
    return inline_asm_elementwise(text, "=f,f", (x,), tl.float32, True, 1)


@jit
def near_inverse(x):
    """1 / x of float32, on GPUs to 1 ulp; subnormal numbers and results are 0 there."""
    if is_ptx():
        return of_assembly(x, "rcp.approx.ftz.f32 $0, $1;")
    else:
        return 1.0 / x


@jit
def near_root(x):
    """The square root of a float32 that is 0 or normal: on GPUs to 0.51 ulp."""
    if is_ptx():
        r = of_assembly(x, "rsqrt.approx.ftz.f32 $0, $1;")
        s = x * r
        s = math.fma(math.fma(-s, s, x), r * 0.5, s)
        return where(x == 0, x, s)
    else:
        return root(x)


@jit
def whole(x):
    """Halves to even, for |x| below 2^22 (float32) or 2^51: two additions."""
    big: tl.constexpr = 12582912.0 if x.dtype == tl.float32 else 6755399441055744.0
    return (x + big) - big


# A product and a sum that are rounded where they stand: written as fused operations, which
# no later one is fused with. What follows relies on it.


@jit
def mul(x, y):
    return math.fma(x, y, -0.0)


@jit
def add(x, y):
    return math.fma(x, 1.0, y)


@jit
def two_sum(a, b):
    """a + b and what rounding took from it (Knuth)."""
    s = add(a, b)
    v = add(s, -a)
    return s, add(add(a, -add(s, -v)), add(b, -v))


@jit
def fast_two_sum(a, b):
    """The same where |a| >= |b| or a is 0 (Dekker)."""
    s = add(a, b)
    return s, add(b, -add(s, -a))


@jit
def two_product(a, b):
    """a * b and what rounding took from it."""
    p = mul(a, b)
    return p, math.fma(a, b, -p)


@jit
def no_number(x):
    """NaN in the type and shape of x."""
    return where(x == x, float("nan"), x)


@jit
def unit(x):
    """x as m * 2^e: |m| in 1 .. 2; of 0, inf and NaN the bits are no such numbers."""
    wide: tl.constexpr = x.dtype == tl.float64
    mant: tl.constexpr = 52 if wide else 23
    bias: tl.constexpr = 1023 if wide else 127
    least: tl.constexpr = 2.0**-1022 if wide else 2.0**-126
    low = abs(x) < least
    w = bits(where(low, x * (2.0**64), x))
    e = ((w >> mant) & (2 * bias + 1)).to(tl.int32) - bias - where(low, 64, 0)
    m = (w & ~((2 * bias + 1) << mant)) | (bias << mant)
    return m.to(x.dtype, bitcast=True), e


@jit
def power_of_two(k, like):
    """2^k for k in the range of normal numbers, in the type of like."""
    if like.dtype == tl.float64:
        return ((k.to(tl.int64) + 1023) << 52).to(tl.float64, bitcast=True)
    else:
        return ((k + 127) << 23).to(tl.float32, bitcast=True)


@jit
def scaled(x, k):
    """x * 2^k for any k, rounded once: what goes down does so 2^p above the last step."""
    wide: tl.constexpr = x.dtype == tl.float64
    high: tl.constexpr = 1023 if wide else 127
    low: tl.constexpr = -969 if wide else -102
    k = math.maximum(math.minimum(k, 4 * high), -4 * high)
    for _ in tl.static_range(3):
        step = where(k > high, high, where(k < -high + 1, low, 0))
        x = x * power_of_two(step, x)
        k = k - step
    k = math.maximum(math.minimum(k, high), 1 - high)
    return x * power_of_two(k, x)
