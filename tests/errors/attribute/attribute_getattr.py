"""ATTRIBUTE: getattr without a default."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, getattr(tl, "nothing"))


def run():
    kernel.lower("*fp32")


# ----
# attribute_getattr.py:9:17: CompileError[ATTRIBUTE]: the module tegula.language has no attribute 'nothing'
#     tl.store(x, getattr(tl, "nothing"))
#                 ^~~~~~~~~~~~~~~~~~~~~~
