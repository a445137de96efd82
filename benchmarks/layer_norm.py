"""LayerNorm over rows: two passes over a row that stays in registers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import harness
import tegula as triton
import tegula.language as tl


def layer_norm_kernel(x_ptr, w_ptr, b_ptr, y_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n
    d = tl.where(mask, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(d * d, axis=0) / n + eps)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    y = d * rstd * w + b
    tl.store(y_ptr + row * n + cols, y.to(y_ptr.dtype.element_ty), mask=mask)


def layer_norm(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    d = x - x.mean(axis=1, keepdims=True)
    return d / np.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5) * w + b


def cases(device: str) -> Iterator[harness.Case]:
    kernel = triton.jit(layer_norm_kernel)
    torch = harness.torch_or_none()
    rng = np.random.default_rng(0)
    gpu = device == "cuda"
    rows, kind = (8192, np.float16) if gpu else (1024, np.float32)
    for n in (1024, 4096, 8192):
        x = rng.standard_normal((rows, n)).astype(kind)
        w, b = (rng.standard_normal(n).astype(kind) for _ in range(2))
        wide = [a.astype(np.float64) for a in (x, w, b)]
        case = harness.Case(
            "layer_norm",
            f"{rows}x{n} {np.dtype(kind)}",
            layer_norm(*wide),
            n_bytes=2 * x.nbytes + 2 * w.nbytes,
        )
        args = [harness.to_device(a, device) for a in (x, w, b, np.empty_like(x))]

        def run(k=kernel, args=args, n=n):
            block, warps = triton.next_power_of_2(n), min(max(n // 512, 1), 16)
            k[(args[0].shape[0],)](*args, n, 1e-5, BLOCK=block, num_warps=warps)
            return args[3]

        case.add("tegula", run)
        if not gpu:
            case.add("numpy", lambda x=x, w=w, b=b: layer_norm(x, w, b))
        if torch is not None:
            tx, tw, tb = (torch.from_numpy(a).to(device) for a in (x, w, b))
            norm = torch.nn.LayerNorm(n, eps=1e-5, device=device, dtype=tx.dtype)
            norm.requires_grad_(False)
            norm.weight.copy_(tw)
            norm.bias.copy_(tb)
            case.add("torch", lambda f=norm, x=tx: f(x))
        theirs = harness.triton_kernel(layer_norm_kernel, device)
        if theirs is not None:
            own = [a.clone() for a in args]
            case.add("triton", lambda k=theirs, args=own, f=run: f(k=k, args=args))
        yield case
