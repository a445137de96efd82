"""SYNTAX: a raise that constants lead to; what it says is of use."""

import tegula
import tegula.language as tl


@tegula.jit
def activate(x, NAME: tl.constexpr):
    if NAME == "relu":
        return tl.maximum(x, 0.0)
    else:
        raise ValueError(f"unknown activation {NAME}")


@tegula.jit
def kernel(x, NAME: tl.constexpr):
    tl.store(x, activate(tl.load(x), NAME))


def run():
    kernel.lower("*fp32", NAME="gelu")


# ----
# syntax_raise_text.py:12:9: CompileError[SYNTAX]: 'raise' is not part of the kernel language
#         raise ValueError(f"unknown activation {NAME}")
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: ValueError: unknown activation gelu; tl.static_assert fails while compiling, tl.device_assert while running
#   in activate(), inlined from syntax_raise_text.py:17
