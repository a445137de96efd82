"""ARGUMENT: NumPy's where of one argument."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    i = tl.arange(0, 16)
    tl.store(x + i, tl.where(i < n))


def run():
    kernel.lower("*fp32", "i32")


# ----
# argument_where.py:10:21: CompileError[ARGUMENT]: where(): the argument 'x' is missing
#     tl.store(x + i, tl.where(i < n))
#                     ^~~~~~~~~~~~~~~
#   help: it is where(condition, x, y)
