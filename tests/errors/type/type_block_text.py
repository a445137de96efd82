"""TYPE: a constant that is a text."""

import numpy as np

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, B: tl.constexpr):
    tl.store(x + tl.program_id(0) * B, 1.0)


def run():
    kernel[(1,)](np.zeros(4, np.float32), B="16")


# ----
# type_block_text.py:11:37: CompileError[TYPE]: '*' works on numbers and tensors, not on the constant str '16'
#     tl.store(x + tl.program_id(0) * B, 1.0)
#                                     ^
#   help: B is a text: pass a number
