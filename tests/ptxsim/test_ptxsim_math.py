"""Functions whose code for GPUs is their own, in units of the last place: PTX, interpreted.

The interpreter's ex2 and division are exact where a GPU's are not, so what is seen here is
the error of the code around them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import simulated

import tegula
import tegula.language as tl
from tegula.language.extra import libdevice

pytestmark = pytest.mark.skipif(
    not simulated.available(), reason="no build/libptxsim.so"
)


@pytest.fixture(autouse=True)
def target() -> Iterator[str]:
    with tegula.knobs.nvidia.scope():
        tegula.knobs.nvidia.ptxas = "none"
        simulated.start()
        yield "sm_90a"


@tegula.jit
def of_one(o_ptr, x_ptr, F: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o_ptr + i, F(tl.load(x_ptr + i)))


SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1.0, -1.0, 3e38, -3e38]
NEAR_ZERO = 2.0 ** np.linspace(-140, 0, 500)
EXPONENTS = [
    np.linspace(-110, 95, 1500),
    np.linspace(-88, -87, 100),
    NEAR_ZERO,
    -NEAR_ZERO,
]
ANGLES = [
    np.linspace(-30, 30, 1500),
    np.linspace(-99999, 99999, 1000),
    np.pi / 2 * np.arange(-500, 500),  # the sine or cosine is small
    2.0 ** np.linspace(-140, 127, 800),
    -(2.0 ** np.linspace(16, 127, 200)),
]
POSITIVE = [
    2.0 ** np.linspace(-149, 128, 1500, endpoint=False),
    np.linspace(0.5, 2, 500),
]


def erf(x: np.ndarray) -> np.ndarray:
    from math import erf as one

    return np.array([one(v) for v in x])


CASES: dict[str, tuple[Any, Any, float, list[np.ndarray]]] = {
    "exp": (libdevice.exp, np.exp, 1.5, EXPONENTS),
    "exp2": (libdevice.exp2, np.exp2, 1.5, [np.linspace(-152, 129, 1500), NEAR_ZERO]),
    "exp10": (
        libdevice.exp10,
        lambda x: np.power(10.0, x),
        1.5,
        [np.linspace(-46, 39, 1500), NEAR_ZERO],
    ),
    "sin": (tl.sin, np.sin, 2, ANGLES),
    "cos": (tl.cos, np.cos, 2, ANGLES),
    "erf": (tl.erf, erf, 3, [np.linspace(-5, 5, 2000), NEAR_ZERO, -NEAR_ZERO]),
    "tanh": (libdevice.tanh, np.tanh, 3, [np.linspace(-11, 11, 2000), NEAR_ZERO]),
    "log2": (libdevice.log2, np.log2, 2, POSITIVE),
    "log10": (libdevice.log10, np.log10, 3, POSITIVE),
    "log1p": (
        libdevice.log1p,
        np.log1p,
        3,
        [np.linspace(-0.9999, 3, 1000), NEAR_ZERO, -NEAR_ZERO[:-1], *POSITIVE],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_accuracy(name: str, target: str) -> None:
    fn, exact, ulps, pieces = CASES[name]
    with np.errstate(all="ignore"):
        x = np.concatenate([*pieces, SPECIAL]).astype(np.float32)
    x = np.pad(x, (0, -len(x) % 256))
    o = simulated.put(np.zeros_like(x), target)
    of_one[(len(x) // 256,)](o, simulated.put(x, target), F=fn, B=256)
    got = o.numpy()
    with np.errstate(all="ignore"):
        want = exact(x.astype(np.float64))
        rounded = want.astype(np.float32)
        unit = np.maximum(np.spacing(np.abs(rounded)).astype(np.float64), 2.0**-149)
        far = np.abs(got.astype(np.float64) - want) / unit
    finite = np.isfinite(rounded) & np.isfinite(got)
    worst = int(np.argmax(np.where(finite, far, 0)))
    assert far[worst] <= ulps, (x[worst], got[worst], want[worst], far[worst])
    # What is not finite is the same, but for the last number before infinity.
    edge = np.abs(want) > 3.4028e38
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded)) | finite | edge
    assert same.all(), (x[~same], got[~same], rounded[~same])
    zero = x == 0
    assert (np.signbit(got[zero]) == np.signbit(rounded[zero])).all()


@tegula.jit
def of_one_angle(o_ptr, x_ptr, n, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i)
    r = tl.cos(x)
    if n > 1:
        r += 2 * tl.sin(x)
        y = x * 0.5
        r += 4 * tl.sin(y)
    else:
        y = x * 0.25
        r += 8 * tl.cos(y)
    for _ in range(n):
        r += 16 * tl.sin(x) + 32 * tl.cos(y)
    tl.store(o_ptr + i, r + 64 * tl.cos(y))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_sines_of_one_angle(n: int) -> None:
    """What is known of an angle is used where it is known, and nowhere else."""
    x = np.concatenate(ANGLES[::3]).astype(np.float32)[:2048]
    x = np.resize(x, 2048)
    out = np.empty_like(x)
    of_one_angle[(1,)](out, x, n, B=2048)
    a = x.astype(np.float64)
    y = a * (0.5 if n > 1 else 0.25)
    want = np.cos(a) + 64 * np.cos(y) + n * (16 * np.sin(a) + 32 * np.cos(y))
    want += 2 * np.sin(a) + 4 * np.sin(y) if n > 1 else 8 * np.cos(y)
    assert np.abs(out - want).max() < 1e-4


def test_one_far_branch_for_an_angle() -> None:
    @tegula.jit
    def both(o_ptr, x_ptr, B: tl.constexpr):
        i = tl.arange(0, B)
        x = tl.load(x_ptr + i)
        tl.store(o_ptr + i, tl.sin(x) * 3 + tl.cos(x) + libdevice.tan(x))

    @tegula.jit
    def one(o_ptr, x_ptr, B: tl.constexpr):
        i = tl.arange(0, B)
        tl.store(o_ptr + i, tl.sin(tl.load(x_ptr + i)))

    counts = [
        k.compile("*fp32:16", "*fp32:16", B=512, target="cuda:sm_90a")
        .asm["ptx"]
        .count("bra")
        for k in (both, one)
    ]
    assert counts[0] == counts[1] > 0
