"""Launches that have a multiprocessor for every program (the simulated chip: 16) run code
of their own: one program a block, and rings as deep as shared memory allows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import simulated
import test_persistent

import tegula

pytestmark = pytest.mark.usefixtures("ptxsim")
BLOCK = {"BM": 64, "BN": 128, "BK": 64, "num_warps": 4}
DEEP, SHALLOW = "mbar<8>", "mbar<4>"


@tegula.jit
def nothing():
    pass


def product(kernel, programs: int, grid=None):
    """A product of so many blocks; what the launch returns."""
    m, n, k = BLOCK["BM"] * programs, BLOCK["BN"], 4 * BLOCK["BK"]
    a, b = test_persistent.whole(0, m, k), test_persistent.whole(1, n, k)
    c = simulated.put(np.full((m, n), np.nan, np.float16), test_persistent.TARGET)
    a_there, b_there = (simulated.put(x, test_persistent.TARGET) for x in (a, b))
    compiled = kernel[grid or (programs, 1)](a_there, b_there, c, m, n, k, **BLOCK)
    want = a.astype(np.float64) @ b.astype(np.float64).T
    np.testing.assert_array_equal(c.numpy(), want.astype(np.float16))
    return compiled


@pytest.mark.parametrize("order", [(16, 17), (17, 16)])
@pytest.mark.parametrize("has_function", [False, True])
def test_each_has_code_of_its_own(order, has_function, tmp_path):
    kernel = tegula.jit(test_persistent.products.fn)
    compiles: list[object] = []
    with tegula.knobs.runtime.scope(), tegula.knobs.cache.scope():
        tegula.knobs.cache.dir = str(tmp_path)
        tegula.knobs.runtime.jit_post_compile_hook = lambda **told: compiles.append(
            told
        )
        for n, programs in enumerate((*order, *order)):
            grid = (lambda meta, n=programs: (n,)) if has_function else None
            compiled = product(kernel, programs, grid)
            assert len(compiles) == min(n + 1, 2)
            assert (DEEP if programs == 16 else SHALLOW) in compiled.asm["simt"]
        again = tegula.jit(test_persistent.products.fn)
        for programs in order[::-1]:
            assert product(again, programs).metadata.from_disk


def test_a_driver_that_was_missed_before():
    """A launch without tensors looks for a driver. One that is named later is found, and
    the first compile knows the grid."""
    script = """
import sys
sys.path[:0] = sys.argv[1:]
import simulated, tegula, test_few_programs, test_persistent
tegula.knobs.cache.dir = ""
tegula.knobs.nvidia.libcuda = "/nowhere"
test_few_programs.nothing[(1,)]()
compiles = []
with simulated.driver():
    tegula.knobs.runtime.jit_post_compile_hook = lambda **told: compiles.append(told)
    test_few_programs.product(test_persistent.products, 2)
print(len(compiles))
"""
    here = Path(__file__).parent
    folders = [Path(tegula.__file__).parents[1], here, here.parent / "ptxsim"]
    done = subprocess.run(
        [sys.executable, "-", *folders], input=script, capture_output=True, text=True
    )
    assert done.stdout == "1\n", done.stderr
