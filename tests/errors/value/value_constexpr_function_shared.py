"""VALUE: the host's cdiv, which takes constants, of a run-time number."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, tegula.cdiv(n, 2))


def run():
    kernel.lower("*i32", "i32")


# ----
# value_constexpr_function_shared.py:9:29: CompileError[VALUE]: an argument of cdiv() must be known when the kernel is compiled, but 'n' (an i32 scalar) is known only when it runs
#     tl.store(x, tegula.cdiv(n, 2))
#                             ^
#   help: annotate the parameter of kernel(): n: tl.constexpr; or the kernel language has tl.cdiv
