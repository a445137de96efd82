"""TYPE: dot of int32."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y, n):
    a = tl.zeros((16, 32), tl.int32)
    b = tl.zeros((32, 16), tl.int32)
    tl.store(x, tl.sum(tl.dot(a, b)))


def run():
    kernel.lower("*fp32", "*fp32", "i32")


# ----
# type_dot_int.py:11:24: CompileError[TYPE]: dot of i32 and i32; both must be int8, float16, bfloat16, float32, float64 or float8
#     tl.store(x, tl.sum(tl.dot(a, b)))
#                        ^~~~~~~~~~~~
#   help: convert both; or tl.sum(a[:, :, None] * b[None, :, :], axis=1)
