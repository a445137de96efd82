"""Descriptors of ragged batches: sequences of different lengths, one after the other.

A descriptor masks what lies outside of its tensor, but not the next sequence in it.
The one made here does, for each sequence of the tensor, with two sides more:

    address = base + (-N + (first + n) + (N - n + row)) * row_stride + ...
                     \\side 0   \\side 1      \\side 2 = ragged, N long

for row ``row`` of a sequence that begins at ``first`` and has ``n`` rows. The sum is
``first + row``, and side 2 is left just where ``row`` reaches ``n``. Side 0 has a negative
stride, so that nothing of it is left in the address.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tegula.constexprs import constexpr_function
from tegula.jit import jit
from tegula.language import constexpr
from tegula.tools.tensor_descriptor import TensorDescriptor

# Longer than a sequence; twice it is still an i32.
_LONGEST = constexpr(1 << 30)


def create_ragged_descriptor(
    T: Any, block_shape: Sequence[int], ragged_dim: int = 0
) -> TensorDescriptor:
    """The descriptor of a tensor whose side ragged_dim has the sequences.

    T may have 1 to 3 sides. For ``load_ragged``, ``store_ragged``, ``atomic_add_ragged``.

    >>> import torch
    >>> from tegula.tools.ragged_tma import create_ragged_descriptor
    >>> create_ragged_descriptor(torch.zeros(16, 8), [4, 8]).block_shape
    [1, 1, 4, 8]
    """
    shape, strides = list(T.shape), list(T.stride())
    rank = len(shape)
    if not 1 <= rank <= 3:
        raise ValueError(f"a ragged tensor has 1 to 3 sides, not {rank}")
    if len(block_shape) != rank:
        raise ValueError(f"block_shape has {len(block_shape)} sides, the tensor {rank}")
    ragged_dim += rank if ragged_dim < 0 else 0
    if not 0 <= ragged_dim < rank:
        raise ValueError(f"ragged_dim must be from 0 to {rank - 1}")
    if ragged_dim == rank - 1 and rank > 1:
        raise ValueError("the last side of a tensor cannot be the ragged one")
    row, longest = strides[ragged_dim], _LONGEST.value
    shape[ragged_dim] = longest
    return TensorDescriptor(
        T,
        [2, 2 * longest - 1, *shape],
        [-longest * row, row, *strides],
        [1, 1, *block_shape],
    )


@constexpr_function
def _tail(shape: Any) -> Any:
    return list(shape)[2:]


@constexpr_function
def _full(shape: Any) -> Any:
    return [1, 1, *list(shape)]


@jit
def _to_ragged(first, n, row):  # type: ignore[no-untyped-def]
    return 1, first + n, _LONGEST - n + row


@jit
def to_ragged_indices(slice_off, slice_size, row):  # type: ignore[no-untyped-def]
    """The three coordinates that stand for a row of a sequence.

    >>> import torch
    >>> from tegula.tools.ragged_tma import to_ragged_indices
    >>> @tegula.jit
    ... def third(out_ptr):
    ...     a, b, c = to_ragged_indices(5, 3, 2)
    ...     tl.store(out_ptr, b)
    >>> out = torch.zeros(1)
    >>> done = third[(1,)](out)
    >>> out.item()
    8.0
    """
    return _to_ragged(slice_off, slice_size, row)


@jit
def _offsets(first, n, coords, ragged_dim: constexpr):  # type: ignore[no-untyped-def]
    o0, o1, row = _to_ragged(first, n, coords[ragged_dim])
    return (o0, o1) + coords[:ragged_dim] + (row,) + coords[ragged_dim + 1 :]


@jit
def load_ragged(TMA, slice_off, slice_size, coords, ragged_dim: constexpr = 0):  # type: ignore[no-untyped-def]
    """The block at coords of the sequence of slice_size rows from slice_off on.

    >>> import torch
    >>> from tegula.tools.ragged_tma import create_ragged_descriptor, load_ragged
    >>> @tegula.jit
    ... def second(desc, out_ptr, first, n):
    ...     x = load_ragged(desc, first, n, [0, 0])
    ...     tl.store(out_ptr + tl.arange(0, 4), tl.sum(x, axis=1))
    >>> x, out = torch.ones(16, 8), torch.zeros(4)
    >>> done = second[(1,)](create_ragged_descriptor(x, [4, 8]), out, 5, 3)
    >>> out.tolist()
    [8.0, 8.0, 8.0, 0.0]
    """
    at = _offsets(slice_off, slice_size, coords, ragged_dim)
    x = TMA.load(at)
    return x.reshape(_tail(x.shape))


@jit
def store_ragged(  # type: ignore[no-untyped-def]
    TMA, slice_off, slice_size, coords, data, ragged_dim: constexpr = 0
):
    """Writes a block; rows of other sequences stay as they are."""
    at = _offsets(slice_off, slice_size, coords, ragged_dim)
    TMA.store(at, data.reshape(_full(data.shape)))


@jit
def atomic_add_ragged(  # type: ignore[no-untyped-def]
    TMA, slice_off, slice_size, coords, data, ragged_dim: constexpr = 0
):
    """Adds a block; rows of other sequences stay as they are."""
    at = _offsets(slice_off, slice_size, coords, ragged_dim)
    TMA.atomic_add(at, data.reshape(_full(data.shape)))
