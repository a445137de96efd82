"""Directed rounding: rn to nearest (halves to even), rz toward zero, rd down, ru up.

PTX has instructions. Elsewhere the result to nearest is corrected by one step where the
sign of its error asks for it. The error of a sum is a float again (Knuth's two-sum); that
of a product and the remainders of a division and a root are, too, where nothing underflows.
tests/libdevice compares all with exact rational arithmetic, edges included.
float32 goes through float64, rounded to odd, so that a second rounding sees what the first
cut off (Boldo and Melquiond, 2008).
"""

from __future__ import annotations

from tegula.constexprs import constexpr_function
from tegula.jit import jit

from ... import core as tl
from ... import math
from ...external import inline_asm_elementwise
from ...math import abs, where
from ...target_info import is_ptx
from ._typed import INF, bits, div, mul, root, two_product, two_sum


# ---- corrections ---------------------------------------------------------------------


@jit
def _stepped(r, below, above, mode: tl.constexpr):
    """r, to nearest, of a number that is below r, above it, or neither: as mode rounds."""
    w = bits(r)
    minus = w < 0
    if mode == "rz":
        to_zero = (below & (minus ^ True)) | (above & minus)
        away = to_zero ^ to_zero
    elif mode == "rd":
        to_zero = below & (minus ^ True)
        away = below & minus
    else:
        to_zero = above & minus
        away = above & (minus ^ True)
    w = w - to_zero.to(w.dtype) + away.to(w.dtype)
    return w.to(r.dtype, bitcast=True)


@jit
def _directed(r, err, finite, mode: tl.constexpr):
    """r, to nearest, of the number r + err, whose operands are finite or not."""
    over = (abs(r) == INF) & finite
    below = (err < 0) | (over & (r > 0))
    above = (err > 0) | (over & (r < 0))
    return _stepped(r, below & (r == r), above & (r == r), mode)


@jit
def _to_odd(s, err):
    """s + err, where err is less than a step of s: toward zero, the last bit set if cut."""
    w = bits(s)
    toward = (err != 0) & ((err < 0) ^ (w < 0))
    inexact = err != 0
    w = (w - toward.to(w.dtype)) | inexact.to(w.dtype)
    return where(abs(s) < INF, w.to(s.dtype, bitcast=True), s)


@jit
def narrow(x, mode: tl.constexpr):
    """float64 to float32."""
    r = x.to(tl.float32)
    back = r.to(tl.float64)
    return _stepped(r, x < back, x > back, mode)


@jit
def _zero_sum(r, a, b, mode: tl.constexpr):
    """A sum that is 0 is -0 when rounding down, unless both are +0."""
    if mode == "rd":
        both = (bits(a) == 0) & (bits(b) == 0)
        return where((r == 0) & (both ^ True), -0.0, r)
    else:
        return r


# ---- the operations ------------------------------------------------------------------


@constexpr_function
def _mode(mode: str) -> str:
    """PTX's names of the directions."""
    return {"rn": "rn", "rz": "rz", "rd": "rm", "ru": "rp"}[mode]


@constexpr_function
def _code(name: str, mode: str, dtype: tl.dtype, n: int) -> str:
    word = "f32" if dtype == tl.float32 else "f64"
    return (
        f"{name}.{_mode(mode)}.{word} " + ", ".join(f"${i}" for i in range(n + 1)) + ";"
    )


@constexpr_function
def _constraints(dtype: tl.dtype, n: int) -> str:
    return "=" + ",".join(["f" if dtype == tl.float32 else "d"] * (n + 1))


@jit
def _asm(name: tl.constexpr, mode: tl.constexpr, args):
    t: tl.constexpr = args[0].dtype
    n: tl.constexpr = len(args)
    return inline_asm_elementwise(
        _code(name, mode, t, n), _constraints(t, n), args, t, True, 1
    )


@jit
def round_add(x, y, mode: tl.constexpr):
    if is_ptx():
        return _asm("add", mode, (x, y))
    else:
        s, err = two_sum(x, y)
        if mode == "rn":
            return s
        else:
            finite = (abs(x) < INF) & (abs(y) < INF)
            err = where(abs(s) < INF, err, 0.0)
            return _zero_sum(_directed(s, err, finite, mode), x, y, mode)


