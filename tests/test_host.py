"""The CPU target against the interpreter: same tile IR, same arguments, same buffers.

Inputs are tests/host/*.tir (each named for what it shows), every golden test of the
interpreter that has arguments, and random functions. Each runs for this CPU and for
lesser ones, so that the roads without masked loads and gathers are walked as well.
"""

from __future__ import annotations

import platform
import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TIRC = HERE.parent / "build" / "tirc"
OWN = sorted((HERE / "host").glob("*.tir"))
# Those that end well, and have no ops of the GPU's road.
GOLDEN = [
    path
    for path in sorted((HERE / "golden" / "interp").glob("*.tir"))
    if "\n// ARG" in (text := path.read_text(encoding="utf-8")).partition("// ---- ")[2]
    and "shared" not in text
]
LESSER = ["x86-64-v3", "x86-64-v2"] if platform.machine() == "x86_64" else []
# With AVX-512: without sums of groups, with those of int8, with those of bf16, too.
GROUPS = {
    "x86-64-v4": "avx512vl",
    "cascadelake": "avx512_vnni",
    "cooperlake": "avx512_bf16",
}


def flags() -> list[str]:
    """Of this CPU, as Linux lists them."""
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    except OSError:
        return []


CPUS = ["", *LESSER, *(cpu for cpu, flag in GROUPS.items() if flag in flags())]


def tirc(*args: str, text: str = "") -> subprocess.CompletedProcess[str]:
    if not TIRC.is_file():
        pytest.fail("build/tirc is missing: make tirc")
    return subprocess.run(
        [TIRC, *args], input=text, capture_output=True, text=True, timeout=600
    )


def check(cpu: str, *args: str, text: str = "") -> None:
    cpu_args = ["-m", cpu] if cpu else []
    done = tirc(*cpu_args, *args, text=text)
    assert done.returncode == 0, done.stderr


