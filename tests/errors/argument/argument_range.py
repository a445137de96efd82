"""ARGUMENT: a misspelt hint of a loop."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    for i in tl.range(n, num_stage=2):
        tl.store(x + i, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# argument_range.py:9:26: CompileError[ARGUMENT]: range(): it has no parameter 'num_stage'
#     for i in tl.range(n, num_stage=2):
#                          ^~~~~~~~~~~
#   help: did you mean 'num_stages'?
