"""tools.ragged_tma: blocks of one sequence never touch the next."""

from __future__ import annotations

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula.tools.ragged_tma import (
    atomic_add_ragged,
    create_ragged_descriptor,
    load_ragged,
    store_ragged,
)

torch = pytest.importorskip("torch")


@tegula.jit
def move(src, dst, first, n, row, BLOCK: tl.constexpr, ADD: tl.constexpr):
    x = load_ragged(src, slice_off=first, slice_size=n, coords=[row, 0])
    if ADD:
        atomic_add_ragged(dst, first, n, [row, 0], x + 1)
    else:
        store_ragged(dst, first, n, [row, 0], x + 1)


@pytest.fixture(params=["cpu", "emu:sm_80"])
def target(request):
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = request.param
        yield


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize(
    "first, n, row", [(0, 5, 0), (5, 3, 0), (8, 17, 8), (8, 17, 16)]
)
def test_rows_of_the_sequence_alone(target, first, n, row, add):
    x = torch.arange(32 * 8, dtype=torch.float32).reshape(32, 8)
    y = torch.full_like(x, -1.0)
    d = [create_ragged_descriptor(t, [8, 8]) for t in (x, y)]
    move[(1,)](*d, first, n, row, BLOCK=8, ADD=add)
    want = np.full((32, 8), -1.0)
    rows = slice(first + row, min(first + row + 8, first + n))
    want[rows] = x.numpy()[rows] + 1 - add
    np.testing.assert_array_equal(y.numpy(), want)


def test_another_side():
    @tegula.jit
    def copy(src, dst, first, n):
        store_ragged(
            dst, first, n, [1, 4, 0], load_ragged(src, first, n, [1, 4, 0], 1), 1
        )

    x = torch.arange(2 * 16 * 8, dtype=torch.float32).reshape(2, 16, 8)
    y = torch.zeros_like(x)
    d = [create_ragged_descriptor(t, [1, 4, 8], ragged_dim=1) for t in (x, y)]
    copy[(1,)](*d, 3, 6)
    want = torch.zeros_like(x)
    want[1, 7:9] = x[1, 7:9]
    assert torch.equal(y, want)


def test_what_cannot_be_ragged():
    x = torch.zeros(16, 16)
    with pytest.raises(ValueError, match="last side"):
        create_ragged_descriptor(x, [4, 4], ragged_dim=1)
    with pytest.raises(ValueError, match="block_shape"):
        create_ragged_descriptor(x, [4])
    with pytest.raises(ValueError, match="1 to 3 sides"):
        create_ragged_descriptor(torch.zeros(1, 1, 1, 16), [1, 1, 1, 4])
