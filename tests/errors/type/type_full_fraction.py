"""TYPE: full of integers with a fraction."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x + tl.arange(0, 4), tl.full((4,), 0.5, tl.int32))


def run():
    kernel.lower("*i32")


# ----
# type_full_fraction.py:9:49: CompileError[TYPE]: full of int32 cannot hold 0.5
#     tl.store(x + tl.arange(0, 4), tl.full((4,), 0.5, tl.int32))
#                                                 ^~~
#   help: to cut it off: int(..), or tl.cast(value, dtype)
