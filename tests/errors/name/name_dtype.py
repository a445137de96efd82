"""NAME: a dtype without its module."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.store(x, tl.load(y).to(float32))


def run():
    kernel.lower("*fp32", "*i32")


# ----
# name_dtype.py:9:31: CompileError[NAME]: name 'float32' is not defined
#     tl.store(x, tl.load(y).to(float32))
#                               ^~~~~~~
#   help: did you mean tl.float32?
