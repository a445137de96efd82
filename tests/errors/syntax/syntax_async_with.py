"""SYNTAX: async with, in a function that is called."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    async def inner(y):
        async with y:
            tl.store(y, 1.0)

    inner(x)


def run():
    kernel.lower("*fp32")


# ----
# syntax_async_with.py:9:5: CompileError[SYNTAX]: an async function is not part of the kernel language
#     async def inner(y):
#     ^~~~~~~~~~~~~~~~~~~
#   help: write def: the programs of a grid run at once anyway
