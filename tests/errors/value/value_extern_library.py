"""VALUE: a library that nobody has named."""

import tegula
import tegula.language as tl
from tegula.language import core


@core.extern
def mine(x, _semantic=None):
    table = {(core.dtype("fp32"),): ("mine", core.dtype("fp32"))}
    return core.extern_elementwise("my_math", "", [x], table, is_pure=True)


@tegula.jit
def kernel(x):
    tl.store(x, mine(tl.load(x)))


def run():
    kernel.lower("*fp32")


# ----
# value_extern_library.py:11:12: CompileError[VALUE]: the library 'my_math' of the function 'mine' is not known
#     return core.extern_elementwise("my_math", "", [x], table, is_pure=True)
#            ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: give its file: lib_path, or the option extern_libs={"my_math": ".."}
#   in mine(), inlined from value_extern_library.py:16
