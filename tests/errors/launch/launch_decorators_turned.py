"""TypeError: @autotune below @jit."""

import tegula
import tegula.language as tl


def kernel(x, n, BLOCK: tl.constexpr):
    tl.store(x, n)


def run():
    tegula.jit(
        tegula.autotune(configs=[tegula.Config({"BLOCK": 16})], key=["n"])(kernel)
    )


# ----
# TypeError: @autotune takes a kernel, and kernel is none: @jit stands below it, next to the function
