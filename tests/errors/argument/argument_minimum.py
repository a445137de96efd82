"""ARGUMENT: a minimum of one."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, tl.minimum(n))


def run():
    kernel.lower("*fp32", "i32")


# ----
# argument_minimum.py:9:17: CompileError[ARGUMENT]: minimum(): the argument 'y' is missing
#     tl.store(x, tl.minimum(n))
#                 ^~~~~~~~~~~~~
#   help: it is minimum(x, y[, propagate_nan]); tl.min(x) reduces a block
