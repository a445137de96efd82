"""TYPE: comparing pointers."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    if x == y:
        tl.store(x, 1.0)


def run():
    kernel.lower("*fp32", "*fp32")


# ----
# type_pointer_compare.py:9:8: CompileError[TYPE]: '==' cannot compare 'x' (a pointer to f32) and 'y' (a pointer to f32)
#     if x == y:
#        ^~~~~~
#   help: compare addresses: p.to(tl.int64)
