"""tl.multiple_of and its like as statements, as Triton's tutorial 08 has them."""

import re

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def rows(base, out, stride, n, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None]
    j = tl.arange(0, N)[None, :]
    p = tl.load(base).to(tl.pointer_type(tl.float16)) + i * stride + j
    acc = tl.zeros((M, N), tl.float32)
    for _ in range(n):
        tl.multiple_of(p, [16, 16])
        acc += tl.load(p)
        p += N
    tl.store(out + i * N + j, acc)


@tegula.jit
def promised_late(base, out, stride, M: tl.constexpr, N: tl.constexpr):
    """The load above the promise must not rely on it."""
    i = tl.arange(0, M)[:, None]
    j = tl.arange(0, N)[None, :]
    p = tl.load(base).to(tl.pointer_type(tl.float16)) + i * stride + j
    x = tl.load(p)
    tl.multiple_of(p, [16, 16])
    tl.store(out + i * N + j, x + tl.load(p + N))


def widths(kernel: tegula.JITFunction, *signature: object) -> list[str]:
    """The vectors that halves are loaded in, in order."""
    ptx = kernel.compile(*signature, target="cuda:sm_90a").asm["ptx"]
    return re.findall(r"ld\.global\S*?((?:\.v\d)?\.[bu]\d+)", ptx)


def test_statement_in_a_loop() -> None:
    wide = widths(rows, "*i64", "*fp32", "i32", "i32", 16, 64)
    assert ".v4.b32" in wide and ".b16" not in wide, wide


def test_only_what_comes_later() -> None:
    found = widths(promised_late, "*i64", "*fp16", "i32", 16, 64)
    assert ".b16" in found and ".v4.b32" in found, found


@tegula.jit
def sum_tiles(x, out, stride, n, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None]
    j = tl.arange(0, N)[None, :]
    p = x + i * stride + j
    acc = tl.zeros((M, N), tl.float32)
    for _ in range(n):
        tl.multiple_of(p, [16, 16])
        tl.max_contiguous(p, [1, 64])
        acc += tl.load(p)
        p += N
    tl.store(out + i * N + j, acc)


@pytest.mark.parametrize("target", ["cpu", "emu:sm_80", "emu:sm_90a"])
def test_right(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    np = pytest.importorskip("numpy")
    monkeypatch.setenv("TEGULA_TARGET", target)
    x = np.random.default_rng(0).standard_normal((16, 264)).astype(np.float16)
    out = np.full((16, 64), np.nan, dtype=np.float32)
    sum_tiles[1,](x, out, 264, 4, 16, 64)
    want = x[:, :256].reshape(16, 4, 64).astype(np.float32).sum(1)
    assert np.allclose(out, want, atol=1e-4)


@tegula.jit
def wrapped(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.max_contiguous(tl.multiple_of(i % n, BLOCK), BLOCK)
    tl.store(out + i, tl.load(x + at))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_block_that_wraps(device, dtype) -> None:
    """What Triton's matmul says of rows, and many since: true of what a GPU reads at once,
    and not of a block with the end of the matrix in its middle."""
    x = np.arange(1000, dtype=dtype)
    x[96:] = -1  # not ours to read
    out = np.zeros(256, dtype)
    X, Y = device.put(x), device.put(out)
    wrapped[(2,)](X, Y, 96, BLOCK=128)
    assert np.array_equal(device.get(Y), np.arange(256) % 96)


def test_a_block_that_wraps_is_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of i % n that ends with the tensor: no access is past its end, for that a run
    of four elements would be is not what the kernel says."""
    monkeypatch.setattr(tegula.knobs.runtime, "check_bounds", True)
    x, out = np.arange(77, dtype=np.float32), np.zeros(128, np.float32)
    wrapped[(2,)](x, out, 77, BLOCK=64)
    assert np.array_equal(out, np.arange(128) % 77)
