"""ARGUMENT: an aggregate with a field that got no value."""

import tegula
import tegula.language as tl


@tegula.aggregate
class Point:
    x: tl.tensor
    y: tl.tensor

    def __init__(self, x):
        self.x = x


@tegula.jit
def kernel(p):
    tl.store(p, Point(1.0).x)


def run():
    kernel.lower("*fp32")


# ----
# argument_field.py:18:17: CompileError[ARGUMENT]: Point(): the field 'y' got no value
#     tl.store(p, Point(1.0).x)
#                 ^~~~~~~~~~
