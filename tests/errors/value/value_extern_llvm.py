"""VALUE: a function of LLVM's that is not of these types."""

import tegula
import tegula.language as tl
from tegula.language import core


@core.extern
def saturate(x, _semantic=None):
    table = {(core.dtype("int32"),): ("llvm.sadd.sat.i32", core.dtype("int32"))}
    return core.extern_elementwise("", "", [x], table, is_pure=True)


@tegula.jit
def kernel(x):
    tl.store(x, saturate(tl.load(x)))


def run():
    kernel.compile("*i32", target="cpu")


# ----
# value_extern_llvm.py:11:12: CompileError[VALUE]: the function 'llvm.sadd.sat.i32': it is not one of type i32 (i32)
#     return core.extern_elementwise("", "", [x], table, is_pure=True)
#            ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   in saturate(), inlined from value_extern_llvm.py:16
