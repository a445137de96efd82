"""VALUE: other= of load that is larger than the pointer."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    v = tl.load(x, mask=n > 3, other=tl.zeros((8,), tl.float32))
    tl.store(x, v)


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_other_alone.py:9:9: CompileError[VALUE]: other cannot be a block when the pointer is a scalar
#     v = tl.load(x, mask=n > 3, other=tl.zeros((8,), tl.float32))
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
