"""``Config``: what ``@autotune`` tries."""

from __future__ import annotations

import functools
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def did_you_mean(name: str, words: Iterable[str], prefix: str = "") -> str:
    """ "; did you mean 'num_warps'?" where one of the words is near, else nothing."""
    import difflib

    name = str(name)  # a key may be anything
    by_letters = {w.lower().replace("_", ""): w for w in words}
    wanted = name.lower().replace("_", "")
    near = difflib.get_close_matches(wanted, by_letters, 1, 0.7)
    return f"; did you mean {prefix + by_letters[near[0]]!r}?" if near else ""


def users_level() -> int:
    """stacklevel= of a warning that is about what called us: that of its line."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("tegula."):
        level, frame = level + 1, frame.f_back
    return level


def names_its_options(fn: F) -> F:
    """A misspelt keyword of fn is answered with the one that is near."""
    known = fn.__code__.co_varnames[: fn.__code__.co_argcount]

    @functools.wraps(fn)
    def call(*args: Any, **given: Any) -> Any:
        for name in given:
            if name not in known:
                takes = did_you_mean(name, known) or f"; it takes {', '.join(known)}"
                raise TypeError(f"{fn.__name__}() takes no {name!r}{takes}")
        return fn(*args, **given)

    return call  # type: ignore[return-value]


def no_parameter(name: str, fn: Any, arg_names: Iterable[str]) -> str:
    return (
        f"{name!r} is no parameter of {fn.__name__}({', '.join(arg_names)})"
        f"{did_you_mean(name, arg_names)}"
    )


def misnamed(
    whose: str, names: Iterable[str], fn: Any, arg_names: Sequence[str]
) -> str | None:
    """A launch would find what is no parameter and no option, but not say whose it is.
    Decorating says nothing: a library may hold kernels that nobody launches."""
    from tegula import _core

    while not isinstance(fn, types.FunctionType):  # what stands between is a kernel
        fn = fn.fn
    if fn.__code__.co_flags & _TAKES_ANY:
        return None
    # Of AMD's options a CPU warns (without_amd), and a GPU's launch says what they are.
    known = {*arg_names, *_core._option_names(), *_AMD}
    for name in names:
        if name not in known:
            return f"{whose}: {no_parameter(name, fn, arg_names)}"
    return None


def misnamed_config(
    configs: Iterable[Config], fn: Any, arg_names: Sequence[str]
) -> str | None:
    names = [n for c in configs for n in c.kwargs]
    return misnamed("@autotune's Config", names, fn, arg_names)


def refuse(mistake: str | None) -> None:
    if mistake:
        raise ValueError(mistake)


_PRUNE = ("early_config_prune", "perf_model", "top_k")


def check_prune(names: Iterable[str]) -> None:
    if callable(names):
        raise TypeError(
            "@autotune: prune_configs_by is a dict, {'early_config_prune': f}, "
            f"not {names!r}"
        )
    for name in names:
        if name not in _PRUNE:
            warnings.warn(
                f"@autotune: prune_configs_by has no {name!r}{did_you_mean(name, _PRUNE)}",
                UserWarning,
                stacklevel=4,
            )


def prune_early(
    prune: Callable[..., Any], configs: Any, named: Any, kwargs: dict[str, Any]
) -> Any:
    try:
        return prune(configs, named, **kwargs)
    except TypeError as e:
        e.add_note(
            "early_config_prune(configs, named_args, **kwargs) is called with the "
            f"keywords of the launch: {', '.join(kwargs)}"
        )
        raise


def check_tensor_key(
    keys: Iterable[str],
    named: Iterable[tuple[str, Any]],
    kwargs: dict[str, Any],
    is_error: bool,
) -> None:
    """A tensor that has a hash, as torch's, is a key of its own: that is only warned of."""
    for name, value in (*named, *kwargs.items()):
        if name in keys and getattr(value, "shape", None):
            text = (
                f"@autotune: key {name!r} is a tensor, and each tensor would be tuned "
                "for anew: key= names sizes; types of tensors count without it"
            )
            if is_error:
                raise TypeError(text) from None
            warnings.warn(text, UserWarning, stacklevel=5)


