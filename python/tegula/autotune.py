"""``@autotune`` measures configurations and keeps the fastest; ``@heuristics`` computes
arguments from others.

    @tegula.autotune(configs=[Config({"BLOCK": 64}), Config({"BLOCK": 128})], key=["n"])
    @tegula.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
    @tegula.jit
    def kernel(x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr): ...

Results are kept in memory, and with ``cache_results`` beside the compiled kernels: one
JSON file for each function, machine and key, a row for each configuration.
"""

from __future__ import annotations

import builtins
import os
import sys
import time
import types
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tegula import _core, knobs
from tegula import configs as checks
from tegula.configs import Config as Config
from tegula.errors import (
    AutotunerError,
    CompileError,
    CompileTimeAssertionFailure,
    OutOfResources,
    PTXASError,
)
from tegula.jit import JITFunction, KernelInterface
from tegula.lazy import tuning, tuning_report


class Autotuner(KernelInterface):
    """What ``@autotune`` makes.

    ``cache`` maps keys to configs, ``best_config`` is the last one used.

    >>> @tegula.autotune([tegula.Config({"N": 64}, num_warps=2)], key=[])
    ... @tegula.jit
    ... def fill(x_ptr, N: tl.constexpr):
    ...     tl.store(x_ptr + tl.arange(0, N), 1.0)
    >>> x = np.zeros(64, np.float32)
    >>> done = fill[(1,)](x)
    >>> isinstance(fill, tegula.Autotuner), str(fill.best_config)
    (True, 'N: 64, num_warps: 2, num_ctas: 1, num_stages: 3, maxnreg: None')
    """

    def __init__(
        self,
        fn: Any,
        arg_names: Sequence[str],
        configs: Sequence[Config] | None,
        key: Sequence[str],
        reset_to_zero: Sequence[str] | None,
        restore_value: Sequence[str] | None,
        pre_hook: Callable[..., Any] | None = None,
        post_hook: Callable[..., Any] | None = None,
        prune_configs_by: dict[str, Any] | None = None,
        warmup: int | None = None,
        rep: int | None = None,
        use_cuda_graph: bool = False,
        do_bench: Callable[..., Any] | None = None,
        cache_results: bool = False,
    ) -> None:
        self.fn = fn
        self.base_fn = fn  # the Python function, and the kernel that it is
        while not isinstance(self.base_fn, types.FunctionType):
            self._kernel, self.base_fn = self.base_fn, self.base_fn.fn
        self.arg_names = list(arg_names)
        if isinstance(configs, Config):
            raise TypeError("configs is a list: autotune([Config(..)], key=[..])")
        self._has_configs = bool(configs)
        self.configs = list(configs or [Config({})])
        for config in self.configs:
            if not hasattr(config, "all_kwargs"):
                text = f"configs holds Config(kwargs, num_warps=..), not {config!r}"
                raise TypeError(text)
        self.configs = checks.without_amd(self.configs, self.arg_names)
        kept = [] if prune_configs_by else self.configs  # it may drop the wrong ones
        self._misnamed = checks.misnamed_config(kept, self.base_fn, arg_names)
        self.keys = self._checked_key(key)
        self.cache: dict[tuple[Any, ...], Config] = {}
        # What a launch looks up: (key of cache, config) by values and types of arguments.
        self._seen: dict[Any, tuple[tuple[Any, ...], Config]] = {}
        # The names in the key and their positions, -1 for no parameter.
        self._placed: tuple[tuple[str, ...], tuple[int, ...]] = ((), ())
        self.best_config: Config | None = None
        self.nargs: dict[str, Any] | None = None
        self.bench_time: float | None = None
        self.configs_timings: dict[Config, Any] | None = None
        # While configurations are timed: why some were not.
        self._failed: dict[Config, Exception] | None = None
        self._is_first_look = False
        self._told_in_place = False
        # By machine and texts of the key; what was loaded decides, what was measured tells.
        self._loaded: dict[tuple[str, ...], tuning.Record] = {}
        self._measured: dict[tuple[str, ...], tuning.Record] = {}
        self._latest: tuning.Record | None = None
        self.cache_results = cache_results or knobs.autotuning.cache
        self.reset_to_zero = list(reset_to_zero or ())
        self.restore_value = list(restore_value or ())
        self.restore_copies: dict[str, Any] = {}
        self.user_defined_pre_hook = pre_hook is not None
        self.user_defined_post_hook = post_hook is not None
        self.pre_hook = pre_hook or self._default_pre_hook
        self.post_hook = post_hook or self._default_post_hook
        prune = prune_configs_by or {}
        checks.check_prune(prune)
        self.perf_model = prune.get("perf_model")
        self.configs_top_k = prune.get("top_k", 1.0)
        self.early_config_prune = prune.get("early_config_prune")
        if warmup is not None or rep is not None or use_cuda_graph:
            warnings.warn(
                "autotune(warmup=, rep=, use_cuda_graph=) are deprecated: pass do_bench",
                DeprecationWarning,
                stacklevel=3,
            )
        self.num_warmups = 25 if warmup is None else warmup
        self.num_reps = 100 if rep is None else rep
        self._has_rep = rep is not None
        self.use_cuda_graph = use_cuda_graph
        self.do_bench = do_bench or self._default_bench
        self._results: str | None = None  # of results=, which Triton's class has not

    def _checked_key(self, key: Sequence[str]) -> list[str]:
        """A name that is no parameter never chooses anew. Triton is silent, so what was
        written for it, and runs because we stand in its place, is only warned of."""
        if isinstance(key, str):
            raise TypeError(f"@autotune: key is a list of names: key=[{key!r}]")
        if key is None:
            raise TypeError("@autotune: key is a list of names; key=[] tunes once")
        for name in key:
            if name not in self.arg_names:
                what = checks.no_parameter(name, self.base_fn, self.arg_names)
                text = f"@autotune: key {what}"
                if not hasattr(sys.modules.get("triton"), "__tegula_version__"):
                    raise ValueError(text)
                warnings.warn(text, UserWarning, stacklevel=4)
        return list(key)

    # --- measuring ---------------------------------------------------------------------
    def _default_bench(
        self, call: Callable[[], Any], quantiles: Sequence[float]
    ) -> Any:
        from tegula import testing

        device = (
            tuning.device_of((self.nargs or {}).values()) or testing.default_device()
        )
        if device == "cpu":
            return tuning.bench_warm(
                call, quantiles, self.num_reps if self._has_rep else 20
            )
        if self.use_cuda_graph:
            return testing.do_bench_cudagraph(
                call, rep=self.num_reps, quantiles=quantiles
            )
        # The finalists are timed again, in turn; a first look need not be long.
        part = 4 if self._is_first_look and not self._has_rep else 1
        return testing.do_bench(
            call,
            warmup=self.num_warmups / part,
            rep=self.num_reps / part,
            quantiles=quantiles,
            device=device,
        )

    def _default_pre_hook(self, args: dict[str, Any], reset_only: bool = False) -> None:
        tuning.check_tensors(self, args)
        for name in self.reset_to_zero:
            if args[name] is not None:
                tuning.fill_zero(args[name])
        if not reset_only:
            self.restore_copies = {
                name: tuning.clone(args[name])
                for name in self.restore_value
                if args[name] is not None
            }

    def _default_post_hook(
        self, args: dict[str, Any], exception: BaseException | None = None
    ) -> None:
        for name, kept in self.restore_copies.items():
            tuning.copy_into(args[name], kept)
        self.restore_copies = {}

    @staticmethod
    def _refuse_given(
        kwargs: dict[str, Any], chosen: dict[str, Any], error: type[Exception]
    ) -> None:
        clash = ", ".join(sorted(kwargs.keys() & chosen.keys()))
        if clash:
            raise error(f"{clash}: given at the launch and by @autotune")

    def _bench(self, *args: Any, config: Config, **kwargs: Any) -> list[float]:
        """Milliseconds of a launch with config: median, 0.2 and 0.8 quantile.

        Classes of libraries that are derived from this one call it with these names.
        """
        self._refuse_given(kwargs, config.kwargs, ValueError)
        current = kwargs | config.all_kwargs()
        full = {**(self.nargs or {}), **current}

        def call() -> None:
            if config.pre_hook:
                config.pre_hook(full)
            self.pre_hook(full)
            try:
                self.fn.run(*args, **current)
            except Exception as e:
                try:
                    self.post_hook(full, exception=e)
                finally:
                    raise
            self.post_hook(full, exception=None)

        try:
            return list(self.do_bench(call, quantiles=(0.5, 0.2, 0.8)))
        except (OutOfResources, CompileTimeAssertionFailure, PTXASError) as e:
            if knobs.autotuning.print:
                print(f"autotuning {self.base_fn.__name__}: {config}: {e}")
            if self._failed is not None:
                self._failed[config] = e
            return [float("inf")] * 3
        except CompileError as e:
            if self._failed is None:
                raise
            self._failed[config] = e
            return [float("inf")] * 3

    def _compile_ahead(
        self, configs: list[Config], args: Any, kwargs: Any
    ) -> dict[Config, Any]:
        """Compiles the variants of all configs at the same time, before they are timed.

        Only of plain kernels, and not where somebody watches compiles: they come in the
        order of the configs, from the thread that launches.
        """
        watched = (
            knobs.runtime.jit_cache_hook
            or knobs.runtime.jit_post_compile_hook
            or knobs.runtime.add_stages_inspection_hook
            or knobs.compilation.listener
        )
        if type(self.fn) is not JITFunction or watched or knobs.runtime.interpret:
            return {}
        calls = []
        for config in configs:
            mine = [tuning.own_descriptor(x) for x in args]
            named = {k: tuning.own_descriptor(x) for k, x in kwargs.items()}
            named |= config.all_kwargs()
            # A hook sets the blocks of descriptors; what else it does is not for now.
            given = [*args, *kwargs.values()]
            if config.pre_hook and any(map(tuning.is_descriptor, given)):
                config.pre_hook(
                    {**dict(zip(self.arg_names, mine, strict=False)), **named}
                )
            named.pop("warmup", None)
            calls.append(partial(self.fn.prepare, *mine, **named))
        made = zip(configs, tuning.compile_together(calls), strict=True)
        return {c: v for c, v in made if hasattr(v, "asm")}

    def _tune(
        self, key: tuple[Any, ...], configs: list[Config], args: Any, kwargs: Any
    ) -> Config:
        """Measures what no record knows yet; the fastest of all."""
        start = time.perf_counter()
        record = self._record(key, configs)
        known = {tuning.identity(r["config"]): r for r in record["rows"]}
        new = [c for c in configs if tuning.identity(c) not in known]
        variants = self._compile_ahead(new, args, kwargs)
        self._warn_in_place(configs, variants)
        if knobs.autotuning.deterministic:
            self.configs_timings, self.bench_time = {}, 0.0
            return self._first_that_compiles(configs, args, kwargs)
        twins = tuning.twins(new, variants)
        timings: dict[Config, list[float]] = {}
        for c in configs:
            row = known.get(tuning.identity(c))
            if row:
                timings[c] = row["ms"] or [float("inf")] * 3
        failed: dict[Config, Exception] = {}
        self._failed = failed
        shown = tuning_report.Progress(self.base_fn.__name__, len(configs))
        try:
            self._is_first_look = True
            for c in new:
                shown.say(len(timings), tuning.best_so_far(timings))
                if c not in twins:
                    timings[c] = self._bench(*args, config=c, **kwargs)
            self._is_first_look = False
            self._time_finalists(timings, args, kwargs)
        finally:
            self._failed, self._is_first_look = None, False
            shown.close()
        for c, twin in twins.items():
            timings[c] = timings[twin]
        self._tell_failed(failed, len(configs))
        timings = {c: timings[c] for c in configs}  # in their order
        best = builtins.min(timings, key=lambda c: timings[c])
        self.bench_time = time.perf_counter() - start
        self.configs_timings = timings
        self.pre_hook(
            {**(self.nargs or {}), **kwargs, **best.all_kwargs()}, reset_only=True
        )
        if timings[best][0] == float("inf"):
            raise AutotunerError(
                f"no configuration of {self.base_fn.__name__} can be compiled for "
                f"{key}: TEGULA_PRINT_AUTOTUNING=1 says why"
            )
        for c in configs:
            row = known.setdefault(
                tuning.identity(c), {"config": c.all_kwargs(), "why": ""}
            )
            row["ms"] = None if timings[c][0] == float("inf") else list(timings[c])
            if c in twins:
                row["why"] = tuning.same_as(c, twins[c])
            elif c in failed:
                row["why"] = str(failed[c])
            row |= tuning.numbers_of(variants.get(c))
        record |= {"rows": list(known.values()), "seconds": self.bench_time}
        named = {**(self.nargs or {}), **kwargs, **best.all_kwargs()}
        record["work"] = tuning.work_of(self._kernel, variants.get(best), named)
        self._measured[self._place(key)] = record
        return best

    def _time_finalists(
        self, timings: dict[Config, list[float]], args: Any, kwargs: Any
    ) -> None:
        """The few that noise may have put in the wrong order, twice more and in turn.

        A clock of the caller's is asked once for each configuration.
        """
        if self.do_bench != self._default_bench or not timings:
            return
        order = sorted(timings, key=lambda c: timings[c])
        ms, _, high = timings[order[0]]
        limit = max(high, 1.1 * ms)
        finalists = [c for c in order[:4] if timings[c][1] <= limit < float("inf")]
        if len(finalists) < 2:
            return
        rounds = [[self._bench(*args, config=c, **kwargs) for c in finalists]]
        rounds += [[self._bench(*args, config=c, **kwargs) for c in finalists]]
        for i, c in enumerate(finalists):
            timings[c] = tuning.quantiles_of([timings[c], rounds[0][i], rounds[1][i]])

    def _warn_in_place(
        self, configs: list[Config], variants: dict[Config, Any]
    ) -> None:
        """Tuning runs a kernel many times: what it reads and writes does not stay."""
        own_hooks = self.user_defined_pre_hook or self.user_defined_post_hook
        own_hooks = own_hooks or any(c.pre_hook for c in configs)
        if own_hooks or self._told_in_place or knobs.autotuning.deterministic:
            return
        safe = {*self.reset_to_zero, *self.restore_value}
        for variant in list(variants.values())[:1]:
            names = tuning.in_place(self._kernel.arg_names, variant)
            names = [n for n in names if n not in safe]
            if names:
                self._told_in_place = True
                warnings.warn(
                    f"{self.base_fn.__name__}() reads and writes "
                    f"{', '.join(map(repr, names))}, and autotuning runs it many times: "
                    f"@autotune(.., restore_value={names}), or reset_to_zero",
                    UserWarning,
                    stacklevel=checks.users_level(),
                )

    def _first_that_compiles(
        self, configs: list[Config], args: Any, kwargs: Any
    ) -> Config:
        error: CompileError | OutOfResources | PTXASError | None = None
        for c in configs:
            try:
                self.fn.run(*args, **{**kwargs, "warmup": True}, **c.all_kwargs())
                return c
            except (CompileError, OutOfResources, PTXASError) as e:
                error = error or e
        raise error or AutotunerError("there is no configuration")

    def _tell_failed(self, failed: dict[Config, Exception], n: int) -> None:
        """Of all configurations: a mistake in the kernel. Of some: they are left out.

        What does not fit a machine, or its own assertion, is left out without a word.
        """
        expected = (OutOfResources, CompileTimeAssertionFailure, PTXASError)
        told = {c: e for c, e in failed.items() if not isinstance(e, expected)}
        if told and len(told) == n:
            raise next(iter(told.values()))
        for config, error in told.items():
            warnings.warn(
                f"@autotune of {self.base_fn.__name__}() leaves out {config}: {error}",
                UserWarning,
                stacklevel=checks.users_level(),
            )

    # --- choosing ----------------------------------------------------------------------
    def prune_configs(self, kwargs: dict[str, Any]) -> list[Config]:
        configs = self.configs
        if self.early_config_prune:
            prune = self.early_config_prune
            configs = checks.prune_early(prune, configs, self.nargs, kwargs)
            if not configs:
                raise AutotunerError("early_config_prune left no configuration")
        if self.perf_model:
            top_k = self.configs_top_k
            if isinstance(top_k, float) and top_k <= 1.0:
                top_k = int(len(self.configs) * top_k)
            elif not isinstance(top_k, int):
                raise TypeError(f"top_k must be an int or a fraction, not {top_k!r}")
            if len(configs) > top_k:
                est = {
                    c: self.perf_model(
                        **{**(self.nargs or {}), **kwargs, **c.all_kwargs()}
                    )
                    for c in configs
                }
                configs = sorted(configs, key=lambda c: est[c])[: max(1, top_k)]
        return configs

    def _key(self, kwargs: dict[str, Any]) -> tuple[Any, ...]:
        named = {**(self.nargs or {}), **kwargs}
        values = {k: v for k, v in named.items() if k in self.arg_names}
        key = [values[k] for k in self.keys if k in values]
        key += [str(v.dtype) for v in values.values() if hasattr(v, "dtype")]
        return tuple(key)

    def _choose(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Config:
        """The config for these arguments; measured where it is not known."""
        keys = tuple(self.keys)
        if keys != self._placed[0]:
            names = self.arg_names
            places = [names.index(k) if k in names else -1 for k in keys]
            self._placed = keys, tuple(places)
        # What _key depends on, and cheaper: the types are no texts yet.
        fingerprint = _core.fingerprint(args, kwargs, *self._placed)
        try:
            key, config = self._seen[fingerprint]
            if self.cache.get(key) is config:
                return config
        except KeyError:
            pass
        except TypeError:  # NumPy's arrays have no hash
            checks.check_tensor_key(
                keys, zip(self.arg_names, args, strict=False), kwargs, True
            )
            raise
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        key = self._key(kwargs)
        if key not in self.cache:
            checks.check_tensor_key(keys, self.nargs.items(), kwargs, False)
            configs = self.prune_configs(kwargs)
            kept = self._from_disk(key, configs)
            self.cache[key] = kept or self._tuned(key, configs, args, kwargs)
            self._latest = self._measured.get(self._place(key))
            if knobs.autotuning.listener:
                knobs.autotuning.listener(
                    fn=self._kernel,
                    key=key,
                    best_config=self.cache[key],
                    configs_timings=self.configs_timings,
                    duration=None if kept else self.bench_time,
                    cache_hit=kept is not None,
                )
            if knobs.autotuning.print:
                how = "from disk" if kept else self._lead(self.cache[key])
                print(
                    f"autotuning {self.base_fn.__name__} for {key}: {self.cache[key]} "
                    f"({how})"
                )
        if len(self._seen) > 4096:  # arguments that never come again
            self._seen.clear()
        self._seen[fingerprint] = key, self.cache[key]
        return self.cache[key]

    def _lead(self, best: Config) -> str:
        """What measuring took, and by how much the winner won."""
        times = sorted(t[0] for t in (self.configs_timings or {}).values())
        text = f"{self.bench_time or 0.0:.2f} s"
        if len(times) < 2 or not 0 < times[0] <= times[1] < float("inf"):
            return text
        return (
            f"{text}, {times[0]:.4g} ms, the next {times[1] / times[0] - 1:.0%} slower"
        )

    def check_disk_cache(
        self, tuning_key: Any, configs: list[Config], bench_fn: Callable[[], Any]
    ) -> bool:
        """For classes derived from this one: the config for tuning_key from the disk into
        ``cache``, else from bench_fn(), which puts it there. True: it was on the disk."""
        kept = self._from_disk(tuning_key, configs) if tuning_key else None
        if kept:
            self.cache[tuning_key] = kept
            return True
        bench_fn()
        if tuning_key in self.cache:
            self._keep(tuning_key, configs, self.cache[tuning_key])
        return False

    def run(self, *args: Any, **kwargs: Any) -> Any:
        checks.refuse(self._misnamed)
        config = (
            self._choose(args, kwargs) if len(self.configs) > 1 else self.configs[0]
        )
        self.best_config = config
        chosen = config.all_kwargs()
        if not kwargs.keys().isdisjoint(chosen):
            self._refuse_given(kwargs, chosen, TypeError)
        if config.pre_hook:
            self.nargs = dict(zip(self.arg_names, args, strict=False))
            config.pre_hook({**self.nargs, **kwargs, **chosen})
        try:
            result = self.fn.run(*args, **kwargs, **chosen)
        except TypeError as e:
            if not self._has_configs:
                e.add_note(f"@autotune of {self.base_fn.__name__}() has no configs")
            raise
        self.nargs = None
        return result

    def warmup(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Compile every configuration that is left after pruning."""
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        compiled = [
            self.fn.warmup(*args, **kwargs, **c.all_kwargs())
            for c in self.prune_configs(kwargs)
        ]
        self.nargs = None
        return compiled

    # --- keeping -----------------------------------------------------------------------
    def _machine(self) -> str:
        """Whose times these are: of a GPU, of an emulator, of a CPU."""
        if tuning.device_of((self.nargs or {}).values()) == "cuda":
            return tuning.device_name()
        return knobs.runtime.target or "cpu"

    def _place(self, key: tuple[Any, ...]) -> tuple[str, ...]:
        return (self._machine(), *map(str, key))

    def _record(self, key: tuple[Any, ...], configs: list[Config]) -> tuning.Record:
        """What is known for key: of this process, else of the disk, else nothing."""
        path = self._path(key, configs)
        record = self._measured.get(self._place(key))
        record = record or (tuning.read_record(path) if path else None)
        return record or {
            "kernel": self.base_fn.__name__,
            "machine": self._machine(),
            "key": [str(k) for k in key],
            "pinned": None,
            "rows": [],
        }

    def _tuned(self, key: Any, configs: list[Config], args: Any, kwargs: Any) -> Config:
        best = self._tune(key, configs, args, kwargs)
        self._keep(key, configs, best)
        return best

    def _keep(self, key: Any, configs: list[Config], best: Config) -> None:
        """A disk that refuses is no reason to fail."""
        path = self._path(key, configs)
        record = self._measured.get(self._place(key))
        if path and record is None and self.configs_timings and best in configs:
            # A class derived from this one has measured by itself.
            timed = self.configs_timings.items()
            rows = [
                {"config": c.all_kwargs(), "ms": list(t), "why": ""} for c, t in timed
            ]
            record = {**self._record(key, configs), "rows": rows}
        if path and record:
            try:
                tuning.write_json(path, record)
            except OSError:
                pass

    def _path(self, key: Any, configs: list[Config]) -> str | None:
        """Where the result is kept; None when it cannot be: hooks have no name."""
        if not self.cache_results or not key or not knobs.cache.dir:
            return None
        if any(c.pre_hook for c in configs):
            return None
        parts = [self._kernel.cache_key, *self._place(key)]
        return tuning.path_of(knobs.cache.dir, self.base_fn.__name__, parts)

    def _from_disk(self, key: Any, configs: list[Config]) -> Config | None:
        place = self._place(key)
        record = self._loaded.get(place)
        if record:
            best = tuning.fastest(record)
            self._measured.setdefault(place, record)
            return tuning.config_of(best, configs) if best else None
        path = self._path(key, configs)
        record = tuning.read_record(path) if path else None
        if not record:
            return None
        best_of_all = tuning.decided(record, configs)
        if best_of_all:
            self._measured[place] = record
        return best_of_all

    # --- showing -----------------------------------------------------------------------
    def report(self) -> tuning_report.Report:
        """The table of the configurations that the latest choice was made of.

        RuntimeError where nothing was measured yet.
        """
        if self._latest is None:
            raise RuntimeError(f"{self.base_fn.__name__} has not been tuned yet")
        return tuning_report.Report(self._latest)

    def _repr_html_(self) -> str | None:
        return tuning_report.Report(self._latest).html() if self._latest else None

    def save(self, path: str | None = None) -> None:
        """Writes all results of this process to a file, for ``load`` and ``results=``.

        path is the file of ``results=`` where it is None.
        """
        path = path or self._results
        if not path:
            raise TypeError("save(path), or @autotune(.., results=path)")
        records = {**self._loaded, **self._measured}
        tuning.write_json(path, {"results": list(records.values())})

    def load(self, path: str) -> None:
        """Takes the results of a file: their keys are not measured on such a machine.

        Errors: OSError where there is no such file, ValueError where it holds no results.
        """
        for record in tuning.read_results(path):
            if record["kernel"] == self.base_fn.__name__:
                self._loaded[record["machine"], *record["key"]] = record
        self.cache.clear()


class Heuristics(KernelInterface):
    """What ``@heuristics`` makes.

    >>> @tegula.heuristics({"N": lambda args: 2 * args["n"]})
    ... @tegula.jit
    ... def fill(x_ptr, n, N: tl.constexpr):
    ...     tl.store(x_ptr + tl.arange(0, N), n)
    >>> x = np.zeros(4, np.float32)
    >>> done = fill[(1,)](x, 2)
    >>> isinstance(fill, tegula.Heuristics), x.tolist()
    (True, [2.0, 2.0, 2.0, 2.0])
    """

    def __init__(
        self, fn: Any, arg_names: Sequence[str], values: dict[str, Callable[..., Any]]
    ) -> None:
        self.fn = fn
        self.arg_names = list(arg_names)
        if not hasattr(values, "items"):
            raise TypeError(
                "heuristics takes a dict of functions, {name: lambda args: ..}, "
                f"not {values!r}"
            )
        self._misnamed = checks.misnamed("@heuristics", values, fn, self.arg_names)
        for name, compute in values.items():
            if not callable(compute):
                raise TypeError(
                    f"the heuristic {name!r} must be a function of the dict of "
                    f"arguments, lambda args: .., not {compute!r}"
                )
        self.values = values

    def run(self, *args: Any, **kwargs: Any) -> Any:
        checks.refuse(self._misnamed)
        named = dict(zip(self.arg_names, args, strict=False))
        named.update(kwargs)
        for name, compute in self.values.items():
            try:
                named[name] = kwargs[name] = compute(named)
            except (TypeError, KeyError, AttributeError) as e:
                given = ", ".join(n for n in self.arg_names if n in named)
                e.add_note(
                    f"the heuristic {name!r} is a function of a dict, lambda args: .., "
                    f"of the arguments that this launch has: {given}"
                )
                raise
        return self.fn.run(*args, **kwargs)


@checks.names_its_options
def autotune(
    configs: Sequence[Config],
    key: Sequence[str],
    prune_configs_by: dict[str, Any] | None = None,
    reset_to_zero: Sequence[str] | None = None,
    restore_value: Sequence[str] | None = None,
    pre_hook: Callable[..., Any] | None = None,
    post_hook: Callable[..., Any] | None = None,
    warmup: int | None = None,
    rep: int | None = None,
    use_cuda_graph: bool = False,
    do_bench: Callable[..., Any] | None = None,
    cache_results: bool = False,
    results: str | None = None,
) -> Callable[[Any], Autotuner]:
    """Try configurations at the first launch with new values of ``key``; keep the fastest.

    configs            what to try; with one alone nothing is measured
    key                names of arguments whose values choose anew, as tensors' types do
    prune_configs_by   {"early_config_prune": f, "perf_model": f, "top_k": n}
    reset_to_zero      arguments zeroed before every measured run
    restore_value      arguments put back after every measured run; a kernel that reads what
                       it writes is run thousands of times on it otherwise
    pre_hook, post_hook  replace both: (args, reset_only=False), (args, exception=None)
    do_bench(call, quantiles=...)   the clock; milliseconds
    cache_results      keep each configuration's time on disk: one that is added is timed
                       alone
    results            a file of ``tuned.save()``: its keys are not measured, as far as it
                       is there

    Configurations that make the same code are timed once (on a CPU num_warps means
    nothing), the best few again in turn. ``tuned.report()`` is a table.

    Cost:   a compile and some milliseconds of runs for each config and key.
    Errors: ValueError for a key that is no parameter (a warning where this stands in the
            place of Triton). AutotunerError where pruning leaves no config. A config
            that does not compile is left out with a warning; where none does, its error
            is raised.
    See:    TEGULA_PRINT_AUTOTUNING=1, TEGULA_CACHE_AUTOTUNING=1, python -m tegula tune;
            TEGULA_DETERMINISTIC_AUTOTUNING=1 takes the first that compiles.

    >>> @tegula.autotune([tegula.Config({"BLOCK": 8})], key=["n"])
    ... @tegula.jit
    ... def fill(x_ptr, n, BLOCK: tl.constexpr):
    ...     i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ...     tl.store(x_ptr + i, i, mask=i < n)
    >>> x = np.zeros(5, np.float32)
    >>> done = fill[lambda meta: (tegula.cdiv(5, meta["BLOCK"]),)](x, 5)
    >>> x.tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """

    def decorator(fn: Any) -> Autotuner:
        checks.check_kernel(fn, "autotune")
        tuner = Autotuner(
            fn,
            fn.arg_names,
            configs,
            key,
            reset_to_zero,
            restore_value,
            pre_hook=pre_hook,
            post_hook=post_hook,
            prune_configs_by=prune_configs_by,
            warmup=warmup,
            rep=rep,
            use_cuda_graph=use_cuda_graph,
            do_bench=do_bench,
            cache_results=cache_results,
        )
        tuner._results = results
        if results and os.path.exists(results):
            tuner.load(results)
        return tuner

    return decorator


def heuristics(values: dict[str, Callable[..., Any]]) -> Callable[[Any], Heuristics]:
    """Compute arguments from others: ``{name: f(args)}``.

    They run in order, each seeing the ones before it. What a heuristic gives replaces what
    the caller gave.

    >>> @tegula.heuristics({"EVEN": lambda args: args["n"] % 4 == 0})
    ... @tegula.jit
    ... def even(x_ptr, n, EVEN: tl.constexpr):
    ...     tl.store(x_ptr, 1.0 if EVEN else 2.0)
    >>> x = np.zeros(1, np.float32)
    >>> done = even[(1,)](x, 7)
    >>> x.tolist()
    [2.0]
    """

    def decorator(fn: Any) -> Heuristics:
        checks.check_kernel(fn, "heuristics")
        return Heuristics(fn, fn.arg_names, values)

    return decorator


def __getattr__(name: str) -> Any:
    from tegula.compat.later import find

    return find(__name__, name)
