"""SYNTAX: an async kernel."""

import tegula
import tegula.language as tl


@tegula.jit
async def kernel(x):
    tl.store(x, 1.0)


def run():
    kernel.lower("*fp32")


# ----
# syntax_async.py:8:1: CompileError[SYNTAX]: an async function is not part of the kernel language
# async def kernel(x):
# ^~~~~~~~~~~~~~~~~~~~
#   help: write def: the programs of a grid run at once anyway
