"""VALUE: more imprecise steps than K has."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((32, 32), tl.float8e5)
    tl.store(x, tl.sum(tl.dot(a, a, max_num_imprecise_acc=64)))


def run():
    kernel.lower("*fp32")


# ----
# value_dot_imprecise.py:10:24: CompileError[VALUE]: max_num_imprecise_acc (64) must be <= K (32)
#     tl.store(x, tl.sum(tl.dot(a, a, max_num_imprecise_acc=64)))
#                        ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
