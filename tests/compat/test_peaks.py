"""What testing says of machines."""

from __future__ import annotations

import os
import stat

import pytest

import tegula
from tegula import testing
from tegula.compat import driver


@pytest.fixture
def hopper():
    class Utils:
        def get_device_properties(self, device=0):
            return {
                "multiprocessor_count": 132,
                "mem_clock_rate": 2619000,
                "mem_bus_width": 5120,
            }

    class Machine(driver.Driver):
        utils = Utils()

        def get_current_target(self):
            return tegula.backends.GPUTarget("cuda", 90, 32)

    driver.set_active(Machine())
    yield
    driver.reset_active()


def test_peaks(hopper):
    assert testing.get_dram_gbps() == pytest.approx(3352, rel=1e-3)
    f16 = testing.get_max_tensorcore_tflops(tegula.language.float16, 1830e3)
    assert f16 == pytest.approx(989, rel=1e-2)
    assert testing.get_max_tensorcore_tflops("float8_e4m3fn", 1830e3) == 2 * f16
    assert testing.get_max_simd_tflops("fp32", 1980e3) == pytest.approx(66.9, rel=1e-2)
    with pytest.raises(ValueError, match="do not take fp64"):
        testing.get_max_tensorcore_tflops("fp64", 1)


def test_without_a_gpu():
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = "cpu"
        with pytest.raises(ValueError, match="no GPU here"):
            testing.get_max_tensorcore_tflops("fp16", 1)
        with pytest.raises(ValueError, match="not known"):
            testing.get_dram_gbps()


def test_nvsmi(tmp_path, monkeypatch):
    program = tmp_path / "nvidia-smi"
    program.write_text('#!/bin/sh\necho "1350, 1215"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert testing.nvsmi(["clocks.current.sm", "clocks.current.memory"]) == [1350, 1215]


def test_memcheck_leaves_other_arguments_alone():
    ran = []

    @testing.cuda_memcheck(n=4)
    def check(n, request=None):
        ran.append(n)

    check(n=3)
    assert ran == [3]


def test_the_host_asks_for_the_target(hopper):
    from tegula.language import target_info

    assert target_info.current_target().arch == 90 and target_info.is_cuda()
    assert target_info.cuda_capability_geq(9) and not target_info.cuda_capability_geq(
        10
    )
    driver.reset_active()
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = "cpu"
        assert not target_info.is_cuda() and not target_info.cuda_capability_geq(7, 5)
