"""Instructions in assembly that an architecture has not: the emulator of it says so, and
its assembler, where there is one, agrees."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import tegula
import tegula.language as tl
from tegula import toolchain

PTXAS = (
    os.environ.get("TEGULA_PTXAS") or toolchain.find_ptxas() or shutil.which("ptxas")
)

# The first architecture, and what it has.
ROWS = [
    (75, "mov.u32 r, %envreg2;"),
    (75, "ld.global.L1::no_allocate.L2::128B.b32 r, [at];"),
    (80, "ld.global.L2::256B.b32 r, [at];"),
    (80, "createpolicy.fractional.L2::evict_last.b64 at, 1.0;"),
    (80, "discard.global.L2 [at], 128;"),
    (80, "fma.rn.relu.f16x2 r, r, r, r;"),
    (80, "fma.rn.bf16x2 r, r, r, r;"),
    (80, "max.NaN.f32 f, f, f;"),
    (80, "min.f16x2 r, r, r;"),
    (80, "cvt.rn.f16x2.f32 r, f, f;"),
    (80, "cvt.rn.bf16.f32 h, f;"),
    (80, "cvt.rna.tf32.f32 r, f;"),
    (80, "mbarrier.init.shared.b64 [bar], 1;"),
    (80, "mbarrier.test_wait.parity.shared.b64 p, [bar], 0;"),
    (89, "cvt.rn.satfinite.e4m3x2.f32 h, f, f;"),
    (89, "cvt.rn.f16x2.e5m2x2 r, h;"),
    (90, "cvt.rn.tf32.f32 r, f;"),
    (90, "cvt.rn.bf16.s32 h, r;"),
    (90, "cvt.rni.s32.bf16 r, h;"),
    (90, "setp.lt.bf16 p, h, h;"),
    (90, "tanh.approx.bf16x2 r, r;"),
    (90, "ex2.approx.ftz.bf16x2 r, r;"),
    (90, "ld.relaxed.cluster.global.u32 r, [at];"),
    (90, "fence.proxy.async;"),
    (90, "fence.mbarrier_init.release.cluster;"),
    (90, "griddepcontrol.wait;"),
    (90, "mbarrier.arrive.expect_tx.shared.b64 at, [bar], 32;"),
    (90, "mbarrier.arrive.shared.b64 at, [bar], 2;"),
    (90, "mbarrier.try_wait.parity.shared.b64 p, [bar], 0;"),
    (90, "cp.async.bulk.commit_group;"),
    (90, "setmaxnreg.dec.sync.aligned.u32 64;"),
    (90, "mov.u32 r, %cluster_ctarank;"),
    (90, "add.u16x2 r, r, r;"),
    (100, "add.rn.f32x2 at, at, at;"),
]
MACHINES = (75, 80, 86, 89, 90, 100)
BODY = """{
    .reg .b16 h; .reg .b32 r; .reg .f32 f; .reg .b64 at; .reg .pred p;
    .shared .align 8 .b64 bar;
    INSTRUCTION
    mov.b32 $0, $1;
}"""


@tegula.jit
def kernel(x, ASM: tl.constexpr):
    i = tl.arange(0, 128)
    tl.store(
        x + i,
        tl.inline_asm_elementwise(ASM, "=r,r", [tl.load(x + i)], tl.int32, False, 1),
    )


@pytest.mark.parametrize(("since", "text"), ROWS, ids=[text for _, text in ROWS])
def test_row(since: int, text: str) -> None:
    body = BODY.replace("INSTRUCTION", text)
    for sm in MACHINES:
        target = f"emu:sm_{sm}a" if sm >= 90 else f"emu:sm_{sm}"
        if sm >= since:
            kernel.lower("*i32", ASM=body, target=target)
            continue
        with pytest.raises(tegula.CompileError, match=f"sm_{since} on") as e:
            kernel.lower("*i32", ASM=body, target=target)
        assert "test_assembly_since.py" in str(e.value)


@pytest.mark.skipif(PTXAS in (None, "none"), reason="no ptxas")
def test_the_assembler_agrees(tmp_path: Path) -> None:
    """Each row on its first machine, all together, and none on the one before."""

    def assembles(sm: int, rows: list[str]) -> bool:
        kernels = [
            f".entry k{n}() "
            + BODY.replace("INSTRUCTION", text).replace("mov.b32 $0, $1;", "ret;")
            for n, text in enumerate(rows)
        ]
        target = f"sm_{sm}a" if sm >= 90 else f"sm_{sm}"
        file = tmp_path / f"{sm}.ptx"
        head = f".version 8.8\n.target {target}\n.address_size 64\n"
        file.write_text(head + "\n".join(kernels))
        command = [PTXAS, f"-arch={target}", "-o", os.devnull, file]
        return subprocess.run(command, capture_output=True).returncode == 0

    for sm in sorted({since for since, _ in ROWS}):
        assert assembles(sm, [text for since, text in ROWS if since <= sm]), sm
    for since, text in ROWS:
        older = MACHINES[MACHINES.index(since) - 1] if since > 75 else None
        assert older is None or not assembles(older, [text]), text
