"""VALUE: two blocks whose product is too large."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    i = tl.arange(0, 4096)
    tl.store(x + i[:, None] * 4096 + i[None, :], 1.0)


def run():
    kernel.lower("*fp32")


# ----
# value_numel_broadcast.py:10:14: CompileError[VALUE]: a block may have at most 1048576 elements: [4096, 4096] has more
#     tl.store(x + i[:, None] * 4096 + i[None, :], 1.0)
#              ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: go over it in a loop, in smaller blocks
