"""SYNTAX: ** in a call."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    opts = None
    tl.store(x, 1.0, **opts)


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_kwargs_call.py:10:22: CompileError[TYPE]: '**' cannot spread None
#     tl.store(x, 1.0, **opts)
#                      ^~~~~~
#   help: it spreads what a helper got as **kwargs, or a dict
