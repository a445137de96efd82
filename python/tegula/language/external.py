"""Code that is not written in the language: assembly, functions of a library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .builtin import builtin, outside
from .types import tensor


@builtin
def inline_asm_elementwise(
    asm: str,
    constraints: str,
    args: Any,
    dtype: Any,
    is_pure: bool,
    pack: int,
) -> Any:
    """PTX, element by element.

    Shapes: the operands in the list args broadcast; without operands, a scalar.
    Types:  of the result: dtype, or a tuple of them for a tuple of results. ``pack``
            elements go through the assembly at once; those narrower than 32 bits share
            32-bit registers, the first in the low bits. constraints are LLVM's:
            ``"=r,r,r"``, results first; ``0`` is an operand in the register of ``$0``.
    Targets: all. Where no PTX is made it is interpreted, some 10 ns an instruction and 32
            packs: packs are neighbours in row-major order, a program is one thread, hints
            do nothing. The emulator has threads: shuffles, votes, ``redux``, barriers,
            ``mma``, ``ldmatrix``, ``cp.async``, ``.shared`` variables, other blocks of a
            cluster and registers such as ``%laneid`` are as on a GPU there.
    Cost:   is_pure=False keeps the assembly where it is, in order with memory accesses.
            It runs once for each pack, whatever the number of results; where a function
            of ``map_elementwise`` branches, for packs of which an element gets there (one
            that does not goes in as one that does). On a GPU scalars go through it in
            every thread, and so do all copies of a block when threads meet in the text.
    Errors: CompileError[VALUE] for a text that is not PTX, UnsupportedError[TARGET] for
            instructions in which threads meet, on the CPU and in the interpreter, and for
            ``wgmma``, ``wmma`` and bulk copies on the emulator, too.

    >>> i = tl.arange(0, 4)
    >>> tl.inline_asm_elementwise(
    ...     "shf.l.wrap.b32 $0, $1, $1, 31;", "=r,r", [i], tl.int32, True, 1)
    int32[4]: [0, -2147483648, 1, -2147483647]
    """
    return outside()


@builtin
def extern_elementwise(
    lib_name: str,
    lib_path: str,
    args: Any,
    arg_type_symbol_dict: dict[Any, Any],
    is_pure: bool,
) -> tensor:
    """A function of a library, chosen by the types of the operands.

    Shapes: the operands in the list args broadcast; without operands, a scalar.
    Types:  arg_type_symbol_dict maps a tuple of types, one for each operand, to (symbol,
            type of the result); pointer types are types, too. Operands in no row are
            promoted as those of an operator, once. Symbols of CUDA's libdevice
            (``__nv_tanhf``) are the functions of ``tl.extra.libdevice``, and LLVM's own
            functions (``llvm.ceil.f32``) need no library either. Any other is in LLVM
            bitcode or text, for nvptx64 or for this machine: ``lib_path``, or what the
            option ``extern_libs={lib_name: path}`` says; then in the other files of
            extern_libs, and for GPUs in CUDA's libdevice (TEGULA_LIBDEVICE).
    Targets: all. Code for nvptx64 runs on GPUs and on the emulator, code for this machine
            on the CPU and in the interpreter, and a file that names no machine runs on
            all of them.
            The emulator checks its accesses to memory as the kernel's, and refuses
            recursion.
    Cost:   it is linked, and inlined. Without is_pure the function is called once for
            each element, in order with memory accesses, whoever takes the result, and by
            one thread where several hold the element (Triton: by each); it may not wait
            for other threads. With is_pure it may run more often, less often, or for
            elements whose result is not taken. Neither is called for elements of padding.
    Errors: CompileError[TYPE] for a combination it does not list, CompileError[VALUE] for
            a file that is not there, damaged, without the function, or with one of
            another type, UnsupportedError[TARGET] for code that the target has not.

    >>> i = tl.arange(0, 4)
    >>> table: tl.constexpr = {(tl.float32,): ("llvm.ceil.f32", tl.float32)}
    >>> tl.core.extern_elementwise("", "", [i / 3], table, is_pure=True)
    float32[4]: [0, 1, 1, 1]
    """
    return outside()


@builtin
def map_elementwise(scalar_fn: Any, *args: Any, pack: int = 1) -> Any:
    """A jit function of scalars, on each element of blocks.

    Shapes: args broadcast. With pack, the function gets that many neighbours of each
            operand, one operand after the other, and returns as many of each result.
    Cost:   all elements run together: both sides of a branch, and a loop as long as one
            of them is in it. Loads, stores, atomics, prints and asserts are of those
            that get there.
    Errors: CompileError[TYPE] when it makes a block of an element.

    >>> @tegula.jit
    ... def larger(a, b):
    ...     if a > b:
    ...         return a
    ...     return b
    >>> i = tl.arange(0, 4)
    >>> tl.map_elementwise(larger, i, 3 - i)
    int32[4]: [3, 2, 2, 3]
    """
    return outside()


def extern(fn: Callable[..., Any]) -> Any:
    """Decorator of a function that wraps extern_elementwise: it is inlined as ``@jit``."""
    from tegula.jit import jit

    return jit(fn)
