"""Knobs that Triton has and that have no work to do here.

Libraries read and set them, so they exist: reading gives what was set, else the
environment's value, else Triton's default. None of them changes what is compiled or run;
those that do are rows of ``tegula.knobs``. A name of neither table is an AttributeError.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any

# group.knob: (environment variable, default). The type of the default is the knob's; None
# is a text or nothing, ... a flag or nothing.
ROWS: dict[str, dict[str, tuple[str | None, Any]]] = {
    "build": {
        "cc": ("CC", None),
        "cudacrt_path": ("TRITON_CUDACRT_PATH", None),
        "cudart_path": ("TRITON_CUDART_PATH", None),
        "impl": (None, None),
    },
    "redis": {
        "key_format": ("TRITON_REDIS_KEY_FORMAT", "triton:{key}:{filename}"),
        "host": ("TRITON_REDIS_HOST", "localhost"),
        "port": ("TRITON_REDIS_PORT", 6379),
    },
    "cache": {
        "home_dir": ("TRITON_HOME", os.path.expanduser("~/")),
        "dump_dir": ("TRITON_DUMP_DIR", None),
        "override_dir": ("TRITON_OVERRIDE_DIR", None),
        "manager_class": ("TRITON_CACHE_MANAGER", None),
        "remote_manager_class": ("TRITON_REMOTE_CACHE_BACKEND", None),
    },
    "compilation": {
        "override": ("TRITON_KERNEL_OVERRIDE", False),
        "dump_ir": ("TRITON_KERNEL_DUMP", False),
        "dump_ir_extract_di_local_variables": (
            "LLVM_EXTRACT_DI_LOCAL_VARIABLES",
            False,
        ),
        "store_binary_only": ("TRITON_STORE_BINARY_ONLY", False),
        "use_ir_loc": ("USE_IR_LOC", None),
        "enable_asan": ("TRITON_ENABLE_ASAN", False),
        "disable_line_info": ("TRITON_DISABLE_LINE_INFO", False),
        "front_end_debugging": ("TRITON_FRONT_END_DEBUGGING", False),
        "instrumentation_mode": ("TRITON_INSTRUMENTATION_MODE", ""),
        "enable_experimental_consan": ("TRITON_ENABLE_EXPERIMENTAL_CONSAN", False),
    },
    "autotuning": {"listener": (None, None)},
    "runtime": {
        "override_arch": ("TRITON_OVERRIDE_ARCH", None),
    },
    "language": {},
    "nvidia": {
        "cuobjdump": ("TRITON_CUOBJDUMP_PATH", None),
        "nvdisasm": ("TRITON_NVDISASM_PATH", None),
        "ptxas_blackwell": ("TRITON_PTXAS_BLACKWELL_PATH", None),
        "dump_nvptx": ("NVPTX_ENABLE_DUMP", False),
        "disable_ptxas_opt": ("DISABLE_PTXAS_OPT", False),
        "ptxas_options": ("PTXAS_OPTIONS", None),
        "mock_ptx_version": ("TRITON_MOCK_PTX_VERSION", None),
        "dump_ptxas_log": ("TRITON_DUMP_PTXAS_LOG", False),
        "libdevice_path": ("TRITON_LIBDEVICE_PATH", None),
        "libcuda_path": ("TRITON_LIBCUDA_PATH", None),
    },
    "amd": {
        "use_buffer_ops": ("AMDGCN_USE_BUFFER_OPS", True),
        "use_buffer_atomics": ("AMDGCN_USE_BUFFER_ATOMICS", True),
        "buffer_ops_analyze_small_tensor_range": (
            "AMDGCN_ANALYZE_SMALL_TENSOR_RANGE",
            False,
        ),
        "dump_amdgcn": ("AMDGCN_ENABLE_DUMP", False),
        "libhip_path": ("TRITON_LIBHIP_PATH", None),
        "use_block_pingpong": ("TRITON_HIP_USE_BLOCK_PINGPONG", ...),
        "use_in_thread_transpose": ("TRITON_HIP_USE_IN_THREAD_TRANSPOSE", ...),
        "use_async_copy": ("TRITON_HIP_USE_ASYNC_COPY", ...),
        "scalarize_packed_fops": ("AMDGCN_SCALARIZE_PACKED_FOPS", False),
    },
    "proton": {
        "disable": ("TRITON_PROTON_DISABLE", False),
        "cupti_lib_dir": ("TRITON_CUPTI_LIB_PATH", None),
        "cupti_lib_blackwell_dir": ("TRITON_CUPTI_LIB_BLACKWELL_PATH", None),
        "profile_buffer_size": ("TRITON_PROFILE_BUFFER_SIZE", 64 << 20),
        "enable_nvtx": ("TRITON_ENABLE_NVTX", True),
    },
}

# Programs: their knobs are a path that knows its version.
TOOLS = {
    "ptxas": "ptxas",
    "ptxas_blackwell": "ptxas",
    "cuobjdump": "cuobjdump",
    "nvdisasm": "nvdisasm",
}


class NvidiaTool(str):
    """The path of a program of CUDA's, with ``path`` and ``version``."""

    @property
    def path(self) -> str:
        return str(self)

    @property
    def version(self) -> str:
        """The release that ``--version`` names: "12.8". Empty if it names none."""
        text = subprocess.run(
            [self.path, "--version"], capture_output=True, text=True, check=False
        ).stdout
        _, _, rest = text.partition("release ")
        return rest.partition(",")[0].strip()


def find_tool(knob: str, path: str | None = None) -> NvidiaTool | None:
    """The program behind a knob: where the knob says, else where toolchains are."""
    if path is None and TOOLS[knob] == "ptxas":
        from tegula import toolchain

        path = toolchain.find_ptxas()
    if path is None:
        path = shutil.which(TOOLS[knob])
    return NvidiaTool(path) if path else None


def read(group: str, name: str) -> Any:
    """The value of a knob that was not set; KeyError if there is none of this name."""
    variable, default = ROWS[group][name]
    text = os.environ.get(variable) if variable else None
    if name in TOOLS:
        return find_tool(name, text)
    if text is None:
        return None if default is ... else default
    if isinstance(default, bool) or default is ...:
        return text.strip().lower() in ("1", "true", "y", "yes", "on")
    return int(text) if isinstance(default, int) else text
