"""TYPE: a tuple beside a tensor."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.load(x) + (1.0, 2.0))


def run():
    kernel.lower("*fp32")


# ----
# type_add_tuple.py:9:17: CompileError[TYPE]: '+' cannot combine 'tl.load(x)' (an f32 scalar) and the tuple (1.0, 2.0)
#     tl.store(x, tl.load(x) + (1.0, 2.0))
#                 ^~~~~~~~~~~~~~~~~~~~~~~
#   help: t[0] is the first of a tuple's elements
