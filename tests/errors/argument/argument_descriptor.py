"""ARGUMENT: offsets of a descriptor one by one."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    d = tl.make_tensor_descriptor(x, [8, 8], [8, 1], [4, 4])
    tl.store(x, tl.sum(d.load(0, 0)))


def run():
    kernel.lower("*fp32", "*i32")


# ----
# argument_descriptor.py:10:24: CompileError[ARGUMENT]: load(): it takes at most 1 argument, but 2 were given
#     tl.store(x, tl.sum(d.load(0, 0)))
#                        ^~~~~~~~~~~~
#   help: it is load(offsets); offsets are one list, [i, j]
