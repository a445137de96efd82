"""import triton means tegula, in a process of its own each time."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys

import pytest

import tegula


def run(code: str, *before: str) -> str:
    done = subprocess.run(
        [sys.executable, *before, code],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


NAMES = """
from triton import autotune, cdiv, Config, heuristics, jit, next_power_of_2, compile
from triton import KernelInterface, JITFunction, MockTensor, TensorWrapper, reinterpret
from triton import set_allocator, must_use_result, constexpr_function, language, testing
from triton import CompilationError, OutOfResources, TritonError, InterpreterError
from triton import runtime, tools, backends, compiler, errors, knobs
import triton.language as tl
from triton.language import constexpr, core, math, random, standard, target_info
from triton.language.core import _unwrap_if_constexpr, constexpr_type
from triton.language.core import associative_scan, clamp, dot_scaled, maximum, reduce, where
from triton.language.standard import interleave, ravel, zeros, zeros_like
from triton.language.extra import libdevice
from triton.language.extra.libdevice import rsqrt as a
from triton.language.extra.cuda import libdevice as cuda_libdevice
from triton.language.extra.cuda.libdevice import rsqrt as b
from triton.language.math import rsqrt, tanh
from triton.runtime import driver
from triton.runtime.autotuner import Autotuner, OutOfResources, PTXASError
from triton.runtime.cache import FileCacheManager, RemoteCacheManager, triton_key
from triton.runtime.driver import driver as also
from triton.runtime.errors import AutotunerError, InterpreterError
from triton.runtime.jit import JITFunction, KernelInterface, KernelParam, MockTensor
from triton.compiler import ASTSource, CompiledKernel, make_backend
from triton.compiler.compiler import ASTSource, IRSource, LazyDict
from triton.compiler.errors import CompilationError, CompileTimeAssertionFailure
from triton.backends import backends
from triton.backends.compiler import BaseBackend, GPUTarget
from triton.backends.driver import DriverBase
from triton.backends.nvidia import compiler, driver
from triton.backends.nvidia.compiler import CUDAOptions
from triton.backends.nvidia.driver import include_dirs, libcuda_dirs
from triton.testing import runtime, do_bench_proton
from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.build import compile_module_from_src
from triton.runtime.cache import get_cache_key, make_so_cache_key
from triton.runtime.cache import default_cache_dir, default_dump_dir, default_override_dir
from triton._C.libtriton import nvidia
from triton._internal_testing import is_cuda, is_hip, is_interpreter, requires_tma
import triton.tools.build_extern
from triton.testing import Benchmark, do_bench, do_bench_cudagraph, perf_report
from triton.tools.tensor_descriptor import TensorDescriptor
""".strip().splitlines()


@pytest.mark.parametrize("line", NAMES)
def test_every_name(line):
    exec(line, {})


@pytest.fixture(autouse=True)
def installed():
    import tegula.compat

    tegula.compat.install()
    yield
    tegula.compat.uninstall()


def test_objects_are_the_same():
    import triton
    import triton.language as tl
    from triton.runtime import driver

    import tegula.language

    assert tl is tegula.language and triton.language is tegula.language
    assert triton.jit is tegula.jit and driver.active is triton.runtime.driver.active
    assert tegula.language.__spec__.name == "tegula.language"


def test_says_who_it_is():
    import importlib.metadata
    import importlib.util

    import triton

    assert triton.__version__ == "3.9.0" == importlib.metadata.version("triton")
    assert triton.__version__ == tegula.knobs.runtime.triton_version
    assert triton.__tegula_version__ == tegula.__version__
    assert "tegula" in importlib.metadata.metadata("triton")["Summary"]
    assert importlib.util.find_spec("triton").origin == tegula.__file__
    with pytest.raises(ImportError, match="tegula"):
        importlib.import_module("triton.experimental.no_such_module")
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(triton, "no_such_name")  # noqa: B009
    with pytest.raises(AttributeError):
        getattr(triton, "compat")  # noqa: B009 - ours, not Triton's
    assert "autotune" in dir(triton) and "compat" not in dir(triton)


def test_another_version_for_who_insists():
    """In metadata and in the key of what libraries cache, too."""
    text = """if True:
        import importlib.metadata
        import tegula.compat
        tegula.compat.install()
        import triton
        from triton.runtime.cache import triton_key
        print(triton.__version__, importlib.metadata.version("triton"), triton_key())
    """
    keys = set()
    for version in ("3.6.0", "3.9.0"):
        out = subprocess.run(
            [sys.executable, "-c", text],
            env={
                **os.environ,
                "TEGULA_TRITON_VERSION": version,
                "PYTHONPATH": os.path.dirname(os.path.dirname(tegula.__file__)),
            },
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        assert out[:2] == [version, version] and out[2].endswith(version)
        keys.add(out[2])
    assert len(keys) == 2


def test_modules_below_private_ones():
    from triton import tools
    from triton._C.libtriton.linear_layout import LinearLayout
    from triton._compile_warmup_pool import ProcessPoolWarmupDispatcher

    assert LinearLayout is tools.LinearLayout
    assert issubclass(ProcessPoolWarmupDispatcher, tegula.AsyncCompileMode)


def test_assignments_stay():
    import triton

    before = tegula.autotune
    triton.autotune = None
    assert triton.autotune is None and tegula.autotune is before


def test_steps_of_an_import_by_hand():
    """Some libraries look a function up in a module that they make from its spec."""
    import importlib.util

    import tegula.language.extra.libdevice as ours

    for name in (
        "triton.language.extra.libdevice",
        "triton.language.extra.cuda.libdevice",
    ):
        spec = importlib.util.find_spec(name)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert module.rsqrt is ours.rsqrt
        with pytest.raises(AttributeError, match="no_such_function"):
            module.no_such_function  # noqa: B018


def test_gluon_can_be_imported_and_refuses():
    """Libraries import it unasked, and have other kernels for GPUs it is not made for."""
    from triton.experimental import gluon
    from triton.experimental.gluon import language as gl

    @gluon.jit
    def scale(x, BLOCK: gl.constexpr):
        layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
        gl.store(x + gl.arange(0, BLOCK, layout=layout), 1.0)

    @gluon.jit(noinline=True)
    def helper(x):
        return x

    assert scale.arg_names == ["x", "BLOCK"] and helper.__name__ == "helper"
    for use in (
        lambda: scale[(1,)](None, BLOCK=32),
        lambda: scale.warmup(None, grid=(1,)),
    ):
        with pytest.raises(NotImplementedError, match="scale is written in Gluon"):
            use()
    with pytest.raises(AttributeError, match="BlockedLayout"):
        gl.BlockedLayout  # noqa: B018
    with pytest.raises(ImportError):
        importlib.import_module("triton.experimental.gluon.language.nvidia")


def test_uninstall():
    import tegula.compat

    assert tegula.compat.is_installed()
    tegula.compat.uninstall()
    assert not tegula.compat.is_installed() and "triton" not in sys.modules
    tegula.compat.uninstall()


def test_child_processes(tmp_path):
    """Of install(), and of uninstall(); children of children, and the spawn method."""
    script = tmp_path / "script.py"
    script.write_text("""
