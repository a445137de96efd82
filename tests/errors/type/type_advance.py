"""TYPE: advance of a plain pointer."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    p = tl.advance(x, (16,))
    tl.store(p, 1.0)


def run():
    kernel.lower("*fp32")


# ----
# type_advance.py:9:20: CompileError[TYPE]: advance moves a block pointer, not a pointer to f32
#     p = tl.advance(x, (16,))
#                    ^
#   help: p + offset moves a plain pointer
