"""Hooks around launches and compiles, and what the host may ask of the machine."""

from __future__ import annotations

import numpy as np
import pytest

import tegula
import tegula.language as tl
from tegula import knobs
from tegula.compat import driver


@pytest.fixture(autouse=True)
def no_hooks():
    yield
    knobs.runtime.reset()
    knobs.compilation.reset()


def kernel():
    @tegula.jit(launch_metadata=lambda grid, meta, args: {"bytes": grid[0] * args["n"]})
    def fill(x, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x + at, 1.0, mask=at < n)

    return fill


def test_launch_hooks():
    fill, x, log = kernel(), np.zeros(100, np.float32), []
    knobs.runtime.launch_enter_hook.add(lambda m: log.append(("in 1", m)))
    knobs.runtime.launch_enter_hook.add(lambda m: log.append(("in 2", m)))
    knobs.runtime.launch_exit_hook.add(lambda m: log.append(("out 1", x[0])))
    knobs.runtime.launch_exit_hook.add(lambda m: log.append(("out 2", x[0])))
    fill[(2,)](x, 100, BLOCK=64)
    assert [name for name, _ in log] == ["in 1", "in 2", "out 2", "out 1"]
    info = log[0][1].get()
    assert info["name"] == "fill" and info["bytes"] == 200 and info["stream"] == 0
    assert log[2][1] == 1.0  # the kernel has run by then
    fill[(0,)](x, 100, BLOCK=64)
    fill.warmup(x, 100, BLOCK=64, grid=(1,))
    assert len(log) == 4
    knobs.runtime.reset()
    fill[(2,)](x, 100, BLOCK=64)
    assert len(log) == 4


def test_a_hook_that_raises():
    fill, x = kernel(), np.zeros(100, np.float32)

    def enter(_):
        raise KeyError("no")

    knobs.runtime.launch_enter_hook.add(enter)
    with pytest.raises(KeyError):
        fill[(2,)](x, 100, BLOCK=64)
    assert not x.any()
    knobs.runtime.launch_enter_hook.remove(enter)
    fill[(2,)](x, 100, BLOCK=64)
    assert x.all()


def test_scope_puts_hooks_back():
    fill, x, log = kernel(), np.zeros(100, np.float32), []
    with knobs.runtime.scope():
        knobs.runtime.launch_enter_hook.add(log.append)
        fill[(2,)](x, 100, BLOCK=64)
    fill[(2,)](x, 100, BLOCK=64)
    assert len(log) == 1


def test_compile_hooks():
    fill, x, log = kernel(), np.zeros(100, np.float32), []
    knobs.runtime.jit_post_compile_hook = lambda **kw: log.append(kw)
    fill[(2,)](x, 100, BLOCK=64, num_warps=2)
    fill[(2,)](x, 100, BLOCK=64, num_warps=2)
    (call,) = log
    assert call["fn"].name == "kernel.<locals>.fill" and call["fn"].jit_function is fill
    about = call["compile"]
    assert about["signature"] == {"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    assert about["constants"] == {"BLOCK": 64} and about["num_warps"] == 2
    assert call["repr"].startswith("fill[num_warps=2") and not call["is_manual_warmup"]


def test_a_hook_forbids_a_compile():
    fill, x = kernel(), np.zeros(100, np.float32)
    knobs.runtime.jit_cache_hook = lambda **kw: (
        kw["compile"]["constants"]["BLOCK"] == 32
    )
    assert fill[(4,)](x, 100, BLOCK=32) is None and not x.any()
    assert fill.compile("*fp32", "i32", 32) is None
    assert fill[(2,)](x, 100, BLOCK=64) is not None and x.all()
    knobs.runtime.jit_cache_hook = None
    assert fill[(4,)](x, 100, BLOCK=32) is not None


def test_listener():
    fill, x, log = kernel(), np.zeros(100, np.float32), []
    knobs.compilation.listener = lambda **kw: log.append(kw)
    fill[(2,)](x, 100, BLOCK=16)
    assert log[0]["src"] is fill and log[0]["metadata"]["name"] == "fill"


def test_driver():
    cpu = driver.CpuDriver()
    assert cpu.get_current_target().backend == "cpu"
    properties = cpu.utils.get_device_properties(None)
    assert properties["multiprocessor_count"] >= 1 and properties["max_shared_mem"] > 0
    driver.set_active(cpu)
    try:
        assert driver.active is cpu and driver.CpuDriver.is_active()
        assert not driver.CudaDriver.is_active()
    finally:
        driver.reset_active()
    with knobs.runtime.scope():
        knobs.runtime.target = "emu:sm_90a"
        target = driver.active.get_current_target()
        assert (target.backend, target.arch, target.warp_size) == ("cuda", 90, 32)
        assert driver.active.utils.get_device_properties(0)["warpSize"] == 32


def test_compile_from_a_signature():
    from tegula.compat.backends import GPUTarget
    from tegula.compat.compiler import ASTSource, compile

    fill = kernel()
    source = ASTSource(
        fn=fill,
        signature={"x": "*fp16", "n": "i32", "BLOCK": "constexpr"},
        constexprs={"BLOCK": 128},
        attrs={(0,): [["tt.divisibility", 16]]},
    )
    compiled = compile(
        source, target=GPUTarget("cuda", 80, 32), options={"num_warps": 8}
    )
    assert compiled.metadata.num_warps == 8 and "ptx" in compiled.asm
    assert ".target sm_80" in compiled.asm["ptx"]
    assert compile(source, target=GPUTarget("cpu", "", 1)).target == "cpu"
    with pytest.raises(TypeError):
        ASTSource(fn=fill, signature={0: "*fp16"})


def test_compiled_brings_its_options():
    """kernel.warmup(.., num_warps=8) and then compiled[grid](..) without it."""
    fill, x = kernel(), np.zeros(100, np.float32)
    compiled = fill.warmup(x, 100, BLOCK=64, num_warps=8, grid=(1,))
    compiled._init_handles()
    assert compiled.n_regs > 0 and compiled.metadata.shared > 0
    compiled[(2, 1, 1)](x, 100, 64)
    assert x.all()


def test_reinterpret():
    torch = pytest.importorskip("torch")

    @tegula.jit
    def copy_bits(x, y, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        tl.store(y + at, tl.load(x + at).to(tl.int32))

    x, y = torch.tensor([1.0, -2.0]), torch.zeros(2, dtype=torch.int32)
    wrapped = tegula.reinterpret(x, tl.int32)
    copy_bits[(1,)](wrapped, y, BLOCK=2)
    assert torch.equal(y, x.view(torch.int32))
    assert tegula.reinterpret(wrapped, torch.float32) is x
    with pytest.raises(TypeError):
        tegula.reinterpret(3, tl.int32)


def test_options_of_other_machines():
    fill, x = kernel(), np.zeros(100, np.float32)
    fill[(2,)](x, 100, BLOCK=64, extern_libs={"libdevice": "none"})
    fill[(2,)](x, 100, BLOCK=64, extern_libs=(("libdevice", "none"),))
    with pytest.raises(KeyError, match="'waves_per_eu', which is an option of AMD's"):
        fill[(2,)](x, 100, BLOCK=64, waves_per_eu=2)
    with pytest.raises(KeyError, match="num_warp"):
        fill[(2,)](x, 100, BLOCK=64, num_warp=2)
