"""VALUE: an element picked from a block."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.arange(0, 64)
    tl.store(x, a[3])


def run():
    kernel.lower("*fp32")


# ----
# value_index.py:10:17: CompileError[VALUE]: a block cannot be indexed by a position
#     tl.store(x, a[3])
#                 ^~~~
#   help: only ':' and None are possible in x[...]; load elements through pointers, or pick them with tl.gather or tl.where
