"""VALUE: an assumption that is false."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, N: tl.constexpr):
    tl.assume(N > 4)
    tl.store(x, 1.0)


def run():
    kernel.lower("*fp32", N=3)


# ----
# value_assume.py:9:5: CompileError[VALUE]: the assumption is false: N > 4
#     tl.assume(N > 4)
#     ^~~~~~~~~~~~~~~~
#   help: N is 3
