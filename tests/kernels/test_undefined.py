"""What C leaves undefined has one meaning on every target, and nothing ends the process.

x // 0, x % 0       0
MIN // -1           MIN, and MIN % -1 is 0
x << n, x >> n      n >= the width, or negative: 0, or the sign of a signed x
float to int        the nearest number of the type; of NaN 0
"""

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl

INTS = [
    np.int8,
    np.int16,
    np.int32,
    np.int64,
    np.uint8,
    np.uint16,
    np.uint32,
    np.uint64,
]


@triton.jit
def divide_kernel(x_ptr, y_ptr, q_ptr, r_ptr, w_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    y = tl.load(y_ptr + i)
    tl.store(q_ptr + i, x // y)
    tl.store(r_ptr + i, x % y)
    # The test must outlive the division.
    tl.store(w_ptr + i, tl.where(y == 0, 5, x // y))


@triton.jit
def shift_kernel(x_ptr, n_ptr, l_ptr, r_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    n = tl.load(n_ptr + i)
    tl.store(l_ptr + i, x << n)
    tl.store(r_ptr + i, x >> n)


@triton.jit
def convert_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i).to(out_ptr.dtype.element_ty))


@triton.jit
def scalar_kernel(out_ptr, zero, least, minus, x):
    tl.store(out_ptr, least // zero)
    tl.store(out_ptr + 1, least % zero)
    tl.store(out_ptr + 2, least // minus)
    tl.store(out_ptr + 3, least % minus)
    tl.store(out_ptr + 4, (x / zero).to(tl.int64))
    tl.store(out_ptr + 5, least // -1)
    z = 0
    tl.store(out_ptr + 6, least // z)
    tl.store(out_ptr + 7, tl.sum(tl.arange(0, 8) // (tl.arange(0, 8) + zero)))


@pytest.fixture(params=["compiled", "interpreted"])
def run(request, device):
    """Launches a kernel on the device, or in the interpreter beside the CPU."""
    if request.param == "compiled":
        return lambda kernel: kernel
    if device.target != "cpu":
        pytest.skip("the interpreter is one target")
    return lambda kernel: triton.jit(kernel.fn, interpret=True)


def awkward(dtype: type) -> np.ndarray:
    info = np.iinfo(dtype)
    few = [0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.min + 1]
    if info.min:
        few += [-1, -2, -7]
    return np.array(few, dtype)


def pairs(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every a with every b, up to a power of two."""
    x, y = (m.ravel() for m in np.meshgrid(a, b))
    n = 1 << (len(x) - 1).bit_length()
    return np.resize(x, n), np.resize(y, n)


def wrapped(values: list[int], dtype: type) -> np.ndarray:
    bits = np.iinfo(dtype).bits
    unsigned = [v & (2**bits - 1) for v in values]
    return np.array(unsigned, f"u{bits // 8}").view(dtype)


def divided(x: int, y: int) -> int:
    if y == 0:
        return 0
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


@pytest.mark.parametrize("dtype", INTS)
def test_division(device, run, dtype):
    x, y = pairs(awkward(dtype), awkward(dtype))
    n = len(x)
    q, r, w = (device.poison(n, dtype) for _ in range(3))
    run(divide_kernel)[(1,)](device.put(x), device.put(y), q, r, w, BLOCK=n)
    both = [(int(a), int(b)) for a, b in zip(x, y)]
    want = [divided(a, b) for a, b in both]
    assert np.array_equal(device.get(q), wrapped(want, dtype))
    rest = [a - b * divided(a, b) if b else 0 for a, b in both]
    assert np.array_equal(device.get(r), wrapped(rest, dtype))
    safe = [divided(a, b) if b else 5 for a, b in both]
    assert np.array_equal(device.get(w), wrapped(safe, dtype))


@pytest.mark.parametrize("dtype", INTS)
def test_shifts(device, run, dtype):
    bits = np.iinfo(dtype).bits
    counts = [0, 1, bits - 1, bits, bits + 1, 2 * bits, np.iinfo(dtype).max]
    counts += [-1, -bits, np.iinfo(dtype).min] if np.iinfo(dtype).min else []
    x, n = pairs(awkward(dtype), np.array(counts, dtype))
    left, right = device.poison(len(x), dtype), device.poison(len(x), dtype)
    run(shift_kernel)[(1,)](device.put(x), device.put(n), left, right, BLOCK=len(x))
    both = [(int(a), int(b) % 2**bits) for a, b in zip(x, n)]
    want = [a << b if b < bits else 0 for a, b in both]
    assert np.array_equal(device.get(left), wrapped(want, dtype))
    want = [a >> min(b, bits) for a, b in both]
    assert np.array_equal(device.get(right), wrapped(want, dtype))


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("source", [np.float16, np.float32, np.float64])
def test_floats_to_integers(device, run, dtype, source):
    wide = {np.int8: np.int16, np.uint8: np.uint16}.get(dtype, dtype)
    info = np.iinfo(wide)  # bytes are the low halves of 16 bits, as Triton's
    edges = [float(info.min), float(info.max), 2.0**31, 2.0**32, 2.0**63, 2.0**64]
    with np.errstate(over="ignore"):
        x = np.array(
            [
                np.nan,
                np.inf,
                0.0,
                0.5,
                0.999,
                1.5,
                127.9,
                128.0,
                255.9,
                256.0,
                6e4,
                1e30,
            ]
            + [edge + d for edge in edges for d in (-1.0, -0.5, 0.0, 0.5, 1.0)]
            + [np.finfo(source).max, np.finfo(source).tiny],
            source,
        )
    x = np.resize(np.concatenate([x, -x]), 128)
    out = device.poison(128, dtype)
    run(convert_kernel)[(1,)](device.put(x), out, BLOCK=128)

    def nearest(v: float) -> int:
        if np.isnan(v):
            return 0
        return info.max if v >= info.max else info.min if v <= info.min else int(v)

    want = wrapped([nearest(float(v)) for v in x], dtype)
    assert np.array_equal(device.get(out), want)


def test_scalars(device, run):
    least = -(2**63)
    out = device.poison(8, np.int64)
    run(scalar_kernel)[(1,)](out, 0, least, -1, 2.0)
    want = [0, 0, least, 0, 2**63 - 1, least, 0, 7]
    assert device.get(out).tolist() == want


@triton.jit
def padded_kernel(x_ptr, out_ptr, ROWS: tl.constexpr, COLS: tl.constexpr):
    """Sides that the compiler pads: a division by 0 there, or here, is no other number."""
    i, j = tl.arange(0, ROWS), tl.arange(0, COLS)
    x = tl.load(x_ptr + i[:, None] * COLS + j[None, :])
    tl.store(out_ptr + i[:, None] * COLS + j[None, :], 7 // x)
    tl.store(out_ptr + ROWS * COLS + j, tl.max(1 // x, axis=0))
    tl.store(out_ptr + ROWS * COLS + COLS, tl.sum(tl.sum(7 % x, axis=1), axis=0))


@pytest.mark.parametrize("rows, cols", [(3, 16), (5, 7), (4, 8)])
def test_padded(device, run, rows, cols):
    x = (np.arange(rows * cols, dtype=np.int32) % 5 - 1).reshape(rows, cols)
    x[x == 1] = 0
    out = device.poison(rows * cols + cols + 1, np.int32)
    run(padded_kernel)[(1,)](device.put(x), out, rows, cols)
    got = device.get(out)
    quotients = np.array([divided(7, int(v)) for v in x.ravel()])
    assert np.array_equal(got[: x.size], quotients)
    ones = np.array([divided(1, int(v)) for v in x.ravel()]).reshape(x.shape)
    assert np.array_equal(got[x.size : -1], ones.max(axis=0))
    rest = [7 - int(v) * divided(7, int(v)) if v else 0 for v in x.ravel()]
    assert got[-1] == sum(rest)


@triton.jit
def halves(out_ptr, n: tl.constexpr):
    """16 bits that a loop carries: LLVM packs two of them with what is undefined."""
    held = (1, (tl.arange(0, 64).to(tl.int16), 1))
    for _ in range(n):
        held = (0, ((tl.arange(0, 64) * 3).to(tl.int16), 1))
    tl.store(out_ptr + tl.arange(0, 64), held[1][0])


def test_the_undefined_half_of_a_word_that_is_masked(device):
    out = device.poison(64, np.int64)
    halves[(1,)](out, 5, num_warps=1)
    np.testing.assert_array_equal(device.get(out), 3 * np.arange(64))
