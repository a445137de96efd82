"""TYPE: loading through an argument that is None."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.store(x, tl.load(y))


def run():
    kernel.lower("*fp32", None)


# ----
# type_load_none.py:9:25: CompileError[TYPE]: load needs a pointer or a block of pointers, not 'y' (None)
#     tl.store(x, tl.load(y))
#                         ^
#   help: test it with 'is not None' first
