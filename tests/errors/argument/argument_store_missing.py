"""ARGUMENT: a store without its value."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x + tl.arange(0, 64))


def run():
    kernel.lower("*fp32")


# ----
# argument_store_missing.py:9:5: CompileError[ARGUMENT]: store(): the argument 'value' is missing
#     tl.store(x + tl.arange(0, 64))
#     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: it is store(pointer, value[, mask, boundary_check, cache_modifier, eviction_policy])
