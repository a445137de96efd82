"""TYPE: a text in a field that is a tensor."""

import tegula
import tegula.language as tl


@tegula.aggregate
class Pair:
    a: tl.tensor
    b: tl.tensor

    def __init__(self, a, b):
        self.a = a
        self.b = b


@tegula.jit
def kernel(x):
    p = Pair(tl.load(x), "mean")
    tl.store(x, p.a)


def run():
    kernel.lower("*fp32")


# ----
# type_field.py:14:9: CompileError[TYPE]: the field 'b' of Pair is a tl.tensor, not the constant str 'mean'
#         self.b = b
#         ^~~~~~
#   help: annotate it b: tl.constexpr when it is known while compiling
#   in __init__(), inlined from type_field.py:19
