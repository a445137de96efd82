"""``TensorDescriptor``: a tensor that a kernel reads and writes block by block."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


def _itemsize(base: Any) -> int:
    dtype = base.dtype
    return int(getattr(dtype, "itemsize", 0) or base.element_size())


def _is_floating(dtype: Any) -> bool:
    is_floating = getattr(dtype, "is_floating_point", None)
    if is_floating is None:
        return "float" in str(dtype)
    return bool(is_floating() if callable(is_floating) else is_floating)


@dataclass
class TensorDescriptor:
    """A tensor with the shape of the blocks that a kernel moves.

    base          the tensor; its address is a multiple of 16
    shape         of the tensor; 1 to 5 sides
    strides       in elements; the last is 1, the others are multiples of 16 bytes
    block_shape   of what ``desc.load([..])`` returns
    padding       what reads outside give: "zero" or "nan"

    The fields may be changed between launches; a launch reads them all.
    """

    __tegula_descriptor__ = True  # how a launch knows it

    base: Any
    shape: list[int]
    strides: list[int]
    block_shape: list[int]
    padding: str = "zero"

    def __post_init__(self) -> None:
        rank = len(self.shape)
        if not 1 <= rank <= 5:
            raise AssertionError(f"a descriptor has 1 to 5 sides, not {rank}")
        for name in ("strides", "block_shape"):
            n = len(getattr(self, name))
            if n != rank:
                raise AssertionError(f"{name} has {n} sides, shape has {rank}")
        address = self.base.data_ptr() if hasattr(self.base, "data_ptr") else 0
        if address % 16:
            raise AssertionError("the tensor's address must be a multiple of 16")
        size = _itemsize(self.base)
        for n in self.strides[:-1]:
            if n * size % 16:
                raise AssertionError(
                    f"strides but the last must be multiples of 16 bytes, not {n * size}"
                )
        if any(n <= 0 for n in self.shape):
            raise AssertionError(f"the sides of shape must be positive: {self.shape}")
        if self.strides[-1] != 1:
            raise AssertionError("the last side must be contiguous")
        if self.padding not in ("zero", "nan"):
            raise AssertionError(f"padding is zero or nan, not {self.padding!r}")
        if self.padding == "nan" and not _is_floating(self.base.dtype):
            raise AssertionError("padding with nan needs floating-point elements")
        for n in self.block_shape:
            if n < 1:
                raise AssertionError(f"the sides of block_shape are 1 or more, not {n}")

    @staticmethod
    def from_tensor(
        tensor: Any, block_shape: list[int], padding: str = "zero"
    ) -> TensorDescriptor:
        """The descriptor of all of a tensor."""
        return TensorDescriptor(
            tensor, tensor.shape, tensor.stride(), block_shape, padding
        )


def of_signature(text: str) -> TensorDescriptor:
    """A descriptor for compiling alone: of "tensordesc<fp16[64, 64]>".

    It stands for every tensor that a descriptor takes: an aligned address, strides that are
    multiples of 16 bytes, sides of which nothing is known.
    """
    from tegula.language.types import str_to_ty
    from tegula.tensors import MockTensor

    match = re.fullmatch(r"tensordesc<(\w+)\[([\d, ]+)\][^>]*>", text)
    if not match:
        raise ValueError(f"signature {text!r}: expected tensordesc<fp16[64, 64]>")
    dtype = str_to_ty(match[1])
    block = [int(n) for n in match[2].split(",")]
    row = 3 * 16 // max(1, dtype.primitive_bitwidth // 8)
    strides = [row * 3**i for i in range(len(block) - 1, 0, -1)] + [1]
    return TensorDescriptor(MockTensor(dtype), [3] * len(block), strides, block)
