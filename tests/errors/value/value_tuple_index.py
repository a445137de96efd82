"""VALUE: an element beyond a tuple."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    t = (1.0, 2.0)
    tl.store(x, t[2])


def run():
    kernel.lower("*fp32")


# ----
# value_tuple_index.py:10:17: CompileError[VALUE]: index 2 is outside a tuple of 2
#     tl.store(x, t[2])
#                 ^~~~
#   help: the first has the index 0, the last 1
