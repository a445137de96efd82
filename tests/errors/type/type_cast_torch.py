"""TYPE: a Python type instead of a dtype."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, n.to(int))


def run():
    kernel.lower("*fp32", "i32")


# ----
# type_cast_torch.py:9:22: CompileError[TYPE]: the dtype must be a dtype such as tl.float32, not the class int
#     tl.store(x, n.to(int))
#                      ^~~
#   help: write tl.int32
