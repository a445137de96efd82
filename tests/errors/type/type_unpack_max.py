"""TYPE: max gives one value, not a pair."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    v, i = tl.max(tl.load(x + tl.arange(0, 16)), axis=0)
    tl.store(x + i, v)


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_unpack_max.py:9:5: CompileError[TYPE]: what is unpacked must be a tuple or a range, not an f32 scalar
#     v, i = tl.max(tl.load(x + tl.arange(0, 16)), axis=0)
#     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: tl.max(x, axis, return_indices=True) gives the index as well
