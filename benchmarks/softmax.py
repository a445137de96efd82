"""Softmax over rows: one program a row, the row in registers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import harness
import tegula as triton
import tegula.language as tl


def softmax_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * n + cols, e / tl.sum(e, axis=0), mask=cols < n)


def reference(x: np.ndarray) -> np.ndarray:
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def numpy_softmax(x: np.ndarray) -> np.ndarray:
    e = x - x.max(axis=1, keepdims=True)
    np.exp(e, out=e)
    e /= e.sum(axis=1, keepdims=True)
    return e


def cases(device: str) -> Iterator[harness.Case]:
    kernel = triton.jit(softmax_kernel)
    torch = harness.torch_or_none()
    rng = np.random.default_rng(0)
    rows = 4096 if device == "cuda" else 1024
    for n in (256, 1000, 1024, 4096, 8192):
        x = rng.standard_normal((rows, n), dtype=np.float32)
        case = harness.Case(
            "softmax", f"{rows}x{n} f32", reference(x), n_bytes=8 * x.size
        )
        dx = harness.to_device(x, device)
        dy = harness.to_device(np.empty_like(x), device)
        block = triton.next_power_of_2(n)

        def run(k=kernel, dx=dx, dy=dy, n=n, block=block):
            k[(dx.shape[0],)](dx, dy, n, BLOCK=block)
            return dy

        case.add("tegula", run)
        if device == "cpu":
            case.add("numpy", lambda x=x: numpy_softmax(x))
        if torch is not None:
            tx = torch.from_numpy(x).to(device)
            case.add("torch", lambda tx=tx: torch.softmax(tx, dim=1))
        theirs = harness.triton_kernel(softmax_kernel, device)
        if theirs is not None:
            tx = torch.from_numpy(x).to(device)
            ty = torch.empty_like(tx)

            def run_triton(k=theirs, tx=tx, ty=ty, n=n, block=block):
                k[(tx.shape[0],)](tx, ty, n, BLOCK=block)
                return ty

            case.add("triton", run_triton)
        yield case
