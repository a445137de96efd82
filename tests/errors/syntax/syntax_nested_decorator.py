"""SYNTAX: a decorator on a nested function."""

import functools

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    @functools.cache
    def inner(y):
        return y

    tl.store(x, inner(1.0))


def run():
    kernel.lower("*fp32")


# ----
# syntax_nested_decorator.py:11:6: CompileError[SYNTAX]: a decorator but @jit on a function inside of a kernel is not part of the kernel language
#     @functools.cache
#      ^~~~~~~~~~~~~~~
#   help: a function inside of a kernel needs no decorator; with this one define it outside
