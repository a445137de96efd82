"""What may stand for a tensor: another type for its bytes, or no bytes at all."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any


class MockTensor:
    """A tensor of a type and nothing else: for ``kernel.warmup(...)``.

    >>> @tegula.jit
    ... def double(x_ptr):
    ...     tl.store(x_ptr, tl.load(x_ptr) * 2)
    >>> double.warmup(tegula.MockTensor(tl.float16), grid=(1,)).name
    'double'
    """

    def __init__(self, dtype: Any, shape: Any = None) -> None:
        self.dtype = dtype
        self.shape = [1] if shape is None else list(shape)

    @staticmethod
    def wrap_dtype(arg: Any) -> Any:
        """A MockTensor if arg is one of torch's dtypes, else arg."""
        kind = type(arg)
        is_dtype = kind.__module__ == "torch" and kind.__name__ == "dtype"
        return MockTensor(arg) if is_dtype else arg

    def stride(self) -> tuple[int, ...]:
        strides = [1]
        for n in reversed(self.shape[1:]):
            strides.append(strides[-1] * n)
        return tuple(reversed(strides))

    @staticmethod
    def data_ptr() -> int:
        return 0

    @staticmethod
    def ptr_range() -> int:
        return 0


class TensorWrapper:
    """A tensor whose elements kernels take for another type; see ``reinterpret``.

    >>> import torch
    >>> x = tegula.reinterpret(torch.zeros(4, dtype=torch.int8), tl.float8e5)
    >>> isinstance(x, tegula.TensorWrapper), str(x.dtype), x.base.dtype
    (True, 'fp8e5', torch.int8)
    """

    def __init__(self, base: Any, dtype: Any) -> None:
        self.dtype = dtype
        self.base = base
        self.data = base.data
        self.device = base.device
        self.shape = base.shape

    @property
    def is_cuda(self) -> bool:
        return bool(getattr(self.base, "is_cuda", False))

    def data_ptr(self) -> int:
        return int(self.base.data_ptr())

    def stride(self, *dim: int) -> Any:
        return self.base.stride(*dim)

    def element_size(self) -> int:
        return int(self.base.element_size())

    def cpu(self) -> TensorWrapper:
        return TensorWrapper(self.base.cpu(), self.dtype)

    def copy_(self, other: TensorWrapper) -> TensorWrapper:
        self.base.copy_(other.base)
        return self

    def clone(self) -> TensorWrapper:
        return TensorWrapper(self.base.clone(), self.dtype)

    def to(self, device: Any) -> TensorWrapper:
        return TensorWrapper(self.base.to(device), self.dtype)

    def new_empty(self, sizes: Any) -> TensorWrapper:
        return TensorWrapper(self.base.new_empty(sizes), self.dtype)

    def __str__(self) -> str:
        return f"TensorWrapper[{self.dtype}]({self.base})"


def reinterpret(tensor: Any, dtype: Any) -> Any:
    """The same memory, whose elements kernels take for dtype (a ``tl`` type).

    Back to its own type it is the tensor itself.

    >>> import torch
    >>> @tegula.jit
    ... def first(x_ptr, out_ptr):
    ...     tl.store(out_ptr, tl.load(x_ptr))
    >>> bits = torch.tensor([0x40], dtype=torch.int8)
    >>> out = torch.zeros(1)
    >>> done = first[(1,)](tegula.reinterpret(bits, tl.float8e4nv), out)
    >>> out.item()
    2.0
    """
    if isinstance(tensor, TensorWrapper):
        if dtype == tensor.base.dtype:
            return tensor.base
        return TensorWrapper(tensor.base, dtype)
    if hasattr(tensor, "data_ptr"):
        return TensorWrapper(tensor, dtype)
    raise TypeError(
        f"cannot reinterpret a {type(tensor).__name__}: it has no data_ptr()"
    )


Allocator = Callable[[int, int, int | None], Any]
_allocator: ContextVar[Allocator | None] = ContextVar("allocator", default=None)


_profile_allocator: ContextVar[Allocator | None] = ContextVar(
    "profile_allocator", default=None
)


class NullAllocator:
    """The allocator of a program that has set none."""

    def __call__(self, size: int, alignment: int, stream: int | None) -> Any:
        raise RuntimeError("no allocator was set: call set_allocator first")


def set_allocator(allocator: Allocator | None) -> None:
    """Remember who gives memory to kernels: ``allocator(size, alignment, stream)``.

    Our kernels need none: descriptors made in a kernel live in its own memory. Kept so
    that code written for Triton runs, and given back by ``get_allocator``.

    >>> tegula.set_allocator(lambda size, alignment, stream: np.empty(size, np.int8))
    >>> tegula.get_allocator()(64, 16, None).nbytes
    64
    """
    _allocator.set(allocator)


def set_profile_allocator(allocator: Allocator | None) -> None:
    """Remember who gives memory to a profiler inside of kernels, which there is none of."""
    _profile_allocator.set(allocator)


def has_profile_allocator() -> bool:
    """Was ``set_profile_allocator`` given one?"""
    return _profile_allocator.get() is not None


def get_allocator() -> Allocator | None:
    """What ``set_allocator`` was given last, in this context.

    >>> tegula.set_allocator(None)
    >>> tegula.get_allocator() is None
    True
    """
    return _allocator.get()
