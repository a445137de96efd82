"""A heuristic gives what is no parameter."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def fill(x, n, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)


def run():
    grown = {"BLOK": lambda args: tegula.next_power_of_2(args["n"])}
    tegula.heuristics(grown)(fill)[(1,)](np.zeros(64, np.float32), 64)


# ----
# ValueError: @heuristics: 'BLOK' is no parameter of fill(x, n, BLOCK); did you mean 'BLOCK'?
