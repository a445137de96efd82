"""SYNTAX: a complex literal."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, 1.0j)


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_complex.py:9:17: CompileError[SYNTAX]: 1j is not part of the kernel language
#     tl.store(x, 1.0j)
#                 ^~~~
#   help: keep the real and the imaginary part in two values
