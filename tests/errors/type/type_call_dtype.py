"""TYPE: x.type(dtype), as in PyTorch."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    v = tl.load(x)
    tl.store(x, v.type(tl.float16))


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_call_dtype.py:10:17: CompileError[TYPE]: value must be a number or a tensor, not tegula.language.float16
#     tl.store(x, v.type(tl.float16))
#                 ^~~~~~~~~~~~~~~~~~
#   help: x.to(tl.float16) converts a tensor; x.dtype is its type
