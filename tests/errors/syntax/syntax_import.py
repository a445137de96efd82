"""SYNTAX: import."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    import math

    tl.store(x, math.pi)


def run():
    kernel.lower("*fp32")


# ----
# syntax_import.py:9:5: CompileError[SYNTAX]: 'import' is not part of the kernel language
#     import math
#     ^~~~~~~~~~~
#   help: import at the top of the file
