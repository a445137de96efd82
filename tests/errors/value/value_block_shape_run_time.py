"""VALUE: a side of a block pointer known at run time."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    n = tl.load(y)
    p = tl.make_block_ptr(x, (8, 8), (8, 1), (0, 0), (4, n), (1, 0))
    tl.store(p, 0.0)


def run():
    kernel.lower("*fp32", "*i32")


# ----
# value_block_shape_run_time.py:10:58: CompileError[VALUE]: element 1 of block_shape must be known when the kernel is compiled, but 'n' (an i32 scalar) is known only when it runs
#     p = tl.make_block_ptr(x, (8, 8), (8, 1), (0, 0), (4, n), (1, 0))
#                                                          ^
#   help: compute it from literals, shapes and tl.constexpr parameters of the kernel
