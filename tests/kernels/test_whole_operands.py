"""Ops that take whole blocks which loops in front have computed (on CPUs: pass group)."""

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def shared(
    x_ptr, sum_ptr, first_ptr, y_ptr,
    SHAPED: tl.constexpr, ROOT: tl.constexpr, WHOLE: tl.constexpr,
):  # fmt: skip
    i = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    v = tl.load(x_ptr + i) ^ tl.load(x_ptr + tl.arange(0, 16))[None, :]
    if SHAPED == "trans":
        v = tl.trans(v)
    elif SHAPED == "reshape":
        v = tl.reshape(tl.reshape(v, [256]), [16, 16])
    elif SHAPED == "cheap":
        v = v + 1
    if ROOT == "store":
        tl.store(first_ptr + i, tl.abs(v) & 15)
    elif ROOT == "atomic":
        tl.atomic_add(first_ptr + i, tl.abs(v) & 15)
    else:
        tl.store(sum_ptr + tl.arange(0, 16), tl.sum(tl.abs(v) & 15, 1))
    if WHOLE == "scan":
        w = tl.cumsum(v, 1)
    elif WHOLE == "sort":
        w = tl.sort(v)
    else:
        w = tl.gather(v, tl.abs(v) & 15, 1)
    tl.store(y_ptr + i, w)


@pytest.mark.parametrize("whole", ["scan", "sort", "gather"])
@pytest.mark.parametrize("root", ["store", "atomic", "reduce"])
@pytest.mark.parametrize("shaped", ["", "trans", "reshape", "cheap"])
def test_read_what_is_kept(shaped: str, root: str, whole: str) -> None:
    """A scan of a transposed block was given no place where a store had read the block."""
    x = np.random.default_rng(0).integers(-99, 99, 256).astype(np.int32)
    out = [np.zeros(n, np.int32) for n in (16, 256, 256)]
    shared[(1,)](x, *out, SHAPED=shaped, ROOT=root, WHOLE=whole)
    v = x.reshape(16, 16) ^ x[:16]
    v = v.T if shaped == "trans" else v + 1 if shaped == "cheap" else v
    low = np.abs(v) & 15
    want = {
        "scan": v.cumsum(1),
        "sort": np.sort(v, 1),
        "gather": np.take_along_axis(v, low, 1),
    }
    np.testing.assert_array_equal(out[2].reshape(16, 16), want[whole])
    if root == "reduce":
        np.testing.assert_array_equal(out[0], low.sum(1))
    else:
        np.testing.assert_array_equal(out[1].reshape(16, 16), low)
