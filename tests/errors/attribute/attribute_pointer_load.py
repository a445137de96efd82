"""ATTRIBUTE: a tensor where a descriptor was meant."""

import tegula
import tegula.language as tl


@tegula.jit
def kernel(x, y, n):
    tl.store(y, tl.sum(x.load([0, 0])))


def run():
    kernel.lower("*fp32", "*fp32", "i32")


# ----
# attribute_pointer_load.py:9:24: CompileError[ATTRIBUTE]: a pointer to f32 has no attribute 'load'
#     tl.store(y, tl.sum(x.load([0, 0])))
#                        ^~~~~~
#   help: tl.load(p + offsets) reads through a pointer; descriptors have a method for it: TensorDescriptor.from_tensor(x, block_shape) on the host, tl.make_tensor_descriptor(..) in a kernel
