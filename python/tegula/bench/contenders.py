"""Who solves a case: our op, torch as it is, torch.compile, our kernels under Triton."""

from __future__ import annotations

import functools
import importlib.util
import pkgutil
import sys
import types
from collections.abc import Callable
from typing import Any

from tegula import JITFunction, language, ops
from tegula.bench.cases import Problem

Call = Callable[..., Any]
BESIDE = ("torch", "compile", "triton")


def torch_or_none() -> Any:
    return importlib.import_module("torch") if _has("torch") else None


def _has(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def available(device: str) -> list[str]:
    """Who of BESIDE can run here."""
    found = ["torch", "compile"] if _has("torch") else []
    # Triton's own, not ours in its place: compat makes `import triton` give tegula.
    if device == "cuda" and _has("triton") and not _is_ours("triton"):
        found.append("triton")
    return found


def _is_ours(name: str) -> bool:
    import tegula

    return getattr(sys.modules.get(name), "__version__", None) == tegula.__version__


def of(problem: Problem, beside: list[str]) -> dict[str, Call]:
    """Name -> what takes the problem's inputs; ours is the first."""
    out: dict[str, Call] = {"tegula": problem.ours}
    if "torch" in beside:
        out["torch"] = problem.theirs
    if "compile" in beside:
        import torch

        torch._dynamo.reset()
        out["compile"] = torch.compile(problem.theirs, fullgraph=True, dynamic=False)
    if "triton" in beside:
        out["triton"] = with_triton(problem.ours)
    return out


# --- our kernels under Triton -------------------------------------------------------------
class Twin:
    """A kernel's source compiled by Triton, launched as ours is."""

    def __init__(self, kernel: Any, triton: Any) -> None:
        self._kernel, self._types = kernel, triton.language

    def __getitem__(self, grid: Any) -> Call:
        launch = self._kernel[grid]

        def call(*args: Any, **constants: Any) -> None:
            launch(*args, **{k: self._translated(v) for k, v in constants.items()})

        return call

    def _translated(self, x: Any) -> Any:
        """A dtype of our language is Triton's of that name."""
        if isinstance(x, language.dtype):
            return self._types.dtype(x.name)
        return x


@functools.cache
def _twins() -> list[tuple[types.ModuleType, str, Any]]:
    """(module, name, twin) for the kernels that the ops launch."""
    import triton

    names = [i.name for i in pkgutil.iter_modules(ops.__path__) if i.name != "nn"]
    modules = [importlib.import_module(f"tegula.ops.{name}") for name in names]
    # What a twin calls by the name of a module (activation.apply) is a twin as well.
    theirs = {m.__name__: types.ModuleType(m.__name__) for m in modules}
    out = []
    for m in modules:
        seen = {k: _instead(v, theirs) for k, v in vars(m).items()}
        seen |= {"tl": triton.language, "tegula": triton}
        for k, v in vars(m).items():
            if isinstance(v, JITFunction):
                seen[k] = triton.jit(_with_globals(v.fn, seen))
                if v.fn.__module__ == m.__name__:
                    setattr(theirs[m.__name__], k, seen[k])
                    out.append((m, k, Twin(seen[k], triton)))
    return out


def _instead(x: Any, theirs: dict[str, types.ModuleType]) -> Any:
    return theirs.get(x.__name__, x) if isinstance(x, types.ModuleType) else x


def _with_globals(fn: Any, names: dict[str, Any]) -> Any:
    twin = types.FunctionType(fn.__code__, names, fn.__name__, fn.__defaults__)
    twin.__annotations__, twin.__module__ = fn.__annotations__, fn.__module__
    return twin


def with_triton(fn: Call) -> Call:
    """fn with Triton's kernels in the place of ours while it runs."""

    def call(*args: Any) -> Any:
        twins = _twins()
        ours = [(m, k, vars(m)[k]) for m, k, _ in twins]
        try:
            for m, k, twin in twins:
                setattr(m, k, twin)
            return fn(*args)
        finally:
            for m, k, kernel in ours:
                setattr(m, k, kernel)

    return call
