"""ARGUMENT: a method of a class of values and too many arguments."""

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
    s = Sum(1.0, 2).plus(1.0, 2.0)
    tl.store(x, s.total)


def run():
    kernel.lower("*fp32", "i32")


# ----
# argument_method_many.py:22:9: CompileError[ARGUMENT]: plus(): it takes 1 argument, but 2 were given
#     s = Sum(1.0, 2).plus(1.0, 2.0)
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: it is plus(v)
