"""a * b + c, rounded once or twice: as a launch, Triton's variables and knobs say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula import knobs


@tegula.jit
def multiply_and_add(x, y, z, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b, c = tl.load(x + i), tl.load(y + i), tl.load(z + i)
    tl.store(out + i, a * b + c)


def operands() -> list[np.ndarray]:
    """Products that need more bits than there are, less nearly the same."""
    x = (1 + np.arange(1, 65) * 2.0**-23).astype(np.float32)
    return [x, x, -(x * x)]


@pytest.mark.parametrize("fused", [True, False])
def test_same_everywhere(device: Any, fused: bool) -> None:
    x, y, z = operands()
    out = device.poison(64, np.float32)
    args = [device.put(a) for a in (x, y, z)]
    multiply_and_add[(1,)](*args, out, 64, enable_fp_fusion=fused)
    once = (x.astype(np.float64) * y + z).astype(np.float32)
    assert (device.get(out) == (once if fused else 0)).all() and once.any()


def test_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a launch says goes before the default, and the prohibition before both."""
    language = knobs.language
    for what in ("DEFAULT_FP_FUSION", "FORCE_DISABLE_FP_FUSION"):
        monkeypatch.delenv(f"TRITON_{what}", raising=False)
        monkeypatch.delenv(f"TEGULA_{what.removeprefix('DEFAULT_')}", raising=False)
    x, y, z = operands()
    out = np.zeros(64, np.float32)
    with knobs.language.scope():
        for name in ("default_fp_fusion", "force_disable_fp_fusion"):
            vars(language).pop(name, None)  # what another test has set
        with pytest.warns(FutureWarning):  # Triton 3.10 changes the default
            assert language.fp_fusion_enabled(None)
        assert not language.fp_fusion_enabled(False)
        monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "0")
        assert not language.fp_fusion_enabled(None) and language.fp_fusion_enabled(True)
        monkeypatch.setenv("TRITON_FORCE_DISABLE_FP_FUSION", "1")
        assert not language.fp_fusion_enabled(True)
        knobs.refresh_knobs()
        tegula.jit(multiply_and_add.fn)[(1,)](x, y, z, out, 64, enable_fp_fusion=True)
        monkeypatch.delenv("TRITON_FORCE_DISABLE_FP_FUSION")
    knobs.refresh_knobs()
    assert not out.any()
