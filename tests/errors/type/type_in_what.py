"""TYPE: in, of no tuple."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    if n in x:
        tl.store(x, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_in_what.py:9:8: CompileError[TYPE]: what stands behind 'in' must be a tuple or a range, not a pointer to f32
#     if n in x:
#        ^~~~~~
#   help: tl.load(p + i) reads an element
