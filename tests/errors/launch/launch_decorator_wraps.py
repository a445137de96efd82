"""@jit above a decorator that puts another function in the place of the kernel."""

import functools

import tegula
import tegula.language as tl


def timed(f):
    @functools.wraps(f)
    def call(*args):
        return f(*args)

    return call


def run():
    @tegula.jit
    @timed
    def kernel(x):
        tl.store(x, 1)


# ----
# TypeError: @jit stands next to the function, below the decorator whose timed.<locals>.call() is in the place of kernel()
