"""VALUE: a tuple indexed by the variable of a loop that runs."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y, n):
    rows = (x, y)
    for i in range(n):
        tl.store(rows[i], 1.0)


def run():
    kernel.lower("*fp32", "*fp32", "i32")


# ----
# value_tuple_loop.py:11:23: CompileError[VALUE]: the index of a tuple must be known when the kernel is compiled, but 'i' (an i32 scalar) is known only when it runs
#         tl.store(rows[i], 1.0)
#                       ^
#   help: tl.static_range(2) or 'for x in t' unrolls a loop over it; a block is indexed at run time
