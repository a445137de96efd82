"""Matrix instructions, float conversions and costs of accesses of the interpreter of PTX,
without PTX: called on registers and addresses, beside NumPy.

The references here are written another way than the C: a conversion searches the sorted
list of all numbers of a format, and fragments follow the ISA's formula for each shape,
where the C has one for all.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
SIM = ROOT / "csrc/tools/ptxsim"

DRIVER = """
#include <string.h>
#include "ptx/tensor.h"
#include "tools/ptxsim/cost.h"
void cost(const char *what, uint32_t m, const uint64_t *at, int bytes, int *out);
int convert(const char *op, const uint64_t *a, const uint64_t *b, uint64_t *out, int n);
int mma(const char *op, WarpMma *m, uint64_t *d, uint64_t *a, uint64_t *b, uint64_t *c);
int matrix(const char *op, uint8_t *const *row, uint64_t *reg);

int convert(const char *op, const uint64_t *a, const uint64_t *b, uint64_t *out, int n)
{
    FmtCvt c;
    if (!fmt_cvt_decode(&c, op))
        return 0;
    for (int i = 0; i < n; i++)
        out[i] = fmt_cvt_run(&c, a[i], b[i]);
    return c.n_sources;
}
int mma(const char *op, WarpMma *m, uint64_t *d, uint64_t *a, uint64_t *b, uint64_t *c)
{
    int ok = warp_mma_decode(m, op);
    if (ok && d)
        warp_mma_run(m, (uint64_t(*)[32])d, (const uint64_t(*)[32])a,
                    (const uint64_t(*)[32])b, (const uint64_t(*)[32])c);
    return ok;
}
int matrix(const char *op, uint8_t *const *row, uint64_t *reg)
{
    WarpMatrix m;
    if (!warp_matrix_decode(&m, op))
        return 0;
    if (row && m.is_store)
        warp_stmatrix(&m, row, (const uint64_t(*)[32])reg);
    else if (row)
        warp_ldmatrix(&m, (uint64_t(*)[32])reg, (const uint8_t *const *)row);
    return m.n;
}
void cost(const char *what, uint32_t m, const uint64_t *at, int bytes, int *out)
{
    if (!strcmp(what, "global")) {
        GlobalCost c = cost_global(m, at, bytes);
        memcpy(out, &c, sizeof c);
    } else {
        SharedCost c = *what == 's' ? cost_shared(m, at, bytes)
                                    : cost_shared_atomic(m, at, bytes);
        memcpy(out, &c, sizeof c);
    }
}
"""


class Mma(ctypes.Structure):
    _fields_ = [
        *((x, ctypes.c_int) for x in ("m", "k", "a", "b", "c", "d")),
        *((x, ctypes.c_int) for x in ("a_regs", "b_regs", "c_regs", "d_regs")),
        ("satfinite", ctypes.c_bool),
        ("sm", ctypes.c_int),
    ]


@pytest.fixture(scope="module")
def sim(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    cc = shutil.which(os.environ.get("CC", "cc").split()[-1]) or shutil.which("cc")
    assert cc, "a C compiler, which built the core, is needed here"
    folder = tmp_path_factory.mktemp("sim")
    (folder / "driver.c").write_text(DRIVER)
    parts = [
        folder / "driver.c",
        SIM / "cost.c",
        *(SIM.parents[1] / f"ptx/{x}.c" for x in ("tensor", "floats")),
    ]
    so = folder / "sim.so"
    flags = ["-std=c17", "-O2", "-ffp-contract=off", "-shared", "-fPIC"]
    flags += ["-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'csrc'}"]
    subprocess.run([cc, *flags, *map(str, parts), "-lm", "-o", str(so)], check=True)
    return ctypes.CDLL(str(so))


def pointer(x: np.ndarray) -> ctypes.c_void_p:
    assert x.dtype == np.uint64
    assert x.flags.c_contiguous
    return ctypes.c_void_p(x.ctypes.data)


def convert(sim, op: str, a: np.ndarray, b: np.ndarray | None = None) -> np.ndarray:
    a = np.ascontiguousarray(a, np.uint64)
    b = np.zeros_like(a) if b is None else np.ascontiguousarray(b, np.uint64)
    out = np.zeros_like(a)
    n = sim.convert(op.encode(), pointer(a), pointer(b), pointer(out), len(a))
    assert n, op
    return out


# ---- formats: exponent bits, mantissa bits, has infinity, canonical NaN ---------------
FORMATS = {
    "f16": (5, 10, True, 0x7FFF),
    "bf16": (8, 7, True, 0x7FFF),
    "tf32": (8, 10, True, 0x3FFFF),
    "e4m3": (4, 3, False, 0x7F),
    "e5m2": (5, 2, True, 0x7F),
}
WIDTH = {"f16": 16, "bf16": 16, "tf32": 19, "e4m3": 8, "e5m2": 8}


def numbers(name: str) -> np.ndarray:
    """All finite numbers from 0 on, as f64; the index is the code."""
    e, m, inf, _ = FORMATS[name]
    bias = 2 ** (e - 1) - 1
    code = np.arange(2 ** (e + m))
    exp, man = code >> m, code & (2**m - 1)
    normal = np.ldexp(1 + man / 2**m, exp - bias)
    x = np.where(exp == 0, np.ldexp(man / 2**m, 1 - bias), normal)
    return x[: 2 ** (e + m) - (2**m if inf else 1)]


def rounded(name: str, x: np.ndarray, mode: str, finite: bool) -> np.ndarray:
    """x (f64) as codes of the format: by looking for x among all its numbers."""
    _, _, inf, nan = FORMATS[name]
    grid = numbers(name)
    # What would come after the largest, for rounding's sake: as far as the last step.
    grid = np.append(grid, 2 * grid[-1] - grid[-2])
    a = np.minimum(np.abs(x), grid[-1] * 2)
    a = np.where(np.isnan(x), 0, a)
    lo = np.clip(np.searchsorted(grid, a, side="right") - 1, 0, len(grid) - 2)
    below, above = a - grid[lo], grid[lo + 1] - a
    neg = np.signbit(x)
    up = {
        "rn": (below > above) | ((below == above) & (lo % 2 == 1)),
        "rna": below >= above,
        "rz": np.zeros_like(neg),
        "rm": neg & (below > 0),
        "rp": ~neg & (below > 0),
    }[mode]
    code = np.where(np.isinf(x), len(grid) - 1, lo + up)
    over = code >= len(grid) - 1
    stays = {"rz": np.ones_like(neg), "rm": ~neg, "rp": neg}.get(mode, neg & False)
    stays = (stays & ~np.isinf(x)) | finite
    code = np.where(over & stays, len(grid) - 2, code)
    if not inf:
        code = np.where(over & ~stays, nan, code)
    code = code | neg.astype(np.int64) << (WIDTH[name] - 1)
    return np.where(np.isnan(x), nan, code).astype(np.uint64)


def awkward(name: str) -> np.ndarray:
    """f32 numbers at which rounding to the format decides: all its numbers (tf32: those of
    four exponents), all middles between two, the f32 before and after each; both signs."""
    x = numbers(name)
    if name == "tf32":
        x = x[np.isin(np.arange(len(x)) >> 10, [0, 1, 127, 254])]
    last = x[-1]
    middle = (x[1:] + x[:-1]) / 2
    more = [last + (last - x[-2]) * f for f in (0.25, 0.5, 0.75, 1, 2)]
    f32 = 3.4028234663852886e38
    keep = np.array([*x, *middle, *(y for y in more if y < f32)], np.float32)
    near = [
        keep,
        np.nextafter(keep, np.float32(0)),
        np.nextafter(keep, np.float32(np.inf)),
    ]
    special = np.array([0, np.inf, np.nan, 1e-45, 1.1e-38, f32], np.float32)
    both = np.concatenate([*near, special])
    return np.concatenate([both, -both])


def bits32(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32).view(np.uint32).astype(np.uint64)


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_from_f32(sim, name, mode):
    x = awkward(name)
    for finite in (False, True):
        op = f"cvt.{mode}{'.satfinite' if finite else ''}.{name}.f32"
        want = rounded(name, x.astype(np.float64), mode, finite)
        got = convert(sim, op, bits32(x))
        bad = np.flatnonzero(got != want)
        assert not len(bad), (op, x[bad[:4]], got[bad[:4]], want[bad[:4]])


@pytest.mark.parametrize("mode", ["rna", "rn", "rz"])
def test_tf32(sim, mode):
    x = awkward("tf32")
    x = x[~np.isnan(x)]
    want = rounded("tf32", x.astype(np.float64), mode, False) << np.uint64(13)
    assert (convert(sim, f"cvt.{mode}.tf32.f32", bits32(x)) == want).all()


def test_tf32_of_nan(sim):
    """.rna cuts off bits and nothing else, as read on an H200: a NaN whose upper bits are
    an infinity's becomes one."""
    x = [0xFFC00000, 0xFFFFFFFF, 0xFF812345, 0xFF800001, 0x7FC00000, 0x7F800001]
    got = convert(sim, "cvt.rna.tf32.f32", np.array(x))
    want = [0xFFC00000, 0xFFFFE000, 0xFF812000, 0xFF800000, 0x7FC00000, 0x7F800000]
    assert [int(y) for y in got] == want
    assert (convert(sim, "cvt.rn.tf32.f32", np.array(x)) == 0x7FFFE000).all()


