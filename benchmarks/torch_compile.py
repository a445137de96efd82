"""What torch.compile makes of a function, with Tegula in Triton's place and with Triton.

python benchmarks/torch_compile.py                      on a GPU, beside Triton
python benchmarks/torch_compile.py softmax --kernels    one function, and its kernels' times
python benchmarks/torch_compile.py --device cpu         without Triton, which has no CPU

A contender is a process of its own (`--worker`), because a process has one `triton`. All
live at the same time and are told when it is their turn: everybody compiles a function and
compares it with eager, forward and backward; then they are timed in rounds. A call stands
behind a write of 256 MB, and on a GPU behind a pause of it that is longer than the host
takes to queue the call's kernels: what is measured is kernels and what lies between them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROUNDS = 6
CALLS = 8  # a round


@dataclass
class Function:
    """A function to compile, and what it is called with."""

    fn: Callable[..., Any]
    inputs: list[Any]
    backward: bool = False
    tolerance: float = 1e-4  # of the largest value of a result
    config: dict[str, Any] = field(default_factory=dict)  # of Inductor
    upstream: list[Any] = field(default_factory=list)  # gradients of what fn gives


def functions(device: str) -> Iterator[tuple[str, Callable[[], Function]]]:
    """Names, and what makes the functions: each is large only while it is measured."""
    import torch
    import torch.nn.functional as F
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    large = device == "cuda"

    def randn(*shape: int, dtype: Any = torch.float32) -> Any:
        return torch.randn(*shape, device=device).to(dtype)

    def rows(n: int, m: int, dtype: Any = torch.float32) -> Any:
        return randn(*((n, m) if large else (n // 16, m // 16)), dtype=dtype)

    def norm(x: Any) -> Any:
        return F.rms_norm(x.float(), (x.shape[-1],)).to(x.dtype)

    def cross_entropy() -> Function:
        x = rows(4096, 32000, torch.bfloat16)
        target = torch.randint(0, x.shape[1], (x.shape[0],), device=device)
        return Function(lambda x: F.cross_entropy(x.float(), target), [x], True, 2e-2)

    def layer_norm() -> Function:
        x = rows(8192, 4096)
        m = torch.nn.LayerNorm(x.shape[1]).to(device)
        return Function(m, [x], True, 1e-3)

    def matmul() -> Function:
        a, b = (rows(4096, 4096, torch.bfloat16) for _ in range(2))
        only = {"max_autotune": True, "max_autotune_gemm_backends": "TRITON"}
        return Function(lambda a, b: F.relu(a @ b), [a, b], False, 2e-2, only)

    def attention() -> Function:
        n = 2048 if large else 128

        def causal(b, h, q, k):  # type: ignore[no-untyped-def]
            return q >= k

        def alibi(s, b, h, q, k):  # type: ignore[no-untyped-def]
            return s + (k - q) * torch.exp2(-2.0 * (h + 1))

        mask = create_block_mask(causal, None, None, n, n, device=device)
        qkv = [randn(2, 4, n, 64, dtype=torch.bfloat16) for _ in range(3)]
        fn = lambda *x: flex_attention(*x, score_mod=alibi, block_mask=mask)
        return Function(fn, qkv, True, 3e-2)

    def simple(fn: Callable[..., Any], *shapes: tuple[int, int], **more: Any) -> Any:
        return lambda: Function(fn, [rows(*s) for s in shapes], **more)

    square, tall = (8192, 8192), (16384, 4096)
    yield "pointwise", simple(lambda x, y: F.gelu(x) * y + x.sin(), square, square)
    yield "softmax", simple(lambda x: x.softmax(-1), square)
    yield "layer_norm", layer_norm
    yield (
        "rms_norm",
        lambda: Function(norm, [rows(8192, 4096, torch.bfloat16)], True, 2e-2),
    )
    yield "cross_entropy", cross_entropy
    yield "sum_columns", simple(lambda x: (x.sum(0), x.var(0)), tall, tolerance=1e-3)
    yield (
        "transposed_sum",
        simple(lambda x, y: (x + y.t()).sin().sum(1), (4096, 4096), (4096, 4096)),
    )
    yield "cumsum", simple(lambda x: x.cumsum(1), (4096, 4096), tolerance=1e-3)
    if large:
        yield "matmul", matmul
        yield "flex_attention", attention


# ---- a contender -------------------------------------------------------------------------


def results(function: Function, fn: Callable[..., Any]) -> list[Any]:
    """What fn gives, and the gradients of its inputs."""
    import torch

    inputs = [x.detach().requires_grad_(function.backward) for x in function.inputs]
    with torch.set_grad_enabled(function.backward):
        out = fn(*inputs)
    outs = list(out) if isinstance(out, tuple) else [out]
    if not function.backward:
        return outs
    function.upstream = function.upstream or [torch.randn_like(o) for o in outs]
    grads = list(torch.autograd.grad(outs, inputs, function.upstream))
    return [o.detach() for o in outs] + grads


def largest_error(got: list[Any], want: list[Any]) -> float:
    worst = 0.0
    for g, w in zip(got, want, strict=True):
        scale = float(w.double().abs().max()) or 1.0
        error = float((g.double() - w.double()).abs().max()) / scale
        worst = max(worst, error if error == error else math.inf)
    return worst


class Timer:
    """Milliseconds of a call behind empty caches."""

    def __init__(self, device: str) -> None:
        import torch

        self.torch, self.is_gpu = torch, device == "cuda"
        self.trash = torch.empty(64 << 20, dtype=torch.int32, device=device)
        self.cycles = 0

    def sync(self) -> None:
        if self.is_gpu:
            self.torch.cuda.synchronize()

    def host(self, call: Callable[[], Any]) -> None:
        """Learns how long the GPU has to wait for the host."""
        spent = []
        for _ in range(10):
            self.sync()
            start = time.perf_counter()
            call()
            spent.append(time.perf_counter() - start)
        self.sync()
        self.cycles = int(min(max(4 * sorted(spent)[-3], 1e-3), 0.06) * 2e9)

    def once(self, call: Callable[[], Any]) -> float:
        self.trash.fill_(1)
        self.sync()
        if not self.is_gpu:
            start = time.perf_counter()
            call()
            return (time.perf_counter() - start) * 1e3
        a, b = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.torch.cuda._sleep(self.cycles)
        a.record()
        call()
        b.record()
        self.torch.cuda.synchronize()
        return float(a.elapsed_time(b))


def kernel_times(call: Callable[[], Any]) -> dict[str, float]:
    """Microseconds of each kernel of a call."""
    import torch

    n = 5
    kinds = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=kinds) as profile:
        for _ in range(n):
            call()
        torch.cuda.synchronize()
    return {e.key: e.device_time_total / n for e in profile.key_averages()}


class Contender:
    """Answers the parent's words, a line each, with a line of JSON."""

    def __init__(self, who: str, device: str) -> None:
        if who == "tegula":
            import tegula.compat

            tegula.compat.install()
        import torch
        import torch._inductor.config as config

        self.device, self.torch, self.config = device, torch, config
        self.is_eager = who == "eager"
        config.compile_threads = 1
        config.fx_graph_cache = False
        if device == "cpu":
            config.cpu_backend = "triton"
        self.timer = Timer(device)
        self.made = dict(functions(device))

    def hello(self) -> dict[str, Any]:
        said = {"torch": self.torch.__version__}
        if self.is_eager:
            return said
        import triton

        ours = getattr(triton, "__tegula_version__", None)
        return {
            **said,
            **({"tegula": ours} if ours else {"triton": triton.__version__}),
        }

    def compile(self, name: str) -> dict[str, Any]:
        torch = self.torch
        torch._dynamo.reset()
        torch.manual_seed(0)
        function = self.made[name]()
        fn = function.fn
        if not self.is_eager:
            with self.config.patch(function.config):
                fn = torch.compile(function.fn, fullgraph=True)
                error = largest_error(
                    results(function, fn), results(function, function.fn)
                )
            if error > function.tolerance:
                return {"failed": f"differs from eager by {error:.2g}"}
        self.call = lambda: results(function, fn)
        self.timer.host(self.call)
        return {} if self.is_eager else {"error": error}

    def time(self, _: str) -> dict[str, Any]:
        return {"ms": [self.timer.once(self.call) for _ in range(CALLS)]}

    def kernels(self, _: str) -> dict[str, Any]:
        return {"us": kernel_times(self.call)}

    def done(self, _: str) -> dict[str, Any]:
        del self.call
        if self.device == "cuda":
            self.torch.cuda.empty_cache()
        return {}


