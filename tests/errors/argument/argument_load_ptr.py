"""ARGUMENT: load's pointer by another name."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.store(x, tl.load(ptr=x))


def run():
    kernel.lower("*fp32", "*i32")


# ----
# argument_load_ptr.py:9:25: CompileError[ARGUMENT]: load(): it has no parameter 'ptr'
#     tl.store(x, tl.load(ptr=x))
#                         ^~~~~
#   help: it is load(pointer[, mask, other, boundary_check, padding_option, cache_modifier, eviction_policy, volatile])
