"""TYPE: a pointer to 32 bits."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, x.to(tl.int32))


def run():
    kernel.lower("*fp32")


# ----
# type_cast_pointer.py:9:17: CompileError[TYPE]: a pointer converts to int64 or uint64, not to int32
#     tl.store(x, x.to(tl.int32))
#                 ^~~~~~~~~~~~~~
#   help: x.to(tl.pointer_type(tl.int32)) points to another type; tl.load(x) is the value
