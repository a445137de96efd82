"""ATTRIBUTE: a method that tensors do not have."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    v = tl.load(x)
    tl.store(x, v.astype(tl.float16))


def run():
    kernel.lower("*fp32")


# ----
# attribute_tensor.py:10:17: CompileError[ATTRIBUTE]: an f32 scalar has no attribute 'astype'
#     tl.store(x, v.astype(tl.float16))
#                 ^~~~~~~~
#   help: here it is x.to(dtype)
