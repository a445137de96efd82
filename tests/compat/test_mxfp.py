"""4-bit floats and their scales on the host."""

from __future__ import annotations

import pytest

from tegula.tools.mxfp import MXFP4Tensor, MXScaleTensor, fp8e8m0_to_float32

torch = pytest.importorskip("torch")


def test_all_values():
    every = torch.arange(16, dtype=torch.uint8)
    x = MXFP4Tensor(size=(16,))
    x.data = every
    values = x.to(torch.float32)
    assert values[:8].tolist() == [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    assert torch.equal(values[8:], -values[:8])
    assert torch.equal(MXFP4Tensor(data=values).data, every)


def test_rounding():
    x = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 100.0, -0.3, float("inf")])
    want = [0.0, 1.0, 1.0, 2.0, 2.0, 4.0, 4.0, 6.0, -0.5, 6.0]
    assert MXFP4Tensor(data=x).to(torch.float32).tolist() == want


@pytest.mark.parametrize(
    "shape, dim", [((4, 6), 0), ((4, 6), 1), ((3, 5), 1), ((3, 5), 0)]
)
def test_packing(shape, dim):
    x = MXFP4Tensor(size=shape).random()
    packed = x.to_packed_tensor(dim)
    assert packed.shape[dim] == (shape[dim] + 1) // 2
    assert torch.equal(x.unpack_packed_tensor(packed, dim, shape), x.data)
    first = x.data.select(dim, 0)
    assert torch.equal(packed.select(dim, 0) & 15, first)


def test_scales():
    x = MXScaleTensor(
        data=torch.tensor([1.0, 3.0, 0.25, 2.0**-127, -1.0, float("nan")])
    )
    assert x.data.tolist() == [127, 128, 125, 0, 255, 255]
    values = x.to(torch.float32)
    assert (
        values[:4].tolist() == [1.0, 2.0, 0.25, 2.0**-127] and values[4:].isnan().all()
    )
    some = MXScaleTensor(size=(100,)).random(low=0.5, high=4.0).to(torch.float32)
    assert set(some.tolist()) <= {0.5, 1.0, 2.0, 4.0}
    assert not MXScaleTensor(size=(1000,)).random().to(torch.float32).isnan().any()
    with pytest.raises(ValueError):
        MXScaleTensor(size=(1,)).random(low=1.1, high=1.2)


def test_bytes_of_scales():
    bytes_ = torch.tensor([0, 1, 127, 254, 255], dtype=torch.uint8)
    x = fp8e8m0_to_float32(bytes_)
    assert x.dtype is torch.float32 and x[4].isnan()
    assert x[:4].tolist() == [2.0**-127, 2.0**-126, 1.0, 2.0**127]
    if hasattr(torch, "float8_e8m0fnu"):
        assert torch.equal(
            fp8e8m0_to_float32(bytes_.view(torch.float8_e8m0fnu)[:4]), x[:4]
        )
