"""SYNTAX: assigning to an element of a tuple."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    rows = [1, 2]
    rows[0] = n
    tl.store(x, rows[0])


def run():
    kernel.lower("*i32", "i32")


# ----
# syntax_element_tuple.py:10:5: CompileError[SYNTAX]: assigning to an element is not part of the kernel language
#     rows[0] = n
#     ^~~~~~~
#   help: tuples are values: (*t[:i], value, *t[i + 1:]) is t with another element
