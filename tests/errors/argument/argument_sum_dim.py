"""ARGUMENT: torch's keyword for an axis."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((16, 16), tl.float32)
    tl.store(x + tl.arange(0, 16), tl.sum(a, dim=1))


def run():
    kernel.lower("*fp32")


# ----
# argument_sum_dim.py:10:46: CompileError[ARGUMENT]: sum(): it has no parameter 'dim'
#     tl.store(x + tl.arange(0, 16), tl.sum(a, dim=1))
#                                              ^~~~~
#   help: did you mean 'axis'?
