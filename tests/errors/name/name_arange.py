"""NAME: a function without its module."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.store(x + arange(0, 4), 1.0)


def run():
    kernel.lower("*fp32", "*i32")


# ----
# name_arange.py:9:18: CompileError[NAME]: name 'arange' is not defined
#     tl.store(x + arange(0, 4), 1.0)
#                  ^~~~~~
#   help: did you mean tl.arange?
