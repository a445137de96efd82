"""float8 that is multiplied as f16, or natively: conversions of pairs, operands by words of
memory. On the interpreter of PTX, as the emulator converts one by one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import simulated

import tegula
import tegula.language as tl

pytestmark = pytest.mark.skipif(
    not simulated.available(), reason="no build/libptxsim.so"
)
KINDS = ("float8_e4m3fn", "float8_e5m2")
# 48: padded along k. 16: below the depth of a float8 instruction.
SIZES = [(64, 64, 64, 3), (32, 64, 32, 2), (16, 32, 128, 2), (32, 32, 48, 2)]
SIZES += [(64, 32, 16, 3)]


@pytest.fixture(autouse=True, params=simulated.DEVICES)
def target(request: pytest.FixtureRequest) -> Iterator[str]:
    with tegula.knobs.nvidia.scope():
        tegula.knobs.nvidia.ptxas = "none"
        simulated.start()
        yield request.param


def decoded(bits: np.ndarray, kind: str) -> np.ndarray:
    """What the bytes mean, in f32."""
    if kind == "float8_e5m2":
        return (bits.astype(np.uint16) << 8).view(np.float16).astype(np.float32)
    low = ((bits & 0x7F).astype(np.uint16) << 7).view(np.float16).astype(np.float32)
    value = np.where(bits & 0x7F == 0x7F, np.nan, low * 256)
    return np.where(bits & 0x80, -value, value).astype(np.float32)


def put(bits: np.ndarray, kind: str, target: str) -> simulated.Tensor:
    tensor = simulated.put(bits, target)
    tensor.dtype = kind
    return tensor


@tegula.jit
def cast_kernel(x_ptr, o_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o_ptr + i, tl.load(x_ptr + i).to(o_ptr.dtype.element_ty))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("to", (np.float16, np.float32))
def test_every_value(kind: str, to: type, target: str) -> None:
    bits = np.tile(np.arange(256, dtype=np.uint8), 4)
    o = simulated.put(np.zeros(1024, to), target)
    cast_kernel[(1,)](put(bits, kind, target), o, BLOCK=1024, num_warps=1)
    np.testing.assert_array_equal(o.numpy(), decoded(bits, kind).astype(to))


@tegula.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr,
    ROWS: tl.constexpr,
):  # fmt: skip
    """ROWS: b is [K, N] in memory, else [N, K]."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    acc = tl.zeros((M, N), dtype=tl.float32)
    for at in range(0, K, BK):
        a = tl.load(a_ptr + m[:, None] * K + (at + k)[None, :])
        if ROWS:
            b = tl.load(b_ptr + (at + k)[:, None] * N + n[None, :])
        else:
            b = tl.load(b_ptr + n[None, :] * K + (at + k)[:, None])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


@pytest.mark.parametrize("rows", (False, True))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("m, n, bk, blocks", SIZES)
def test_dot(
    m: int, n: int, bk: int, blocks: int, kind: str, rows: bool, target: str
) -> None:
    rng = np.random.default_rng(m + bk)
    depth = bk * blocks
    # Exponents around 0: products and sums are exact in f32.
    every = np.arange(256, dtype=np.uint8)
    size = np.abs(decoded(every, kind))
    small = every[(size >= 0.25) & (size <= 4)]
    a = rng.choice(small, (m, depth))
    b = rng.choice(small, (depth, n) if rows else (n, depth))
    c = simulated.put(np.zeros((m, n), np.float32), target)
    there = put(a, kind, target), put(b, kind, target), c
    matmul_kernel[(1,)](*there, depth, M=m, N=n, BK=bk, ROWS=rows, num_warps=4)
    other = decoded(b, kind) if rows else decoded(b, kind).T
    np.testing.assert_array_equal(c.numpy(), decoded(a, kind) @ other)
