# Made by csrc/tools/stubs.py from the built core: make gen.
# ruff: noqa: E501
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, TypeAlias

Sides: TypeAlias = int | Sequence[int]
Grid: TypeAlias = Sides | Callable[[dict[str, Any]], Sides]

build: str
llvm: str

def _chip(sm: int, /) -> dict[str, int]:
    """The row of csrc/base/chips.def for this chip, or for the one before."""
def _chip_blocks(sm: int, threads: int, registers: int, shared: int, /) -> int:
    """Thread blocks of so many threads that a multiprocessor holds at a time, of so many registers
    a thread and bytes a block.
    """
def _cuda_count_clusters(function: int, shared: int, num_ctas: int, /) -> int:
    """See driver.py."""
def _cuda_fill_tma(address: int, swizzle: int, elem_bytes: int, elem_type: int, block: Sequence[int], shape: Sequence[int], strides: Sequence[int], padding: int, /) -> bytes:
    """See driver.py."""
def _cuda_load_binary(name: str, code: bytes, shared: int, device: int, /) -> tuple[int, int, int, int, int]:
    """See driver.py."""
def _cuda_printf_size(bytes: int, /) -> None:
    """See driver.py."""
def _cuda_unload_binary(module: int, /) -> None:
    """See driver.py."""
def _debug_below(line: int, /) -> bool:
    """See debugger.py."""
def _debug_grid() -> tuple[int, int, int]:
    """See debug_prompt.py."""
def _debug_load(kind: str, addresses: bytes, /) -> bytes:
    """See debug_prompt.py."""
def _debug_read(handle: object, level: int, serial: int, i: int, /) -> tuple[str, tuple[int, ...], bytes]:
    """See debugger.py."""
def _debug_spec(handle: object, level: int, serial: int, /) -> str | None:
    """See debugger.py."""
def _debug_step(line: int, /) -> bool:
    """See debugger.py."""
def _debug_value() -> Any:
    """See debugger.py."""
def _debug_write(handle: object, level: int, serial: int, i: int, data: bytes, /) -> None:
    """See debugger.py."""
def _fail_after(n: int) -> None:
    """Tests: allocation number n of each compile fails; 0: none."""
def _n_edits() -> int:
    """Tests: what made launches look at the names of the language again."""
def _option_names() -> list[str]:
    """What a launch takes besides the kernel's parameters."""
def _record_start() -> None:
    """See viz.py."""
def _record_stop() -> bytes:
    """See viz.py."""
def _stop_compiles() -> None:
    """Ends the compiles of other threads, as far as they can be ended."""
def build_id() -> str:
    """The linker's hash of the compiler, in hex; '' without one."""
def configure(**knobs: Any) -> None:
    """Tells C the knobs; python/tegula/knobs.py calls it."""
def cuda_devices() -> list[dict[str, Any]]:
    """One dict for each GPU; RuntimeError without a driver."""
def find_in_wheels(name: str) -> str | None:
    """Where a file like bin/ptxas of the nvidia-* packages is, or None."""
def fingerprint(args: tuple[Any, ...], kwargs: dict[str, Any], keys: tuple[str, ...], places: tuple[int, ...]) -> tuple[Any, ...]:
    """What an autotuner's choice depends on, as a tuple: module/tuner.c."""
def hash_bytes(data: bytes) -> int:
    """The checksum of files in the cache."""
def prune_cache(dir: str, max_bytes: int) -> int:
    """Drops what was not used for longest; bytes freed."""

