"""TYPE: dot of two types."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((16, 16), tl.float16)
    b = tl.zeros((16, 16), tl.bfloat16)
    c = tl.dot(a, b)
    tl.store(x, tl.sum(c))


def run():
    kernel.lower("*fp32")


# ----
# type_dot.py:11:9: CompileError[TYPE]: dot of f16 and bf16; both must be int8, float16, bfloat16, float32, float64 or float8
#     c = tl.dot(a, b)
#         ^~~~~~~~~~~~
#   help: convert one: b.to(a.dtype)
