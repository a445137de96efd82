"""Products of a warpgroup whose elements have 8 bits, and those of f16 whose sums have 16,
beside NumPy.

A program's threads copy the bytes of shared memory, which lie there as a test wants them,
load the sums and perhaps A, multiply slice after slice, and store the sums.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from simulated import Fault, available, kernel, launch, library, put, tensor_map
from test_ptxsim_float8 import decoded

from tegula import toolchain

pytestmark = pytest.mark.skipif(not available(), reason="no build/libptxsim.so")

FLOATS, INTEGERS = ("e4m3", "e5m2"), ("s8", "u8")
SUMS = {"f32": np.float32, "f16": np.float16, "s32": np.int32}
LINES = (16, 128, 64, 32)  # bytes of a line, by the number of the swizzle


class Form(NamedTuple):
    d: str
    a: str
    b: str
    n: int
    swizzle: int  # of a descriptor: 0 none, 1 of 128 bytes, 2 of 64, 3 of 32
    in_registers: bool = False
    satfinite: bool = False
    signs: str = "1, 1"
    adds: bool = True

    @property
    def slices(self) -> int:
        return max(LINES[self.swizzle] // 32, 1)

    @property
    def group(self) -> int:
        """Bytes from eight rows to the next eight; in small forms there is a gap."""
        return 8 * LINES[self.swizzle] * (2 if self.n <= 32 else 1)

    @property
    def op(self) -> str:
        cut = ".satfinite" if self.satfinite else ""
        types = f"{self.d}.{self.a}.{self.b}"
        shape = f"m64n{self.n}k{16 if self.a == 'f16' else 32}"
        return f"wgmma.mma_async.sync.aligned.{shape}{cut}.{types}"

    @property
    def tail(self) -> str:
        """Signs, and of f16 whether a matrix lies the other way."""
        other = "" if self.a != "f16" else ", 0" if self.in_registers else ", 0, 0"
        return "" if self.d == "s32" else f", {self.signs}{other}"


def values(bits: np.ndarray, t: str) -> np.ndarray:
    if t in INTEGERS:
        return bits.view(np.int8 if t == "s8" else np.uint8).astype(np.float64)
    if t == "f16":
        return bits.view(np.float16).astype(np.float64)
    with np.errstate(invalid="ignore"):  # of NaNs
        x = decoded(bits, f"float8_{t}{'fn' if t == 'e4m3' else ''}")
        return x.astype(np.float64)


def numbers(t: str, shape: tuple[int, int], seed: int) -> np.ndarray:
    """Bytes; of floats those whose products' sums a double has exactly."""
    every = np.arange(256, dtype=np.uint8)
    if t == "f16":
        n = shape[0], shape[1] // 2
        x = np.random.default_rng(seed).integers(-99, 100, n) / 16
        return x.astype(np.float16).view(np.uint8)
    if t in FLOATS:
        size = np.abs(values(every, t))
        every = every[(size == 0) | (size >= 2.0**-6) & (size <= 16)]
    return np.random.default_rng(seed).choice(every, shape)


