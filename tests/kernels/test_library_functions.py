"""Functions of the user's LLVM code in kernels, on every target and in the interpreter."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula.language import core

FP32, INT32 = core.dtype("fp32"), core.dtype("int32")
PTR = core.pointer_type(INT32)


def adder(n: int) -> str:
    """float @add<n>(float ..): a + 2 b + 4 c + .."""
    args = ", ".join(f"float %x{i}" for i in range(n))
    lines = ["%s0 = fadd float %x0, 0.0"]
    for i in range(1, n):
        lines += [
            f"%m{i} = fmul float %x{i}, {float(2**i)}",
            f"%s{i} = fadd float %s{i - 1}, %m{i}",
        ]
    body = "\n  ".join(lines)
    return f"define float @add{n}({args}) {{\n  {body}\n  ret float %s{n - 1}\n}}\n"


# Without a triple: code for whatever the target is.
CODE = """
@table = internal addrspace(4) constant [4 x i32] [i32 2, i32 3, i32 5, i32 7]
@calls = addrspace(1) global i32 0

define float @mixed(i8 %a, i16 %b, i32 %c, i64 %d, half %e, bfloat %f, double %g,
                    i1 zeroext %h) #0 {
  %a1 = sitofp i8 %a to double
  %b1 = sitofp i16 %b to double
  %c1 = sitofp i32 %c to double
  %d1 = sitofp i64 %d to double
  %e1 = fpext half %e to double
  %f0 = fpext bfloat %f to float
  %f1 = fpext float %f0 to double
  %h1 = uitofp i1 %h to double
  %1 = fadd double %a1, %b1
  %2 = fadd double %1, %c1
  %3 = fadd double %2, %d1
  %4 = fadd double %3, %e1
  %5 = fadd double %4, %f1
  %6 = fadd double %5, %g
  %7 = fadd double %6, %h1
  %8 = fptrunc double %7 to float
  ret float %8
}
define { i16 } @wrapped_half({ i16 } %x, i8 %flag) {
  %b = extractvalue { i16 } %x, 0
  %h = bitcast i16 %b to half
  %two = fmul half %h, 2.0
  %c = icmp ne i8 %flag, 0
  %r = select i1 %c, half %two, half %h
  %i = bitcast half %r to i16
  %s = insertvalue { i16 } poison, i16 %i, 0
  ret { i16 } %s
}
define i32 @from_table(i32 %i) {
  %k = and i32 %i, 3
  %p = getelementptr [4 x i32], ptr addrspace(4) @table, i32 0, i32 %k
  %v = load i32, ptr addrspace(4) %p
  ret i32 %v
}
define i32 @bump(ptr %p, i32 %by) {
  %old = atomicrmw add ptr %p, i32 %by seq_cst
  ret i32 %old
}
define ptr @after(ptr %p, i32 %n) {
  %q = getelementptr i32, ptr %p, i32 %n
  ret ptr %q
}
define i32 @bump_own() {
  %p = addrspacecast ptr addrspace(1) @calls to ptr
  %old = atomicrmw add ptr %p, i32 1 seq_cst
  ret i32 7
}
define i32 @divide(i32 %x, i32 %y) {
  %q = sdiv i32 %x, %y
  %r = srem i32 %x, %y
  %s = mul i32 %q, 100
  %t = add i32 %s, %r
  ret i32 %t
}
; for ever where x is 0
define i32 @log_of(i32 %x) {
  br label %loop
loop:
  %v = phi i32 [ %x, %0 ], [ %half, %loop ]
  %n = phi i32 [ 0, %0 ], [ %n1, %loop ]
  %n1 = add i32 %n, 1
  %half = lshr i32 %v, 1
  %end = icmp eq i32 %v, 1
  br i1 %end, label %out, label %loop
out:
  ret i32 %n
}
define i32 @larger(i32 %x, i32 %y) {
  %c = icmp sgt i32 %x, %y
  %r = select i1 %c, i32 %x, i32 %y
  ret i32 %r
}
define i32 @factorial(i32 %x) noinline {
  %c = icmp sle i32 %x, 1
  br i1 %c, label %one, label %more
one:
  ret i32 1
more:
  %y = sub i32 %x, 1
  %f = call i32 @factorial(i32 %y)
  %r = mul i32 %x, %f
  ret i32 %r
}
define float @asm_mean(float %x, float %y) noinline {
  %s = call { float, i32 } asm
    "{ .reg .f32 t; add.rz.f32 t, $2, $3; mul.f32 $0, t, 0f3F000000; mov.b32 $1, t; }",
    "=f,=r,f,f"(float %x, float %y)
  %a = extractvalue { float, i32 } %s, 0
  %b = extractvalue { float, i32 } %s, 1
  %c = bitcast i32 %b to float
  %d = fmul float %c, 100.0
  %r = fadd float %a, %d
  ret float %r
}
define i32 @asm_count(ptr %p) {
  call void asm sideeffect "red.global.add.u32 [$0], 2;", "l,~{memory}"(ptr %p)
  ret i32 0
}
define i32 @asm_stray(ptr %p) {
  %q = getelementptr i8, ptr %p, i32 1
  %v = call i32 asm "ld.global.u32 $0, [$1];", "=r,l"(ptr %q)
  ret i32 %v
}
attributes #0 = { "target-cpu"="sm_52" "target-features"="+ptx60,+sm_52" }
""" + "".join(adder(n) for n in range(1, 9))


PLACE = tempfile.TemporaryDirectory(prefix="tegula-library-")
LIBRARY = tl.constexpr(str(Path(PLACE.name) / "mine.ll"))
Path(LIBRARY.value).write_text(CODE)


@pytest.fixture
def code() -> str:
    return LIBRARY.value


def function(symbol: str, types: list[Any], ret: Any, pure: bool = True) -> Any:
    """A function of kernels: operands, then the file."""
    name, is_pure, result = tl.constexpr(symbol), tl.constexpr(pure), tl.constexpr(ret)
    a_type, b_type, c_type = map(tl.constexpr, (types * 3)[:3])

    @core.extern
    def call1(a, lib: tl.constexpr, _semantic=None):
        table = {(a_type,): (name, result)}
        return core.extern_elementwise("mine", lib, [a], table, is_pure)

    @core.extern
    def call2(a, b, lib: tl.constexpr, _semantic=None):
        table = {(a_type, b_type): (name, result)}
        return core.extern_elementwise("mine", lib, [a, b], table, is_pure)

    @core.extern
    def call3(a, b, c, lib: tl.constexpr, _semantic=None):
        table = {(a_type, b_type, c_type): (name, result)}
        return core.extern_elementwise("mine", lib, [a, b, c], table, is_pure)

    return (call1, call2, call3)[len(types) - 1]


# --- operands ------------------------------------------------------------------------
ADD = tl.constexpr({(FP32,) * n: (f"add{n}", FP32) for n in range(1, 9)})


@core.extern
def add_all(args, lib: tl.constexpr, _semantic=None):
    return core.extern_elementwise("mine", lib, args, ADD, is_pure=True)


@tegula.jit
def add_kernel(x, out, N: tl.constexpr, K: tl.constexpr, LIB: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    if K == 1:
        r = add_all((v,), LIB)
    elif K == 2:
        r = add_all((v, v), LIB)
    elif K == 3:
        r = add_all((v, 1.0, v), LIB)
    elif K == 4:
        r = add_all((v, v, 2.0, v), LIB)
    elif K == 5:
        r = add_all((v, v, v, v, v), LIB)
    elif K == 6:
        r = add_all((0.5, v, v, v, v, v), LIB)
    elif K == 7:
        r = add_all((v, v, v, v, v, v, v), LIB)
    else:
        r = add_all((v, v, v, v, v, v, v, tl.load(x)), LIB)
    tl.store(out + i, r)


@pytest.mark.parametrize("k", range(1, 9))
def test_any_number_of_operands(anywhere: Any, code: str, k: int) -> None:
    n = (1, 13, 128, 32, 31, 64, 1000, 7)[k - 1]
    x = np.arange(n, dtype=np.float32) + 1
    all_ = [x] * k
    if k == 3:
        all_[1] = np.float32(1)
    if k == 4:
        all_[2] = np.float32(2)
    if k == 6:
        all_[0] = np.float32(0.5)
    if k == 8:
        all_[7] = x[0]
    want = sum(a * np.float32(2**i) for i, a in enumerate(all_))
    out = anywhere.poison((n,), np.float32)
    add_kernel[(1,)](anywhere.put(x), out, N=n, K=k, LIB=code)
    np.testing.assert_array_equal(anywhere.get(out), want)


MIXED = tl.constexpr(
    {
        tuple(
            core.dtype(t)
            for t in ("int8", "int16", "int32", "int64", "fp16", "bf16", "fp64", "int1")
        ): ("mixed", FP32)
    }
)


@tegula.jit
def mixed_kernel(x, out, N: tl.constexpr, LIB: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    args = (
        v.to(tl.int8),
        v.to(tl.int16),
        v,
        v.to(tl.int64),
        v.to(tl.float16),
        v.to(tl.bfloat16),
        v.to(tl.float64),
        v > 3,
    )
    tl.store(out + i, tl.core.extern_elementwise("mine", LIB, args, MIXED, True))


@pytest.mark.parametrize("n", [16, 11])
def test_types(anywhere: Any, code: str, n: int) -> None:
    x = np.arange(n, dtype=np.int32)
    out = anywhere.poison((n,), np.float32)
    mixed_kernel[(1,)](anywhere.put(x), out, N=n, LIB=code)
    np.testing.assert_array_equal(
        anywhere.get(out), (7 * x + (x > 3)).astype(np.float32)
    )


wrapped_half = function(
    "wrapped_half", [core.dtype("fp16"), core.dtype("int1")], core.dtype("fp16")
)
from_table = function("from_table", [INT32], INT32)


@tegula.jit
def half_kernel(x, out, LIB: tl.constexpr):
    i = tl.arange(0, 32)
    tl.store(out + i, wrapped_half(tl.load(x + i), i % 2 == 1, LIB))


def test_halves_in_structs_and_bytes_for_bools(anywhere: Any, code: str) -> None:
    x = np.linspace(-4, 4, 32).astype(np.float16)
    out = anywhere.poison((32,), np.float16)
    half_kernel[(1,)](anywhere.put(x), out, LIB=code)
    i = np.arange(32)
    np.testing.assert_array_equal(anywhere.get(out), np.where(i % 2, 2 * x, x))


add3 = function("add3", [FP32] * 3, FP32)


@tegula.jit
def outer_kernel(x, y, z, out, LIB: tl.constexpr):
    i, j = tl.arange(0, 6), tl.arange(0, 16)
    a, b = tl.load(x + i), tl.load(y + j)
    r = add3(a[:, None], b[None, :], tl.load(z), LIB)
    tl.store(out + i[:, None] * 16 + j[None, :], r)
    tl.store(out + 96, add3(1.0, tl.load(z), 3.0, LIB))


def test_operands_broadcast(anywhere: Any, code: str) -> None:
    x, y = np.arange(6, dtype=np.float32), np.arange(16, dtype=np.float32) / 4
    z = np.full(1, 9, np.float32)
    out = anywhere.poison((97,), np.float32)
    outer_kernel[(1,)](anywhere.put(x), anywhere.put(y), anywhere.put(z), out, LIB=code)
    got = anywhere.get(out)
    np.testing.assert_array_equal(
        got[:96].reshape(6, 16), x[:, None] + 2 * y[None, :] + 36
    )
    assert got[96] == 1 + 18 + 12


after = function("after", [PTR, INT32], PTR)


@tegula.jit
def pointer_kernel(x, out, LIB: tl.constexpr):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.load(after(x, 15 - i, LIB)) + from_table(i, LIB))


def test_pointers_in_and_out(anywhere: Any, code: str) -> None:
    x = np.arange(16, dtype=np.int32) * 3
    out = anywhere.poison((16,), np.int32)
    pointer_kernel[(1,)](anywhere.put(x), out, LIB=code)
    table = np.array([2, 3, 5, 7] * 4)
    np.testing.assert_array_equal(anywhere.get(out), x[::-1] + table)


# --- effects ---------------------------------------------------------------------------
bump = function("bump", [PTR, INT32], INT32, pure=False)


@tegula.jit
def once_kernel(c, out, N: tl.constexpr, LIB: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + tl.program_id(0) * N + i, bump(c, i * 0 + 1, LIB))


@pytest.mark.parametrize("n", [1, 2, 16, 33, 128, 512, 1000])
def test_once_for_each_element(anywhere: Any, code: str, n: int) -> None:
    """Threads that hold the same element, and padding, do not call."""
    c, out = anywhere.put(np.zeros(1, np.int32)), anywhere.poison((2 * n,), np.int32)
    once_kernel[(2,)](c, out, N=n, LIB=code)
    assert anywhere.get(c)[0] == 2 * n
    assert sorted(anywhere.get(out).tolist()) == list(range(2 * n))


@tegula.jit
def kept_kernel(c, n, LIB: tl.constexpr):
    i = tl.arange(0, 8)
    bump(c, 1, LIB)
    bump(c, 1, LIB)  # not the same again
    for _ in range(n):
        bump(c + 1, 1, LIB)  # not moved out of the loop
    if tl.program_id(0) == 1:
        bump(c + 2 + i % 2, 1, LIB)  # nobody takes the result
    bump(c + 4 + i[:, None] * 0 + tl.arange(0, 2)[None, :], 1, LIB)


def test_calls_are_kept(anywhere: Any, code: str) -> None:
    c = anywhere.put(np.zeros(6, np.int32))
    kept_kernel[(3,)](c, 5, LIB=code)
    assert anywhere.get(c).tolist() == [6, 15, 4, 4, 24, 24]


@tegula.jit
def order_kernel(c, out, LIB: tl.constexpr):
    before = tl.load(c)
    old = bump(c, 10, LIB)
    between = tl.load(c)
    tl.store(c, 100)
    later = bump(c, 1, LIB)
    tl.store(out, before)
    tl.store(out + 1, old)
    tl.store(out + 2, between)
    tl.store(out + 3, later)
    tl.store(out + 4, tl.load(c))


def test_calls_are_in_order_with_memory(anywhere: Any, code: str) -> None:
    c, out = anywhere.put(np.full(1, 5, np.int32)), anywhere.poison((5,), np.int32)
    order_kernel[(1,)](c, out, LIB=code)
    assert anywhere.get(out).tolist() == [5, 5, 15, 100, 101]


NONE = tl.constexpr({(): ("bump_own", INT32)})


@core.extern
def bump_own(lib: tl.constexpr, _semantic=None):
    return core.extern_elementwise("mine", lib, [], NONE, False)


@tegula.jit
def none_kernel(out, LIB: tl.constexpr):
    tl.store(out, bump_own(LIB))


def test_no_operands_and_a_variable_of_the_library(anywhere: Any, code: str) -> None:
    out = anywhere.poison((1,), np.int32)
    none_kernel[(4,)](out, LIB=code)
    assert anywhere.get(out)[0] == 7


# --- where it may stand ------------------------------------------------------------------
log_of = function("log_of", [INT32], INT32)
divide = function("divide", [INT32] * 2, INT32)
larger = function("larger", [INT32] * 2, INT32)
factorial = function("factorial", [INT32], INT32)


@tegula.jit
def helper(x, LIB: tl.constexpr):
    return log_of(x + 1, LIB)


@tegula.jit
def endless_kernel(x, out, N: tl.constexpr, LIB: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, helper(tl.load(x + i), LIB))


@pytest.mark.parametrize("n", [13, 100])
def test_padding_is_not_computed(anywhere: Any, code: str, n: int) -> None:
    """It would never end: behind the array there is a -1, which becomes 0."""
    x = np.arange(n, dtype=np.int32)
    out = anywhere.poison((n,), np.int32)
    endless_kernel[(1,)](anywhere.put(x), out, N=n, LIB=code)
    np.testing.assert_array_equal(anywhere.get(out), np.log2(x + 1).astype(np.int32))


@tegula.jit
def divide_kernel(x, y, out, LIB: tl.constexpr):
    i = tl.arange(0, 64)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, tl.where(b != 0, divide(a, b, LIB), -1))


def test_division_does_not_trap(anywhere: Any, code: str) -> None:
    rng = np.random.default_rng(3)
    x = rng.integers(-1000, 1000, 64).astype(np.int32)
    y = rng.integers(-3, 4, 64).astype(np.int32)
    x[:2], y[:2] = -(2**31), (-1, 0)
    out = anywhere.poison((64,), np.int32)
    divide_kernel[(1,)](anywhere.put(x), anywhere.put(y), out, LIB=code)
    with np.errstate(all="ignore"):
        q = np.fix(x / y).astype(np.int64)
        want = np.where(y != 0, q * 100 + (x - q * y), -1)
    got = anywhere.get(out)
    np.testing.assert_array_equal(got[2:], want[2:])
    assert got[1] == -1


@tegula.jit
def larger_of(a, b):
    return larger(a, b, LIBRARY)


@tegula.jit
def combine_kernel(x, out, total, N: tl.constexpr, LIB: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(total, tl.reduce(v, 0, larger_of))
    tl.store(out + i, tl.associative_scan(v, 0, larger_of))


@pytest.mark.parametrize("n", [64, 21])
def test_in_a_combine_function(anywhere: Any, code: str, n: int) -> None:
    x = np.random.default_rng(n).integers(-1000, 1000, n).astype(np.int32)
    out, total = anywhere.poison((n,), np.int32), anywhere.poison((1,), np.int32)
    combine_kernel[(1,)](anywhere.put(x), out, total, N=n, LIB=code)
    assert anywhere.get(total)[0] == x.max()
    np.testing.assert_array_equal(anywhere.get(out), np.maximum.accumulate(x))


@tegula.jit
def branch(v, c):
    if v > 0:
        bump(c, 1, LIBRARY)
        return log_of(v, LIBRARY)
    return v


@tegula.jit
def mapped_kernel(x, c, out, N: tl.constexpr, LIB: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.map_elementwise(branch, tl.load(x + i), c))


@pytest.mark.parametrize("n", [32, 20])
def test_in_a_mapped_function(anywhere: Any, code: str, n: int) -> None:
    """Elements that do not get there do not call: for ever, or counted."""
    x = np.random.default_rng(n).integers(-50, 50, n).astype(np.int32)
    c, out = anywhere.put(np.zeros(1, np.int32)), anywhere.poison((n,), np.int32)
    mapped_kernel[(1,)](anywhere.put(x), c, out, N=n, LIB=code)
    assert anywhere.get(c)[0] == (x > 0).sum()
    want = np.where(x > 0, np.log2(np.maximum(x, 1)).astype(np.int32), x)
    np.testing.assert_array_equal(anywhere.get(out), want)


@tegula.jit
def factorial_kernel(x, out, LIB: tl.constexpr):
    i = tl.arange(0, 8)
    tl.store(out + i, factorial(tl.load(x + i), LIB))


def test_recursion(anywhere: Any, code: str) -> None:
    if anywhere.is_simulated:
        pytest.skip("the simulator of PTX calls no functions")
    x = np.arange(8, dtype=np.int32)
    out = anywhere.poison((8,), np.int32)
    if anywhere.is_emulated:
        with pytest.raises(
            tegula.TegulaError, match="factorial calls itself: recursion"
        ):
            factorial_kernel[(1,)](anywhere.put(x), out, LIB=code)
        return
    factorial_kernel[(1,)](anywhere.put(x), out, LIB=code)
    assert anywhere.get(out).tolist() == [1, 1, 2, 6, 24, 120, 720, 5040]


# --- assembly in it -----------------------------------------------------------------
asm_mean = function("asm_mean", [FP32, FP32], FP32)
asm_count = function("asm_count", [PTR], INT32, pure=False)


@tegula.jit
def assembly_kernel(x, y, c, out, N: tl.constexpr, LIB: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, asm_mean(tl.load(x + i), tl.load(y + i), LIB))
    asm_count(c + i % 2, LIB)


@pytest.mark.parametrize("n", [64, 21])
def test_assembly_in_a_library(anywhere: Any, code: str, n: int) -> None:
    if anywhere.is_simulated:
        pytest.skip("the simulator of PTX calls no functions")
    x, y = np.arange(n, dtype=np.float32), np.arange(n, dtype=np.float32)[::-1] * 4
    c, out = anywhere.put(np.zeros(2, np.int32)), anywhere.poison((n,), np.float32)
    if not anywhere.is_ptx:
        with pytest.raises(
            tegula.errors.UnsupportedError, match="inline assembly, in the"
        ):
            assembly_kernel[(2,)](x, y, c, out, N=n, LIB=code)
        return
    assembly_kernel[(2,)](anywhere.put(x), anywhere.put(y), c, out, N=n, LIB=code)
    np.testing.assert_array_equal(anywhere.get(out), (x + y) * np.float32(100.5))
    assert anywhere.get(c).tolist() == [2 * 2 * ((n + 1) // 2), 2 * 2 * (n // 2)]


asm_stray = function("asm_stray", [PTR], INT32)


@tegula.jit
def stray_kernel(x, LIB: tl.constexpr):
    tl.store(x, asm_stray(x, LIB))


def test_a_fault_in_such_assembly(code: str) -> None:
    x = np.zeros(4, np.int32)
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = "emu:sm_80"
        for _ in range(2):
            with pytest.raises(
                tegula.TegulaError, match=r"in line \d+ of the assembly of a library"
            ):
                stray_kernel[(3,)](x, LIB=code)
