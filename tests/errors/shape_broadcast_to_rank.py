"""SHAPE: broadcast_to adds no dimension."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.broadcast_to(tl.arange(0, 16), (4, 16))
    tl.store(x, tl.sum(a))


def run():
    kernel.lower("*fp32")


# ----
# shape_broadcast_to_rank.py:9:9: CompileError[SHAPE]: cannot combine shapes [16] and [4, 16]
#     a = tl.broadcast_to(tl.arange(0, 16), (4, 16))
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: the number of dims must be equal, and each extent equal or 1
