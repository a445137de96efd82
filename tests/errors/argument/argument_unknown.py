"""ARGUMENT: a keyword that resembles none."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, 1.0, streaming=True)


def run():
    kernel.lower("*fp32")


# ----
# argument_unknown.py:9:22: CompileError[ARGUMENT]: store(): it has no parameter 'streaming'
#     tl.store(x, 1.0, streaming=True)
#                      ^~~~~~~~~~~~~~
#   help: it is store(pointer, value[, mask, boundary_check, cache_modifier, eviction_policy])
