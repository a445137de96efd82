"""Functions of constants, for the host and for kernels."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Generic, TypeVar

R = TypeVar("R")


class Constant:
    """The base of ``tl.constexpr``, known without the language."""

    value: Any


class ConstexprFunction(Generic[R]):
    """A Python function that kernels may call on constants; it runs while compiling."""

    __name__: str
    __qualname__: str

    __tegula_constexpr__ = True

    def __init__(self, fn: Callable[..., R]) -> None:
        self.fn = fn
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(self, name, getattr(fn, name))

    def __call__(self, *args: Any, **kwargs: Any) -> R:
        return self.fn(*map(_raw, args), **{k: _raw(v) for k, v in kwargs.items()})

    def __get__(self, obj: Any, cls: Any = None) -> Any:
        return self if obj is None else ConstexprFunction(self.fn.__get__(obj, cls))

    @property
    def src(self) -> str:
        """The text from ``def`` on, without its indentation."""
        import inspect
        import textwrap

        text = textwrap.dedent(inspect.getsource(self.fn))
        return text[text.index("def ") :]

    @property
    def cache_key(self) -> str:
        """SHA-256 of the text, in hex."""
        import hashlib

        return hashlib.sha256(self.src.encode()).hexdigest()

    def __repr__(self) -> str:
        return f"ConstexprFunction({self.__module__}:{self.__qualname__})"


def _raw(x: Any) -> Any:
    # torch.compile traces calls of the host, and torch 2.11 cannot trace an import of the
    # language's modules: so nothing is imported here.
    return x.value if isinstance(x, Constant) else x


def constexpr_function(fn: Callable[..., R]) -> ConstexprFunction[R]:
    """Let kernels call fn on constants: ``@tegula.constexpr_function``.

    Types:  arguments and results are Python's: numbers, strings, dtypes, tuples, None.
            Of a tensor or a descriptor it may ask the dtype, the shape, and isinstance().
    Cost:   it runs while compiling; the host may call it like any function. Where it reads
            what no compile can follow (os.environ, a module imported in its body, getattr),
            it runs again at each launch, to see whether its result is what it was.
    Errors: CompileError[VALUE] in a kernel for arguments known only at run time.

    >>> @tegula.constexpr_function
    ... def largest_block(n):
    ...     return min(1024, tegula.next_power_of_2(n))
    >>> largest_block(300)
    512
    """
    return ConstexprFunction(fn)


@constexpr_function
def cdiv(x: int, y: int) -> int:
    """The quotient of positive integers, rounded up.

    Types:  ints, on the host and constants in kernels (tl.cdiv takes tensors).

    >>> tegula.cdiv(10, 4)
    3
    """
    return (x + y - 1) // y


@constexpr_function
def next_power_of_2(n: int) -> int:
    """The smallest power of two that is at least n; 0 for 0.

    Types:  ints, on the host and constants in kernels.

    >>> tegula.next_power_of_2(100)
    128
    """
    n = operator.index(n)
    return 1 << (n - 1).bit_length() if n > 0 else 0


def must_use_result(x: Any, s: str | bool = True) -> Any:
    """Say that a call of this function without using its result is a mistake.

    @must_use_result, or @must_use_result("and why"): kernels that drop it are refused.

    >>> @tegula.must_use_result("tensors do not change")
    ... @tegula.jit
    ... def clipped(x):
    ...     return tl.minimum(x, 1.0)
    >>> @tegula.jit
    ... def kernel(x_ptr):
    ...     clipped(tl.load(x_ptr))
    >>> try:
    ...     done = kernel.compile("*fp32")
    ... except tegula.CompileError as e:
    ...     mistake = e.message
    >>> mistake
    'The result of clipped is not being used. tensors do not change'
    """
    if isinstance(x, str):
        return lambda fn: must_use_result(fn, x)
    x._must_use_result = s
    return x
