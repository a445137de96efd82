"""TYPE: with, of what is no context."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    with tl.load(x) as v:
        tl.store(x, v)


def run():
    kernel.lower("*fp32")


# ----
# type_with.py:9:10: CompileError[TYPE]: 'with' needs an object with __enter__(), not an f32 scalar
#     with tl.load(x) as v:
#          ^~~~~~~~~~
#   help: a class of values with jit methods __enter__(self) and __exit__(self, type, value, traceback) has both