def work(who: str, device: str) -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever else is printed is no answer
    contender = Contender(who, device)
    print(json.dumps(contender.hello()), file=answers)
    for line in sys.stdin:
        verb, name = line.split()
        try:
            said = getattr(contender, verb)(name)
        except Exception as e:
            said = {"failed": f"{type(e).__name__}: {e}".splitlines()[0][:200]}
        print(json.dumps(said), file=answers)


# ---- the parent --------------------------------------------------------------------------


class Process:
    def __init__(self, who: str, device: str, folder: str) -> None:
        env = dict(os.environ)
        for what in ("TORCHINDUCTOR", "TRITON", "TEGULA"):
            env[f"{what}_CACHE_DIR"] = os.path.join(folder, who, what.lower())
        self.log = Path(folder, f"{who}.log")
        with self.log.open("w") as log:
            self.child = subprocess.Popen(
                [sys.executable, __file__, "--worker", who, "--device", device],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=env,
            )

    def say(self, verb: str, name: str) -> None:
        assert self.child.stdin
        self.child.stdin.write(f"{verb} {name}\n")
        self.child.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.child.stdout
        line = self.child.stdout.readline()
        if not line:
            tail = "\n".join(self.log.read_text().splitlines()[-20:])
            raise RuntimeError(f"a contender ended:\n{tail}")
        said: dict[str, Any] = json.loads(line)
        return said

    def ask(self, verb: str, name: str) -> dict[str, Any]:
        self.say(verb, name)
        return self.hear()


