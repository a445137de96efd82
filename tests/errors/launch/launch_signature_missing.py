"""A compile: a signature that is too short."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel.compile("*fp32")


# ----
# TypeError: kernel() misses 1 argument: 'n'
