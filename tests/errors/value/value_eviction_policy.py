"""VALUE: an eviction policy that does not exist."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, 1.0, eviction_policy="evict_now")


def run():
    kernel.lower("*fp32")


# ----
# value_eviction_policy.py:9:22: CompileError[VALUE]: eviction_policy must be one of "", "evict_first", "evict_last", not "evict_now"
#     tl.store(x, 1.0, eviction_policy="evict_now")
#                      ^~~~~~~~~~~~~~~~~~~~~~~~~~~
