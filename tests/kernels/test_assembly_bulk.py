"""Bulk copies, and what tells an mbarrier of bytes and arrivals, in assembly: on the
emulator and as PTX."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from test_assembly_warps import REVERSED, START, wants

import tegula as triton
import tegula.language as tl


@pytest.fixture
def threads(device: Any) -> Any:
    if device.target == "cpu":
        pytest.skip("a program is one thread")
    wants(device, 90)
    return device


@triton.jit
def unary(x, out, ASM: tl.constexpr, N: tl.constexpr):
    """$1 is the element, $2 the address of the first, $3 that of the first result."""
    i = tl.arange(0, N)
    v = tl.load(x + i)
    r = tl.inline_asm_elementwise(
        ASM, "=&r,r,l,l", [v, x + i * 0, out + i * 0], tl.int32, False, 1
    )
    tl.store(out + N + i, r)


@triton.jit
def in_cluster(x, out, total, ASM: tl.constexpr, N: tl.constexpr):
    """$3 is the element's number. A wide row and its sum: blocks of a cluster share it."""
    i = tl.arange(0, N)
    v = tl.load(x + i)
    r = tl.inline_asm_elementwise(
        ASM, "=&r,r,l,r", [v, x + i * 0, i], tl.int32, False, 1
    )
    tl.store(total, tl.sum(r))
    tl.store(out + i, r)


def run_in_cluster(device: Any, text: str, x: np.ndarray) -> np.ndarray:
    out, total = device.poison((len(x),), np.int32), device.poison((1,), np.int32)
    k = in_cluster[(1,)](device.put(x), out, total, ASM=text, N=len(x), num_ctas=2)
    assert k.metadata.num_ctas == 2
    return device.get(out)


ROOM = """
    .shared .align 128 .b32 room[128];
    .shared .align 128 .b32 more[128];
    .shared .b64 bar;
    setp.eq.u32 p, t, 0;
    mov.u32 at, room;
    mad.lo.u32 at, t, 4, at;
"""


def wait(phase: int = 0, bar: str = "bar") -> str:
    return f"""
    WAIT{phase}_${{:uid}}:
        mbarrier.try_wait.parity.shared::cta.b64 q, [{bar}], {phase & 1};
        @!q bra WAIT{phase}_${{:uid}};
    """


INIT = """
    @p mbarrier.init.shared::cta.b64 [bar], 1;
    fence.proxy.async.shared::cta;
    bar.sync 0;
"""
EXPECT = "@p mbarrier.arrive.expect_tx.shared::cta.b64 state, [bar], 512;"
LOAD = """
    @p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
        [room], [$2], 512, [bar];
"""
STORE = """
    fence.proxy.async.shared::cta;
    bar.sync 0;
    @p cp.async.bulk.global.shared::cta.bulk_group [$3], [room], 512;
    @p cp.async.bulk.commit_group;
    @p cp.async.bulk.wait_group 0;
    mov.b32 $0, 0;
}"""
MINE = "st.shared.b32 [at], $1;"


def run(device: Any, text: str, x: np.ndarray, **options: Any) -> np.ndarray:
    """The 128 that the assembly stored, then its results."""
    n = len(x)
    out = device.put(np.full(2 * n, 7, np.int32))
    unary[(1,)](device.put(x), out, ASM=text, N=n, **options)
    return device.get(out)


def test_a_load(threads: Any, rng: Any) -> None:
    x = rng.integers(0, 100, 128).astype(np.int32)
    text = START + ROOM + INIT + EXPECT + LOAD + wait() + REVERSED
    np.testing.assert_array_equal(run(threads, text, x)[128:], x[::-1])


def test_loads_in_two_phases(threads: Any, rng: Any) -> None:
    """Halves of 256 bytes: the second from an address with an offset, hints beside it.
    All threads have seen the first phase end before one thread begins the second."""
    x = rng.integers(0, 100, 128).astype(np.int32)
    half = EXPECT.replace("512", "got")
    text = (
        START + ROOM + ".reg .b64 policy; mov.u32 got, 256;"
        "createpolicy.fractional.L2::evict_last.b64 policy, 1.0;"
        + INIT + half + LOAD.replace("512", "got") + wait()
        + "bar.sync 0;"
        + half
        + "@p cp.async.bulk.prefetch.L2.global [$2+256], 256;"
        "@p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".L2::cache_hint [room+256], [$2+256], got, [bar], policy;"
        + wait(1) + REVERSED
    )  # fmt: skip
    np.testing.assert_array_equal(run(threads, text, x)[128:], x[::-1])


def test_a_store(threads: Any, rng: Any) -> None:
    x = rng.integers(0, 100, 128).astype(np.int32)
    got = run(threads, START + ROOM + MINE + STORE, x)
    np.testing.assert_array_equal(got[:128], x)


