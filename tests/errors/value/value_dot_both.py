"""VALUE: input_precision beside allow_tf32."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((16, 16), tl.float32)
    tl.store(x, tl.sum(tl.dot(a, a, input_precision="ieee", allow_tf32=False)))


def run():
    kernel.lower("*fp32")


# ----
# value_dot_both.py:10:24: CompileError[VALUE]: only one of input_precision and allow_tf32 can be given
#     tl.store(x, tl.sum(tl.dot(a, a, input_precision="ieee", allow_tf32=False)))
#                        ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
