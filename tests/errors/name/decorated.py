"""NAME: the line is right below decorators and comments."""

import tegula
import tegula.language as tl


@tegula.jit(debug=True)
def kernel(x):
    # a comment
    tl.store(x, valu)


def run():
    kernel.lower("*fp32")


# ----
# decorated.py:10:17: CompileError[NAME]: name 'valu' is not defined
#     tl.store(x, valu)
#                 ^~~~
