"""VALUE: the remainder of a division by the constant 0, in a helper."""

import tegula
import tegula.language as tl


@tegula.jit
def wrapped(i, n):
    return i % n


@tegula.jit
def kernel(x, k, N: tl.constexpr):
    tl.store(x, wrapped(k, N - 8))


def run():
    kernel.lower("*i64", "u32", N=8)


# ----
# value_mod_zero.py:9:16: CompileError[VALUE]: '%' by the constant 0
#     return i % n
#                ^
#   in wrapped(), inlined from value_mod_zero.py:14
