"""VALUE: a grid axis known only at run time."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, tl.program_id(n))


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_program_id_run_time.py:9:31: CompileError[VALUE]: axis must be known when the kernel is compiled, but 'n' (an i32 scalar) is known only when it runs
#     tl.store(x, tl.program_id(n))
#                               ^
#   help: annotate the parameter of kernel(): n: tl.constexpr
