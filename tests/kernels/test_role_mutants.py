"""A matmul and attention by roles with one op of their schedule removed or changed: each
such mutant hangs, reads what nobody wrote, or gives a wrong result, and the interpreter of
PTX says so."""

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
SLOTS = "3,3"  # three in each ring: they are filled again and again


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


@tegula.jit
def matmul_tf32(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr):
    """B is row-major, so its slots are read word by word."""
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, 32])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [32, BN])
    m, n, i, j = 0, tl.program_id(0) * BN, tl.arange(0, BM), tl.arange(0, BN)
    for turn in range(2):
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, 32):
            acc = tl.dot(a.load([m, k]), b.load([k, n]), acc)
        tl.store(c_ptr + (turn * M + i[:, None]) * N + n + j[None, :], acc)


@tegula.jit
def attend(q_ptr, k_ptr, v_ptr, o_ptr, N, BM: tl.constexpr, D: tl.constexpr):
    queries = tl.make_tensor_descriptor(q_ptr, [BM, D], [D, 1], [BM, D])
    keys = tl.make_tensor_descriptor(k_ptr, [N, D], [D, 1], [64, D])
    values = tl.make_tensor_descriptor(v_ptr, [N, D], [D, 1], [64, D])
    out = tl.make_tensor_descriptor(o_ptr, [BM, D], [D, 1], [BM, D])
    q = queries.load([0, 0])
    top = tl.full((BM,), -1e6, tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for at in range(0, N, 64):
        s = tl.dot(q, keys.load([at, 0]).T)
        higher = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2((s - higher[:, None]) * 0.05)
        acc = acc * tl.exp2((top - higher) * 0.05)[:, None]
        acc = tl.dot(p.to(tl.float16), values.load([at, 0]), acc)
        top = higher
    out.store([0, 0], acc.to(tl.float16))


def whole(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float16)


A, B = whole(0, M, K), whole(1, N, K)
WANT = (A.astype(np.float64) @ B.astype(np.float64).T).astype(np.float16)


def run(**options):
    there = [
        simulated.put(x, TARGET) for x in (A, B, np.full((M, N), np.nan, np.float16))
    ]
    c = matmul[(1,)](
        *there, M, N, K, BM=128, BN=64, num_warps=8, hopper=SLOTS, **options
    )
    return c, np.array_equal(there[2].numpy(), WANT)


def run_tf32(**options):
    a, b = A[:64].astype(np.float32), np.ascontiguousarray(B.T.astype(np.float32))
    c = np.full((2, 64, N), np.nan, np.float32)
    there = [simulated.put(x, TARGET) for x in (a, b, c)]
    compiled = matmul_tf32[(N // 128,)](
        *there, 64, N, K, BM=64, BN=128, num_warps=8, hopper=SLOTS, **options
    )
    return compiled, np.array_equal(there[2].numpy(), np.stack([a @ b, a @ b]))


ROWS, KEYS, D = 128, 320, 128
Q, KEY, V = (whole(i, n, D) for i, n in ((2, ROWS), (3, KEYS), (4, KEYS)))


def attended() -> np.ndarray:
    s = Q.astype(np.float64) @ KEY.astype(np.float64).T * 0.05
    return np.exp2(s - s.max(1, keepdims=True)) @ V.astype(np.float64)


def run_attention(**options):
    o = np.full((ROWS, D), np.nan, np.float16)
    there = [simulated.put(x, TARGET) for x in (Q, KEY, V, o)]
    c = attend[(1,)](*there, KEYS, BM=ROWS, D=D, num_warps=8, hopper=SLOTS, **options)
    return c, np.allclose(there[3].numpy(), attended(), rtol=1e-2, atol=5e-2)


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


def removals(text: str) -> Iterator[tuple[str, str]]:
    """The text without one op of its schedule, and equal ones of the same block."""
    lines = text.split("\n")
    fills = next(i for i, line in enumerate(lines) if line == "  } {")
    for i, line in enumerate(lines):
        if line in lines[:i] or not re.match(r" *(mbar_|tma_load|mma_wait|turn)", line):
            continue
        where = "in" if line.startswith(" " * 8) else "around"
        who = "who fills" if i > fills else "who reads"
        yield (
            f"{line.split(' #')[0].strip()}, {where} the loop of {who}",
            "\n".join(k for k in lines if k != line),
        )


# The program has one tile: its first slots are empty, and nobody wants the last ones back.
# The groups need not take turns to be right; one that passes none on keeps the other
# waiting. The values' slots are filled behind the keys', whose wait comes late enough here.
NEEDLESS = re.compile(
    r"turn, in|mbar_wait %2, .*, in the loop of who fills|"
    r"mbar_wait .*, around the loop of who fills|"
    r"mbar_arrive [^{]*, around the loop of who reads"
)


def lived(run, changed, tmp_path: Path) -> tuple[int, list[str]]:
    """How many mutants there are, and which of them nobody noticed."""
    compiled, is_right = run()
    assert is_right
    unnoticed, n = [], 0
    for n, (what, text) in enumerate(changed(compiled.asm["simt"]), 1):
        path = tmp_path / f"{n}.simt"
        path.write_text(text)
        try:
            _, is_right = run(ir_override=str(path))
        except RuntimeError as e:
            assert "CUDA_ERROR" in str(e)
        else:
            if is_right and what != LUCKY:
                unnoticed.append(what)
    return n, unnoticed


def test_mutants_are_found(tmp_path: Path) -> None:
    n, unnoticed = lived(run, mutants, tmp_path)
    assert n >= 25
    assert not unnoticed


def test_mutants_of_what_is_read_by_words_are_found(tmp_path: Path) -> None:
    """The product itself waits for the one before, whose registers it reads words into."""
    n, unnoticed = lived(run_tf32, mutants, tmp_path)
    assert n >= 20
    assert not [what for what in unnoticed if "pending" not in what]


def test_mutants_of_attention_are_found(tmp_path: Path) -> None:
    n, unnoticed = lived(run_attention, removals, tmp_path)
    assert n >= 25
    assert not [what for what in unnoticed if not NEEDLESS.match(what)]


def test_a_wait_for_ever_is_named(tmp_path: Path) -> None:
    compiled, _ = run()
    text = re.sub(r"\n *mbar_arrive .*bytes=.*", "", compiled.asm["simt"])
    path = tmp_path / "mutant.simt"
    path.write_text(text)
    with pytest.raises(RuntimeError, match="waits for ever at an mbarrier"):
        run(ir_override=str(path))
