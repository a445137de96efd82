"""TARGET: code of a library that needs the threads of a GPU."""

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
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "mine.ll"
        path.write_text(CODE)
        kernel.compile("*i32", PATH=str(path), target="cpu")


# ----
# target_library.py:28:12: UnsupportedError[TARGET]: 'llvm.nvvm.read.ptx.sreg.laneid', in the function 'inner' of a library, is not supported on the CPU
#     return core.extern_elementwise("mine", path, [x], table, is_pure=True)
#            ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
#   help: choose by tl.target_info.is_ptx(), or write it in the language
#   in lane_of(), inlined from target_library.py:33
