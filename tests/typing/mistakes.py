"""Mistakes in kernels that a checker finds: the comment is a part of what it says."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.load(x_ptr + i, msk=i < 7)  # Unexpected keyword argument "msk"
    tl.lod(x_ptr)  # Module has no attribute "lod"
    x.too(tl.float16)  # "tensor" has no attribute "too"
    x.to("float16")  # "to" of "tensor" has incompatible type "str"
    tl.float33  # Module has no attribute "float33"
    tl.program_id("x")  # "program_id" has incompatible type "str"
    tl.exp("x")  # "exp" has incompatible type "str"
    tl.zeros((BLOCK,))  # Missing positional argument "dtype"
    tl.dot(x)  # Missing positional argument "other"
    tl.sum(x, axes=0)  # Unexpected keyword argument "axes"
    x.sum(keepdims=True)  # Unexpected keyword argument "keepdims"
    _best, _where = tl.max(x)  # object is not iterable
    x @ x  # Unsupported left operand type for @
    x**2  # Unsupported operand types for **
    tl.store(x_ptr + i)  # Missing positional argument "value"
    tl.range(0, BLOCK, stages=2)  # Unexpected keyword argument "stages"


@tegula.autotune([tegula.Config({}, warps=4)], key=["n"])  # argument "warps"
@tegula.jit(debg=True)  # jit"
def tuned(x_ptr, n): ...


kernel["1"](None)  # Invalid index type "str"
kernel.lowr("*fp32")  # has no attribute "lowr"