def test_f16_is_numpys(sim):
    """Every pattern of 16 bits, and where NumPy rounds; a second reference."""
    half = np.arange(65536, dtype=np.uint16).view(np.float16)
    got = (
        convert(sim, "cvt.f32.f16", np.arange(65536)).astype(np.uint32).view(np.float32)
    )
    assert np.array_equal(got, half.astype(np.float32), equal_nan=True)
    got = convert(sim, "cvt.f64.f16", np.arange(65536)).view(np.float64)
    assert np.array_equal(got, half.astype(np.float64), equal_nan=True)
    x = awkward("f16")
    with np.errstate(over="ignore"):
        want = x.astype(np.float16)
    got = convert(sim, "cvt.rn.f16.f32", bits32(x)).astype(np.uint16).view(np.float16)
    assert np.array_equal(got, want, equal_nan=True)
    assert (np.signbit(got) == np.signbit(want))[~np.isnan(x)].all()


def test_bf16_is_the_upper_half(sim):
    code = np.arange(65536, dtype=np.uint64)
    got = convert(sim, "cvt.f32.bf16", code)
    nan = (code & 0x7FFF) > 0x7F80
    assert (got[~nan] == code[~nan] << np.uint64(16)).all()
    assert (got[nan] == 0x7FFFFFFF).all()


