"""TYPE: a dtype as a text."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.store(x + tl.arange(0, 4), tl.zeros((4,), dtype="float32"))


def run():
    kernel.lower("*fp32", "*i32")


# ----
# type_dtype_text.py:9:50: CompileError[TYPE]: dtype must be a dtype such as tl.float32, not the constant str 'float32'
#     tl.store(x + tl.arange(0, 4), tl.zeros((4,), dtype="float32"))
#                                                  ^~~~~~~~~~~~~~~
#   help: write tl.float32
