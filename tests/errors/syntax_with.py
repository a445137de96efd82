"""SYNTAX: async with."""

import tegula
import tegula.language as tl


@tegula.jit
async def kernel(x):
    async with x:
        tl.store(x, 1.0)


def run():
    kernel.lower("*fp32")


# ----
# syntax_with.py:9:5: CompileError[SYNTAX]: 'async with' is not part of the kernel language
#     async with x:
#     ^~~~~~~~~~~~~
#   help: write with