@jit
def round_mul(x, y, mode: tl.constexpr):
    if is_ptx():
        return _asm("mul", mode, (x, y))
    elif mode == "rn":
        return mul(x, y)
    elif x.dtype == tl.float32:
        return narrow(x.to(tl.float64) * y.to(tl.float64), mode)
    else:
        p = mul(x, y)
        # The error of a tiny product is seen 2^800 further up.
        tiny = abs(p) < 2.0**-900
        up = where(tiny, 2.0**400, 1.0).to(tl.float64)
        err = math.fma(x * up, y * up, -(p * up * up))
        lost = (p == 0) & (x != 0) & (y != 0)
        err = where(lost, where((bits(x) ^ bits(y)) < 0, -1.0, 1.0), err)
        err = where(abs(p) < INF, err, 0.0)
        return _directed(p, err, (abs(x) < INF) & (abs(y) < INF), mode)


@jit
def _sign_of_sum(a, b, c, d):
    """A float with the sign of a + b + c + d, distilled until they do not overlap."""
    for _ in tl.static_range(4):
        a, b = two_sum(a, b)
        b, c = two_sum(b, c)
        c, d = two_sum(c, d)
        b, c = two_sum(b, c)
        a, b = two_sum(a, b)
    return where(a != 0, a, where(b != 0, b, where(c != 0, c, d)))


@jit
def _fma_error(x, y, z, r):
    """A float with the sign of x * y + z - r, where r is that to nearest, of float64."""
    p = x * y
    # Brought to where neither the product nor its error leaves the range: by 2^600, on the
    # larger operand when that is down, half on each when up. A z that is nothing beside
    # the last bit of the product keeps its sign alone.
    big = abs(p) > 2.0**700
    tiny = abs(p) < 2.0**-700
    x_larger = abs(x) > abs(y)
    half = where(tiny, 2.0**300, 1.0).to(tl.float64)
    down = where(big, 2.0**-600, 1.0).to(tl.float64)
    u = x * half * where(x_larger, down, 1.0)
    v = y * half * where(x_larger, 1.0, down)
    small = big & (z != 0) & (abs(z) < 2.0**-300)
    w = where(small, where(bits(z) < 0, -(2.0**-300), 2.0**-300).to(tl.float64), z)
    h, low = two_product(u, v)
    err = _sign_of_sum(h, w * half * half * down, low, -(r * half * half * down))
    # Beside a large z the product is nothing but a sign.
    lost = (abs(z) > abs(p) * 2.0**200) | (p == 0)
    sign = where((bits(x) ^ bits(y)) < 0, -1.0, 1.0).to(tl.float64)
    err = where(lost, where((x != 0) & (y != 0), sign, 0.0), err)
    return where(abs(r) < INF, err, 0.0)


@jit
def round_fma(x, y, z, mode: tl.constexpr):
    if is_ptx():
        return _asm("fma", mode, (x, y, z))
    elif mode == "rn":
        return math.fma(x, y, z)
    elif x.dtype == tl.float32:
        p = mul(x.to(tl.float64), y.to(tl.float64))
        c = z.to(tl.float64)
        s, err = two_sum(p, c)
        s = _to_odd(s, where(abs(s) < INF, err, 0.0))
        return narrow(_zero_sum(s, p, c, mode), mode)
    else:
        r = math.fma(x, y, z)
        finite = (abs(x) < INF) & (abs(y) < INF) & (abs(z) < INF)
        err = _fma_error(x, y, z, r)
        # 0 of a product and a sum that cancel; one that underflows has an error.
        p = where((bits(x) ^ bits(y)) < 0, -0.0, 0.0).to(tl.float64)
        exact = _zero_sum(r, where((x != 0) & (y != 0), z, p), z, mode)
        return where(
            err == 0,
            _directed(exact, err, finite, mode),
            _directed(r, err, finite, mode),
        )


