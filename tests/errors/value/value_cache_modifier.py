"""VALUE: a cache modifier that does not exist."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.load(x, cache_modifier=".cx"))


def run():
    kernel.lower("*fp32")


# ----
# value_cache_modifier.py:9:28: CompileError[VALUE]: cache_modifier must be one of "", ".ca", ".cg", ".cs", ".cv", not ".cx"
#     tl.store(x, tl.load(x, cache_modifier=".cx"))
#                            ^~~~~~~~~~~~~~~~~~~~
