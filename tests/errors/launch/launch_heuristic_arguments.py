"""A launch: a heuristic without a parameter."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.heuristics({"BLOCK": lambda: 16})
@tegula.jit
def kernel(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)


def run():
    kernel[(1,)](np.zeros(16, np.float32))


# ----
# TypeError: <lambda>() takes 0 positional arguments but 1 was given
# the heuristic 'BLOCK' is a function of a dict, lambda args: .., of the arguments that this launch has: x
