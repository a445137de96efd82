"""What ``@autotune`` asks of tensors of any framework, of the clock and of the disk."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tegula import _core
from tegula.configs import Config

Record = dict[str, Any]


def check_tensors(tuner: Any, args: dict[str, Any]) -> None:
    """What reset_to_zero and restore_value name must be there, with elements to write."""
    for option in ("reset_to_zero", "restore_value"):
        for name in getattr(tuner, option):
            what = f"{option} names {name!r}, which is no"
            if name not in args:
                named = ", ".join(tuner.arg_names)
                raise KeyError(
                    f"{what} parameter of {tuner.base_fn.__name__}(): {named}"
                )
            x = args[name]
            writes = ("zero_", "copy_", "__setitem__")
            if x is not None and not any(hasattr(x, w) for w in writes):
                raise TypeError(f"{what} tensor: {x!r}")


def fill_zero(x: Any) -> None:
    if hasattr(x, "zero_"):
        x.zero_()
    else:
        x[...] = 0


def clone(x: Any) -> Any:
    return x.clone() if hasattr(x, "clone") else x.copy()


def copy_into(x: Any, copy: Any) -> None:
    if hasattr(x, "copy_"):
        x.copy_(copy)
    else:
        x[...] = copy


def is_descriptor(x: Any) -> bool:
    return getattr(x, "__tegula_descriptor__", False) is True


def own_descriptor(x: Any) -> Any:
    """x, which a hook may change for one configuration: a descriptor is copied."""
    if not is_descriptor(x):
        return x
    import copy

    return copy.copy(x)


def compile_together(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """What the calls give that compile, one a core; None where one fails.

    Frontend apart they hold no lock of Python's. What fails is not told here: it fails
    again where it is launched.
    """
    from concurrent.futures import ThreadPoolExecutor

    if not calls:
        return []
    with ThreadPoolExecutor(
        min(len(calls), os.cpu_count() or 1), "tegula-tune"
    ) as pool:
        futures = [pool.submit(call) for call in calls]
        return [None if f.exception() else f.result() for f in futures]


def code_of(variant: Any) -> Any:
    """What a launch of variant runs: equal for variants that differ in name alone."""
    stages = variant.asm
    if "obj" in stages:  # on a CPU warps and stages are nothing
        return stages["obj"]
    facts = variant.metadata
    return facts.num_warps, facts.num_ctas, facts.shared, stages.get("ptx")


def numbers_of(variant: Any) -> dict[str, Any]:
    """Registers, spills and shared memory, where the machine has them."""
    if variant is None or not variant.target.startswith("cuda"):
        return {}
    return {
        "registers": variant.n_regs,
        "spills": variant.n_spills,
        "shared": variant.metadata.shared,
    }


def twins(
    configs: Sequence[Config], variants: dict[Config, Any]
) -> dict[Config, Config]:
    """Configurations whose code an earlier one has: timed once.

    A grid depends on the kernel's parameters, so those are the same as well.
    """
    first: dict[Any, Config] = {}
    found = {}
    for c in configs:
        if c in variants and not c.pre_hook:
            same = first.setdefault((repr(c.kwargs), code_of(variants[c])), c)
            if same is not c:
                found[c] = same
    return found


def same_as(config: Config, twin: Config) -> str:
    from tegula.tuning_report import settings

    own, other = config.all_kwargs(), twin.all_kwargs()
    apart = settings({k: v for k, v in other.items() if own.get(k) != v})
    return f"the same code as with {apart}"


def in_place(names: Sequence[str], variant: Any) -> list[str]:
    """The parameters that variant both loads and stores through."""
    found = [
        names[at]
        for at, _, _, is_written, is_read in variant._params
        if is_written and is_read and at < len(names)
    ]
    return list(dict.fromkeys(found))


def best_so_far(timings: dict[Config, list[float]]) -> str:
    best = min(timings, key=lambda c: timings[c], default=None)
    if best is None or timings[best][0] == float("inf"):
        return ""
    return f"{timings[best][0]:.4g} ms ({best})"


def work_of(kernel: Any, variant: Any, named: dict[str, Any]) -> dict[str, float]:
    """{"flops": n} or {"bytes": n} of a launch, as @jit(launch_metadata=) says or we count.

    named are the arguments of the launch, and its grid.
    """
    describe = getattr(kernel, "launch_metadata", None)
    grid = named.get("grid")
    if variant is None or grid is None:
        return {}
    if describe is None:
        counted = variant._traffic()
        if (
            not counted or counted["is_bound"]
        ):  # a loop's length is in memory: nobody knows
            return {}
        flops = counted["dot_flops"]
        return {"flops": flops} if flops else {"bytes": counted["touched"]}
    shape = tuple(grid(named) if callable(grid) else grid)
    arguments = {k: v for k, v in named.items() if k in kernel.arg_names}
    said = describe((*shape, 1, 1)[:3], variant.metadata, arguments)
    return {
        kind: sum(v for k, v in said.items() if k.startswith(kind))
        for kind in ("flops", "bytes")
        if any(k.startswith(kind) for k in said)
    }


def quantiles_of(rounds: Sequence[Sequence[float]]) -> list[float]:
    """Of each quantile the median of all rounds."""
    import statistics

    return [statistics.median(times) for times in zip(*rounds, strict=True)]


def bench_warm(
    call: Callable[[], Any], quantiles: Sequence[float], rep: float
) -> list[float]:
    """Milliseconds of call() on the CPU, caches warm.

    do_bench drives 256 MB through the caches ahead of each run. On a CPU that takes longer
    than most kernels, and a library may bring hundreds of configurations: here rep
    milliseconds, or three runs, are all that one costs.
    """
    from tegula.testing import quantile

    call()
    times: list[float] = []
    end = time.perf_counter() + rep / 1e3
    while len(times) < 3 or (time.perf_counter() < end and len(times) < 1000):
        start = time.perf_counter_ns()
        call()
        times.append((time.perf_counter_ns() - start) / 1e6)
    times.sort()
    return [quantile(times, q) for q in quantiles]


def device_of(args: Iterable[Any]) -> str | None:
    """ "cuda" or "cpu": where the tensors are. None: there are none."""
    for x in args:
        base = getattr(x, "base", None) if hasattr(x, "block_shape") else x
        device = getattr(base, "device", None)
        if device is not None:
            kind = getattr(device, "type", None) or str(device)
            return "cpu" if kind == "cpu" else "cuda"
    return None


def device_name() -> str:
    try:
        return ",".join(d["name"] for d in _core.cuda_devices())
    except RuntimeError:
        return ""


# --- records: tuning_report.py says what they are ---------------------------------------
def identity(config: Any) -> str:
    """What tells configurations apart in a record: Config or what one said."""
    import json

    given = config if isinstance(config, dict) else config.all_kwargs()
    return json.dumps(given, default=str, sort_keys=True)


def config_of(given: dict[str, Any], configs: Sequence[Config]) -> Config:
    """The one of configs that said this, else one that says it."""
    wanted = identity(given)
    for config in configs:
        if identity(config) == wanted:
            return config
    names = ("num_warps", "num_stages", "num_ctas", "maxnreg", "ir_override")
    options = {k: given[k] for k in names if k in given}
    return Config({k: v for k, v in given.items() if k not in names}, **options)


def fastest(record: Record) -> dict[str, Any] | None:
    """What the pinned or the fastest configuration says."""
    if record.get("pinned"):
        return dict(record["pinned"])
    timed = [r for r in record["rows"] if r["ms"]]
    return min(timed, key=lambda r: r["ms"][0])["config"] if timed else None


def decided(record: Record, configs: Sequence[Config]) -> Config | None:
    """What the record chooses of configs; None where it does not know all of them."""
    if record.get("pinned"):
        return config_of(record["pinned"], configs)
    rows = {identity(r["config"]): r for r in record["rows"]}
    if not all(identity(c) in rows for c in configs):
        return None
    timed = [c for c in configs if rows[identity(c)]["ms"]]
    return min(timed, key=lambda c: rows[identity(c)]["ms"][0], default=None)


def checked(record: Any) -> Record:
    """record, where it has a record's form; else a ValueError."""
    try:
        for row in record["rows"]:
            ms = row["ms"]
            if ms is not None:
                row["ms"] = [float(t) for t in ms]
                if len(row["ms"]) != 3:
                    raise ValueError
            identity(row["config"]), row["why"] + ""
        return {
            **record,
            "kernel": str(record["kernel"]),
            "machine": str(record["machine"]),
            "key": [str(k) for k in record["key"]],
        }
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ValueError("not a result of autotuning") from None


