"""VALUE: a compile-time function that raises."""

import tegula
import tegula.language as tl


@tegula.constexpr_function
def exact_log2(n):
    if n & (n - 1):
        raise ValueError(f"{n} is no power of two")
    return n.bit_length() - 1


@tegula.jit
def kernel(x, N: tl.constexpr):
    tl.store(x, exact_log2(N))


def run():
    kernel.lower("*fp32", N=3)


# ----
# value_constexpr_raises.py:16:17: CompileError[VALUE]: ValueError: 3 is no power of two
#     tl.store(x, exact_log2(N))
#                 ^~~~~~~~~~~~~
#   help: raised at value_constexpr_raises.py:10 in exact_log2()
