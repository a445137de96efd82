"""ATTRIBUTE: a function of the language asked of the package."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y):
    tl.store(x, tegula.program_id(0))


def run():
    kernel.lower("*fp32", "*i32")


# ----
# attribute_language.py:9:17: CompileError[ATTRIBUTE]: the module tegula has no attribute 'program_id'
#     tl.store(x, tegula.program_id(0))
#                 ^~~~~~~~~~~~~~~~~
#   help: it is a function of the language: tl.program_id
