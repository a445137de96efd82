"""Products by warpgroups with one line of their PTX removed or weakened: each such mutant
is a fault or a wrong result. So a compiler that forgets the line would be found."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from simulated import Fault, available, launch

import tegula
import tegula.language as tl

pytestmark = pytest.mark.skipif(not available(), reason="no build/libptxsim.so")

M, N, K = 128, 64, 192


@tegula.jit
def matmul(a, b, c, BK: tl.constexpr, FILL: tl.constexpr):
    m, n, k = tl.arange(0, 128), tl.arange(0, 64), tl.arange(0, BK)
    acc = tl.zeros((128, 64), tl.float32)
    for at in range(0, 192, BK):
        mask = (m < 100)[:, None] & (at + k < 192)[None, :]
        x = tl.load(a + m[:, None] * 192 + (at + k)[None, :], mask=mask, other=FILL)
        y = tl.load(b + (at + k)[:, None] * 64 + n[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * 64 + n[None, :], acc)


@tegula.jit
def attention(q, k, v, o):
    m, n, d = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 64)
    x = tl.load(q + m[:, None] * 64 + d[None, :])
    peak = tl.full((64,), -1e6, tl.float32)
    total = tl.zeros((64,), tl.float32)
    acc = tl.zeros((64, 64), tl.float32)
    for at in range(0, 192, 64):
        y = tl.load(k + (at + n)[None, :] * 64 + d[:, None])
        s = tl.dot(x, y) * 0.01
        higher = tl.maximum(peak, tl.max(s, 1))
        p = tl.exp2(s - higher[:, None])
        shrink = tl.exp2(peak - higher)
        total = total * shrink + tl.sum(p, 1)
        z = tl.load(v + (at + n)[:, None] * 64 + d[None, :])
        acc = tl.dot(p.to(tl.float16), z, acc * shrink[:, None])
        peak = higher
    tl.store(o + m[:, None] * 64 + d[None, :], acc / total[:, None])


def whole(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float16)


A, B = whole(0, M, K), whole(1, K, N)
Q, KEYS, VALUES = whole(2, 64, 64), whole(3, 192, 64), whole(4, 192, 64)


def product_of(fill: float) -> np.ndarray:
    a = A.astype(np.float32)
    a[100:] = fill
    return a @ B.astype(np.float32)


def attended() -> np.ndarray:
    s = Q.astype(np.float64) @ KEYS.astype(np.float64).T * 0.01
    p = np.exp2(s - s.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True) @ VALUES.astype(np.float64)


class Kernel:
    """PTX, what it is launched on, and what must come out."""

    def __init__(self, kernel, inputs, want: np.ndarray, **options) -> None:
        signature = ["*fp16:16"] * len(inputs) + ["*fp32:16"]
        with tegula.knobs.nvidia.scope(), tegula.knobs.compilation.scope():
            tegula.knobs.nvidia.ptxas = "none"
            tegula.knobs.compilation.line_info = False
            c = kernel.compile(*signature, target="cuda:sm_90a", **options)
        self.ptx, self.shared = c.asm["ptx"], c.metadata.shared
        self.inputs, self.want, self.warps = inputs, want, options["num_warps"]
        assert "wgmma.mma_async" in self.ptx

    def is_right(self, ptx: str) -> bool:
        out = np.full(self.want.shape, np.nan, np.float32)
        *_, got = launch(
            ptx, *self.inputs, out, block=32 * self.warps, shared=self.shared
        )
        return np.allclose(got, self.want, rtol=2e-3, atol=2e-3)


KERNELS: dict[str, Callable[[], Kernel]] = {
    "waits": lambda: Kernel(
        matmul, (A, B), product_of(0), BK=32, FILL=0.0, num_warps=4, hopper="2,0"
    ),
    "stays open": lambda: Kernel(
        matmul, (A, B), product_of(0), BK=32, FILL=0.0, num_warps=8, hopper="2,1"
    ),
    "filled": lambda: Kernel(
        matmul, (A, B), product_of(1), BK=32, FILL=1.0, num_warps=4
    ),
    "attention": lambda: Kernel(
        attention, (Q, KEYS, VALUES), attended(), num_warps=4, num_stages=2, hopper="2"
    ),
}

PRODUCT = "wgmma.mma_async"
FENCE = r"\tfence\.proxy\.async[^;]*;"
LINES = [
    r"\twgmma\.wait_group[^;]*;",
    r"\twgmma\.commit_group[^;]*;",
    r"\tcp\.async\.wait_group[^;]*;",
    r"\tcp\.async\.commit_group;",
]


def mutants(ptx: str) -> list[tuple[str, str]]:
    """What was done to the text, and the text."""
    found = []
    last = ptx.rindex(PRODUCT)

    def without(*spans: re.Match) -> None:
        text = ptx
        for at in reversed(spans):
            text = text[: at.start()] + text[at.end() :]
        lines = [ptx.count("\n", 0, at.start()) + 1 for at in spans]
        found.append((f"without {spans[0][0].strip()} in lines {lines}", text))

    # One fence does for two of which no product stands between: they go together.
    group: list[re.Match] = []
    for at in re.finditer(FENCE, ptx):
        if group and PRODUCT in ptx[group[-1].end() : at.start()]:
            without(*group)
            group = []
        group.append(at)
    without(*group)
    for pattern in LINES:
        for at in re.finditer(pattern, ptx):
            # Behind the last product no copies come that anyone reads.
            if "cp.async" not in at[0] or at.start() < last:
                without(at)
    for at in re.finditer(r"(wgmma|cp\.async)(\.wait_group[^;]*) (\d+);", ptx):
        if at[1] == "cp.async" and at.start() > last:
            continue
        line = ptx.count("\n", 0, at.start()) + 1
        more = f"{at[1]}{at[2]} {int(at[3]) + 1};"
        found.append(
            (f"{more} in line {line}", ptx[: at.start()] + more + ptx[at.end() :])
        )
    return found


@pytest.mark.parametrize("name", KERNELS)
def test_mutants_are_found(name: str) -> None:
    kernel = KERNELS[name]()
    assert kernel.is_right(kernel.ptx)
    lived = []
    made = mutants(kernel.ptx)
    assert len(made) >= 8
    for what, ptx in made:
        try:
            if kernel.is_right(ptx):
                lived.append(what)
        except Fault:
            pass
    assert not lived


def test_a_missing_fence_is_named() -> None:
    kernel = KERNELS["waits"]()
    with pytest.raises(
        Fault, match=r"cp\.async.* without a fence\.proxy\.async in between"
    ):
        kernel.is_right(re.sub(FENCE, "", kernel.ptx))
