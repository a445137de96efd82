"""Kernels that move memory, at the sizes where it shows. GPU only.

The same kernel source goes through Tegula and Triton, each with the best of the same list
of warp counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import harness
import tegula as triton
import tegula.language as tl

WARPS = [{"num_warps": w} for w in (1, 2, 4, 8, 16, 32)]


def add(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.load(y_ptr + i, mask=i < n)
    tl.store(z_ptr + i, x + y, mask=i < n)


def softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf")).to(
        tl.float32
    )
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * n + cols, e / tl.sum(e, axis=0), mask=cols < n)


def layer_norm(x_ptr, w_ptr, b_ptr, y_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n
    d = tl.where(mask, x - mean, 0.0)
    scale = tl.rsqrt(tl.sum(d * d, axis=0) / n + eps)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + row * n + cols, d * scale * w + b, mask=mask)


def rms_norm(x_ptr, w_ptr, y_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0).to(tl.float32)
        squares += x * x
    scale = tl.rsqrt(tl.sum(squares, axis=0) / n + eps)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + cols, mask=cols < n, other=0.0).to(tl.float32)
        tl.store(y_ptr + row * n + cols, x * scale * w, mask=cols < n)


def cross_entropy(x_ptr, target_ptr, loss_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf")).to(
        tl.float32
    )
    peak = tl.max(x, axis=0)
    total = tl.sum(tl.exp(x - peak), axis=0)
    target = tl.load(target_ptr + row)
    picked = tl.load(x_ptr + row * n + target).to(tl.float32)
    tl.store(loss_ptr + row, tl.log(total) + peak - picked)


def dropout(x_ptr, y_ptr, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    keep = tl.rand(seed, i) > p
    tl.store(y_ptr + i, tl.where(keep, x / (1 - p), 0.0), mask=i < n)


def column_sum(x_ptr, y_ptr, rows, cols, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    j = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, rows, BLOCK_M):
        i = start + tl.arange(0, BLOCK_M)
        mask = (i < rows)[:, None] & (j < cols)[None, :]
        acc += tl.load(x_ptr + i[:, None] * cols + j[None, :], mask=mask, other=0.0)
    tl.store(y_ptr + j, tl.sum(acc, axis=0), mask=j < cols)


def cumsum(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
    tl.store(y_ptr + row * n + cols, tl.cumsum(x, axis=0), mask=cols < n)


def transpose(x_ptr, y_ptr, rows, cols, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = (i < rows)[:, None] & (j < cols)[None, :]
    x = tl.load(x_ptr + i[:, None] * cols + j[None, :], mask=mask)
    there = (j < cols)[:, None] & (i < rows)[None, :]
    tl.store(y_ptr + j[:, None] * rows + i[None, :], tl.trans(x), mask=there)


def contenders(
    case: harness.Case,
    kernel: Callable[..., None],
    launch: Callable[..., Any],
    configs: list[dict[str, int]],
    torch_fn: Callable[[], Any] | None,
) -> harness.Case:
    """launch(kernel, **config) runs it and returns what it wrote."""
    for who, k in (
        ("tegula", triton.jit(kernel)),
        ("triton", harness.triton_kernel(kernel, "cuda")),
    ):
        if k is not None:
            case.add(
                who, harness.Best(lambda k=k, **c: launch(k, **c), configs, "cuda")
            )
    if torch_fn is not None:
        case.add("torch", torch_fn)
    return case


def cases(device: str) -> Iterator[harness.Case]:
    if device != "cuda":
        return
    torch = harness.torch_or_none()
    torch.manual_seed(0)
    functional = torch.nn.functional

    def random(*shape: int, dtype: Any = torch.bfloat16) -> Any:
        return torch.randn(*shape, device="cuda", dtype=torch.float32).to(dtype)

    def empty(x: Any) -> Any:
        return torch.full_like(x, float("nan"))

    n = 1 << 27
    x, y = random(n, dtype=torch.float32), random(n, dtype=torch.float32)
    z = empty(x)

    def run_add(k: Any, BLOCK: int, **c: int) -> Any:
        k[(triton.cdiv(n, BLOCK),)](x, y, z, n, BLOCK=BLOCK, **c)
        return z

    sizes = [{"BLOCK": b, "num_warps": w} for b in (1024, 2048) for w in (4, 8)]
    case = harness.Case("add", "2^27 f32", x.double() + y.double(), n_bytes=12 * n)
    yield contenders(case, add, run_add, sizes, lambda: torch.add(x, y, out=z))

    for m, n in ((4096, 512), (8192, 1024), (8192, 4096), (4096, 12288), (4096, 32768)):
        x = random(m, n)
        y = empty(x)

        def run_softmax(k: Any, x=x, y=y, **c: int) -> Any:
            m, n = x.shape
            k[(m,)](x, y, n, BLOCK=triton.next_power_of_2(n), **c)
            return y

        case = harness.Case(
            "softmax", f"{m}x{n} bf16", x.double().softmax(1), n_bytes=4 * m * n
        )
        yield contenders(
            case, softmax, run_softmax, WARPS, lambda x=x: torch.softmax(x, 1)
        )

    for m, n in ((4096, 1024), (4096, 8192)):
        x, w, b = random(m, n), random(n), random(n)
        y = empty(x)

        def run_layer_norm(k: Any, x=x, w=w, b=b, y=y, **c: int) -> Any:
            m, n = x.shape
            k[(m,)](x, w, b, y, n, 1e-5, BLOCK=triton.next_power_of_2(n), **c)
            return y

        wide = functional.layer_norm(x.double(), (n,), w.double(), b.double(), 1e-5)
        case = harness.Case("layer_norm", f"{m}x{n} bf16", wide, n_bytes=4 * m * n)
        yield contenders(
            case,
            layer_norm,
            run_layer_norm,
            WARPS,
            lambda x=x, w=w, b=b: functional.layer_norm(x, x.shape[1:], w, b, 1e-5),
        )

    x, w = random(2048, 65536), random(65536)
    y = empty(x)

    def run_rms_norm(k: Any, BLOCK: int, **c: int) -> Any:
        m, n = x.shape
        k[(m,)](x, w, y, n, 1e-6, BLOCK=BLOCK, **c)
        return y

    wide = functional.rms_norm(x.double(), (65536,), w.double(), 1e-6)
    case = harness.Case("rms_norm loop", "2048x65536 bf16", wide, n_bytes=4 * x.numel())
    sizes = [
        {"BLOCK": b, "num_warps": v} for b in (2048, 4096, 8192) for v in (4, 8, 16)
    ]
    yield contenders(
        case,
        rms_norm,
        run_rms_norm,
        sizes,
        lambda: functional.rms_norm(x, (65536,), w, 1e-6),
    )

    x = random(4096, 32000)
    target = torch.randint(0, 32000, (4096,), device="cuda")
    loss = torch.full((4096,), float("nan"), device="cuda")

    def run_cross_entropy(k: Any, **c: int) -> Any:
        m, n = x.shape
        k[(m,)](x, target, loss, n, BLOCK=triton.next_power_of_2(n), **c)
        return loss

    case = harness.Case(
        "cross_entropy",
        "4096x32000 bf16",
        functional.cross_entropy(x.double(), target, reduction="none"),
        n_bytes=2 * x.numel(),
    )
    yield contenders(
        case,
        cross_entropy,
        run_cross_entropy,
        WARPS,
        lambda: functional.cross_entropy(x, target, reduction="none"),
    )

    n = 1 << 26
    x = random(n, dtype=torch.float32)
    y = empty(x)
    p = 0.5

    def run_dropout(k: Any, BLOCK: int, **c: int) -> Any:
        k[(triton.cdiv(n, BLOCK),)](x, y, n, p, 123, BLOCK=BLOCK, **c)
        return y

    # What is dropped is each contender's own; that it is 0 or x / (1 - p) is checked by
    # the tests of random numbers.
    case = harness.Case("dropout", "2^26 f32", None, n_bytes=8 * n)
    sizes = [{"BLOCK": b, "num_warps": w} for b in (512, 1024, 2048) for w in (4, 8)]
    yield contenders(
        case, dropout, run_dropout, sizes, lambda: functional.dropout(x, p)
    )

    x = random(16384, 8192, dtype=torch.float32)
    y = torch.full((8192,), float("nan"), device="cuda")

    def run_column_sum(k: Any, BLOCK_N: int, **c: int) -> Any:
        m, n = x.shape
        k[(triton.cdiv(n, BLOCK_N),)](x, y, m, n, BLOCK_N=BLOCK_N, **c)
        return y

    case = harness.Case(
        "column_sum", "16384x8192 f32", x.double().sum(0), n_bytes=4 * x.numel()
    )
    sizes = [
        {"BLOCK_M": m, "BLOCK_N": b, "num_warps": w}
        for m in (32, 64, 128)
        for b in (32, 64)
        for w in (4, 8, 16)
    ]
    yield contenders(case, column_sum, run_column_sum, sizes, lambda: x.sum(0))

    x = random(16384, 4096, dtype=torch.float32)
    y = empty(x)

    def run_cumsum(k: Any, **c: int) -> Any:
        m, n = x.shape
        k[(m,)](x, y, n, BLOCK=n, **c)
        return y

    case = harness.Case(
        "cumsum", "16384x4096 f32", x.double().cumsum(1), n_bytes=8 * x.numel()
    )
    yield contenders(case, cumsum, run_cumsum, WARPS, lambda: x.cumsum(1))

    x = random(8192, 8192, dtype=torch.float32)
    y = empty(x)

    def run_transpose(k: Any, BLOCK: int, **c: int) -> Any:
        m, n = x.shape
        k[(triton.cdiv(m, BLOCK), triton.cdiv(n, BLOCK))](x, y, m, n, BLOCK=BLOCK, **c)
        return y

    case = harness.Case(
        "transpose", "8192^2 f32", x.double().T.contiguous(), n_bytes=8 * x.numel()
    )
    sizes = [{"BLOCK": b, "num_warps": w} for b in (32, 64) for w in (4, 8)]
    yield contenders(case, transpose, run_transpose, sizes, lambda: x.T.contiguous())
