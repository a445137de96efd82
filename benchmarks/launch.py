"""What a launch costs above the work: many calls of kernels that do nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import harness
import tegula as triton
import tegula.language as tl


def none_kernel(x_ptr):
    pass


def five_kernel(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    pass


# fmt: off
def twenty_kernel(
    a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, T: tl.constexpr
):
    pass
# fmt: on


def launcher(kernel: Any, x: Any, args: tuple[Any, ...], const: dict[str, int]) -> Any:
    """A call as users write it; the result is x, which no kernel here touches."""

    def run() -> Any:
        kernel[(1,)](*args, **const)
        return x

    return run


def cases(device: str) -> Iterator[harness.Case]:
    x = np.zeros(64, np.float32)
    torch = harness.torch_or_none()
    dx = harness.to_device(x, device)
    for name, fn, args, const in (
        ("1 argument", none_kernel, (dx,), {}),
        ("5 arguments", five_kernel, (dx, dx, dx, 64), {"BLOCK": 64}),
        ("20 arguments", twenty_kernel, (dx,) * 6 + (64,) * 13, {"T": 1}),
    ):
        case = harness.Case("launch", name, x.astype(np.float64), repeat=1000)
        case.add("tegula", launcher(triton.jit(fn), dx, args, const))
        theirs = harness.triton_kernel(fn, device)
        if theirs is not None:
            case.add("triton", launcher(theirs, dx, args, const))
        if torch is not None:
            # The least torch asks for a call that writes: a yardstick, no rival.
            tx = torch.zeros(64, device=device)
            case.add("torch.neg_", lambda tx=tx: tx.neg_())
        elif device == "cpu":
            case.add("numpy negative", lambda x=x: np.negative(x, out=x))
        yield case
