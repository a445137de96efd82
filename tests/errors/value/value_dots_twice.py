"""VALUE: '...' twice in an index."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    v = tl.zeros((2, 4, 8), tl.float32)
    tl.store(x, v[..., 0, ...])


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_dots_twice.py:10:17: CompileError[VALUE]: two '...' in one index
#     tl.store(x, v[..., 0, ...])
#                 ^~~~~~~~~~~~~~
#   help: one '...' stands for all dimensions that are not named
