"""CONDITION: while True."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    while True:
        tl.store(x, 1.0)


def run():
    kernel.lower("*fp32")


# ----
# condition_while.py:9:11: CompileError[CONDITION]: this while never ends
#     while True:
#           ^~~~
#   help: the condition never changes; compare a variable that the body assigns, or break
