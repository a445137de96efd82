"""driver.active.utils: Triton's way to the driver, on a mock of it and on a GPU."""

from __future__ import annotations

import cuda_mock
import pytest

import tegula
import tegula.language as tl
from tegula import knobs
from tegula.compat import driver

NAMES = ("load_binary", "unload_module", "cuOccupancyMaxActiveClusters")
NAMES += ("set_printf_fifo_size", "fill_tma_descriptor", "fill_tma_descriptor_tiled")


def test_calls_of_the_driver(tmp_path):
    out = cuda_mock.run(
        """
from tegula.compat import driver
utils = driver.CudaDriver().utils
print(sorted(utils.get_device_properties(1).items()))
log()
print(utils.load_binary("kernel", b"\\x7fELF", 1 << 16, 1))
print(log())
print(utils.load_binary("kernel", b"\\x7fELF", 1 << 10, 1)[:2])
print("set" in log())
utils.set_printf_fifo_size(1 << 20)
print("limit" in log())
utils.set_printf_fifo_size(1 << 22)
print(log())
print(utils.cuOccupancyMaxActiveClusters(0x4800, 1000, 4))
print(log())
m = utils.fill_tma_descriptor(0x7000, 3, 2, 6, [64, 32], [100, 200], [200, 1], 1)
print(log())
print(bytes(m) == b"\\x5a" * 128, m.tma_desc_cpu_ptr() % 128)
utils.fill_tma_descriptor_tiled(0x7000, 0, 4, 7, (16,), (100,), (1,), 0)
print(log())
utils.unload_module(0x4000)
print(log())
""",
        tmp_path,
    ).split("\n")
    facts = eval(out[0])
    assert dict(facts) == {
        "max_shared_mem": 227 << 10,
        "max_num_regs": 65536,
        "multiprocessor_count": 132,
        "warpSize": 32,
        "sm_clock_rate": 1980000,
        "mem_clock_rate": 3201000,
        "mem_bus_width": 0,  # the mock does not know
    }
    assert out[1:] == [
        "(16384, 18432, 42, 2, 512)",
        "retain(1)",
        "current(0x100b)",
        "module(\x7fELF, context 0x100b)",
        "function(kernel)",
        f"set(0x4800, shared, {(227 << 10) - 1024})",
        "(16384, 18432)",
        "False",
        "False",
        f"limit(1, {1 << 22})",
        "66",
        "set(0x4800, shared, 1000)",
        "set(0x4800, cluster, 1)",
        "clusters(0x4800, 4 of 128, shared 1000)",
        "map(type 6, 0x7000, swizzle 3, fill 1, 200/32/0 by 1, 100/64/400 by 1)",
        "True 0",
        "map(type 7, 0x7000, swizzle 0, fill 0, 100/16/0 by 1)",
        "unload(0x4000)",
        "",
    ]


def test_what_the_driver_refuses(tmp_path):
    out = cuda_mock.run(
        """
from tegula.compat import driver
utils = driver.CudaDriver().utils
def refused(entry, call):
    lib.mock_fail(entry)
    try:
        call()
    except Exception as e:
        print(type(e).__name__, e)
    lib.mock_reset()
binary = lambda device=0: utils.load_binary("k", b"x", 0, device)
tma = lambda *a: utils.fill_tma_descriptor(0, 0, 2, 6, *a, 0)
refused(b"cuModuleLoadData", binary)
refused(b"", lambda: binary(7))
refused(b"cuModuleUnload", lambda: utils.unload_module(1))
refused(b"cuCtxSetLimit", lambda: utils.set_printf_fifo_size(7))
refused(b"", lambda: utils.set_printf_fifo_size(-1))
count = utils.cuOccupancyMaxActiveClusters
refused(b"cuOccupancyMaxActiveClusters", lambda: count(1, 2, 3))
refused(b"cuTensorMapEncodeTiled", lambda: tma([64, 32], [100, 200], [200, 1]))
refused(b"", lambda: tma([64, 32], [100], [200, 1]))
refused(b"", lambda: tma([64, 32.0], [100, 1], [200, 1]))
refused(b"", lambda: tma([1] * 6, [1] * 6, [1] * 6))
refused(b"", lambda: utils.load_binary("k", 3, 0, 0))
""",
        tmp_path,
    ).split("\n")
    words = (
        "RuntimeError CUDA error 700 CUDA_ERROR_ILLEGAL_ADDRESS: the mock was told to "
        "fail, loading a binary",
        "RuntimeError there is no CUDA device 7: the driver sees 2",
        "unloading a module",
        "setting the size of printf's buffer",
        "ValueError fifo size must be non-negative",
        "counting clusters",
        "element type 6, swizzle 0, address 0; dim 0: 100 elements, box 64, stride 400 "
        "bytes; dim 1: 200 elements, box 32, stride 0 bytes",
        "RuntimeError Rank mismatch: 2 dims of blockSize, 1 of shape, 2 of strides",
        "TypeError blockSize must be of ints",
        "ValueError blockSize has 6 dims; 1 to 5 are possible",
        "TypeError",
    )
    assert len(out) == len(words) + 1
    for line, word in zip(out, words, strict=False):
        assert word in line, line


