"""tools.compile and tools.link: kernels as C, compiled and run against a mock driver."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tegula.tools import compile as aot
from tegula.tools import disasm, link

ROOT = Path(__file__).parents[2]

KERNEL = """
import tegula
import tegula.language as tl
from helper import twice

@tegula.autotune([tegula.Config({})], key=[])
@tegula.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, twice(tl.load(x + at, mask=at < n)), mask=at < n)

@tegula.jit
def gemm(a, b, c, n, BLOCK: tl.constexpr):
    i, j = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    at = i * n + j
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))
"""
HELPER = """
import tegula

@tegula.jit
def twice(x):
    return 2 * x
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "helper.py").write_text(HELPER)
    yield tmp_path
    sys.modules.pop("helper", None)


def command(folder, signature, *more, kernel="scale", grid="n/64, 1, 1"):
    argv = [str(folder / "kernel.py"), "-n", kernel, "-s", signature, "-g", grid]
    aot.main([*argv, "-t", "cuda:90:32", "-o", str(folder / kernel), *more])


def build_mock(folder):
    """The mock driver as libcuda.so, and the flags that find cuda.h."""
    sys.path.insert(0, str(ROOT / "tests" / "runtime"))
    try:
        import cuda_mock
    finally:
        sys.path.pop(0)
    lib = cuda_mock.build(folder)
    text = (ROOT / "build" / "config.mk").read_text()
    flags = re.findall(r"^CUDA_CFLAGS := (.*)$", text, re.M)
    return lib, " ".join(flags).split()


