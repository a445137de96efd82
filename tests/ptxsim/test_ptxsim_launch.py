"""Whole launches on the interpreter of PTX: results, and what ends a launch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import simulated

import tegula
import tegula.language as tl

pytestmark = pytest.mark.skipif(
    not simulated.available(), reason="no build/libptxsim.so"
)


@pytest.fixture(autouse=True, params=simulated.DEVICES)
def target(request: pytest.FixtureRequest) -> Iterator[str]:
    with tegula.knobs.nvidia.scope():
        tegula.knobs.nvidia.ptxas = "none"
        simulated.start()
        yield request.param


@tegula.jit
def add_kernel(x_ptr, y_ptr, o_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.load(y_ptr + i, mask=i < n)
    tl.store(o_ptr + i, x + y, mask=i < n)


@pytest.mark.parametrize("n", (1, 31, 1000, 5000))
def test_add(n: int, target: str) -> None:
    rng = np.random.default_rng(n)
    x, y = (rng.standard_normal(n, np.float32) for _ in "xy")
    o = simulated.put(np.full(n, np.nan, np.float32), target)
    there = simulated.put(x, target), simulated.put(y, target), o
    add_kernel[(-(-n // 1024),)](*there, n, BLOCK=1024)
    np.testing.assert_array_equal(o.numpy(), x + y)


def test_scratch_parameters_are_null(target: str, tmp_path: Path) -> None:
    """PTX of Triton's has parameters behind the kernel's own; one that is written here."""
    x = np.arange(64, dtype=np.float32)
    there = [simulated.put(a, target) for a in (x, x, 0 * x)]
    variant = add_kernel[(1,)](*there, 64, BLOCK=64)
    head, _, body = variant.asm["ptx"].partition("\n)")
    file = tmp_path / "add.ptx"
    more = ".param .u64 .ptr .global .align 1 more,\n.param .u64 b"
    file.write_text(f"{head},\n{more}\n){body}")
    there[2].numpy()[:] = 0
    again = add_kernel[(1,)](*there, 64, BLOCK=64, ir_override=str(file))
    assert more in again.asm["ptx"]
    np.testing.assert_array_equal(there[2].numpy(), x + x)


@tegula.jit
def copy_kernel(x_ptr, o_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o_ptr + i, tl.load(x_ptr + i))


def test_memory_that_was_not_put(target: str) -> None:
    x = simulated.put(np.zeros(100, np.float32), target)
    o = simulated.put(np.zeros(128, np.float32), target)
    with pytest.raises(RuntimeError, match=r"ILLEGAL_ADDRESS: a load of .* at line"):
        copy_kernel[(1,)](x, o, BLOCK=128)


@tegula.jit
def misaligned_kernel(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o_ptr + i, tl.load(x_ptr + tl.multiple_of(n, 16) + i))


def test_misaligned_access(target: str) -> None:
    x = simulated.put(np.zeros(1000, np.float32), target)
    o = simulated.put(np.zeros(512, np.float32), target)
    with pytest.raises(RuntimeError, match="MISALIGNED_ADDRESS: misaligned: a load of"):
        misaligned_kernel[(1,)](x, o, 17, BLOCK=512)


@tegula.jit
def assert_kernel(x_ptr):
    tl.device_assert(tl.load(x_ptr) == 3, "not three")


def test_failed_assertion(target: str, capfd: pytest.CaptureFixture) -> None:
    x = simulated.put(np.array([4], np.int32), target)
    with pytest.raises(RuntimeError, match=r"CUDA_ERROR_ASSERT.*not three"):
        assert_kernel[(1,)](x, debug=True)
    assert "Assertion `not three` failed" in capfd.readouterr().err
