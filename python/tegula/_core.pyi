# Made by csrc/tools/stubs.py from the built core: make gen.
# ruff: noqa: E501
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

Grid: TypeAlias = Sequence[int] | Callable[[dict[str, Any]], Sequence[int]]

build: str
llvm: str

def _fail_after(n: int) -> None:
    """Tests: allocation number n of each compile fails; 0: none."""
def _wait_for_compiles() -> None:
    """Returns when no other thread is compiling."""
def configure(**knobs: Any) -> None:
    """Tells C the knobs; python/tegula/knobs.py calls it."""
def cuda_devices() -> list[dict[str, Any]]:
    """One dict for each GPU; RuntimeError without a driver."""
def fingerprint(args: tuple[Any, ...], kwargs: dict[str, Any], keys: tuple[str, ...], places: tuple[int, ...]) -> tuple[Any, ...]:
    """What an autotuner's choice depends on, as a tuple: module/tuner.c."""
def hash_bytes(data: bytes) -> int:
    """The checksum of files in the cache."""
def prune_cache(dir: str, max_bytes: int) -> int:
    """Drops what was not used for longest; bytes freed."""

class CompiledKernel:
    def __getitem__(self, grid: Grid, /) -> Callable[..., Any]: ...
    _answers: list[tuple[int, int, int]]
    _facts: dict[str, Any]
    def _init_handles(self) -> None:
        """Loads the code now instead of at the first launch."""
    _kernel: Kernel
    _params: list[tuple[int, str, bool]]
    _stages: dict[str, Any]
    asm: Mapping[str, Any]
    function: int | None
    hash: str
    kernel: bytes
    launch_metadata: Callable[..., Any]
    metadata: Any
    metadata_group: dict[str, str]
    module: int | None
    n_regs: int
    n_spills: int
    name: str
    packed_metadata: tuple[int, int, int]
    report: str
    run: Callable[..., None]
    src: Any
    target: str
    timings: dict[str, float]

class Kernel:
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...
    def __getitem__(self, grid: Grid, /) -> Callable[..., CompiledKernel]: ...
    def __init__(self, fn: Callable[..., Any], *, do_not_specialize: Sequence[int | str] = ..., do_not_specialize_on_alignment: Sequence[int | str] = ..., debug: bool = ..., noinline: bool = ..., interpret: bool = ...) -> None: ...
    def _set_source(self, text: str, file: str) -> None:
        """The text to compile from now on, from def on; file names it in messages."""
    def add_pre_run_hook(self, hook: Callable[..., Any]) -> None:
        """hook(*args, **kwargs) is called before each launch."""
    arg_names: list[str]
    cache_key: str
    def compile(self, *signature: Any, target: str | None = ..., **constexprs: Any) -> CompiledKernel:
        """The variant for these types (see lower), without arguments and without the machine:
        target is cpu, cuda:sm_NN or emu:sm_NN. Options go by keyword, as in a launch.
        """
    fn: Callable[..., Any]
    def lower(self, *signature: Any, target: str | None = ..., **constexprs: Any) -> str:
        """The kernel's tile IR as text, as the frontend makes it for these types.

        Types are text: '*fp32' and '*fp32:16' (a pointer aligned to 16 bytes), 'i32',
        'i32:16' (divisible), 'i32:1' (known to be 1); '1' is a constant. What is not text
        is an argument.
        """
    def run(self, *args: Any, grid: Grid, warmup: bool = ..., **kwargs: Any) -> CompiledKernel:
        """The same as kernel[grid](...)."""
    variants: list[CompiledKernel]
    def warmup(self, *args: Any, grid: Grid | None = ..., **kwargs: Any) -> CompiledKernel:
        """Compiles what kernel[grid](...) would run, and does not run it. torch dtypes may
        stand for tensors.
        """
