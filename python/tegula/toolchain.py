"""Where NVIDIA's tools are when they were installed as Python packages."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path


def _in_wheels(*names: str) -> str | None:
    """The first of these files below the packages `nvidia-*` install into."""
    spec = importlib.util.find_spec("nvidia")
    for root in (spec and spec.submodule_search_locations) or ():
        # nvidia/cuda_nvcc/bin/ptxas up to CUDA 12, nvidia/cu13/bin/ptxas from 13 on.
        for package in sorted(Path(root).glob("cu*"), reverse=True):
            for name in names:
                if (package / name).is_file():
                    return str(package / name)
    return None


def find_ptxas() -> str | None:
    """ptxas of the nvidia-cuda-nvcc wheel, if it is there and may be run.

    None leaves the search to ``csrc/runtime/ptxas.c``: CUDA_HOME, PATH.
    """
    path = _in_wheels("bin/ptxas")
    return path if path and os.access(path, os.X_OK) else None


def find_libdevice() -> str | None:
    """libdevice.10.bc of the nvidia-cuda-nvcc wheel or of CUDA_HOME."""
    found = _in_wheels("nvvm/libdevice/libdevice.10.bc")
    homes = [os.environ.get(v) for v in ("CUDA_HOME", "CUDA_PATH")]
    for home in [*homes, "/usr/local/cuda"]:
        if not found and home:
            path = Path(home, "nvvm/libdevice/libdevice.10.bc")
            found = str(path) if path.is_file() else None
    return found
