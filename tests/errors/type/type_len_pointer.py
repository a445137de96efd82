"""TYPE: the length of a tensor that was passed."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y, n):
    tl.store(y, len(x))


def run():
    kernel.lower("*fp32", "*fp32", "i32")


# ----
# type_len_pointer.py:9:17: CompileError[TYPE]: a pointer to f32 has no length
#     tl.store(y, len(x))
#                 ^~~~~~
#   help: of a tensor that is passed a kernel gets the address alone: pass its sizes as arguments
