"""Knobs that Triton has and that have no work to do here.

Libraries read and set them, so they exist: reading gives what was set, else the
environment's value, else Triton's default. Few of them change what is compiled or run: the
directories of ``cache`` say where stages are dumped and looked for,
``nvidia.libdevice_path`` and ``libcuda_path`` where files are. A name of neither this table
nor that of ``tegula.knobs`` is an AttributeError.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from tegula.knob_types import (
    env_base,
    env_bool,
    env_class,
    env_int,
    env_nvidia_tool,
    env_opt_bool,
    env_opt_str,
    env_path,
    env_str,
    env_strset,
)


def _below_home(place: str) -> Any:
    return lambda group: os.path.join(group.home_dir, ".triton", place)


ROWS: dict[str, dict[str, env_base]] = {
    "build": {
        "cc": env_opt_str("CC"),
        "cudacrt_path": env_opt_str("TRITON_CUDACRT_PATH"),
        "cudart_path": env_opt_str("TRITON_CUDART_PATH"),
        "impl": env_base(""),
        "backend_dirs": env_strset("TRITON_CUDACRT_PATH", "TRITON_CUDART_PATH"),
    },
    "redis": {
        "key_format": env_str("TRITON_REDIS_KEY_FORMAT", "triton:{key}:{filename}"),
        "host": env_str("TRITON_REDIS_HOST", "localhost"),
        "port": env_int("TRITON_REDIS_PORT", 6379),
    },
    "cache": {
        "home_dir": env_path("TRITON_HOME", os.path.expanduser("~/")),
        "dump_dir": env_path("TRITON_DUMP_DIR", _below_home("dump")),
        "override_dir": env_path("TRITON_OVERRIDE_DIR", _below_home("override")),
        "manager_class": env_class("TRITON_CACHE_MANAGER", "CacheManager"),
        "remote_manager_class": env_class(
            "TRITON_REMOTE_CACHE_BACKEND", "RemoteCacheBackend"
        ),
    },
    "compilation": {
        "dump_ir_extract_di_local_variables": env_bool(
            "LLVM_EXTRACT_DI_LOCAL_VARIABLES", False
        ),
        "store_binary_only": env_bool("TRITON_STORE_BINARY_ONLY", False),
        "use_ir_loc": env_opt_str("USE_IR_LOC"),
        "enable_asan": env_bool("TRITON_ENABLE_ASAN", False),
        "disable_line_info": env_bool("TRITON_DISABLE_LINE_INFO", False),
        "instrumentation_mode": env_str("TRITON_INSTRUMENTATION_MODE", ""),
        "enable_experimental_consan": env_bool(
            "TRITON_ENABLE_EXPERIMENTAL_CONSAN", False
        ),
    },
    "autotuning": {},
    "runtime": {
        "override_arch": env_opt_str("TRITON_OVERRIDE_ARCH"),
    },
    "language": {},
    "nvidia": {
        "cuobjdump": env_nvidia_tool("TRITON_CUOBJDUMP_PATH"),
        "nvdisasm": env_nvidia_tool("TRITON_NVDISASM_PATH"),
        "ptxas_blackwell": env_nvidia_tool("TRITON_PTXAS_BLACKWELL_PATH"),
        "mock_ptx_version": env_opt_str("TRITON_MOCK_PTX_VERSION"),
        "libdevice_path": env_opt_str("TRITON_LIBDEVICE_PATH"),
        "libcuda_path": env_opt_str("TRITON_LIBCUDA_PATH"),
    },
    "amd": {
        "use_buffer_ops": env_bool("AMDGCN_USE_BUFFER_OPS", True),
        "use_buffer_atomics": env_bool("AMDGCN_USE_BUFFER_ATOMICS", True),
        "buffer_ops_analyze_small_tensor_range": env_bool(
            "AMDGCN_ANALYZE_SMALL_TENSOR_RANGE", False
        ),
        "dump_amdgcn": env_bool("AMDGCN_ENABLE_DUMP", False),
        "libhip_path": env_opt_str("TRITON_LIBHIP_PATH"),
        "use_block_pingpong": env_opt_bool("TRITON_HIP_USE_BLOCK_PINGPONG"),
        "use_in_thread_transpose": env_opt_bool("TRITON_HIP_USE_IN_THREAD_TRANSPOSE"),
        "use_async_copy": env_opt_bool("TRITON_HIP_USE_ASYNC_COPY"),
        "scalarize_packed_fops": env_bool("AMDGCN_SCALARIZE_PACKED_FOPS", False),
    },
    "proton": {
        "disable": env_bool("TRITON_PROTON_DISABLE", False),
        "cupti_lib_dir": env_opt_str("TRITON_CUPTI_LIB_PATH"),
        "cupti_lib_blackwell_dir": env_opt_str("TRITON_CUPTI_LIB_BLACKWELL_PATH"),
        "profile_buffer_size": env_int("TRITON_PROFILE_BUFFER_SIZE", 64 << 20),
        "enable_nvtx": env_bool("TRITON_ENABLE_NVTX", True),
    },
}


# Names of types that Triton's module has for annotations.
PROTOCOLS = (
    "AutotuneListener",
    "CompilationListener",
    "JITHook",
    "LaunchHook",
    "InitHandleHook",
    "KernelLoadHook",
    "PipelineStagesHook",
)


class CompileTimes(NamedTuple):
    """What a compile cost, in microseconds: as ``compilation.listener`` gets it."""

    ir_initialization: int
    lowering_stages: list[tuple[str, int]]
    store_results: int

    @property
    def total_lowering(self) -> int:
        return sum(t for _, t in self.lowering_stages)

    @property
    def total(self) -> int:
        return self.ir_initialization + self.total_lowering + self.store_results


# Programs: their knobs are a path that knows its version.
TOOLS = {
    "ptxas": "ptxas",
    "ptxas_blackwell": "ptxas",
    "cuobjdump": "cuobjdump",
    "nvdisasm": "nvdisasm",
}


class NvidiaTool(str):
    """The path of a program of CUDA's, with ``path`` and ``version``."""

    @staticmethod
    def from_path(path: str) -> NvidiaTool | None:
        """The program at path; None: it is none that says its version."""
        try:
            tool = NvidiaTool(path)
            return tool if tool.version else None
        except OSError:
            return None

    @property
    def path(self) -> str:
        return str(self)

    @property
    def version(self) -> str:
        """The release that ``--version`` names: "12.8". Empty if it names none."""
        import subprocess

        text = subprocess.run(
            [self.path, "--version"], capture_output=True, text=True, check=False
        ).stdout
        _, _, rest = text.partition("release ")
        return rest.partition(",")[0].strip()


def find_tool(knob: str, path: str | None = None) -> NvidiaTool | None:
    """The program behind a knob: where the knob says, else where toolchains are."""
    import shutil

    if path is None and TOOLS[knob] == "ptxas":
        from tegula import toolchain

        path = toolchain.find_ptxas()
    # In the order of csrc/ptxas.c.
    homes = [os.environ.get(home) for home in ("CUDA_HOME", "CUDA_PATH")]
    places = [os.path.join(home, "bin") for home in homes if home]
    for place in (*places, None, "/usr/local/cuda/bin"):  # None: PATH
        path = path or shutil.which(TOOLS[knob], path=place)
    return NvidiaTool(path) if path else None
