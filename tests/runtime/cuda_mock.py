"""A CUDA driver that only writes down what it is asked: builds and loads mock_cuda.c."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def build(folder: Path) -> Path:
    """Compile the mock with the headers the core was built with, or skip."""
    config = ROOT / "build" / "config.mk"
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler or not config.exists():
        pytest.skip("needs a C compiler and a configured tree")
    includes = re.findall(r"^(?:DLPACK|CUDA)_CFLAGS := (.*)$", config.read_text(), re.M)
    out = folder / "libmock_cuda.so"
    subprocess.run(
        [compiler, "-std=c17", "-shared", "-fPIC", "-w"]
        + " ".join(includes).split()
        + [str(HERE / "mock_cuda.c"), "-o", str(out)],
        check=True,
    )
    return out


def load(path: str) -> ctypes.CDLL:
    lib = ctypes.CDLL(path)
    lib.mock_log.restype = ctypes.c_char_p
    lib.mock_current.argtypes = [ctypes.c_ulong, ctypes.c_int]
    return lib


def run(code: str, folder: Path, **env: str) -> str:
    """Run a script with the mock as its driver; what it prints."""
    import os

    lib = build(folder)
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + code],
        capture_output=True,
        text=True,
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": f"{ROOT / 'python'}:{HERE}",
            "TEGULA_LIBCUDA": str(lib),
            "TEGULA_CACHE_DIR": str(folder / "cache"),
            **env,
        },
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


PRELUDE = """
import ctypes, os
import cuda_mock, mock_kernels as K
import tegula
import tegula.language as tl
lib = cuda_mock.load(os.environ["TEGULA_LIBCUDA"])

class Tensor:
    dtype = "float32"
    def __init__(self, address=0x7000, device="cuda:0"):
        self.address, self.device = address, device
    def data_ptr(self):
        return self.address

def log():
    text = lib.mock_log().decode()
    lib.mock_reset()
    return text.strip()
"""
