"""``@jit``: a Python function becomes a kernel.

The work is done by ``_core.Kernel``. What stands here is the decorator and those
attributes of a kernel that are looked at by people and libraries, never by a launch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, overload

from tegula._core import Kernel


class JITFunction(Kernel):
    """A kernel: launch it with ``kernel[grid](...)``, or call it from another kernel."""

    def __init__(
        self,
        fn: Callable[..., Any],
        version: int | None = None,
        do_not_specialize: Iterable[int | str] | None = None,
        do_not_specialize_on_alignment: Iterable[int | str] | None = None,
        debug: bool | None = None,
        noinline: bool | None = None,
        repr: Callable[[Any], str] | None = None,
        launch_metadata: Callable[..., Any] | None = None,
    ) -> None:
        self.version = version
        self.do_not_specialize = tuple(do_not_specialize or ())
        self.do_not_specialize_on_alignment = tuple(
            do_not_specialize_on_alignment or ()
        )
        self.debug = debug
        self.noinline = bool(noinline)
        self.launch_metadata = launch_metadata
        self._repr = repr
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(self, name, getattr(fn, name))
        super().__init__(
            fn,
            do_not_specialize=self.do_not_specialize,
            do_not_specialize_on_alignment=self.do_not_specialize_on_alignment,
            debug=bool(debug),
            noinline=self.noinline,
        )

    @property
    def __globals__(self) -> dict[str, Any]:
        return self.fn.__globals__

    def __repr__(self) -> str:
        return f"JITFunction({self.__module__}:{self.__qualname__})"

    def __reduce__(self) -> str:
        # Like a function: found again by its name, and its own copy.
        return self.__qualname__


@overload
def jit(fn: Callable[..., Any]) -> JITFunction: ...
@overload
def jit(
    *,
    version: int | None = None,
    repr: Callable[[Any], str] | None = None,
    launch_metadata: Callable[..., Any] | None = None,
    do_not_specialize: Iterable[int | str] | None = None,
    do_not_specialize_on_alignment: Iterable[int | str] | None = None,
    debug: bool | None = None,
    noinline: bool | None = None,
) -> Callable[[Callable[..., Any]], JITFunction]: ...
def jit(
    fn: Callable[..., Any] | None = None,
    *,
    version: int | None = None,
    repr: Callable[[Any], str] | None = None,
    launch_metadata: Callable[..., Any] | None = None,
    do_not_specialize: Iterable[int | str] | None = None,
    do_not_specialize_on_alignment: Iterable[int | str] | None = None,
    debug: bool | None = None,
    noinline: bool | None = None,
) -> Any:
    """Compile a function written in ``tegula.language``.

    do_not_specialize               parameters (names or positions) whose value never
                                    makes a new variant
    do_not_specialize_on_alignment  the same for their divisibility alone
    debug                           device_assert and overflow checks are live
    noinline                        accepted for Triton's sake; we inline
    repr                            repr(specialization) gives the name of the variant
    """

    def make(f: Callable[..., Any]) -> JITFunction:
        if isinstance(f, JITFunction):
            return f
        return JITFunction(
            f,
            version=version,
            do_not_specialize=do_not_specialize,
            do_not_specialize_on_alignment=do_not_specialize_on_alignment,
            debug=debug,
            noinline=noinline,
            repr=repr,
            launch_metadata=launch_metadata,
        )

    return make if fn is None else make(fn)
