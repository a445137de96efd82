"""ARGUMENT: randint without offsets."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.randint(42))


def run():
    kernel.lower("*fp32")


# ----
# argument_randint.py:9:17: CompileError[ARGUMENT]: randint(): the argument 'offset' is missing
#     tl.store(x, tl.randint(42))
#                 ^~~~~~~~~~~~~~
#   help: it is randint(seed, offset, n_rounds=..)
