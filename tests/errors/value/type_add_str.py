"""TYPE: a text beside a number."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, N: tl.constexpr):
    tl.static_assert(N + "1" == "31")


def run():
    kernel.lower("*fp32", N=3)


# ----
# type_add_str.py:9:22: CompileError[VALUE]: TypeError: unsupported operand type(s) for +: 'int' and 'str'
#     tl.static_assert(N + "1" == "31")
#                      ^~~~~~~
