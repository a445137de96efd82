"""SYNTAX: a class in a kernel."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    class Point:
        pass

    tl.store(x, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_class.py:9:5: CompileError[SYNTAX]: a class definition is not part of the kernel language
#     class Point:
#     ^~~~~~~~~~~~
#   help: define it outside: a NamedTuple groups values
