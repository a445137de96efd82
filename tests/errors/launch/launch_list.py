"""A launch: a list for a tensor."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel[(1,)]([1.0, 2.0], 3)


# ----
# TypeError: argument 'x': a list cannot be passed to a kernel; parameters take tensors, int, float, bool, None and tuples of them. Make it a tuple, or a tensor when it is data
