"""Cases run and compared, in a process that may die of it.

    python machine.py           cases come from stdin, a line of JSON each; a line goes back
    python machine.py FILE..    the cases in these files; prints what differs
    python machine.py 0..99     the kernels of these seeds

"" is agreement, "skip: .." a machine that is too small, all else a difference. What a
kernel does to this process is seen by whoever reads the other end: watch.py.
"""

from __future__ import annotations

import faulthandler
import json
import linecache
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[2] / "ptxsim"))

import simulated

import tegula
from maker.case import Case, Param, elements, storage

# The bits of infinity; what is above it, sign aside, is NaN.
INFINITY = {"bfloat16": 0x7F80, "float8e5": 0x7C, "float8e4nv": 0x7E}


def build(case: Case, name: str) -> Any:
    file = f"<random kernel {name}>"
    lines = case.text.splitlines(True)
    linecache.cache[file] = (len(case.text), None, lines, file)
    scope: dict[str, Any] = {"__name__": "random_kernel"}
    exec(compile(case.text, file, "exec"), scope)
    return scope["kernel"]


def outputs(kernel: Any, case: Case, target: str) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(case.seed)
    arrays, there = {}, {}
    for p in case.params:
        zeros = np.zeros(max(p.n, 1), storage(p.dtype))
        arrays[p.name] = elements(p, rng) if p.role == "in" else zeros
    twins = {p.name: p.of for p in case.params if p.of}
    for name, of in twins.items():
        arrays[name] = arrays[of]
    with tegula.knobs.runtime.scope(), tegula.knobs.nvidia.scope():
        tegula.knobs.runtime.interpret = target == "interpreter"
        if not target.startswith("ptxsim"):
            tegula.knobs.runtime.target = "cpu" if target == "interpreter" else target
        else:
            tegula.knobs.runtime.target, tegula.knobs.nvidia.ptxas = None, "none"
            for name, array in arrays.items():
                put = simulated.put(array, target.removeprefix("ptxsim:"))
                there[name] = there.get(twins.get(name, ""), put)
                arrays[name] = there[name].numpy()
        tegula.knobs.runtime.emu_seed = case.emu_seed
        # A first launch is tried: code with checks, which takes twice as long to compile.
        tegula.knobs.runtime.check_bounds = None if case.seed % 8 == 0 else False
        if case.streams:
            tegula.knobs.runtime.stream_bytes = 1
        kernel[(case.grid // case.rows, case.rows)](
            *(p.given((there or arrays)[p.name]) for p in case.params),
            case.n,
            case.big,
            case.scale,
            **case.options,
            enable_fp_fusion=False,
        )
    return {p.name: arrays[p.name] for p in case.params if p.role not in ("in", "work")}


def differs(p: Param, got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Where two results are not the same; a NaN is like any other."""
    if p.role == "near":
        return ~np.isclose(got, want, rtol=1e-5, atol=1e-6, equal_nan=True)
    if p.dtype in INFINITY:
        size = np.array(2 ** (8 * got.itemsize - 1) - 1, got.dtype)
        nans = ((got & size) > INFINITY[p.dtype]) & ((want & size) > INFINITY[p.dtype])
        return (got != want) & ~nans
    if got.dtype.kind != "f":
        return got != want
    bits = np.dtype(f"u{got.itemsize}")
    return (got.view(bits) != want.view(bits)) & ~(np.isnan(got) & np.isnan(want))


def as_ptx(case: Case) -> list[str]:
    """An architecture for a third of the cases, where PTX can be interpreted."""
    chips = ("sm_75", "sm_80", "sm_90a", "sm_120a")
    draw = case.seed % (3 * len(chips))
    if case.options.get("num_ctas", 1) > 1 and draw < len(chips):
        draw = chips.index("sm_90a")
    return [f"ptxsim:{c}" for c in chips[draw : draw + 1] if simulated.available()]


def compare(case: Case, name: str = "") -> str:
    kernel = build(case, name)
    results = {}
    for target in ["interpreter", *case.targets, *as_ptx(case)]:
        try:
            results[target] = outputs(kernel, case, target)
        except tegula.OutOfResources as e:
            return f"skip: {e}"
        except Exception as e:
            return f"{target}: {type(e).__name__}: {e}"
    want = {name: x.copy() for name, x in results["interpreter"].items()}
    for p in case.params:
        if p.role == "zero":
            want[p.name][:] = 0
    for target, got in results.items():
        for p in case.params:
            if p.name in got:
                bad = np.flatnonzero(differs(p, got[p.name], want[p.name]))
                if len(bad):
                    i = bad[0]
                    return (
                        f"{target}: {p.name}[{i}] is {got[p.name][i]}, the interpreter "
                        f"gives {want[p.name][i]} ({len(bad)} differ)"
                    )
    return ""


def serve() -> None:
    for number, line in enumerate(sys.stdin):
        said = compare(Case.load(json.loads(line)), str(number))
        print(json.dumps(said), flush=True)


def main() -> None:
    from maker import Draw, make

    for word in sys.argv[1:]:
        if Path(word).is_file():
            print(f"{word}: {compare(Case.load(Path(word).read_text())) or 'agree'}")
            continue
        low, _, high = word.partition("..")
        for seed in range(int(low), int(high or low) + 1):
            case = make(Draw(seed))
            said = compare(case, str(seed))
            if said:
                print(f"seed {seed}: {said}\n{case.dump()}", flush=True)
            if seed % 1000 == 999:
                print(f"up to {seed}", flush=True)
    print("done")


if __name__ == "__main__":
    faulthandler.enable()
    tegula.knobs.cache.dir = ""
    serve() if len(sys.argv) == 1 else main()
