"""max_num_imprecise_acc: partial sums of float8 where an instruction multiplies it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import simulated

import tegula
import tegula.language as tl
from tegula.compat.backends import GPUTarget

everywhere = pytest.mark.parametrize(
    "target", ("cpu", "interpreter", "emu:sm_89", "emu:sm_90a"), indirect=True
)


@tegula.jit
def product(x, y, out, K: tl.constexpr, MOST: tl.constexpr):
    m, k = tl.arange(0, 32), tl.arange(0, K)
    a = tl.load(x + m[:, None] * K + k[None, :]).to(tl.float8e4nv, bitcast=True)
    b = tl.load(y + m[None, :] * K + k[:, None]).to(tl.float8e4nv, bitcast=True)
    acc = tl.full((32, 32), 3.0, tl.float32)
    acc = tl.dot(a, b, acc, max_num_imprecise_acc=MOST)
    tl.store(out + m[:, None] * 32 + m[None, :], acc)


def additions(chip: int, most: int | None, **options: Any) -> int:
    types = {"x": "*u8:16", "y": "*u8:16", "out": "*fp32:16"}
    source = tegula.compiler.ASTSource(product, types, {"K": 256, "MOST": most})
    made = tegula.compile(source, target=GPUTarget("cuda", chip, 32), options=options)
    return len(re.findall(r"\tadd(?:\.rn)?\.f32", made.asm["ptx"]))


@pytest.mark.parametrize("most,parts", [(None, 0), (0, 8), (32, 8), (100, 3), (256, 1)])
def test_parts(most: int | None, parts: int) -> None:
    """Each joins the 32 * 32 / 128 accumulators of a thread by an addition; 100 are 96."""
    assert additions(89, most) == 8 * parts
    assert additions(90, most) == additions(80, most) == 0


def test_option() -> None:
    assert additions(89, None, max_num_imprecise_acc_default=64) == 8 * 4
    assert additions(89, None, max_num_imprecise_acc_default=0) == 8 * 8
    assert additions(89, None, max_num_imprecise_acc_default=2**30) == 0
    assert additions(89, 128, max_num_imprecise_acc_default=64) == 8 * 2


@everywhere
@pytest.mark.parametrize("most", (None, 0, 96, 256))
def test_results(target: Any, most: int | None) -> None:
    rng = np.random.default_rng(5)
    x, y = (rng.choice([0, 56, 64, 184, 192], (32, 256)).astype(np.uint8) for _ in "xy")
    out = np.zeros((32, 32), np.float32)
    product[(1,)](x, y, out, 256, most)
    value = {0: 0, 56: 1, 64: 2, 184: -1, 192: -2}
    a, b = (np.vectorize(value.get)(v).astype(np.float64) for v in (x, y))
    np.testing.assert_array_equal(out, a @ b.T + 3)


@pytest.mark.parametrize("most", (None, 0, 96))
def test_as_ptx(most: int | None) -> None:
    """128, so that no assembled code of the tests above is found in a cache."""
    if not simulated.available():
        pytest.skip("no build/libptxsim.so")
    rng = np.random.default_rng(5)
    x, y = (rng.choice([0, 56, 64, 184], (32, 128)).astype(np.uint8) for _ in "xy")
    with simulated.driver():
        there = [simulated.put(v, "sm_89") for v in (x, y, np.zeros((32, 32), "f4"))]
        product[(1,)](*there, 128, most)
        out = there[2].numpy()
    value = {0: 0, 56: 1, 64: 2, 184: -1}
    a, b = (np.vectorize(value.get)(v).astype(np.float64) for v in (x, y))
    np.testing.assert_array_equal(out, a @ b.T + 3)
