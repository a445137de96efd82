"""ATTRIBUTE: a list that is to grow."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    rows = []
    rows.append(n)
    tl.store(x, rows[0])


def run():
    kernel.lower("*i32", "i32")


# ----
# attribute_append.py:10:5: CompileError[ATTRIBUTE]: the tuple () has no attribute 'append'
#     rows.append(n)
#     ^~~~~~~~~~~
#   help: here it is l = l + (x,): lists are tuples in a kernel and never change
