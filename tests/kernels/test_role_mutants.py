"""A matmul by roles with one op of its schedule removed or changed: each such mutant hangs,
reads what nobody wrote, or gives a wrong result, and the interpreter of PTX says so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import simulated

import tegula
import tegula.language as tl

pytestmark = pytest.mark.usefixtures("ptxsim")
TARGET = "sm_90a"
M, N, K = 128, 256, 256
# Both groups are in time to release a slot here, so that one of them may do for both.
LUCKY = "arrivals=1"


@tegula.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr):
    across = tl.cdiv(N, BN)
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, 64])
    b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BN, 64])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    for tile in range(tl.cdiv(M, BM) * across):
        m, n = tile // across * BM, tile % across * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, 64):
            acc = tl.dot(a.load([m, k]), b.load([n, k]).T, acc)
        c.store([m, n], acc.to(tl.float16))


def whole(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float16)


A, B = whole(0, M, K), whole(1, N, K)
WANT = (A.astype(np.float64) @ B.astype(np.float64).T).astype(np.float16)


def run(**options):
    there = [
        simulated.put(x, TARGET) for x in (A, B, np.full((M, N), np.nan, np.float16))
    ]
    c = matmul[(1,)](*there, M, N, K, BM=128, BN=64, num_warps=8, hopper="3", **options)
    return c, np.array_equal(there[2].numpy(), WANT)


def mutants(text: str) -> Iterator[tuple[str, str]]:
    """What was done to the text, and the text."""
    lines = text.split("\n")
    fills = next(i for i, line in enumerate(lines) if line == "  } {")
    for i, line in enumerate(lines):
        op, who = line.strip(), "who fills" if i > fills else "who reads"

        def put(*new: str, at: int = i) -> str:
            return "\n".join([*lines[:at], *new, *lines[at + 1 :]])

        if re.match(r"mbar_|tma_load|mma_wait", op):
            yield f"without {op} of {who}", put()
        if m := re.fullmatch(r"(.*mma_wait \{pending=)1(.*)", line):
            yield f"two pending of {who}", put(f"{m[1]}2{m[2]}")
        if m := re.fullmatch(r"( *%\d+ = )xor (%\d+), %\d+ : i32", line):
            yield f"phase stays of {who}", put(f"{m[1]}or {m[2]}, {m[2]} : i32")
        if m := re.fullmatch(r"(.*mbar_arrive.*bytes=)(\d+)(.*)", line):
            yield f"too many bytes of {who}", put(f"{m[1]}{int(m[2]) + 16}{m[3]}")
        if m := re.fullmatch(r"( *%\d+ = )select %\d+, (%\d+), (%\d+) : i32", line):
            for v, what in ((m[2], "the first"), (m[3], "the second")):
                yield f"{what} of {op} of {who}", put(f"{m[1]}or {v}, {v} : i32")
        if m := re.fullmatch(r"( *%\d+ = )const 3 : i32", line):
            for n in (2, 4):
                yield f"{n} slots of {who}", put(f"{m[1]}const {n} : i32")
        if "arrivals=2" in line:
            yield "arrivals=1", put(line.replace("arrivals=2", "arrivals=1"))


def test_mutants_are_found(tmp_path: Path) -> None:
    compiled, is_right = run()
    assert is_right
    lived, n = [], 0
    for n, (what, text) in enumerate(mutants(compiled.asm["simt"]), 1):
        path = tmp_path / f"{n}.simt"
        path.write_text(text)
        try:
            _, is_right = run(ir_override=str(path))
        except RuntimeError as e:
            assert "CUDA_ERROR" in str(e)
        else:
            if is_right and what != LUCKY:
                lived.append(what)
    assert n >= 25
    assert not lived


def test_a_wait_for_ever_is_named(tmp_path: Path) -> None:
    compiled, _ = run()
    text = re.sub(r"\n *mbar_arrive .*bytes=.*", "", compiled.asm["simt"])
    path = tmp_path / "mutant.simt"
    path.write_text(text)
    with pytest.raises(RuntimeError, match="waits for ever at an mbarrier"):
        run(ir_override=str(path))
