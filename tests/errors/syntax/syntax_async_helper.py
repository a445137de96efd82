"""SYNTAX: an async helper of several statements."""

import tegula
import tegula.language as tl


@tegula.jit
async def helper(a):
    b = a + 1
    return b * 2


@tegula.jit
def kernel(x):
    tl.store(x, helper(1.0))


def run():
    kernel.lower("*fp32")


# ----
# syntax_async_helper.py:8:1: CompileError[SYNTAX]: an async function is not part of the kernel language
# async def helper(a):
# ^~~~~~~~~~~~~~~~~~~~
#   help: write def: the programs of a grid run at once anyway