def check_kernel(fn: Any, decorator: str) -> None:
    if not hasattr(fn, "arg_names"):
        name = getattr(fn, "__name__", repr(fn))
        raise TypeError(
            f"@{decorator} takes a kernel, and {name} is none: @jit stands below it, "
            f"next to the function"
        )


class Config:
    """One configuration to try: values for parameters, and launch options.

    >>> tegula.Config({"BLOCK": 128}, num_warps=8).all_kwargs()["num_warps"]
    8
    """

    if not TYPE_CHECKING:  # a type checker says it of the signature

        def __new__(cls, *args, **given):
            for name in given if cls is Config else ():
                if name != "kwargs" and name not in _OPTIONS:
                    more = f": a dict gives parameters values, Config({{{name!r}: ..}})"
                    raise TypeError(
                        f"Config() has no option {name!r} for a launch"
                        f"{did_you_mean(name, _OPTIONS) or more}"
                    )
            return super().__new__(cls)

    def __init__(
        self,
        kwargs: dict[str, Any],
        num_warps: int = 4,
        num_stages: int = 3,
        num_ctas: int = 1,
        maxnreg: int | None = None,
        pre_hook: Callable[[dict[str, Any]], Any] | None = None,
        ir_override: str | None = None,
    ) -> None:
        if not hasattr(kwargs, "items"):
            raise TypeError(f"Config takes a dict, {{name: value}}, not {kwargs!r}")
        self.kwargs = kwargs
        self.num_warps = num_warps
        self.num_stages = num_stages
        self.num_ctas = num_ctas
        self.maxnreg = maxnreg
        self.pre_hook = pre_hook
        self.ir_override = ir_override

    def all_kwargs(self) -> dict[str, Any]:
        """What a launch gets: the values and the options that are set."""
        given = dict(self.kwargs)  # spelled out: every launch of a tuner comes by
        if self.num_warps is not None:
            given["num_warps"] = self.num_warps
        if self.num_ctas is not None:
            given["num_ctas"] = self.num_ctas
        if self.num_stages is not None:
            given["num_stages"] = self.num_stages
        if self.maxnreg is not None:
            given["maxnreg"] = self.maxnreg
        if self.ir_override is not None:
            given["ir_override"] = self.ir_override
        return given

    def __str__(self) -> str:
        shown = self.kwargs | {
            name: getattr(self, name)
            for name in ("num_warps", "num_ctas", "num_stages", "maxnreg")
        }
        return ", ".join(f"{k}: {v}" for k, v in shown.items())

    __repr__ = __str__

    def _identity(self) -> tuple[Any, ...]:
        return (*self.all_kwargs().items(), self.pre_hook)

    def __hash__(self) -> int:
        return hash(self._identity())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self._identity() == other._identity()


_TAKES_ANY = 0x08  # inspect.CO_VARKEYWORDS; the module takes 2 ms to import
_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "pre_hook", "ir_override")

# Options of Triton's AMD backend.
_AMD = {
    "waves_per_eu",
    "matrix_instr_nonkdim",
    "kpack",
    "schedule_hint",
    "allow_flush_denorm",
}


def without_amd(configs: list[Config], arg_names: list[str]) -> list[Config]:
    """On the CPU, host code that asks "not CUDA?" takes its configurations for AMD, whose
    options a launch would refuse: here they are left out, with a warning."""
    names = _AMD - set(arg_names)
    found = {name: None for c in configs for name in c.kwargs if name in names}
    if not found:
        return configs
    from tegula.compat import driver

    active: Any = driver.active
    if active.get_current_target().backend != "cpu":
        return configs  # a KeyError at the launch, as Triton's on CUDA
    warnings.warn(
        f"{', '.join(found)}: options of AMD's GPUs are left out of the configurations "
        "on the CPU",
        UserWarning,
        stacklevel=4,
    )
    import copy

    changed = []
    for config in configs:
        if names & config.kwargs.keys():
            config = copy.copy(config)
            config.kwargs = {k: v for k, v in config.kwargs.items() if k not in names}
        changed.append(config)
    return changed