# --- the disk: one JSON file for each function, machine and key -------------------------
def path_of(cache_dir: str, name: str, parts: list[str]) -> str:
    """The file for a function of that name and what its result depends on."""
    import hashlib
    import json

    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    return os.path.join(cache_dir, "autotune", f"{name}-{digest}.json")


def read_record(path: str) -> Record | None:
    """Any trouble with the disk is a miss."""
    import json

    try:
        with open(path) as f:
            return checked(json.load(f))
    except (OSError, ValueError):
        return None


def write_json(path: str, data: Any) -> None:
    """All of it or nothing. OSError where the disk refuses."""
    import json
    import tempfile

    text = json.dumps(data, default=str, indent=1)
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    fd, tmp = tempfile.mkstemp(dir=folder)
    try:
        with os.fdopen(fd, "w") as f:
            f.write(text + "\n")
        os.replace(tmp, path)
    except BaseException:
        os.unlink(tmp)
        raise


def read_results(path: str) -> list[Record]:
    """A file of ``tuned.save``, or of ``python -m tegula tune export``."""
    import json

    with open(path) as f:
        try:
            return [checked(r) for r in json.load(f)["results"]]
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{path} holds no results of autotuning") from None


def kept(cache_dir: str, name: str | None = None) -> list[str]:
    """The files of results, of kernels of that name alone, the newest last."""
    import glob

    pattern = f"{glob.escape(name) if name else '*'}-" + "?" * 64 + ".json"
    found = glob.glob(os.path.join(glob.escape(cache_dir), "autotune", pattern))
    return sorted(found, key=os.path.getmtime)


