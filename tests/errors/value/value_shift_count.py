"""VALUE: a shift of a constant beyond reason."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, 1 << 100000)


def run():
    kernel.lower("*fp32")


# ----
# value_shift_count.py:9:17: CompileError[VALUE]: the shift count 100000 is too large
#     tl.store(x, 1 << 100000)
#                 ^~~~~~~~~~~
