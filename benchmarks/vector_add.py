"""z = x + y: what the memory gives, and at small sizes what a launch costs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import harness
import tegula as triton
import tegula.language as tl


def add_kernel(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask)
    y = tl.load(y_ptr + i, mask=mask)
    tl.store(z_ptr + i, x + y, mask=mask)


def cases(device: str) -> Iterator[harness.Case]:
    kernel = triton.jit(add_kernel)
    torch = harness.torch_or_none()
    rng = np.random.default_rng(0)
    for n in (1 << 12, 1 << 16, 1 << 20, 1 << 24, (1 << 26) + 3):
        x, y = (rng.standard_normal(n, dtype=np.float32) for _ in range(2))
        case = harness.Case(
            "vector_add", f"{n}", x.astype(np.float64) + y, n_bytes=12 * n, flops=0
        )
        dx, dy = (harness.to_device(a, device) for a in (x, y))
        out = harness.to_device(np.empty_like(x), device)

        def run(k=kernel, dx=dx, dy=dy, out=out, n=n):
            k[(triton.cdiv(n, 4096),)](dx, dy, out, n, BLOCK=4096)
            return out

        case.add("tegula", run)
        if device == "cpu":
            buf = np.empty_like(x)
            case.add("numpy", lambda x=x, y=y, buf=buf: np.add(x, y, out=buf))
        if torch is not None:
            tx, ty = (torch.from_numpy(a).to(device) for a in (x, y))
            tz = torch.empty_like(tx)
            case.add("torch", lambda tx=tx, ty=ty, tz=tz: torch.add(tx, ty, out=tz))
        yield case
