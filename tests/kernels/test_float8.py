"""float8 of every kind: all 256 codes, dense inputs to them, torch tensors, reinterpreted
memory, constants, arithmetic, comparisons and products.

The definition is beside: ml_dtypes where its types are ours, else the bits Triton's
conversion gives, worked out here in NumPy.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from element_types import table as values

import tegula
import tegula.language as tl
from tegula.compat.backends import GPUTarget

torch = pytest.importorskip("torch")

KINDS = ("float8e4nv", "float8e5", "float8e4b15", "float8e4b8", "float8e5b16")
FNUZ = {"float8e4b8": "float8_e4m3fnuz", "float8e5b16": "float8_e5m2fnuz"}
everywhere = pytest.mark.parametrize(
    "target", ("cpu", "interpreter", "emu:sm_80", "emu:sm_90a"), indirect=True
)


@tegula.jit
def up_kernel(x, y, KIND: tl.constexpr, TO: tl.constexpr):
    i = tl.arange(0, 256)
    tl.store(y + i, tl.load(x + i).to(KIND, bitcast=True).to(TO))


@tegula.jit
def down_kernel(x, y, n, KIND: tl.constexpr, ROUND: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    v = v.to(KIND, fp_downcast_rounding=ROUND)
    tl.store(y + i, v.to(tl.uint8, bitcast=True), mask=i < n)


def codes():
    return torch.arange(256, dtype=torch.int32).to(torch.uint8)


@everywhere
@pytest.mark.parametrize("kind", KINDS)
def test_every_code(kind, target):
    for to in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        y = torch.empty(256, dtype=to)
        up_kernel[(1,)](codes(), y, getattr(tl, kind), getattr(tl, str(to)[6:]))
        np.testing.assert_array_equal(y.double().numpy(), values(kind))
        signs = np.signbit(y.double().numpy()) == np.signbit(values(kind))
        assert signs[~np.isnan(values(kind))].all()


def to_e4b15(x):
    """Through float16 toward zero, cut at 1.75, then halves away from zero."""
    with np.errstate(invalid="ignore", over="ignore"):
        bits = x.astype(np.float64)
        f16 = bits.astype(np.float16)
        away = np.abs(f16.astype(np.float64)) > np.abs(bits)
    raw = f16.view(np.uint16).astype(np.int64)
    raw = np.where(away, raw - 1, raw)
    size = np.where((raw & 0x7FFF) > 0x3F00, 0x3F00, raw & 0x7FFF)
    code = (size * 2 + 0x80) >> 8 | (raw >> 8 & 0x80)
    return np.where(np.isnan(x), 0x7E, code).astype(np.uint8)


def to_nearest(x, kind):
    """Saturating; an infinity becomes the largest, or NaN of a type with one zero."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    if kind in FNUZ:
        dtype, top = getattr(ml_dtypes, FNUZ[kind]), values(kind)[127]
    else:
        name = {"float8e4nv": "float8_e4m3fn", "float8e5": "float8_e5m2"}[kind]
        dtype = getattr(ml_dtypes, name)
        top = {"float8e4nv": 448.0, "float8e5": 57344.0}[kind]
    cut = np.clip(x, -top, top)
    if kind in FNUZ:
        cut = np.where(np.isinf(x), np.nan, cut)
    with np.errstate(invalid="ignore"):
        code = cut.astype(dtype).view(np.uint8)
    return np.where(np.isnan(x), 0x80 if kind in FNUZ else 0x7F, code)


def dense(dtype):
    """Every float16 and bfloat16; float32 around every middle of two neighbours."""
    if dtype != torch.float32:
        bits = np.arange(65536).astype(np.uint16).view(np.int16)
        return torch.from_numpy(bits).view(dtype)
    near = np.arange(1 << 16, dtype=np.uint32) << 16
    near = np.concatenate([near + d for d in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)])
    return torch.from_numpy(near.astype(np.uint32).view(np.float32))


