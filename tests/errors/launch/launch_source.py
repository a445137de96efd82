"""VALUE: a kernel of text that is no file."""

import tegula
import tegula.language as tl

TEXT = """
@tegula.jit
def kernel(x, n):
    tl.store(x, n)
"""


def run():
    made = {"tegula": tegula, "tl": tl}
    exec(TEXT, made)
    made["kernel"].lower("*fp32", "i32")


# ----
# CompileError: CompileError[VALUE]: ValueError: the source of kernel() is not available (<string>, line 2): write the kernel into a file or a notebook; what exec() gets as compile(text, name, 'exec') is found by linecache.cache[name] = len(text), None, text.splitlines(True), name
