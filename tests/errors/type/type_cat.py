"""TYPE: a cat of two element types."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.cat(tl.arange(0, 16), tl.zeros((16,), tl.float32), can_reorder=True)
    tl.store(x, tl.sum(a))


def run():
    kernel.lower("*fp32")


# ----
# type_cat.py:9:9: CompileError[TYPE]: cat needs one element type, not i32[16] and f32[16]
#     a = tl.cat(tl.arange(0, 16), tl.zeros((16,), tl.float32), can_reorder=True)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: convert one of them: x.to(tl.float32)