@everywhere
@pytest.mark.parametrize("kind", KINDS)
def test_dense_inputs(kind, target):
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        x = dense(dtype)
        if target != "cpu":  # slower there; another quarter for each type
            x = x[len(str(dtype)) % 4 :: 4].contiguous()
        y = torch.empty(len(x), dtype=torch.uint8)
        grid = (tegula.cdiv(len(x), 1024),)
        down_kernel[grid](x, y, len(x), getattr(tl, kind), None, 1024)
        v = x.float().numpy()
        want = to_e4b15(v) if kind == "float8e4b15" else to_nearest(v, kind)
        bad = np.flatnonzero(y.numpy() != want)
        nan = np.isnan(v[bad])  # of e4m3 and e5m2 the sign of a NaN is nobody's promise
        bad = bad[~nan] if kind in ("float8e4nv", "float8e5") else bad
        assert not len(bad), (v[bad[:4]], y.numpy()[bad[:4]], want[bad[:4]])


@pytest.mark.parametrize("kind", KINDS)
def test_toward_zero(kind):
    """float8e4b15 is rounded to nearest all the same, as Triton does."""
    x = torch.linspace(-3, 3, 4097)
    near, cut = (torch.empty(len(x), dtype=torch.uint8) for _ in range(2))
    args = len(x), getattr(tl, kind)
    down_kernel[(5,)](x, near, *args, "rtne", 1024)
    down_kernel[(5,)](x, cut, *args, "rtz", 1024)
    if kind == "float8e4b15":
        assert torch.equal(near, cut)
        return
    got, v = values(kind)[cut.numpy()], x.double().numpy()
    assert (np.abs(got) <= np.abs(v)).all()
    step = np.abs(v) * (0.25 if "e5" in kind else 0.125) + 2.0**-9
    assert (np.abs(got - v) < step).all()


@tegula.jit
def work_kernel(x, y, out, flags, ZERO: tl.constexpr):
    i = tl.arange(0, 256)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, tl.where(a < b, a, b))
    tl.store(out + 256 + i, tl.zeros((256,), x.dtype.element_ty))
    tl.store(out + 512 + i, tl.full((256,), 1.5, x.dtype.element_ty))
    tl.store(out + 768 + i, tl.load(x + i, mask=i < 200, other=1.0))
    tl.store(flags + i, (a == b).to(tl.int8) + 2 * (a <= b) + 4 * (a != a))


@everywhere
@pytest.mark.parametrize("kind", list(FNUZ))
def test_tensors_of_torch(kind, target):
    dtype = getattr(torch, FNUZ[kind])
    x = codes().view(dtype)
    y = codes().flip(0).contiguous().view(dtype)
    out = torch.empty(1024, dtype=torch.uint8).view(dtype)
    flags = torch.empty(256, dtype=torch.int32)
    work_kernel[(1,)](x, y, out, flags, 0)
    a, b = x.float(), y.float()
    same = torch.where(a < b, a, b).numpy()
    got = out.float().numpy()
    np.testing.assert_array_equal(got[:256], same)
    assert not out.view(torch.uint8)[256:512].any()
    assert (got[512:768] == 1.5).all()
    np.testing.assert_array_equal(got[768:968], a[:200].numpy())
    assert (got[968:] == 1.0).all()
    want = (a == b).int() + 2 * (a <= b).int() + 4 * (a != a).int()
    assert torch.equal(flags, want)


@tegula.jit
def dot_kernel(x, y, out, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, N), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(x + m[:, None] * K + k[None, :])
    b = tl.load(y + k[:, None] * N + n[None, :])
    tl.store(out + m[:, None] * N + n[None, :], tl.dot(a, b))