def compile_and_run(folder, main):
    lib, flags = build_mock(folder)
    (folder / "main.c").write_text(main)
    compiler = shutil.which("cc") or shutil.which("gcc")
    warn = ["-std=c11", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(
        [
            compiler,
            *warn,
            *flags,
            *map(str, folder.glob("*.c")),
            str(lib),
            "-o",
            "main",
        ],
        check=True,
        cwd=folder,
    )
    env = {**os.environ, "LD_LIBRARY_PATH": str(folder)}
    done = subprocess.run(
        ["./main"], cwd=folder, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


MAIN = """
#include <stdio.h>
#include "%s.h"
const char *mock_log(void);
void mock_params(int n);
int
main(void)
{
    mock_params(3);
    %s
    puts(mock_log());
    return 0;
}
"""


def test_one_kernel(folder):
    command(folder, "*fp32:16, *fp32:16, i32, 64", "-w", "2", "-on", "scale_f32")
    (header,) = folder.glob("*.h")
    name = re.search(r"CUresult (scale_f32_\w+)\(", header.read_text())[1]
    out = compile_and_run(
        folder,
        MAIN
        % (
            header.stem,
            f'printf("%d %d %d\\n", {name}(0, 0x7000, 0x8000, 128),'
            f" {name}(0, 0x7000, 0x8000, 0), {name}(0, 0x7008, 0x8000, 128));"
            f" unload_{name}();",
        ),
    )
    assert out.startswith("0 0 1\n")  # CUDA_ERROR_INVALID_VALUE: not aligned
    assert "kernel(scale)" in out and out.count("launch(") == 1
    assert "launch(grid 2 1 1, block 64, shared 0, stream 0" in out
    assert "0x7000, 0x8000, 0x80" in out and "unload" in out


def test_link_takes_the_variant_that_knows_most(folder):
    for n in ("i32", "i32:16", "i32:1"):
        for block in (64, 128):
            command(folder, f"*fp32:16, *fp32, {n}, {block}", "-on", "scale_f32")
    headers = sorted(map(str, folder.glob("*.h")))
    assert len(headers) == 6
    assert link.main([*headers, "-o", str(folder / "all")]) == 0
    calls = "\n    ".join(
        f'printf("%d ", scale_f32(0, 0x7000, 0x8000, {n}, {a}));'
        for n, a in [(160, 0), (1, 0), (161, 1), (161, 2)]
    )
    calls += 'printf("%d %d", scale_f32_default(0, 0x7010, 0x8000, 48),'
    calls += " scale_f32_get_num_algos());"
    out = compile_and_run(
        folder, MAIN % ("all", "load_scale_f32();\n" + calls + "unload_scale_f32();")
    )
    assert out.startswith("0 0 0 1 0 2")
    text = (folder / "all.c").read_text()
    order = re.findall(r"if \((.*)\)\n        return", text)[:3]
    assert (
        "n == 1" in order[0] and "n % 16 == 0" in order[1] and "n" not in order[2][3:]
    )


def test_more_shared_memory_than_the_default(folder):
    command(
        folder,
        "*fp32:16, *fp32:16, *fp32:16, i32:16, 128",
        "-w",
        "4",
        kernel="gemm",
        grid="1, 1, 1",
    )
    (code,) = folder.glob("gemm.*.c")
    assert re.search(r"if \(e == CUDA_SUCCESS && \d+ > 48 \* 1024\)", code.read_text())
    (header,) = folder.glob("*.h")
    name = re.search(r"CUresult (gemm_\w+)\(", header.read_text())[1]
    call = f"if ({name}(0, 0x1000, 0x2000, 0x3000, 128)) return 1;"
    out = compile_and_run(folder, MAIN % (header.stem, call))
    assert "launch(grid 1 1 1, block 128" in out


def test_mistakes(folder):
    with pytest.raises(SystemExit, match="3 items, scale"):
        command(folder, "*fp32, *fp32, i32")
    with pytest.raises(SystemExit, match="three sides"):
        command(folder, "*fp32, *fp32, i32, 64", grid="n")
    with pytest.raises(SystemExit, match="no kernel 'nothing'"):
        command(folder, "*fp32", kernel="nothing")
    with pytest.raises(SystemExit, match="after the colon"):
        command(folder, "*fp32:8, *fp32, i32, 64")
    with pytest.raises(SystemExit, match="for cuda alone"):
        aot.parse_target("hip:gfx942:64")


def test_headers_that_do_not_fit(folder):
    command(folder, "*fp32, *fp32, i32, 64", "-on", "f")
    command(folder, "*fp32, *fp32, i64, 64", "-on", "f")
    headers = sorted(folder.glob("*.h"))
    with pytest.raises(link.LinkerError, match="are not those in"):
        link.link(headers, folder / "all")
    with pytest.raises(link.LinkerError, match="no header"):
        link.link([], folder / "all")


# --- disassembly -----------------------------------------------------------------------
def cubin():
    import tegula
    import tegula.language as tl

    @tegula.jit
    def count(x, n):
        for i in range(n):
            tl.store(x + i, i)

    v = count.compile("*i32:16", "i32", target="cuda:sm_80")
    if "cubin" not in v.asm or not shutil.which("cuobjdump"):
        pytest.skip("needs ptxas and cuobjdump")
    return v.asm["cubin"]


def test_get_sass(tmp_path):
    text = disasm.get_sass(cubin())
    assert "Function:count" in text
    lines = text.splitlines()
    code = [s for s in lines if re.match(r"[-0-9A-Fa-f]{2}:[-\d]:[-\d]:[-Y]:\d+", s)]
    assert any("EXIT" in s for s in code) and any("STG" in s for s in code)
    labels = [s for s in lines if re.fullmatch(r"\.L_\d+:", s)]
    assert labels and any(labels[0][:-1] in s and "BRA" in s for s in code)
    path = tmp_path / "x.cubin"
    path.write_bytes(cubin())
    assert disasm.extract(str(path), "count") == text
    assert disasm.extract(str(path), "nothing") == ""


MOVED = """
import tegula
import tegula.language as tl

@tegula.jit
def moved(x, y, m, n, B: tl.constexpr):
    a = tl.make_tensor_descriptor(x, [m, n], [n, 1], [B, B])
    b = tl.make_tensor_descriptor(y, [m, n], [n, 1], [B, B])
    b.store([0, 0], a.load([0, 0]))
"""


class WithMaps:
    """A kernel whose every compile asks for tensor maps."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.compiled = []

    def __getattr__(self, name):
        return getattr(self.kernel, name)

    def compile(self, *items, **options):
        self.compiled.append(self.kernel.compile(*items, **options, hopper="3"))
        return self.compiled[-1]


def test_hands_on_no_tensor_maps(folder, monkeypatch):
    """C code launches with the kernel's own parameters, so there are no others."""
    (folder / "kernel.py").write_text(MOVED)
    load, made = aot.load_kernel, []
    monkeypatch.setattr(
        aot, "load_kernel", lambda *a: made.append(WithMaps(load(*a))) or made[-1]
    )
    command(folder, "*fp32:16, *fp32:16, i32, i32:16, 64", kernel="moved")
    (kernel,) = made
    items = ["*fp32:16", "*fp32:16", "i32", "i32:16", 64]
    for compiled, n_maps in (
        (kernel.compiled[0], 0),
        (kernel.compile(*items, target="cuda:sm_90a"), 2),
    ):
        assert compiled.asm["ptx"].count(".param .align 64 .b8") == n_maps
