"""VALUE: a flag that is known only at run time."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, tl.load(x, volatile=n > 3))


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_volatile_run_time.py:9:28: CompileError[VALUE]: volatile must be known when the kernel is compiled, but 'n > 3' (an i1 scalar) is known only when it runs
#     tl.store(x, tl.load(x, volatile=n > 3))
#                            ^~~~~~~~~~~~~~
#   help: compute it from literals, shapes and tl.constexpr parameters of the kernel
