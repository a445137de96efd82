"""SYNTAX: an ellipsis as an index."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    a = tl.arange(0, 16)
    tl.store(x, tl.sum(a[..., None]))


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_ellipsis.py:10:26: CompileError[SYNTAX]: '...' is not part of the kernel language
#     tl.store(x, tl.sum(a[..., None]))
#                          ^~~
#   help: write a ':' for each dimension that stays
