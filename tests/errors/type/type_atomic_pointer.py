"""TYPE: a pointer added to memory, where the value behind it is meant."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    i = tl.arange(0, 16)
    tl.atomic_add(x + i, y + i)


def run():
    kernel.lower("*fp32", "*fp32")


# ----
# type_atomic_pointer.py:10:26: CompileError[TYPE]: the value of atomic_add is 'y + i' (a block [16] of pointers to f32), which does not fit into float32
#     tl.atomic_add(x + i, y + i)
#                          ^~~~~
#   help: tl.load(y + i) reads what is there
