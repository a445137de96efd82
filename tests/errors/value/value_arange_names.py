"""VALUE: an empty arange whose end has a name, in a helper."""

import tegula
import tegula.language as tl


@tegula.jit
def first_half(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK // 2), 1.0)


@tegula.jit
def kernel(x, BLOCK: tl.constexpr):
    first_half(x, BLOCK)


def run():
    kernel.lower("*fp32", BLOCK=1)


# ----
# value_arange_names.py:9:18: CompileError[VALUE]: arange's end argument must be greater than the start argument
#     tl.store(x + tl.arange(0, BLOCK // 2), 1.0)
#                  ^~~~~~~~~~~~~~~~~~~~~~~~
#   help: BLOCK is 1
#   in first_half(), inlined from value_arange_names.py:14