def laid_out(x: np.ndarray, form: Form) -> np.ndarray:
    """Rows of bytes as a descriptor finds them, eight of them behind each other. A chunk of
    16 bytes changes its place by the row; without a swizzle, eight chunks of a column
    stand together."""
    line = LINES[form.swizzle]
    chunks = x.reshape(len(x) // 8, 8, -1, 16)
    if not form.swizzle:
        return chunks.transpose(2, 0, 1, 3).reshape(-1)
    out = np.zeros((len(chunks), form.group), np.uint8)
    for r in range(8):
        for c in range(line // 16):
            to = 16 * (c ^ (r * line // 128)) + r * line
            out[:, to : to + 16] = chunks[:, r, c]
    return out.reshape(-1)


def descriptor(name: str, at: int, rows: int, form: Form) -> str:
    lbo, sbo = (16, form.group) if form.swizzle else (16 * rows, 128)
    rest = form.swizzle << 62 | sbo // 16 << 32 | lbo // 16 << 16
    return f"""
    add.u32 %v, %s, {at};
    and.b32 %v, %v, 0x3ffff;
    shr.b32 %v, %v, 4;
    cvt.u64.u32 {name}, %v;
    or.b64 {name}, {name}, {rest:#x};"""


def room(rows: int, form: Form) -> int:
    """Bytes of a matrix of so many rows, up to where the next may begin."""
    n = rows // 8 * form.group if form.swizzle else rows * 32
    return -(-n // 1024) * 1024


def text(form: Form) -> str:
    """%p0: shared memory; %p1: A's registers; %p2: the sums, register by register."""
    n_sums = form.n // (4 if form.d == "f16" else 2)
    n_bytes = room(64, form) + room(form.n, form)
    sums = ", ".join(f"%d{r}" for r in range(n_sums))
    body = f"""
    .reg .pred %adds, %more;
    .reg .b32 %s, %v, %k, %x, %d<{n_sums}>, %a<{4 * form.slices}>;
    .reg .b64 %from, %desc_a, %desc_b;
    mov.u32 %s, smem;
    shl.b32 %k, %t, 2;
next:
    cvt.u64.u32 %from, %k;
    add.u64 %from, %from, %p0;
    ld.global.b32 %v, [%from];
    add.u32 %x, %s, %k;
    st.shared.b32 [%x], %v;
    add.u32 %k, %k, 512;
    setp.lt.u32 %more, %k, {n_bytes};
    @%more bra next;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    mad.wide.u32 %at1, %t, 4, %p1;
    mad.wide.u32 %at2, %t, 4, %p2;
"""
    for r in range(n_sums):
        body += f"    ld.global.b32 %d{r}, [%at2 + {512 * r}];\n"
    for r in range(4 * form.slices):
        body += f"    ld.global.b32 %a{r}, [%at1 + {512 * r}];\n"
    body += descriptor("%desc_a", 0, 64, form)
    body += descriptor("%desc_b", room(64, form), form.n, form)
    body += "\n    setp.eq.b32 %adds, 0, 0;\n    wgmma.fence.sync.aligned;\n"
    for s in range(form.slices):
        a = "{" + ", ".join(f"%a{4 * s + r}" for r in range(4)) + "}"
        adds = "%adds" if form.adds or s else "0"
        body += (
            f"    {form.op} {{{sums}}}, {a if form.in_registers else '%desc_a'}, "
            f"%desc_b, {adds}{form.tail};\n"
            "    add.u64 %desc_a, %desc_a, 2;\n    add.u64 %desc_b, %desc_b, 2;\n"
        )
    body += "    wgmma.commit_group.sync.aligned;\n"
    body += "    wgmma.wait_group.sync.aligned 0;\n"
    for r in range(n_sums):
        body += f"    st.global.b32 [%at2 + {512 * r}], %d{r};\n"
    return kernel(body, 3)


def of_a(a: np.ndarray) -> np.ndarray:
    """Registers of A: [slice, half of k, half of the rows], then threads."""
    parts = a.reshape(
        4, 2, 8, -1, 2, 4, 4
    )  # warp, half, row; slice, half, thread, byte
    return np.ascontiguousarray(parts.transpose(3, 4, 1, 0, 2, 5, 6))


def of_sums(x: np.ndarray) -> np.ndarray:
    """Registers of sums, then threads; two sums of 16 bits are a register."""
    parts = x.reshape(4, 2, 8, -1, 4, 2)  # warp, half, row; columns, thread, column
    order = (3, 1, 0, 2, 4, 5) if x.itemsize == 2 else (3, 1, 5, 0, 2, 4)
    return np.ascontiguousarray(parts.transpose(order))


def products(f: Form, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Each product, of 32 bytes along K, is added and rounded once, or cut."""
    total = c.astype(np.float64) * f.adds
    sign = -1 if f.signs in ("-1, 1", "1, -1") else 1
    for k in range(0, a.shape[1], 32):
        x, y = (np.ascontiguousarray(m[:, k : k + 32]) for m in (a, b))
        total += sign * (values(x, f.a) @ values(y, f.b).T)
        if f.satfinite:
            total = total.clip(-(2**31), 2**31 - 1)
        elif f.d == "s32":
            total = (total.astype(np.int64) & 2**32 - 1).astype("u4").view("i4")
            total = total.astype(np.float64)
        else:
            total = total.astype(SUMS[f.d]).astype(np.float64)
    return total.astype(SUMS[f.d])


def refused(ptx: str) -> str:
    """Why a checked launch of this PTX, which is else the last launch, is refused."""
    lib = library()
    again = lib.ptxsim_again
    again.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_uint64]
    failed = again(lib.ptxsim_keep(0), ptx.encode(), 0)
    why = lib.ptxsim_error().decode() if failed else ""
    assert failed >= 0, why
    return why


class Problem:
    def __init__(self, form: Form) -> None:
        depth = 32 * form.slices
        a, b = numbers(form.a, (64, depth), 1), numbers(form.b, (form.n, depth), 2)
        rng = np.random.default_rng(3)
        if form.d == "s32":  # some overflow
            c = rng.integers(2**31 - 10**5, 2**31, (64, form.n)).astype(np.int32)
            c *= rng.choice([-1, 1], c.shape).astype(np.int32)
        else:
            c = rng.integers(-64, 65, (64, form.n)).astype(SUMS[form.d])
        image = np.zeros(room(64, form) + room(form.n, form), np.uint8)
        for x, at in ((a, 0), (b, room(64, form))):
            there = laid_out(x, form)
            image[at : at + there.size] = there
        self.a, self.b, self.c, self.form = a, b, c, form
        self.there = [put(x, "sm_90a") for x in (image, of_a(a), of_sums(c))]
        self.n_bytes = image.size

    def want(self) -> np.ndarray:
        return products(self.form, self.a, self.b, self.c)

    def run(self, ptx: str) -> np.ndarray:
        launch(ptx, *self.there, block=128, shared=self.n_bytes)
        return self.there[2].array

    def why(self, ptx: str) -> str:
        self.run(text(self.form))
        return refused(ptx)


def check(form: Form) -> None:
    problem = Problem(form)
    got = problem.run(text(form))
    np.testing.assert_array_equal(got, of_sums(problem.want()))
    assert not problem.why(text(form))


MIXES = [(d, a, b) for d in ("f32", "f16") for a in FLOATS for b in FLOATS]
MIXES += [("s32", a, b) for a in INTEGERS for b in INTEGERS]
MIXES += [("f16", "f16", "f16")]


@pytest.mark.parametrize("in_registers", (False, True), ids=("", "registers"))
@pytest.mark.parametrize("swizzle", range(4))
@pytest.mark.parametrize("d,a,b", MIXES)
def test_types(d: str, a: str, b: str, swizzle: int, in_registers: bool) -> None:
    check(Form(d, a, b, 24, swizzle, in_registers))


@pytest.mark.parametrize("n", (8, 16, 24, 32, 40, 48, 120, 128, 248, 256))
@pytest.mark.parametrize("d,a", (("f32", "e4m3"), ("f16", "e5m2"), ("s32", "s8")))
def test_columns(d: str, a: str, n: int) -> None:
    form = Form(d, a, a, n, 1)
    if d == "s32" and n in (40, 120, 248):
        with pytest.raises(
            Fault, match="integers has 8, 24 or a multiple of 16 columns"
        ):
            check(form)
    else:
        check(form)


@pytest.mark.parametrize("a,b", [m[1:] for m in MIXES if m[0] == "s32"])
def test_integers_that_are_cut(a: str, b: str) -> None:
    form = Form("s32", a, b, 16, 2, satfinite=True)
    want = Problem(form).want()
    assert (want == 2**31 - 1).any() or (want == -(2**31)).any()
    check(form)


@pytest.mark.parametrize("signs", ("-1, 1", "1, -1", "-1, -1"))
@pytest.mark.parametrize("d", ("f32", "f16"))
def test_signs(d: str, signs: str) -> None:
    check(Form(d, "e4m3", "e5m2", 16, 3, signs=signs))


@pytest.mark.parametrize("d,a", (("f32", "e5m2"), ("f16", "e4m3"), ("s32", "u8")))
def test_sums_that_begin(d: str, a: str) -> None:
    check(Form(d, a, a, 16, 0, adds=False))


# --- what is refused -----------------------------------------------------------------
FLOAT, INTEGER = Form("f32", "e4m3", "e5m2", 16, 1), Form("s32", "s8", "u8", 16, 1)
MALFORMED = [
    (FLOAT, "m64n16k32", "m64n12k32", "not simulated"),
    (FLOAT, "m64n16k32", "m64n264k32", "not simulated"),
    (FLOAT, "m64n16k32", "m64n16k16", "no such form"),
    (INTEGER, "m64n16k32", "m64n16k64", "not simulated"),
    (FLOAT, "f32.e4m3.e5m2", "s32.e4m3.e5m2", "not simulated"),
    (FLOAT, "f32.e4m3.e5m2", "bf16.e4m3.e5m2", "not simulated"),
    (FLOAT, "f32.e4m3.e5m2", "f32.e4m3.s8", "not simulated"),
    (FLOAT, "f32.e4m3.e5m2", "f32.e4m3.f16", "not simulated"),
    (FLOAT, "f32.e4m3.e5m2", "f32.e4m3", "not simulated"),
    (FLOAT, "f32.e4m3.e5m2", "e4m3.e5m2.f32", "not simulated"),
    (FLOAT, "f32.e4m3.e5m2", "f32.e4m3.e5m2.f32", r"\.f32 is not simulated"),
    (FLOAT, "k32.f32", "k32.satfinite.f32", r"\.satfinite is not simulated"),
    (INTEGER, "s32.s8.u8", "f32.s8.u8", "not simulated"),
    (INTEGER, "s32.s8.u8", "s32.s8.s4", "not simulated"),
    (FLOAT, "1, 1;", "1, 2;", "operand 6 is neither 1 nor -1"),
    (FLOAT, "1, 1;", "1;", "5 operands, not 6"),
    (FLOAT, "1, 1;", "1, 1, 0, 0;", "8 operands, not 6"),
    (INTEGER, ", %adds;", ", %adds, 1, 1;", "6 operands, not 4"),
    (INTEGER, ", %adds;", ", 1.0;", "a float where"),
    (FLOAT, ", %d7}", "}", "operand 1 has not 8 registers"),
    (FLOAT, "{%d0,", "{%desc_a,", "has 64 bits, the result 32"),
    (FLOAT, "}, %desc_a,", "}, {%a0, %a1, %a2}, ", "operand 2 has not 4 registers"),
    (FLOAT, "}, %desc_a,", "}, %a0, ", "%a0 has 32 bits, 64 are wanted"),
    (FLOAT, "%desc_b, %adds", "{%a0}, %adds", "another kind is wanted"),
    (FLOAT, ".target sm_90a", ".target sm_100a", "no such form"),
]


@pytest.mark.parametrize(
    "form,old,new,why", MALFORMED, ids=[f"{row[1]} - {row[2]}" for row in MALFORMED]
)
def test_malformed(form: Form, old: str, new: str, why: str) -> None:
    ptx = text(form)
    assert old in ptx
    with pytest.raises(Fault, match=why):
        Problem(form).run(ptx.replace(old, new))


@cache
def assembler() -> str | None:
    """A ptxas that knows this version of PTX."""
    asked = os.environ.get("TEGULA_PTXAS")
    found = shutil.which(asked or toolchain.find_ptxas() or "ptxas")
    return found if found and assembles(kernel("", 0), found) else None


def assembles(ptx: str, ptxas: str) -> bool:
    command = [ptxas, "-arch=sm_90a", "-o", os.devnull, "-"]
    return not subprocess.run(
        command, input=ptx.encode(), capture_output=True
    ).returncode


@pytest.mark.parametrize("in_registers", (False, True), ids=("", "registers"))
def test_ptxas_takes_what_runs_here(in_registers: bool) -> None:
    if not (ptxas := assembler()):
        pytest.skip("no ptxas that knows PTX 9.0")
    for d, a, b in MIXES:
        assert assembles(text(Form(d, a, b, 240, 2, in_registers)), ptxas)


def test_ptxas_refuses_what_is_malformed_here() -> None:
    if not (ptxas := assembler()):
        pytest.skip("no ptxas that knows PTX 9.0")
    for form, old, new, _ in MALFORMED:
        if "sm_100a" not in new:
            assert not assembles(text(form).replace(old, new), ptxas), new


# --- what a checked launch finds -----------------------------------------------------
WAIT = "wgmma.wait_group.sync.aligned 0;"
DESC_B = "or.b64 %desc_b, %desc_b,"
MUTANTS = [
    ("fence.proxy.async.shared::cta;", "", r"without a fence\.proxy\.async"),
    ("bar.sync 0;", "", "race"),
    ("wgmma.fence.sync.aligned;", "", r"no wgmma\.fence stands between"),
    ("wgmma.commit_group.sync.aligned;", "", "never written"),
    (WAIT, "", "never written"),
    (WAIT, WAIT.replace("0;", "1;"), "never written"),
    (WAIT, "st.global.b32 [%at2], %d0; " + WAIT, "never written"),
    (WAIT, "mov.b32 %d0, 0; " + WAIT, "an accumulator was written"),
    (WAIT, "mov.b32 %a0, 7; " + WAIT, "its A was overwritten"),
    ("setp.eq.b32 %adds", ".reg .b32 %u; prmt.b32 %a0, %a0, %u, 0x3710; setp.eq.b32 %adds",
     "a register of A was never written"),
    (WAIT, "add.u32 %x, %s, 4096; st.shared.b32 [%x], 7; " + WAIT, "race"),
    ("add.u32 %k, %k, 512;", "add.u32 %k, %k, 1024;", "which nobody has written"),
    (DESC_B, "or.b64 %desc_b, 0xfc0,", "shared memory, which has"),
    (DESC_B, f"{DESC_B} {1 << 49}; {DESC_B}", "a base offset"),
    (DESC_B, f"add.u64 %desc_b, %desc_b, 8; {DESC_B}", "a multiple of 1024 bytes"),
]  # fmt: skip


@pytest.mark.parametrize("old,new,why", MUTANTS, ids=range(len(MUTANTS)))
@pytest.mark.parametrize("d,a", (("f32", "e4m3"), ("f16", "e5m2"), ("s32", "s8")))
def test_mutants(d: str, a: str, old: str, new: str, why: str) -> None:
    problem = Problem(Form(d, a, a, 16, 1, in_registers="%a0" in new))
    ptx = text(problem.form)
    assert ptx.count(old) == 1
    assert re.search(why, problem.why(ptx.replace(old, new)))


# --- fed by tensor maps --------------------------------------------------------------
N, SLOT, SLOTS, STEPS = 64, 16 << 10, 2, 4  # columns; bytes of a step's tiles; slots
PARTS = 128 // 32  # products of a step


def fill(step: int) -> str:
    """Thread 0 asks for the tiles of A and B, 64 rows and N of 128 bytes."""
    at, bar = step % SLOTS * SLOT, SLOTS * SLOT + step % SLOTS * 8
    copy = (
        "@%first cp.async.bulk.tensor.2d.shared::cluster.global.tile"
        ".mbarrier::complete_tx::bytes"
    )
    return f"""
    @%first mbarrier.arrive.expect_tx.shared.b64 _, [%s + {bar}], {SLOT};
    {copy} [%s + {at}], [%m0, {{{128 * step}, 0}}], [%s + {bar}];
    {copy} [%s + {at + SLOT // 2}], [%m1, {{{128 * step}, 0}}], [%s + {bar}];
"""


def matmul(form: Form) -> str:
    """%p0: the sums. A slot is filled again when thread 0 has waited for what reads it, as
    a product is over for all warps at once."""
    sums = ", ".join(f"%d{r}" for r in range(N // 2))
    body = f"""
    .reg .pred %first, %done;
    .reg .b32 %s, %v, %d<{N // 2}>;
    .reg .b64 %m0, %m1, %desc_a, %desc_b;
    setp.eq.u32 %first, %t, 0;
    mov.u32 %s, smem;
    mov.b64 %m0, m0;
    mov.b64 %m1, m1;
    cvta.param.u64 %m0, %m0;
    cvta.param.u64 %m1, %m1;
    @%first mbarrier.init.shared.b64 [%s + {SLOTS * SLOT}], 1;
    @%first mbarrier.init.shared.b64 [%s + {SLOTS * SLOT + 8}], 1;
    fence.proxy.async.shared::cta;
    bar.sync 0;
"""
    body += "".join(fill(step) for step in range(SLOTS))
    for step in range(STEPS):
        at, bar = step % SLOTS * SLOT, SLOTS * SLOT + step % SLOTS * 8
        body += f"""
poll{step}:
    mbarrier.try_wait.parity.shared.b64 %done, [%s + {bar}], {step // SLOTS % 2};
    @!%done bra poll{step};"""
        body += descriptor("%desc_a", at, 64, form)
        body += descriptor("%desc_b", at + SLOT // 2, N, form)
        body += "\n    wgmma.fence.sync.aligned;\n"
        for part in range(PARTS):
            body += (
                f"    {form.op} {{{sums}}}, %desc_a, %desc_b, {int(step + part > 0)}"
                f"{form.tail};\n"
                "    add.u64 %desc_a, %desc_a, 2;\n    add.u64 %desc_b, %desc_b, 2;\n"
            )
        body += f"    wgmma.commit_group.sync.aligned; // {step}\n"
        body += f"    wgmma.wait_group.sync.aligned 0; // {step}\n"
        if step + SLOTS < STEPS:
            body += fill(step + SLOTS)
    body += "    mad.wide.u32 %at0, %t, 4, %p0;\n"
    for r in range(N // 2):
        body += f"    st.global.b32 [%at0 + {512 * r}], %d{r};\n"
    return kernel(body, 1, n_maps=2)


READ = "a bulk copy writes shared memory that a product"
FED = [
    ("", "", ""),
    (r"wgmma\.commit_group\S* // 1\n", "", READ),
    (r"wgmma\.wait_group\S* 0; // 1\n", "", READ),
    (r"poll2:.*\n.*\n.*bra poll2;", "", "is still to write"),
    (r"], 1;\n    @!%done bra poll2", "], 0;\n    @!%done bra poll2", "is still to write"),
    (r"fence\.proxy\.async\S*\n", "", r"without a fence\.proxy\.async"),
    (rf", {SLOT};", f", {SLOT - 16};", "is still to write"),
    (r"\[%m1, \{384, 0\}\]", "[%m1, {384, -8}]", "wrong"),
]  # fmt: skip


@pytest.mark.parametrize("old,new,why", FED, ids=range(len(FED)))
@pytest.mark.parametrize("d,t", (("f32", "e4m3"), ("s32", "s8")))
def test_fed_by_tensor_maps(d: str, t: str, old: str, new: str, why: str) -> None:
    form = Form(d, t, t, N, 1)
    a, b = numbers(t, (64, 128 * STEPS), 1), numbers(t, (N, 128 * STEPS), 2)
    there = [put(x, "sm_90a") for x in (a, b)]
    maps = tuple(
        tensor_map(0, x, (128 * STEPS, rows), (128 * STEPS,), (128, rows), 3)
        for x, rows in zip(there, (64, N), strict=True)
    )
    out = put(np.zeros(64 * N, SUMS[d]), "sm_90a")
    ptx = matmul(form)
    launch(ptx, out, block=128, shared=SLOTS * SLOT + 16, maps=maps)
    want = of_sums(products(form, a, b, np.zeros((64, N), SUMS[d]))).reshape(-1)
    np.testing.assert_array_equal(out.array, want)
    assert not old or re.search(old, ptx)
    found = refused(re.sub(old, new, ptx) if old else ptx)
    if why == "wrong":
        assert not found
        assert (out.array != want).any()
    else:
        assert re.search(why, found) if why else not found
