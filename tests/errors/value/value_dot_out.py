"""VALUE: a dot that gives bfloat16."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((16, 16), tl.bfloat16)
    tl.store(x, tl.sum(tl.dot(a, a, out_dtype=tl.bfloat16)))


def run():
    kernel.lower("*fp32")


# ----
# value_dot_out.py:10:24: CompileError[VALUE]: out_dtype=bfloat16 is unsupported: use float32 and convert after
#     tl.store(x, tl.sum(tl.dot(a, a, out_dtype=tl.bfloat16)))
#                        ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
