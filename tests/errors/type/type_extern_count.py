"""TYPE: an external function with another number of operands."""

import tegula
import tegula.language as tl
from tegula.language import core


@core.extern
def power(x, _semantic=None):
    float_ = core.dtype("fp32")
    table = {
        (float_, float_): ("__nv_powf", float_),
        (core.dtype("fp64"), core.dtype("fp64")): ("__nv_pow", core.dtype("fp64")),
    }
    return core.extern_elementwise("libdevice", "", [x], table, is_pure=True)


@tegula.jit
def kernel(x):
    tl.store(x, power(tl.load(x)))


def run():
    kernel.lower("*fp32")


# ----
# type_extern_count.py:15:12: CompileError[TYPE]: the external function has no row for the types (fp32)
#     return core.extern_elementwise("libdevice", "", [x], table, is_pure=True)
#            ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: did you mean (fp32, fp32), (fp64, fp64)?
#   in power(), inlined from type_extern_count.py:20
