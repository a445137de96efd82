"""VALUE: a function of the language in the place of what it gives."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, B: tl.constexpr):
    i = tl.program_id * B + tl.arange(0, B)
    tl.store(x + i, 1.0)


def run():
    kernel.lower("*fp32", B=64)


# ----
# value_not_called.py:9:9: CompileError[VALUE]: TypeError: unsupported operand type(s) for *: 'function' and 'int'
#     i = tl.program_id * B + tl.arange(0, B)
#         ^~~~~~~~~~~~~~~~~
#   help: call it: program_id(..)
