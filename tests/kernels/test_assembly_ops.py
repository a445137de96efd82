"""Instructions of assembly over random bits: the interpreter, the CPU and the emulator give
what the PTX gives on the interpreter of PTX, bit for bit."""

from __future__ import annotations

import re
import zlib
from typing import Any

import numpy as np
import pytest
import simulated

import tegula
import tegula.language as tl

N = 256
TYPES = {"h": np.int16, "r": np.int32, "l": np.int64, "f": np.float32, "d": np.float64}


def one(x, out, ASM: tl.constexpr, FORM: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    t: tl.constexpr = out.dtype.element_ty
    tl.store(out + i, tl.inline_asm_elementwise(ASM, FORM, [a], t, True, 1))


def two(x, y, out, ASM: tl.constexpr, FORM: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    t: tl.constexpr = out.dtype.element_ty
    tl.store(out + i, tl.inline_asm_elementwise(ASM, FORM, [a, b], t, True, 1))


def three(x, y, z, out, ASM: tl.constexpr, FORM: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b, c = tl.load(x + i), tl.load(y + i), tl.load(z + i)
    t: tl.constexpr = out.dtype.element_ty
    tl.store(out + i, tl.inline_asm_elementwise(ASM, FORM, [a, b, c], t, True, 1))


COMPILED = {n + 1: tegula.jit(f) for n, f in enumerate((one, two, three))}
INTERPRETED = {
    n + 1: tegula.jit(f, interpret=True) for n, f in enumerate((one, two, three))
}

# Opcodes with alternatives in braces, and the letters of result and operands.
TABLE = """
add.{s16,u16} hhh
{add,sub,min,max,div,rem,mul.lo,mul.hi}.{s32,u32} rrr
{add,sub,min,max,div,rem,mul.lo,mul.hi}.{s64,u64} lll
{add,sub,mul.lo,mul.hi,min,max}.{s16,u16} hhh
{add,sub}.sat.s32 rrr
mul.wide.{s32,u32} lrr
mul.wide.{s16,u16} rhh
mul24.{lo,hi}.{s32,u32} rrr
mad24.{lo,hi}.{s32,u32} rrrr
mad24.hi.sat.s32 rrrr
{add,min,max}.{u16x2,s16x2} rrr
{min,max}.relu.{s32,s16x2} rrr
fns.b32 rrrr
cvt.pack.sat.{u16,s16}.s32 rrr
cvt.pack.sat.{u8,s8,u4,s4,u2,s2}.s32.b32 rrrr
mad.{lo,hi}.{s32,u32} rrrr
mad.{lo,hi}.{s64,u64} llll
mad.wide.{s32,u32} lrrl
sad.{s32,u32} rrrr
{dp4a.s32.s32,dp4a.u32.u32,dp4a.s32.u32,dp4a.u32.s32} rrrr
dp2a.{lo,hi}.{s32.s32,u32.u32} rrrr
{and,or,xor}.b32 rrr
{and,or,xor}.b64 lll
{and,or,xor}.b16 hhh
{not,cnot}.b32 rr
not.b64 ll
{shl.b32,shr.u32,shr.s32} rrr
{shl.b64,shr.u64,shr.s64} llr
{shl.b16,shr.u16,shr.s16} hhr
shf.{l,r}.{wrap,clamp}.b32 rrrr
{prmt.b32,prmt.b32.f4e,prmt.b32.b4e} rrrr
{prmt.b32.rc8,prmt.b32.ecl,prmt.b32.ecr,prmt.b32.rc16} rrrr
{popc,clz,brev}.b32 rr
{popc,clz}.b64 rl
brev.b64 ll
{bfind.u32,bfind.s32,bfind.shiftamt.u32} rr
bfind.{u64,s64} rl
bfe.{u32,s32} rrrr
bfe.{u64,s64} llrr
bmsk.{clamp,wrap}.b32 rrr
szext.{clamp,wrap}.{u32,s32} rrr
{abs,neg}.s32 rr
{abs,neg}.s64 ll
{add,sub,mul}.{rn,rz,rm,rp}.f32 fff
{add,sub,mul}.{rn,rn.ftz,rn.sat,rn.ftz.sat}.f32 fff
{add,sub,mul}.{rn,rz,rm,rp}.f64 ddd
fma.{rn,rz,rm,rp}.f32 ffff
fma.rn.{ftz,sat}.f32 ffff
fma.{rn,rz,rm,rp}.f64 dddd
div.{rn,rz,rm,rp,full}.f32 fff
div.{rn,rz}.f64 ddd
{rcp,sqrt}.{rn,rz,rm,rp}.f32 ff
{rcp,sqrt}.{rn,rp}.f64 dd
{min,max}.{f32,ftz.f32,NaN.f32,xorsign.abs.f32} fff
{min,max}.f64 ddd
{neg,abs}.{f32,ftz.f32} ff
{neg,abs}.f64 dd
copysign.f32 fff
copysign.f64 ddd
{ex2,lg2,sin,cos,rcp,rsqrt,sqrt}.approx.{f32,ftz.f32} ff
tanh.approx.f32 ff
{ex2.approx.f16x2} rr
{tanh.approx.f16x2,tanh.approx.bf16x2,ex2.approx.ftz.bf16x2} rr
{add,sub,mul}.{f16x2,ftz.f16x2,sat.f16x2,bf16x2} rrr
{add,sub,mul}.{f16,bf16} hhh
fma.rn.{f16x2,relu.f16x2,ftz.f16x2,bf16x2,relu.bf16x2} rrrr
fma.rn.{f16,bf16} hhhh
{min,max}.{f16x2,NaN.f16x2,bf16x2,NaN.bf16x2} rrr
{min,max}.{xorsign.abs,NaN.xorsign.abs}.{f16x2,bf16x2} rrr
{neg,abs}.{f16x2,bf16x2} rr
cvt.{rni,rzi,rmi,rpi}.{s32,u32}.f32 rf
cvt.{rni,rzi}.{s64,u64}.f64 ld
cvt.{rni,rzi}.ftz.s32.f32 rf
cvt.{rn,rz,rm,rp}.f32.{s32,u32} fr
cvt.{rn,rz}.f64.{s64,u64} dl
cvt.{rn,rz,rm,rp}.f32.f64 fd
cvt.f64.f32 df
cvt.{rni,rzi,rmi,rpi}.f32.f32 ff
cvt.{rn,rz}.f16.f32 hf
cvt.{rn,rz,rn.relu}.bf16.f32 hf
cvt.f32.{f16,bf16} fh
cvt.{rn,rz,rn.relu}.{f16x2,bf16x2}.f32 rff
cvt.rna.tf32.f32 rf
cvt.rn.satfinite.{e4m3x2,e5m2x2,relu.e4m3x2}.f32 hff
cvt.rn.satfinite.{e4m3x2,e5m2x2}.f16x2 hr
cvt.rn.{f16x2.e4m3x2,f16x2.e5m2x2,relu.f16x2.e4m3x2} rh
cvt.{s32.s16,u32.u16} rh
cvt.{s16.s32,u16.u32,sat.s16.s32,sat.u16.u32} hr
cvt.sat.{s8,u8}.s32 rr
cvt.{s64.s32,u64.u32} lr
cvt.u32.u64 rl
testp.finite.f32 rf
slct.s32.s32 rrrr
slct.f32.f32 ffff
set.lt.{f16,bf16}.f32 hff
set.{eq,lt,ge}.u32.{s32,u32} rrr
set.{eq,ne,lt,geu,num,nan}.{u32,f32}.f32 rff
"""
FULL = """
mov.b32 $0, $1; | rr
mov.b64 $0, {$1, $2}; | lrr
lop3.b32 $0, $1, $2, $3, 0x96; | rrrr
lop3.b32 $0, $1, $2, $3, 0xe8; | rrrr
{ .reg .b16 lo, hi; mov.b32 {lo, hi}, $1; mov.b32 $0, {hi, lo}; } | rr
{ .reg .b16 a, b; cvt.u16.u32 a, $1; cvt.u16.u32 b, $2; mul.wide.u16 $0, a, b; } | rrr
{ .reg .pred p; setp.lt.s32 p, $1, $2; selp.b32 $0, $1, $2, p; } | rrr
{ .reg .pred p, q; setp.gt.and.u32 p|q, $1, $2, 1; @q mov.b32 $0, 1; \
@p mov.b32 $0, 2; } | rrr
{ .reg .pred p; setp.nan.f32 p, $1, $1; @!p add.f32 $0, $1, 0f3F800000; \
@p mov.b32 $0, 0; } | ff
{ .reg .pred p; setp.lt.s32 p, $1, 0; lop3.or.b32 $0|p, $1, $2, $3, 0x80, !p; \
@p add.u32 $0, $0, 1; } | rrrr
bfi.b32 $0, $1, $2, 5, 7; | rrr
add.cc.u32 $0, $1, $2; addc.u32 $0, $0, 0; | rrr
sub.cc.u32 $0, $1, $2; subc.u32 $0, $0, $1; | rrr
{ .reg .u32 t; mad.lo.cc.u32 t, $1, $2, $3; madc.hi.u32 $0, $1, $2, t; } | rrrr
{ .reg .u32 n; .reg .pred p; and.b32 n, $1, 15; mov.b32 $0, 0; \
TOP: add.u32 $0, $0, n; sub.u32 n, n, 1; setp.gt.s32 p, n, 0; @p bra TOP; } | rr
{ .reg .b64 a, b; mov.b64 a, {$1, $2}; mov.b64 b, {$2, $1}; add.rn.f32x2 a, a, b; \
mov.b64 {$0, _}, a; } | fff | sm_100
{ .reg .b64 a, b; mov.b64 a, {$1, $2}; mov.b64 b, {$2, $1}; \
fma.rn.ftz.f32x2 a, a, b, b; mov.b64 {_, $0}, a; } | fff | sm_100
{ .reg .b8 t; cvt.rn.satfinite.e2m1x2.f32 t, $1, $2; cvt.u32.u8 $0, t; } | rff | sm_100
{ .reg .b8 t; cvt.u8.u32 t, $1; cvt.rn.f16x2.e2m1x2 $0, t; } | rr | sm_100
cvt.rn.satfinite.e2m3x2.f32 $0, $1, $2; | hff | sm_100
cvt.rn.satfinite.e3m2x2.f32 $0, $1, $2; | hff | sm_100
cvt.rn.f16x2.e2m3x2 $0, $1; | rh | sm_100
cvt.rn.f16x2.e3m2x2 $0, $1; | rh | sm_100
cvt.rp.satfinite.ue8m0x2.f32 $0, $1, $2; | hff | sm_100
cvt.rp.ue8m0x2.f32 $0, 0.0, $1; | hf | sm_100
cvt.rn.bf16x2.ue8m0x2 $0, $1; | rh | sm_100
cvt.rs.f16x2.f32 $0, $1, $2, $3; | rffr | sm_100
cvt.rs.satfinite.bf16x2.f32 $0, $1, 1.5, $2; | rfr | sm_100
cvt.rs.satfinite.e4m3x4.f32 $0, {$1, $2, $2, $1}, $3; | rffr | sm_100
cvt.rs.relu.satfinite.e2m1x4.f32 $0, {$1, $2, $2, $1}, $3; | hffr | sm_100
cvt.rn.bf16x2.f32 $0, $1, 1.5; | rf
cvt.rn.f16.f32 $0, 0.1; | hf
cvt.rzi.s32.f32 $0, 2.5; | rf
"""


def spelled(row: str) -> list[str]:
    """`a.{b,c}` as `a.b`, `a.c`."""
    found = re.search(r"\{([^{}]*)\}", row)
    if not found:
        return [row]
    return [
        one
        for x in found[1].split(",")
        for one in spelled(row[: found.start()] + x + row[found.end() :])
    ]


def cases() -> dict[str, tuple[str, str, bool]]:
    table = {}
    for row in TABLE.strip().splitlines():
        opcode, letters = row.rsplit(" ", 1)
        operands = ", ".join(f"${k}" for k in range(len(letters)))
        for op in spelled(opcode):
            text = f"{op} {operands};"
            if op.startswith("testp"):
                text = f"{{ .reg .pred p; {op} p, $1; selp.b32 $0, 1, 0, p; }}"
            table[op] = text, letters, False
    for row in FULL.strip().splitlines():
        text, letters, *sm = row.split(" | ")
        table[text] = text, letters, bool(sm)
    return table


CASES = cases()

SPECIAL = {
    4: [0, 1 << 31, 0x3F800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F7FFFFF]
    + [0x00000001, 0x007FFFFF, 0x80000001, 0x3C003C00, 0x7BFF7BFF, 0xFFFFFFFF, 31, 32]
    + [0x4F000000, 0xCF000000, 0x5F000000, 0x33800000, 0x477FE000, 0x7FFFFFFF, 33, 8],
    8: [0, 1 << 63, 0x3FF << 52, 0x7FF << 52, 0xFFF << 52, 0x7FF8 << 48, 1, 63, 64, 31]
    + [0x41DFFFFFFFC00000, 0xC1E0000000000000, 0x43E0000000000000, (1 << 63) - 1],
    2: [0, 0x8000, 0x3C00, 0x7C00, 0xFC00, 0x7E00, 1, 0x3FF, 0x7BFF, 0x3F80, 0x7F80],
}


def values(rng: Any, letter: str) -> np.ndarray:
    dtype = np.dtype(TYPES[letter])
    x = rng.integers(0, 256, N * dtype.itemsize, np.uint8).view(f"u{dtype.itemsize}")
    special = SPECIAL[dtype.itemsize]
    x[rng.integers(0, N, 3 * len(special))] = special * 3
    if letter in "fd":  # many of a size that does not overflow
        near = (rng.standard_normal(N // 2) * 4.0).astype(dtype)
        x[::2] = near.view(x.dtype)
    elif dtype.itemsize == 4:
        x[1::4] = rng.integers(0, 40, N // 4)
    return x.view(dtype)


def same_bits(a: np.ndarray, b: np.ndarray) -> None:
    bits = f"u{a.dtype.itemsize}"
    np.testing.assert_array_equal(a.view(bits), b.view(bits))


@pytest.mark.parametrize("case", CASES)
def test_instruction(case: str) -> None:
    text, letters, is_new = CASES[case]
    rng = np.random.default_rng(zlib.crc32(case.encode()))
    args = [values(rng, c) for c in letters[1:]]
    form = ",".join(["=" + letters[0], *letters[1:]])
    got = {}

    def run(name: str, kernel: Any, put: Any, get: Any) -> None:
        out = put(np.full(N, 77, TYPES[letters[0]]))
        kernel[(1,)](*map(put, args), out, ASM=text, FORM=form, N=N)
        got[name] = get(out)

    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = "cpu"
        run("cpu", COMPILED[len(args)], np.array, np.asarray)
        run("interpreter", INTERPRETED[len(args)], np.array, np.asarray)
        for target in ("emu:sm_100a" if is_new else "emu:sm_90a",):
            tegula.knobs.runtime.target = target
            run(target, COMPILED[len(args)], np.array, np.asarray)
    if simulated.available():
        sm = "sm_100a" if is_new else "sm_90a"
        with simulated.driver():
            run(
                "ptxsim",
                COMPILED[len(args)],
                lambda x: simulated.put(x, sm),
                lambda t: t.numpy(),
            )
    assert (got["cpu"].view(np.uint8) != 77).any()
    for result in got.values():
        same_bits(result, got["cpu"])


@pytest.mark.parametrize("op", ["add", "sub", "mul"])
@pytest.mark.parametrize("half", ["f16", "bf16"])
def test_halves_against_numpy(op: str, half: str) -> None:
    """f32's own arithmetic, and its rounding by torch or NumPy."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(7)
    n = 1 << 16
    x = np.concatenate([np.arange(n), rng.integers(0, n, 3 * n)]).astype(np.uint16)
    y = rng.integers(0, n, 4 * n).astype(np.uint16)
    y[::5] = x[::5] ^ rng.integers(0, 8, len(x[::5])).astype(np.uint16)
    out = np.zeros(2 * n, np.int32)
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = "cpu"
        COMPILED[2][(1,)](
            x.view(np.int32),
            y.view(np.int32),
            out,
            ASM=f"{op}.{half}x2 $0, $1, $2;",
            FORM="=r,r,r",
            N=2 * n,
        )
    dtype = torch.float16 if half == "f16" else torch.bfloat16
    a, b = (torch.from_numpy(v.view(np.int16)).view(dtype).double() for v in (x, y))
    exact = getattr(torch, op)(a, b)  # of sums to 2^-53, and rounded once more
    want = exact.float().to(dtype).view(torch.int16).numpy().view(np.uint16)
    want = np.where(exact.isnan().numpy(), 0x7FFF, want)
    np.testing.assert_array_equal(out.view(np.uint16), want)
