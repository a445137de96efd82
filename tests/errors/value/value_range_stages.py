"""VALUE: a loop hint out of range."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    for i in tl.range(n, num_stages=-1):
        tl.store(x + i, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_range_stages.py:9:14: CompileError[VALUE]: num_stages must be between 0 and 1024, not -1
#     for i in tl.range(n, num_stages=-1):
#              ^~~~~~~~~~~~~~~~~~~~~~~~~~
