"""TYPE: load of something that is no pointer."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, tl.load(n + 4))


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_load_int.py:9:25: CompileError[TYPE]: load needs a pointer or a block of pointers, not an i32 scalar
#     tl.store(x, tl.load(n + 4))
#                         ^~~~~
#   help: a tensor that is passed to the kernel is a pointer; an address becomes one by .to(tl.pointer_type(tl.float32))
