"""Random kernels on a real GPU beside the CPU: every byte that a launch may have changed.

    python tests/props/differ.py --seconds 240 --cores 16 --out DIR [--seed 7]
    python tests/props/differ.py 42 71..99      the kernels of these seeds, in this process
    python tests/props/differ.py chains 42      the chains of that seed

Where there is no driver of CUDA, ptxsim:sm_90a stands in for the GPU: each launch is done
again, checked, in other orders of its warps. A seed is a kernel of
maker/, or chains of operations over every value of 16 bits, and how it is launched:
options that say how far the compiler goes, where each array begins, and the bytes around
the arrays, which nobody may write. The arrays of a launch lie in one run of bytes (an
arena), so that a store that goes astray hits another array or a guard, and is seen.

attack.py runs it in a process a core, which may die or hang: the next begins behind the
seed that it died of. DIR gets a file for each kernel that differs or raises, with its seed.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "ptxsim"))
sys.path.insert(0, str(Path(__file__).parent))

import simulated
from maker import Case, Draw, chains, make
from maker.case import elements, storage
from maker.machine import build, differs

import tegula

STAND_IN = "sm_90a"
GUARD = 256  # bytes at least, around each array
ORDERS = 2  # of warps, where the GPU is simulated
LAUNCHES = 3  # on a GPU: what is open there may come out right once


class Place(NamedTuple):
    begin: int
    end: int


class Launch(NamedTuple):
    """Of a case: its bytes, where the arrays are in them, and the GPU's own options."""

    arena: np.ndarray
    places: dict[str, Place]
    options: dict[str, Any]


def made(seed: int) -> Case:
    return make(Draw(seed), large=30)


def chained(seed: int) -> Case:
    """Every value of 16 bits, where a GPU has time for that."""
    return chains(Draw(seed), 65536 if simulated.gpu() else 2048)


MAKERS = {"device": made, "chains": chained}


