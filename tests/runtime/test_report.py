"""compiled.report: what the lines of a kernel became on a GPU."""

from __future__ import annotations

import inspect
import re

import pytest

import tegula as triton
import tegula.language as tl


@triton.jit
def row_sum(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * n + cols)
    tl.store(y_ptr + tl.program_id(0), tl.sum(x, axis=0))


@triton.jit
def product(a_ptr, b_ptr, c_ptr, k, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    acc = tl.zeros((N, N), tl.float32)
    for step in range(k):
        a = tl.load(a_ptr + step * N * N + at)
        b = tl.load(b_ptr + step * N * N + at)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + at, acc)


def line_of(kernel, text: str) -> int:
    lines, first = inspect.getsourcelines(kernel.fn)
    return first + next(i for i, line in enumerate(lines) if text in line)


def rows(report: str) -> dict[tuple[int, str], str]:
    found = re.findall(r"^line +(\d+)  (.*?)  +(.*)$", report, re.M)
    return {(int(line), what): costs for line, what, costs in found}


@pytest.mark.parametrize("target", ["cuda:sm_80", "emu:sm_80"])
def test_lines_and_what_they_cost(target):
    compiled = row_sum.compile(
        "*fp32:16", "*fp32:16", "i32:16", BLOCK=1024, num_warps=4, target=target
    )
    got = rows(compiled.report)
    # 1024 elements over 128 threads, 4 elements in 16 bytes.
    assert got[line_of(row_sum, "tl.load"), "load"] == "2 loads of 16 bytes"
    # 32 lanes: 5 steps; then every thread reads what the 4 warps have.
    last = line_of(row_sum, "tl.store")
    assert got[last, "reduce"] == (
        "5 shuffles, 1 shared store of 4 bytes, 1 shared load of 16 bytes, 1 barrier"
    )
    assert got[last, "store"] == "1 store of 4 bytes"


def test_one_warp_needs_no_shared_memory():
    compiled = row_sum.compile(
        "*fp32:16", "*fp32:16", "i32:16", BLOCK=128, num_warps=1, target="cuda:sm_80"
    )
    costs = rows(compiled.report)[line_of(row_sum, "tl.store"), "reduce"]
    assert costs == "5 shuffles"


def test_a_load_that_is_not_contiguous_says_so():
    compiled = row_sum.compile(
        "*fp32", "*fp32", "i32", BLOCK=1024, num_warps=4, target="cuda:sm_80"
    )
    got = rows(compiled.report)
    assert got[line_of(row_sum, "tl.load"), "load"] == "8 loads of 4 bytes"


def test_loops_and_tensor_cores():
    compiled = product.compile(
        "*fp16:16", "*fp16:16", "*fp32:16", "i32", N=64, num_warps=4, num_stages=3,
        target="cuda:sm_80",
    )  # fmt: skip
    got = rows(compiled.report)
    dot = got[line_of(product, "tl.dot"), "dot (loop)"]
    # 64x64x64 in 16x8x16 over 4 warps.
    assert dot.startswith("32 mma m16n8k16")
    ahead = got[line_of(product, "a = tl.load"), "load ahead (loop)"]
    assert ahead == "4 asynchronous copies of 16 bytes"


def test_the_cpu_has_nothing_to_say():
    assert (
        row_sum.compile("*fp32", "*fp32", "i32", BLOCK=128, target="cpu").report == ""
    )
