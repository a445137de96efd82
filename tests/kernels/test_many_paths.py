"""Values whose uses join and part again: 2^60 ways lead through 60 of them."""

import numpy as np

import tegula as triton
import tegula.language as tl


@triton.jit
def paths_kernel(out_ptr, n, B: tl.constexpr):
    first = tl.arange(0, B) + n
    x = first
    for _ in tl.static_range(60):
        x = x + (x >> 1)
    tl.atomic_max(out_ptr, tl.max(x, 0))
    tl.atomic_max(out_ptr + 1, tl.max(first * 3, 0))


def test_paths(device):
    """What comes after `x` does not walk through all that was made of it before."""
    out = device.put(np.zeros(2, np.int32))
    paths_kernel[(1,)](out, 3, B=64)
    first = np.arange(64, dtype=np.int32) + np.int32(3)
    x = first
    for _ in range(60):
        x = x + (x >> 1)
    assert device.get(out).tolist() == [x.max(), (first * 3).max()]
