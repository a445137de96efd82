"""@jit of what is no function."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    tegula.jit(3)


# ----
# TypeError: @jit needs a Python function, not 3
