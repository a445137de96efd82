"""Registers that ptxas spilled, or took too many of, and what is done then (csrc/compile.c)."""

from __future__ import annotations

from typing import Any

import pytest
from cases import BENCH, B, Case, F, compiled
from test_gate import PTXAS

pytestmark = pytest.mark.skipif(not PTXAS, reason="needs ptxas")


def library(kernel: str, signature: str, **options: Any) -> Any:
    path = f"{BENCH}libraries.py:{kernel}"
    return compiled(Case(kernel, path, signature, options), "sm_90a")


def test_a_block_less_has_room_for_a_few_words() -> None:
    kernel = library(
        "dequantise", "*i32:16 *fp16:16 *i32:16 *fp16:16 i32:16 i32:16",
        GROUP=128, M=128, W=16, num_warps=4,
    )  # fmt: skip
    assert kernel.n_spills == 0
    assert "and spilled, for 5 blocks" in kernel.report


def test_registers_that_are_left_hold_what_ptxas_spills() -> None:
    kernel = library("one_hot", f"*i64:16 {B} i32:16 i32:16", M=32, N=512, num_warps=4)
    assert kernel.n_spills == 0


def test_a_third_block_beside_two_that_occupancy_chose() -> None:
    kernel = library(
        "lamb_norms", f"{F} {F} {F} {F} {F} {F} i32:16 fp32 fp32 fp32 fp32",
        BLOCK=4096, num_warps=4,
    )  # fmt: skip
    assert "a few too many for 3 blocks" in kernel.report
    assert kernel.n_spills == 0


def test_a_loop_keeps_the_blocks_that_occupancy_chose() -> None:
    path = f"{BENCH}memory.py:rms_norm"
    options = {"BLOCK": 8192, "num_warps": 8}
    case = Case("rms_norm", path, f"{B} {B} {B} i32:16 fp32", options)
    kernel = compiled(case, "sm_90a")
    assert "a few too many" not in kernel.report


@pytest.mark.parametrize(
    ("name", "signature", "options"),
    [
        (
            "norm_groups_f8",
            f"{B} {B} *fp8e4nv:16 {F} i32:16 fp32",
            {"BLOCK": 8192, "G": 128, "num_warps": 1},
        ),
        (
            "top_p",
            f"{F} {F} i32:16 fp32",
            {"BLOCK": 32768, "STEPS": 20, "num_warps": 4},
        ),
    ],
)
def test_elements_one_after_the_other_spill_less(
    name: str, signature: str, options: dict[str, int]
) -> None:
    """Both hold 256 words a thread; neither lies in local memory."""
    kernel = library(name, signature, **options)
    assert "one element computed after the other" in kernel.report
    assert kernel.n_spills < 600
    assert "local_alloc" not in kernel.asm["simt"]
