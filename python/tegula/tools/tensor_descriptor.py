"""``TensorDescriptor``: a tensor that a kernel reads and writes block by block."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any


def _itemsize(base: Any) -> int:
    dtype = base.dtype
    return int(getattr(dtype, "itemsize", 0) or base.element_size())


def _is_floating(dtype: Any) -> bool:
    is_floating = getattr(dtype, "is_floating_point", None)
    if is_floating is None:
        return "float" in str(dtype)
    return bool(is_floating() if callable(is_floating) else is_floating)


def _interface(base: Any) -> dict[str, Any]:
    """What an array says of its memory in NumPy's words, whoever made it."""
    for name in ("__cuda_array_interface__", "__array_interface__"):
        try:
            return dict(getattr(base, name))
        except (AttributeError, TypeError):  # JAX has the first one on GPUs alone
            pass
    if hasattr(base, "__dlpack__"):
        import numpy

        try:
            return dict(numpy.from_dlpack(base).__array_interface__)
        except (BufferError, RuntimeError, TypeError, ValueError):
            pass
    raise TypeError(f"a {type(base).__name__} is no tensor with an address and strides")


def _address(base: Any) -> int:
    if hasattr(base, "data_ptr"):
        return int(base.data_ptr())
    return int(_interface(base)["data"][0])


def _strides(base: Any) -> tuple[int, ...]:
    """In elements."""
    if callable(getattr(base, "stride", None)):
        return base.stride()
    shape, size = base.shape, _itemsize(base)
    strides = getattr(base, "strides", None) or _interface(base).get("strides")
    if strides is None:  # by rows
        steps = [1]
        for n in reversed(shape[1:]):
            steps.append(steps[-1] * n)
        return tuple(reversed(steps))
    if any(n % size for n in strides):
        raise ValueError(f"strides of {tuple(strides)} bytes split elements of {size}")
    return tuple(n // size for n in strides)


class _Open:
    """Gives descriptors a __dict__, and the defaults of what was deleted."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in ("padding", "round_f32_to_tf32"):
                return "zero" if name == "padding" else False
            text = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(text, name=name, obj=self)


@dataclass(slots=True)  # a launch reads the slots
class TensorDescriptor(_Open):
    """A tensor with the shape of the blocks that a kernel moves.

    base          the tensor; its address is a multiple of 16
    shape         of the tensor; 1 to 5 sides
    strides       in elements; the last is 1, the others are multiples of 16 bytes
    block_shape   of what ``desc.load([..])`` returns; any sides, not powers of two alone
    padding       what reads outside give: "zero" or "nan"
    round_f32_to_tf32   what is read of float32 becomes the nearest tf32, ties to even

    The fields may be changed between launches; a launch reads them all.

    >>> @tegula.jit
    ... def corner(desc, out_ptr):
    ...     x = desc.load([6, 0])
    ...     i = tl.arange(0, 4)
    ...     tl.store(out_ptr + i, tl.sum(x, axis=1))
    >>> x, out = np.ones((8, 8), np.float32), np.zeros(4, np.float32)
    >>> desc = tegula.tools.tensor_descriptor.TensorDescriptor.from_tensor(x, [4, 8])
    >>> done = corner[(1,)](desc, out)
    >>> out.tolist()
    [8.0, 8.0, 0.0, 0.0]
    """

    __tegula_descriptor__ = True  # how a launch knows it

    base: Any
    shape: Sequence[int]
    strides: Sequence[int]
    block_shape: Sequence[int]
    padding: str = "zero"
    round_f32_to_tf32: bool = False

    def __post_init__(self) -> None:
        rank = len(self.shape)
        if not 1 <= rank <= 5:
            raise AssertionError(f"a descriptor has 1 to 5 sides, not {rank}")
        for name in ("strides", "block_shape"):
            if not isinstance(getattr(self, name), Sequence):
                raise TypeError(f"{name} is a list with a number for each side")
            n = len(getattr(self, name))
            if n != rank:
                raise AssertionError(f"{name} has {n} sides, shape has {rank}")
        if _address(self.base) % 16:
            raise AssertionError("the tensor's address must be a multiple of 16")
        if self.strides[-1] != 1:
            raise AssertionError(
                f"the last side must be contiguous, its stride is {self.strides[-1]}"
            )
        size = _itemsize(self.base)
        for n in self.strides[:-1]:
            if n * size % 16:
                raise AssertionError(
                    f"strides but the last must be multiples of 16 bytes, not {n * size}"
                )
        if any(n <= 0 for n in self.shape):
            raise AssertionError(f"the sides of shape must be positive: {self.shape}")
        if self.padding not in ("zero", "nan"):
            raise AssertionError(f"padding is zero or nan, not {self.padding!r}")
        if self.padding == "nan" and not _is_floating(self.base.dtype):
            raise AssertionError("padding with nan needs floating-point elements")
        if self.round_f32_to_tf32 and "float32" not in str(self.base.dtype):
            raise AssertionError("round_f32_to_tf32 needs elements of float32")
        for n in self.block_shape:
            if n < 1:
                raise AssertionError(f"the sides of block_shape are 1 or more, not {n}")

    @staticmethod
    def from_tensor(
        tensor: Any,
        block_shape: Sequence[int],
        padding: str = "zero",
        round_f32_to_tf32: bool = False,
    ) -> TensorDescriptor:
        """The descriptor of all of a tensor: of torch, NumPy, CuPy, JAX, or any other
        that kernels take."""
        return TensorDescriptor(
            tensor,
            tensor.shape,
            _strides(tensor),
            block_shape,
            padding,
            round_f32_to_tf32,
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


def __getattr__(name: str) -> Any:
    from tegula.compat.later import find

    return find(__name__, name)
