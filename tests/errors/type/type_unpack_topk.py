"""TYPE: topk gives values without indices."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    v, i = tl.topk(tl.load(x + tl.arange(0, 16)), 4)
    tl.store(x + i, v)


def run():
    kernel.lower("*fp32")


# ----
# type_unpack_topk.py:9:5: CompileError[TYPE]: what is unpacked must be a tuple or a range, not a block f32[4]
#     v, i = tl.topk(tl.load(x + tl.arange(0, 16)), 4)
#     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: topk gives the values alone; to keep indices, of keys that are ints, topk takes key * N + index, and % N of what it gives is the index
