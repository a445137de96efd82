"""VALUE: a constexpr is always specialized."""

import tegula
import tegula.language as tl


@tegula.jit(do_not_specialize=["BLOCK"])
def kernel(x, n, BLOCK: tl.constexpr = 16):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, n, mask=i < n)


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_constexpr_unspecialized.py:8:1: CompileError[VALUE]: BLOCK marked as constexpr and listed in do_not_specialize
# def kernel(x, n, BLOCK: tl.constexpr = 16):
# ^
#   help: leave out the annotation, and one variant takes all its values
