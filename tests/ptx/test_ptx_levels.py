"""What ptxas says of products by warpgroups decides whether they stay.

The assembler here is a script: it says of PTX with wgmma what a test wants it to say.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import tegula
import tegula.language as tl

# {roles}: of code with warps of their own; {open}: in which a product stays open.
SCRIPT = """#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
    -o) out=$2; shift ;;
    *.ptx) in=$1 ;;
    esac
    shift
done
spills=0
if grep -q mbarrier "$in"; then say={roles}
elif grep -q 'wgmma.wait_group.sync.aligned 1' "$in"; then say={open}
elif grep -q wgmma.mma_async "$in"; then say={groups}
else say={none}
fi
case $say in
refuse) echo 'ptxas fatal : (C7602) too many registers'; exit 255 ;;
serial) echo 'ptxas info : (C7510) Potential Performance Loss: wgmma is serialized' ;;
early*)
    if grep -q '@none trap' "$in"; then spills=${say#early}
    else echo 'ptxas info : (C7514) Potential Performance Loss: wgmma is serialized'; fi ;;
*) spills=$say ;;
esac
echo "    0 bytes stack frame, $spills bytes spill stores, 0 bytes spill loads"
echo "ptxas info : Used 99 registers, used 1 barriers"
cp "$in" "$out"
"""

# Of code that is for three blocks on a multiprocessor.
OF_BLOCKS = """esac
if grep -q 'minnctapersm 3' "$in"; then spills={three}; fi
case x in x) ;;"""


@tegula.jit
def product(a, b, c, K, STEP: tl.constexpr = 64):
    i, j, k = tl.arange(0, 128), tl.arange(0, 256), tl.arange(0, 64)
    acc = tl.zeros((128, 256), tl.float32)
    for at in range(0, K, STEP):
        x = tl.load(a + i[:, None] * 4096 + (at + k)[None, :])
        y = tl.load(b + (at + k)[:, None] * 256 + j[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + i[:, None] * 256 + j[None, :], acc)


def compiled(tmp_path: Path, says: dict[str, str], cache: str = "", **options):
    """Without warps of their own, unless `says` has what is said of them."""
    script = tmp_path / "ptxas"
    text = SCRIPT
    for name, what in {"roles": "0", **says}.items():
        text = text.replace("{" + name + "}", what)
    # A file written again is another assembler, whose kernels are others on disk.
    if not script.exists() or script.read_text() != text:
        script.write_text(text)
        script.chmod(0o700)
    with tegula.knobs.nvidia.scope(), tegula.knobs.cache.scope():
        tegula.knobs.nvidia.ptxas = str(script)
        tegula.knobs.nvidia.tma = "roles" in says
        tegula.knobs.cache.dir = cache
        return tegula.jit(product.fn).compile(
            *["*fp16:16", "*fp16:16", "*fp32:16", "i32:16"],
            target="cuda:sm_90a",
            num_stages=3,
            num_warps=8,
            **options,
        )


def level(c) -> str:
    ptx = c.asm["ptx"]
    if "wgmma.mma_async" not in ptx:
        return "1"
    if "mbarrier" in ptx:
        return "3"
    return "2,1" if "wgmma.wait_group.sync.aligned 1" in ptx else "2,0"


CASES = [
    # What is said of: open products, warpgroups, neither; then what is kept.
    ("0", "0", "0", "2,1"),
    ("serial", "0", "0", "2,0"),
    ("refuse", "0", "0", "2,0"),
    ("8", "0", "0", "2,0"),
    ("serial", "serial", "0", "1"),
    ("refuse", "serial", "16", "1"),
    ("8", "16", "0", "2,1"),  # mma.sync costs as much as some hundred bytes
    ("500", "516", "0", "1"),
    ("500", "516", "116", "2,1"),  # the least of it
    ("32", "16", "16", "2,0"),  # and the higher level of equals
    ("serial", "serial", "refuse", "2,1"),
]


@pytest.mark.parametrize("opened,groups,none,want", CASES)
def test_best_level_is_kept(tmp_path, opened, groups, none, want):
    c = compiled(tmp_path, {"open": opened, "groups": groups, "none": none})
    assert level(c) == want
    said = {"2,1": opened, "2,0": groups, "1": none}[want]
    assert c.n_spills == (int(said) if said.isdigit() else 0)


@pytest.mark.parametrize(
    "roles, opened, want, traps",
    [
        ("early0", "0", "3", 1),
        ("early8", "0", "2,1", 0),  # with them it spills
        ("serial", "0", "2,1", 0),  # they are no help
        ("serial", "early0", "2,1", 1),
    ],
)
def test_traps_part_the_wait_from_what_reads(tmp_path, roles, opened, want, traps):
    """ptxas says that sums are read while products run."""
    says = {"roles": roles, "open": opened, "groups": "0", "none": "0"}
    c = compiled(tmp_path, says)
    ptx = c.asm["ptx"]
    assert level(c) == want
    assert ptx.count("@none trap") == traps * ptx.count(
        "wgmma.wait_group.sync.aligned 0"
    )
    assert c.n_spills == 0


@pytest.mark.parametrize("slots, traps", [(2, False), (3, True)])
def test_no_traps_where_every_tile_is_waited_for(tmp_path, slots, traps):
    c = compiled(tmp_path, {"roles": "early0"}, hopper=f"3,{slots}")
    assert f"mbar<{slots}>" in c.asm["simt"]
    assert ("@none trap" in c.asm["ptx"]) == traps


@tegula.jit
def triangle(a_ptr, c_ptr, M, N, B: tl.constexpr, BK: tl.constexpr):
    """C = A^T @ A, of which the tiles below the diagonal are those above it, turned."""
    across = tl.cdiv(N, B)
    m, n = tl.program_id(0) // across * B, tl.program_id(0) % across * B
    if m > n:
        return
    i, j, k = (m + tl.arange(0, B)) % N, (n + tl.arange(0, B)) % N, tl.arange(0, BK)
    x_ptrs, y_ptrs = a_ptr + k[:, None] * N + i, a_ptr + k[:, None] * N + j
    acc = tl.zeros((B, B), tl.float32)
    for at in range(tl.cdiv(M, BK)):
        there = k[:, None] < M - at * BK
        x = tl.load(x_ptrs, mask=there, other=0.0)
        acc = tl.dot(x.T, tl.load(y_ptrs, mask=there, other=0.0), acc)
        x_ptrs += BK * N
        y_ptrs += BK * N
    i, j, out = m + tl.arange(0, B), n + tl.arange(0, B), acc.to(tl.bfloat16)
    mask = (i[:, None] < N) & (j < N)
    tl.store(c_ptr + i[:, None] * N + j, out, mask=mask)
    tl.store(c_ptr + j[:, None] * N + i, out.T, mask=mask.T)


@pytest.mark.skipif(not shutil.which("ptxas"), reason="there is no ptxas")
def test_sums_that_are_read_in_the_block_of_their_wait():
    """Without the traps ptxas 13.0 runs one product after the other."""
    c = triangle.compile(
        "*bf16:16", "*bf16:16", "i32:16", "i32:16",
        B=128, BK=64, num_warps=8, num_stages=4, target="cuda:sm_90a", abi="tegula",
    )  # fmt: skip
    assert level(c) == "3"


@pytest.mark.parametrize(
    "roles, want", [("0", "3"), ("392", "3"), ("500", "2,1"), ("refuse", "2,1")]
)
def test_roles_give_way(tmp_path, roles, want):
    says = {"roles": roles, "open": "0", "groups": "0", "none": "0"}
    assert level(compiled(tmp_path, says)) == want


def test_report_says_why(tmp_path):
    c = compiled(tmp_path, {"open": "serial", "groups": "408", "none": "0"})
    assert "level 1, no wgmma: ptxas spills 408 bytes" in str(c.report)
    c = compiled(tmp_path, {"open": "refuse", "groups": "0", "none": "0"})
    assert "left open, ptxas refuses the code" in str(c.report)


def test_a_level_asked_for_is_not_left(tmp_path):
    says = {"open": "serial", "groups": "serial", "none": "0"}
    assert level(compiled(tmp_path, says, hopper="2,0")) == "2,0"


def test_code_that_no_level_can_have_is_an_error(tmp_path):
    says = dict.fromkeys(("open", "groups", "none"), "refuse")
    with pytest.raises(tegula.errors.PTXASError, match="C7602"):
        compiled(tmp_path, says)


def test_another_assembler_finds_nothing_on_disk(tmp_path):
    """Nor one of the same size that was written within the same second."""
    says = {"open": "0", "groups": "0", "none": "0"}
    cache = str(tmp_path / "cache")
    assert not compiled(tmp_path, says, cache).metadata.from_disk
    assert compiled(tmp_path, says, cache).metadata.from_disk
    script = tmp_path / "ptxas"
    then = script.stat().st_mtime_ns
    os.utime(script, ns=(then, then // 10**9 * 10**9 + (then + 1) % 10**9))
    assert not compiled(tmp_path, says, cache).metadata.from_disk


def test_a_lower_level_is_found_on_disk(tmp_path):
    """It is made from the IR's text, which knows of no constants among the arguments."""
    says = {"open": "serial", "groups": "0", "none": "0"}
    cache = str(tmp_path / "cache")
    first, second = (compiled(tmp_path, says, cache) for _ in range(2))
    assert level(first) == level(second) == "2,0"
    assert not first.metadata.from_disk and second.metadata.from_disk


