"""TYPE: a type is called with a pointer's, which is no name of the language."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.int8(x.dtype))


def run():
    kernel.lower("*fp32")


# ----
# type_pointer_of_dtype.py:9:17: CompileError[TYPE]: value must be a number or a tensor, not pointer<fp32>
#     tl.store(x, tl.int8(x.dtype))
#                 ^~~~~~~~~~~~~~~~
