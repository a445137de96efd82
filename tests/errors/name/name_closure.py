"""NAME: a nested function that is called before a variable it uses has a value."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    def scaled(v):
        return v * scale

    tl.store(x, scaled(1.0))
    scale = 2.0
    tl.store(x + 1, scaled(scale))


def run():
    kernel.lower("*fp32")


# ----
# name_closure.py:10:20: CompileError[NAME]: name 'scale' is not defined
#         return v * scale
#                    ^~~~~
#   help: 'scale' gets its value further down
#   in scaled(), inlined from name_closure.py:12