@pytest.mark.parametrize(
    "target, name", [("cpu", "the CPU"), ("emu:sm_90a", "the emul")]
)
def test_without_a_gpu(target, name):
    arguments = {"load_binary": ("k", b"", 0, 0), "set_printf_fifo_size": (1,)}
    arguments |= {"unload_module": (1,), "cuOccupancyMaxActiveClusters": (1, 2, 3)}
    with knobs.runtime.scope() as group:
        group.target = target
        utils = driver.active.utils
        for function in NAMES:
            with pytest.raises(
                RuntimeError, match=f"asks CUDA's driver, and .* {name}"
            ):
                given = arguments.get(function, (0, 0, 2, 6, [8], [8], [1], 0))
                getattr(utils, function)(*given)
        facts = utils.get_device_properties(0)
    assert set(facts) == {
        "max_shared_mem",
        "max_num_regs",
        "multiprocessor_count",
        "warpSize",
        "sm_clock_rate",
        "mem_clock_rate",
        "mem_bus_width",
    }


def test_tensor_maps_are_aligned():
    maps = [driver.PyCUtensorMap(bytes([i])) for i in range(20)]
    for i, one in enumerate(maps):
        assert one.tma_desc_cpu_ptr() % 128 == 0
        assert bytes(one) == bytes([i]) + bytes(127)


# --- on a GPU ----------------------------------------------------------------------------
@tegula.jit
def triple(x, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 3, mask=i < n)


@pytest.fixture
def cuda():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    return torch


def test_on_a_gpu(cuda):
    utils = driver.CudaDriver().utils
    facts = utils.get_device_properties(0)
    assert facts["multiprocessor_count"] > 0 and facts["warpSize"] == 32
    assert facts["sm_clock_rate"] > 10**5 and facts["max_num_regs"] == 65536
    assert facts["mem_clock_rate"] > 0 and facts["mem_bus_width"] > 0
    x = cuda.ones(64, device="cuda")
    compiled = triple[(1,)](x, 64, B=64)
    assert x.tolist() == [3] * 64 and compiled.function
    m = compiled.metadata
    code = compiled.kernel
    module, function, regs, spills, threads = utils.load_binary(
        compiled.name, code, m.shared, 0
    )
    assert module and function and regs > 0 and spills == 0 and threads >= 128
    if driver.CudaDriver().get_current_target().arch >= 90:
        assert utils.cuOccupancyMaxActiveClusters(function, 0, 2) > 0
        assert utils.cuOccupancyMaxActiveClusters(compiled.function, 0, 2) > 0
        y = cuda.zeros(64, 64, dtype=cuda.float16, device="cuda")
        tma = utils.fill_tma_descriptor(
            y.data_ptr(), 0, 2, 6, [16, 32], list(y.shape), list(y.stride()), 0
        )
        assert any(bytes(tma))
        with pytest.raises(RuntimeError, match="making a tensor map"):
            utils.fill_tma_descriptor(3, 0, 2, 6, [16, 32], [64, 64], [64, 1], 0)
    utils.set_printf_fifo_size(1 << 20)
    utils.unload_module(module)


def test_files_in_the_place_of_stages_on_a_gpu(cuda, tmp_path):
    compiled = triple[(1,)](cuda.ones(64, device="cuda"), 64, B=64)
    asm = compiled.asm
    three, five = "0f40400000", "0f40A00000"
    for stage, old, new in (
        ("tir", "splat(3.0)", "splat(5.0)"),
        ("simt", "splat(3.0)", "splat(5.0)"),
        ("llir", "3.000000e+00", "5.000000e+00"),
        ("ptx", three, five),
    ):
        text = asm[stage]
        assert old in text, stage
        path = tmp_path / f"k.{stage}"
        path.write_text(text.replace(old, new))
        x = cuda.ones(64, device="cuda")
        triple[(1,)](x, 64, B=64, ir_override=path)
        assert x.tolist() == [5] * 64, stage
    if "cubin" in asm:
        path = tmp_path / "k.cubin"
        path.write_bytes(asm["cubin"])
        x = cuda.ones(64, device="cuda")
        triple[(1,)](x, 64, B=64, ir_override=path, num_stages=1)
        assert x.tolist() == [3] * 64
    x = cuda.ones(64, device="cuda")
    triple[(1,)](x, 64, B=64, ptx_version=80)
    assert x.tolist() == [3] * 64
