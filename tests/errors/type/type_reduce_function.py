"""TYPE: reduce by a name instead of a function."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    tl.store(x, tl.reduce(tl.arange(0, 16), 0, "add"))


def run():
    kernel.lower("*fp32")


# ----
# type_reduce_function.py:9:48: CompileError[TYPE]: the combine function of reduce must be a function under @jit or a lambda, not the constant str 'add'
#     tl.store(x, tl.reduce(tl.arange(0, 16), 0, "add"))
#                                                ^~~~~
#   help: lambda a, b: a + b adds, lambda a, b: tl.maximum(a, b) takes the larger
