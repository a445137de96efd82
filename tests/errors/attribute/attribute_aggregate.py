"""ATTRIBUTE: a field of a class of values by another name."""

import tegula
import tegula.language as tl


@tegula.aggregate
class Sum:
    total: tl.tensor
    count: tl.tensor

    def __init__(self, total, count):
        self.total = total
        self.count = count

    def plus(self, v):
        return Sum(self.total + v, self.count + 1)


@tegula.jit
def kernel(x, n):
    s = Sum(1.0, 2)
    tl.store(x, s.totl)


def run():
    kernel.lower("*fp32", "i32")


# ----
# attribute_aggregate.py:23:17: CompileError[ATTRIBUTE]: a value of the class Sum has no attribute 'totl'
#     tl.store(x, s.totl)
#                 ^~~~~~
#   help: did you mean 'total'?