def measure(name: str, processes: dict[str, Process], kernels: bool) -> dict[str, Any]:
    """Medians by contender; {"failed": why} where one has none."""
    for p in processes.values():
        p.say("compile", name)
    made = {who: p.hear() for who, p in processes.items()}
    times: dict[str, list[float]] = {w: [] for w in made if "failed" not in made[w]}
    for _ in range(ROUNDS):
        for who, ms in times.items():
            ms += processes[who].ask("time", name)["ms"]
    for who, said in made.items():
        if who in times:
            said["ms"] = statistics.median(times[who])
        if who in times and kernels and who != "eager":
            said["us"] = processes[who].ask("kernels", name)["us"]
        if who in times:
            processes[who].ask("done", name)
    return made


def shown(name: str, row: dict[str, Any]) -> str:
    cells = []
    for said in row.values():
        cells.append(f"{said['ms']:10.4f}" if "ms" in said else f"{'-':>10}")
    ours = row["tegula"].get("ms")
    for who, said in row.items():
        if who != "tegula":
            of = f"{said['ms'] / ours:10.2f}" if ours and "ms" in said else f"{'-':>10}"
            cells.append(of)
    failures = [f"{w}: {s['failed']}" for w, s in row.items() if "failed" in s]
    return "  ".join([f"{name:16}", *cells, *failures])


def mean(rows: dict[str, Any], who: str) -> str:
    both = [r for r in rows.values() if "ms" in r["tegula"] and "ms" in r[who]]
    if not both:
        return f"of {who}: nothing to compare"
    logs = [math.log(r[who]["ms"] / r["tegula"]["ms"]) for r in both]
    return f"of {who}: {math.exp(statistics.mean(logs)):.3f} over {len(both)} functions"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="of the functions; all without")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument(
        "--kernels", action="store_true", help="each kernel's time, too"
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        work(args.worker, args.device)
        return 0
    names = [name for name, _ in functions(args.device)]
    unknown = set(args.names) - set(names)
    if unknown:
        parser.error(f"no {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        who = (
            ("tegula", "triton", "eager")
            if args.device == "cuda"
            else ("tegula", "eager")
        )
        processes = {w: Process(w, args.device, folder) for w in who}
        hello = {w: p.hear() for w, p in processes.items()}
        print(*(f"{w}: {said}" for w, said in hello.items()), sep="\n")
        heads = [*(f"{w} ms" for w in who), *(f"of {w}" for w in who[1:])]
        print("  ".join([f"{'':16}", *(f"{h:>10}" for h in heads)]))
        for name in args.names or names:
            rows[name] = measure(name, processes, args.kernels)
            print(shown(name, rows[name]), flush=True)
            for w, said in rows[name].items():
                for kernel, us in said.get("us", {}).items():
                    print(f"    {w:8} {us:9.1f} us  {kernel[:70]}")
        for p in processes.values():
            p.child.stdin.close()
            p.child.wait()
    for w in who[1:]:
        print(mean(rows, w))
    if args.json:
        args.json.write_text(json.dumps({"contenders": hello, "rows": rows}, indent=1))
    return any("failed" in said for row in rows.values() for said in row.values())


if __name__ == "__main__":
    sys.exit(main())
