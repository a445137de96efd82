"""ATTRIBUTE: a misspelt function of the language."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x + tl.arrange(0, 64), 1.0)


def run():
    kernel.lower("*fp32")


# ----
# attribute_module.py:9:18: CompileError[ATTRIBUTE]: the module tegula.language has no attribute 'arrange'
#     tl.store(x + tl.arrange(0, 64), 1.0)
#                  ^~~~~~~~~~
#   help: did you mean 'arange'?
