"""What all cases' kernels share. Copied beside them: either package reads its text."""

import triton
import triton.language as tl

I_LEN = tl.constexpr(256)


@triton.constexpr_function
def type_number(dtype, shape):
    """A number for an element type and a shape: 5 bits each side, lowest 5 the type."""
    number = {
        "int1": 0,
        "int8": 1,
        "int16": 2,
        "int32": 3,
        "int64": 4,
        "uint8": 5,
        "uint16": 6,
        "uint32": 7,
        "uint64": 8,
        "fp16": 9,
        "bf16": 10,
        "fp32": 11,
        "fp64": 12,
        "fp8e4nv": 13,
        "fp8e5": 14,
    }[dtype.name]
    code = 1
    for side in shape:
        log = 0
        while 1 << log < side:
            log += 1
        code = code * 32 + log
    return code * 32 + number


@triton.constexpr_function
def rank(shape):
    return len(shape)


@triton.jit
def put_at(o, t, r):
    """The type of r at t, its elements at o."""
    tl.store(t, type_number(r.dtype, r.shape))
    p = o.to(tl.pointer_type(r.dtype))
    if rank(r.shape) == 0:
        tl.store(p, r)
    else:
        tl.store(p + tl.arange(0, r.numel), tl.reshape(r, [r.numel]))


@triton.jit
def plus(x, y):
    return x + y


@triton.jit
def times(x, y):
    return x * y


@triton.jit
def larger(x, y):
    return tl.maximum(x, y)


@triton.jit
def larger_nan(x, y):
    return tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def exclusive_or(x, y):
    return x ^ y


@triton.jit
def right(x, y):
    return y


@triton.jit
def best(v, i, w, j):
    take = (v > w) | ((v == w) & (i < j))
    return tl.where(take, v, w), tl.where(take, i, j)


@triton.jit
def gives_literal():
    return 1


@triton.jit
def gives_float():
    return 0.5


@triton.jit
def first(x, y):
    return x


@triton.jit
def twice(x):
    return x + x
