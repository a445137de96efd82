"""VALUE: a list as long as a run-time number."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    n = tl.load(y)
    t = [0.0 for _ in range(n)]
    tl.store(x, t[0])


def run():
    kernel.lower("*fp32", "*i32")


# ----
# value_list_length.py:10:23: CompileError[VALUE]: the end of the range must be known when the kernel is compiled, but it (an i32 scalar) is known only when it runs
#     t = [0.0 for _ in range(n)]
#                       ^~~~~~~~
#   help: a for over the range runs as often as it says
