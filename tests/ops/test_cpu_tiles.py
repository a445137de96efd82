"""Products on CPUs by the tiles that `matmul.options` chooses: of sides that no tile
divides, by several threads."""

from __future__ import annotations

import importlib
from math import ceil

import pytest

import tegula
from tegula import ops

torch = pytest.importorskip("torch")
matmul = importlib.import_module("tegula.ops.matmul")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("turned", ["", "a", "b", "ab"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_ragged_products(dtype, turned, threads):
    torch.manual_seed(0)
    for batch, m, n, k in [
        (0, 520, 517, 300),
        (5, 190, 133, 270),
        (0, 769, 40, 64),
        (3, 7, 133, 13),
        (0, 1, 40, 270),
    ]:
        lead = (batch,) if batch else ()
        kind = getattr(torch, dtype)
        a = torch.randn(*lead, k, m).to(kind).mT
        b = torch.randn(*lead, n, k).to(kind).mT
        a = a if "a" in turned else a.contiguous()
        b = b if "b" in turned else b.contiguous()
        with tegula.knobs.runtime.scope():
            tegula.knobs.runtime.num_threads = threads
            for _ in range(2):
                got = ops.matmul(a, b).double()
        want = a.double() @ b.double()
        last = {"float32": 1e-6, "bfloat16": 2**-8, "float16": 2**-11}[dtype]
        bound = last * want.abs() + 4e-6 * (a.double().abs() @ b.double().abs())
        assert ((got - want).abs() <= bound).all()


def test_tiles_keep_all_threads_busy():
    assert matmul._sides(768, 768, 1, 256, 1) == (256, 256)
    assert matmul._sides(768, 768, 1, 256, 2) == (192, 256)
    for threads in range(1, 17):
        for m in (32, 100, 192, 768, 1000, 2048):
            bm, bn = matmul._sides(m, m, 1, 256, threads)
            across = ceil(m / bn)
            work = [
                ceil(ceil(m / s) * across / threads) * s
                for s in (bm, *matmul.SIDES)
                if s <= bm
            ]
            assert work[0] * 16 <= min(work) * 17
