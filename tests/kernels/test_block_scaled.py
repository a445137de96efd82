"""Products of 4-bit and 8-bit floats with a scale for each 32 elements, in blocks as large
as tutorials of block scaling have them, through descriptors, from scales that are stored in
the order tensor cores of other chips want."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)


@tegula.jit
def block_scaled(a, sa, b, sb, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr,
                 BK: tl.constexpr, KIND: tl.constexpr, STAGES: tl.constexpr):  # fmt: skip
    each: tl.constexpr = 2 if KIND == "e2m1" else 1
    reps_m: tl.constexpr = BM // 128
    reps_n: tl.constexpr = BN // 128
    reps_k: tl.constexpr = BK // 128
    a_desc = tl.make_tensor_descriptor(
        a, [M, K // each], [K // each, 1], [BM, BK // each]
    )
    b_desc = tl.make_tensor_descriptor(
        b, [N, K // each], [K // each, 1], [BN, BK // each]
    )
    sa_desc = tl.make_tensor_descriptor(
        sa, [M // 128, K // 128, 2, 256], [K * 4, 512, 256, 1], [reps_m, reps_k, 2, 256]
    )
    sb_desc = tl.make_tensor_descriptor(
        sb, [N // 128, K // 128, 2, 256], [K * 4, 512, 256, 1], [reps_n, reps_k, 2, 256]
    )
    c_desc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    i, j = tl.program_id(0), tl.program_id(1)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, tl.cdiv(K, BK), num_stages=STAGES):
        x = a_desc.load([i * BM, k * (BK // each)])
        y = b_desc.load([j * BN, k * (BK // each)])
        s = sa_desc.load([i * reps_m, k * reps_k, 0, 0])
        t = sb_desc.load([j * reps_n, k * reps_k, 0, 0])
        s = (
            s.reshape(reps_m, reps_k, 32, 4, 4)
            .trans(0, 3, 2, 1, 4)
            .reshape(BM, BK // 32)
        )
        t = (
            t.reshape(reps_n, reps_k, 32, 4, 4)
            .trans(0, 3, 2, 1, 4)
            .reshape(BN, BK // 32)
        )
        acc = tl.dot_scaled(x, s, KIND, y.T, t, KIND, acc)
    c_desc.store([i * BM, j * BN], acc)


def operand(r: Any, kind: str, n: int, k: int) -> tuple[np.ndarray, ...]:
    """Bytes, scales as they are stored, values."""
    scale = r.integers(123, 132, (n // 128, k // 128, 32, 4, 4)).astype(np.uint8)
    plain = scale.transpose(0, 3, 2, 1, 4).reshape(n, k // 32)
    if kind == "e2m1":
        code = r.integers(0, 16, (n, k)).astype(np.uint8)
        value = np.where(code & 8, -1, 1) * E2M1[code & 7]
        code = code[:, ::2] | code[:, 1::2] << 4
    else:
        code = r.integers(0, 0x48, (n, k)).astype(np.uint8)
        value = (code.astype(np.uint16) << 8).view(np.float16)
    return (
        code,
        scale,
        value * np.repeat(np.exp2(plain.astype(np.float32) - 127), 32, 1),
    )


@pytest.mark.parametrize(
    "m,n,k,bm,bn,bk,kind,stages,warps",
    [
        (128, 128, 256, 128, 128, 128, "e2m1", 3, 4),
        (256, 256, 128, 128, 256, 128, "e2m1", 2, 8),
        (128, 256, 512, 128, 256, 256, "e2m1", 4, 4),
        (128, 128, 256, 128, 128, 128, "e5m2", 3, 4),
    ],
)
def test_product(
    device: Any, m: int, n: int, k: int, bm: int, bn: int, bk: int, kind: str,
    stages: int, warps: int,
) -> None:  # fmt: skip
    r = np.random.default_rng(k)
    a, sa, left = operand(r, kind, m, k)
    b, sb, right = operand(r, kind, n, k)
    there = [device.put(x) for x in (a, sa, b, sb, np.zeros((m, n), np.float32))]
    block_scaled[m // bm, n // bn](
        *there, m, n, k, bm, bn, bk, kind, stages, num_warps=warps
    )
    c = device.get(there[4])
    want = left.astype(np.float64) @ right.astype(np.float64).T
    np.testing.assert_allclose(c, want, rtol=1e-5, atol=1e-4 * np.abs(want).max())


@pytest.mark.parametrize(
    "bm,bn,bk,stages", [(128, 128, 128, 3), (128, 256, 128, 4), (128, 256, 256, 4)]
)
def test_compiles(bm: int, bn: int, bk: int, stages: int) -> None:
    """Where shared memory ends there are fewer slots, and no thread holds too much."""
    pointers = dict.fromkeys(("a", "sa", "b", "sb"), "*u8:16") | {"c": "*fp32:16"}
    sizes = dict.fromkeys("MNK", "i32:16")
    constants = {"BM": bm, "BN": bn, "BK": bk, "KIND": "e2m1", "STAGES": stages}
    source = tegula.compiler.ASTSource(block_scaled, pointers | sizes, constants)
    made = tegula.compile(source, target=tegula.backends.GPUTarget("cuda", 90, 32))
    ptx = made.asm["ptx"]
    assert "cp.async" in ptx and ("mma.sync" in ptx or "wgmma.mma_async" in ptx)
    assert made.metadata.shared <= 232448
