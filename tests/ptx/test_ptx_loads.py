"""Loads in flight, read from machine code: how many stand before the first use.

A loop that adds up what it loads is as fast as its loads are many. ptxas moves each load
to its use unless csrc/passes/simt/occupancy.c tells it how many blocks to expect, so what is looked
at is the assembler's order: the most loads from global memory (LDG) between two additions
of floats (FADD), in the opcodes of the cubin.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator

import pytest
from cases import BENCH, B, Case, F, compiled
from test_gate import PTXAS

import tegula
import tegula.language as tl

pytestmark = pytest.mark.skipif(not PTXAS, reason="needs ptxas")

LDG, FADD = {0x981}, {0x221, 0x421, 0x621}  # the low 12 bits of an instruction, sm_90


def opcodes(cubin: bytes) -> Iterator[int]:
    """Of every instruction of every function: 16 bytes each in the .text sections."""
    (table,) = struct.unpack_from("<Q", cubin, 40)
    size, n, names = struct.unpack_from("<HHH", cubin, 58)
    heads = [struct.unpack_from("<IIQQQQ", cubin, table + i * size) for i in range(n)]
    for name, _, _, _, at, length in heads:
        start = heads[names][4] + name
        if cubin[start : cubin.index(b"\0", start)].startswith(b".text."):
            for i in range(at, at + length, 16):
                yield struct.unpack_from("<Q", cubin, i)[0] & 0xFFF


def loads_in_flight(cubin: bytes) -> int:
    most = now = 0
    for op in opcodes(cubin):
        now = 0 if op in FADD else now + (op in LDG)
        most = max(most, now)
    return most


@pytest.mark.parametrize(
    ("kernel", "signature", "options", "words"),
    [
        ("memory.py:column_sum", f"{F} {F} i32:16 i32:16",
         {"BLOCK_M": 32, "BLOCK_N": 32, "num_warps": 4}, 4),
        ("memory.py:column_sum", f"{F} {F} i32:16 i32:16",
         {"BLOCK_M": 128, "BLOCK_N": 32, "num_warps": 8}, 4),
        ("memory.py:column_sum", f"{F} {F} i32:16 i32:16",
         {"BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 8}, 4),
        ("configurations.py:row_sum", f"{B} {F} i32:16",
         {"BLOCK": 4096, "num_warps": 4}, 8),
        ("libraries.py:inner_sum", f"{F} {F} i32:16 i32:16",
         {"X": 32, "R": 64, "num_warps": 8}, 4),
        ("libraries.py:inner_sum", f"{F} {F} i32:16 i32:16",
         {"X": 16, "R": 64, "num_warps": 4}, 4),
    ],
)  # fmt: skip
def test_loads_stand_before_sums(
    kernel: str, signature: str, options: dict[str, int], words: int
) -> None:
    """The vectors of one iteration are all asked for before any is added."""
    case = Case(kernel, BENCH + kernel, signature, options)
    numel = math.prod(n for name, n in options.items() if name != "num_warps")
    vectors = numel // (32 * options["num_warps"]) // words
    assert loads_in_flight(compiled(case, "sm_90a").asm["cubin"]) >= vectors


DIVERGENCE = f"{B} {B} {B} {B} i32:16 fp32"
MIDDLE = f"{B} {B} i32:16 i32:16"


@pytest.mark.parametrize(
    ("kernel", "signature", "options", "threads", "vectors"),
    [
        ("divergence", DIVERGENCE, {"BLOCK": 8192, "num_warps": 8}, 512, 4),
        ("divergence", DIVERGENCE, {"BLOCK": 4096, "num_warps": 8}, 512, 4),
        ("divergence", DIVERGENCE, {"BLOCK": 4096, "num_warps": 16}, 1024, 2),
        ("divergence", DIVERGENCE, {"BLOCK": 1024, "num_warps": 4}, 1024, 2),
        ("middle_softmax", MIDDLE, {"N": 32, "R": 128, "num_warps": 8}, 768, 1),
        ("middle_softmax", MIDDLE, {"N": 32, "R": 32, "num_warps": 4}, 1024, 1),
    ],
)  # fmt: skip
def test_bytes_in_flight(
    kernel: str, signature: str, options: dict[str, int], threads: int, vectors: int
) -> None:
    """As many threads fit as were measured to be best, and their loads stand together."""
    file = f"libraries.py:{kernel}"
    made = compiled(Case(file, BENCH + file, signature, options), "sm_90a")
    registers = -(-made.n_regs // 8) * 8 * 32
    warps = (1 << 14) // registers * 4 // options["num_warps"] * options["num_warps"]
    assert made.n_spills <= 8  # a word around the loops, none in them
    assert 32 * warps >= threads
    assert loads_in_flight(made.asm["cubin"]) >= vectors


@pytest.mark.parametrize(
    ("kernel", "signature", "options", "loads"),
    [
        ("configurations.py:weight_gradient", f"{B} {B} {F} i32:16 i32:16",
         {"M": 128, "N": 32, "num_warps": 16}, 2),
        ("libraries.py:inner_sum", f"{F} {F} i32:16 i32:16",
         {"X": 16, "R": 128, "num_warps": 8}, 2),
        ("libraries.py:inner_sum", f"{F} {F} i32:16 i32:16",
         {"X": 4, "R": 256, "num_warps": 4}, 2),
    ],
)  # fmt: skip
def test_a_full_queue_is_not_unrolled(
    kernel: str, signature: str, options: dict[str, int], loads: int
) -> None:
    """The blocks of a multiprocessor load 32 KB by one iteration each: the code has its loads alone."""
    case = Case(kernel, BENCH + kernel, signature, options)
    codes = list(opcodes(compiled(case, "sm_90a").asm["cubin"]))
    assert sum(op in LDG for op in codes) == loads


@tegula.jit
def counts_of_bins(x_ptr, y_ptr, n, N: tl.constexpr, R: tl.constexpr):
    at = tl.program_id(0) * n
    bins = tl.arange(0, R)
    acc = tl.zeros((R, N), tl.int64)
    for start in range(0, n, N):
        i = start + tl.arange(0, N)
        x = tl.load(x_ptr + at + i, mask=i < n) & 15
        acc += tl.where(i < n, bins[:, None] == x, False)
    tl.store(y_ptr + tl.program_id(0) * R + bins, tl.sum(acc, axis=1))


@pytest.mark.parametrize("bins", [1, 16])
def test_what_computes_longer_than_it_loads_is_not_kept_rolled(bins: int) -> None:
    kernel = counts_of_bins.compile(
        "*i32:16", "*i64:16", "i32:16", N=1024, R=bins, target="cuda:sm_90a"
    )
    assert ("nounroll" in kernel.asm["ptx"]) == (bins == 1)
