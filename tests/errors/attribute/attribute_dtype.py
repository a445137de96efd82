"""ATTRIBUTE: a misspelt attribute of a tensor."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.load(x).to(x.dtpye))


def run():
    kernel.lower("*fp32")


# ----
# attribute_dtype.py:9:31: CompileError[ATTRIBUTE]: a pointer to f32 has no attribute 'dtpye'
#     tl.store(x, tl.load(x).to(x.dtpye))
#                               ^~~~~~~
#   help: did you mean 'dtype'?
