"""@jit: a parameter that is not there."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    tegula.jit(do_not_specialize=["m"])(kernel.fn)


# ----
# ValueError: kernel(): do_not_specialize names 'm', which is no parameter
