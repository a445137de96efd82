"""Assembly in kernels, and functions of libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import simulated

import tegula
import tegula.language as tl
from tegula.language import core
from tegula.language.extra import cuda


@tegula.jit
def exp2_asm(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    r = tl.inline_asm_elementwise(
        asm="ex2.approx.ftz.f32 $0, $1;",
        constraints="=f,f",
        args=[v],
        dtype=tl.float32,
        is_pure=True,
        pack=1,
    )
    tl.store(out + i, r)


@tegula.jit
def packed(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    low, high = tl.inline_asm_elementwise(
        """{
        // eight bytes a turn
        and.b32 $0, $4, $6;  and.b32 $1, $5, $7;
        xor.b32 $2, $4, $6;  xor.b32 $3, $5, $7;
        }""",
        "=r,=r,=r,=r,r,r,r,r",
        [a, b],
        dtype=(tl.int8, tl.uint8),
        is_pure=True,
        pack=8,
    )
    tl.store(out + i, low ^ high.to(tl.int8))


def has_gpu() -> bool:
    torch = pytest.importorskip("torch")
    return bool(torch.cuda.is_available())


def on_gpu(kernel: Any, *args: Any, **constants: Any) -> None:
    import torch

    there = [torch.from_numpy(a).cuda() for a in args]
    kernel[(1,)](*there, **constants)
    for a, t in zip(args, there, strict=True):
        a[...] = t.cpu().numpy()


def test_assembly_is_in_the_ptx() -> None:
    ptx = exp2_asm.compile("*fp32", "*fp32", N=128, target="cuda:sm_90").asm["ptx"]
    assert "ex2.approx.ftz.f32" in ptx
    ptx = packed.compile("*i8", "*i8", "*i8", N=1024, target="cuda:sm_80").asm["ptx"]
    # both results come from one piece of assembly: 1024 bytes, 128 threads, 8 at a time
    assert ptx.count("eight bytes a turn") == 1


def test_assembly_runs_everywhere(run: Any) -> None:
    assembly_runs(run)


def test_assembly_runs() -> None:
    if simulated.available():
        with simulated.driver():
            assembly_runs(simulated.launcher("sm_80"))
    elif has_gpu():
        assembly_runs(on_gpu)
    else:
        pytest.skip("no GPU")


def assembly_runs(run: Any) -> None:
    x = np.linspace(-5, 5, 256, dtype=np.float32)
    out = np.zeros_like(x)
    run(exp2_asm, x, out, N=256)
    assert np.allclose(out, np.exp2(x), rtol=1e-5)
    for n in (2, 256, 4096):
        a, b = np.random.default_rng(n).integers(-128, 127, (2, n)).astype(np.int8)
        got = np.zeros_like(a)
        run(packed, a, b, got, N=n)
        assert np.array_equal(got, (a & b) ^ (a ^ b))


@core.extern
def old_style(arg0, _semantic=None):
    return core.extern_elementwise(
        "libdevice",
        "",
        [arg0],
        {
            (core.dtype("fp32"),): ("__nv_roundf", core.dtype("fp32")),
            (core.dtype("fp64"),): ("__nv_round", core.dtype("fp64")),
        },
        is_pure=True,
        _semantic=_semantic,
    )


@tegula.jit
def rounded(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, old_style(tl.load(x + i)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extern_elementwise(run: Any, dtype: Any) -> None:
    x = np.linspace(-3, 3, 32).astype(dtype)
    out = np.zeros_like(x)
    run(rounded, x, out, N=32)
    assert np.array_equal(out, np.copysign(np.floor(np.abs(x) + dtype(0.5)), x))


@tegula.jit
def dependent(x, out):
    cuda.gdc_wait()
    v = tl.load(x)
    cuda.gdc_launch_dependents()
    tl.store(out, v)


def test_dependent_launch(run: Any) -> None:
    x, out = np.full(1, 3.5, np.float32), np.zeros(1, np.float32)
    run(dependent, x, out)
    assert out[0] == 3.5


def test_dependent_launch_in_the_ptx() -> None:
    ptx = dependent.compile("*fp32", "*fp32", target="cuda:sm_90").asm["ptx"]
    wait, load = ptx.index("griddepcontrol.wait"), ptx.index("ld.global")
    assert wait < load < ptx.index("griddepcontrol.launch_dependents")
    old = dependent.compile("*fp32", "*fp32", target="cuda:sm_80").asm["ptx"]
    assert "griddepcontrol" not in old
