"""``compile("kernel.ptx")``: a variant from a file of one of our stages.

The file says what its parameters are, and nothing of a Python function. So a function of
those parameters is made up, with nothing in it, and compiled with the file in the place of
the stage that it is: ``ir_override`` (csrc/runtime/override.c). What comes out is launched
with ``compiled[grid](*args)``.

    k.tir, k.simt           func @k(%x: ptr<f32>, %n: i32) ..
    k.llir, k.ll (GPUs)     define ptx_kernel void @k(ptr addrspace(1) %0, i32 %1) ..
    k.ptx                   .visible .entry k(.param .u64 .ptr .., .param .u32 ..)

In LLVM IR and in PTX pointers have no element type: tensors of any type are taken. PTX says
how many warps it is for (``.reqntid``); of shared memory that a launch has to give it says
nothing, so there is none.
"""

from __future__ import annotations

import hashlib
import linecache
import os
import re
from pathlib import Path
from typing import Any

from tegula.compat.backends import Language

_TIR = re.compile(r"^\s*func @(\w+)\((.*?)\)\s*(?:ctas|loc|\{)", re.M | re.S)
_LLIR = re.compile(
    r"^define\s+ptx_kernel\s+void\s+@(\w+)\((.*?)\)\s*(?:#|\{)", re.M | re.S
)
_PTX = re.compile(r"\.entry\s+([\w$%]+)\s*(?:\((.*?)\))?", re.S)
_WARPS = re.compile(r"\.(?:req|max)ntid\s+(\d+)")

_LANGUAGE = {"f16": "fp16", "f32": "fp32", "f64": "fp64"} | {
    "f8e4m3": "fp8e4nv",
    "f8e5m2": "fp8e5",
    "f8e4b15": "fp8e4b15",
    "f8e4b8": "fp8e4b8",
    "f8e5b16": "fp8e5b16",
}
_LLVM = {"half": "fp16", "float": "fp32", "double": "fp64"}


def _of_tir(text: str) -> str:
    ty = text.partition(":")[2].partition("{")[0].strip()
    star = ""
    if ty.startswith("ptr<"):
        star, ty = "*", ty[4:].rstrip(">").strip()
        if ty.startswith("const "):
            star, ty = "*k", ty[6:].strip()
    return star + _LANGUAGE.get(ty, ty)


def _of_llvm(text: str) -> str:
    ty = text.split()[0]
    return "*u8" if ty == "ptr" else _LLVM.get(ty, ty)


def _of_ptx(text: str) -> str:
    words = text.split()
    ty = words[words.index(".param") + 1].lstrip(".")
    if ".ptr" in words:
        return "*u8"
    if ty[0] == "f":
        return f"fp{ty[1:]}"
    return {"b": "i", "s": "i"}.get(ty[0], ty[0]) + ty[1:]


_FORMS = {
    "tir": (_TIR, _of_tir),
    "simt": (_TIR, _of_tir),
    "llir": (_LLIR, _of_llvm),
    "ll": (_LLIR, _of_llvm),
    "ptx": (_PTX, _of_ptx),
}


def _parameters(text: str | None) -> list[str]:
    """Split at the commas that stand in no brackets."""
    parts, depth = [""], 0
    for c in text or "":
        depth += (c in "<{([") - (c in ">})]")
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return [p for p in parts if p.strip()]


class IRSource:
    """A kernel from a file: see above. ``fn`` is the function that was made up."""

    language = Language.TRITON

    def __init__(self, path: str | os.PathLike[str], *_: Any) -> None:
        self.path = os.fspath(path)
        self.ext = Path(self.path).suffix.lstrip(".")
        if self.ext in ("ttir", "ttgir"):
            raise ValueError(
                f"{self.path}: this is MLIR, and the compiler has none; .tir and .simt are "
                'ours: compiled.asm["tir"]'
            )
        if self.ext not in _FORMS:
            known = ", ".join(f".{name}" for name in _FORMS)
            raise ValueError(f"{self.path}: a source is a kernel, or a file: {known}")
        self.src = Path(self.path).read_text()
        pattern, type_of = _FORMS[self.ext]
        found = pattern.search(self.src)
        if not found:
            raise ValueError(
                f"{self.path}: there is no kernel in it that says its parameters"
            )
        self.name = found[1]
        try:
            types = [type_of(p) for p in _parameters(found[2])]
        except (IndexError, ValueError):
            raise ValueError(
                f"{self.path}: the parameters of {self.name} cannot be read"
            ) from None
        self.signature = dict(enumerate(types))
        self.fn = _made_up(self.name, types, self.path)

    def hash(self) -> str:
        return hashlib.sha256(self.src.encode()).hexdigest()

    def parse_options(self) -> dict[str, Any]:
        """What the text says of a launch: PTX its warps."""
        warps = _WARPS.search(self.src) if self.ext == "ptx" else None
        return {"num_warps": max(1, int(warps[1]) // 32)} if warps else {}

    def arguments(self) -> dict[str, Any]:
        """What ``kernel.compile`` takes by keyword."""
        given = {f"a{i}": ty for i, ty in self.signature.items()}
        return given | {"ir_override": self.path}


def _made_up(name: str, types: list[str], path: str) -> Any:
    """The kernel that has these parameters and does nothing."""
    from tegula.jit import jit

    params = ", ".join(f"a{i}: {ty!r}" for i, ty in enumerate(types))
    text = f"def {name}({params}):\n    pass\n"
    file = f"<{name} of {path}, {hashlib.sha256(text.encode()).hexdigest()[:8]}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"__name__": __name__}
    exec(compile(text, file, "exec"), names)
    return jit(names[name])
