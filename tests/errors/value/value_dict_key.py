"""VALUE: a key that the keywords of a helper do not have."""

import tegula
import tegula.language as tl


@tegula.jit
def helper(x, **options):
    return x * options["scal"]


@tegula.jit
def kernel(x, n):
    tl.store(x, helper(n, scale=2))


def run():
    kernel.lower("*fp32", "i32")


# ----
# value_dict_key.py:9:16: CompileError[VALUE]: this dict has no key 'scal'
#     return x * options["scal"]
#                ^~~~~~~~~~~~~~~
#   help: did you mean 'scale'?
#   in helper(), inlined from value_dict_key.py:14
