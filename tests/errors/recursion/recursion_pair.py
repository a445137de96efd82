"""RECURSION: two helpers that call each other."""

import tegula
import tegula.language as tl


@tegula.jit
def even(n):
    return odd(n - 1)


@tegula.jit
def odd(n):
    return even(n - 1)


@tegula.jit
def kernel(x, n):
    tl.store(x, even(n))


def run():
    kernel.lower("*fp32", "i32")


# ----
# recursion_pair.py:14:12: CompileError[RECURSION]: 'even' is inlined into itself without an end
#     return even(n - 1)
#            ^~~~~~~~~~~
#   help: every call is inlined: a function may call itself where constants decide when that ends, and where a number of the launch decides, write a loop
#   in odd(), inlined from recursion_pair.py:9
#   in even(), inlined from recursion_pair.py:14
#   in odd(), inlined from recursion_pair.py:9
#   in even(), inlined from recursion_pair.py:14
#   in odd(), inlined from recursion_pair.py:9
#   in even(), inlined from recursion_pair.py:14
#   in odd(), inlined from recursion_pair.py:9
#   in even(), inlined from recursion_pair.py:14
#   ... and 92 more
