"""TYPE: an external function of another type."""

import tegula
import tegula.language as tl
from tegula.language import core


@core.extern
def erf(x, _semantic=None):
    table = {(core.dtype("fp32"),): ("__nv_erff", core.dtype("fp32"))}
    return core.extern_elementwise("libdevice", "", [x], table, is_pure=True)


@tegula.jit
def kernel(x):
    tl.store(x, erf(tl.load(x)))


def run():
    kernel.lower("*fp16")


# ----
# type_extern.py:11:12: CompileError[TYPE]: the external function has no row for the types (fp16)
#     return core.extern_elementwise("libdevice", "", [x], table, is_pure=True)
#            ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: did you mean (fp32)? Convert the operands with .to(..)
#   in erf(), inlined from type_extern.py:16
