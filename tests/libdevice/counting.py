"""Kernels that look for the worst result of a function: Triton's language, of either side.

Of `triton` here is whoever bears that name: tegula, once tegula.compat is installed.
"""

import triton
import triton.language as tl

# Where best[] keeps the worst of a kind, as the float's bits << 32 | who it was.
NORMAL, LOW, WRONG, FAR = (tl.constexpr(i) for i in range(4))


@triton.jit
def off(got, want, far, P: tl.constexpr, LEAST: tl.constexpr, TOP: tl.constexpr):
    """|got - want| in units of want's last place, all float64: P bits, subnormals' unit
    2^LEAST, infinite from 2^TOP on. Far ones count no unit below that of 1."""
    top: tl.constexpr = 2.0**TOP
    e = ((want.to(tl.int64, bitcast=True) >> 52) & 2047).to(tl.int32) - 1023
    e = tl.minimum(tl.maximum(e - (P - 1), LEAST), TOP - P)
    e = tl.where(far, tl.maximum(e, 1 - P), e)
    unit = ((1023 - e).to(tl.int64) << 52).to(tl.float64, bitcast=True)
    got = tl.minimum(tl.maximum(got, -top), top)
    want = tl.minimum(tl.maximum(want, -top), top)
    return (tl.abs(got - want) * unit).to(tl.float32)


@triton.jit
def is_wrong(got, want):
    """A NaN, an infinity or a zero's sign that is not as it must be."""
    nan = (got != got) != (want != want)
    inf = (tl.abs(want) == float("inf")) & (got != want)
    minus = got.to(tl.int64, bitcast=True) < 0
    zero = (got == 0) & (want == 0) & (minus != (want.to(tl.int64, bitcast=True) < 0))
    return nan | inf | zero


@triton.jit
def key(d, who, there):
    d = tl.where(there & (d == d), d, 0.0)
    return (d.to(tl.int32, bitcast=True).to(tl.int64) << 32) | who


@triton.jit
def note(best, count, got, want, who, low, far, P, LEAST, TOP):
    least: tl.constexpr = 2.0 ** (LEAST + P - 1)
    wrong = is_wrong(got, want)
    d = off(got, want, far, P, LEAST, TOP)
    fine = ~wrong & (want == want)
    low = low | (tl.abs(want) < least)
    normal = key(d, who, fine & ~low & ~far)
    tl.atomic_max(best + NORMAL, tl.max(normal, 0))
    tl.atomic_max(best + LOW, tl.max(key(d, who, fine & low & ~far), 0))
    tl.atomic_max(best + FAR, tl.max(key(d, who, fine & far), 0))
    n_wrong = tl.sum(wrong.to(tl.int32), 0)
    if n_wrong > 0:
        tl.atomic_max(
            best + WRONG, tl.max(key(tl.where(wrong, 1.0, 0.0), who, wrong), 0)
        )
        tl.atomic_add(count, n_wrong)


@triton.jit
def of_bits(
    best,
    count,
    n,
    stride,
    F: tl.constexpr,
    G: tl.constexpr,
    P: tl.constexpr,
    LEAST: tl.constexpr,
    TOP: tl.constexpr,
    LO: tl.constexpr,
    HI: tl.constexpr,
    TIMES: tl.constexpr,
    B: tl.constexpr,
):
    """F of every stride-th float32, n of them, beside G of the same float64. Where some are
    left out, the first 1024 are zeros, powers of two, infinities, and what follows each."""
    for k in range(TIMES):
        i = (tl.program_id(0).to(tl.int64) * TIMES + k) * B + tl.arange(0, B)
        first = (stride > 1) & (i < 1024)
        who = tl.where(first, (i >> 1 << 23) | (i & 1), tl.minimum(i, n - 1) * stride)
        x = who.to(tl.uint32).to(tl.float32, bitcast=True)
        got = F(x).to(tl.float64)
        want = G(x.to(tl.float64))
        far = (x < LO) | (x > HI)
        low = (tl.abs(x) < 2.0**-126) & (x != 0)
        note(best, count, got, want, who, low, far, P, LEAST, TOP)


@triton.jit
def mixed(i, k: tl.constexpr):
    """64 random bits (splitmix64)."""
    h = (i * 16 + (k + 1)).to(tl.uint64) * 0x9E3779B97F4A7C15
    h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9
    h = (h ^ (h >> 27)) * 0x94D049BB133111EB
    return h ^ (h >> 31)


@triton.jit
def of_one_half(h, at):
    """A float with h's lower 24 bits whose exponent is at; any sign."""
    m = (h.to(tl.uint32) & 0x807FFFFF) | ((at + 127).to(tl.uint32) << 23)
    return m.to(tl.float32, bitcast=True)


