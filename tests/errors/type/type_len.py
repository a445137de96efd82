"""TYPE: the length of a scalar."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, len(n))


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_len.py:9:17: CompileError[TYPE]: an i32 scalar has no length
#     tl.store(x, len(n))
#                 ^~~~~~
