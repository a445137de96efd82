"""TARGET: a library of code for GPUs on the CPU."""

import contextlib
import tempfile
from pathlib import Path

import tegula
import tegula.language as tl
from tegula.language import core

CODE = """
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
define internal i32 @inner(i32 %x) {
  %l = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %r = add i32 %x, %l
  ret i32 %r
}
define i32 @lane_of(i32 %x) {
  %r = call i32 @inner(i32 %x)
  ret i32 %r
}
"""


@core.extern
def lane_of(x, path: tl.constexpr, _semantic=None):
    table = {(core.dtype("int32"),): ("lane_of", core.dtype("int32"))}
    return core.extern_elementwise("mine", path, [x], table, is_pure=True)


@tegula.jit
def kernel(x, PATH: tl.constexpr):
    tl.store(x, lane_of(tl.load(x), PATH))


def run():
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        Path("mine.ll").write_text(CODE)
        kernel.compile("*i32", PATH="mine.ll", target="cpu")


# ----
# target_library.py:29:12: UnsupportedError[TARGET]: the library 'mine.ll', which is code for GPUs, is not supported on the CPU
#     return core.extern_elementwise("mine", path, [x], table, is_pure=True)
#            ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: run it on a GPU or on the emulator (TEGULA_TARGET=emu:sm_90a), give code for this machine, or write it in the language
#   in lane_of(), inlined from target_library.py:34
