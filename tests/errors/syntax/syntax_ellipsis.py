"""SYNTAX: an ellipsis that is no index."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, ...)


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_ellipsis.py:9:17: CompileError[SYNTAX]: '...' is not part of the kernel language
#     tl.store(x, ...)
#                 ^~~
#   help: '...' stands for dimensions in an index, x[..., None]
