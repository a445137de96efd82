"""Microscaling formats on the host: 4-bit floats (e2m1) and power-of-two scales (e8m0).

For making operands of ``tl.dot_scaled`` and checking what comes out. Needs torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# The magnitudes of a 4-bit float by its low three bits; bit 3 is the sign.
_MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def _torch() -> Any:
    import torch

    return torch


class MXFP4Tensor:
    """A tensor of 4-bit floats, one in each byte of ``data``.

    data: numbers to round to the nearest (ties to even); or size, and then ``random()``.

    >>> import torch
    >>> x = tegula.tools.mxfp.MXFP4Tensor(torch.tensor([0.4, 1.0, -5.0, 7.0]))
    >>> x.to(torch.float32).tolist()
    [0.5, 1.0, -4.0, 6.0]
    >>> [hex(b) for b in x.to_packed_tensor(dim=0).tolist()]
    ['0x21', '0x7e']
    """

    def __init__(self, data: Any = None, size: Any = None, device: Any = None) -> None:
        torch = _torch()
        self.device = device if device is not None or data is None else data.device
        self.size = tuple(data.shape if data is not None else size or ())
        self.data: Any = None
        if data is not None:
            self.data = _round_to_fp4(data.to(torch.float32))

    def random(self) -> MXFP4Tensor:
        """Fill it with any of the 16 values."""
        torch = _torch()
        shape, where = self.size, self.device
        self.data = torch.randint(0, 16, shape, dtype=torch.uint8, device=where)
        return self

    def to(self, dtype: Any) -> Any:
        """A tensor of torch.float32."""
        torch = _torch()
        if dtype is not torch.float32:
            raise ValueError(f"4-bit floats become torch.float32, not {dtype}")
        table = torch.tensor(_MAGNITUDES, device=self.data.device)
        size = table[(self.data & 7).long()]
        return torch.where(self.data & 8 != 0, -size, size)

    def to_packed_tensor(self, dim: int) -> Any:
        """Two neighbours along dim in a byte, the first one in the low half. An odd side
        is filled up with 0."""
        torch = _torch()
        rank = self.data.dim()
        if not -rank <= dim < rank:
            raise AssertionError(f"dim {dim} is none of {rank} dims")
        data = self.data.movedim(dim, -1)
        if data.shape[-1] % 2:
            data = torch.nn.functional.pad(data, (0, 1))
        packed = data[..., 0::2] | data[..., 1::2] << 4
        return packed.movedim(-1, dim).contiguous()

    def unpack_packed_tensor(
        self, packed_tensor: Any, dim: int, original_shape: Sequence[int]
    ) -> Any:
        """The inverse: a byte for each value of a tensor of this shape."""
        torch = _torch()
        halves = packed_tensor.movedim(dim, -1)
        data = torch.stack((halves & 15, halves >> 4), dim=-1).flatten(-2)
        return data[..., : original_shape[dim]].movedim(-1, dim).contiguous()


def _round_to_fp4(x: Any) -> Any:
    torch = _torch()
    table = torch.tensor(_MAGNITUDES, device=x.device)
    size = x.abs().clamp(max=6.0).nan_to_num(6.0)
    upper = torch.searchsorted(table, size.contiguous()).clamp(1, 7)
    lower = upper - 1
    middle = (table[lower] + table[upper]) / 2
    up = (size > middle) | ((size == middle) & (upper % 2 == 0))
    bits = torch.where(up, upper, lower).to(torch.uint8)
    return bits | (torch.signbit(x).to(torch.uint8) << 3)


def fp8e8m0_to_float32(scale: Any) -> Any:
    """What the bytes of scales stand for, 2 ** (b - 127), and NaN for 255: torch.float32.

    >>> import torch
    >>> from tegula.tools.mxfp import fp8e8m0_to_float32
    >>> fp8e8m0_to_float32(torch.tensor([127, 128, 126, 255], dtype=torch.uint8)).tolist()
    [1.0, 2.0, 0.5, nan]
    """
    torch = _torch()
    scale = scale.view(torch.uint8)
    one = torch.ones_like(scale, dtype=torch.float32)
    x = torch.ldexp(one, scale.to(torch.int32) - 127)
    return torch.where(scale == 255, torch.full_like(x, float("nan")), x)


class MXScaleTensor:
    """A tensor of scales: the byte b stands for 2 ** (b - 127), and 255 for NaN.

    data: numbers, of which the power of two below is taken; or size, and then ``random()``.

    >>> import torch
    >>> from tegula.tools.mxfp import MXScaleTensor
    >>> MXScaleTensor(torch.tensor([1.0, 3.0, 0.5])).to(torch.float32).tolist()
    [1.0, 2.0, 0.5]
    """

    def __init__(self, data: Any = None, size: Any = None, device: Any = None) -> None:
        torch = _torch()
        self.device = device if device is not None or data is None else data.device
        self.size = tuple(data.shape if data is not None else size or ())
        self.data: Any = None
        if data is not None:
            x = data.to(torch.float32)
            power = torch.frexp(x).exponent.int() - 1
            bits = (power + 127).clamp(0, 254).to(torch.uint8)
            bad = x.isnan() | x.isinf() | (x <= 0)
            self.data = torch.where(bad, torch.full_like(bits, 255), bits)

    def random(
        self, low: float | None = None, high: float | None = None
    ) -> MXScaleTensor:
        """Fill it with powers of two from low to high; all of them by default."""
        torch = _torch()
        from math import ceil, floor, log2

        first = 0 if low is None else max(0, ceil(log2(low)) + 127)
        last = 254 if high is None else min(254, floor(log2(high)) + 127)
        if first > last:
            raise ValueError(f"no power of two from {low} to {high}")
        shape, where = self.size, self.device
        self.data = torch.randint(
            first, last + 1, shape, dtype=torch.uint8, device=where
        )
        return self

    def to(self, dtype: Any) -> Any:
        """A tensor of torch.float32."""
        torch = _torch()
        if dtype is not torch.float32:
            raise ValueError(f"scales become torch.float32, not {dtype}")
        return fp8e8m0_to_float32(self.data)
