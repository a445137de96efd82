"""ATTRIBUTE: the name of a dtype in torch."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.load(x).to(tl.half))


def run():
    kernel.lower("*fp32")


# ----
# attribute_torch.py:9:31: CompileError[ATTRIBUTE]: the module tegula.language has no attribute 'half'
#     tl.store(x, tl.load(x).to(tl.half))
#                               ^~~~~~~
#   help: here it is x.to(tl.float16)
