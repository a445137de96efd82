"""SYNTAX: a dict."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    d = {"a": tl.load(x)}
    tl.store(x, d["a"])


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_dict.py:9:15: CompileError[VALUE]: a value of a dict must be known when the kernel is compiled, but it is a run-time value of type f32
#     d = {"a": tl.load(x)}
#               ^~~~~~~~~~
#   help: pass it as a tl.constexpr parameter of the kernel
