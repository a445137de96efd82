"""compiled.report: what the lines of a kernel became on a GPU."""

from __future__ import annotations

import inspect
import re

import numpy as np
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


@triton.jit
def accesses(x_ptr, i_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    i = tl.load(i_ptr + cols)
    a = tl.load(x_ptr + i)
    b = tl.load(x_ptr + n)
    tl.store(y_ptr + cols, a + b)
    tl.atomic_add(y_ptr + i, a)


@triton.jit
def adds(x_ptr, scope: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.atomic_add(x_ptr + i, 1.0, scope=scope)


def test_a_row_of_atomics_is_vectors_where_nobody_else_runs():
    got = adds.compile("*fp32", scope="gpu", BLOCK=256)
    told = rows(got.report)[line_of(adds, "tl.atomic_add"), "atomic_rmw"]
    said = "atomics, one after another; vectors of (\\d+) elements where one.*"
    lanes = re.fullmatch(said, told)[1]
    code = got.asm["llir"]
    for what in ("load", "fadd"):
        assert re.search(rf"{what}.* <{lanes} x float>", code), code
    assert "cmpxchg" in code  # for when somebody does

    alone = re.compile(r"= fadd <")
    assert alone.search(code)
    code = adds.compile("*fp32", scope="sys", BLOCK=256).asm["llir"]
    assert "cmpxchg" in code and not alone.search(code)


def test_the_cpu_says_vectors_gathers_and_single_elements():
    report = accesses.compile("*fp32", "*i32", "*fp32", "i32", BLOCK=256).report
    got = rows(report)
    row = r"vectors of (\d+) elements, (\d+) bytes"
    for text, what in (("i = tl.load", "load"), ("tl.store", "store")):
        lanes, n_bytes = re.fullmatch(row, got[line_of(accesses, text), what]).groups()
        assert int(n_bytes) == 4 * int(lanes) >= 16
    scattered = got[line_of(accesses, "a = tl.load"), "load"]
    assert scattered.endswith(": addresses are not consecutive")
    assert got[line_of(accesses, "b = tl.load"), "load"] == "one element of 4 bytes"
    atomic = got[line_of(accesses, "tl.atomic_add"), "atomic_rmw"]
    assert atomic == "atomics, one after another"
    # Each access once, though a masked body is emitted beside a plain one.
    assert len(report.rows) == 5
    assert report.startswith("accesses for cpu: *fp32, *i32, *fp32, i32\n")
    assert "bytes of scratch" in report


def test_sources_totals_and_html():
    report = row_sum.compile(
        "*fp32:16", "*fp32:16", "i32:16", BLOCK=1024, num_warps=4, target="cuda:sm_90a"
    ).report
    head, totals, source, first, *_ = report.splitlines()
    assert head == "row_sum for cuda:sm_90a, 4 warps: *fp32, *fp32, i32"
    assert "16 bytes of shared memory" in totals
    assert source.endswith("| x = tl.load(x_ptr + tl.program_id(0) * n + cols)")
    assert first.endswith("2 loads of 16 bytes") and "why:" not in report
    assert report.totals["shared"] == 16
    assert [r.what for r in report.rows] == ["load", "reduce", "store"]
    assert report.html().count("<tr>") == 3 and "row_sum for" in report._repr_html_()
    assert "16 bytes of shared memory" in report.html()


def test_why_a_load_is_narrow():
    report = row_sum.compile(
        "*fp32:16", "*fp32:16", "i32", BLOCK=1024, num_warps=4, target="cuda:sm_90a"
    ).report
    load, _, store = report.rows
    assert load.text == "8 loads of 4 bytes"
    assert load.why.startswith("`n` is not known to be a multiple of 16 here")
    assert "tl.multiple_of(n, 16)" in load.why and not store.why


def test_why_loads_do_not_run_ahead_and_what_to_try():
    report = product.compile(
        "*fp16",
        "*fp16",
        "*fp32",
        "i32",
        N=64,
        num_warps=2,
        maxnreg=255,
        target="cuda:sm_90a",
    ).report
    ahead = [r for r in report.rows if r.what == "load ahead"]
    assert len(ahead) == 2
    for row in ahead:
        assert row.text == "none: a copy takes 4 bytes at least, and this reads 2"
    (dot,) = [r for r in report.rows if r.what == "dot"]
    assert dot.text == "level 1, no wgmma: a warpgroup is 4 warps"
    assert dot.fix == "launch with num_warps=4 or 8"
    assert "           try: launch with num_warps=4 or 8\n" in report
    assert "num_warps=4 or 8" in report.html()
    # The lines of a report come in the order of the source.
    lines = [r.line for r in report.rows if r.source]
    assert lines == sorted(lines)


def test_a_narrow_access_of_a_known_stride_blames_nobody():
    report = product.compile(
        "*fp16:16", "*fp16:16", "*fp32:16", "i32:16", N=64, num_warps=4,
        target="cuda:sm_90a", hopper="2",
    ).report  # fmt: skip
    (store,) = [r for r in report.rows if r.what == "store"]
    assert store.text.endswith("of 8 bytes") and not store.why


def test_what_a_product_became_on_a_cpu():
    def dot(*types):
        rows = product.compile(*types, "i32", N=64, target="cpu").report.rows
        return next(r for r in rows if r.what == "dot")

    single = dot("*fp32", "*fp32", "*fp32")
    assert re.fullmatch(
        r"fused multiply-adds of f32 in vectors of \d+, tiles of \d x \d+; "
        "the next turn's operands are fetched meanwhile; "
        "a thread keeps both sides for programs with the same",
        single.text,
    )
    half = dot("*fp16", "*fp16", "*fp32")
    assert "one product at a time: for sums in f32" in half.text
    assert half.fix.startswith("bf16 operands")


def test_a_launch_is_counted_to_the_byte():
    n, rows_ = 100, 7
    x, y = np.ones((rows_, n), np.float32), np.zeros((rows_, n), np.float32)

    @triton.jit
    def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        row = tl.program_id(0) * n
        tl.store(
            y_ptr + row + at, tl.load(x_ptr + row + at, mask=at < n) * 3, mask=at < n
        )

    compiled = scale.compile("*fp32", "*fp32", "i32", BLOCK=128)
    assert compiled.report.traffic is None and "latest launch" not in compiled.report
    report = scale[(rows_,)](x, y, n, BLOCK=128).report
    assert report.traffic == {
        "programs": 7, "loaded": 2800, "stored": 2800, "atomic": 0, "touched": 5600,
        "dot_flops": 0, "flops": 7 * 128, "is_bound": False,
    }  # fmt: skip
    assert "latest launch: 7 programs, 2.8 kB loaded, 2.8 kB stored, 896 flop" in report
    assert re.search(r"^roofline: bound by (memory|arithmetic): ", report, re.M)


@triton.jit
def masked_product(a, b, c, m, n, k, M: tl.constexpr, K: tl.constexpr):
    i, j = (
        tl.program_id(0) * M + tl.arange(0, M),
        tl.program_id(1) * M + tl.arange(0, M),
    )
    at = tl.arange(0, K)
    a_ptrs, b_ptrs = a + i[:, None] * k + at[None, :], b + at[:, None] * n + j[None, :]
    acc = tl.zeros((M, M), tl.float32)
    for step in range(0, k, K):
        x = tl.load(a_ptrs, mask=at[None, :] < k - step, other=0.0)
        y = tl.load(b_ptrs, mask=at[:, None] < k - step, other=0.0)
        acc = tl.dot(x, y, acc)
        a_ptrs += K
        b_ptrs += K * n
    tl.store(c + i[:, None] * n + j[None, :], acc)


def test_tiles_that_are_read_again_are_told_from_what_memory_holds():
    side, k = 96, 100
    a, b = np.ones((side, k), np.float32), np.ones((k, side), np.float32)
    c = np.zeros((side, side), np.float32)
    traffic = masked_product[(3, 3)](a, b, c, side, side, k, M=32, K=32).report.traffic
    assert traffic["loaded"] == 3 * (a.nbytes + b.nbytes)
    assert traffic["stored"] == c.nbytes
    assert traffic["touched"] == a.nbytes + b.nbytes + c.nbytes
    assert traffic["dot_flops"] == 9 * 4 * 2 * 32**3


@triton.jit
def sums_of_rows(x_ptr, ends_ptr, y_ptr, CAUSAL: tl.constexpr):
    row = tl.program_id(0)
    end = row + 1 if CAUSAL else tl.load(ends_ptr + row)
    acc = 0.0
    for i in range(end):
        acc += tl.load(x_ptr + i)
    tl.store(y_ptr + row, acc)


def test_loops_by_the_program_and_by_what_memory_holds():
    n = 1000  # more programs than are looked at
    x, y = np.ones(n, np.float32), np.zeros(n, np.float32)
    ends = np.full(n, 3, np.int32)
    known = sums_of_rows[(n,)](x, ends, y, CAUSAL=True).report.traffic
    exact = 4 * n * (n + 1) / 2
    assert abs(known["loaded"] - exact) < 0.01 * exact and not known["is_bound"]
    unknown = sums_of_rows[(n,)](x, ends, y, CAUSAL=False).report
    assert unknown.traffic["is_bound"]
    assert "latest launch: about, as it depends on what is in memory" in unknown


def test_of_a_script(tmp_path, capsys, monkeypatch):
    from tegula import __main__ as command

    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np, tegula, tegula.language as tl\n"
        "@tegula.jit\n"
        "def fill(x_ptr, N: tl.constexpr):\n"
        "    tl.store(x_ptr + tl.arange(0, N), 0.28125)\n"
        "fill[(1,)](np.zeros(64, np.float32), N=64)\n"
    )
    monkeypatch.setattr("sys.argv", ["tegula"])
    monkeypatch.setattr("sys.path", list(__import__("sys").path))
    assert command.main(["report", str(script)]) == 0
    said = capsys.readouterr().out
    assert "fill for cpu: *fp32" in said and "1 variant\n" in said
    assert "   4 | tl.store(x_ptr + tl.arange(0, N), 0.28125)\nline    4  store" in said


@triton.jit
def masked_scale(x_ptr, y_ptr, n, stride, steps, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    inside = i < n
    at = tl.program_id(0) * stride + i
    x = tl.load(x_ptr + at, mask=inside)
    for _ in range(steps):
        x = x * tl.load(x_ptr + steps)
    tl.store(y_ptr + i, x, mask=inside)


def test_a_mask_is_a_cause_and_names_are_followed_to_arguments():
    types = ("*fp32:16", "*fp32:16", "i32", "i32", "i32")
    found = masked_scale.compile(*types, BLOCK=1024, target="cuda:sm_80").report
    load = next(r for r in found.rows if "at, mask" in r.source)
    store = next(r for r in found.rows if r.what == "store")
    assert load.why.startswith("`stride` is not known")
    assert "16 bytes" in store.text and not store.why  # `n` may end inside of a vector
    short = masked_scale.compile(*types, BLOCK=256, target="cuda:sm_80").report
    store = next(r for r in short.rows if r.what == "store")
    assert store.why.startswith("`n` is not known")  # but not in one of so few


@triton.jit
def unrolled(x_ptr, N: tl.constexpr):
    for i in tl.static_range(N):
        tl.store(x_ptr + i, tl.load(x_ptr + 2 * i) + 1)


def test_a_line_of_an_unrolled_loop_is_told_once():
    report = unrolled.compile("*fp32", N=40, target="cpu").report
    assert len(re.findall(r"^line .* load ", report, re.M)) == 1
    assert len(re.findall(r"^line .* store ", report, re.M)) == 1
