"""TYPE: == None, of a pointer."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, bias):
    if bias == None:
        tl.store(x, 1.0)


def run():
    kernel.lower("*fp32", "*fp32")


# ----
# type_compare_none.py:9:8: CompileError[TYPE]: '==' cannot compare 'bias' (a pointer to f32) and None
#     if bias == None:
#        ^~~~~~~~~~~~
#   help: write 'is None' or 'is not None'
