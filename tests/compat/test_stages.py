"""Programs that compile stage by stage and launch by themselves, as jax-triton does."""

from __future__ import annotations

import re
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

import tegula
import tegula.language as tl
from tegula.compat import libtriton
from tegula.compat.backends import GPUTarget
from tegula.compat.code_generator import ast_to_ttir
from tegula.compat.compiler import ASTSource, make_backend


@tegula.jit
def scale(x, n, y, by, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + at, mask=at < n, other=0.0))
    tl.store(y + at, total * by, mask=at < n)


def array(dtype: str) -> Any:
    return SimpleNamespace(data_ptr=lambda: 16, dtype=dtype)


def source(backend: Any) -> ASTSource:
    keys = [
        libtriton.native_specialize_impl(backend, array("fp32"), False, True, align)
        for align in (True, False)
    ]
    assert keys == [("*fp32", "D"), ("*fp32", "")]
    signature = {"x": "*fp32", "n": "i32", "y": "*fp32", "by": "constexpr"}
    attrs = {(0,): backend.parse_attr(keys[0][1]), (2,): backend.parse_attr(keys[1][1])}
    return ASTSource(
        scale,
        signature=signature | {"BLOCK": "constexpr"},
        constexprs={"by": 1, "BLOCK": 256},
        attrs=attrs,
    )


def test_stage_by_stage():
    backend = make_backend(GPUTarget("cuda", 90, 32))
    options = backend.parse_options(
        {"num_warps": 8, "num_stages": 2, "optimize_epilogue": False}
    )
    context = libtriton.ir.context()
    libtriton.ir.load_dialects(context)
    backend.load_dialects(context)
    module = ast_to_ttir(
        scale,
        source(backend),
        options=options,
        codegen_fns=backend.get_codegen_implementation(options),
        context=context,
        module_map=backend.get_module_map(),
    )
    assert "func @scale(%x: ptr<f32>" in str(module)
    metadata: dict[str, Any] = {}
    ttir = backend.make_ttir(module, metadata, options, 90)
    ttgir = backend.make_ttgir(ttir, metadata, options, 90)
    assert "func @scale" in ttgir and str(ttgir) != str(ttir)
    llir = backend.make_llir(ttgir, metadata, options, 90)
    assert "ptx_kernel void @scale" in llir
    ptx = backend.make_ptx(llir, metadata, options, 90)
    assert metadata["name"] == "scale" and metadata["num_warps"] == 8
    assert metadata["shared"] > 0 and metadata["tmem_size"] == 0
    assert metadata["global_scratch_size"] == 0 and metadata["target"].arch == 90
    # What a launch has to give: an address for x and y, and n. by is a constant.
    entry = re.search(r"\.entry scale\((.*?)\)", ptx, re.S)
    assert entry and [p.split()[1] for p in entry[1].split(",")] == [
        ".u64",
        ".u32",
        ".u64",
    ]
    assert ".reqntid 256" in ptx and ".target sm_90a" in ptx


def test_stages_write_to_standard_error(capfd):
    backend = make_backend(GPUTarget("cuda", 80, 32))
    options = backend.parse_options({})
    module = source(backend).make_ir(backend.target, options, {}, {}, None)
    module.dump()
    backend.make_ttgir(module, {}, options, 80).dump()
    assert capfd.readouterr().err.count("func @scale") == 2


def test_no_machine_code_without_an_assembler():
    backend = make_backend(GPUTarget("cuda", 80, 32))
    options = backend.parse_options({})
    module = source(backend).make_ir(backend.target, options, {}, {}, None)
    if "cubin" in module.compiled.asm:
        assert (
            backend.make_cubin(module, {}, options, 80) == module.compiled.asm["cubin"]
        )
    else:
        with pytest.raises(RuntimeError, match="no ptxas"):
            backend.make_cubin(module, {}, options, 80)


def test_options_without_an_architecture():
    with pytest.raises(ValueError, match="parse_options"):
        ast_to_ttir(scale, None, None, SimpleNamespace(arch=None), {}, {})


def test_where_programs_find_it():
    code = """
import tegula.compat; tegula.compat.install()
from triton.compiler import code_generator
import triton.compiler.code_generator as again
import triton._C.libtriton as c, triton.backends.nvidia.compiler as nvidia, triton
assert code_generator is again and code_generator.ast_to_ttir
assert c.native_specialize_impl
backend = triton.compiler.make_backend(nvidia.GPUTarget("cuda", 90, 32))
assert isinstance(backend, nvidia.CUDABackend)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
