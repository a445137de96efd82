"""wmma in assembly, on the emulator and as PTX: load, multiply, store, beside NumPy.
Numbers are small and whole: sums are exact in any order."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from test_assembly_warps import wants

import tegula as triton
import tegula.language as tl


@pytest.fixture
def threads(device: Any) -> Any:
    if device.target == "cpu":
        pytest.skip("a program is one thread")
    return device


@triton.jit
def product(mem, out, offset, ASM: tl.constexpr):
    """$1: where the matrices lie."""
    i = tl.arange(0, 32)
    r = tl.inline_asm_elementwise(
        ASM, "=&r,l", [mem + offset + i * 0], tl.int32, False, 1
    )
    tl.store(out + i, r)


REGISTER = {"f32": "f32", "f64": "f64"}
BITS = {"b1": 1, "s4": 4, "u4": 4, "s8": 8, "u8": 8, "f16": 16, "bf16": 16}
SHAPES = {"m16n16k16": (16, 16, 16), "m32n8k16": (32, 8, 16), "m8n32k16": (8, 32, 16),
          "m16n16k8": (16, 16, 8), "m8n8k4": (8, 8, 4), "m8n8k32": (8, 8, 32),
          "m8n8k128": (8, 8, 128)}  # fmt: skip
AT = {"a": 0, "b": 4096, "c": 8192, "d": 16384}  # bytes


def bits_of(kind: str) -> int:
    return BITS.get(kind) or int(kind[1:].replace("f32", "32"))


def stored(x: np.ndarray, kind: str) -> np.ndarray:
    """Rows of numbers as bytes."""
    if kind == "bf16":
        return (
            (x.astype(np.float32).view(np.uint32) >> 16)
            .astype(np.uint16)
            .view(np.uint8)
        )
    if kind in ("b1", "s4", "u4"):
        bits = BITS[kind]
        codes = (x.astype(np.int64) & (2**bits - 1)).reshape(x.shape[0], -1, 8 // bits)
        return (codes << bits * np.arange(8 // bits)).sum(-1).astype(np.uint8)
    dtype = {"f16": "f2", "tf32": "f4", "f32": "f4", "f64": "f8", "s32": "i4",
             "s8": "i1", "u8": "u1"}[kind]  # fmt: skip
    return np.ascontiguousarray(x).astype(dtype).view(np.uint8)


def loaded(raw: np.ndarray, kind: str) -> np.ndarray:
    return raw.view({"f16": "f2", "f32": "f4", "f64": "f8", "s32": "i4"}[kind])


class Side:
    """A matrix in memory: its rows (or columns) lie `stride` elements apart."""

    def __init__(self, name: str, x: np.ndarray, kind: str, layout: str, pad: int):
        self.name, self.x, self.kind, self.layout = name, x, kind, layout
        lines = x if layout == "row" else x.T
        self.stride = lines.shape[1] + pad
        padded = np.zeros((lines.shape[0], self.stride))
        padded[:, : lines.shape[1]] = lines
        self.bytes = stored(padded, kind).ravel()
        n_bits, is_factor = x.size * bits_of(kind), name in "ab"
        self.wide = 64 if kind == "f64" else 32
        self.n = 8 if kind == "f16" and is_factor else max(n_bits // 32 // self.wide, 1)
        register = kind if kind in REGISTER else f"b{self.wide}"
        self.declared = f".reg .{register} {name}<8>;"
        self.registers = "{" + ", ".join(f"{name}{k}" for k in range(self.n)) + "}"

    def load(self, shape: str, base: str = "$1", space: str = "") -> str:
        return (
            f"wmma.load.{self.name}.sync.aligned.{self.layout}.{shape}{space}.{self.kind}"
            f" {self.registers}, [{base}+{AT[self.name]}], {self.stride};"
        )


def whole(rng: Any, kind: str, shape: tuple[int, int]) -> np.ndarray:
    low = {"b1": 0, "u8": 0, "u4": 0}.get(kind, -6)
    return rng.integers(low, 2 if kind == "b1" else 8, shape)


def run(
    device: Any, rng: Any, shape: str, kinds: tuple[str, str, str], layouts: str,
    op: str = "", suffix: str = "", pad: int = 0,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """What is stored, and what should be."""
    m, n, k = SHAPES[shape]
    of, kind_c, kind_d = kinds
    la, lb, lc, ld = layouts.split()
    a = Side("a", whole(rng, of, (m, k)), of, la, pad)
    b = Side("b", whole(rng, of, (k, n)), of, lb, pad)
    c = Side("c", whole(rng, kind_c, (m, n)), kind_c, lc, pad)
    d = Side("d", np.zeros((m, n)), kind_d, ld, pad)
    types = f"{kind_d}.{kind_c}" if of == "f16" else f"{kind_d}.{of}.{of}.{kind_c}"
    text = (
        "{" + "".join(s.declared for s in (a, b, c, d))
        + a.load(shape) + b.load(shape, space=".global") + c.load(shape)
        + f"wmma.mma{op}.sync.aligned.{la}.{lb}.{shape}.{types}{suffix}"
        f" {d.registers}, {a.registers}, {b.registers}, {c.registers};"
        f"wmma.store.d.sync.aligned.{ld}.{shape}.{kind_d}"
        f" [$1+{AT['d']}], {d.registers}, {d.stride}; mov.b32 $0, 0; }}"
    )  # fmt: skip
    content = np.zeros(AT["d"] + len(d.bytes) + 64, np.uint8)
    for s in (a, b, c):
        content[AT[s.name] : AT[s.name] + len(s.bytes)] = s.bytes
    mem = device.put(content)
    offset = -device.address(mem) % 64
    if offset:  # the host's: it begins where a matrix may
        there = device.get(mem)
        there[:] = np.roll(there, offset)
    product[(1,)](mem, device.poison((32,), np.int32), offset, ASM=text, num_warps=1)
    raw = device.get(mem)[offset + AT["d"] :][: len(d.bytes)].copy()
    lines = loaded(raw, kind_d).reshape(-1, d.stride)
    got = lines[:, : n if ld == "row" else m]
    got = got if ld == "row" else got.T
    if op:
        both = np.bitwise_and if "and" in op else np.bitwise_xor
        want = both(a.x[:, :, None], b.x[None]).sum(1) + c.x
    else:
        want = a.x @ b.x + c.x
    return got, want


@pytest.mark.parametrize(
    "layouts", ("row col row row", "col row col row", "row row row col")
)
@pytest.mark.parametrize("shape", ("m16n16k16", "m32n8k16", "m8n32k16"))
@pytest.mark.parametrize("c,d", (("f32", "f32"), ("f16", "f16"), ("f16", "f32")))
def test_halves(
    threads: Any, rng: Any, shape: str, layouts: str, c: str, d: str
) -> None:
    got, want = run(threads, rng, shape, ("f16", c, d), layouts)
    np.testing.assert_array_equal(got, want)


def test_a_stride(threads: Any, rng: Any) -> None:
    got, want = run(
        threads, rng, "m16n16k16", ("f16", "f32", "f32"), "row col col row", pad=16
    )
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("shape", ("m16n16k16", "m32n8k16", "m8n32k16"))
@pytest.mark.parametrize("of", ("bf16", "s8", "u8"))
def test_others(threads: Any, rng: Any, shape: str, of: str) -> None:
    wants(threads, 80)
    c = "f32" if of == "bf16" else "s32"
    got, want = run(threads, rng, shape, (of, c, c), "row col row col")
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("shape", "of", "c", "op"),
    [
        ("m16n16k8", "tf32", "f32", ""),
        ("m8n8k4", "f64", "f64", ""),
        ("m8n8k32", "s4", "s32", ""),
        ("m8n8k32", "u4", "s32", ""),
        ("m8n8k128", "b1", "s32", ".xor.popc"),
        ("m8n8k128", "b1", "s32", ".and.popc"),
    ],
)
def test_one_shape_each(
    threads: Any, rng: Any, shape: str, of: str, c: str, op: str
) -> None:
    wants(threads, 80)
    got, want = run(threads, rng, shape, (of, c, c), "row col row row", op=op)
    np.testing.assert_array_equal(got, want)


def test_saturation(threads: Any) -> None:
    wants(threads, 80)
    text = """{ .reg .b32 a<2>, b<2>, c<8>;
        mov.b32 a0, 0x7f7f7f7f; mov.b32 a1, a0; mov.b32 b0, a0; mov.b32 b1, a0;
    """ + "".join(f"mov.b32 c{k}, 0x7ffffff0;" for k in range(8)) + """
        wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32.satfinite
            {c0, c1, c2, c3, c4, c5, c6, c7}, {a0, a1}, {b0, b1},
            {c0, c1, c2, c3, c4, c5, c6, c7};
        mov.b32 $0, c5; }"""  # fmt: skip
    out = threads.poison((32,), np.int32)
    mem = threads.put(np.zeros(64, np.uint8))
    product[(1,)](mem, out, 0, ASM=text, num_warps=1)
    assert (threads.get(out) == 2**31 - 1).all()


FAULTS = {
    "wmma.load.a.sync.aligned.row.m16n16k16.f16 {r, r, r, r, r, r, r, r}, [at];":
        r"misaligned",
    "wmma.load.a.sync.aligned.row.m16n16k16.f16 {r, r, r, r, r, r, r, r}, [$1], lane;":
        r"the lanes have not the same stride; wmma.load.a",
    "wmma.load.a.sync.aligned.row.m16n16k16.f16 {r, r, r, r, r, r, r, r}, [$1], 32;":
        r"out of bounds",
}  # fmt: skip


@pytest.mark.parametrize("case", FAULTS, ids=range(len(FAULTS)))
def test_faults_on_the_emulator(case: str) -> None:
    start = (
        "{ .reg .b32 r, lane; .reg .b64 at; mov.u32 lane, %laneid; add.u64 at, $1, 2;"
    )
    mem = np.zeros(512 + 64, np.uint8)
    offset = -mem.ctypes.data % 64
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.target = "emu:sm_80"
        with pytest.raises(triton.errors.TegulaError) as e:
            product[(1,)](
                mem[: offset + 512], np.zeros(32, np.int32), offset,
                ASM=start + case + "mov.b32 $0, 0; }", num_warps=1,
            )  # fmt: skip
    assert re.search(FAULTS[case], str(e.value)), str(e.value)
