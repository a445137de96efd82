"""TYPE: the order of an atomic in the place of its mask."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.atomic_add(x, 1, "relaxed")


def run():
    kernel.lower("*fp32", "*i32")


# ----
# type_mask_sem.py:9:25: CompileError[TYPE]: the mask of an atomic must be a number or a tensor, not the constant str 'relaxed'
#     tl.atomic_add(x, 1, "relaxed")
#                         ^~~~~~~~~
#   help: the order and the scope go by name: sem=.., scope=..
