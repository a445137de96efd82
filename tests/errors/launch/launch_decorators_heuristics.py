"""TypeError: @heuristics below @jit."""

import tegula
import tegula.language as tl


def kernel(x, n, BLOCK: tl.constexpr):
    tl.store(x, n)


def run():
    tegula.jit(tegula.heuristics({"BLOCK": lambda args: 16})(kernel))


# ----
# TypeError: @heuristics takes a kernel, and kernel is none: @jit stands below it, next to the function
