"""RECURSION: without an end."""

import tegula
import tegula.language as tl


@tegula.jit
def forever(n):
    return forever(n) + 1


@tegula.jit
def kernel(x, n):
    tl.store(x, forever(n))


def run():
    kernel.lower("*fp32", "i32")


# ----
# recursion.py:9:12: CompileError[RECURSION]: 'forever' is inlined into itself without an end
#     return forever(n) + 1
#            ^~~~~~~~~~
#   help: every call is inlined: a function may call itself where constants decide when that ends, and where a number of the launch decides, write a loop
#   in forever(), inlined from recursion.py:9 (99 times)
#   in forever(), inlined from recursion.py:14
