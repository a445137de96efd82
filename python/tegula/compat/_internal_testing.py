"""``triton._internal_testing``: what the test suites of libraries import from there.

Which machine this is, arrays of random numbers by the name of their type, and the ways
between NumPy, torch and kernels. Needs NumPy and pytest; torch is imported by what makes
tensors of it.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tegula import knobs
from tegula.compat import driver
from tegula.language import dtype as _dtype
from tegula.language import str_to_ty
from tegula.signatures import type_canonicalisation_dict
from tegula.tensors import TensorWrapper, reinterpret

if TYPE_CHECKING:
    import torch

int_dtypes = [f"int{n}" for n in (8, 16, 32, 64)]
uint_dtypes = [f"u{name}" for name in int_dtypes]
integral_dtypes = int_dtypes + uint_dtypes
float_dtypes = [f"float{n}" for n in (16, 32, 64)]
float_dtypes_with_bfloat16 = [*float_dtypes, "bfloat16"]
dtypes = integral_dtypes + float_dtypes
dtypes_with_bfloat16 = [*dtypes, "bfloat16"]
torch_float8_dtypes = ["float8_e4m3fn", "float8_e5m2"]
torch_dtypes = ["bool", *int_dtypes, "uint8", *float_dtypes_with_bfloat16]
tma_dtypes = sorted(x for x in dtypes_with_bfloat16 if not x.endswith("64"))


# --- the machine -------------------------------------------------------------------------
def is_interpreter() -> bool:
    """Are kernels interpreted here?"""
    return bool(knobs.runtime.interpret)


def get_current_target() -> Any:
    """The GPUTarget; None where kernels are interpreted."""
    if is_interpreter():
        return None
    return driver.active.get_current_target()


def _backend() -> str:
    target = get_current_target()
    return target.backend if target else ""


def get_arch() -> str:
    target = get_current_target()
    return str(target.arch) if target else ""


def is_cuda() -> bool:
    return _backend() == "cuda"


def _capability() -> tuple[int, int]:
    """(0, 0) where there is no GPU."""
    return driver.active.get_device_capability() if is_cuda() else (0, 0)


def is_ampere_or_newer() -> bool:
    return _capability() >= (8, 0)


def is_hopper_or_newer() -> bool:
    return _capability() >= (9, 0)


def is_hopper() -> bool:
    return _capability()[0] == 9


def is_blackwell() -> bool:
    return _capability()[0] in (10, 11)


def is_blackwell_ultra() -> bool:
    return _capability() == (10, 3)


def is_sm12x() -> bool:
    return _capability()[0] == 12


def _no() -> bool:
    """A machine that there is no target for."""
    return False


is_hip = is_hip_cdna = is_hip_cdna2 = is_hip_cdna3 = is_hip_cdna4 = _no
is_hip_cdna3_or_newer = is_hip_rdna = is_hip_rdna3 = is_hip_rdna4 = _no
is_hip_gfx1250 = is_tileir = is_xpu = _no


def get_hip_lds_size() -> int:
    return 65536


def supports_tma(byval_only: bool = False) -> bool:
    """Are there tensor maps? Interpreted kernels do with any descriptor."""
    return is_interpreter() or is_hopper_or_newer()


def supports_ws() -> bool:
    """May loops be split among warps?"""
    return is_interpreter() or is_hopper_or_newer()


def tma_skip_msg(byval_only: bool = False) -> str:
    return "tensor maps need sm_90 or newer"


requires_tma = pytest.mark.skipif(not supports_tma(), reason=tma_skip_msg())


# --- arrays ------------------------------------------------------------------------------
def numpy_random(
    shape: Any,
    dtype_str: str,
    rs: np.random.RandomState | None = None,
    low: int | None = None,
    high: int | None = None,
) -> np.ndarray:
    """Random numbers, the same ones for a new call without rs.

    Integers are not 0, so that they divide; bfloat16 comes as the float32 it is; float8 as
    bytes of positive numbers.
    """
    rs = rs or np.random.RandomState(17)
    shape = (shape,) if isinstance(shape, int) else shape
    if dtype_str in integral_dtypes:
        info = np.iinfo(dtype_str)
        least = info.min if low is None else max(low, info.min)
        most = info.max if high is None else min(high, info.max)
        x = rs.randint(least, most, shape, dtype=dtype_str)
        x[x == 0] = 1
        return x
    if "float8" in dtype_str:
        return rs.randint(20, 40, shape, dtype=np.int8)
    x = rs.normal(size=shape)
    if dtype_str == "bfloat16":
        return (x.astype(np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32)
    if dtype_str in ("bool", "int1", "bool_"):
        return x > 0
    if dtype_str in float_dtypes:
        return x.astype(dtype_str)
    raise RuntimeError(f"no random numbers of {dtype_str!r}")


def to_triton(x: np.ndarray, device: Any, dst_type: str | None = None) -> Any:
    """What a kernel takes: a tensor of torch, wrapped where torch has no such type.

    dst_type: "bfloat16" for float32, or a name of a float8 for bytes.
    """
    import torch

    name = x.dtype.name
    if name in uint_dtypes:
        signed = torch.tensor(x.view(name[1:]), device=device)
        return reinterpret(signed, str_to_triton_dtype(name))
    there = torch.tensor(x, device=device)
    if dst_type and "float8" in dst_type:
        return reinterpret(there, str_to_triton_dtype(dst_type))
    if dst_type == "bfloat16" and name == "float32":
        return there.bfloat16()
    return there


def to_numpy(x: Any) -> np.ndarray:
    """Of a tensor, wrapped or not; bfloat16 becomes float32."""
    import torch

    if isinstance(x, TensorWrapper):
        return x.base.cpu().numpy().astype(torch_dtype_name(x.dtype))
    if not isinstance(x, torch.Tensor):
        raise ValueError(f"{x!r} is no tensor")
    x = x.float() if x.dtype is torch.bfloat16 else x
    return x.cpu().numpy()


def unwrap_tensor(t: Any) -> torch.Tensor:
    return t.base if isinstance(t, TensorWrapper) else t


def str_to_triton_dtype(x: str) -> Any:
    """tl.float16 of "float16"."""
    return str_to_ty(type_canonicalisation_dict[x], None)


def torch_dtype_name(dtype: Any) -> str:
    """ "int64" of torch.int64 and of tl.int64."""
    if isinstance(dtype, _dtype):
        return dtype.name
    import torch

    if isinstance(dtype, torch.dtype):
        return str(dtype).removeprefix("torch.")
    raise TypeError(f"{dtype!r} is no type of torch's or of kernels'")


def default_alloc_fn(size: int, align: int, stream: int | None) -> torch.Tensor:
    """For ``set_allocator``."""
    import torch

    where = driver.active.get_active_torch_device()
    return torch.empty(size, dtype=torch.int8, device=where)


# --- knobs -------------------------------------------------------------------------------
def _fresh_knobs_impl(
    skipped_attr: set[str] | None = None,
) -> tuple[Callable[[], Any], Callable[[], None]]:
    """Two functions, for fixtures: one gives the knobs their defaults, whatever the
    environment says, the other puts all back. skipped_attr: groups to leave alone."""
    groups = {
        name: group
        for name, group in vars(knobs).items()
        if isinstance(group, knobs.base_knobs) and name not in (skipped_attr or ())
    }
    stack = ExitStack()

    def fresh() -> Any:
        propagate = knobs.propagate_env
        stack.callback(setattr, knobs, "propagate_env", propagate)
        for group in groups.values():
            stack.enter_context(group.scope())
            for knob in group.knob_descriptors.values():
                for variable in filter(None, (knob.key, knob.ours)):
                    os.environ.pop(variable, None)
            group.reset()
        knobs.propagate_env = True
        return knobs

    return fresh, stack.close


# --- processes ---------------------------------------------------------------------------
@dataclass
class ProcessResult:
    """How a function ended in a process of its own, and what stood on stderr there."""

    exc: BaseException | None
    driver_stderr_output: str


def _work(call: bytes, env: Mapping[str, str], stderr: str, answer: Any) -> None:
    from tegula import compat

    os.environ.update(env)
    with open(stderr, "wb") as f:
        os.dup2(f.fileno(), 2)  # what drivers write as well
    try:
        compat.install()
        fn, args, kwargs = pickle.loads(call)
        fn(*args, **kwargs)
        if is_cuda():
            import torch

            torch.cuda.synchronize()
    except Exception as e:
        answer.send(e)
    else:
        answer.send(None)


def run_in_process(
    client_fn: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
) -> ProcessResult:
    """Call client_fn in a new process: a failed assertion on a GPU ends that one.

    Raises RuntimeError where the process ended without saying how.
    """
    context = multiprocessing.get_context("forkserver")
    ours, theirs = context.Pipe(duplex=False)
    call = pickle.dumps((client_fn, args, kwargs or {}))
    with tempfile.NamedTemporaryFile() as stderr:
        given = (call, dict(env or {}), stderr.name, theirs)
        process = context.Process(target=_work, args=given)
        process.start()
        theirs.close()
        try:
            exc = ours.recv()
        except EOFError:
            process.join()
            said = stderr.read().decode(errors="replace")
            raise RuntimeError(
                f"the process ended with {process.exitcode} and no result\n{said}"
            ) from None
        process.join()
        return ProcessResult(exc, stderr.read().decode(errors="replace"))
