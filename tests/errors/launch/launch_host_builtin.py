"""A function of the language called outside of a kernel."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    tl.arange(0, 4)


# ----
# ValueError: tegula.language.arange() was called outside of a kernel: did you forget @triton.jit (here: @tegula.jit) on the caller?
