"""A few kernels on this machine, checked against NumPy and timed: ``make demo``.

Each runs on the CPU, and on the GPU where there is one and torch to bring data there.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

try:
    import numpy as np
except ModuleNotFoundError:
    sys.exit("the demo needs NumPy: pip install numpy, or tegula[demo]")

import tegula as triton
import tegula.language as tl
from tegula import _core
from tegula.errors import CompileError
from tegula.testing import do_bench, to_numpy


# --- the kernels ----------------------------------------------------------------------
@triton.jit
def add(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.load(y_ptr + i, mask=i < n)
    tl.store(z_ptr + i, x + y, mask=i < n)


@triton.jit
def softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * n + cols, e / tl.sum(e, axis=0), mask=cols < n)


@triton.jit
def layer_norm(x_ptr, w_ptr, y_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=mask, other=0.0)
    x = tl.where(mask, x - tl.sum(x, axis=0) / n, 0.0)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / n + eps)
    w = tl.load(w_ptr + cols, mask=mask)
    tl.store(y_ptr + row * n + cols, x * scale * w, mask=mask)


@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, K, BK):
        a_mask = (m[:, None] < M) & (k[None, :] + k0 < K)
        b_mask = (k[:, None] + k0 < K) & (n[None, :] < N)
        a = tl.load(a_ptr + m[:, None] * K + (k[None, :] + k0), mask=a_mask, other=0.0)
        b = tl.load(b_ptr + (k[:, None] + k0) * N + n[None, :], mask=b_mask, other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    mask = (m[:, None] < M) & (n[None, :] < N)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=mask)


@triton.jit
def attention(
    q_ptr, k_ptr, v_ptr, o_ptr, T, scale,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """One head a column of the grid; the matrix of scores is never in memory."""
    base = tl.program_id(1) * T * D
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    d = tl.arange(0, D)
    rows = base + m[:, None] * D + d[None, :]
    q = tl.load(q_ptr + rows, mask=m[:, None] < T, other=0.0)
    top = tl.full((BM,), -1e30, tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, T, BN):
        here = base + (start + n)[:, None] * D + d[None, :]
        mask = (start + n)[:, None] < T
        k = tl.load(k_ptr + here, mask=mask, other=0.0)
        v = tl.load(v_ptr + here, mask=mask, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        s = tl.where((start + n)[None, :] < T, s, -1e30)
        higher = tl.maximum(top, tl.max(s, axis=1))
        p = tl.exp(s - higher[:, None])
        shrink = tl.exp(top - higher)
        total = total * shrink + tl.sum(p, axis=1)
        acc = tl.dot(p, v, acc * shrink[:, None], input_precision="ieee")
        top = higher
    tl.store(o_ptr + rows, acc / total[:, None], mask=m[:, None] < T)


@triton.jit
def wrong(x_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    y = tl.zeros((BLOCK // 2,), dtype=tl.float32)
    tl.store(x_ptr + tl.arange(0, BLOCK), x + y)


# --- what they are compared with ------------------------------------------------------
def numpy_softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def numpy_layer_norm(x: Any, w: Any) -> Any:
    x = x - x.mean(axis=1, keepdims=True)
    return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-5) * w


def numpy_attention(q: Any, k: Any, v: Any) -> Any:
    return numpy_softmax(q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1])) @ v


class Demo(NamedTuple):
    title: str
    inputs: tuple[Any, ...]  # NumPy arrays, f32; the result has the first one's shape
    launch: Callable[..., Any]  # (*inputs, out), wherever they are
    numpy: Callable[..., Any]
    torch: Callable[..., Any]  # (torch, *inputs)
    bound: float  # of the error, relative to the largest value


def demos(is_gpu: bool) -> Iterator[Demo]:
    """The same kernels for both; what is a good size differs."""
    rng = np.random.default_rng(0)

    def randn(*shape: int) -> Any:
        return rng.standard_normal(shape, dtype=np.float32)

    n = 1 << (26 if is_gpu else 22)
    block = 1024 if is_gpu else 8192
    yield Demo(
        f"add, {n} f32",
        (randn(n), randn(n)),
        lambda x, y, z: add[(triton.cdiv(n, block),)](x, y, z, n, BLOCK=block),
        np.add,
        lambda torch, x, y: x + y,
        0.0,
    )
    rows, cols = (8192, 4000) if is_gpu else (1024, 1000)
    width, warps = triton.next_power_of_2(cols), 8 if is_gpu else 4
    x, w = randn(rows, cols), randn(cols)
    yield Demo(
        f"softmax, {rows} x {cols} f32",
        (x,),
        lambda x, y: softmax[(rows,)](x, y, cols, BLOCK=width, num_warps=warps),
        numpy_softmax,
        lambda torch, x: torch.softmax(x, 1),
        1e-6,
    )
    yield Demo(
        f"layer norm, {rows} x {cols} f32",
        (x, w),
        lambda x, w, y: layer_norm[(rows,)](
            x, w, y, cols, 1e-5, BLOCK=width, num_warps=warps
        ),
        numpy_layer_norm,
        lambda torch, x, w: torch.nn.functional.layer_norm(x, (cols,), w),
        1e-5,
    )
    s = 1000 if is_gpu else 500
    tiles = triton.cdiv(s, 64)
    yield Demo(
        f"matmul, {s} x {s} x {s} f32",
        (randn(s, s), randn(s, s)),
        lambda a, b, c: matmul[(tiles, tiles)](a, b, c, s, s, s, BM=64, BN=64, BK=32),
        np.matmul,
        lambda torch, a, b: a @ b,
        1e-5,
    )
    heads, t, d = (16, 1000, 64) if is_gpu else (4, 200, 64)
    yield Demo(
        f"attention, {heads} x {t} x {d} f32",
        (randn(heads, t, d), randn(heads, t, d), randn(heads, t, d)),
        lambda q, k, v, o: attention[(triton.cdiv(t, 32), heads)](
            q, k, v, o, t, d**-0.5, D=d, BM=32, BN=32
        ),
        numpy_attention,
        lambda torch, *qkv: torch.nn.functional.scaled_dot_product_attention(*qkv),
        1e-5,
    )


# --- running them ---------------------------------------------------------------------
def torch_or_none() -> Any:
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    return torch


def has_driver() -> bool:
    try:
        return bool(_core.cuda_devices())
    except RuntimeError:  # no driver
        return False


def cell(ms: float | None) -> str:
    return f"{ms:9.3f} ms" if ms is not None else f"{'-':>12}"


def run(demo: Demo, device: str, torch: Any) -> tuple[tuple, Any, float]:
    """Its inputs and output where they were, and the error of the output."""
    inputs = tuple(np.ascontiguousarray(x) for x in demo.inputs)
    if device == "cuda":
        inputs = tuple(torch.from_numpy(x).cuda() for x in inputs)
        out = torch.full_like(inputs[0], float("nan"))
    else:
        out = np.full_like(inputs[0], np.nan)
    demo.launch(*inputs, out)
    # A sum of two f32 is what NumPy says in f32; everything else is judged in f64.
    wide = demo.inputs if demo.bound == 0 else (x.astype("f8") for x in demo.inputs)
    expected = demo.numpy(*wide)
    error = np.abs(to_numpy(out) - expected).max() / np.abs(expected).max()
    return inputs, out, float(error)


def show(demo: Demo, device: str, torch: Any) -> bool:
    """One line; whether the result is right."""
    inputs, out, error = run(demo, device, torch)
    is_right = error <= demo.bound  # a NaN is not

    def ms(fn: Callable[[], Any]) -> float:
        return float(do_bench(fn, rep=100, return_mode="median", device=device))

    ours = ms(lambda: demo.launch(*inputs, out))
    numpys = torchs = None
    if device == "cpu":
        numpys = ms(lambda: demo.numpy(*inputs))
    if torch is not None:
        tensors = [torch.as_tensor(x) for x in inputs]
        torchs = ms(lambda: demo.torch(torch, *tensors))
    print(
        f"{demo.title:32} {error:8.1e} {cell(ours)} {cell(numpys)} {cell(torchs)}"
        f"{'' if is_right else '   WRONG'}"
    )
    return is_right


def main() -> int:
    torch = torch_or_none()
    print(f"Tegula {triton.__version__}, core: {_core.build}\n")
    places = [("cpu", f"the CPU, {len(os.sched_getaffinity(0))} threads")]
    if torch is not None and torch.cuda.is_available():
        places.append(("cuda", f"the GPU, {torch.cuda.get_device_name()}"))
    n_right = n_wrong = 0
    for device, where in places:
        head = f"{'error':>8} {'Tegula':>12} {'NumPy':>12} {'torch':>12}"
        print(f"{'On ' + where:32} {head}")
        for demo in demos(device == "cuda"):
            if show(demo, device, torch):
                n_right += 1
            else:
                n_wrong += 1
        print()
    if len(places) == 1 and has_driver():
        print("There is a GPU, and no torch that could bring data to it.\n")

    x, y, z = (np.ones(1024, np.float32) for _ in range(3))
    print("The tile IR of add:\n")
    print(add[(1,)](x, y, z, 1024, BLOCK=1024).asm["tir"])
    print("What a wrong kernel is told:\n")
    try:
        wrong[(1,)](x, BLOCK=64)
    except CompileError as err:
        print(err)
    else:
        print("nothing, and that is a bug")
        n_wrong += 1
    if n_wrong:
        print(f"\ndemo: {n_wrong} wrong, {n_right} kernels ok")
        return 1
    print(f"\ndemo: {n_right} kernels ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
