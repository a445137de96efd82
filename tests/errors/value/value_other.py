"""VALUE: other without mask."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.load(x, other=0.0))


def run():
    kernel.lower("*fp32")


# ----
# value_other.py:9:28: CompileError[VALUE]: other cannot be provided without mask
#     tl.store(x, tl.load(x, other=0.0))
#                            ^~~~~~~~~
#   help: mask=i < n says which elements are read, and other stands for the rest
