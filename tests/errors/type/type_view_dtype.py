"""TYPE: torch's view of the bits as another type."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x + tl.arange(0, 8), tl.arange(0, 8).view(tl.float32))


def run():
    kernel.lower("*fp32")


# ----
# type_view_dtype.py:9:35: CompileError[TYPE]: element 0 of a shape must be an int, not tegula.language.float32
#     tl.store(x + tl.arange(0, 8), tl.arange(0, 8).view(tl.float32))
#                                   ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: x.to(dtype, bitcast=True) reads the bits as another type
