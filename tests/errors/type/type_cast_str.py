"""TYPE: a type by its name."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.load(x).to("float16"))


def run():
    kernel.lower("*fp32")


# ----
# type_cast_str.py:9:31: CompileError[TYPE]: the dtype must be a dtype such as tl.float32, not the constant str 'float16'
#     tl.store(x, tl.load(x).to("float16"))
#                               ^~~~~~~~~
#   help: write tl.float16
