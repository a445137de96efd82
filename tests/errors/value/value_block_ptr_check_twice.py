"""VALUE: boundary_check of one dimension twice."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, n):
    p = tl.make_block_ptr(x, (n, n), (n, 1), (0, 0), (16, 16), (1, 0))

    tl.store(x, tl.sum(tl.load(p, boundary_check=(0, 0))))


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_block_ptr_check_twice.py:11:35: CompileError[VALUE]: boundary_check names dimension 0 twice
#     tl.store(x, tl.sum(tl.load(p, boundary_check=(0, 0))))
#                                   ^~~~~~~~~~~~~~~~~~~~~
