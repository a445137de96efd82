"""@jit: a constexpr is always specialized."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    tegula.jit(do_not_specialize=["BLOCK"])(kernel.fn)


# ----
# ValueError: kernel(): BLOCK marked as constexpr and listed in do_not_specialize. remove constexpr designation