@pytest.mark.parametrize(
    ("op", "want"),
    [
        ("add.u32", lambda x: 7 + x),
        ("min.s32", lambda x: np.minimum(7, x)),
        ("max.s32", lambda x: np.maximum(7, x)),
        ("inc.u32", lambda x: np.where(x <= 7, 0, 8)),
        ("xor.b32", lambda x: 7 ^ x),
        ("or.b64", lambda x: 7 | x),
    ],
)
def test_a_reduction(threads: Any, rng: Any, op: str, want: Any) -> None:
    x = rng.integers(0, 15, 128).astype(np.int32)
    text = STORE.replace("cp.async.bulk.global", "cp.reduce.async.bulk.global")
    text = text.replace("bulk_group [", f"bulk_group.{op} [")
    got = run(threads, START + ROOM + MINE + text, x)
    np.testing.assert_array_equal(got[:128], want(x))


def test_a_reduction_of_floats(threads: Any, rng: Any) -> None:
    x = rng.standard_normal(128).astype(np.float16).repeat(2)
    text = STORE.replace("cp.async.bulk.global", "cp.reduce.async.bulk.global")
    text = text.replace("bulk_group [", "bulk_group.add.noftz.f16 [")
    got = run(threads, START + ROOM + MINE + text, x.view(np.int32))
    old = np.full(128, 7, np.int32).view(np.float16)
    np.testing.assert_array_equal(got[:128].view(np.float16), old + x)


def test_within_a_block(threads: Any, rng: Any) -> None:
    """From shared memory to shared memory: in a cluster of one, by its generic form."""
    if threads.target == "cuda":
        pytest.skip("an illegal instruction on an H200, as st.async is; why is open")
    x = rng.integers(0, 100, 128).astype(np.int32)
    for form, want in (("cp", x), ("cp.reduce", 3 + x)):
        op = "" if form == "cp" else ".add.s32"
        text = (
            START + ROOM + MINE
            + "mov.u32 far, more; mad.lo.u32 got, t, 4, far; st.shared.b32 [got], 3;"
            + INIT + EXPECT
            + "mov.u32 rank, 0; mapa.shared::cluster.u32 far, far, rank; .reg .b32 told;"
            "mov.u32 told, bar; mapa.shared::cluster.u32 told, told, rank;"
            f"@p {form}.async.bulk.shared::cluster.shared::cta"
            f".mbarrier::complete_tx::bytes{op} [far], [room], 512, [told];"
            + wait() + "ld.shared.b32 $0, [got]; }"
        )  # fmt: skip
        np.testing.assert_array_equal(run(threads, text, x)[128:], want)


def test_to_the_blocks_of_a_cluster(threads: Any, rng: Any) -> None:
    """The first block loads for both, each of which waits at its own mbarrier."""
    x = rng.integers(0, 100, 1024).astype(np.int32)
    both = """
    barrier.cluster.arrive; barrier.cluster.wait;
    mov.u32 rank, %cluster_ctarank;
    setp.eq.and.u32 q, rank, 0, p;
    .reg .b16 all;
    mov.b16 all, 3;
    @q cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
        [room], [$2], 512, [bar], all;
    """
    text = START + ROOM + INIT + EXPECT + both + wait() + """
        and.b32 t, $3, 127;
        mov.u32 at, room;
        mad.lo.u32 at, t, 4, at;
        ld.shared.b32 $0, [at];
        barrier.cluster.arrive; barrier.cluster.wait;
    }"""  # fmt: skip
    got = run_in_cluster(threads, text, x)
    np.testing.assert_array_equal(got, np.tile(x[:128], 8))


# ---- mbarriers ---------------------------------------------------------------------------


def test_arrivals_that_are_dropped(threads: Any) -> None:
    """128 arrive, the second half for the last time; then 64 are enough. Counts of arrivals
    that were pending before: the first of all saw 128. The half that was dropped must have
    seen the first phase end before the other half ends the second."""
    text = START + ROOM + """
        @p mbarrier.init.shared.b64 [bar], 128;
        bar.sync 0;
        @p mbarrier.arrive.noComplete.shared.b64 state, [bar], 1;
        @p mbarrier.pending_count.b64 got, state;
        bar.sync 0;
        setp.lt.u32 q, t, 64;
        @!q mbarrier.arrive_drop.shared.b64 state, [bar];
        not.pred p, p;
        and.pred q, q, p;
        @q mbarrier.arrive.shared.b64 state, [bar];
    """ + wait() + """
        bar.sync 0;
        setp.lt.u32 q, t, 64;
        @q mbarrier.arrive.shared.b64 state, [bar];
        mov.b32 $0, 1;
        @!p mov.b32 $0, got;
    """ + wait(1) + "}"  # fmt: skip
    got = run(threads, text, np.zeros(128, np.int32))[128:]
    np.testing.assert_array_equal(got, [128] + [1] * 127)


