"""Assembly in a kernel, on every target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def shift_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    x = x_ptr + tl.arange(0, BLOCK)
    y = y_ptr + tl.arange(0, BLOCK)
    tl.inline_asm_elementwise(
        "{ .reg .b32 v; ld.global.u8 v, [$1]; shl.b32 v, v, 3; "
        "st.global.u8 [$2], v; mov.b32 $0, v; }",
        "=r,l,l",
        [x, y],
        dtype=tl.int8,
        is_pure=False,
        pack=1,
    )


@pytest.mark.parametrize("block", [16, 512])
def test_assembly_whose_result_nobody_reads(device: Any, rng: Any, block: int) -> None:
    x = rng.integers(0, 256, block).astype(np.uint8)
    out = device.poison((block,), np.uint8)
    shift_kernel[(1,)](device.put(x), out, BLOCK=block)
    np.testing.assert_array_equal(device.get(out), x << 3)


@triton.jit
def unary(
    x, y, ASM: tl.constexpr, FORM: tl.constexpr, PACK: tl.constexpr, N: tl.constexpr
):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    t: tl.constexpr = y.dtype.element_ty
    tl.store(y + i, tl.inline_asm_elementwise(ASM, FORM, [v], t, True, PACK))


@pytest.mark.parametrize(
    ("dtype", "asm", "form", "pack", "want"),
    [
        (np.uint8, "not.b32 $0, $1;", "=r,r", 4, lambda x: ~x),
        (np.uint8, "not.b32 $0, $1;", "=r,r", 1, lambda x: ~x),
        (np.uint8, "not.b32 $0, $1;", "=r,r", 2, lambda x: ~x),
        (np.uint16, "not.b16 $0, $1;", "=h,h", 1, lambda x: ~x),
        (np.int64, "neg.s64 $0, $1;", "=l,l", 1, lambda x: -x),
        (np.int32, "neg.s32 $0, $2; neg.s32 $1, $3;", "=r,=r,r,r", 2, lambda x: -x),
        (np.float64, "neg.f64 $0, $1;", "=d,d", 1, lambda x: -x),
        (np.float32, "mul.f32 $0, $1, 0f40000000;", "=f,f", 1, lambda x: x * 2),
        (np.float16, "add.f16x2 $0, $1, $1;", "=r,r", 2, lambda x: x + x),
        (np.int32, "add.s32 $0, $0, 3;", "=r,0", 1, lambda x: x + 3),
        (np.int32, "add.s32 ${0}, ${1:r}, 3;", "=&r, r,~{memory}", 1, lambda x: x + 3),
        (np.int32, "/* a */ add.s32 $0, // b\n$1, 0x10;", "=r,r", 1, lambda x: x + 16),
        (np.int32, "L_${:uid}: add.s32 $0, $1, 1;", "=r,r", 1, lambda x: x + 1),
        (
            np.uint16,
            "{ .reg .b32 t<2>; and.b32 t0, $2, 0xffff; mov.b32 t1, $3;\n"
            "mov.b32 $0, t0; mov.b32 $1, t1; }",
            "=r,=r,r,r",
            4,
            lambda x: np.where(np.arange(len(x)) % 4 == 1, 0, x),
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("n", [1, 2, 64, 1024])
def test_registers(device, rng, dtype, asm, form, pack, want, n) -> None:
    if n < pack * 128 and device.target != "cpu" and "0xffff" in asm:
        pytest.skip("what a pack is depends on the layout")
    x = rng.integers(0, 100, n).astype(dtype)
    y = device.poison((n,), dtype)
    unary[(1,)](device.put(x), y, ASM=asm, FORM=form, PACK=pack, N=n)
    np.testing.assert_array_equal(device.get(y), want(x).astype(dtype))


@triton.jit
def results(x, y, z, w, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    low, high, is_odd = tl.inline_asm_elementwise(
        "{ .reg .u64 t; mul.wide.u32 t, $3, $3; mov.b64 {$0, $1}, t; "
        "and.b32 $2, $3, 1; }",
        "=r,=r,=r,r", [v], (tl.int32, tl.int32, tl.int1), True, 1,
    )  # fmt: skip
    tl.store(y + i, low)
    tl.store(z + i, high)
    tl.store(w + i, tl.where(is_odd, 10, 20))


def test_several_results(device: Any, rng: Any) -> None:
    x = rng.integers(0, 1 << 32, 256).astype(np.uint32)
    y, z, w = (device.poison((256,), np.int32) for _ in range(3))
    results[(1,)](device.put(x.view(np.int32)), y, z, w, N=256)
    square = x.astype(np.uint64) ** 2
    np.testing.assert_array_equal(
        device.get(y), square.astype(np.uint32).view(np.int32)
    )
    np.testing.assert_array_equal(
        device.get(z), (square >> np.uint64(32)).astype(np.uint32).view(np.int32)
    )
    np.testing.assert_array_equal(device.get(w), np.where(x & 1, 10, 20))


@triton.jit
def shapes(x, y, s, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    at = i[:, None] * N + j[None, :]
    v = tl.load(x + at)
    acc = tl.zeros((M, N), tl.float32)
    for k in range(3):
        acc = tl.inline_asm_elementwise(
            "fma.rn.f32 $0, $1, $2, $3;", "=f,f,f,f",
            [v, (j + k)[None, :].to(tl.float32), acc], tl.float32, True, 1,
        )  # fmt: skip
    tl.store(y + at, acc)
    top = tl.max(acc)  # a scalar, and back into a block
    twice = tl.inline_asm_elementwise(
        "add.f32 $0, $1, $1;", "=f,f", [top], tl.float32, True, 1
    )
    tl.store(s, twice)
    tl.store(s + 1, tl.sum(tl.inline_asm_elementwise(
        "sub.f32 $0, $1, $2;", "=f,f,f", [acc, twice], tl.float32, True, 1
    )))  # fmt: skip


def test_shapes_loops_and_scalars(device: Any, rng: Any) -> None:
    m, n = 16, 32
    x = rng.integers(-4, 5, (m, n)).astype(np.float32)
    y, s = device.poison((m, n), np.float32), device.poison((2,), np.float32)
    shapes[(1,)](device.put(x), y, s, M=m, N=n)
    want = x * (3 * np.arange(n) + 3)
    np.testing.assert_array_equal(device.get(y), want)
    np.testing.assert_array_equal(
        device.get(s), [2 * want.max(), (want - 2 * want.max()).sum()]
    )


@triton.jit
def histogram(x, counts, old, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    at = counts + tl.load(x + i) % 8
    was = tl.inline_asm_elementwise(
        "atom.relaxed.gpu.global.add.u32 $0, [$1], $2;", "=r,l,r,~{memory}",
        [at, tl.full((N,), 1, tl.int32)], tl.int32, False, 1,
    )  # fmt: skip
    tl.store(old + i, was)


def test_atomics(device: Any, rng: Any) -> None:
    n, block = 2048, 128
    x = rng.integers(0, 100, n).astype(np.int32)
    counts, old = device.put(np.zeros(8, np.int32)), device.poison((n,), np.int32)
    histogram[(n // block,)](device.put(x), counts, old, N=block)
    want = np.bincount(x % 8, minlength=8)
    np.testing.assert_array_equal(device.get(counts), want)
    for k in range(8):  # every count was seen once
        seen = np.sort(device.get(old)[x % 8 == k])
        np.testing.assert_array_equal(seen, np.arange(want[k]))


@triton.jit
def wide_loads(x, y, N: tl.constexpr):
    p = x + 4 * tl.arange(0, N)
    a, b, c, d = tl.inline_asm_elementwise(
        "ld.global.nc.L1::no_allocate.v4.b32 {$0, $1, $2, $3}, [$4];",
        "=r,=r,=r,=r,l", [p], (tl.int32, tl.int32, tl.int32, tl.int32), True, 1,
    )  # fmt: skip
    q = y + 4 * tl.arange(0, N)
    tl.inline_asm_elementwise(
        "{ .reg .pred p; setp.ne.b32 p, $2, 7; @p st.global.v4.b32 [$1], "
        "{$5, $4, $3, $2}; mov.u32 $0, 0; }",
        "=r,l,r,r,r,r", [q, a, b, c, d], tl.int32, False, 1,
    )  # fmt: skip


def test_vectors_and_predicates(device: Any, rng: Any) -> None:
    x = rng.integers(0, 10, (128, 4)).astype(np.int32)
    y = device.put(np.full((128, 4), -1, np.int32))
    wide_loads[(1,)](device.put(x), y, N=128)
    want = np.where(x[:, :1] != 7, x[:, ::-1], -1)
    np.testing.assert_array_equal(device.get(y), want)


@triton.jit
def special(out, t):
    now = tl.inline_asm_elementwise(
        "mov.u64 $0, %globaltimer;", "=l,~{memory}", [], tl.int64, False, 1
    )
    x = tl.inline_asm_elementwise("mov.u32 $0, %ctaid.x;", "=r", [], tl.int32, True, 1)
    n = tl.inline_asm_elementwise("mov.u32 $0, %nctaid.x;", "=r", [], tl.int32, True, 1)
    tl.inline_asm_elementwise(
        "griddepcontrol.wait; fence.acq_rel.gpu; membar.gl; nanosleep.u32 1; "
        "mov.u32 $0, 0;", "=r,~{memory}", [], tl.int32, False, 1,
    )  # fmt: skip
    policy = tl.inline_asm_elementwise(
        "createpolicy.fractional.L2::evict_last.b64 $0, 1.0;", "=l", [], tl.int64,
        True, 1,
    )  # fmt: skip
    v = tl.inline_asm_elementwise(
        "prefetch.global.L2 [$1]; ld.global.L2::cache_hint.b32 $0, [$1], $2;",
        "=r,l,l", [out + x, policy], tl.int32, False, 1,
    )  # fmt: skip
    later = tl.extra.cuda.globaltimer()
    tl.store(t + x, later - now)
    tl.store(out + x, v + 10 * x + n)


def test_special_registers_and_hints(device: Any) -> None:
    if device.target != "cpu" and device.target != "cuda" and "90" not in device.target:
        pytest.skip("griddepcontrol is of sm_90")
    out = device.put(np.arange(4, dtype=np.int32))
    t = device.poison((4,), np.int64)
    special[(4,)](out, t)
    np.testing.assert_array_equal(device.get(out), 11 * np.arange(4) + 4)
    assert (device.get(t) >= 0).all()
