"""SYNTAX: a dict."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    d = {"a": 1.0}
    tl.store(x, d["a"])


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_dict.py:9:9: CompileError[SYNTAX]: a dict display is not part of the kernel language
#     d = {"a": 1.0}
#         ^~~~~~~~~~
