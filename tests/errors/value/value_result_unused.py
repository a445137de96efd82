"""VALUE: a call whose result must be used is a statement."""

import tegula
import tegula.language as tl


@tegula.must_use_result("it changes nothing: assign what it returns")
@tegula.jit
def scaled(x, k):
    return x * k


@tegula.jit
def kernel(p):
    x = tl.load(p)
    y = scaled(x, 2.0)
    scaled(y, 3.0)
    tl.store(p, y)


def run():
    kernel.lower("*fp32")


# ----
# value_result_unused.py:17:5: CompileError[VALUE]: The result of scaled is not being used. it changes nothing: assign what it returns
#     scaled(y, 3.0)
#     ^~~~~~~~~~~~~~
