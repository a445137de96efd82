"""async def is refused on the way of a launch, wherever it stands, however long it is."""

from __future__ import annotations

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
async def kernel(x):
    value = tl.load(x)
    tl.store(x, value + 1)


@tegula.jit
async def helper(a):
    b = a + 1
    c = b * 2
    return c


@tegula.jit
def calls(x):
    tl.store(x, helper(tl.load(x)))


@tegula.jit
def nests(x):
    async def inner(a):
        b = a + 1
        return b

    tl.store(x, inner(tl.load(x)))


@tegula.jit
async def waits(x):
    await x
    async for i in x:
        tl.store(x, i)
    async with x:
        pass


@pytest.mark.parametrize("k", [kernel, calls, nests, waits], ids=lambda k: k.__name__)
def test_async(k):
    x = np.zeros(1, np.float32)
    for _ in range(2):
        with pytest.raises(tegula.CompileError, match="an async function is not part"):
            k[(1,)](x)
    assert not x.any()
