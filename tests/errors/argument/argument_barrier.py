"""ARGUMENT: arguments for a function without parameters."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, n)
    tl.debug_barrier(1)


def run():
    kernel.lower("*fp32", "i32")


# ----
# argument_barrier.py:10:5: CompileError[ARGUMENT]: debug_barrier(): it takes 0 arguments, but 1 was given
#     tl.debug_barrier(1)
#     ^~~~~~~~~~~~~~~~~~~
#   help: it is debug_barrier()
