"""SYNTAX: a bytes literal."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    tl.store(x, b"a")


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_bytes.py:9:17: CompileError[SYNTAX]: b'a' is not part of the kernel language
#     tl.store(x, b"a")
#                 ^~~~
#   help: a text is written without the b
