"""TYPE: memory read as another type, by the type of its elements."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.store(y, tl.load(x.to(tl.float16)))


def run():
    kernel.lower("*i16", "*fp16")


# ----
# type_pointer_element_type.py:9:25: CompileError[TYPE]: a pointer converts to int64 or uint64, not to float16
#     tl.store(y, tl.load(x.to(tl.float16)))
#                         ^~~~~~~~~~~~~~~~
#   help: x.to(tl.pointer_type(tl.float16)) points to another type; tl.load(x) is the value
