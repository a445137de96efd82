"""VALUE: a permutation of too few dims."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((2, 4, 8), tl.float32)
    tl.store(x, tl.sum(a.permute(1, 0)))


def run():
    kernel.lower("*fp32")


# ----
# value_permute_rank.py:10:24: CompileError[VALUE]: dims must be a permutation of 0..2 for the shape [2, 4, 8], not (1, 0)
#     tl.store(x, tl.sum(a.permute(1, 0)))
#                        ^~~~~~~~~~~~~~~
