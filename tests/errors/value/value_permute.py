"""VALUE: dims that are no permutation."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((2, 4, 8), tl.float32)
    tl.store(x, tl.sum(tl.permute(a, (0, 1, 1))))


def run():
    kernel.lower("*fp32")


# ----
# value_permute.py:10:24: CompileError[VALUE]: dims must be a permutation of 0..2 for the shape [2, 4, 8], not (0, 1, 1)
#     tl.store(x, tl.sum(tl.permute(a, (0, 1, 1))))
#                        ^~~~~~~~~~~~~~~~~~~~~~~~
