"""CONDITION: an assumption about a block."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.assume(tl.arange(0, 16) < n)
    tl.store(x, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# condition_assume.py:9:15: CompileError[CONDITION]: an assumption must be a scalar, not i1[16]
#     tl.assume(tl.arange(0, 16) < n)
#               ^~~~~~~~~~~~~~~~~~~~
