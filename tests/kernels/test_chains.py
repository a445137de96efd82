"""Chains of small products of tf32: what one gave is the next one's operand as it lies."""

import numpy as np
import pytest

import tegula
import tegula.language as tl


@tegula.jit
def powers_kernel(x_ptr, y_ptr, N: tl.constexpr, STEPS: tl.constexpr):
    r = tl.arange(0, N)
    at = r[:, None] * N + r[None, :]
    x = tl.load(x_ptr + at)
    y = x
    for _ in tl.static_range(STEPS):
        x = tl.dot(x, x)
        y = tl.dot(y, x)
    tl.store(y_ptr + at, tl.dot(y, tl.trans(x)))


def signed_permutation(n: int) -> np.ndarray:
    rng = np.random.default_rng(n)
    x = np.zeros((n, n), np.float32)
    x[np.arange(n), rng.permutation(n)] = rng.choice([-1, 1], n)
    return x


# 64 rows by 4 warps have many sums of 32 words, a few of which live at one time: wgmma. The
# others are mma.sync: left operands that stay or move between warps, and one warp.
@pytest.mark.parametrize(
    "n, warps, level",
    [
        (64, 4, 2),
        (64, 8, 2),
        (64, 2, 1),
        (32, 4, 1),
        (32, 2, 1),
        (32, 1, 1),
        (16, 1, 1),
    ],
)
def test_powers(n: int, warps: int, level: int) -> None:
    """Sums of one 1 or -1: every wrong place shows, and nothing is rounded."""
    x, y, steps = signed_permutation(n), np.zeros((n, n), np.float32), 6
    options = {"N": n, "STEPS": steps, "num_warps": warps}
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = "emu:sm_90a"
        compiled = powers_kernel[(1,)](x, y, **options)
    want = np.linalg.matrix_power(x, 2 ** (steps + 1) - 1)
    want = want @ np.linalg.matrix_power(x, 2**steps).T
    assert np.array_equal(y, want)
    assert f"level {level}" in compiled.report


def test_moves_are_rounded() -> None:
    """Four warps have each right operand four times: it is rounded before it moves."""
    signature = ["*fp32:16", "*fp32:16"]
    c = powers_kernel.compile(
        *signature, target="cuda:sm_80", N=32, STEPS=2, num_warps=2
    )
    products = 5
    left = right = 32 * 32 // 64  # words of a thread of two warps
    half_added = c.asm["ptx"].count("0f3A000000")  # of the last place, to round
    assert 0 < half_added <= products * (left + right)
