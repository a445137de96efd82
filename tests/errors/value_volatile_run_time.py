"""VALUE: a flag that is known only at run time."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, tl.load(x, volatile=n > 3))


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_volatile_run_time.py:9:28: CompileError[VALUE]: volatile must be known when the kernel is compiled, but it is a run-time value of type i1
#     tl.store(x, tl.load(x, volatile=n > 3))
#                            ^~~~~~~~~~~~~~
#   help: pass it as a tl.constexpr parameter of the kernel
