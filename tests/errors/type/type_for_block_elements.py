"""TYPE: a for over the elements of a block."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    v = tl.load(x + tl.arange(0, 4))
    for e in v:
        tl.store(x, e)


def run():
    kernel.lower("*fp32", "*i32")


# ----
# type_for_block_elements.py:10:14: CompileError[TYPE]: 'for' runs over a range or a tuple, not over a block f32[4]
#     for e in v:
#              ^
#   help: arithmetic on a block is on all its elements, without a loop
