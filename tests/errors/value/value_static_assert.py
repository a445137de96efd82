"""VALUE: a static assertion about a run-time value."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.static_assert(n > 0)
    tl.store(x, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_static_assert.py:9:22: CompileError[VALUE]: the condition of static_assert must be known when the kernel is compiled, but 'n > 0' (an i1 scalar) is known only when it runs
#     tl.static_assert(n > 0)
#                      ^~~~~
#   help: tl.device_assert checks when the kernel runs
