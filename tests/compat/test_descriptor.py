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


def as_tf32(x):
    bits = x.view(torch.int32).to(torch.int64) & 0xFFFFFFFF
    near = bits + 0xFFF + (bits >> 13 & 1) & 0xFFFFE000
    near = torch.where(bits & 0x7F800000 == 0x7F800000, bits, near)
    return near.to(torch.int32).view(torch.float32)


@tegula.jit
def copied(desc, out):
    out.store([0, 0], desc.load([0, 0]))


@tegula.jit
def gathered(desc, out):
    out.store([0, 0], desc.gather(7 - tl.arange(0, 8), 0))


@pytest.mark.parametrize("target", ["cpu", "emu:sm_80", "interpreter"])
def test_round_f32_to_tf32(target):
    """What is read is rounded, ties to even, and what is written is not."""
    bits = [0, 1, 0x1000, 0x1001, 0x3000, 0x2FFF, 0x7F7FFFFF, 0x7F800000]
    x = torch.randn(8, 8, generator=torch.Generator().manual_seed(1))
    x[0] = torch.tensor(bits, dtype=torch.int32).view(torch.float32)
    x[1] = -x[0]
    x[2] = float("nan")
    out = torch.empty_like(x)
    rounds = TensorDescriptor.from_tensor(x, [8, 8], round_f32_to_tf32=True)
    into = TensorDescriptor.from_tensor(out, [8, 8], round_f32_to_tf32=True)
    rows = TensorDescriptor.from_tensor(x, [1, 8], round_f32_to_tf32=True)
    launched = [copied, gathered]
    if target == "interpreter":
        launched = [tegula.jit(interpret=True)(k.fn) for k in launched]
    with tegula.knobs.runtime.scope():
        if target != "interpreter":
            tegula.knobs.runtime.target = target
        launched[0][(1,)](rounds, into)
        assert torch.equal(out.view(torch.int32), as_tf32(x).view(torch.int32))
        launched[1][(1,)](rows, into)
        assert torch.equal(out.view(torch.int32), as_tf32(x).flip(0).view(torch.int32))
        rounds.round_f32_to_tf32 = False
        launched[0][(1,)](rounds, into)
        assert torch.equal(out.view(torch.int32), x.view(torch.int32))


def test_round_f32_to_tf32_of_halves():
    desc = TensorDescriptor.from_tensor(torch.zeros(8, 8, dtype=torch.float16), [8, 8])
    desc.round_f32_to_tf32 = True
    with pytest.raises(tegula.CompileError, match="round_f32_to_tf32 is for float32"):
        copied[(1,)](desc, desc)
