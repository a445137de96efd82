"""ARGUMENT: dot(trans_b=True), of Triton before 2.1."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    i = tl.arange(0, 16)
    at = i[:, None] * 16 + i[None, :]
    a = tl.load(x + at)
    b = tl.load(y + at)
    tl.store(x + at, tl.dot(a, b, trans_b=True))


def run():
    kernel.lower("*fp32", "*fp32")


# ----
# argument_dot_trans.py:13:35: CompileError[ARGUMENT]: dot(): it has no parameter 'trans_b'
#     tl.store(x + at, tl.dot(a, b, trans_b=True))
#                                   ^~~~~~~~~~~~
#   help: transpose it first: tl.dot(a, tl.trans(b))
