"""TYPE: zip of what is no tuple."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    for a, _ in zip((1, 2), n):
        tl.store(x, a)


def run():
    kernel.lower("*i32", "i32")


# ----
# type_zip.py:9:17: CompileError[TYPE]: an argument of zip() must be a tuple or a range, not an i32 scalar
#     for a, _ in zip((1, 2), n):
#                 ^~~~~~~~~~~~~~
#   help: that is one number; an argument may be a tuple of some
