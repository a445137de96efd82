"""TYPE: a float in full that its integers do not hold."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.sum(tl.full((4,), -3.5e38, tl.int32)))


def run():
    kernel.lower("*i32")


# ----
# type_full_beyond.py:9:38: CompileError[TYPE]: full of int32 cannot hold -3.5e+38
#     tl.store(x, tl.sum(tl.full((4,), -3.5e38, tl.int32)))
#                                      ^~~~~~~
#   help: to cut it off: int(..), or tl.cast(value, dtype)
