"""Assembly of warps, blocks and clusters, on the emulator and as PTX: groups of lanes,
barriers of some threads, copies, matrices, other blocks' memory."""

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


def architecture(device: Any) -> int:
    if device.target == "cuda":
        torch = pytest.importorskip("torch")
        major, minor = torch.cuda.get_device_capability()
        return 10 * major + minor
    return int(re.search(r"sm_(\d+)", device.target)[1])


def wants(device: Any, sm: int) -> None:
    if architecture(device) < sm:
        pytest.skip(f"of sm_{sm} on")


@triton.jit
def unary(x, out, ASM: tl.constexpr, N: tl.constexpr):
    """$1 is the element, $2 its address."""
    i = tl.arange(0, N)
    v = tl.load(x + i)
    r = tl.inline_asm_elementwise(ASM, "=&r,r,l", [v, x + i], tl.int32, False, 1)
    tl.store(out + i, r)


START = """{
    .reg .b32 t, lane, warp, mask, at, far, got, rank;
    .reg .b64 state;
    .reg .pred p, q;
    mov.u32 t, %tid.x;
    mov.u32 lane, %laneid;
    shr.u32 warp, t, 5;
"""
ROOM = """
    .shared .align 16 .b32 room[512];
    mov.u32 at, room;
    mad.lo.u32 at, t, 4, at;
"""
REVERSED = """
    xor.b32 t, t, 127;
    mov.u32 at, room;
    mad.lo.u32 at, t, 4, at;
    ld.shared.b32 $0, [at];
}"""
HALVES = """
    setp.lt.u32 p, lane, 16;
    selp.b32 mask, 0xffff, 0xffff0000, p;
"""


def halves(x: np.ndarray) -> np.ndarray:
    return x.reshape(-1, 16)


def spread(per_half: np.ndarray) -> np.ndarray:
    return np.repeat(per_half, 16)


def ballots(x: np.ndarray) -> np.ndarray:
    bits = halves(x & 1) << np.arange(16)
    up = np.arange(len(bits)) % 2 * 16
    return spread(bits.sum(1) << up)


def matches(x: np.ndarray) -> np.ndarray:
    h = halves(x)
    bits = ((h[:, :, None] == h[:, None, :]) << np.arange(16)).sum(-1)
    return (bits << (np.arange(len(h)) % 2 * 16)[:, None]).ravel()


def sums_or_largest(x: np.ndarray) -> np.ndarray:
    h = halves(x)
    return spread(np.where(np.arange(len(h)) % 2 == 0, h.sum(1), h.max(1)))


def next_of_three(x: np.ndarray) -> np.ndarray:
    w = x.reshape(-1, 32).copy()
    w[:, :3] = w[:, [1, 2, 0]]
    return w.ravel()


def of_other_pair(x: np.ndarray) -> np.ndarray:
    """Warps 2 and 3 get what 0 and 1 have."""
    return np.concatenate([x[:64], x[:64]])


