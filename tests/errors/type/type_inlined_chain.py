"""TYPE: three helpers deep, in a method call."""

import tegula
import tegula.language as tl


@tegula.jit
def root(v, n):
    return tl.sqrt(v) // n


@tegula.jit
def mean(v, n):
    return root(tl.sum(v), n)


@tegula.jit
def norm(v, n):
    return mean(v * v, n)


@tegula.jit
def kernel(x):
    tl.store(x, norm(tl.load(x + tl.arange(0, 16)), 3))


def run():
    kernel.lower("*fp32")


# ----
# type_inlined_chain.py:9:12: CompileError[TYPE]: '//' works on integers, not on f32
#     return tl.sqrt(v) // n
#            ^~~~~~~~~~~~~~~
#   help: tl.floor(x / y) rounds a quotient of floats down
#   in root(), inlined from type_inlined_chain.py:14
#   in mean(), inlined from type_inlined_chain.py:19
#   in norm(), inlined from type_inlined_chain.py:24
