"""ARGUMENT: a loop hint misspelt."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    for i in tl.range(0, 8, num_stage=3):
        tl.store(x + i, 1.0)


def run():
    kernel.lower("*fp32", "*i32")


# ----
# argument_num_stage.py:9:29: CompileError[ARGUMENT]: range(): it has no parameter 'num_stage'
#     for i in tl.range(0, 8, num_stage=3):
#                             ^~~~~~~~~~~
#   help: did you mean 'num_stages'?