def test_f64_rounds_once(sim):
    """By way of f32, 1 + 2^-11 + 2^-40 would become a tie of f16, and 1."""
    x = np.array([1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-11, 5e-324, -1e308, 2.0**-25])
    got = convert(sim, "cvt.rn.f16.f64", x.view(np.uint64))
    assert got.tolist() == [0x3C01, 0x3C00, 0, 0xFC00, 0]
    for mode in ("rn", "rz", "rm", "rp"):
        want = rounded("f16", x, mode, False)
        assert (convert(sim, f"cvt.{mode}.f16.f64", x.view(np.uint64)) == want).all()
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2**64, 50000, np.uint64).view(np.float64)
    y = np.append(y, rng.normal(size=50000) * 10.0 ** rng.integers(-45, 39, 50000))
    with np.errstate(over="ignore", invalid="ignore"):
        want = y.astype(np.float32)
    got = convert(sim, "cvt.rn.f32.f64", y.view(np.uint64))
    got = got.astype(np.uint32).view(np.float32)
    assert np.array_equal(got, want, equal_nan=True)


@pytest.mark.parametrize("name", ["e4m3", "e5m2"])
def test_float8(sim, name):
    """From all of f16, from f32 where it decides; the upper and the lower number of a
    pair do not touch each other."""
    x = awkward(name)
    want = rounded(name, x.astype(np.float64), "rn", True)
    other = np.roll(x, 7)
    got = convert(sim, f"cvt.rn.satfinite.{name}x2.f32", bits32(other), bits32(x))
    assert (got == (np.roll(want, 7) << np.uint64(8) | want)).all()

    code = np.arange(65536, dtype=np.uint64)
    half = code.astype(np.uint16).view(np.float16).astype(np.float64)
    want = rounded(name, half, "rn", True)
    pair = code << np.uint64(16) | np.roll(code, 1)
    got = convert(sim, f"cvt.rn.satfinite.{name}x2.f16x2", pair)
    assert (got == (want << np.uint64(8) | np.roll(want, 1))).all()

    got = convert(sim, f"cvt.rn.f16x2.{name}x2", code)
    grid = numbers(name)
    value = np.append(grid, [np.nan] * (128 - len(grid)))
    if name == "e5m2":
        value[0x7C] = np.inf
    value = np.concatenate([value, -value])
    for part, at in (
        (got & 0xFFFF, code & 0xFF),
        (got >> np.uint64(16), code >> np.uint64(8)),
    ):
        f16 = part.astype(np.uint16).view(np.float16)
        assert np.array_equal(f16, value[at].astype(np.float16), equal_nan=True)
        assert (np.signbit(f16) == (at >= 128))[~np.isnan(f16)].all()


def test_float8_is_torchs(sim):
    """torch rounds e5m2 to infinity where PTX clamps; up to the largest they must agree."""
    torch = pytest.importorskip("torch")
    for name, dtype in (("e4m3", torch.float8_e4m3fn), ("e5m2", torch.float8_e5m2)):
        x = awkward(name)
        x = x[np.abs(x) <= numbers(name)[-1]]
        want = torch.tensor(x).to(dtype).view(torch.uint8).numpy()
        got = convert(sim, f"cvt.rn.satfinite.{name}x2.f32", bits32(x) * 0, bits32(x))
        assert (got == want).all()


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_pairs(sim, name):
    x = awkward(name)
    y = np.roll(x, 3)
    for mode in ("rn", "rz"):
        hi, lo = (rounded(name, v.astype(np.float64), mode, False) for v in (y, x))
        got = convert(sim, f"cvt.{mode}.{name}x2.f32", bits32(y), bits32(x))
        assert (got == (hi << np.uint64(16) | lo)).all()


