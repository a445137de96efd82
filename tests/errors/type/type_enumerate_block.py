"""TYPE: the elements of a block, one after the other."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    for i, v in enumerate(tl.load(x + tl.arange(0, 4))):
        tl.store(x + i, v)


def run():
    kernel.lower("*fp32")


# ----
# type_enumerate_block.py:9:17: CompileError[TYPE]: what enumerate() counts must be a tuple or a range, not a block f32[4]
#     for i, v in enumerate(tl.load(x + tl.arange(0, 4))):
#                 ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: arithmetic on a block is on all its elements, without a loop; tl.split(x) takes a last dimension of 2 apart
