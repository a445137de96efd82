"""The error of every op and gradient, in each type, beside torch's own in that type.

The cases are those of ``python -m tegula bench``, smaller: an op that is measured there is
tested here. Errors are root mean squares against float64: a maximum of a few elements
would be chance.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

from tegula.bench import cases, timing

torch = pytest.importorskip("torch")
BOUND = 1.5
TYPES = ["float32", "float16", "bfloat16"]
# Chance decides; their own tests look at what they draw.
DRAWN = {"dropout"}


class Small(cases.Inputs):
    def __init__(self, dtype: str) -> None:
        super().__init__("cpu", torch)
        self.dtype = dtype

    def size(self, large: int, small: int) -> int:
        return small if small <= 64 else max(64, small // 4)


def rms(x: Any) -> float:
    return float(x.double().square().mean().sqrt())


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
