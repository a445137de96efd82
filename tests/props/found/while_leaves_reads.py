# case: {"params": [{"name": "x0", "role": "in", "dtype": "int64", "whole": true, "n": 8192}, {"name": "x1", "role": "in", "dtype": "float32", "whole": true, "n": 8192}, {"name": "x2", "role": "in", "dtype": "float32", "whole": false, "n": 8192}, {"name": "x3", "role": "in", "dtype": "bfloat16", "whole": false, "n": 8192}, {"name": "c_add_int32", "role": "out", "dtype": "int32", "whole": true, "n": 64}, {"name": "m_float32", "role": "in", "dtype": "float32", "whole": true, "n": 12288}, {"name": "o_float32", "role": "out", "dtype": "float32", "whole": false, "n": 257}, {"name": "oi", "role": "out", "dtype": "int64", "whole": true, "n": 512}, {"name": "of", "role": "out", "dtype": "float64", "whole": true, "n": 152}, {"name": "oa", "role": "near", "dtype": "float64", "whole": false, "n": 272}, {"name": "o_float16", "role": "out", "dtype": "float16", "whole": true, "n": 32}], "n": 3, "big": 1099511627792, "scale": 0.5, "seed": 62, "grid": 1, "rows": 1, "streams": false, "targets": ["emu:sm_75"], "options": {"C": 2, "num_warps": 2}, "emu_seed": 0}
import tegula
import tegula.language as tl
from tegula.language.extra import libdevice


@tegula.jit
def pick(a, b, n):
    if n > 5:
        return a
    if n % 2 == 0:
        return b
    for i in range(n):
        if i == 3:
            return a
    return b


@tegula.jit
def both(a, b):
    return (b, a)


@tegula.jit
def larger(a, b):
    return tl.where(a > b, a, b)


@tegula.jit
def keyed(first, *, second, least=0):
    if least > 0:
        return first
    return second


@tegula.jit
def twice(a, times: tl.constexpr):
    for _ in tl.static_range(times):
        a = a + a
    return a


@tegula.jit
def plus(a, b):
    return a + b


@tegula.jit
def first(a, b):
    return a


@tegula.jit
def affine(a, b, c, d):
    return (a * c, b * c + d)


@tegula.jit
def branchy(a, b):
    if a > b:
        return b
    c = a
    if b == 3:
        c = b + b
    elif a < b:
        c = a + b
    return c


@tegula.aggregate
class Pair:
    a: tl.tensor
    b: tl.tensor

    @tegula.jit
    def swapped(self):
        return Pair(self.b, self.a)


@tegula.jit
def top(a, i, b, j):
    left = (a > b) | (a == b) & (i < j)
    return (tl.where(left, a, b), tl.where(left, i, j))


@tegula.jit
def kernel(
    x0,
    x1,
    x2,
    x3,
    c_add_int32,
    m_float32,
    o_float32,
    oi,
    of,
    oa,
    o_float16,
    n,
    big,
    scale,
    C: tl.constexpr,
):
    v13 = tl.zeros([16, 16], tl.float32)
    k18 = 0
    while (k18 < 6) & (n != 3):
        k18 += 1
        if n % 3 == 1:
            v13 = tl.trans(v13)
    v19 = tl.dot(
        tl.max(tl.arange(0, 8) + tl.arange(0, 16)[None, :, None], axis=2).to(
            tl.float16
        ),
        tl.full([16, 4], -8.0, tl.float16),
        out_dtype=tl.float16,
    )
    v20 = tl.dot(
        tl.maximum(v19, -4),
        (tl.arange(0, 4)[:, None] * 16).to(tl.float16),
        out_dtype=tl.float16,
    )
    tl.store(oa + 16 + tl.arange(0, 256).reshape([16, 16]), tl.rsqrt(v13 + 18.0))
    tl.store(
        of + 24 + tl.arange(0, 128).reshape([8, 16]), v20.to(tl.float64), mask=8 < n
    )
