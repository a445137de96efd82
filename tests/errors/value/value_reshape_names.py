"""VALUE: reshape to a shape of constants with names."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, BLOCK: tl.constexpr, GROUPS: tl.constexpr):
    at = x + tl.arange(0, BLOCK)
    y = tl.load(at).reshape(GROUPS, BLOCK // 16)
    tl.store(at, y.reshape(BLOCK))


def run():
    kernel.lower("*fp32", BLOCK=64, GROUPS=8)


# ----
# value_reshape_names.py:10:9: CompileError[VALUE]: cannot reshape [64] (64 elements) to [8, 4] (32)
#     y = tl.load(at).reshape(GROUPS, BLOCK // 16)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: GROUPS is 8, BLOCK is 64
