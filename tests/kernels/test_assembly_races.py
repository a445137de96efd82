"""Races in the shared memory of a kernel's own assembly: found by the emulator, in whatever
order threads run, and none where there is none."""

from __future__ import annotations

import re

import numpy as np
import pytest
from test_assembly_bulk import EXPECT, INIT, LOAD, ROOM, in_cluster, unary, wait
from test_assembly_warps import START

import tegula
import tegula.language as tl

MINE = "st.shared.b32 [at], $1;"
# What the thread's neighbour, of its warp or of another, has in the room.
NEAR = "xor.b32 got, t, 1; mad.lo.u32 far, got, 4, far; ld.shared.b32 $0, [far];"
OVER = NEAR.replace("t, 1;", "t, 96;")
BEGIN = START + ROOM + ".reg .b32 first; mov.u32 far, room; mov.u32 first, room;"
ENDS = "mov.b32 $0, 0; }"

RACES = {
    "no barrier": MINE + NEAR + "}",
    "a barrier of others": (
        "shr.u32 rank, t, 6; add.u32 rank, rank, 1;" + MINE
        + "bar.sync rank, 64;" + OVER + "}"
    ),
    "two values": "st.shared.b32 [first], t;" + ENDS,
    "a byte of a word": "st.shared.b32 [at], t; st.shared.b8 [at+4], 200;" + ENDS,
    "written while it is read": MINE + "bar.sync 0;" + NEAR + "st.shared.b32 [at], 200; }",
    "arrives, and does not wait": (
        "setp.lt.u32 q, t, 64; mov.b32 $0, 0;" + MINE
        + "@q bar.arrive 3, 128; @!q bar.sync 3, 128; @q ld.shared.b32 $0, [at+256]; }"
    ),
    "arrives at an mbarrier, and does not wait": (
        "@p mbarrier.init.shared.b64 [bar], 128; bar.sync 0;" + MINE
        + "mbarrier.arrive.shared.b64 _, [bar];" + NEAR + "}"
    ),
    "the phase before": (
        "@p mbarrier.init.shared.b64 [bar], 128; bar.sync 0;"
        "mbarrier.arrive.shared.b64 _, [bar];" + wait(0) + MINE
        + "mbarrier.arrive.shared.b64 _, [bar];"
        + wait(0).replace("WAIT0", "AGAIN") + NEAR + "}"
    ),
    "a sum that is read": (
        "@p st.shared.b32 [first], 0; bar.sync 0; red.shared.add.u32 [first], $1;"
        "ld.shared.b32 $0, [first]; }"
    ),
    "a warp's barrier": MINE + "bar.warp.sync -1;" + OVER + "}",
    "a shuffle": MINE + "shfl.sync.idx.b32 rank, t, 0, 31, -1;" + NEAR + "}",
    "half of a warp": (
        "setp.lt.u32 q, lane, 16; selp.b32 mask, 0xffff, 0xffff0000, q;" + MINE
        + "bar.warp.sync mask;" + NEAR.replace("t, 1;", "t, 16;") + "}"
    ),
    "a copy into what is read": (
        INIT + EXPECT + LOAD + wait() + "ld.shared.b32 $0, [at];"
        + EXPECT + LOAD + wait(1) + "}"
    ),
    "a copy of what is written": (
        MINE + "fence.proxy.async.shared::cta;"
        "@p cp.async.bulk.global.shared::cta.bulk_group [$3], [room], 512;"
        "@p cp.async.bulk.commit_group; @p cp.async.bulk.wait_group 0;" + ENDS
    ),
    "a matrix's rows": (
        ".reg .b32 r; and.b32 r, lane, 7; mad.lo.u32 far, r, 16, far;" + MINE
        + "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {$0}, [far]; }"
    ),
}  # fmt: skip

FLAG = "@p st.shared.b32 [at], 3; @p STORE [more], 1;"
POLL = """POLL_${:uid}: nanosleep.u32 1; LOAD got, [more];
    setp.ne.b32 q, got, 0; @!q bra POLL_${:uid};"""


def flag(store: str, load: str) -> str:
    """Thread 0 tells the others."""
    text = FLAG.replace("STORE", store) + POLL.replace("LOAD", load)
    return (
        "@p st.shared.b32 [more], 0; bar.sync 0;"
        + text
        + "ld.shared.b32 $0, [first]; }"
    )


