"""SYNTAX: what a raise says is not known while compiling."""

import tegula


@tegula.jit
def kernel(x, n):
    raise ValueError(f"no {n}")


def run():
    kernel.lower("*fp32", "i32")


# ----
# syntax_raise_run_time.py:8:5: CompileError[SYNTAX]: 'raise' is not part of the kernel language
#     raise ValueError(f"no {n}")
#     ^~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: tl.static_assert fails while compiling, tl.device_assert while running
