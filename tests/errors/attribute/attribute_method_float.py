"""ATTRIBUTE: torch's method that converts."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, tl.load(x).float())


def run():
    kernel.lower("*fp32", "i32")


# ----
# attribute_method_float.py:9:17: CompileError[ATTRIBUTE]: an f32 scalar has no attribute 'float'
#     tl.store(x, tl.load(x).float())
#                 ^~~~~~~~~~~~~~~~
#   help: here it is x.to(tl.float32)