@jit
def _unit(x):
    """x as m * 2^e of float64: |m| in 1 .. 2, or x itself where x is 0, inf or NaN."""
    low = abs(x) < 2.0**-1022
    w = bits(where(low, x * 2.0**64, x))
    field = (w >> 52) & 2047
    ordinary = (abs(x) < INF) & (x != 0)
    m = ((w & ~(2047 << 52)) | (1023 << 52)).to(tl.float64, bitcast=True)
    e = field.to(tl.int32) - 1023 - where(low, 64, 0)
    return where(ordinary, m, x), where(ordinary, e, 0)


@jit
def _power(k):
    """2^k of float64 for k in -1022 .. 1023."""
    return ((k.to(tl.int64) + 1023) << 52).to(tl.float64, bitcast=True)


@jit
def round_div(x, y, mode: tl.constexpr):
    if is_ptx():
        return _asm("div", mode, (x, y))
    elif mode == "rn":
        return div(x, y)
    elif x.dtype == tl.float32:
        a = x.to(tl.float64)
        b = y.to(tl.float64)
        q = a / b
        err = math.fma(-q, b, a)
        err = where(b < 0, -err, err)
        return narrow(_to_odd(q, where((err == err) & (abs(b) < INF), err, 0.0)), mode)
    else:
        q = x / y
        a, i = _unit(x)
        b, j = _unit(y)
        ordinary = (abs(x) < INF) & (abs(y) < INF) & (x != 0) & (y != 0)
        k = j - i
        k1 = math.maximum(math.minimum(k // 2, 1023), -1022)
        k2 = math.maximum(math.minimum(k - k1, 1023), -1022)
        err = math.fma(-(q * _power(k1) * _power(k2)), b, a)
        err = where(b < 0, -err, err)
        lost = where((bits(x) ^ bits(y)) < 0, -1.0, 1.0).to(tl.float64)
        err = where(q == 0, lost, err)
        err = where(ordinary & (abs(q) < INF), err, 0.0)
        return _directed(q, err, ordinary, mode)


@jit
def round_rcp(x, mode: tl.constexpr):
    if is_ptx():
        return _asm("rcp", mode, (x,))
    else:
        return round_div(math.polynomial(x, (1.0,)), x, mode)


@jit
def round_sqrt(x, mode: tl.constexpr):
    if is_ptx():
        return _asm("sqrt", mode, (x,))
    elif mode == "rn":
        return root(x)
    elif x.dtype == tl.float32:
        a = x.to(tl.float64)
        r = math.sqrt(a)
        err = math.fma(-r, r, a)
        return narrow(_to_odd(r, where((err == err) & (a != 0), err, 0.0)), mode)
    else:
        r = math.sqrt(x)
        tiny = x < 2.0**-900
        half = where(tiny, 2.0**300, 1.0).to(tl.float64)
        err = math.fma(-(r * half), r * half, x * half * half)
        return _directed(r, where((x > 0) & (x < INF), err, 0.0), x < 0, mode)


# ---- between integers and floats -----------------------------------------------------


@jit
def _rounded(x, mode: tl.constexpr):
    """A float to a whole one."""
    if mode == "rz":
        return x  # the conversion does that
    elif mode == "rd":
        return math.floor(x)
    elif mode == "ru":
        return math.ceil(x)
    else:
        return math.rint(x)


@jit
def to_int(x, mode: tl.constexpr, kind: tl.constexpr, nan: tl.constexpr):
    r = _rounded(x, mode).to(kind)
    if nan == 0:
        return r
    else:
        return where(x == x, r, tl.full([], nan, kind))


@jit
def _parts(x):
    """A 64-bit integer as the sum of two float64, the first of them rounded to nearest."""
    high = (x >> 32).to(tl.float64) * 4294967296.0
    low = (x & 0xFFFFFFFF).to(tl.float64)
    s = high + low
    return s, low - (s - high)


@jit
def to_float(x, mode: tl.constexpr):
    """To float32."""
    if mode == "rn":
        return x.to(tl.float32)
    elif x.dtype.primitive_bitwidth == 32:
        return narrow(x.to(tl.float64), mode)
    else:
        s, err = _parts(x)
        return narrow(_to_odd(s, err), mode)


@jit
def to_double(x, mode: tl.constexpr):
    if mode == "rn":
        return x.to(tl.float64)
    else:
        s, err = _parts(x)
        return _directed(s, err, s == s, mode)
