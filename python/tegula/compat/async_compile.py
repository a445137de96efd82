"""``AsyncCompileMode``: compile many variants at once.

    with AsyncCompileMode(ThreadPoolExecutor(8)):
        futures = [kernel.warmup(x, n, BLOCK=b, grid=(1,)) for b in (64, 128, 256)]

Inside, ``warmup`` returns a ``FutureKernel`` at once and the compile runs in the executor;
at the end of the block all of them are done. A compile lets go of the GIL, so threads are
enough. Launches inside the block are what they are elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextvars import ContextVar, Token
from typing import Any

active: ContextVar[AsyncCompileMode | None] = ContextVar("async_compile", default=None)
active_mode = active  # Triton's name


class FutureKernel:
    """A variant that is being compiled.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> @tegula.jit
    ... def fill(x_ptr, N: tl.constexpr):
    ...     tl.store(x_ptr + tl.arange(0, N), 1.0)
    >>> with tegula.AsyncCompileMode(ThreadPoolExecutor(1)):
    ...     future = fill.warmup(np.zeros(64, np.float32), 64, grid=(1,))
    >>> future.result().name
    'fill'
    """

    def __init__(
        self,
        finalize_compile: Callable[[Any], Any] | None,
        cleanup_compile: Callable[[FutureKernel], Any] | Future[Any] | None,
        future: Future[Any] | None = None,
    ) -> None:
        if future is None:  # Triton up to 3.8: finalize and future alone
            cleanup_compile, future = None, cleanup_compile
        self._finalize = finalize_compile
        self._cleanup = cleanup_compile
        self._future: Future[Any] = future  # type: ignore[assignment]

    def result(self, ignore_errors: bool = False) -> Any:
        """The variant, as soon as it is there; what its compile raised is raised here.
        With ignore_errors None stands for a variant that could not be compiled."""
        try:
            kernel = self._future.result()
        except Exception:
            if self._cleanup:  # once, as below
                cleanup, self._cleanup = self._cleanup, None
                cleanup(self)  # type: ignore[operator]
            if ignore_errors:
                return None
            raise
        if self._finalize:  # once, in the thread that asks first
            finalize, self._finalize = self._finalize, None
            finalize(kernel)
        return kernel

    def done(self) -> bool:
        """Has it been compiled, or failed to be?"""
        return self._future.done()


class AsyncCompileMode:
    """A block in which ``kernel.warmup`` does not wait; see above.

    executor: of ``concurrent.futures``, with threads. ignore_errors: a compile that fails
    does not make the end of the block raise.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> @tegula.jit
    ... def fill(x_ptr, N: tl.constexpr):
    ...     tl.store(x_ptr + tl.arange(0, N), 1.0)
    >>> x = np.zeros(64, np.float32)
    >>> with tegula.AsyncCompileMode(ThreadPoolExecutor(4)):
    ...     futures = [fill.warmup(x, n, grid=(1,)) for n in (16, 32, 64)]
    >>> [f.done() for f in futures]
    [True, True, True]
    """

    def __init__(self, executor: Executor, *, ignore_errors: bool = False) -> None:
        self.executor = executor
        self.ignore_errors = ignore_errors
        self.futures: list[FutureKernel] = []
        self._by_key: dict[str, FutureKernel] = {}
        self._token: Token[AsyncCompileMode | None] | None = None

    def submit(
        self,
        key: str,
        compile_fn: Callable[[], Any],
        finalize_fn: Callable[[Any], Any] | None = None,
        cleanup_fn: Callable[[FutureKernel], Any] | None = None,
    ) -> FutureKernel:
        """Have compile_fn() called by the executor, and finalize_fn with what it gave when
        somebody asks for it; cleanup_fn with the future when it failed instead. What has
        the key of an earlier one is that one; two for the same variant compile once: the
        second waits for the first."""
        if key in self._by_key:
            return self._by_key[key]
        future = FutureKernel(finalize_fn, cleanup_fn, self.executor.submit(compile_fn))
        self.futures.append(future)
        self._by_key[key] = future
        return future

    def __enter__(self) -> AsyncCompileMode:
        if active.get() is not None:
            raise RuntimeError("an AsyncCompileMode inside of another one")
        self._token = active.set(self)
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        assert self._token is not None
        active.reset(self._token)
        failed: BaseException | None = None
        for future in self.futures:  # all of them, whatever happens to one
            if value is not None and future._future.cancel():
                continue  # the block has failed: nothing new is begun, or waited for
            try:
                future.result(ignore_errors=self.ignore_errors)
            except Exception as e:
                failed = failed or e
        if failed is not None and value is None:
            raise failed