def test_relu_sat_ftz(sim):
    x = np.array([-2, -0.0, 0.5, 3, np.nan, -np.inf], np.float32)
    got = convert(sim, "cvt.rn.relu.f16.f32", bits32(x)).tolist()
    assert got == [0, 0, 0x3800, 0x4200, 0x7FFF, 0]
    got = convert(sim, "cvt.rn.sat.f16.f32", bits32(x)).tolist()
    assert got == [0, 0, 0x3800, 0x3C00, 0, 0]
    tiny = np.array([1e-40, -1e-40, 2.0**-126])
    got = convert(sim, "cvt.rn.ftz.f32.f64", tiny.view(np.uint64)).tolist()
    assert got == [0, 0x80000000, 0x00800000]


NOT_CVT = [
    "cvt.rn.f32.s32", "cvt.rzi.s32.f32", "cvt.rni.f32.f32", "cvt.u32.u64", "cvt.f32",
    "cvt.rn.e4m3x2", "cvt.rn.f16.f16x2", "cvt.rn.e2m1x2.f32", "cvt.f16.f32", "cvt.",
    "mov.b32", "cvt.rn..f16.f32", "cvta.to.global.u64",
]  # fmt: skip


@pytest.mark.parametrize("op", NOT_CVT)
def test_not_a_conversion_of_floats(sim, op):
    none = np.zeros(1, np.uint64)
    assert not sim.convert(op.encode(), pointer(none), pointer(none), pointer(none), 1)


