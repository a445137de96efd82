"""What codegen/simt/ptxas_faults.def says of ptxas: each row has its test, and where there
are ptxas and nvdisasm, machine code is free of what was wrong."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import tegula.language as tl

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "csrc" / "codegen" / "simt" / "ptxas_faults.def"
ROWS = re.findall(r'^FAULT\((\w+), .*?"([^"]*)"\)$', TABLE.read_text(), re.M | re.S)
sys.path.insert(0, str(ROOT / "tests" / "kernels"))

import test_atomic_access  # noqa: E402
import test_bits_of_floats  # noqa: E402
import test_float8_masked  # noqa: E402
import test_integers  # noqa: E402
import test_nans  # noqa: E402


class Bad(NamedTuple):
    kernel: Any
    signature: tuple[str, ...]
    options: dict[str, Any]
    chip: str
    lacks: str  # the machine code
    has: str
    runs_on: str = ""  # another chip


FLOAT8 = ("*u8:16", "*u8:16", "*fp32:16")
E4M3 = {"ROWS": 16, "KIND": tl.float8e4nv, "num_warps": 4, "hopper": "1"}
BAD = {
    "NEGATED_EXTREMES": Bad(
        test_integers.most_of_three, ("*i32", "*i32"), {"N": 64}, "sm_80",
        "VIMNMX3", "VIMNMX", "sm_90",
    ),
    "NEGATED_LEAST": Bad(
        test_integers.wide_negation, ("*i16", "*i32", "*i16"), {"N": 64}, "sm_90a",
        r"RZ, -R\d+, RZ ;", "PRMT R.*0x9910",
    ),
    "ABS_OF_LEAST": Bad(
        test_integers.magnitudes, ("*i32", "*i8"), {"N": 64}, "sm_90",
        "IABS", "ISETP|SHF",
    ),
    "FLOAT8_HALF": Bad(
        test_float8_masked.some_rows, FLOAT8, E4M3, "sm_90a",
        r"UNPACK_B R\d+, (?!R)", "UNPACK_B R",
    ),
    "FLOAT8_CONSTANTS": Bad(
        test_float8_masked.no_rows, FLOAT8, {"KIND": tl.float8e4nv}, "sm_89",
        r"UNPACK_B R\d+, (?!R\d)", "UNPACK_B R", "sm_90",
    ),
    "FLOAT_CUT": Bad(
        test_bits_of_floats.low_bits, ("*fp32", "*i16", "i32"),
        {"WIDE": tl.int32, "LOW": tl.int16}, "sm_90a", "F2I", "STG.E.U16",
    ),
    "PACKED_POSITIVES": Bad(
        test_integers.positives, ("*i16:16", "*i16:16"), {"N": 512}, "sm_90a",
        "RELU", r"VIMNMX R\d+, RZ",
    ),
    "BOUNDED_NANS": Bad(
        test_nans.bounds, ("*fp32", "*i8"), {"OF": "sum", "N": 64}, "sm_90a",
        r"HFMA2.*5\.96", r"FSETP\.G[TE]\.AND .*, -3,",
    ),
    "NEGATIVE_HALVES": Bad(
        test_nans.turned, ("*fp16:16", "*fp16:16", "*fp16:16"), {"N": 512}, "sm_90a",
        r"HADD2.*-RZ.*, 2, 2", r"0xc0000000",
    ),
    "SELECTED_ZEROS": Bad(
        test_nans.chosen, ("*fp32", "*fp32"), {"N": 64}, "sm_90a",
        "I2F|FSET.BF", "SEL R.*0x80000000",
    ),
    "SIGNED_FIELDS": Bad(
        test_integers.signed_fields, ("*i8:16", "*fp32:16"),
        {"WIDE": tl.uint32, "N": 512}, "sm_90a", "I2F.S", "I2FP.F32.U32",
    ),
    "SELECTED_MINUS_ONES": Bad(
        test_nans.signs, ("*i32", "*u8"), {"TO": tl.uint8, "N": 64}, "sm_90a",
        "SEL R.*0xffffffff", "F2I",
    ),
    "MASKED_HALVES": Bad(
        test_bits_of_floats.masked, ("*fp32:16", "*i16:16"),
        {"TO": tl.float16, "MASK": 0x1FF}, "sm_90a", "PRMT R.*0x5410, RZ", "LOP3.*0x1ff",
    ),
    "SELECTED_HALVES": Bad(
        test_bits_of_floats.chosen_halves, ("*bf16:16", "*i32:16", "*bf16:16"), {},
        "sm_90a", r"PRMT (R\d+), R\d+, 0x7632, \1", "SHF.R.U32.HI",
    ),
    "NEGATIVE_OPERANDS": Bad(
        test_nans.scaled_rows, ("*fp16", "*fp32"),
        {"SCALE": -12.0, "K": 8, "num_warps": 1}, "sm_90a", "HMMA.*, -R", "HMMA.1688",
    ),
    "COMPARED_EXTREMES": Bad(
        test_integers.parts_of_one, ("*u8:16", "*u8:16", "*fp16:16"), {"N": 512},
        "sm_90a", "VIMNMX", r"ISETP",
    ),
    "STALE_BYTES": Bad(
        test_integers.selected_bytes, ("*i8:16", "*i32:16", "*fp32:16", "*i8:16"),
        {"N": 512, "num_warps": 2}, "sm_90a", r"PRMT R\d+, R[^,]*, 0x777[123]", "SHF.R.U32",
    ),
    "LOST_CONVERSIONS": Bad(
        test_nans.endless, ("*fp64", "*fp64", "*fp32"), {"N": 128}, "sm_90a",
        r"FSEL R\d+, R\d+, \+QNAN(.|\n)*F2F.F32.F64(.|\n)*F2F.F32.F64", "F2F.F32.F64",
    ),
    "UNHEARD_ACQUIRES": Bad(
        test_atomic_access.unheard, ("*i32", "*i32", "*i32"),
        {"N": 64, "num_warps": 8}, "sm_90a", r"NOP ;\s*\n.*CCTL", "CCTL.IVALL",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "test"), ROWS)
def test_each_has_its_test(name: str, test: str) -> None:
    file, function = test.split("::")
    assert f"def {function}(" in (ROOT / "tests" / file).read_text()
    assert name in BAD and len(ROWS) == len(BAD)


@pytest.mark.skipif(not shutil.which("ptxas"), reason="no ptxas")
@pytest.mark.skipif(not shutil.which("nvdisasm"), reason="no nvdisasm")
@pytest.mark.parametrize("name", BAD)
def test_machine_code(name: str, tmp_path: Path) -> None:
    b = BAD[name]
    code = b.kernel.compile(*b.signature, target=f"cuda:{b.chip}", **b.options)
    source, cubin = tmp_path / "a.ptx", tmp_path / "a.cubin"
    source.write_text(code.asm["ptx"])
    arch = f"-arch={b.runs_on or b.chip}"
    subprocess.run(["ptxas", arch, source, "-o", cubin], check=True)
    sass = subprocess.run(
        ["nvdisasm", "-c", cubin], capture_output=True, text=True, check=True
    ).stdout
    assert re.search(b.has, sass)
    assert not re.search(b.lacks, sass)
