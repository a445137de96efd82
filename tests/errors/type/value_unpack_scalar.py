"""VALUE: unpacking a scalar."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    a, _ = n
    tl.store(x, a)


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_unpack_scalar.py:9:5: CompileError[TYPE]: what is unpacked must be a tuple or a range, not an i32 scalar
#     a, _ = n
#     ^~~~~~~~
#   help: that is one number; an argument may be a tuple of some