# ---- matrices ------------------------------------------------------------------------
BITS = {"f64": 64, "f32": 32, "tf32": 32, "s32": 32, "f16": 16, "bf16": 16}
BITS |= {"e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "s4": 4, "u4": 4}
FLOAT8 = ("e4m3", "e5m2")


def shapes() -> list[str]:
    of = {
        ("f64", "f64"): [(8, 4), (16, 4), (16, 8), (16, 16)],
        ("tf32", "f32"): [(16, 4), (16, 8)],
        ("f16", "f32"): [(16, 8), (16, 16)],
        ("f16", "f16"): [(16, 8), (16, 16)],
        ("bf16", "f32"): [(16, 8), (16, 16)],
    }
    for a, b in ((a, b) for a in FLOAT8 for b in FLOAT8):
        of[f"{a}.{b}", "f32"] = of[f"{a}.{b}", "f16"] = [(16, 16), (16, 32)]
    for w, ks in (
        (8, ((8, 16), (16, 16), (16, 32))),
        (4, ((8, 32), (16, 32), (16, 64))),
    ):
        for a, b in ((a, b) for a in "su" for b in "su"):
            of[f"{a}{w}.{b}{w}", "s32"] = list(ks)
    return [
        f"m{m}n8k{k}.row.col.{d}.{a if '.' in a else f'{a}.{a}'}.{d}"
        for (a, d), sizes in of.items()
        for m, k in sizes
    ]


def codes(t: str, x: np.ndarray) -> np.ndarray:
    """Numbers as registers hold them."""
    if t == "f64":
        return x.astype(np.float64).view(np.uint64)
    if t in ("f32", "tf32"):
        return bits32(x)
    if t == "f16":
        return x.astype(np.float16).view(np.uint16).astype(np.uint64)
    if t == "bf16":
        return bits32(x) >> np.uint64(16)
    if t in FLOAT8:
        return rounded(t, x.astype(np.float64), "rn", True)
    return x.astype(np.int64).astype(np.uint64) & np.uint64(2 ** BITS[t] - 1)


def values(t: str, x: np.ndarray) -> np.ndarray:
    if t == "f64":
        return x.view(np.float64)
    if t == "f32":
        return x.astype(np.uint32).view(np.float32).astype(np.float64)
    if t == "f16":
        return x.astype(np.uint16).view(np.float16).astype(np.float64)
    return x.astype(np.uint32).view(np.int32).astype(np.float64)


# "Matrix Fragments for mma.m8n8k4 .. m16n8k64": row and column of element i of A, by rows,
# k and bits of an element. g = groupID, s = threadID_in_group.
def halves(i, up, *more):
    """g + 8 but for elements from 0 up to `up`, and those between each pair of `more`."""
    upper = i < up
    if more:
        upper |= (more[0] <= i) & (i < more[1])
    return np.where(upper, 0, 8)


A = {
    (8, 4, 64): lambda g, s, i: (g + 0 * i, s + 0 * i),
    (8, 16, 8): lambda g, s, i: (g + 0 * i, s * 4 + i),
    (8, 32, 4): lambda g, s, i: (g + 0 * i, s * 8 + i),
    (16, 4, 32): lambda g, s, i: (g + halves(i, 1), s + 0 * i),
    (16, 8, 32): lambda g, s, i: (g + halves(i, 1, 2, 3), s + np.where(i < 2, 0, 4)),
    (16, 16, 64): lambda g, s, i: (
        g + i % 2 * 8,
        np.where(i % 2 == 0, i * 2, i * 2 - 2) + s,
    ),
    (16, 8, 16): lambda g, s, i: (g + halves(i, 2), s * 2 + (i & 1)),
    (16, 16, 16): lambda g, s, i: (
        g + halves(i, 2, 4, 6),
        s * 2 + (i & 1) + np.where(i < 4, 0, 8),
    ),
    (16, 16, 8): lambda g, s, i: (g + halves(i, 4), s * 4 + (i & 3)),
    (16, 32, 8): lambda g, s, i: (
        g + halves(i, 4, 8, 12),
        s * 4 + (i & 3) + np.where(i < 8, 0, 16),
    ),
    (16, 32, 4): lambda g, s, i: (g + halves(i, 8), s * 8 + (i & 7)),
    (16, 64, 4): lambda g, s, i: (
        g + halves(i, 8, 16, 24),
        s * 8 + (i & 7) + np.where(i < 16, 0, 32),
    ),
}
A[16, 4, 64], A[16, 8, 64] = A[16, 4, 32], A[16, 8, 32]
B = {  # by bits of an element
    64: lambda g, s, i: (s + 4 * i, g + 0 * i),
    16: lambda g, s, i: (s * 2 + (i & 1) + np.where(i < 2, 0, 8), g + 0 * i),
    8: lambda g, s, i: (s * 4 + (i & 3) + np.where(i < 4, 0, 16), g + 0 * i),
    4: lambda g, s, i: (s * 8 + (i & 7) + np.where(i < 8, 0, 32), g + 0 * i),
}
B[32] = B[64]


def fragment(t: str, which: str, shape: tuple, n: int) -> tuple[np.ndarray, ...]:
    """(row, col) of element j of register r of lane l, as arrays [r, l, j]."""
    e = (64 if t == "f64" else 32) // BITS[t]
    r, lane, j = np.ogrid[:n, :32, :e]
    g, s, i = lane // 4, lane % 4, r * e + j
    if which == "a":
        return A[*shape, BITS[t]](g, s, i)
    if which == "b":
        return B[BITS[t]](g, s, i)
    return np.where(i < 2, g, g + 8), s * 2 + (i & 1)


def scatter(t: str, which: str, x: np.ndarray, n: int) -> np.ndarray:
    """The registers [n, 32] of a matrix."""
    row, col = fragment(t, which, x.shape, n)
    each = codes(t, np.ascontiguousarray(x[row, col]))
    shift = np.arange(each.shape[2], dtype=np.uint64) * np.uint64(BITS[t] % 64)
    return np.bitwise_or.reduce(each << shift, axis=2)


def collect(t: str, regs: np.ndarray, m: int) -> np.ndarray:
    row, col = fragment(t, "d", m, len(regs))
    shift = np.arange(row.shape[2], dtype=np.uint64) * np.uint64(BITS[t] % 64)
    mask = np.uint64(2 ** BITS[t] - 1)
    out = np.full((m, 8), np.nan)
    out[row, col] = values(t, np.ascontiguousarray(regs[:, :, None] >> shift & mask))
    assert not np.isnan(out).any() or t in ("f16", "f32", "f64")
    return out


def run(sim, op: str, a: np.ndarray, b: np.ndarray, c: np.ndarray, alias=False):
    m = Mma()
    assert sim.mma(op.encode(), ctypes.byref(m), None, None, None, None), op
    d_t, a_t, b_t, c_t = op.split(".")[-4:]
    assert (m.m, m.k) == a.shape
    fa, fb = scatter(a_t, "a", a, m.a_regs), scatter(b_t, "b", b, m.b_regs)
    fc = scatter(c_t, "c", c, m.c_regs)
    junk = np.uint64(0xDEAD << 48) if d_t != "f64" else np.uint64(0)
    fa, fb, fc = fa | junk, fb | junk, fc | junk  # above the registers: ignored
    fd = fc if alias else np.full((m.d_regs, 32), 7, np.uint64)
    sim.mma(op.encode(), ctypes.byref(m), *map(pointer, (fd, fa, fb, fc)))
    assert d_t == "f64" or not (fd >> np.uint64(32)).any()
    return collect(d_t, fd, m.m)


def sizes_of(op: str) -> tuple[int, int]:
    m, k = re.search(r"\.m(\d+)n8k(\d+)\.", op).groups()
    return int(m), int(k)


@pytest.mark.parametrize("shape", shapes())
def test_mma_of_small_integers_is_exact(sim, shape):
    op = f"mma.sync.aligned.{shape}"
    m, k = sizes_of(op)
    rng = np.random.default_rng(k)
    a_t, b_t = op.split(".")[-3:-1]
    lo_a, lo_b = (0 if t[0] == "u" else -4 for t in (a_t, b_t))
    for alias in (False, True):
        a = rng.integers(lo_a, 5, (m, k))
        b = rng.integers(lo_b, 5, (k, 8))
        c = rng.integers(-50, 50, (m, 8))
        assert np.array_equal(run(sim, op, a, b, c, alias), a @ b + c)


@pytest.mark.parametrize("shape", [s for s in shapes() if ".s32." not in s])
def test_mma_of_random_numbers(sim, shape):
    op = f"mma.sync.aligned.{shape}"
    m, k = sizes_of(op)
    rng = np.random.default_rng(k + 1)
    d_t, a_t, b_t, _ = op.split(".")[-4:]

    def some(t, *size):
        x = rng.normal(size=size)
        if t in FLOAT8:
            grid = numbers(t)
            return np.copysign(grid[rounded(t, np.abs(x), "rn", True).astype(int)], x)
        if t == "bf16":
            return (x.astype(np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32)
        if t == "tf32":
            return (x.astype(np.float32).view(np.uint32) & 0xFFFFE000).view(np.float32)
        return x.astype({"f16": np.float16, "f64": np.float64}.get(t, np.float32))

    a, b, c = some(a_t, m, k), some(b_t, k, 8), some(d_t, m, 8)
    want = a.astype(np.float64) @ b.astype(np.float64) + c.astype(np.float64)
    eps = {"f64": 2.0**-50, "f32": 2.0**-22, "f16": 2.0**-10}[d_t]
    got = run(sim, op, a, b, c)
    assert (np.abs(got - want) <= eps * (np.abs(want) + 1)).all()


def test_tf32_ignores_what_it_cuts(sim):
    """13 bits below: not rounded, not there."""
    op = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
    a = np.zeros((16, 8), np.float32)
    a[:, 0] = np.nextafter(np.float32(2), np.float32(0))
    b = np.zeros((8, 8), np.float32)
    b[0] = 1
    assert (run(sim, op, a, b, np.zeros((16, 8))) == 2 - 2.0**-10).all()


def test_one_rounding_at_the_end(sim):
    op = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    a, b = np.zeros((16, 16)), np.ones((16, 8))
    a[:, :3] = 4096, 2.0**-12, -4096
    assert (run(sim, op, a, b, np.zeros((16, 8))) == 2.0**-12).all()


def test_nan_and_infinity(sim):
    for t, d in (("f16", "f32"), ("bf16", "f32"), ("e5m2", "f32"), ("f16", "f16")):
        k = 32 if t == "e5m2" else 16
        op = f"mma.sync.aligned.m16n8k{k}.row.col.{d}.{t}.{t}.{d}"
        a, b = np.zeros((16, k)), np.ones((k, 8))
        a[0, 0], a[1, 1], a[2, :2] = np.inf, np.nan, (np.inf, -np.inf)
        if t == "e5m2":  # satfinite would make it finite: through the registers
            m = Mma()
            sim.mma(op.encode(), ctypes.byref(m), None, None, None, None)
            a[0, 0] = a[2, 0] = a[2, 1] = a[1, 1] = 0
            fa, fb = scatter(t, "a", a, m.a_regs), scatter(t, "b", b, m.b_regs)
            fc, fd = (np.zeros((4, 32), np.uint64) for _ in range(2))
            fa[0, 0] |= np.uint64(0x7C)  # row 0: infinity
            fa[0, 4] |= np.uint64(0x7E00)  # row 1: NaN
            fa[0, 8] |= np.uint64(0xFC7C)  # row 2: infinity and its negative
            sim.mma(op.encode(), ctypes.byref(m), *map(pointer, (fd, fa, fb, fc)))
            got = collect(d, fd, 16)
        else:
            got = run(sim, op, a, b, np.zeros((16, 8)))
        assert (got[0] == np.inf).all()
        assert np.isnan(got[1:3]).all()
        assert (got[3:] == 0).all()


def test_integers_wrap_or_clamp(sim):
    a, b = np.full((16, 32), 127), np.full((32, 8), 127)
    c = np.full((16, 8), 2**31 - 1)
    name = "m16n8k32.row.col{}.s32.s8.s8.s32"
    got = run(sim, "mma.sync.aligned." + name.format(""), a, b, c)
    assert (got == 32 * 127 * 127 - 2**31 - 1).all()
    got = run(sim, "mma.sync.aligned." + name.format(".satfinite"), a, b, c)
    assert (got == 2**31 - 1).all()
    got = run(sim, "mma.sync.aligned." + name.format(".satfinite"), -a, b, -c - 1)
    assert (got == -(2**31)).all()


def test_kind_f8f6f4(sim):
    op = "mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.e4m3.e5m2.f32"
    rng = np.random.default_rng(8)
    a, b = rng.integers(-4, 5, (16, 32)), rng.integers(-4, 5, (32, 8))
    c = rng.integers(-50, 50, (16, 8))
    assert np.array_equal(run(sim, op, a, b, c), a @ b + c)


def test_all_that_the_compiler_emits_is_known(sim):
    """Only their names are taken from its table."""
    table = (ROOT / "csrc/layout/mma.h").read_text()
    rows = re.findall(r"MMA\(\w+,\s+(\w+),\s+(\w+),\s+(\w+),\s+(\d+),\s+(\d+),", table)
    assert len(rows) > 10
    for a, b, d, m, k in rows:
        a, b, d = a.lower(), b.lower(), d.lower()
        op = f"mma.sync.aligned.m{m}n8k{k}.row.col.{d}.{a}.{b}.{d}"
        assert sim.mma(op.encode(), ctypes.byref(Mma()), None, None, None, None), op


NOT_MMA = [
    "m16n8k16.row.row.f32.f16.f16.f32", "m16n8k16.row.col.f32.f16.bf16.f32",
    "m16n8k32.row.col.f32.f16.f16.f32", "m8n8k16.row.col.f32.f16.f16.f32",
    "m16n8k32.row.col.s32.s8.s4.s32", "m16n8k16.row.col.satfinite.f32.f16.f16.f32",
    "m16n8k16.row.col.f32.f16.f16", "m16n8k16.row.col.f32.f16.f16.f32.f32",
    "m16n16k16.row.col.f32.f16.f16.f32", "m16n8k.row.col.f32.f16.f16.f32",
    "m16n8k99999.row.col.f32.f16.f16.f32", "kind::f8f6f4.m16n8k16.row.col.f32.f16.f16.f32",
    "kind::mxf4.m16n8k64.row.col.f32.e2m1.e2m1.f32", "m16n8k16.row.col.bf16.bf16.bf16.bf16",
    "", "m16n8k16",
]  # fmt: skip


@pytest.mark.parametrize("shape", NOT_MMA)
def test_no_such_mma(sim, shape):
    op = f"mma.sync.aligned.{shape}"
    assert not sim.mma(op.encode(), ctypes.byref(Mma()), None, None, None, None)


def rows_of(memory: np.ndarray) -> ctypes.Array:
    """A pointer to each row; NULL for the lanes whose addresses are not read."""
    at = [memory[i].ctypes.data for i in range(len(memory))]
    return (ctypes.c_void_p * 32)(*at)


@pytest.mark.parametrize("trans", ["", ".trans"])
@pytest.mark.parametrize("n", [1, 2, 4])
def test_ldmatrix_and_stmatrix(sim, n, trans):
    rng = np.random.default_rng(n)
    memory = rng.integers(0, 65536, (8 * n, 8)).astype(np.uint16)
    reg = np.full((n, 32), 2**64 - 1, np.uint64)
    op = f"matrix.sync.aligned.m8n8.x{n}{trans}.shared.b16"
    assert sim.matrix(("ld" + op).encode(), rows_of(memory), pointer(reg)) == n
    for i in range(n):
        x = memory[8 * i : 8 * i + 8].astype(np.uint64)
        x = x.T if trans else x
        # Row-major pairs in the order of lanes.
        want = x.reshape(32, 2)[:, 0] | x.reshape(32, 2)[:, 1] << np.uint64(16)
        assert (reg[i] == want).all()
    back = np.zeros_like(memory)
    assert sim.matrix(("st" + op).encode(), rows_of(back), pointer(reg)) == n
    assert (back == memory).all()


def test_ldmatrix_feeds_mma(sim):
    """The instruction's purpose: A as it lies, B [K, N] with .trans, B [N, K] without."""
    rng = np.random.default_rng(4)
    a, b = rng.integers(-8, 8, (16, 16)), rng.integers(-8, 8, (16, 8))
    op = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"

    def load(tiles: list[np.ndarray], trans: str) -> np.ndarray:
        memory = np.ascontiguousarray(np.concatenate(tiles).astype(np.float16))
        reg = np.zeros((len(tiles), 32), np.uint64)
        name = f"ldmatrix.sync.aligned.m8n8.x{len(tiles)}{trans}.shared.b16"
        assert sim.matrix(name.encode(), rows_of(memory), pointer(reg))
        return reg

    fa = load([a[:8, :8], a[8:, :8], a[:8, 8:], a[8:, 8:]], "")
    for fb in (
        load([b[:8], b[8:]], ".trans"),
        load([b[:8].T, b[8:].T], ""),
    ):
        fc, fd = np.zeros((4, 32), np.uint64), np.zeros((4, 32), np.uint64)
        sim.mma(op.encode(), ctypes.byref(Mma()), *map(pointer, (fd, fa, fb, fc)))
        assert np.array_equal(collect("f32", fd, 16), a @ b)


NOT_MATRIX = [
    "ldmatrix.sync.aligned.m8n8.x3.shared.b16", "movmatrix.sync.aligned.m8n8.trans.b16",
    "ldmatrix.sync.aligned.m8n8.x4.global.b16", "ldmatrix.sync.aligned.m8n8.x4.b16.x",
    "ldmatrix.sync.aligned.m16n16.x1.shared.b8", "ldmatrix",
]  # fmt: skip


@pytest.mark.parametrize("op", NOT_MATRIX)
def test_no_such_matrix(sim, op):
    assert not sim.matrix(op.encode(), None, None)


# ---- costs ---------------------------------------------------------------------------
def cost(
    sim, name: str, at: list[int], n_bytes: int, mask: int = 2**32 - 1
) -> list[int]:
    address = np.array((at * 32)[:32] if len(at) < 32 else at, np.uint64)
    out = (ctypes.c_int * 3)()
    sim.cost(name.encode(), ctypes.c_uint32(mask), pointer(address), n_bytes, out)
    return list(out)


LANES = range(32)


@pytest.mark.parametrize(
    ("at", "n_bytes", "mask", "want"),
    [
        ([4 * i for i in LANES], 4, 2**32 - 1, [128, 4]),
        ([16 * i for i in LANES], 16, 2**32 - 1, [512, 16]),
        ([4 * i + 4 for i in LANES], 4, 2**32 - 1, [128, 5]),
        ([1024 * i for i in LANES], 4, 2**32 - 1, [128, 32]),
        ([0] * 32, 4, 2**32 - 1, [4, 1]),
        ([4 * i for i in LANES], 4, 0xFF, [32, 1]),
        ([4 * i for i in LANES], 4, 0, [0, 0]),
        ([24 + 16 * i for i in LANES], 16, 1, [16, 2]),
        ([2**40 + 2 * (31 - i) for i in LANES], 2, 2**32 - 1, [64, 2]),
    ],
)
def test_sectors(sim, at, n_bytes, mask, want):
    assert cost(sim, "global", at, n_bytes, mask)[:2] == want


def swizzled(i: int) -> int:
    return i * 128 + (i % 8) * 16


@pytest.mark.parametrize(
    ("at", "n_bytes", "mask", "want"),
    [  # bytes, phases, wavefronts
        ([4 * i for i in LANES], 4, 2**32 - 1, [128, 1, 1]),
        ([4 * (31 - i) for i in LANES], 4, 2**32 - 1, [128, 1, 1]),
        ([8 * i for i in LANES], 4, 2**32 - 1, [128, 1, 2]),
        ([128 * i for i in LANES], 4, 2**32 - 1, [128, 1, 32]),
        ([132 * i for i in LANES], 4, 2**32 - 1, [128, 1, 1]),
        ([0] * 32, 4, 2**32 - 1, [4, 1, 1]),
        ([2 * i for i in LANES], 2, 2**32 - 1, [64, 1, 1]),
        (list(LANES), 1, 2**32 - 1, [32, 1, 1]),
        ([8 * i for i in LANES], 8, 2**32 - 1, [256, 2, 2]),
        ([8 * (i % 16) for i in LANES], 8, 2**32 - 1, [128, 2, 2]),
        ([16 * i for i in LANES], 8, 2**32 - 1, [256, 2, 4]),
        ([16 * i for i in LANES], 16, 2**32 - 1, [512, 4, 4]),
        ([128 * i for i in LANES], 16, 2**32 - 1, [512, 4, 32]),
        ([swizzled(i) for i in LANES], 16, 2**32 - 1, [512, 4, 4]),
        ([16 * i for i in LANES], 16, 0xFF00, [128, 1, 1]),
        ([128 * i for i in LANES], 4, 0x3, [8, 1, 2]),
        ([4 * i for i in LANES], 4, 0, [0, 0, 0]),
    ],
)
def test_wavefronts(sim, at, n_bytes, mask, want):
    assert cost(sim, "shared", at, n_bytes, mask) == want


def test_wavefronts_of_atomics(sim):
    assert cost(sim, "atomic", [0] * 32, 4) == [4, 1, 32]
    assert cost(sim, "atomic", [4 * i for i in LANES], 4) == [128, 1, 1]
    assert cost(sim, "atomic", [4 * (i % 8) for i in LANES], 4) == [32, 1, 4]


def test_wavefronts_by_brute_force(sim):
    """Of random accesses: the most words any bank is asked for, phase by phase."""
    rng = np.random.default_rng(0)
    for n_bytes in (1, 2, 4, 8, 16):
        for _ in range(50):
            at = rng.integers(0, 64, 32) * n_bytes * int(rng.integers(1, 9))
            mask = int(rng.integers(0, 2**32)) | 1
            lanes = 32 // max(1, n_bytes // 4)
            phases = waves = 0
            for first in range(0, 32, lanes):
                asked = {
                    w
                    for i in range(first, first + lanes)
                    if mask >> i & 1
                    for w in range(at[i] // 4, (at[i] + n_bytes - 1) // 4 + 1)
                }
                phases += bool(asked)
                banks = [w % 32 for w in asked]
                waves += max((banks.count(b) for b in set(banks)), default=0)
            got = cost(sim, "shared", at.tolist(), n_bytes, mask)
            assert got[1:] == [phases, waves], (at, n_bytes, mask)
