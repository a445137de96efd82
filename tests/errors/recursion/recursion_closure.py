"""RECURSION: a nested function that calls itself without an end."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    def down(v):
        return v if v < 1 else down(v - 1)

    tl.store(x, down(n))


def run():
    kernel.lower("*i32", "i32")


# ----
# recursion_closure.py:10:32: CompileError[RECURSION]: 'down' is inlined into itself without an end
#         return v if v < 1 else down(v - 1)
#                                ^~~~~~~~~~~
#   help: every call is inlined: a function may call itself where constants decide when that ends, and where a number of the launch decides, write a loop
#   in down(), inlined from recursion_closure.py:10 (99 times)
#   in down(), inlined from recursion_closure.py:12