class CompiledKernel:
    """A compiled variant of a kernel: asm has its stages as text, report what its
    lines cost, timings what compiling it took; metadata, n_regs, n_spills.

    >>> @tegula.jit
    ... def double(x_ptr):
    ...     tl.store(x_ptr, tl.load(x_ptr) * 2)
    >>> compiled = double.compile("*fp32", target="cuda:sm_80")
    >>> "ld.global" in compiled.asm["ptx"], compiled.metadata.shared
    (True, 0)
    """
    def __getitem__(self, grid: Grid, /) -> Callable[..., Any]:
        """Sets the grid of a launch: ``kernel[grid](*args, **options)``.

        grid is a tuple of one to three ints, or a function that gives one for the dict of all
        arguments: ``kernel[lambda meta: (tegula.cdiv(n, meta["BLOCK"]),)](x, n, BLOCK=128)``.
        Options: num_warps, num_stages, num_ctas, maxnreg, stream and others.

        """
    _answers: list[tuple[int, int, int]]
    """what was asked of the arguments: (node, asked, truth)"""
    _costs: str
    _devices: list[int]
    """list of the GPUs it was made for or has run on"""
    _facts: dict[str, Any]
    """dict of numbers for metadata"""
    def _init_handles(self) -> None:
        """Loads the code now instead of at the first launch."""
    _kernel: Kernel
    """the kernel this is a variant of"""
    _launched: tuple[int, ...]
    """sides of the grid and numbers of the latest launch"""
    def _loosely(self, grid: Grid, /) -> Callable[..., Any]:
        """As compiled[grid], but what was constant is not looked at."""
    _params: list[tuple[int, str, bool]]
    """of the code: (node, type, is it a pointer, is it stored through)"""
    _stages: dict[str, Any]
    """dict of the stages"""
    def _traffic(self) -> dict[str, Any] | None:
        """Bytes and operations of the latest launch, a dict; None: none yet."""
    asm: Mapping[str, Any]
    """mapping of the stages: tir, simt, llir, ptx, cubin, asm, .."""
    function: int | None
    """The driver's handle, a CUfunction of the current device, as an int; None until the
    code is loaded.
    """
    hash: str
    """key on disk, without the answers; '' if it is not kept"""
    kernel: bytes
    """the machine code, as bytes"""
    launch_metadata: Callable[..., Any]
    """launch_metadata(grid, stream, *args): what launch hooks get, or None."""
    metadata: Any
    """named tuple: shared, num_warps, name, hash, .."""
    metadata_group: dict[str, str]
    """dict: a name for each stage"""
    module: int | None
    """The driver's handle of the code, a CUlibrary, as an int; None until it is loaded."""
    n_max_threads: int
    """threads that a block of it may have: on a GPU those that it is made for"""
    n_regs: int
    """registers of a thread, or as many as it may use; -1: unknown"""
    n_spills: int
    """bytes of spilled registers; -1: unknown"""
    name: str
    """of the kernel"""
    packed_metadata: tuple[int, int, int]
    """(num_warps, num_ctas, shared)"""
    report: str
    """text: what lines of the kernel cost, such as shuffles, barriers and padding; ''
    where there is nothing to say. On a GPU the numbers are one thread's.
    """
    run: Callable[..., None]
    """run(gx, gy, gz, stream, function, packed_metadata, launch_metadata, enter_hook,
    exit_hook, *args): Triton's launcher; args are all of the kernel's.
    """
    src: Any
    """what it was made of: .fn is the kernel"""
    target: str
    """cpu, cuda:sm_90a, emu:sm_80"""
    timings: dict[str, float]
    """dict of milliseconds: frontend, passes, codegen, llvm, ptxas; empty if from disk"""

class Kernel:
    """What @tegula.jit makes of a function."""
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...
    def __getitem__(self, grid: Grid, /) -> Callable[..., CompiledKernel]:
        """Sets the grid of a launch: ``kernel[grid](*args, **options)``.

        grid is a tuple of one to three ints, or a function that gives one for the dict of all
        arguments: ``kernel[lambda meta: (tegula.cdiv(n, meta["BLOCK"]),)](x, n, BLOCK=128)``.
        Options: num_warps, num_stages, num_ctas, maxnreg, stream and others.

        """
    def __init__(self, fn: Callable[..., Any], *, do_not_specialize: Sequence[int | str] = ..., do_not_specialize_on_alignment: Sequence[int | str] = ..., debug: bool = ..., interpret: bool = ...) -> None: ...
    _fn: Callable[..., Any]
    """the same, for who does not change it"""
    def _forget(self) -> None:
        """The variants so far are found by no launch from now on."""
    def _set_source(self, text: str, file: str) -> None:
        """The text to compile from now on, from def on; file names it in messages."""
    _source: str
    """its text, from the first decorator on"""
    def add_pre_run_hook(self, hook: Callable[..., Any]) -> None:
        """hook(*args, **kwargs) is called before each launch."""
    arg_names: list[str]
    """names of the parameters"""
    def compile(self, *signature: Any, target: str | None = ..., **constexprs: Any) -> CompiledKernel:
        """The variant for these types (see lower), without arguments and without the machine:
        target is cpu, cuda:sm_NN or emu:sm_NN. Options go by keyword, as in a launch.
        """
    fn: Callable[..., Any]
    """the Python function"""
    def lower(self, *signature: Any, target: str | None = ..., **constexprs: Any) -> str:
        """The kernel's tile IR as text, as the frontend makes it for these types.

        Types are text: '*fp32' and '*fp32:16' (a pointer aligned to 16 bytes), 'i32',
        'i32:16' (divisible), 'i32:1' (known to be 1); '1' is a constant. What is not text
        is an argument.
        """
    def prepare(self, *args: Any, grid: Grid, **kwargs: Any) -> CompiledKernel:
        """warmup() for this grid: a GPU's code may be for so many programs, as a launch's is."""
    def run(self, *args: Any, grid: Grid, warmup: bool = ..., **kwargs: Any) -> CompiledKernel:
        """The same as kernel[grid](...)."""
    variants: list[CompiledKernel]
    """the compiled variants, oldest first"""
    def warmup(self, *args: Any, grid: Grid | None = ..., **kwargs: Any) -> CompiledKernel:
        """Compiles what kernel[grid](...) would run, and does not run it. torch dtypes may
        stand for tensors. The grid is not looked at.
        """

class LanguageModule(ModuleType):
    """A module of the kernel language: kernels notice when its names change."""
