"""TYPE: Python's matrix product."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((16, 16), tl.float16)
    tl.store(x, tl.sum(a @ a))


def run():
    kernel.lower("*fp32")


# ----
# type_matmul.py:10:24: CompileError[TYPE]: '@' is not available on tensors
#     tl.store(x, tl.sum(a @ a))
#                        ^~~~~
#   help: tl.dot(a, b) is the matrix product
