"""ARGUMENT: three blocks to one."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    i = tl.arange(0, 4)
    tl.store(x + tl.arange(0, 16), tl.cat(i, i, i))


def run():
    kernel.lower("*i32")


# ----
# argument_cat_three.py:10:36: CompileError[ARGUMENT]: cat(): it takes two blocks
#     tl.store(x + tl.arange(0, 16), tl.cat(i, i, i))
#                                    ^~~~~~~~~~~~~~~
#   help: one within the other: tl.cat(tl.cat(a, b), c)
