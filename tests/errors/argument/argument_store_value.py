"""ARGUMENT: store without a value."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.store(x)


def run():
    kernel.lower("*fp32", "*i32")


# ----
# argument_store_value.py:9:5: CompileError[ARGUMENT]: store(): the argument 'value' is missing
#     tl.store(x)
#     ^~~~~~~~~~~
#   help: it is store(pointer, value[, mask, boundary_check, cache_modifier, eviction_policy])
