"""Assembly in which threads meet, on the emulator and as PTX: shuffles, votes, barriers,
shared variables, registers of a lane. A CPU has none: tests/errors/target/."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tegula as triton
import tegula.language as tl


@pytest.fixture
def threads(device: Any) -> Any:
    if device.target == "cpu":
        pytest.skip("a program is one thread")
    return device


@triton.jit
def unary(x, out, ASM: tl.constexpr, FORM: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, tl.inline_asm_elementwise(ASM, FORM, [v], tl.int32, False, 1))


def warps(x: np.ndarray) -> np.ndarray:
    return x.reshape(-1, 32)


BALLOT = """{
    .reg .pred p;
    and.b32 $0, $1, 1;
    setp.ne.b32 p, $0, 0;
    vote.sync.ballot.b32 $0, p, -1;
}"""
EVEN_ALL = """{
    .reg .pred p, q;
    .reg .b32 t;
    and.b32 t, $1, 1;
    setp.ne.b32 p, t, 0;
    vote.sync.all.pred q, !p, -1;
    selp.b32 $0, 1, 0, q;
}"""
SUM = """{
    .reg .b32 t, k;
    mov.b32 $0, $1;
    mov.b32 k, 16;
AGAIN_${:uid}:
    shfl.sync.bfly.b32 t, $0, k, 31, -1;
    add.s32 $0, $0, t;
    shr.u32 k, k, 1;
    .reg .pred more;
    setp.ne.b32 more, k, 0;
    @more bra AGAIN_${:uid};
}"""
REVERSE = """{
    .reg .b32 t;
    mov.u32 t, %laneid;
    sub.u32 t, 31, t;
    shfl.sync.idx.b32 $0, $1, t, 31, -1;
}"""
UP = """{
    .reg .pred in;
    shfl.sync.up.b32 $0|in, $1, 1, 0, -1;
    @!in mov.b32 $0, -1;
}"""
MATCH = "match.any.sync.b32 $0, $1, -1;"
LANES = """{
    .reg .b32 t;
    mov.u32 $0, %tid.x;
    mov.u32 t, %laneid;
    shl.b32 t, t, 16;
    or.b32 $0, $0, t;
    mov.u32 t, %warpid;
    shl.b32 t, t, 24;
    or.b32 $0, $0, t;
    activemask.b32 t;
    bar.warp.sync -1;
    add.u32 $0, $0, t;
}"""
BLOCK = """{
    .shared .align 8 .b32 room[128];
    .shared .b64 total;
    .reg .b32 t, at;
    .reg .pred first;
    mov.u32 t, %tid.x;
    setp.eq.u32 first, t, 0;
    @first st.shared.b64 [total], 0;
    mov.u32 at, room;
    mad.lo.u32 at, t, 4, at;
    st.shared.b32 [at], $1;
    bar.sync 0;
    atom.shared.add.u32 t, [total], $1;
    mov.u32 t, %tid.x;
    xor.b32 t, t, 127;
    mov.u32 at, room;
    mad.lo.u32 at, t, 4, at;
    ld.shared.b32 t, [at];
    bar.sync 0;
    ld.shared.b32 $0, [total];
    mad.lo.u32 $0, $0, 1000, t;
}"""

ARRIVE = """{
    .shared .b64 bar;
    .shared .b32 room[128];
    .reg .pred p;
    .reg .b32 t, at;
    .reg .b64 state;
    mov.u32 t, %tid.x;
    setp.eq.u32 p, t, 0;
    @p mbarrier.init.shared.b64 [bar], 128;
    bar.sync 0;
    mov.u32 at, room;
    mad.lo.u32 at, t, 4, at;
    st.shared.b32 [at], $1;
    mbarrier.arrive.shared.b64 state, [bar];
WAIT_${:uid}:
    mbarrier.test_wait.shared.b64 p, [bar], state;
    @!p bra WAIT_${:uid};
    xor.b32 t, t, 127;
    mov.u32 at, room;
    mad.lo.u32 at, t, 4, at;
    ld.shared.b32 $0, [at];
}"""


def lanes_of(x: np.ndarray) -> np.ndarray:
    tid = np.arange(len(x))
    return (tid | tid % 32 << 16 | tid // 32 << 24) - 1


def matches(x: np.ndarray) -> np.ndarray:
    equal = warps(x)[:, :, None] == warps(x)[:, None, :]
    return (equal << np.arange(32)).sum(-1).ravel()


CASES: dict[str, Any] = {
    "ballot": (
        BALLOT,
        lambda x: np.repeat(((warps(x) & 1) << np.arange(32)).sum(1), 32),
    ),
    "all": (EVEN_ALL, lambda x: np.repeat((warps(x) % 2 == 0).all(1), 32)),
    "sum": (SUM, lambda x: np.repeat(warps(x).sum(1), 32)),
    "reverse": (REVERSE, lambda x: warps(x)[:, ::-1].ravel()),
    "up": (
        UP,
        lambda x: np.concatenate(
            [np.full((len(x) // 32, 1), -1), warps(x)[:, :-1]], 1
        ).ravel(),
    ),
    "match": (MATCH, matches),
    "lanes": (LANES, lanes_of),
    "arrive": (ARRIVE, lambda x: x[::-1]),
    "block": (BLOCK, lambda x: x.sum() * 1000 + x[::-1]),
}


@pytest.mark.parametrize("case", CASES)
def test_threads_that_meet(threads: Any, rng: Any, case: str) -> None:
    text, want = CASES[case]
    if case == "arrive" and "75" in threads.target:
        pytest.skip("mbarriers are of sm_80")
    x = rng.integers(0, 5, 128).astype(np.int32)
    x[32:64] = 2
    out = threads.poison((128,), np.int32)
    unary[(1,)](threads.put(x), out, ASM=text, FORM="=&r,r", N=128)
    got, expected = threads.get(out), want(x.astype(np.int64)).astype(np.int32)
    if case == "lanes" and threads.target.startswith("cuda"):
        # %warpid is where the hardware has put the warp.
        got, expected = (got + 1) & 0xFFFFFF, (expected + 1) & 0xFFFFFF
    np.testing.assert_array_equal(got, expected)


@triton.jit
def several(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    for k in range(3):
        v = tl.load(x + k * N + i)
        total, largest = tl.inline_asm_elementwise(
            "redux.sync.add.s32 $0, $2, -1; redux.sync.max.s32 $1, $2, -1;",
            "=r,=r,r", [v], (tl.int32, tl.int32), True, 1,
        )  # fmt: skip
        tl.store(out + k * N + i, 100 * total + largest)


@pytest.mark.parametrize("n", [8, 128, 512])
def test_packs_and_loops(threads: Any, rng: Any, n: int) -> None:
    """A thread of several elements meets the others for each; copies of a small block are
    there, too. Which elements a warp has is the layout's to say: so all are equal."""
    if "75" in threads.target:
        pytest.skip("redux is of sm_80")
    x = np.repeat(rng.integers(0, 100, 3), n).astype(np.int32)
    out = threads.poison((3 * n,), np.int32)
    several[(1,)](threads.put(x), out, N=n)
    np.testing.assert_array_equal(threads.get(out), 3200 * x + x)


