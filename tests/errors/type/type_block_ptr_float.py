"""TYPE: a float as the extent of a tensor."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    p = tl.make_block_ptr(x, (n / 2,), (1,), (0,), (16,), (0,))
    tl.store(p, tl.zeros((16,), tl.float32))


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_block_ptr_float.py:9:9: CompileError[TYPE]: shape must hold integer scalars, not f32
#     p = tl.make_block_ptr(x, (n / 2,), (1,), (0,), (16,), (0,))
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
