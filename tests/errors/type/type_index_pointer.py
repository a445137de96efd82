"""VALUE: an element through a pointer."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, x[n])


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_index_pointer.py:9:17: CompileError[TYPE]: 'x' (a pointer to f32) has no elements to index
#     tl.store(x, x[n])
#                 ^~~~
#   help: tl.load(p + i) reads an element
