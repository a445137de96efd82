"""TYPE: a block indexed by a mask."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    v = tl.load(x + tl.arange(0, 64))
    tl.store(x, tl.sum(v[v > 0]))


def run():
    kernel.lower("*fp32")


# ----
# type_index_mask.py:10:24: CompileError[TYPE]: a block is indexed by integers, slices and None, not by a block i1[64]
#     tl.store(x, tl.sum(v[v > 0]))
#                        ^~~~~~~~
#   help: blocks keep their shape: tl.where(mask, x, 0)
