"""TYPE: a pointer stored where the value behind it is meant."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    i = tl.arange(0, 16)
    tl.store(x + i, y + i)


def run():
    kernel.lower("*fp32", "*fp32")


# ----
# type_store_pointer.py:10:21: CompileError[TYPE]: the value of store is 'y + i' (a block [16] of pointers to f32), which does not fit into float32
#     tl.store(x + i, y + i)
#                     ^~~~~
#   help: tl.load(y + i) reads what is there
