"""NAME: a name that nothing defines."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, BLOCK)


def run():
    kernel.lower("*fp32")


# ----
# name_unknown.py:9:17: CompileError[NAME]: name 'BLOCK' is not defined
#     tl.store(x, BLOCK)
#                 ^~~~~
