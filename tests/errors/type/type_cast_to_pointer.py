"""TYPE: a float to a pointer."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    p = tl.load(x).to(tl.pointer_type(tl.float32))
    tl.store(p, 1.0)


def run():
    kernel.lower("*fp32")


# ----
# type_cast_to_pointer.py:9:9: CompileError[TYPE]: f32 does not convert to a pointer
#     p = tl.load(x).to(tl.pointer_type(tl.float32))
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: p.dtype.element_ty is the type of what p points to
