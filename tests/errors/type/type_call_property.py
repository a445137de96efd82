"""TYPE: shape called as a method."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    v = tl.load(x + tl.arange(0, 4))
    tl.store(x, v.shape()[0])


def run():
    kernel.lower("*fp32", "*i32")


# ----
# type_call_property.py:10:17: CompileError[TYPE]: 'v.shape' (the tuple (4,)) cannot be called
#     tl.store(x, v.shape()[0])
#                 ^~~~~~~~~
#   help: it is a value, no method: leave the () out
