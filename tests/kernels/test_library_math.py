"""What code for GPUs calls, in the user's LLVM code on every target: NVVM's intrinsics, and
libdevice; LLVM's own functions as symbols."""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula import toolchain
from tegula.language import core

F = {"float": np.float32, "double": np.float64, "i32": np.int32, "i64": np.int64}
NAMES = {"float": "fp32", "double": "fp64", "i32": "int32", "i64": "int64"}


def toward(x: np.ndarray, bits: type, direction: float) -> np.ndarray:
    """float128 to the nearest of a narrower type in that direction."""
    near = x.astype(bits)
    wide = near.astype(np.longdouble)
    if direction == 0:
        wrong = np.abs(wide) > np.abs(x)
        away = np.zeros_like(near)
    else:
        wrong = wide < x if direction > 0 else wide > x
        away = np.full_like(near, direction * np.inf)
    return np.where(wrong, np.nextafter(near, away), near)


def wide(fn: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *x: fn(*(a.astype(np.longdouble) for a in x))


DIRECTIONS = {"rz": 0.0, "rm": -np.inf, "rp": np.inf, "rd": -np.inf, "ru": np.inf}
ADD, MUL = wide(lambda x, y: x + y), wide(lambda x, y: x * y)
# The function; what it is called with; what it gives; what that is. Exactly.
EXACT: list[tuple[str, str, str, Callable[..., Any]]] = [
    ("llvm.nvvm.fabs.f32", "float", "float", np.abs),
    ("llvm.nvvm.floor.f", "float", "float", np.floor),
    ("llvm.nvvm.ceil.d", "double", "double", np.ceil),
    ("llvm.nvvm.trunc.f", "float", "float", np.trunc),
    ("llvm.nvvm.round.f", "float", "float", np.rint),
    ("llvm.nvvm.saturate.f", "float", "float", lambda x: np.clip(x, 0, 1)),
    ("llvm.nvvm.fmin.f", "float float", "float", np.minimum),
    ("llvm.nvvm.fmax.d", "double double", "double", np.maximum),
    ("llvm.nvvm.sqrt.rn.f", "float", "float", np.sqrt),
    ("llvm.nvvm.rcp.rn.d", "double", "double", lambda x: 1 / x),
    ("llvm.nvvm.div.rn.f", "float float", "float", lambda x, y: x / y),
    ("llvm.nvvm.add.rn.f", "float float", "float", lambda x, y: x + y),
    ("llvm.nvvm.mul.rn.d", "double double", "double", lambda x, y: x * y),
    *(
        (f"llvm.nvvm.{op}.{m}.f", "float float", "float",
         lambda x, y, fn=fn, m=m: toward(fn(x, y), np.float32, DIRECTIONS[m]))
        for op, fn in (("add", ADD), ("mul", MUL)) for m in ("rz", "rm", "rp")
    ),
    *(
        (f"llvm.nvvm.f2i.{m}", "float", "i32", fn)
        for m, fn in (("rn", np.rint), ("rz", np.trunc), ("rm", np.floor), ("rp", np.ceil))
    ),
    ("llvm.nvvm.d2ll.rz", "double", "i64", np.trunc),
    ("llvm.nvvm.f2ui.rz", "float", "i32", lambda x: np.trunc(np.maximum(x, 0))),
    ("llvm.nvvm.i2f.rn", "i32", "float", lambda x: x.astype(np.float32)),
    ("llvm.nvvm.ll2d.rn", "i64", "double", lambda x: x.astype(np.float64)),
    ("llvm.nvvm.i2f.rz", "i32", "float",
     lambda x: toward(x.astype(np.longdouble), np.float32, 0.0)),
    ("llvm.nvvm.d2f.rm", "double", "float",
     lambda x: toward(x.astype(np.longdouble), np.float32, -np.inf)),
    ("llvm.nvvm.lohi.i2d", "i32 i32", "double",
     lambda lo, hi: ((hi.astype(np.int64) << 32) | (lo.astype(np.int64) & 0xFFFFFFFF))
     .view(np.float64)),
    ("llvm.nvvm.d2i.hi", "double", "i32", lambda x: (x.view(np.int64) >> 32)),
    ("llvm.nvvm.mulhi.i", "i32 i32", "i32",
     lambda x, y: (x.astype(np.int64) * y.astype(np.int64)) >> 32),
    ("llvm.nvvm.mulhi.ui", "i32 i32", "i32",
     lambda x, y: ((x.view(np.uint32).astype(np.uint64) * y.view(np.uint32)) >> 32)),
    ("llvm.nvvm.sad.i", "i32 i32 i32", "i32", lambda x, y, z: np.abs(x - y) + z),
    ("llvm.nvvm.prmt", "i32 i32 i32", "i32", None),
    ("__nv_fadd_rz", "float float", "float",
     lambda x, y: toward(ADD(x, y), np.float32, 0.0)),
    ("__nv_dmul_ru", "double double", "double", None),
    ("__nv_fmaf_rd", "float float float", "float", None),
    ("__nv_float2int_rz", "float", "i32", np.trunc),
    ("__nv_int2float_ru", "i32", "float",
     lambda x: toward(x.astype(np.longdouble), np.float32, np.inf)),
    ("__nv_popc", "i32", "i32", lambda x: [bin(int(v) & 0xFFFFFFFF).count("1") for v in x]),
    ("__nv_clz", "i32", "i32",
     lambda x: [32 - (int(v) & 0xFFFFFFFF).bit_length() for v in x]),
    ("__nv_ffs", "i32", "i32", lambda x: [(int(v) & -int(v)).bit_length() for v in x]),
    ("__nv_brev", "i32", "i32",
     lambda x: [int(f"{int(v) & 0xFFFFFFFF:032b}"[::-1], 2) for v in x]),
    ("__nv_abs", "i32", "i32", np.abs),
    ("__nv_isnanf", "float", "i32", np.isnan),
    ("__nv_floorf", "float", "float", np.floor),
    ("__nv_copysignf", "float float", "float", np.copysign),
    ("__nv_byte_perm", "i32 i32 i32", "i32", None),
    ("__nv_hadd", "i32 i32", "i32",
     lambda x, y: (x.astype(np.int64) + y.astype(np.int64)) >> 1),
]  # fmt: skip
# The same to so many ulp.
CLOSE: list[tuple[str, str, str, Callable[..., Any], int]] = [
    ("llvm.nvvm.sqrt.approx.f", "float", "float", np.sqrt, 2),
    ("llvm.nvvm.rsqrt.approx.f", "float", "float", lambda x: 1 / np.sqrt(x), 2),
    ("__nv_expf", "float", "float", np.exp, 2),
    ("__nv_log2f", "float", "float", np.log2, 2),
    ("__nv_sin", "double", "double", np.sin, 2),
    ("__nv_powf", "float float", "float", np.power, 8),
    ("__nv_tanh", "double", "double", np.tanh, 2),
    ("__nv_erff", "float", "float", np.vectorize(math.erf), 2),
    ("__nv_rsqrtf", "float", "float", lambda x: 1 / np.sqrt(x), 2),
    ("__nv_sinpif", "float", "float", lambda x: np.sin(np.pi * x), 4),
    ("__nv_hypotf", "float float", "float", np.hypot, 2),
    ("__nv_fast_expf", "float", "float", np.exp, 40),
    ("__nv_normcdff", "float", "float",
     lambda x: 0.5 * np.vectorize(math.erfc)(-x / math.sqrt(2)), 8),
]  # fmt: skip


def source() -> str:
    out = ['target triple = "nvptx64-nvidia-cuda"']
    for name, args, ret, *_ in [*EXACT, *CLOSE]:
        types = args.split()
        given = ", ".join(f"{t} %x{i}" for i, t in enumerate(types))
        out += [
            f"declare {ret} @{name}({', '.join(types)})",
            f"define {ret} @{symbol_of(name)}({given}) {{",
            f"  %r = call {ret} @{name}({given})",
            f"  ret {ret} %r",
            "}",
        ]
    return "\n".join(out)


def symbol_of(name: str) -> str:
    return "mine_" + re.sub(r"\W", "_", name)


PLACE = tempfile.TemporaryDirectory(prefix="tegula-library-")
LIBRARY = tl.constexpr(str(Path(PLACE.name) / "math.ll"))
Path(LIBRARY.value).write_text(source())


@tegula.jit
def kernel(
    x, y, z, out, LIB: tl.constexpr, SYMBOL: tl.constexpr, N: tl.constexpr,
    T: tl.constexpr, RET: tl.constexpr,
):  # fmt: skip
    i = tl.arange(0, 64)
    if N == 1:
        r = core.extern_elementwise(
            "mine", LIB, [tl.load(x + i)], {(T,): (SYMBOL, RET)}, True
        )
    elif N == 2:
        r = core.extern_elementwise(
            "mine", LIB, [tl.load(x + i), tl.load(y + i)], {(T, T): (SYMBOL, RET)}, True
        )
    else:
        r = core.extern_elementwise(
            "mine",
            LIB,
            [tl.load(x + i), tl.load(y + i), tl.load(z + i)],
            {(T, T, T): (SYMBOL, RET)},
            True,
        )
    tl.store(out + i, r)


def values(name: str, t: str, k: int) -> np.ndarray:
    rng = np.random.default_rng(k)
    if t in ("i32", "i64"):
        x = rng.integers(-(2**31), 2**31, 64) >> rng.integers(0, 32, 64)
        x = x // 2 if "sad" in name else x
        return x.astype(F[t])
    x = rng.normal(size=64) * 10.0 ** rng.integers(-3, 4, 64)
    if any(w in name for w in ("sqrt", "log", "pow")):
        x = np.abs(x)
    if any(w in name for w in ("exp", "pow", "tanh", "erf", "normcdf")):
        x = np.clip(x, -9, 9)
    return x.astype(F[t])


def run(anywhere: Any, name: str, symbol: str, args: str, ret: str, lib: str) -> Any:
    types = args.split()
    x = [values(name, types[0], k) for k in range(3)]
    out = anywhere.poison((64,), F[ret])
    kernel[(1,)](
        *map(anywhere.put, x), out, LIB=lib, SYMBOL=symbol, N=len(types),
        T=core.dtype(NAMES[types[0]]), RET=core.dtype(NAMES[ret]),
        enable_reflect_ftz=False,
    )  # fmt: skip
    return anywhere.get(out), x[: len(types)]


def refused(anywhere: Any, name: str, args: str, ret: str) -> bool:
    """Code for GPUs on the CPU and in the interpreter; without CUDA's file nothing runs."""
    if not anywhere.is_ptx:
        with pytest.raises(
            tegula.errors.UnsupportedError, match="which is code for GPUs, is"
        ):
            run(anywhere, name, symbol_of(name), args, ret, LIBRARY.value)
    elif name.startswith("__nv") and not toolchain.find_libdevice():
        pytest.skip("no libdevice.10.bc")
    return not anywhere.is_ptx


@pytest.mark.parametrize(
    ("name", "args", "ret", "want"), EXACT, ids=[c[0] for c in EXACT]
)
def test_exactly(anywhere: Any, name: str, args: str, ret: str, want: Any) -> None:
    if refused(anywhere, name, args, ret):
        return
    got, x = run(anywhere, name, symbol_of(name), args, ret, LIBRARY.value)
    if want is None:
        want = REFERENCE[name]
    with np.errstate(all="ignore"):
        right = np.asarray(want(*x)).astype(np.int64 if ret[0] == "i" else F[ret])
    if ret == "i32":
        right = right.astype(np.int32)
    np.testing.assert_array_equal(got, right)


def permuted(
    x: np.ndarray, y: np.ndarray, how: np.ndarray, used: int = 15
) -> list[int]:
    out = []
    for a, b, s in zip(x.tolist(), y.tolist(), how.tolist(), strict=True):
        both = ((b & 0xFFFFFFFF) << 32 | a & 0xFFFFFFFF).to_bytes(8, "little")
        r = 0
        for i in range(4):
            nibble = s >> 4 * i & used
            byte = both[nibble & 7]
            if nibble & 8:
                byte = 255 if byte & 128 else 0
            r |= byte << 8 * i
        out.append(r)
    return out


def exact_sum(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    from fractions import Fraction

    out = []
    for a, b, c in zip(x, y, z, strict=True):
        true = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        near = np.float32(float(true))
        while Fraction(float(near)) > true:
            near = np.nextafter(near, np.float32(-np.inf))
        while Fraction(float(np.nextafter(near, np.float32(np.inf)))) <= true:
            near = np.nextafter(near, np.float32(np.inf))
        out.append(near)
    return np.array(out, np.float32)


def product_up(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    from fractions import Fraction

    out = []
    for a, b in zip(x, y, strict=True):
        true, near = Fraction(float(a)) * Fraction(float(b)), a * b
        while Fraction(float(near)) < true:
            near = np.nextafter(near, np.inf)
        out.append(near)
    return np.array(out)


REFERENCE = {
    "llvm.nvvm.prmt": permuted,
    "__nv_byte_perm": lambda x, y, how: permuted(x, y, how, used=7),
    "__nv_fmaf_rd": exact_sum,
    "__nv_dmul_ru": product_up,
}


@pytest.mark.parametrize(
    ("name", "args", "ret", "want", "ulp"), CLOSE, ids=[c[0] for c in CLOSE]
)
def test_closely(
    anywhere: Any, name: str, args: str, ret: str, want: Any, ulp: int
) -> None:
    if refused(anywhere, name, args, ret):
        return
    got, x = run(anywhere, name, symbol_of(name), args, ret, LIBRARY.value)
    with np.errstate(all="ignore"):
        right = np.asarray(want(*(a.astype(np.float64) for a in x)))
    if name.startswith("__nv"):
        ulp = 100  # CUDA's own, of instructions whose last bits are the machine's
    error = np.abs(got.astype(np.float64) - right) / np.spacing(
        np.abs(right).astype(F[ret])
    )
    assert error.max() <= ulp


# --- functions that need no file -------------------------------------------------------
NO_FILE: list[tuple[str, str, str, Callable[..., Any], int]] = [
    ("llvm.ceil.f32", "float", "float", np.ceil, 0),
    ("llvm.fma.f64", "double double double", "double", lambda x, y, z: x * y + z, 2),
    ("llvm.fabs.f32", "float", "float", np.abs, 0),
    ("llvm.maximum.f32", "float float", "float", np.maximum, 0),
    ("llvm.minnum.f64", "double double", "double", np.minimum, 0),
    ("llvm.copysign.f32", "float float", "float", np.copysign, 0),
    ("llvm.sqrt.f32", "float", "float", np.sqrt, 0),
    ("llvm.roundeven.f32", "float", "float", np.rint, 0),
    ("llvm.round.f64", "double", "double", None, 0),
    ("llvm.exp.f64", "double", "double", np.exp, 2),
    ("llvm.log10.f32", "float", "float", np.log10, 4),
    ("llvm.tanh.f32", "float", "float", np.tanh, 4),
    ("llvm.smax.i32", "i32 i32", "i32", np.maximum, 0),
    ("__nv_fminf", "float float", "float", np.minimum, 0),
    ("__nv_fmax", "double double", "double", np.maximum, 0),
    ("__nv_min", "i32 i32", "i32", np.minimum, 0),
    ("__nv_llmax", "i64 i64", "i64", np.maximum, 0),
    ("__nv_umax", "i32 i32", "i32", None, 0),
    ("__nv_fmaf_ieee_rd", "float float float", "float", exact_sum, 0),
    ("llvm.umin.i64", "i64 i64", "i64", None, 0),
    ("llvm.ctpop.i32", "i32", "i32", None, 0),
    ("llvm.fshl.i32", "i32 i32 i32", "i32", None, 0),
    ("llvm.sadd.sat.i32", "i32 i32", "i32", None, 0),
]
LLVM_REFERENCE: dict[str, Callable[..., Any]] = {
    "llvm.round.f64": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
    "llvm.umin.i64": lambda x, y: np.minimum(x.view(np.uint64), y.view(np.uint64)).view(
        np.int64
    ),
    "__nv_umax": lambda x, y: np.maximum(x.view(np.uint32), y.view(np.uint32)).view(
        np.int32
    ),
    "llvm.ctpop.i32": lambda x: [bin(int(v) & 0xFFFFFFFF).count("1") for v in x],
    "llvm.fshl.i32": lambda x, y, z: [
        (((int(a) & 0xFFFFFFFF) << 32 | int(b) & 0xFFFFFFFF) << (int(c) & 31)) >> 32
        & 0xFFFFFFFF
        for a, b, c in zip(x, y, z, strict=True)
    ],
    "llvm.sadd.sat.i32": lambda x, y: np.clip(
        x.astype(np.int64) + y, -(2**31), 2**31 - 1
    ),
}


@pytest.mark.parametrize(
    ("name", "args", "ret", "want", "ulp"), NO_FILE, ids=[c[0] for c in NO_FILE]
)
def test_functions_that_need_no_file(
    anywhere: Any, name: str, args: str, ret: str, want: Any, ulp: int
) -> None:
    got, x = run(anywhere, name, name, args, ret, "")
    with np.errstate(all="ignore"):
        right = np.asarray((want or LLVM_REFERENCE[name])(*x))
    if ret[0] == "i":
        np.testing.assert_array_equal(got, right.astype(np.int64).astype(F[ret]))
        return
    error = np.abs(got.astype(np.float64) - right) / np.spacing(
        np.abs(right).astype(F[ret])
    )
    assert error.max() <= ulp


@tegula.jit
def constant_kernel(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    table: tl.constexpr = {
        (core.dtype("int32"), core.dtype("int1")): (
            "llvm.ctlz.i32",
            core.dtype("int32"),
        )
    }
    is_poison = tl.full((), False, tl.int1)
    r = core.extern_elementwise("", "", [tl.load(x + i), is_poison], table, True)
    tl.store(out + i, r)


@pytest.mark.parametrize("n", [16, 9])
def test_a_constant_operand_of_llvm(anywhere: Any, n: int) -> None:
    x, out = np.arange(n, dtype=np.int32), anywhere.poison((n,), np.int32)
    constant_kernel[(1,)](anywhere.put(x), out, N=n)
    want = [32 - int(v).bit_length() for v in x]
    assert anywhere.get(out).tolist() == want
