"""TYPE: adding to a block pointer."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    p = tl.make_block_ptr(x, (n, n), (n, 1), (0, 0), (16, 16), (1, 0))

    tl.store(p + 16, tl.zeros((16, 16), tl.float32))


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_block_ptr_add.py:11:14: CompileError[TYPE]: '+' works on numbers and tensors, not on a block pointer of [16, 16]
#     tl.store(p + 16, tl.zeros((16, 16), tl.float32))
#              ^
#   help: tl.advance(p, offsets) moves a block pointer