# name: the first architecture, text, what it gives
CASES: dict[str, Any] = {
    "ballot of halves": (
        75,
        START + HALVES + "and.b32 $0, $1, 1; setp.ne.b32 q, $0, 0;"
        "vote.sync.ballot.b32 $0, q, mask; }",
        ballots,
    ),
    "match of halves": (
        75,
        START + HALVES + "match.any.sync.b32 $0, $1, mask; }",
        matches,
    ),
    "sum of one half, maximum of the other": (
        80,
        START
        + HALVES
        + """
        @p bra LOW_${:uid};
        redux.sync.max.s32 $0, $1, 0xffff0000;
        bra END_${:uid};
    LOW_${:uid}:
        redux.sync.add.s32 $0, $1, 0xffff;
    END_${:uid}:
    }""",
        sums_or_largest,
    ),
    "three lanes": (
        75,
        START
        + """
        setp.lt.u32 p, lane, 3;
        setp.eq.u32 q, lane, 2;
        add.u32 t, lane, 1;
        @q mov.u32 t, 0;
        mov.b32 $0, $1;
        @p shfl.sync.idx.b32 $0, $1, t, 31, 7;
        @p bar.warp.sync 7;
    }""",
        next_of_three,
    ),
    "lanes that are here": (
        75,
        START
        + """
        setp.gt.u32 p, lane, 27;
        mov.b32 $0, 0;
        @p activemask.b32 $0;
    }""",
        lambda x: np.where(np.arange(len(x)) % 32 > 27, -(1 << 28), 0),
    ),
    "two barriers": (
        75,
        START
        + ROOM
        + """
        st.shared.b32 [at], $1;
        shr.u32 got, t, 6;
        add.u32 got, got, 1;
        bar.sync got, 64;
        xor.b32 t, t, 63;
        mov.u32 at, room;
        mad.lo.u32 at, t, 4, at;
        ld.shared.b32 $0, [at];
    }""",
        lambda x: x[np.arange(128) ^ 63],
    ),
    "arrive": (
        75,
        START
        + ROOM
        + """
        setp.lt.u32 p, t, 64;
        @p st.shared.b32 [at], $1;
        @p bar.arrive 3, 128;
        @!p bar.sync 3, 128;
        mov.b32 $0, $1;
        @!p ld.shared.b32 $0, [at+-256];
    }""",
        of_other_pair,
    ),
    "reductions": (
        75,
        START
        + """
        setp.gt.s32 p, $1, 1;
        barrier.cta.red.popc.aligned.u32 $0, 0, p;
        bar.red.and.pred q, 1, 128, p;
        @q add.u32 $0, $0, 1000;
        bar.red.or.pred q, 1, !p;
        @q add.u32 $0, $0, 2000;
        barrier.cta.sync 5;
    }""",
        lambda x: np.full(128, (x > 1).sum() + 2000),
    ),
    "copy": (
        80,
        START
        + ROOM
        + """
        cp.async.ca.shared.global [at], [$2], 4;
        cp.async.commit_group;
        cp.async.wait_group 0;
        bar.sync 0;
    """
        + REVERSED,
        lambda x: x[::-1],
    ),
    "copies in groups": (
        80,
        START
        + ROOM
        + """
        cp.async.ca.shared::cta.global [at], [$2], 4;
        cp.async.commit_group;
        cp.async.ca.shared.global.L2::128B [at+512], [$2], 4, 0;
        cp.async.commit_group;
        cp.async.wait_group 1;
        ld.shared.b32 $0, [at];
        cp.async.wait_all;
        ld.shared.b32 got, [at+512];
        mad.lo.u32 $0, $0, 10, got;
    }""",
        lambda x: x * 10,
    ),
    "a copy of parts": (
        80,
        START
        + ROOM
        + """
        and.b32 mask, t, 3;
        setp.eq.u32 p, mask, 0;
        setp.ge.u32 q, t, 64;
        selp.b32 got, 8, 16, q;
        @p cp.async.cg.shared.global [at], [$2], 16, got;
        cp.async.wait_all;
        bar.sync 0;
        ld.shared.b32 $0, [at];
    }""",
        lambda x: np.where((np.arange(128) >= 64) & (np.arange(128) % 4 > 1), 0, x),
    ),
    "a cluster of one": (
        90,
        START
        + ROOM
        + """
        mov.u32 rank, %cluster_ctarank;
        mapa.shared::cluster.u32 far, at, rank;
        barrier.cluster.arrive.release.aligned;
        barrier.cluster.wait.acquire.aligned;
        st.shared::cluster.b32 [far], $1;
        getctarank.shared::cluster.u32 got, far;
        barrier.cluster.arrive;
        barrier.cluster.wait;
        ld.shared::cluster.b32 $0, [far];
        add.u32 $0, $0, got;
        mov.u32 got, %cluster_nctarank;
        mad.lo.u32 $0, $0, 10, got;
    }""",
        lambda x: x * 10 + 1,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_case(threads: Any, rng: Any, case: str) -> None:
    sm, text, want = CASES[case]
    wants(threads, sm)
    x = rng.integers(0, 5, 128).astype(np.int32)
    out = threads.poison((128,), np.int32)
    unary[(1,)](threads.put(x), out, ASM=text, N=128)
    expected = want(x.astype(np.int64)).astype(np.int32)
    np.testing.assert_array_equal(threads.get(out), expected)


# ---- matrices ----------------------------------------------------------------------------

LANE = np.arange(32)
GROUP, PLACE = LANE // 4, LANE % 4


@triton.jit
def multiply(x, out, ASM: tl.constexpr, FORM: tl.constexpr):
    """Ten registers of a lane in, four out."""
    i = tl.arange(0, 32)
    r = tl.inline_asm_elementwise(
        ASM, FORM,
        [tl.load(x + 32 * k + i) for k in tl.static_range(10)],
        (tl.int32, tl.int32, tl.int32, tl.int32), False, 1,
    )  # fmt: skip
    for k in tl.static_range(4):
        tl.store(out + 32 * k + i, r[k])


def pairs(m: np.ndarray, row: np.ndarray, col: np.ndarray) -> np.ndarray:
    """Two elements of 16 bits, side by side in a row, in a register of each lane."""
    low = m[row, col].view(np.uint16).astype(np.uint32)
    return (low | m[row, col + 1].view(np.uint16).astype(np.uint32) << 16).view(
        np.int32
    )


def test_mma(threads: Any, rng: Any) -> None:
    wants(threads, 80)
    a = rng.integers(-4, 5, (16, 16)).astype(np.float16)
    b = rng.integers(-4, 5, (16, 8)).astype(np.float16)
    c = rng.integers(-4, 5, (16, 8)).astype(np.float32)
    g, t = GROUP, 2 * PLACE
    bt = np.ascontiguousarray(b.T)
    regs = [pairs(a, g, t), pairs(a, g + 8, t), pairs(a, g, t + 8),
            pairs(a, g + 8, t + 8), pairs(bt, g, t), pairs(bt, g, t + 8)]  # fmt: skip
    places = [(g, t), (g, t + 1), (g + 8, t), (g + 8, t + 1)]
    regs += [c[p].view(np.int32) for p in places]
    out = threads.poison((4, 32), np.int32)
    text = """{
        .reg .f32 d<4>;
        mov.b32 d0, $10; mov.b32 d1, $11; mov.b32 d2, $12; mov.b32 d3, $13;
        mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
            {d0, d1, d2, d3}, {$4, $5, $6, $7}, {$8, $9}, {d0, d1, d2, d3};
        mov.b32 $0, d0; mov.b32 $1, d1; mov.b32 $2, d2; mov.b32 $3, d3;
    }"""
    form = "=&r,=&r,=&r,=&r," + ",".join("r" * 10)
    multiply[(1,)](threads.put(np.stack(regs)), out, ASM=text, FORM=form, num_warps=1)
    got, d = threads.get(out).view(np.float32), np.zeros((16, 8), np.float32)
    for k, p in enumerate(places):
        d[p] = got[k]
    np.testing.assert_array_equal(d, a.astype(np.float32) @ b.astype(np.float32) + c)


@triton.jit
def rows(x, out, ASM: tl.constexpr):
    """Four registers of a lane, which are 16 bytes of its row, in and out."""
    i = tl.arange(0, 32)
    r = tl.inline_asm_elementwise(
        ASM, "=&r,=&r,=&r,=&r,r,r,r,r",
        [tl.load(x + 4 * i + k) for k in tl.static_range(4)],
        (tl.int32, tl.int32, tl.int32, tl.int32), False, 1,
    )  # fmt: skip
    for k in tl.static_range(4):
        tl.store(out + 4 * i + k, r[k])


SHARED_ROWS = """{
    .shared .align 16 .b8 rows[512];
    .reg .b32 t, at;
    mov.u32 t, %laneid;
    mov.u32 at, rows;
    mad.lo.u32 at, t, 16, at;
"""
PUT = "st.shared.v4.b32 [at], {$4, $5, $6, $7}; bar.warp.sync -1;"
GET = "bar.warp.sync -1; ld.shared.v4.b32 {$0, $1, $2, $3}, [at];"


def fragments(x: np.ndarray, trans: bool) -> np.ndarray:
    """x [4, 8, 8] of 16 bits as the four registers of each lane."""
    m = x.transpose(0, 2, 1) if trans else x
    return np.ascontiguousarray(m).reshape(4, 32, 2).transpose(1, 0, 2)


@pytest.mark.parametrize("trans", ["", ".trans"])
@pytest.mark.parametrize("op", ["ldmatrix", "stmatrix", "movmatrix"])
def test_matrices(threads: Any, rng: Any, op: str, trans: str) -> None:
    wants(threads, 90 if op == "stmatrix" else 75)
    if op == "movmatrix" and not trans:
        pytest.skip("there is no such form")
    x = rng.integers(0, 65536, (4, 8, 8)).astype(np.uint16)
    form = f".sync.aligned.m8n8.x4{trans}.shared.b16"
    if op == "ldmatrix":
        text = PUT + f"ldmatrix{form} {{$0, $1, $2, $3}}, [at];"
        given, want = x, fragments(x, bool(trans))
    elif op == "stmatrix":
        text = f"stmatrix{form} [at], {{$4, $5, $6, $7}};" + GET
        given, want = fragments(x, bool(trans)), x
    else:
        text = "".join(
            f"movmatrix.sync.aligned.m8n8.trans.b16 ${k}, ${4 + k};" for k in range(4)
        )
        given, want = fragments(x, False), fragments(x, True)
    out = threads.poison((32, 4), np.int32)
    given = np.ascontiguousarray(given).view(np.int32).reshape(32, 4)
    rows[(1,)](threads.put(given), out, ASM=SHARED_ROWS + text + "}", num_warps=1)
    got = threads.get(out).view(np.uint16)
    np.testing.assert_array_equal(got, np.ascontiguousarray(want).reshape(32, 8))


# ---- clusters ----------------------------------------------------------------------------


@triton.jit
def in_cluster(x, out, total, ASM: tl.constexpr, N: tl.constexpr):
    """Its row is wide, and it has a sum: so blocks of a cluster share it."""
    i = tl.arange(0, N)
    v = tl.load(x + i)
    r = tl.inline_asm_elementwise(ASM, "=&r,r", [v], tl.int32, False, 1)
    tl.store(total, tl.sum(r))
    tl.store(out + i, r)


SWAP = (
    START
    + ROOM
    + """
    mov.u32 rank, %cluster_ctarank;
    xor.b32 rank, rank, 1;
    mapa.shared::cluster.u32 far, at, rank;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    st.shared::cluster.b32 [far], $1;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    ld.shared.b32 $0, [at];
    getctarank.shared::cluster.u32 got, far;
    mad.lo.u32 $0, $0, 10, got;
    mov.u32 got, %ctaid.x;
    mad.lo.u32 $0, $0, 10, got;
}"""
)


def test_blocks_of_a_cluster(threads: Any, rng: Any) -> None:
    """Each has what the other's threads had, the other's rank, and its own number."""
    wants(threads, 90)
    n = 1024
    x = rng.integers(0, 100, n).astype(np.int32)
    out, total = threads.poison((n,), np.int32), threads.poison((1,), np.int32)
    k = in_cluster[(1,)](threads.put(x), out, total, ASM=SWAP, N=n, num_ctas=2)
    assert k.metadata.num_ctas == 2
    own = np.arange(n) // (n // 2)
    want = (np.roll(x, n // 2) * 10 + (own ^ 1)) * 10 + own
    np.testing.assert_array_equal(threads.get(out), want)
    assert threads.get(total)[0] == want.sum()


# ---- what breaks the rules ---------------------------------------------------------------

FAULTS = [
    (
        START + HALVES + "@p vote.sync.any.pred q, p, 0xffff;"
        "@!p vote.sync.any.pred q, p, -1; mov.b32 $0, 0; }",
        r"vote.sync.any.pred reached by 16 of the warp's 32 threads: it has diverged, "
        r"lanes 0xffff pass by; vote.sync.any.pred in line \d+ of the assembly",
    ),
    (
        START + HALVES + "shfl.sync.idx.b32 $0, $1, 0, 31, 0xf0; }",
        r"not in its own mask 0xf0; shfl.sync.idx.b32 in line \d+ of the assembly",
    ),
    ("bar.sync 1, 40; mov.b32 $0, 0;", r"a barrier of 40 threads; bar.sync in line 1"),
    ("bar.sync 16; mov.b32 $0, 0;", r"barrier 16: there are 16; bar.sync in line 1"),
    ("bar.sync 1, 256; mov.b32 $0, 0;", r"barrier 1 reached by 128 of 256 threads"),
    (
        START + "setp.lt.u32 p, t, 64; mov.b32 $0, 0;"
        "@p bar.sync 2, 128; @!p bar.sync 2, 96; }",
        r"barrier 2 of 96 threads, of 128 where others arrived",
    ),
    (
        START + "setp.lt.u32 p, t, 64; mov.b32 $0, 0;"
        "@p bar.sync 2, 128; @!p bar.red.popc.u32 $0, 2, 128, p; }",
        r"barrier 2 with another reduction",
    ),
    (
        START
        + "setp.lt.u32 p, lane, 7; mov.b32 $0, 0; @p bar.sync 2; @!p bar.sync 1; }",
        r"bar.sync reached by 7 of the warp's 32 threads.* lanes 0xffffff80 pass by",
    ),
    (
        START + ROOM + "cp.async.ca.shared.global [at], [$2], 4;"
        "cp.async.commit_group; ld.shared.b32 $0, [at]; }",
        r"cp.async that nobody has waited for is still to write; ld.shared.b32 in line",
    ),
    (
        START + ROOM + "cp.async.ca.shared.global [at], [$2], 4; cp.async.commit_group;"
        "st.global.b32 [$2], 5; cp.async.wait_all; mov.b32 $0, 0; }",
        r"race: memory was written while an asynchronous copy",
    ),
    (
        START + ROOM + "cp.async.ca.shared.global [at], [$2], 8; mov.b32 $0, 0; }",
        r"misaligned",
    ),
    (
        START + ROOM + "cp.async.ca.shared.global [at], [$2+512], 4; mov.b32 $0, 0; }",
        r"out of bounds",
    ),
    (
        START + ROOM + "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
        " {$0, far, got, rank}, [at]; }",
        r"misaligned: a load of 16 bytes at shared address 0x\w+; ldmatrix",
    ),
    (
        START + "mov.b32 $0, 0; barrier.cluster.arrive; barrier.cluster.arrive; }",
        r"has arrived already.*barrier.cluster.arrive in line",
    ),
    (
        "mov.b32 $0, 0; barrier.cluster.wait;",
        r"waits at the cluster's barrier, and has not arrived",
    ),
    (
        START + ROOM + "mapa.shared::cluster.u32 far, at, 1;"
        "ld.shared::cluster.b32 $0, [far]; }",
        r"of a block that the cluster does not have: it has 1; ld.shared::cluster.b32",
    ),
]


@pytest.mark.parametrize(("text", "message"), FAULTS, ids=range(len(FAULTS)))
def test_faults_on_the_emulator(text: str, message: str) -> None:
    x = np.zeros(128, np.int32)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.target = "emu:sm_90a"
        with pytest.raises(triton.errors.TegulaError) as e:
            unary[(1,)](x, x.copy(), ASM=text, N=128)
    assert re.search(message, str(e.value)), str(e.value)
    assert "test_assembly_warps.py" in str(e.value)
