"""LIMIT: an unrolled loop without sense."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    for i in tl.static_range(1 << 20):
        tl.store(x + i, 1.0)


def run():
    kernel.lower("*fp32")


# ----
# limit_unroll.py:9:14: UnsupportedError[LIMIT]: unrolling a range of 1048576 steps
#     for i in tl.static_range(1 << 20):
#              ^~~~~~~~~~~~~~~~~~~~~~~~
#   help: range(..) makes a loop that is not unrolled
