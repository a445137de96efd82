"""VALUE: int() of what is loaded."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.store(x, int(tl.load(x)))


def run():
    kernel.lower("*fp32", "*i32")


# ----
# value_int_run_time.py:9:21: CompileError[VALUE]: the argument of int() must be known when the kernel is compiled, but 'tl.load(x)' (an f32 scalar) is known only when it runs
#     tl.store(x, int(tl.load(x)))
#                     ^~~~~~~~~~
#   help: x.to(tl.int32) converts a run-time value