def upper_half(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    return text.partition("// ---- ")[0]


@pytest.mark.parametrize("cpu", CPUS, ids=lambda c: c or "native")
@pytest.mark.parametrize("path", OWN + GOLDEN, ids=lambda p: p.stem)
def test_file(path: Path, cpu: str) -> None:
    text = upper_half(path)
    lowered = " tile_" in text  # by a pass: no code is made of them as they are
    for words in ("tile,host,check",) if lowered else ("check", "tile,host,check"):
        check(cpu, words, "-", text=text)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cpu", CPUS, ids=lambda c: c or "native")
@pytest.mark.parametrize("first", range(0, 30, 10))
def test_random(first: int, cpu: str) -> None:
    seeds = f"{first}..{first + 9}"
    check(
        cpu, "--random", seeds, "-n", "60", "check" if first % 20 else "tile,host,check"
    )


def test_assert_names_program_and_element() -> None:
    done = tirc("run", "-", text=upper_half(HERE / "golden/interp/assert.tir"))
    assert done.returncode == 1
    assert "assertion failed: no zeros in program (0, 0, 0), element 2" in done.stderr


def test_print_is_the_interpreters() -> None:
    text = upper_half(HERE / "golden/interp/print.tir")
    assert tirc("run", "-", text=text).stdout == tirc("interp", "-", text=text).stdout


def code_of(text: str, stage: str = "asm") -> str:
    return tirc("-m", LESSER[0], f"host,{stage}", "-", text=text).stdout


@pytest.mark.skipif(not LESSER, reason="counts instructions of x86-64")
def test_next_turns_operands_are_fetched() -> None:
    """A line of either operand a strip, in tiles of six rows and in the last one; none of
    what stays where it is."""
    text = upper_half(HERE / "host/dot_fetches_ahead.tir")
    assert code_of(text).count("\tprefetcht1\t") == 2 * 2
    stays = text.replace("%by = const splat(32)", "%by = const splat(0)")
    assert code_of(stays).count("\tprefetcht1\t") == 2


@pytest.mark.skipif(not LESSER, reason="counts instructions of x86-64")
def test_columns_are_loaded_by_columns() -> None:
    """A first operand with consecutive columns: no gathers, and it is fetched, too."""
    code = code_of(upper_half(HERE / "host/dot_of_columns.tir"))
    assert "gather" not in code
    assert code.count("\tprefetcht1\t") == 2 * 2


@pytest.mark.skipif(not LESSER, reason="counts instructions of x86-64")
def test_what_lies_by_columns_is_turned_in_registers() -> None:
    """No gathers; 16 x 16 i16 begin with 8 pairs of unpacks of elements."""
    code = code_of(upper_half(HERE / "host/turned.tir"))
    assert "gather" not in code
    assert code.count("\tvpunpcklwd\t") == code.count("\tvpunpckhwd\t") == 8
    text = upper_half(HERE / "host/turned_words.tir")
    assert "gather" not in tirc("-m", "x86-64-v4", "host,asm", "-", text=text).stdout


EXP = """
func @f(%x: ptr<f32>, %y: ptr<f32>) {
  %i = arange {start=0, end=256} : i32[256]
  %p = splat %x : ptr<f32>[256]
  %q = addptr %p, %i : ptr<f32>[256]
  %v = load %q : f32[256]
  %e = exp %v : f32[256]
  %r = splat %y : ptr<f32>[256]
  %s = addptr %r, %i : ptr<f32>[256]
  store %s, %e
  return
}
"""


@pytest.mark.skipif(not LESSER, reason="names CPUs of x86-64")
@pytest.mark.parametrize("op", ["exp", "exp2"])
@pytest.mark.parametrize("elem", ["f32", "f64"])
@pytest.mark.parametrize("cpu", ["x86-64-v4", "x86-64-v2"])
def test_exp_of_what_a_mask_left_rounds_nothing_to_zero(cpu, elem, op) -> None:
    """Such a rounding takes 150 cycles; a product with 0 does not."""
    text = EXP.replace("f32", elem).replace("exp ", f"{op} ")
    code = tirc("-m", cpu, "host,llir", "-", text=text).stdout
    name = "float" if elem == "f32" else "double"
    zeros = rf"= select <(\d+) x i1> %\d+, <\1 x {name}> zeroinitializer, "
    assert len(re.findall(zeros, code)) == 1, code


@pytest.mark.skipif(not LESSER, reason="names CPUs of x86-64")
def test_sums_are_made_quiet_for_extremes() -> None:
    """LLVM makes x of x - 0 where a mask says so, and vrangeps a NaN of a signaling one."""
    text = EXP.replace("%e = exp %v", "%d = sub %v, %v : f32[256]\n  %e = max %d, %v")
    code = tirc("-m", "x86-64-v4", "host,llir", "-", text=text).stdout
    ranges = re.findall(
        r"mask\.range\.ps\.\d+\(<\d+ x float> (%\d+), [^%]*(%\d+)", code
    )
    assert 3 * sum(a == b for a, b in ranges) == 2 * len(ranges) > 0, code


@pytest.mark.skipif(not LESSER, reason="names CPUs of x86-64")
def test_floats_become_integers_by_vectors() -> None:
    """LLVM takes a conversion that saturates lane by lane."""
    text = EXP.replace("exp %v : f32", "cast %v : i32").replace(
        "%y: ptr<f32>", "%y: ptr<i32>"
    )
    text = text.replace("%r = splat %y : ptr<f32>", "%r = splat %y : ptr<i32>")
    text = text.replace(
        "%s = addptr %r, %i : ptr<f32>", "%s = addptr %r, %i : ptr<i32>"
    )
    code = tirc("-m", "x86-64-v3", "host,llir", "-", text=text).stdout
    assert re.search(r"= fptosi <\d+ x float>", code), code


@pytest.mark.skipif(not LESSER, reason="names CPUs of x86-64")
@pytest.mark.parametrize("op", ["floor", "max %v, %k"])
def test_halves_are_computed_wide(op: str) -> None:
    """What LLVM narrows goes lane by lane, or by masks that are packed."""
    wide = "cast %v : f32[256]\n  %w = floor %z : f32[256]\n  %e = cast %w"
    text = EXP.replace("f32", "f16").replace(
        "%e = exp %v", f"%z = {wide}" if op == "floor" else f"%e = {op}"
    )
    text = text.replace("  %v =", "  %k = load %p : f16[256]\n  %v =")
    code = tirc("-m", "x86-64-v3", "host,llir", "-", text=text).stdout
    narrow = r"(floor\.v\d+f16|(fcmp \w+|select <\d+ x i1> %\d+,) <\d+ x half>)"
    assert "x float>" in code and not re.search(narrow, code), code


@pytest.mark.skipif(not LESSER, reason="names CPUs of x86-64")
def test_steps_in_which_quotients_run_on_gather_nothing() -> None:
    """The other steps gather twice: a row of the image, and what each row has one of."""
    text = upper_half(HERE / "host/runs_of_quotients.tir")
    code = tirc("-m", "x86-64-v3", "tile,host,llir", "-", text=text).stdout
    assert code.count("= call <8 x float> @llvm.masked.gather") == 2 * 2, code
    assert code.count("= call <8 x float> @llvm.masked.load") == 1, code
    assert "= load <8 x float>" in code and "\nrun:" in code, code


@pytest.mark.skipif(not LESSER, reason="names CPUs of x86-64")
def test_bounds_of_an_image_gather_at_its_edges_alone() -> None:
    text = upper_half(HERE / "host/bounds_of_places.tir")
    code = tirc("-m", "x86-64-v3", "tile,host,llir", "-", text=text).stdout
    assert code.count("= call <8 x float> @llvm.masked.gather") == 3, code
    assert code.count("= load <8 x float>") == 3 and "\nrun:" in code, code


@pytest.mark.skipif(not LESSER, reason="names CPUs of x86-64")
def test_strides_are_shuffled_out_of_rows() -> None:
    """The tail gathers and scatters; a scatter of AVX2 is element after element."""
    text = upper_half(HERE / "host/strides.tir")
    code = tirc("-m", "x86-64-v4", "tile,host,llir", "-", text=text).stdout
    assert len(re.findall(r"= call <\d+ x float> @llvm.masked.gather", code)) == 1, code
    assert len(re.findall(r"call void @llvm.masked.scatter", code)) == 1, code
    assert code.count("<16 x i1> <i1 true, i1 false, i1 false, i1 true") == 2, code
    code = tirc("-m", "x86-64-v3", "tile,host,llir", "-", text=text).stdout
    assert len(re.findall(r"= call <\d+ x float> @llvm.masked.gather", code)) == 1, code
    assert code.count("extractelement <") >= 16, code


@pytest.mark.skipif(not LESSER, reason="names CPUs of x86-64")
def test_steps_of_strides_are_not_cut_by_their_length() -> None:
    """A step is one register, shuffled out of two rows where quotients run on."""
    text = upper_half(HERE / "host/pooled.tir")
    code = tirc("-m", "x86-64-v3", "tile,host,llir", "-", text=text).stdout
    assert code.count("= load <8 x float>") == 4 and "\nrun:" in code, code
    assert set(re.findall(r"call <(\d+) x float> @llvm.masked.gather", code)) == {"8"}


@pytest.mark.skipif(not LESSER, reason="names CPUs of x86-64")
def test_stores_that_take_turns_are_rows() -> None:
    """32 pairs are four registers; what is loaded between two stores keeps them apart."""
    text = upper_half(HERE / "host/fields.tir")
    code = tirc("-m", "x86-64-v4", "tile,host,llir", "-", text=text).stdout
    assert code.count("  store <16 x float>") == 4, code
    assert "call void @llvm.masked.store.v16f32" in code, code


@pytest.mark.skipif(not LESSER, reason="names CPUs of x86-64")
def test_high_halves_are_not_packed() -> None:
    text = upper_half(HERE / "host/high_halves.tir")
    code = tirc("-m", "x86-64-v3", "tile,host,asm", "-", text=text).stdout
    assert code.count("vpmuludq") == 8 and "vpmovzx" not in code, code


@pytest.mark.skipif(not LESSER, reason="names CPUs of x86-64")
def test_nests_end_where_their_masks_do() -> None:
    """One element behind the end is combined, so the end is at most one before the last."""
    text = upper_half(HERE / "host/ends_of_masks.tir")
    code = tirc("-m", "x86-64-v3", "tile,host,llir", "-", text=text).stdout
    assert re.search(r"@llvm\.umin\.i64\(i64 %\d+, i64 1023\)", code), code
    ends = re.findall(r"icmp u[lg]t i64 %\d+, (%?)\d+", code)
    assert ends.count("%") == 3, code


@pytest.mark.skipif(not LESSER, reason="names CPUs of x86-64")
def test_tails_are_words_under_a_mask() -> None:
    """AVX2 masks words; what is left of halves is one by one."""
    text = upper_half(HERE / "host/ends_of_masks.tir")
    code = tirc("-m", "x86-64-v3", "tile,host,llir", "-", text=text).stdout
    assert "@llvm.masked.load.v32f32" in code
    assert "@llvm.masked.store.v8f32" in code and "@llvm.masked.store.v8i32" in code


@pytest.mark.skipif(not LESSER, reason="names CPUs of x86-64")
def test_steps_without_a_lane_have_code_of_their_own() -> None:
    """What the first nest keeps for the others is all of the block."""
    text = upper_half(HERE / "host/ends_of_masks.tir")
    code = tirc("-m", "x86-64-v3", "tile,host,llir", "-", text=text).stdout
    assert re.search(r"^none\d*:", code, re.M), code


def test_operands_that_are_there_are_not_loaded() -> None:
    """Either operand has keys; a thread's first program forgets all of them."""
    code = code_of(upper_half(HERE / "host/dot_kept.tir"), "llir")
    assert code.count("\nforget:") == 1
    assert code.count("call void @llvm.memset") == 2


@pytest.mark.skipif(not LESSER, reason="counts instructions of x86-64")
def test_few_rows_are_computed_one_by_one() -> None:
    """Tiles of 6 x 16, of 4 where all 16 rows are, of both for the last columns, 1 x 64."""
    code = code_of(upper_half(HERE / "host/few_rows.tir"), "llir")
    sums = 6 * 2 + 4 * 2 + 6 + 4 + 8
    assert code.count("call <8 x float> @llvm.fma") == sums, code


@pytest.mark.skipif(not LESSER, reason="counts instructions of x86-64")
def test_last_turn_of_an_inner_loop_fetches_on() -> None:
    """Operands step by 0 in a last turn; behind that of an inner loop comes more."""
    steps = {
        name: len(
            re.findall(
                r", i64 0, i64 \d",
                code_of(upper_half(HERE / f"host/{name}.tir"), "llir"),
            )
        )
        for name in ("dot_fetches_ahead", "dot_in_two_loops")
    }
    assert steps == {"dot_fetches_ahead": 2, "dot_in_two_loops": 0}


@pytest.mark.skipif(not LESSER, reason="counts instructions of x86-64")
def test_tile_fills_the_registers() -> None:
    """6 x 16 of f32 in 16 registers of 8: 12 sums, and no step of K touches the stack."""
    code = code_of(upper_half(HERE / "host/dot_fetches_ahead.tir"))
    loops = [body for body in code.split("\nL") if body.count("\tvfmadd") == 12]
    assert len(loops) == 1
    assert "%rsp" not in loops[0].partition("\tjb\t")[0]


@pytest.mark.skipif(not LESSER, reason="names CPUs of x86-64")
def test_inner_loops_carry_on_in_place() -> None:
    """The one copy is of what the second inner loop reads beside what it carries."""
    text = upper_half(HERE / "host/carried_on.tir")
    code = tirc("-m", "x86-64-v3", "host,llir", "-", text=text).stdout
    assert code.count("call void @llvm.memcpy") == 1, code


@pytest.mark.skipif(not LESSER, reason="names CPUs of x86-64")
def test_rounding_to_bf16_by_the_cpu() -> None:
    """One instruction for sixteen floats, and a look for those that it takes for 0."""
    text = upper_half(HERE / "host/rounded_to_bf16.tir")
    code = tirc("-m", "cooperlake", "host,asm", "-", text=text).stdout
    assert code.count("vcvtneps2bf16") == code.count("vfpclassps") == 4, code
    assert "bf16" not in tirc("-m", "x86-64-v4", "host,asm", "-", text=text).stdout


@pytest.mark.skipif(not LESSER, reason="counts instructions of x86-64")
def test_scans_carry_in_vectors() -> None:
    """No carry passes an integer register from one vector to the next."""
    code = code_of(upper_half(HERE / "host/scans.tir"))
    assert "vpaddd" in code and "vpextr" not in code, code


@pytest.mark.skipif(not LESSER, reason="counts instructions of x86-64")
def test_pointers_of_counts_come_from_memory() -> None:
    code = code_of(upper_half(HERE / "host/counts.tir"))
    assert "cmpxchg" in code and "vpextrq" not in code, code


@pytest.mark.skipif(not LESSER, reason="names CPUs of x86-64")
def test_gathers_of_blocks_are_vectors() -> None:
    """A table of one or two registers is permuted, and nothing is a branch an element."""
    text = upper_half(HERE / "host/tables.tir")
    code = tirc("-m", "x86-64-v4", "tile,host,asm", "-", text=text).stdout
    assert code.count("vpermd") == code.count("vpermt2d") == 1, code
    assert code.count("gather") == 1, code
    for cpu in LESSER:
        code = tirc("-m", cpu, "tile,host,llir", "-", text=text).stdout
        gathers = code.count("= call <8 x i32> @llvm.masked.gather")
        assert gathers == (2 if cpu.endswith("3") else 0), code
        assert code.count("\n  br i1") == 7, code
