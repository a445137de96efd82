"""NAME: what the branch that is not taken would define."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, N: tl.constexpr):
    if N == 16:
        v = 1.0
    tl.store(x, v)


def run():
    kernel.lower("*fp32", N=32)


# ----
# name_other_branch.py:11:17: CompileError[NAME]: name 'v' is not defined
#     tl.store(x, v)
#                 ^
#   help: 'v' gets its value where the condition of line 9 is true
