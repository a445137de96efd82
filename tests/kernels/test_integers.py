"""Integer and bit arithmetic against NumPy, exactly."""

import re

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def binary_kernel(x_ptr, y_ptr, out_ptr, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.load(y_ptr + i, mask=i < n, other=1)
    if OP == "+":
        z = x + y
    elif OP == "-":
        z = x - y
    elif OP == "*":
        z = x * y
    elif OP == "//":
        z = x // y
    elif OP == "%":
        z = x % y
    elif OP == "&":
        z = x & y
    elif OP == "|":
        z = x | y
    elif OP == "^":
        z = x ^ y
    elif OP == "<<":
        z = x << (y & 7)
    elif OP == ">>":
        z = x >> (y & 7)
    elif OP == "min":
        z = tl.minimum(x, y)
    elif OP == "max":
        z = tl.maximum(x, y)
    elif OP == "~":
        z = ~x
    elif OP == "neg":
        z = -x
    elif OP == "select":
        z = tl.where(x < y, x, y * 2)
    tl.store(out_ptr + i, z, mask=i < n)


def c_divmod(x, y):
    """Truncating division, as C and the language have it."""
    wide_x, wide_y = x.astype(object), y.astype(object)
    q = [
        abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        for a, b in zip(wide_x, wide_y)
    ]
    r = [a - b * c for a, b, c in zip(wide_x, wide_y, q)]
    info = np.iinfo(x.dtype)
    wrap = lambda v: (v - info.min) % (info.max - info.min + 1) + info.min
    return np.array([wrap(v) for v in q], x.dtype), np.array(
        [wrap(v) for v in r], x.dtype
    )


REFERENCE = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "//": lambda x, y: c_divmod(x, y)[0],
    "%": lambda x, y: c_divmod(x, y)[1],
    "&": lambda x, y: x & y,
    "|": lambda x, y: x | y,
    "^": lambda x, y: x ^ y,
    "<<": lambda x, y: x << (y & 7),
    ">>": lambda x, y: x >> (y & 7),
    "min": np.minimum,
    "max": np.maximum,
    "~": lambda x, y: ~x,
    "neg": lambda x, y: -x,
    "select": lambda x, y: np.where(x < y, x, y * x.dtype.type(2)),
}


@pytest.mark.parametrize("op", REFERENCE)
@pytest.mark.parametrize(
    "dtype",
    [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64],
)
def test_binary(device, rng, op, dtype):
    n = 100
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
    y = rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
    x[:3] = [info.min, info.max, 0]
    y[y == 0] = 1
    if info.min < 0:
        y[(y == -1)] = 3  # min // -1 is undefined
    out = device.poison(n, dtype)
    binary_kernel[(1,)](device.put(x), device.put(y), out, n, OP=op, BLOCK=128)
    with np.errstate(over="ignore"):
        expected = REFERENCE[op](x, y)
    np.testing.assert_array_equal(device.get(out), expected)


@triton.jit
def cast_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x.to(out_ptr.dtype.element_ty), mask=i < n)


KINDS = [
    np.bool_,
    np.int8,
    np.int16,
    np.int32,
    np.int64,
    np.uint8,
    np.uint32,
    np.uint64,
    np.float16,
    np.float32,
    np.float64,
]


@pytest.mark.parametrize("source", KINDS)
@pytest.mark.parametrize("to", KINDS)
def test_casts_of_values_both_hold(device, rng, source, to):
    x = rng.integers(0, 2 if source == np.bool_ else 100, 50).astype(source)
    out = device.poison(50, to)
    cast_kernel[(1,)](device.put(x), out, 50, BLOCK=64)
    # A store to a bool pointer casts to i8 and keeps it: 2 stays 2 in memory.
    if to == np.bool_:
        np.testing.assert_array_equal(device.get(out).view(np.uint8) != 0, x != 0)
    else:
        np.testing.assert_array_equal(device.get(out), x.astype(to))


