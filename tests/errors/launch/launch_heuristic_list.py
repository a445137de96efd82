"""A launch: pairs for heuristics."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    tegula.heuristics([("BLOCK", 16)])(kernel)


# ----
# TypeError: heuristics takes a dict of functions, {name: lambda args: ..}, not [('BLOCK', 16)]