@tegula.jit
def gathered_scales(a, b, c, rows, a_scales, b_scales, K):
    i, j, k = tl.arange(0, 64), tl.arange(0, 128), tl.arange(0, 128)
    r = tl.load(rows + i)
    acc = tl.zeros((64, 128), tl.float32)
    for at in range(0, K, 128):
        x = tl.load(a + r[:, None] * K + (at + k)[None, :])
        y = tl.load(b + (at + k)[:, None] + j[None, :] * K)
        scale = tl.load(a_scales + r * (K // 128) + at // 128)
        acc += tl.dot(x, y) * scale[:, None] * tl.load(b_scales + at // 128)
    tl.store(c + i[:, None] * 128 + j[None, :], acc)


@pytest.mark.parametrize("three, two, want", [(0, 0, 3), (480, 0, 2), (480, 600, 3)])
def test_fewer_blocks_where_sums_spill(tmp_path, three, two, want):
    """Registers dealt for three blocks may be too few, and for two as well."""
    text = SCRIPT.replace("*) spills=$say ;;", "*) spills=$say ;;\n" + OF_BLOCKS)
    says = {"roles": "0", "open": str(two), "groups": str(two), "none": "9999"}
    for name, what in {**says, "three": str(three)}.items():
        text = text.replace("{" + name + "}", what)
    script = tmp_path / "ptxas"
    script.write_text(text)
    script.chmod(0o700)
    with tegula.knobs.nvidia.scope():
        tegula.knobs.nvidia.ptxas = str(script)
        c = tegula.jit(gathered_scales.fn).compile(
            *["*fp8e4nv:16", "*fp8e4nv:16", "*fp32:16", "*i32:16"],
            *["*fp32:16", "*fp32:16", "i32:16"],
            target="cuda:sm_90a",
        )
    assert f".minnctapersm {want}" in c.asm["ptx"]
    assert c.n_spills == (three if want == 3 else two)
