"""ARGUMENT: NumPy's keyword beside ours."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    a = tl.zeros((16, 16), tl.float32)
    tl.store(x, tl.sum(a, 1, keepdims=True))


def run():
    kernel.lower("*fp32")


# ----
# argument_sum_keepdims.py:10:30: CompileError[ARGUMENT]: sum(): it has no parameter 'keepdims'
#     tl.store(x, tl.sum(a, 1, keepdims=True))
#                              ^~~~~~~~~~~~~
#   help: did you mean 'keep_dims'?
