"""TYPE: arithmetic of fp8."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    v = tl.load(x)
    tl.store(x, v + v)


def run():
    kernel.lower("*fp8e5")


# ----
# type_fp8_add.py:10:17: CompileError[TYPE]: '+' is not available on f8e5m2
#     tl.store(x, v + v)
#                 ^~~~~
#   help: convert to tl.float16 or tl.float32 first
