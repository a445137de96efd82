"""``triton._compile_warmup_pool``: variants are compiled ahead, many at once.

Triton's workers are processes. Ours are threads, as of every ``AsyncCompileMode``: a
compile lets go of the GIL, and what it makes is in this process and, for others, on the
disk.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Client, Listener
from typing import Any

from tegula.compat.async_compile import AsyncCompileMode, FutureKernel, active

_VARIABLE = "TRITON_WARMUP_COORDINATOR"  # the address of a SharedWarmupCoordinator


class ProcessPoolWarmupDispatcher(AsyncCompileMode):
    """Compiles what ``dispatch`` is given, max_workers at a time, until ``finish``.

    trace_directory: None, or where each compile is a line of JSON (phase, test, kernel,
    hash, duration_us, compiler_worker) in ``<phase>-<pid>.jsonl``, and each test that
    ``record_test`` names one in ``<phase>-<pid>.tests``.
    """

    def __init__(
        self,
        *,
        max_workers: int,
        trace_directory: str | None = None,
        phase: str = "warmup",
    ) -> None:
        self._pool = ThreadPoolExecutor(max_workers)
        super().__init__(self._pool)
        self.trace_directory = trace_directory
        self.current_phase = phase
        self.current_test: str | None = None
        self._kernels: list[Any] = []  # alive: a variant's key has the address
        self._lock = threading.Lock()

    def dispatch(
        self, *args: Any, kernel: Any, grid: Any, test: str | None = None, **kwargs: Any
    ) -> Any:
        """What ``kernel[grid](*args, **kwargs)`` would run is compiled: a FutureKernel, or
        of a tuner a list of them."""
        before, self.current_test = self.current_test, test or self.current_test
        token = active.set(self)
        self._kernels.append(kernel)
        try:
            return kernel.warmup(*args, grid=grid, **kwargs)
        finally:
            active.reset(token)
            self.current_test = before

    def submit(
        self,
        key: str,
        compile_fn: Callable[[], Any],
        finalize_fn: Callable[[Any], Any] | None = None,
        cleanup_fn: Callable[[FutureKernel], Any] | None = None,
    ) -> FutureKernel:
        phase, test = self.current_phase, self.current_test

        def timed() -> Any:
            with _turn():
                start = time.monotonic()
                made = compile_fn()
                duration = time.monotonic() - start
            row = {
                "phase": phase,
                "test": test,
                "kernel": getattr(made, "name", None),
                "hash": getattr(made, "hash", None),
                "duration_us": int(duration * 1e6),
                "compiler_worker": threading.get_native_id(),
            }
            self._write(phase, "jsonl", row)
            return made

        return super().submit(key, timed, finalize_fn, cleanup_fn)

    def record_test(self, test: str, phase: str | None = None) -> None:
        """Note a test whose kernels were all dispatched."""
        phase = phase or self.current_phase
        self._write(phase, "tests", {"phase": phase, "test": test})

    def finish(self) -> None:
        """Wait for all; what the first that failed has raised is raised."""
        try:
            for future in self.futures:
                future.result()
        finally:
            self._pool.shutdown()

    def _write(self, phase: str, kind: str, row: dict[str, Any]) -> None:
        if self.trace_directory is None:
            return
        os.makedirs(self.trace_directory, exist_ok=True)
        path = os.path.join(self.trace_directory, f"{phase}-{os.getpid()}.{kind}")
        with self._lock, open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row, sort_keys=True) + "\n")


class SharedWarmupCoordinator:
    """Dispatchers of all processes that have ``TRITON_WARMUP_COORDINATOR=<address>`` in
    their environment compile max_workers variants at a time, together, until ``close``."""

    def __init__(self, *, max_workers: int, trace_directory: str | None = None) -> None:
        self.trace_directory = trace_directory
        self._free = threading.Semaphore(max_workers)
        self._listener = Listener(family="AF_UNIX")  # in a folder of this user alone
        self._is_open = True
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        return str(self._listener.address)

    def close(self) -> None:
        """No more turns are given; those that were go on."""
        self._is_open = False
        Client(self.address).close()  # wakes accept
        self._listener.close()

    def _accept(self) -> None:
        while True:
            connection = self._listener.accept()
            if not self._is_open:
                return connection.close()
            threading.Thread(
                target=self._serve, args=(connection,), daemon=True
            ).start()

    def _serve(self, connection: Any) -> None:
        with self._free, connection, contextlib.suppress(OSError, EOFError):
            connection.send_bytes(b"go")
            connection.recv_bytes()  # ends with the other side


@contextlib.contextmanager
def _turn() -> Iterator[None]:
    """One compile's turn at the coordinator, if there is one."""
    address = os.environ.get(_VARIABLE)
    if not address:
        yield
        return
    with Client(address) as connection:
        connection.recv_bytes()
        yield
