"""LIMIT: assembly that does something, for elements that are not there."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x):
    i = tl.arange(0, 100)
    y = tl.inline_asm_elementwise(
        "red.global.add.u32 [$1], 1; mov.u32 $0, 0;",
        "=r,l",
        [x + i],
        tl.int32,
        False,
        1,
    )
    tl.store(x + i, y)


def run():
    kernel.compile("*i32", target="cuda:sm_80")


# ----
# limit_asm_padded.py:10:9: UnsupportedError[LIMIT]: assembly with side effects on blocks of [100]: padded to powers of two, it would run for elements that are not there
#     y = tl.inline_asm_elementwise(
#         ^~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: take [128], or is_pure=True if it only computes
