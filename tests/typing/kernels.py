"""What a checker makes of kernels: mypy must reveal what the comments say."""

from typing import reveal_type

import tegula
import tegula.language as tl

SCALE = tl.constexpr(0.5)


@tegula.jit
def twice(x) -> tl.tensor:
    return x * 2


@tegula.jit
def kernel(x_ptr, y_ptr, n: int, BLOCK: tl.constexpr = 128, ACT: tl.constexpr = None):
    pid = tl.program_id(0)
    reveal_type(pid)  # tensor
    i = pid * BLOCK + tl.arange(0, BLOCK)
    reveal_type(i)  # Any
    reveal_type(pid * 4 < n)  # tensor
    mask = (i < n) & (0 <= i)
    x = tl.load(x_ptr + i, mask=mask, other=0.0)
    reveal_type(x)  # tensor
    reveal_type(x.to(tl.float16))  # tensor
    reveal_type(x.dtype)  # dtype
    reveal_type(x.dtype.is_fp16())  # bool
    reveal_type(x.shape)  # tuple[int, ...]
    reveal_type(x.sum(0) / 2)  # tensor
    reveal_type(1.0 - x)  # tensor
    reveal_type(-x)  # tensor
    reveal_type(x == 0)  # tensor
    reveal_type(x[:, None])  # tensor
    reveal_type(x[:, None].T)  # tensor
    reveal_type(tl.exp(x))  # tensor
    reveal_type(tl.maximum(x, 0.0))  # tensor
    reveal_type(tl.where(x > 0, x, 0.0))  # tensor
    reveal_type(tl.zeros((BLOCK,), dtype=tl.float32))  # tensor
    reveal_type(tl.dot(x, x, acc=None))  # tensor
    reveal_type(tl.sum(x, axis=0))  # tensor
    reveal_type(tl.softmax(x))  # tensor
    reveal_type(tl.rand(7, i))  # tensor
    reveal_type(tl.math.rsqrt(x))  # tensor
    reveal_type(tl.store(y_ptr + i, x, mask=mask))  # None
    reveal_type(tl.atomic_add(y_ptr + i, x))  # tensor
    reveal_type(twice(x))  # tensor
    reveal_type(BLOCK // 2)  # Any
    reveal_type(SCALE)  # Any
    desc = tl.make_tensor_descriptor(y_ptr, [n], [1], [BLOCK])
    reveal_type(desc)  # tensor_descriptor
    reveal_type(desc.load([0]))  # tensor
    reveal_type(tl.split(x))  # tuple[tensor, tensor]
    reveal_type(tl.extra.libdevice.pow(x, x))  # tensor
    half: tl.constexpr = BLOCK // 2
    if ACT == "relu":
        x = tl.maximum(x, 0)
    for k in range(0, n, BLOCK):
        x += k
    for k in tl.range(0, tl.cdiv(n, half), num_stages=3):
        x += k
    for k in tl.static_range(4):
        x += k
    while tl.condition(tl.max(x) > 0):
        x -= 1
    if pid == 0:
        tl.device_print("x", x)


@tegula.jit(do_not_specialize=["n"], debug=True)
def options(x_ptr, n) -> None:
    tl.store(x_ptr, n)


reveal_type(twice)  # JITFunction[tensor]
reveal_type(options)  # JITFunction[None]


def launch(x: object, n: int) -> None:
    reveal_type(kernel[(tegula.cdiv(n, 128),)](x, x, n))  # CompiledKernel
    done = kernel[lambda meta: (tegula.cdiv(n, meta["BLOCK"]),)](x, x, n, num_warps=4)
    reveal_type(done.asm["ptx"])  # Any
    reveal_type(done.n_regs)  # int
    reveal_type(kernel.warmup(x, x, n, grid=(1,)))  # CompiledKernel
    reveal_type(kernel.lower("*fp32", "*fp32", "i32"))  # str
    reveal_type(tl.float32)  # dtype
    reveal_type(tl.float32.primitive_bitwidth)  # int
    reveal_type(tegula.cdiv(10, 4))  # int


@tegula.autotune(configs=[tegula.Config({"BLOCK": 128}, num_warps=4)], key=["n"])
@tegula.jit
def tuned(x_ptr, n, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 0.0)


reveal_type(tuned)  # Autotuner
reveal_type(tuned[(1,)])  # def (*Any, **Any) -> CompiledKernel
