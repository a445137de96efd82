"""VALUE: a slice up to a number known at run time."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    v = tl.load(x + tl.arange(0, 64))
    n = tl.load(y)
    tl.store(x, tl.sum(v[0:n]))


def run():
    kernel.lower("*fp32", "*i32")


# ----
# value_slice_run_time.py:11:28: CompileError[VALUE]: a slice bound must be known when the kernel is compiled, but 'n' (an i32 scalar) is known only when it runs
#     tl.store(x, tl.sum(v[0:n]))
#                            ^
#   help: tl.where(index < n, x, 0) keeps the shape and drops the rest
