"""The error of every op and gradient, in each type, beside torch's own in that type.

The cases are those of ``python -m tegula bench``, smaller: an op that is measured there is
tested here. Errors are root mean squares against float64: a maximum of a few elements
would be chance.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tegula.bench import cases, timing

torch = pytest.importorskip("torch")
BOUND = 1.5
TYPES = ["float32", "float16", "bfloat16"]
# Chance decides; their own tests look at what they draw.
DRAWN = {"dropout"}


class Small(cases.Inputs):
    def __init__(self, dtype: str, library: Any = torch) -> None:
        super().__init__("cpu", library)
        self.dtype = dtype

    def size(self, large: int, small: int) -> int:
        return small if small <= 64 else max(64, small // 4)


class OfNumPy(Small):
    """Tensors of the numbers that are drawn where there is no torch."""

    def __init__(self) -> None:
        super().__init__("float32", None)

    def randn(self, *args: Any, **kwargs: Any) -> Any:
        return torch.from_numpy(super().randn(*args, **kwargs))

    def integers(self, *args: Any, **kwargs: Any) -> Any:
        return torch.from_numpy(super().integers(*args, **kwargs))

    def array(self, *args: Any, **kwargs: Any) -> Any:
        return torch.from_numpy(super().array(*args, **kwargs))


def rms(x: Any) -> float:
    return float(x.double().square().mean().sqrt())


@pytest.mark.one_in(3)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", sorted(set(cases.CASES) - DRAWN))
def test_errors(name: str, dtype: str) -> None:
    problem = cases.CASES[name][1](Small(dtype))
    assert problem.is_exact
    upstreams: list[Any] = [None]
    if any(map(timing.wants_gradient, problem.inputs)):
        outs = timing.caller(problem.ours, problem.inputs, None)()
        upstreams.append([torch.randn_like(x) for x in outs])
    for upstream in upstreams:
        want = timing.reference(problem, upstream)
        ours = timing.caller(problem.ours, problem.inputs, upstream)()
        theirs = timing.caller(problem.theirs, problem.inputs, upstream)()
        assert want is not None and len(want) == len(ours) == len(theirs)
        for i, (x, y, w) in enumerate(zip(ours, theirs, want, strict=True)):
            mine, other = rms(x.double() - w), rms(y.double() - w)
            # Both may be right to the last bit; half of one is nobody's fault.
            least = (
                torch.finfo(x.dtype).eps / 16 * rms(w) if x.is_floating_point() else 0
            )
            assert math.isfinite(mine)
            assert mine <= BOUND * max(other, least), (
                f"{'gradient' if upstream else 'result'} {i}: {mine:.3g}, torch {other:.3g}"
            )


@pytest.mark.parametrize("name", sorted(set(cases.CASES) - DRAWN))
def test_numpy_gives_the_same(name: str) -> None:
    make = cases.CASES[name][1]
    plain, tensors = make(Small("float32", None)), make(OfNumPy())
    got = timing.tuple_of(plain.ours(*plain.inputs))
    want = timing.tuple_of(tensors.ours(*tensors.inputs))
    for x, w in zip(got, want, strict=True):
        assert isinstance(x, (np.ndarray, np.generic)) and x.dtype == w.numpy().dtype
        # Sums of a chunk may take the tiles of another library's array.
        np.testing.assert_allclose(x, w.numpy(), rtol=1e-5, atol=1e-5)