@triton.jit
def operand(i, k: tl.constexpr, corners, N: tl.constexpr):
    """The k-th operand of case i, of five sorts in turn: any bits; near 1; neighbours of
    the first; corners; 1 + 2^-j beside 2^j, as a power has it."""
    h = mixed(i, k)
    upper = (h >> 32).to(tl.int32) & 0x7FFFFFFF
    first = mixed(i, 0).to(tl.uint32)
    j = (mixed(i, 7) >> 40).to(tl.int32) & 15
    corner = tl.load(corners + upper % N)
    x = h.to(tl.uint32).to(tl.float32, bitcast=True)
    x = tl.where(i % 5 == 1, of_one_half(h, (upper & 15) - 8), x)
    beside = (first ^ (h.to(tl.uint32) & 0x80000000)) + (upper & 7).to(tl.uint32)
    if k == 0:
        beside = first
        pair = 1 + of_one_half(h, -1 - j)
    else:
        pair = of_one_half(h, j + (upper & 7))
    x = tl.where(i % 5 == 2, beside.to(tl.float32, bitcast=True), x)
    x = tl.where(i % 5 == 3, corner, x)
    return tl.where(i % 5 == 4, pair, x)


@triton.jit
def of_more(
    best,
    count,
    n,
    corners,
    F: tl.constexpr,
    G: tl.constexpr,
    OPERANDS: tl.constexpr,
    N: tl.constexpr,
    TIMES: tl.constexpr,
    B: tl.constexpr,
):
    """float32 functions of two to four operands."""
    for k in range(TIMES):
        i = (tl.program_id(0).to(tl.int64) * TIMES + k) * B + tl.arange(0, B)
        i = tl.minimum(i, n - 1)
        x, y = operand(i, 0, corners, N), operand(i, 1, corners, N)
        low = (tl.abs(x) < 2.0**-126) & (x != 0) | (tl.abs(y) < 2.0**-126) & (y != 0)
        if OPERANDS == 2:
            got = F(x, y)
            want = G(x.to(tl.float64), y.to(tl.float64))
        else:
            z = operand(i, 2, corners, N)
            low = low | (tl.abs(z) < 2.0**-126) & (z != 0)
            if OPERANDS == 3:
                got = F(x, y, z)
                want = G(x.to(tl.float64), y.to(tl.float64), z.to(tl.float64))
            else:
                w = operand(i, 3, corners, N)
                low = low | (tl.abs(w) < 2.0**-126) & (w != 0)
                got = F(x, y, z, w)
                want = G(
                    x.to(tl.float64),
                    y.to(tl.float64),
                    z.to(tl.float64),
                    w.to(tl.float64),
                )
        note(best, count, got.to(tl.float64), want, i, low, low & False, 24, -149, 128)


@triton.jit
def operands(out, i, corners, N: tl.constexpr):
    """The four operands of case i."""
    at = i + tl.zeros((1,), tl.int64)
    for k in tl.static_range(4):
        tl.store(out + k + tl.arange(0, 1), operand(at, k, corners, N))


@triton.jit
def of_halves(
    best,
    count,
    n,
    stride,
    F: tl.constexpr,
    G: tl.constexpr,
    T: tl.constexpr,
    P: tl.constexpr,
    LEAST: tl.constexpr,
    TOP: tl.constexpr,
    TIMES: tl.constexpr,
    B: tl.constexpr,
):
    """Two operands of 16 bits each: every pair, or every stride-th."""
    for k in range(TIMES):
        i = (tl.program_id(0).to(tl.int64) * TIMES + k) * B + tl.arange(0, B)
        who = tl.minimum(i, n - 1) * stride
        x = (who & 0xFFFF).to(tl.uint16).to(T, bitcast=True)
        y = ((who >> 16) & 0xFFFF).to(tl.uint16).to(T, bitcast=True)
        wide_x, wide_y = (
            x.to(tl.float32).to(tl.float64),
            y.to(tl.float32).to(tl.float64),
        )
        got = F(x, y).to(tl.float32).to(tl.float64)
        want = G(wide_x, wide_y)
        least: tl.constexpr = 2.0 ** (LEAST + P - 1)
        low = (tl.abs(wide_x) < least) & (x != 0) | (tl.abs(wide_y) < least) & (y != 0)
        note(best, count, got, want, who, low, low & False, P, LEAST, TOP)


@triton.jit
def of_array1(out, x, n, F: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, F(tl.load(x + i, i < n)), i < n)


@triton.jit
def of_array2(out, x, y, n, F: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(out + i, F(tl.load(x + i, m), tl.load(y + i, m)), m)


@triton.jit
def of_array3(out, x, y, z, n, F: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(out + i, F(tl.load(x + i, m), tl.load(y + i, m), tl.load(z + i, m)), m)


@triton.jit
def of_array4(out, x, y, z, w, n, F: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    a = F(tl.load(x + i, m), tl.load(y + i, m), tl.load(z + i, m), tl.load(w + i, m))
    tl.store(out + i, a, m)
