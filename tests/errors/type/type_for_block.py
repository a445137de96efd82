"""TYPE: a loop over a block."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    for v in tl.arange(0, 16):
        tl.store(x + v, 1.0)


def run():
    kernel.lower("*fp32")


# ----
# type_for_block.py:9:14: CompileError[TYPE]: 'for' runs over a range or a tuple, not over a block i32[16]
#     for v in tl.arange(0, 16):
#              ^~~~~~~~~~~~~~~~
#   help: arithmetic on a block is on all its elements, without a loop