@triton.jit
def mulhi_kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.umulhi(tl.load(x_ptr + i), tl.load(y_ptr + i)))


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_umulhi(device, rng, dtype):
    x, y = rng.integers(0, np.iinfo(dtype).max, (2, 64), dtype=dtype, endpoint=True)
    out = device.poison(64, dtype)
    mulhi_kernel[(1,)](device.put(x), device.put(y), out, BLOCK=64)
    bits = np.iinfo(dtype).bits
    expected = [int(a) * int(b) >> bits for a, b in zip(x, y)]
    np.testing.assert_array_equal(device.get(out), np.array(expected, dtype))


@triton.jit
def quotients_kernel(out_ptr, start, d, BLOCK: tl.constexpr, C: tl.constexpr):
    i = start + tl.arange(0, BLOCK)
    tl.store(out_ptr + tl.arange(0, BLOCK), i // d)
    tl.store(out_ptr + BLOCK + tl.arange(0, BLOCK), i // C)
    tl.store(out_ptr + 2 * BLOCK + tl.arange(0, BLOCK), i >> 4)


@pytest.mark.parametrize("start", [0, 64, -64, -1024, 3, -5, 2**31 - 1024, -(2**31)])
@pytest.mark.parametrize("d", [16, 48, -16, -32, 5, 1])
def test_quotients_of_neighbours(device, start, d):
    """A run of neighbours has one quotient, and below zero its first element another."""
    out = device.poison(3 * 1024, np.int32)
    quotients_kernel[(1,)](out, start, d, BLOCK=1024, C=32, num_warps=1)
    i = start + np.arange(1024, dtype=np.int64)
    got = device.get(out).reshape(3, 1024)
    np.testing.assert_array_equal(got[0], np.trunc(i / d).astype(np.int32))
    np.testing.assert_array_equal(got[1], np.trunc(i / 32).astype(np.int32))
    np.testing.assert_array_equal(got[2], i >> 4)


@triton.jit
def bytes_kernel(x_ptr, bits_ptr, floats_ptr, OP: tl.constexpr, C: tl.constexpr):
    """A row of results for what is kept in bytes, one as floats."""
    i = tl.arange(0, 1024)
    x = tl.load(x_ptr + i)
    if OP == "&":
        y = x & C
    elif OP == "|":
        y = x | C
    elif OP == "^":
        y = x ^ C
    elif OP == "<<":
        y = x << C
    elif OP == ">>":
        y = x >> C
    elif OP == "parts":
        y = ((x >> C) & 3 ^ 1) << C
    tl.store(bits_ptr + i, y)
    tl.store(floats_ptr + i, y.to(tl.float32))


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize(
    "op, c", [("&", 15), ("|", 96), ("^", 85), ("<<", 4), (">>", 3), ("parts", 2)]
)
def test_bits_of_bytes(device, op, c, dtype):
    """Four bytes of a word at a time, all there are."""
    x = np.tile(np.arange(256, dtype=np.uint8), 4).view(dtype)
    bits, floats = device.poison(1024, dtype), device.poison(1024, "float32")
    bytes_kernel[(1,)](device.put(x), bits, floats, OP=op, C=c, num_warps=4)
    c = np.array(c, dtype)
    expect = {
        "&": x & c, "|": x | c, "^": x ^ c, "<<": x << c, ">>": x >> c,
        "parts": ((x >> c) & np.array(3, dtype) ^ np.array(1, dtype)) << c,
    }[op]  # fmt: skip
    np.testing.assert_array_equal(device.get(bits), expect)
    np.testing.assert_array_equal(device.get(floats), expect.astype(np.float32))


def test_bits_of_bytes_stay_words():
    c = bytes_kernel.compile(
        "*u8:16",
        "*u8:16",
        "*fp32:16",
        OP="parts",
        C=2,
        num_warps=4,
        target="cuda:sm_90a",
    )
    assert c.asm["ptx"].count("xor.b32") == 2 and c.asm["ptx"].count("prmt") == 8


@triton.jit
def rest_of_abs(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.abs(tl.load(x_ptr + i))
    tl.store(y_ptr + i, x % ((x & 7) + 10))


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_abs_of_the_least_number(device, dtype):
    """It is that number again, and negative, which ptxas does not believe of abs."""
    least = np.iinfo(dtype).min
    x = np.full(64, least, dtype)
    x[1::2] = np.arange(-16, 16)
    y = device.poison(64, dtype)
    rest_of_abs[(1,)](device.put(x), y, 64)
    a = np.abs(x)
    want = np.fmod(a, (a & 7) + 10)
    np.testing.assert_array_equal(device.get(y), want)


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_no_abs_of_the_least_number(bits):
    code = rest_of_abs.compile(f"*i{bits}", f"*i{bits}", N=64, target="cuda:sm_90a")
    of_operands = 2 * (bits == 32)  # the quotient's own, which it takes as unsigned
    assert code.asm["ptx"].count(f"abs.s{bits}") == of_operands


@triton.jit
def most_of_three(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = -tl.load(x_ptr + i)
    y = -tl.load(x_ptr + N + i)
    tl.store(y_ptr + i, tl.maximum(tl.maximum(x, y), tl.load(x_ptr + 2 * N + i)))


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_extremes_of_negations(device, rng, dtype):
    """Of max(max(-a, -b), c) ptxas 13.0 forgets a sign on sm_90."""
    x = rng.integers(-100, 100, (3, 64)).astype(dtype)
    y = device.poison(64, dtype)
    most_of_three[(1,)](device.put(x), y, 64)
    np.testing.assert_array_equal(
        device.get(y), np.maximum(np.maximum(-x[0], -x[1]), x[2])
    )


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("bits", [16, 32])
def test_negations_that_ptxas_does_not_see(bits, chip):
    """PTX of older chips, too, which runs on sm_90."""
    code = most_of_three.compile(f"*i{bits}", f"*i{bits}", N=64, target=f"cuda:{chip}")
    assert "neg.s" not in code.asm["ptx"] and code.asm["ptx"].count("not.b32") == 2


@triton.jit
def wide_negation(x_ptr, y_ptr, z_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = -tl.load(x_ptr + i)
    tl.store(y_ptr + i, x.to(tl.int32))
    tl.store(z_ptr + i, x >> 4)
    tl.store(z_ptr + N + i, tl.maximum(tl.load(x_ptr + N + i) * -16, 7) >> 1)
    tl.store(z_ptr + 2 * N + i, tl.maximum(tl.load(x_ptr + 2 * N + i) // -16, 7) >> 1)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32])
def test_negation_of_the_least_number(device, rng, dtype):
    """It is that number again, which ptxas 13.0 does not believe of neg.s16."""
    limits = np.iinfo(dtype)
    x = rng.integers(limits.min, limits.max, 192, dtype)
    x[::4] = limits.min
    y, z = device.poison(64, np.int32), device.poison(192, dtype)
    wide_negation[(1,)](device.put(x), y, z, 64)
    np.testing.assert_array_equal(device.get(y), -x[:64])
    product = x[64:128] * np.array(-16, dtype)
    quotient = (-x[128:].astype(np.int64) / 16).astype(dtype)  # cut, as C does it
    want = [-x[:64] >> 4, np.maximum(product, 7) >> 1, np.maximum(quotient, 7) >> 1]
    np.testing.assert_array_equal(device.get(z), np.concatenate(want))


@pytest.mark.parametrize("bits", [8, 16])
def test_no_negation_of_16_bits(bits):
    signature = (f"*i{bits}", "*i32", f"*i{bits}")
    code = wide_negation.compile(*signature, N=64, target="cuda:sm_80")
    assert "neg.s16" not in code.asm["ptx"]


@triton.jit
def magnitudes(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(x_ptr + i), tl.load(x_ptr + N + i)
    tl.store(y_ptr + i, tl.abs(x) < 0)
    tl.store(y_ptr + N + i, tl.where(y < 0, -y, y) < 0)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_magnitude_of_the_least_number(device, dtype):
    """It is negative, which ptxas 13.0 does not believe of abs."""
    x = np.array([np.iinfo(dtype).min, -1, 0, 1] * 32, dtype)
    y = device.poison(128, np.int8)
    magnitudes[(1,)](device.put(x), y, 64)
    np.testing.assert_array_equal(device.get(y), x == np.iinfo(dtype).min)


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_no_abs_that_ptxas_sees_through(bits):
    code = magnitudes.compile(f"*i{bits}", "*i8", N=64, target="cuda:sm_80").asm["ptx"]
    assert "abs.s64" not in code and "abs.s16" not in code
    assert ("abs.s32" in code) == (bits == 16)


@triton.jit
def positives(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(x_ptr + i), tl.load(x_ptr + N + i)
    most, least = tl.maximum(x, y), tl.minimum(x, y)
    tl.store(y_ptr + i, tl.where(i % 2 == 0, tl.maximum(most, 0), most))
    tl.store(y_ptr + N + i, tl.maximum(least, 0))
    tl.store(y_ptr + 2 * N + i, tl.maximum(tl.maximum(x + 3, 0), y))


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32])
def test_positives_of_extremes(device, rng, dtype):
    """Of two that it packs, ptxas 13.0 keeps the zero of neither or of both."""
    x = rng.integers(-100, 100, (2, 512)).astype(dtype)
    y = device.poison(1536, dtype)
    positives[(1,)](device.put(x), y, 512)
    most, three = np.maximum(x[0], x[1]), np.array(3, dtype)
    want = [np.maximum(most, 0), np.maximum(np.minimum(x[0], x[1]), 0)]
    want[0][1::2] = most[1::2]
    want.append(np.maximum(np.maximum(x[0] + three, 0), x[1]))
    np.testing.assert_array_equal(device.get(y), np.concatenate(want))


@pytest.mark.parametrize("bits", [8, 16])
def test_no_positives_that_ptxas_packs(bits):
    code = positives.compile(f"*i{bits}:16", f"*i{bits}:16", N=512, target="cuda:sm_80")
    ptx = code.asm["ptx"]
    assert "max.s32" in ptx and not re.search(r"max\.s16 .*, 0;", ptx)


@triton.jit
def signed_fields(x_ptr, y_ptr, WIDE: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i).to(WIDE).to(tl.float32))


@pytest.mark.parametrize("wide", ["uint32", "uint64"])
@pytest.mark.parametrize("dtype", [np.int8, np.int16])
def test_signed_fields_without_a_sign(device, rng, dtype, wide):
    """A field of a word, widened with its sign, is converted as a number without one."""
    x = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, 512).astype(dtype)
    y = device.poison(512, np.float32)
    signed_fields[(1,)](device.put(x), y, getattr(tl, wide), 512)
    want = x.astype(wide).astype(np.float32)
    np.testing.assert_array_equal(device.get(y), want)


@pytest.mark.parametrize("bits", [8, 16])
def test_no_signed_field_is_converted(bits):
    """ptxas 13.0 converts what bfe.s32 has taken as if it had a sign."""
    types = (f"*i{bits}:16", "*fp32:16")
    code = signed_fields.compile(*types, WIDE=tl.uint32, N=512, target="cuda:sm_90a")
    ptx = code.asm["ptx"]
    assert "cvt.rn.f32.u32" in ptx and "bfe.s32" not in ptx and "prmt.b32" in ptx


@triton.jit
def parts_of_one(x_ptr, y_ptr, h_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, 1 // x)
    tl.store(y_ptr + N + i, 1 % x)
    tl.store(h_ptr + i, tl.abs(tl.load(h_ptr + i)))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_parts_of_one(device, dtype):
    """1 // x is max(x, 1) == 1, and of two of these beside f16 ptxas 13.0 dies."""
    x = np.arange(1, 257).clip(max=255).astype(dtype)
    y, h = device.poison(512, dtype), np.arange(-128, 128).astype(np.float16)
    there = device.put(h)
    parts_of_one[(1,)](device.put(x), y, there, 256)
    want = np.concatenate([1 // x, 1 % x])
    np.testing.assert_array_equal(device.get(y), want)
    np.testing.assert_array_equal(device.get(there), np.abs(h))


@pytest.mark.parametrize("bits", [8, 16])
def test_no_extreme_that_is_compared(bits):
    signature = (f"*u{bits}", f"*u{bits}", "*fp16")
    code = parts_of_one.compile(*signature, N=256, target="cuda:sm_80").asm["ptx"]
    assert "max.u16" not in code and "setp." in code


@triton.jit
def selected_bytes(x_ptr, z_ptr, f_ptr, o_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(x_ptr + i), tl.load(x_ptr + N + i)
    w = tl.load(x_ptr + 2 * N + i)
    tl.store(f_ptr + i, x.to(tl.float32))
    tl.store(o_ptr + i, tl.where(tl.load(z_ptr + i) > 0, x, y * w + y))
    tl.store(o_ptr + N + i, -(x >> 7))


def test_bytes_of_a_word_that_is_selected(device, rng):
    """ptxas 13.0 overwrites the word by the selection, and takes bytes from it behind."""
    x = rng.integers(-128, 128, (3, 256)).astype(np.int8)
    z = rng.integers(-9, 9, 256).astype(np.int32)
    f, o = device.poison(256, np.float32), device.poison(512, np.int8)
    selected_bytes[(1,)](device.put(x), device.put(z), f, o, 256, num_warps=1)
    want = [np.where(z > 0, x[0], x[1] * x[2] + x[1]), -(x[0] >> 7)]
    np.testing.assert_array_equal(device.get(o), np.concatenate(want))
    np.testing.assert_array_equal(device.get(f), x[0])


def test_no_byte_that_ptxas_takes_again():
    signature = ("*i8:16", "*i32:16", "*fp32:16", "*i8:16")
    code = selected_bytes.compile(*signature, N=256, num_warps=1, target="cuda:sm_80")
    assert not re.search(r"prmt\.b32 .*, 0, 0x777[123]U", code.asm["ptx"])
    assert "selp.b16" in code.asm["ptx"]


@triton.jit
def by_fields(x_ptr, y_ptr, o_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    tl.store(o_ptr + i, x // (y | 1).to(tl.uint32))
    tl.store(o_ptr + N + i, x % (y | 1).to(tl.uint32))


@pytest.mark.parametrize("dtype", [np.int8, np.int16])
def test_divisors_without_a_sign(device, rng, dtype):
    """They have the sign that they were widened with where ptxas 13.0 divides."""
    info = np.iinfo(dtype)
    x = rng.integers(0, 2**32, 512, np.uint32)
    y = rng.integers(info.min, info.max, 512, dtype, endpoint=True)
    o = device.poison(1024, np.uint32)
    by_fields[(1,)](device.put(x), device.put(y), o, 512)
    by = (y | 1).astype(np.uint32)
    np.testing.assert_array_equal(device.get(o), np.concatenate([x // by, x % by]))


@triton.jit
def quotients(x_ptr, y_ptr, q_ptr, r_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    tl.store(q_ptr + i, x // y)
    tl.store(r_ptr + i, x % y)


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32]
)
def test_quotients_near_whole_ones(device, rng, dtype):
    """Multiples of divisors of all lengths, their neighbours, and ends; by 0 it is 0."""
    info = np.iinfo(dtype)
    top, low = info.max, info.min
    ends = [*range(8), top, top - 1, top // 2, top // 2 + 1, top // 3, low, low // 2]
    n = 4096 - len(ends) ** 2
    y = rng.integers(info.min, info.max, n, np.int64, endpoint=True)
    y >>= rng.integers(0, info.bits, n)
    most = info.max // np.maximum(np.abs(y), 1)
    x = y * (rng.integers(0, 2**62, n) % (most + 1)) + rng.integers(-1, 2, n)
    x = np.clip(np.append(np.repeat(ends, len(ends)), x), info.min, info.max)
    y = np.append(np.tile(ends, len(ends)), y)
    q = np.where(
        y == 0, 0, np.abs(x) // np.maximum(np.abs(y), 1) * np.sign(x) * np.sign(y)
    )
    r = np.where(y == 0, 0, x - q * y)
    got_q, got_r = device.poison(4096, dtype), device.poison(4096, dtype)
    quotients[(1,)](
        device.put(x.astype(dtype)), device.put(y.astype(dtype)), got_q, got_r, 4096
    )
    np.testing.assert_array_equal(device.get(got_q), q.astype(dtype))
    np.testing.assert_array_equal(device.get(got_r), r.astype(dtype))


@pytest.mark.parametrize("type", ["i8", "i16", "i32", "u8", "u16", "u32"])
def test_no_division_of_ptx(type):
    """It takes more steps, and 0 as a divisor."""
    p = f"*{type}:16"
    code = quotients.compile(p, p, p, p, N=512, target="cuda:sm_80").asm["ptx"]
    assert "rcp.approx" in code and not re.search(r"\b(div|rem)\.", code)


@triton.jit
def wide_counts(x_ptr, n_ptr, o_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x, n = tl.load(x_ptr + i), tl.load(n_ptr + i)
    tl.store(o_ptr + i, (tl.full([N], 5, tl.int64).to(x.dtype) >> n) - x)
    tl.store(o_ptr + N + i, x << n)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_wide_counts(device, dtype):
    """LLVM 22 leaves the bound of a count to PTX, which has 32 bits of it."""
    counts = [0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 2**31, 2**32, 2**32 + 1, 2**33 + 2]
    n = np.array([*counts, 2**62, 2**62 + 63] * 2, dtype)
    x = (np.arange(32) * 12345678901 + 2**60).astype(dtype)
    o = device.poison(64, dtype)
    wide_counts[(1,)](device.put(x), device.put(n), o, 32)
    with np.errstate(over="ignore"):
        want = [
            np.where(n < 64, f(a, n % 64), dtype(0))
            for f, a in ((np.right_shift, dtype(5)), (np.left_shift, x))
        ]
        want[0] -= x
    np.testing.assert_array_equal(device.get(o), np.concatenate(want))


@triton.jit
def upper_bits(
    x_ptr, y_ptr, o_ptr, WIDE: tl.constexpr, K: tl.constexpr, N: tl.constexpr
):
    i = tl.arange(0, N)
    p = tl.load(x_ptr + i).to(tl.int64) * tl.load(y_ptr + i).to(tl.int64)
    tl.store(o_ptr + i, (p.to(WIDE) >> K).to(tl.int16))


@pytest.mark.parametrize("count", [16, 17, 24, 31, 32, 35, 48, 50, 63])
@pytest.mark.parametrize("wide", [tl.int64, tl.uint64])
@pytest.mark.parametrize("dtype", [np.int8, np.int16])
def test_upper_bits_of_short_products(device, rng, dtype, wide, count):
    """LLVM 22 shifts the upper halves of 16-bit products, which have lost their signs."""
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max + 1, 64).astype(dtype)
    y = rng.integers(-32768, 32768, 64).astype(np.int16)
    o = device.poison(64, np.int16)
    upper_bits[(1,)](device.put(x), device.put(y), o, wide, count, 64)
    kind = np.int64 if wide == tl.int64 else np.uint64
    product = (x.astype(np.int64) * y.astype(np.int64)).astype(kind)
    want = (product >> kind(count)).astype(np.int16)
    np.testing.assert_array_equal(device.get(o), want)