def command(action: str, name: str | None, what: str | None = None) -> int:
    """``python -m tegula tune list | show | pin | clear | export [kernel] [what]``."""
    from tegula import knobs
    from tegula.tuning_report import Report, settings

    files = kept(knobs.cache.dir, name) if knobs.cache.dir else []
    found = [(path, read_record(path)) for path in files]
    if action == "clear":
        for path in files:
            os.unlink(path)
        print(f"{len(files)} results removed")
        return 0
    for path, record in found:
        if record is None:
            print(f"{path}: damaged")
    records = [(path, record) for path, record in found if record is not None]
    if action == "pin":
        return pin(records, name, what)
    if action == "export":
        if not what:
            print("export: python -m tegula tune export KERNEL FILE.json")
            return 1
        write_json(what, {"results": [record for _, record in records]})
        print(f"{len(records)} results in {what}")
        return 0
    for _, record in records:
        report = Report(record)
        if action == "show":
            print(report, end="\n\n")
        else:
            print(report.title())
            print(f"    {settings(fastest(record) or {})}  {report.lead()}".rstrip())
    print(f"{len(files)} results")
    return 0


def pin(
    records: Sequence[tuple[str, Record]], name: str | None, what: str | None
) -> int:
    """Makes the configuration that what names the choice of each record; "none": unpins."""
    from tegula.tuning_report import settings

    if not name or not what:
        print("pin: python -m tegula tune pin KERNEL 'BLOCK: 64, num_warps: 4'")
        return 1
    done = 0
    wanted = [part.strip() for part in what.split(",")]
    for path, record in records:
        texts = [
            (settings(r["config"]).split(", "), r["config"]) for r in record["rows"]
        ]
        fits = [c for text, c in texts if set(wanted) <= set(text)]
        if what != "none" and len(fits) != 1:
            print(
                f"{', '.join(record['key'])}: {len(fits)} configurations say {what!r}"
            )
            continue
        record["pinned"] = None if what == "none" else fits[0]
        write_json(path, record)
        done += 1
    print(f"{done} results {'unpinned' if what == 'none' else 'pinned'}")
    return 0 if done or not records else 1