@pytest.mark.parametrize("noinc", ("", ".noinc"))
def test_an_arrival_behind_copies(threads: Any, rng: Any, noinc: str) -> None:
    x = rng.integers(0, 100, 128).astype(np.int32)
    arrive = "" if noinc else "mbarrier.arrive.shared.b64 state, [bar];"
    text = START + ROOM + """
        @p mbarrier.init.shared.b64 [bar], 128;
        bar.sync 0;
        mul.wide.u32 state, t, 4;
        add.u64 state, state, $2;
        cp.async.ca.shared.global [at], [state], 4;
        cp.async.mbarrier.arrive""" + noinc + """.shared.b64 [bar];
    """ + arrive + wait() + REVERSED  # fmt: skip
    np.testing.assert_array_equal(run(threads, text, x)[128:], x[::-1])


TOLD = {
    "st.async": ("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32"
                 " [far], $1, [told];", lambda x: np.roll(x, 512)),
    "red.async": ("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes"
                  ".add.u32 [far], $1, [told];", lambda x: 3 + np.roll(x, 512)),
}  # fmt: skip


@pytest.mark.parametrize("op", TOLD)
def test_stores_to_the_other_block(threads: Any, rng: Any, op: str) -> None:
    if threads.target == "cuda":
        pytest.skip("an illegal instruction on an H200; why is open")
    store, want = TOLD[op]
    x = rng.integers(0, 100, 1024).astype(np.int32)
    text = START + ROOM + ".reg .b32 told; st.shared.b32 [at], 3;" + INIT + EXPECT + """
        barrier.cluster.arrive; barrier.cluster.wait;
        mov.u32 rank, %cluster_ctarank;
        xor.b32 rank, rank, 1;
        mapa.shared::cluster.u32 far, at, rank;
        mov.u32 told, bar;
        mapa.shared::cluster.u32 told, told, rank;
    """ + store + wait() + """
        ld.shared.b32 $0, [at];
        barrier.cluster.arrive; barrier.cluster.wait;
    }"""  # fmt: skip
    np.testing.assert_array_equal(run_in_cluster(threads, text, x), want(x))


# ---- what breaks the rules ---------------------------------------------------------------

TAIL = "mov.b32 $0, 0; }"
FAULTS = {
    "nobody waits": (
        INIT + EXPECT + LOAD + "mov.b32 $0, 0; @p ld.shared.b32 $0, [at]; }",
        r"cp.async.bulk that nobody has waited for is still to write; ld.shared",
    ),
    "nobody ever waits": (
        INIT + EXPECT + LOAD + TAIL,
        r"a program ends while a bulk copy to its shared memory is under way",
    ),
    "the source is written": (
        INIT + EXPECT + LOAD + "@p st.global.b32 [$2], 5;" + wait() + TAIL,
        r"race: memory was written while a bulk copy of it was under way",
    ),
    "shared memory is written too early": (
        MINE + STORE.replace("@p cp.async.bulk.wait",
                             "@p st.shared.b32 [at], 5; @p cp.async.bulk.wait"),
        r"race: thread 0 writes shared memory that a bulk copy has read, and nothing",
    ),
    "nobody waits for the group": (
        MINE + STORE.replace("@p cp.async.bulk.wait_group 0;", ""),
        r"a thread ends while a bulk copy of its shared memory is under way",
    ),
    "misaligned": (
        INIT + EXPECT + LOAD.replace("[$2]", "[$2+4]") + TAIL,
        r"misaligned: a bulk copy's addresses are multiples of 16",
    ),
    "odd length": (
        INIT + EXPECT + LOAD.replace("512", "500") + TAIL,
        r"a bulk copy of 500 bytes",
    ),
    "out of bounds": (
        INIT + EXPECT + LOAD.replace("[$2]", "[$2+64]") + TAIL,
        r"out of bounds",
    ),
    "out of shared memory": (
        INIT + EXPECT + LOAD.replace("[room]", "[bar+16]") + TAIL,
        r"a store of 16 bytes at offset 1040 of shared memory, which has 1032",
    ),
    "no mbarrier": (
        EXPECT + TAIL,
        r"an mbarrier that was never initialised",
    ),
    "outside of a cluster": (
        INIT + "mov.u32 rank, 0; mapa.shared::cluster.u32 far, at, rank;"
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [far], $1, [far];"
        + TAIL,
        r"outside of a cluster this is an illegal instruction on an H200; st.async",
    ),
    "it completes": (
        INIT + "@p mbarrier.arrive.noComplete.shared.b64 state, [bar], 1;" + TAIL,
        r"arrivals with .noComplete complete the phase",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FAULTS)
def test_faults_on_the_emulator(case: str) -> None:
    text, message = FAULTS[case]
    x = np.zeros(128, np.int32)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.target = "emu:sm_90a"
        with pytest.raises(triton.errors.TegulaError) as e:
            unary[(1,)](x, np.zeros(256, np.int32), ASM=START + ROOM + text, N=128)
    assert re.search(message, str(e.value)), str(e.value)
    assert "test_assembly_bulk.py" in str(e.value)
