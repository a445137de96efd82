"""VALUE: too few values for a pattern with a star."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    first, *rest, last = (n,)
    tl.store(x, first)


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_unpack_star.py:9:5: CompileError[VALUE]: at least 2 names on the left, 1 value on the right
#     first, *rest, last = (n,)
#     ^~~~~~~~~~~~~~~~~~