import multiprocessing, os, subprocess, sys

def who(name):
    import triton.language as tl
    import triton
    return name, triton.__tegula_version__, tl.__name__

if __name__ == "__main__":
    import tegula.compat
    tegula.compat.install()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(*pool.apply(who, ("spawned",)))
    code = "import triton.language as tl; print(tl.__name__)"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}])"
    subprocess.run([sys.executable, "-c", code], check=True)
    tegula.compat.uninstall()
    assert tegula.compat._CHILDREN not in [*sys.path, *os.environ["PYTHONPATH"].split(":")]
""")
    out = run(str(script))
    spawned = f"spawned {tegula.__version__} tegula.language"
    assert out.split("\n") == [spawned, "tegula.language", ""]


def test_another_triton_is_there():
    code = """
import sys, types
sys.modules["triton"] = types.ModuleType("triton")
import tegula.compat
try:
    tegula.compat.install()
except ImportError as e:
    print(e)
"""
    assert "imported already" in run(code, "-c")


SCRIPT = """
import sys
import numpy as np
import triton, triton.language as tl

@triton.jit
def add(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)

if __name__ == "__main__":
    x = np.arange(100, dtype=np.float32)
    y = np.zeros_like(x)
    add[(triton.cdiv(100, 32),)](x, y, 100, BLOCK=32)
    assert (y == x + 1).all()
    print(sys.argv[1:], __name__)
"""


def test_script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-m", "tegula.compat", str(path), "a", "--b"],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout.strip() == "['a', '--b'] __main__", done.stderr


def test_module_and_code(tmp_path):
    (tmp_path / "as_module.py").write_text(SCRIPT)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for args in (
        ["-m", "as_module", "x"],
        ["-c", "import as_module, sys; print(sys.argv)"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "tegula.compat", *args],
            capture_output=True,
            text=True,
            timeout=600,
            env=env,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() in ("['x'] __main__", "['-c']")


def test_usage():
    done = subprocess.run(
        [sys.executable, "-m", "tegula.compat"],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 2 and "usage" in done.stderr