@triton.jit
def scalar_barrier(x, out):
    """As a barrier between GPUs does it: one thread stores, all wait, all read."""
    tid = tl.inline_asm_elementwise("mov.u32 $0, %tid.x;", "=r", [], tl.int32, True, 1)
    old = tl.inline_asm_elementwise(
        """{
            .reg .pred first;
            setp.eq.u32 first, $2, 0;
            @first st.global.b32 [$1], 7;
            bar.sync 0;
            ld.global.b32 $0, [$1];
        }""",
        "=r,l,r", [x, tid], tl.int32, False, 1,
    )  # fmt: skip
    tl.store(out, old)


def test_scalars(threads: Any) -> None:
    x, out = threads.put(np.zeros(1, np.int32)), threads.poison((1,), np.int32)
    scalar_barrier[(1,)](x, out)
    assert threads.get(out)[0] == 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "{ .reg .pred p; .reg .b32 t; mov.u32 t, %tid.x; setp.lt.u32 p, t, 40;"
            " mov.b32 $0, 0; @p bar.sync 0; }",
            r"bar.sync reached by 8 of the warp's 32 threads.* lanes 0xffffff00 pass by",
        ),
        (
            "{ .reg .pred p; .reg .b32 t; mov.u32 t, %laneid; setp.lt.u32 p, t, 5;"
            " mov.b32 $0, 0; @p shfl.sync.idx.b32 $0, $1, 0, 31, -1; }",
            r"shfl.sync.idx.b32 reached by 5 of the warp's 32 threads",
        ),
        (
            "{ .reg .pred p; .reg .b32 t; mov.u32 t, %laneid; setp.lt.u32 p, t, 5;"
            " mov.b32 $0, 0; @p shfl.sync.idx.b32 $0, $1, 0, 31, -1;"
            " @!p shfl.sync.up.b32 $0, $1, 0, 31, -1; }",
            r"shfl.sync.idx.b32 reached by 5 of .* lanes 0xffffffe0 pass by",
        ),
        (
            "{ .shared .b32 s[4]; ld.shared.b32 $0, [s+16]; bar.sync 0; }",
            r"a load of 4 bytes at offset 16 of shared memory, which has 16",
        ),
        ("shfl.sync.idx.b32 $0, $1, 0, 31, 0xff;", r"not in its own mask 0xff"),
        (
            "{ .shared .b64 b; .reg .b64 s; mbarrier.arrive.shared.b64 s, [b];"
            " mov.b32 $0, 0; }",
            r"an mbarrier that was never initialised",
        ),
    ],
)
def test_faults_on_the_emulator(text: str, message: str) -> None:
    x = np.zeros(128, np.int32)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.target = "emu:sm_80"
        with pytest.raises(triton.errors.TegulaError) as e:
            unary[(1,)](x, x, ASM=text, FORM="=&r,r", N=128)
    assert re.search(message, str(e.value)), str(e.value)
    assert "test_assembly_threads.py" in str(e.value)
