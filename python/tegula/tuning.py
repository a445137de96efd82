"""What ``@autotune`` asks of tensors of any framework, of the clock and of the disk."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tegula import _core


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


def compile_together(calls: Sequence[Callable[[], Any]]) -> None:
    """Runs calls that compile, one a core; frontend apart they hold no lock of Python's.

    What fails is not told here: it fails again where it is launched.
    """
    n = min(len(calls), os.cpu_count() or 1)
    if n < 2:
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(n, "tegula-tune") as pool:
        for future in [pool.submit(call) for call in calls]:
            future.exception()


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


# --- the disk: one JSON file for each function, key and list of configurations ----------
def path_of(cache_dir: str, name: str, parts: list[str]) -> str:
    """The file for a function of that name and what its result depends on."""
    import hashlib
    import json

    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    return os.path.join(cache_dir, "autotune", f"{name}-{digest}.json")


def kept(cache_dir: str, name: str | None = None) -> list[str]:
    """The files of results, of kernels of that name alone, the newest last."""
    import glob

    pattern = f"{glob.escape(name) if name else '*'}-" + "?" * 64 + ".json"
    found = glob.glob(os.path.join(glob.escape(cache_dir), "autotune", pattern))
    return sorted(found, key=os.path.getmtime)


def command(action: str, name: str | None) -> int:
    """``python -m tegula tune list | show | clear [kernel]``."""
    import json

    from tegula import knobs

    files = kept(knobs.cache.dir, name) if knobs.cache.dir else []
    for path in files:
        kernel = os.path.basename(path)[: -len("-.json") - 64]
        if action == "clear":
            os.unlink(path)
            continue
        try:
            with open(path) as f:
                record = json.load(f)
            rows = sorted(record["timings"], key=lambda row: row[1][0])
            print(f"{kernel} for {', '.join(record['key'])}")
            for config, times in rows if action == "show" else rows[:1]:
                text = ", ".join(f"{k}: {v}" for k, v in config.items())
                print(f"    {times[0]:9.4f} ms  {text}")
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            print(f"{path}: damaged")
    print(f"{len(files)} results{' removed' if action == 'clear' else ''}")
    return 0


def read_best(path: str) -> int | None:
    """Which configuration was the fastest; any trouble with the disk is a miss."""
    import json

    try:
        with open(path) as f:
            best = json.load(f)["best"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return best if isinstance(best, int) and best >= 0 else None


def write_best(path: str, key: Any, best: int, timings: list[Any]) -> None:
    """All of it or nothing; a disk that refuses is no reason to fail."""
    import json
    import tempfile

    record = {"key": [str(k) for k in key], "best": best, "timings": timings}
    text = json.dumps(record, default=str)
    try:
        folder = os.path.dirname(path)
        os.makedirs(folder, exist_ok=True)
        fd, tmp = tempfile.mkstemp(dir=folder)
        with os.fdopen(fd, "w") as f:
            f.write(text)
        os.replace(tmp, path)
    except OSError:
        pass
