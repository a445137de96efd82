"""@jit: a parameter that is not there. A warning, here made an error."""

import warnings

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tegula.jit(do_not_specialize=["m"])(kernel.fn)


# ----
# UserWarning: kernel(): do_not_specialize names 'm', which is no parameter
