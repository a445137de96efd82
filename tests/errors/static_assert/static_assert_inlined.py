"""STATIC_ASSERT: in a helper that another one calls."""

import tegula
import tegula.language as tl


@tegula.jit
def check(a):
    tl.static_assert(a.shape[0] == 64, "tiles have 64 rows")


@tegula.jit
def tile(a):
    check(a)
    return tl.sum(a)


@tegula.jit
def kernel(x):
    tl.store(x, tile(tl.arange(0, 32)))


def run():
    kernel.lower("*fp32")


# ----
# static_assert_inlined.py:9:5: CompileError[STATIC_ASSERT]: static assertion failed: tiles have 64 rows
#     tl.static_assert(a.shape[0] == 64, "tiles have 64 rows")
#     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: a.shape is [32]
#   in check(), inlined from static_assert_inlined.py:14
#   in tile(), inlined from static_assert_inlined.py:20
