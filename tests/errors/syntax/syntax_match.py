"""SYNTAX: match."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    match n:
        case 1:
            tl.store(x, 1.0)


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_match.py:9:5: CompileError[SYNTAX]: 'match' is not part of the kernel language
#     match n:
#     ^~~~~~~~
#   help: write if, elif, else
