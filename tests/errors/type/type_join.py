"""TYPE: a join of two element types."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    i = tl.arange(0, 16)
    tl.store(x, tl.sum(tl.join(i, i.to(tl.float32))))


def run():
    kernel.lower("*fp32")


# ----
# type_join.py:10:24: CompileError[TYPE]: join needs one element type, not i32[16] and f32[16]
#     tl.store(x, tl.sum(tl.join(i, i.to(tl.float32))))
#                        ^~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: convert one of them: x.to(tl.float32)
