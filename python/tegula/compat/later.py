"""Where names are that Triton's modules have in 3.9, and ours are not made of.

A module that lacks a name asks ``find(module, name)``.
"""

from __future__ import annotations

import importlib
from typing import Any

_CACHE = ("get_cache_manager", "get_dump_manager", "get_override_manager", "triton_key")

# By module: names of this file, and (module, name) of others.
HERE = {
    "language.core": "CAT_CAN_REORDER_WARNING RESHAPE_CAN_REORDER_WARNING TRITON_BUILTIN "
    "binary_op_type_legalization is_builtin is_negative_zero check_bit_width",
    "testing": "cublas cuda_graph_without_gc",
    "driver": "DriverConfig",
    "jit": "BoundConstexprFunction GLUON_MODULE INDENT_PATTERN TRITON_MODULE "
    "compute_cache_key convert_to_tuple_if_list create_function_from_signature "
    "get_cache_invalidating_env_vars get_def_col_number get_def_line_number",
    "autotune": "get_cache_invalidating_env_vars",
    "compiler": "AsmDict CompileTimer arg_type_pattern convert_type_repr filter_traceback "
    "get_cache_invalidating_env_vars parse prototype_pattern ptx_arg_type_pattern "
    "ptx_prototype_pattern",
    "knobs": "BuildImpl FP_FUSION_DEFAULT_WARNING GetType JITHookCompileInfo KernelAttr "
    "SetType getenv_bool knobs_type toenv",
    "profiler": "configure_runtime metadata_state",
}
ELSEWHERE: dict[tuple[str, str], tuple[str, str | None]] = {
    ("language.core", "JITCallable"): ("jit", "JITCallable"),
    ("language.core", "atomic_poll"): ("language.standard", "atomic_poll"),
    ("language.core", "expect_zero"): ("language.standard", "expect_zero"),
    ("driver", "backends"): ("compat.backends", "backends"),
    ("autotune", "driver"): ("compat.driver", None),
    ("compiler", "backends"): ("compat.backends", "backends"),
    ("compiler", "get_sass"): ("tools.disasm", "get_sass"),
    ("knobs", "Env"): ("knob_types", "_Env"),
    ("language.target_info", "driver"): ("compat.driver", None),
    ("tools", "LinearLayout"): ("tools.linear_layout", "LinearLayout"),
    **{
        ("tools.tensor_descriptor", n): ("compat.utils", n)
        for n in ("canonicalize_dtype", "validate_block_shape")
    },
    **{(m, n): ("runtime.cache", n) for m in ("autotune", "compiler") for n in _CACHE},
}


def find(module: str, name: str) -> Any:
    """The name that a module of ours was asked for and does not have; AttributeError."""
    if name.startswith("__"):  # importlib asks every module for a few
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    key = module.removeprefix("tegula.").removeprefix("compat.")
    if name in HERE.get(key, "").split():
        return getattr(importlib.import_module("tegula.compat.later_names"), name)
    if (key, name) in ELSEWHERE:
        where, what = ELSEWHERE[key, name]
        found = importlib.import_module(f"tegula.{where}")
        return getattr(found, what) if what else found
    if (key, name) == ("language.core", "slice_type"):
        return importlib.import_module("tegula.compat.later_names").slice_type_class()
    raise AttributeError(f"module {module!r} has no attribute {name!r}")
