"""TensorDescriptor: checked on the host, passed to kernels, changed between launches."""

from __future__ import annotations

import pytest

import tegula
import tegula.language as tl
from tegula import MockTensor
from tegula.tools.tensor_descriptor import TensorDescriptor

torch = pytest.importorskip("torch")


@tegula.jit
def as_descriptor(x, rows, cols, B: tl.constexpr):
    if isinstance(x, tl.tensor_descriptor):
        return x
    else:
        return tl.make_tensor_descriptor(x, [rows, cols], [cols, 1], [B, B])


@tegula.jit
def double(a, b, rows, cols, B: tl.constexpr):
    i = tl.program_id(0) * B
    j = tl.program_id(1) * B
    a = as_descriptor(a, rows, cols, B)
    b = as_descriptor(b, rows, cols, B)
    tl.static_assert(a.block_shape[0] == B)
    b.store([i, j], a.load([i, j]) * 2)


@tegula.jit
def read_outside(desc, out, B: tl.constexpr):
    at = tl.arange(0, B)
    block = desc.load([desc.shape[0] - 1, 0])
    tl.store(out + at[:, None] * B + at[None, :], block)


ROWS, COLS = 50, 24


@pytest.mark.parametrize("block", [8, 16, 32, 12, 31])
def test_host_and_device(block):
    x = torch.randn(ROWS, COLS)
    y = torch.zeros_like(x)
    grid = (tegula.cdiv(ROWS, block), tegula.cdiv(COLS, block))
    dx = TensorDescriptor.from_tensor(x, [block, block])
    dy = TensorDescriptor.from_tensor(y, [block, block])
    double[grid](dx, dy, ROWS, COLS, block)
    assert torch.equal(y, x * 2)
    y.zero_()
    double[grid](dx, y, ROWS, COLS, B=block)
    assert torch.equal(y, x * 2)


def test_fields_may_change():
    """Autotuners' pre_hooks set block_shape; the next launch reads it."""
    x = torch.randn(ROWS, COLS)
    y = torch.zeros_like(x)
    dx = TensorDescriptor(x, x.shape, x.stride(), [1, 1])
    dy = TensorDescriptor(y, x.shape, x.stride(), [1, 1])
    for block in (8, 16):
        dx.block_shape = [block, block]
        dy.block_shape = [block, block]
        y.zero_()
        grid = (tegula.cdiv(ROWS, block), tegula.cdiv(COLS, block))
        double[grid](dx, dy, ROWS, COLS, block)
        assert torch.equal(y, x * 2)


def test_padding():
    x = torch.ones(16, 16)
    for padding, other in (("zero", 0.0), ("nan", float("nan"))):
        out = torch.zeros(16, 16)
        desc = TensorDescriptor.from_tensor(x, [16, 16], padding)
        read_outside[(1,)](desc, out, 16)
        want = torch.full((16, 16), other)
        want[0] = 1.0
        assert torch.equal(out.nan_to_num(7.0), want.nan_to_num(7.0))


def test_one_variant_for_many_tensors():
    @tegula.jit
    def touch(desc):
        desc.store([0, 0], desc.load([0, 0]) + 1)

    for n in (32, 48, 64):
        x = torch.zeros(n, n)
        touch[(1,)](TensorDescriptor.from_tensor(x, [4, 4]))
        assert x.sum() == 16
    assert len(touch.variants) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"strides": [24]},
        {"block_shape": [8]},
        {"block_shape": [8, 0]},
        {"shape": [0, 24]},
        {"strides": [24, 2]},
        {"strides": [23, 1]},
        {"padding": "edge"},
    ],
)
def test_refused_on_the_host(change):
    x = torch.zeros(ROWS, COLS)
    fields = {"shape": [50, 24], "strides": [24, 1], "block_shape": [8, 8], **change}
    with pytest.raises(AssertionError):
        TensorDescriptor(x, **fields)


def test_refused_more():
    with pytest.raises(AssertionError, match="16"):
        TensorDescriptor.from_tensor(torch.zeros(99)[1:], [8])
    with pytest.raises(AssertionError, match="floating"):
        TensorDescriptor.from_tensor(torch.zeros(16, dtype=torch.int32), [8], "nan")


def test_changed_into_nonsense():
    x = torch.zeros(16, 16)
    out = torch.zeros(16, 16)
    desc = TensorDescriptor.from_tensor(x, [16, 16])
    desc.block_shape = 16
    with pytest.raises(TypeError, match="block_shape"):
        read_outside[(1,)](desc, out, 16)
    desc.block_shape = [16, 16]
    desc.strides = [16]
    with pytest.raises(ValueError, match="strides has 1 sides"):
        read_outside[(1,)](desc, out, 16)
    desc.strides = [16, 1.0]
    with pytest.raises(TypeError, match=r"1\.0"):
        read_outside[(1,)](desc, out, 16)
    del desc.padding
    desc.strides = [16, 1]
    read_outside[(1,)](desc, out, 16)  # the class's default


def test_mock():
    base = MockTensor(tl.float16, [64, 64])
    desc = TensorDescriptor(base, [64, 64], [64, 1], [16, 16])
    out = MockTensor(tl.float32)
    compiled = read_outside.warmup(desc, out, 16, grid=(1,))
    assert "f16" in compiled.asm["tir"]