def launch_of(case: Case, seed: int) -> Launch:
    d = random.Random(f"launch {seed}")
    places, at = {}, GUARD
    # Descriptors start at a multiple of 16 bytes, anything else where it likes.
    words = [0, 0, 16] if "descriptor" in case.text else [0, 0, 16, 1]
    for p in case.params:
        t = storage(p.dtype)
        if p.of:
            places[p.name] = places[p.of]
            continue
        begin = at + (t.itemsize if (shift := d.choice(words)) == 1 else shift)
        places[p.name] = Place(begin, begin + max(p.n, 1) * t.itemsize)
        at = (places[p.name].end // GUARD + 2) * GUARD
    arena = np.random.default_rng(seed).integers(0, 256, at, np.uint8)
    rng = np.random.default_rng(case.seed)
    for p in case.params:
        there = view(arena, places[p.name], p.dtype)
        there[:] = elements(p, rng) if p.role == "in" else 0
    return Launch(arena, places, options_of(case, d))


def options_of(case: Case, d: random.Random) -> dict[str, Any]:
    """How far the compiler goes, which no result may depend on."""
    options: dict[str, Any] = dict(case.options)
    if "tl.dot" in case.text:
        level = d.choice(
            ["", "", "", "3", "3", "3,all", "3,all", "3,turns", "2", "2,1", "1"]
        )
        options |= {"hopper": level} if level else {}
        for name in ("multicast", "persistent"):
            if d.randrange(6) == 0:
                options[name] = d.choice(["0", "1"])
    if options.get("num_ctas", 1) == 1 and d.randrange(8) == 0:
        options["arch"] = d.choice(["sm80", "sm89"])
    if d.randrange(8) == 0:
        options["num_warps"] = d.choice([1, 2, 4, 8, 16])
    if d.randrange(8) == 0:
        options["maxnreg"] = d.choice([32, 48, 64, 128])
    if d.randrange(16) == 0:
        options |= {"debug": True, "sanitize_overflow": False}
    return options


def view(arena: np.ndarray, place: Place, dtype: str) -> np.ndarray:
    return arena[place.begin : place.end].view(storage(dtype))


def launch(run: Any, case: Case, arrays: list[Any], options: dict[str, Any]) -> None:
    grid = (case.grid // case.rows, case.rows)
    numbers = case.n, case.big, case.scale
    there = (p.given(a) for p, a in zip(case.params, arrays, strict=True))
    run(grid, *there, *numbers, **options, enable_fp_fusion=False)


def on_cpu(kernel: Any, case: Case, x: Launch) -> np.ndarray:
    room = np.empty(x.arena.size + GUARD, np.uint8)
    skip = -room.ctypes.data % GUARD
    arena = room[skip : skip + x.arena.size]
    arena[:] = x.arena
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.target = "cpu"
        tegula.knobs.runtime.check_bounds = None if case.seed % 8 == 0 else False
        arrays = [view(arena, x.places[p.name], p.dtype) for p in case.params]
        launch(lambda grid, *a, **o: kernel[grid](*a, **o), case, arrays, case.options)
    return arena


def on_gpu(kernel: Any, case: Case, x: Launch) -> np.ndarray:
    arena = simulated.put(x.arena, STAND_IN)
    arrays = [
        simulated.Tensor(view(arena.array, x.places[p.name], p.dtype), STAND_IN, arena)
        for p in case.params
    ]
    codes: list[Any] = []  # which in_orders() runs again

    def run(grid: Any, *args: Any, **options: Any) -> None:
        codes.append(simulated.launched(kernel, grid, *args, **options))

    launch(run, case, arrays, x.options)
    if not simulated.gpu() and case.options.get("num_ctas", 1) == 1:
        in_orders(arena.array, x)
    return arena.array


def in_orders(arena: np.ndarray, x: Launch) -> None:
    """The launch again, checked as the emulator checks, with its warps in other orders."""
    number, want = simulated.library().ptxsim_keep(0), arena.copy()
    for seed in range(1, ORDERS + 1):
        arena[:] = x.arena
        if why := simulated.again(number, None, seed):
            raise RuntimeError(f"order {seed}: {why}")
        if not np.array_equal(arena, want):
            raise RuntimeError(f"order {seed} gives other bytes")


def difference(case: Case, x: Launch, got: np.ndarray, want: np.ndarray) -> str:
    """What the bytes got are not, beside those of the CPU."""
    is_guard = np.ones(x.arena.size, bool)
    for p in case.params:
        place = x.places[p.name]
        is_guard[slice(*place)] = p.role == "in"  # which nobody may write either
        a, b = (view(arena, place, p.dtype) for arena in (got, want))
        bad = np.flatnonzero(differs(p, a, np.zeros_like(b) if p.role == "zero" else b))
        if len(bad):
            i = bad[0]
            return f"{p.name}[{i}] is {a[i]}, want {b[i]} ({len(bad)} of {p.n} differ)"
    bad = np.flatnonzero(is_guard & (got != x.arena))
    if not len(bad):
        return ""
    near = min(x.places.items(), key=lambda item: abs(item[1].end - bad[0]))
    return f"byte {bad[0]} was written ({len(bad)} in all), near {near}"


def compare(seed: int, kind: str = "device") -> str:
    """ "" is agreement, "skip: .." a kernel too large for the GPU, all else a fault."""
    case = MAKERS[kind](seed)
    x = launch_of(case, seed)
    kernel = build(case, str(seed))
    target = "cpu"
    try:
        want = on_cpu(kernel, case, x)
        said = difference(case, x, want, want)
        target = f"GPU, {x.options}"
        several = simulated.gpu() and kind == "device"
        for _ in range(LAUNCHES if several else 1):
            said = said or difference(case, x, on_gpu(kernel, case, x), want)
    except tegula.OutOfResources as e:
        return f"skip: {e}"
    except Exception as e:
        said = f"{type(e).__name__}: {e}"
        if "egister" in said and "maxnreg" in x.options:  # too few for a product
            return f"skip: {said}"
    return f"{target}: {said}" if said else ""


def by_hand(words: list[str]) -> int:
    n_bad = 0
    kind = words.pop(0) if words[0] in MAKERS else "device"
    for word in words:
        low, _, high = word.partition("..")
        for seed in range(int(low), int(high or low) + 1):
            said = compare(seed, kind)
            if said and not said.startswith("skip"):
                n_bad += 1
                print(f"seed {seed}: {said}\n{MAKERS[kind](seed).dump()}", flush=True)
    print(f"{n_bad} differ")
    return n_bad > 0


if __name__ == "__main__":
    if not simulated.gpu() and not simulated.available():
        sys.exit("differ: neither a GPU nor build/libptxsim.so (`make ptxsim`)")
    if sys.argv[1:] and not sys.argv[1].startswith("-"):
        tegula.knobs.cache.dir = ""
        sys.exit(by_hand(sys.argv[1:]))
    import attack

    print(f"on {'the GPU' if simulated.gpu() else f'ptxsim:{STAND_IN}'}")
    attack.KINDS["promoted"] = attack.Kind(3_000, 100, 120)
    attack.KINDS["chains"] = attack.Kind(6_000, 300, 60)
    attack.KINDS["device"] = attack.Kind(12_000, 300, 60)
    sys.exit(attack.main(["promoted", "chains", "device"]))
