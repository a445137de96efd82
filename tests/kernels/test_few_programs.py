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
import tegula.language as tl
from tegula import tuning

pytestmark = pytest.mark.usefixtures("ptxsim")
BLOCK = {"BM": 64, "BN": 128, "BK": 64, "num_warps": 4}
DEEP, SHALLOW = "mbar<8>", "mbar<4>"


@tegula.jit
def nothing():
    pass


def matrices(programs: int):
    """a, b and c of so many blocks, and their sides."""
    m, n, k = BLOCK["BM"] * programs, BLOCK["BN"], 4 * BLOCK["BK"]
    c = np.full((m, n), np.nan, np.float16)
    whole = test_persistent.whole
    return whole(0, m, k), whole(1, n, k), c, m, n, k


def there(programs: int):
    return [
        simulated.put(x, test_persistent.TARGET) if isinstance(x, np.ndarray) else x
        for x in matrices(programs)
    ]


def product(kernel, programs: int, grid=None):
    """A product of so many blocks; what the launch returns."""
    a, b, *_ = matrices(programs)
    args = there(programs)
    compiled = kernel[grid or (programs, 1)](*args, **BLOCK)
    c = args[2]
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


@pytest.mark.parametrize("programs", [16, 17])
def test_prepare_makes_what_the_launch_runs(programs):
    """warmup does not look at the grid: Triton's users give it (1,) and launch another."""
    kernel = tegula.jit(test_persistent.products.fn)
    grid = (lambda meta: (programs,)) if programs == 16 else (programs, 1)
    made = kernel.prepare(*there(programs), grid=grid, **BLOCK)
    assert (DEEP if programs == 16 else SHALLOW) in made.asm["simt"]
    assert product(kernel, programs) is made
    other = product(kernel, 33 - programs)
    assert other is not made
    assert (
        kernel.prepare(*there(33 - programs), grid=(33 - programs,), **BLOCK) is other
    )
    warmed = kernel.warmup(*there(programs), grid=(1,), **BLOCK)
    assert warmed in (made, other)
    with pytest.raises(TypeError, match=r"prepare\(\) misses grid="):
        kernel.prepare(*there(programs), **BLOCK)


@pytest.mark.parametrize("programs", [2, 17])
def test_a_tuner_compiles_together_what_it_launches(programs, monkeypatch, tmp_path):
    """The threads that compile ahead make the code for the grid of each configuration, so
    that no launch of the tuner's compiles: one after the other they took 13 s for 24."""
    sizes = [{"BM": m, "BN": 128, "BK": 64} for m in (64, 128)]
    kernel = tegula.autotune(
        [tegula.Config(s, num_warps=4) for s in sizes],
        key=["M", "N", "K"],
        do_bench=lambda call, quantiles: call() or [1.0, 1.0, 1.0],
    )(tegula.jit(test_persistent.products.fn))
    ahead: list[object] = []
    together = tuning.compile_together
    monkeypatch.setattr(
        tuning, "compile_together", lambda c: ahead.extend(together(c)) or ahead
    )
    with tegula.knobs.cache.scope():
        tegula.knobs.cache.dir = str(tmp_path)
        args = there(programs)
        kernel[lambda meta: (args[3] // meta["BM"], 1)](*args)
    assert len(ahead) == 2
    for size in sizes:
        of = (programs * BLOCK["BM"] // size["BM"], 1)
        assert kernel.fn.prepare(*args, grid=of, num_warps=4, **size) in ahead


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


@tegula.jit
def counts_of_bins(x_ptr, y_ptr, n, N: tl.constexpr, R: tl.constexpr):
    bins = tl.arange(0, R)
    acc = tl.zeros((R, N), tl.int64)
    for start in range(0, n, N):
        i = start + tl.arange(0, N)
        x = tl.load(x_ptr + tl.program_id(0) * n + i, mask=i < n) & 15
        acc += tl.where(i < n, bins[:, None] == x, False)
    tl.store(y_ptr + tl.program_id(0) * R + bins, tl.sum(acc, axis=1))


@pytest.mark.parametrize("bins", [2, 16])
def test_few_programs_unroll_what_only_adds(bins):
    """Counts of 16 bins carry 128 words a thread for 4 that they load: by four iterations
    at a time their sums lay in local memory, 403 us for 35."""
    x = simulated.put(np.zeros(1 << 12, np.int32), test_persistent.TARGET)
    y = simulated.put(np.zeros(64, np.int64), test_persistent.TARGET)
    made = counts_of_bins.prepare(x, y, 1 << 11, grid=(2,), N=512, R=bins)
    loads = made.asm["simt"].count("load %")
    assert (loads > 1) == (bins == 2)
