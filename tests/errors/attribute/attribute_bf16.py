"""ATTRIBUTE: a dtype by the name of its kind."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.load(x).to(tl.bf16))


def run():
    kernel.lower("*fp32")


# ----
# attribute_bf16.py:9:31: CompileError[ATTRIBUTE]: the module tegula.language has no attribute 'bf16'
#     tl.store(x, tl.load(x).to(tl.bf16))
#                               ^~~~~~~
#   help: here it is tl.bfloat16
