"""ARGUMENT: full without a dtype."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.store(x + tl.arange(0, 4), tl.full((4,), 0))


def run():
    kernel.lower("*fp32", "*i32")


# ----
# argument_full_dtype.py:9:35: CompileError[ARGUMENT]: full(): the argument 'dtype' is missing
#     tl.store(x + tl.arange(0, 4), tl.full((4,), 0))
#                                   ^~~~~~~~~~~~~~~~
#   help: it is full(shape, value, dtype)