@everywhere
def test_reinterpreted(target):
    """Bytes that are float8e4b15 where a kernel reads them, as an operand of a product."""
    torch.manual_seed(0)
    x = torch.randint(0, 256, (32, 64), dtype=torch.uint8)
    y = torch.randint(0, 256, (64, 32), dtype=torch.uint8)
    out = torch.empty(32, 32)
    a, b = (tegula.reinterpret(t, tl.float8e4b15) for t in (x, y))
    dot_kernel[(1,)](a, b, out, 32, 64)
    v = values("float8e4b15")
    want = v[x.numpy()] @ v[y.numpy()]
    np.testing.assert_allclose(out.numpy(), want, rtol=0, atol=1e-4)


@tegula.jit
def negate_kernel(x, y):
    i = tl.arange(0, 256)
    a = tl.load(x + i)
    tl.store(y + i, -a)
    tl.store(y + 256 + i, tl.abs(a))


@everywhere
@pytest.mark.parametrize("kind", list(FNUZ))
def test_the_nan_has_no_sign(kind, target):
    dtype = getattr(torch, FNUZ[kind])
    y = torch.empty(512, dtype=torch.uint8)
    negate_kernel[(1,)](codes().view(dtype), y.view(dtype))
    v = values(kind)
    np.testing.assert_array_equal(values(kind)[y[:256].numpy()], -v)
    np.testing.assert_array_equal(values(kind)[y[256:].numpy()], np.abs(v))


@pytest.mark.parametrize("name", ("fp8e4b15", "fp8e4b8", "fp8e5b16"))
def test_signatures(name):
    types = {"x": f"*{name}", "y": f"*{name}", "out": f"*{name}", "flags": "*i32"}
    source = tegula.compiler.ASTSource(work_kernel, types, {"ZERO": 0})
    for chip in (80, 90):
        made = tegula.compile(source, target=GPUTarget("cuda", chip, 32))
        assert "st.global" in made.asm["ptx"]


@tegula.jit
def unused_kernel(x, y):
    i = tl.arange(0, 256)
    a = tl.load(x + i)
    pair = (a + a, a - 0)
    wide = pair[0] * a
    tl.store(y + i, pair[1])


@everywhere
def test_unused_arithmetic(target):
    """As Triton: an error only where something uses it (errors/type/type_fp8_add.py)."""
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        y = torch.zeros(256, dtype=torch.uint8)
        unused_kernel[(1,)](codes().view(dtype), y.view(dtype))
        assert torch.equal(y, codes())


@tegula.jit
def looped_kernel(x, n):
    a = tl.load(x)
    for _ in range(n):
        a = a + a
    tl.store(x + 1, 0.0)


def test_carried_arithmetic():
    with pytest.raises(tegula.CompileError, match=r"'\+' is not available on f8e5m2"):
        looped_kernel.lower("*fp8e5", "i32")


@tegula.jit
def masked_kernel(x, y, n):
    i = tl.arange(0, 16)
    pointer: tl.constexpr = tl.pointer_type(tl.float8e4nv)
    v = tl.load(x.to(pointer) + i, mask=i < n, other=2)
    tl.store(y + i, v.to(tl.float32))


@everywhere
def test_a_number_that_is_no_float(target):
    """Code 0x38 is 1."""
    y = np.zeros(16, np.float32)
    masked_kernel[(1,)](np.full(16, 0x38, np.uint8), y, 5)
    assert y.tolist() == [1.0] * 5 + [2.0] * 11


@tegula.jit
def quantise_kernel(x, y):
    i = tl.arange(0, 1024)
    pointer: tl.constexpr = tl.pointer_type(tl.float8e4nv)
    tl.store(y.to(pointer) + i, tl.load(x + i).to(tl.float8e4nv))


def test_two_are_converted_at_once():
    """A thread's 8 elements are two words of memory."""
    c = quantise_kernel.compile("*fp32:16", "*u8:16", target="cuda:sm_90a")
    assert c.asm["ptx"].count("cvt.rn.satfinite.e4m3x2.f32") == 4
    assert not re.search(r"prmt|bfi|or\.b32", c.asm["ptx"])
