"""TYPE: a sum of pointers."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.sum(x + tl.arange(0, 16)))


def run():
    kernel.lower("*fp32")


# ----
# type_sum_pointers.py:9:17: CompileError[TYPE]: sum takes numbers, not ptr<f32>[16]
#     tl.store(x, tl.sum(x + tl.arange(0, 16)))
#                 ^~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: tl.load them first
