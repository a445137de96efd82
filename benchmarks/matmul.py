"""C = A @ B, blocked, with the grid swizzled so neighbours share tiles of B."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

import harness
import tegula as triton
import tegula.language as tl


def matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP: tl.constexpr,
    ACC: tl.constexpr = tl.float32,
):
    pid = tl.program_id(0)
    n_m, n_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    group = pid // (GROUP * n_n)
    rows = tl.minimum(n_m - group * GROUP, GROUP)
    pid_m = group * GROUP + pid % (GROUP * n_n) % rows
    pid_n = pid % (GROUP * n_n) // rows
    m = pid_m * BM + tl.arange(0, BM)
    n = pid_n * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    # Rows past the end are read from the front: in bounds, and not stored.
    a_ptrs = a_ptr + (m % M)[:, None] * K + k[None, :]
    b_ptrs = b_ptr + k[:, None] * N + (n % N)[None, :]
    acc = tl.zeros((BM, BN), dtype=ACC)
    for k0 in range(0, K, BK):
        a = tl.load(a_ptrs, mask=k[None, :] < K - k0, other=0.0)
        b = tl.load(b_ptrs, mask=k[:, None] < K - k0, other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee", out_dtype=ACC)
        a_ptrs += BK
        b_ptrs += BK * N
    c = acc.to(c_ptr.dtype.element_ty)
    mask = (m[:, None] < M) & (n[None, :] < N)
    tl.store(c_ptr + m[:, None] * N + n[None, :], c, mask=mask)


GPU_CONFIGS = [
    {"BM": m, "BN": n, "BK": k, "num_warps": w, "num_stages": s}
    for m, n, k, w, s in (
        (128, 256, 64, 8, 3),
        (128, 256, 64, 8, 4),
        (256, 128, 32, 8, 4),
        (128, 128, 64, 4, 3),
        (128, 128, 32, 4, 5),
        (128, 128, 64, 8, 3),
        (64, 256, 32, 4, 4),
        (64, 128, 64, 4, 3),
        (64, 64, 64, 4, 4),
    )
]


def grid(size: int, opts: dict[str, int]) -> tuple[int]:
    return (triton.cdiv(size, opts["BM"]) * triton.cdiv(size, opts["BN"]),)


def cases(device: str) -> Iterator[harness.Case]:
    kernel = triton.jit(matmul_kernel)
    torch = harness.torch_or_none()
    rng = np.random.default_rng(0)
    gpu = device == "cuda"
    kind = np.float16 if gpu else np.float32
    for size in (1000, 1024, 2048, 4096, 8192) if gpu else (256, 500, 512, 1024):
        a, b = (rng.standard_normal((size, size)).astype(kind) for _ in range(2))
        case = harness.Case(
            "matmul",
            f"{size}^3 {np.dtype(kind)}",
            harness.to_numpy(harness.float64(a, device) @ harness.float64(b, device)),
            n_bytes=3 * a.nbytes,
            flops=2 * size**3,
        )
        da, db = (harness.to_device(x, device) for x in (a, b))
        dc = harness.to_device(np.empty_like(a), device)

        def run(k, a=da, b=db, c=dc, n=size, **opts):
            k[grid(n, opts)](a, b, c, n, n, n, GROUP=8, **opts)
            return c

        configs = GPU_CONFIGS if gpu else [{"BM": 64, "BN": 64, "BK": 64}]
        case.add("tegula", harness.Best(partial(run, kernel), configs, device))
        if not gpu:
            out = np.empty_like(a)
            case.add("numpy", lambda a=a, b=b, out=out: np.matmul(a, b, out=out))
        if torch is not None:
            ta, tb = (torch.from_numpy(x).to(device) for x in (a, b))
            tc = torch.empty_like(ta)
            case.add("torch", lambda a=ta, b=tb, c=tc: torch.matmul(a, b, out=c))
        theirs = harness.triton_kernel(matmul_kernel, device)
        if theirs is not None:
            case.add("triton", harness.Best(partial(run, theirs), configs, device))
        yield case