FREE = {
    "a barrier": MINE + "bar.sync 0;" + OVER + "bar.sync 0; st.shared.b32 [at], 200; }",
    "a warp's barrier": MINE + "bar.warp.sync -1;" + NEAR + "}",
    "half of a warp": (
        "setp.lt.u32 q, lane, 16; selp.b32 mask, 0xffff, 0xffff0000, q;" + MINE
        + "bar.warp.sync mask;" + NEAR + "}"
    ),
    "equal values": "st.shared.b32 [first], 5; bar.sync 0; ld.shared.b32 $0, [first]; }",
    "sums": (
        "@p st.shared.b32 [first], 0; bar.sync 0; atom.shared.add.u32 $0, [first], 1;"
        "red.shared.max.s32 [first], $1; bar.sync 0; ld.shared.b32 $0, [first]; }"
    ),
    "released": flag("st.release.cta.shared.b32", "ld.acquire.cta.shared.b32"),
    "volatile": flag("membar.cta; @p st.volatile.shared.b32", "ld.volatile.shared.b32"),
    "exchanged": flag("atom.shared.exch.b32 got,", "ld.relaxed.cta.shared.b32"),
    "through global memory": (
        MINE + "bar.sync 0; @p st.global.release.gpu.b32 [$3], 1;" + POLL.replace(
            "LOAD", "ld.global.acquire.gpu.b32").replace("[more]", "[$3]") + NEAR + "}"
    ),
    "phases of an mbarrier": (
        "@p mbarrier.init.shared.b64 [bar], 128; bar.sync 0;" + MINE
        + "mbarrier.arrive.shared.b64 _, [bar];" + wait(0) + OVER
        + "mbarrier.arrive.shared.b64 _, [bar];" + wait(1) + "st.shared.b32 [at], 9; }"
    ),
    "a buffer that is filled anew": (
        INIT + EXPECT + LOAD + wait() + "ld.shared.b32 $0, [at]; bar.sync 0;"
        + EXPECT + LOAD + wait(1) + "ld.shared.b32 $0, [at]; }"
    ),
    "one reads, and others write after it": (
        MINE + "bar.sync 0; ld.shared.b32 $0, [first];"
        "bar.sync 0; @p st.shared.b32 [at], 7; }"
    ),
    "by turns": (
        MINE + "bar.sync 0; .reg .b32 k; mov.b32 k, 0;"
        "NEXT_${:uid}: ld.shared.b32 $0, [first]; bar.sync 0; setp.eq.u32 q, t, k;"
        "@q st.shared.b32 [first], t; bar.sync 0; add.u32 k, k, 9; setp.lt.u32 q, k, 128;"
        "@q bra NEXT_${:uid}; }"
    ),
}  # fmt: skip


def run(text: str, seed: int) -> None:
    x = (np.arange(128) * 3).astype(np.int32)
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = "emu:sm_90a"
        tegula.knobs.runtime.emu_seed = seed
        unary[(1,)](x, np.zeros(256, np.int32), ASM=BEGIN + text, N=128)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", RACES)
def test_is_found(case: str, seed: int) -> None:
    with pytest.raises(tegula.errors.RaceError) as e:
        run(RACES[case], seed)
    found = (
        r"race: ((thread \d+|a bulk copy) \w+ shared memory that (thread \d+|a bulk copy) "
        r"has|an mbarrier's phase ends, and nothing orders that behind thread \d+'s wait) "
        r".* in line \d+ of the"
    )
    assert re.search(found, str(e.value)), str(e.value)
    assert "test_assembly_bulk.py" in str(e.value)  # where the kernel is


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", FREE)
def test_is_none(case: str, seed: int) -> None:
    run(FREE[case], seed)


OTHERS = (
    START + ROOM
    + "mov.u32 rank, %cluster_ctarank; xor.b32 rank, rank, 1;"
    "mapa.shared::cluster.u32 far, at, rank; barrier.cluster.arrive; barrier.cluster.wait;"
    "st.shared::cluster.b32 [far], $1; BARRIER ld.shared.b32 $0, [at];"
    "barrier.cluster.arrive; barrier.cluster.wait; }"
)  # fmt: skip


@pytest.mark.parametrize(
    "barrier", ("barrier.cluster.arrive; barrier.cluster.wait;", "bar.sync 0;")
)
def test_blocks_of_a_cluster(barrier: str) -> None:
    x = np.arange(1024, dtype=np.int32)
    args = x, np.zeros(1024, np.int32), np.zeros(1, np.int32)
    text = OTHERS.replace("BARRIER", barrier)
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = "emu:sm_90a"
        if "cluster" in barrier:
            in_cluster[(1,)](*args, ASM=text, N=1024, num_ctas=2)
            np.testing.assert_array_equal(args[1], np.roll(x, 512))
            return
        with pytest.raises(tegula.errors.RaceError, match="nothing orders them"):
            in_cluster[(1,)](*args, ASM=text, N=1024, num_ctas=2)


@tegula.jit
def pieces(x, out, BARRIER: tl.constexpr):
    """Two pieces of assembly that share memory: the first gives its address away."""
    i = tl.arange(0, 128)
    at = tl.inline_asm_elementwise(
        "{ .shared .align 4 .b32 room[128]; .reg .b32 t; mov.u32 t, %tid.x;"
        "mov.u32 $0, room; mad.lo.u32 $0, t, 4, $0; st.shared.b32 [$0], $1; }",
        "=&r,r", [tl.load(x + i)], tl.int32, False, 1,
    )  # fmt: skip
    if BARRIER:
        tl.debug_barrier()
    y = tl.inline_asm_elementwise(
        "{ .reg .b32 far; xor.b32 far, $1, 4; ld.shared.b32 $0, [far]; }",
        "=&r,r", [at], tl.int32, False, 1,
    )  # fmt: skip
    tl.store(out + i, y)


@pytest.mark.parametrize("barrier", (True, False))
def test_pieces_and_the_compilers_barrier(barrier: bool) -> None:
    x, out = np.arange(128, dtype=np.int32), np.zeros(128, np.int32)
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = "emu:sm_90a"
        if barrier:
            pieces[(1,)](x, out, BARRIER=True)
            np.testing.assert_array_equal(out, x ^ 1)
            return
        with pytest.raises(tegula.errors.RaceError, match="nothing orders them"):
            pieces[(1,)](x, out, BARRIER=False)
