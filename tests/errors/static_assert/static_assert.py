"""STATIC_ASSERT: with a message."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, B: tl.constexpr):
    tl.static_assert(B % 16 == 0, "B must be a multiple of 16")
    tl.store(x, 1.0)


def run():
    kernel.lower("*fp32", B=24)


# ----
# static_assert.py:9:5: CompileError[STATIC_ASSERT]: static assertion failed: B must be a multiple of 16
#     tl.static_assert(B % 16 == 0, "B must be a multiple of 16")
#     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: B is 24
