"""TYPE: calling a tensor."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    v = tl.load(x)
    tl.store(x, v(3))


def run():
    kernel.lower("*fp32")


# ----
# type_call_tensor.py:10:17: CompileError[TYPE]: 'v' (an f32 scalar) cannot be called
#     tl.store(x, v(3))
#                 ^~~~
#   help: x * (..) multiplies; x[..] indexes a block
