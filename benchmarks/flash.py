"""Attention beside cuDNN, FlashAttention-2 and Triton. GPU only.

    python benchmarks/flash.py                  # by descriptors, four configurations
    python benchmarks/flash.py --tutorial       # every one of Triton's tutorial 06
    python benchmarks/flash.py causal D=64 --by pointers
    python benchmarks/flash.py --levels "2;3;3,2"        # ours, with these options `hopper`

16 heads of 8192 keys, bf16. The same source goes through Tegula and Triton with the same
configuration; everybody takes turns behind a write of 256 MB that empties the caches. Each
line is one configuration in TFLOP/s, a result that is off cuDNN's is named, and the last
line of a problem times each contender's best configuration again.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import attention

import harness
import tegula as triton
import tegula.language as tl

HEADS, KEYS = 16, 8192


def descriptor_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, scale, n, D: tl.constexpr, BM: tl.constexpr,
    BN: tl.constexpr, CAUSAL: tl.constexpr, EVEN: tl.constexpr,
):  # fmt: skip
    """The kernel of attention.py by tensor descriptors, over all heads' rows; EVEN."""
    pid = tl.program_id(0)
    if CAUSAL:
        pid = tl.num_programs(0) - 1 - pid  # the longest rows first
    start = pid * BM
    head = tl.program_id(1) * n
    all_rows = tl.num_programs(1) * n
    queries = tl.make_tensor_descriptor(q_ptr, [all_rows, D], [D, 1], [BM, D])
    keys = tl.make_tensor_descriptor(k_ptr, [all_rows, D], [D, 1], [BN, D])
    values = tl.make_tensor_descriptor(v_ptr, [all_rows, D], [D, 1], [BN, D])
    out = tl.make_tensor_descriptor(o_ptr, [all_rows, D], [D, 1], [BM, D])
    rows = start + tl.arange(0, BM)
    cols = tl.arange(0, BN)
    q = queries.load([head + start, 0])
    peak = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), dtype=tl.float32)
    acc = tl.zeros((BM, D), dtype=tl.float32)
    for DIAGONAL in tl.static_range(2 if CAUSAL else 1):
        first = start // BN * BN if DIAGONAL else 0
        last = n
        if CAUSAL:
            last = start + BM if DIAGONAL else start // BN * BN
        for at in range(first, last, BN):
            s = tl.dot(q, keys.load([head + at, 0]).T)
            if DIAGONAL:
                s = tl.where((at + cols)[None, :] <= rows[:, None], s, -float("inf"))
            new_peak = tl.maximum(peak, tl.max(s, axis=1) * scale)
            p = tl.exp2(s * scale - new_peak[:, None])
            shrink = tl.exp2(peak - new_peak)
            total = total * shrink + tl.sum(p, axis=1)
            acc = acc * shrink[:, None]
            acc = tl.dot(p.to(q.dtype), values.load([head + at, 0]), acc)
            peak = new_peak
    out.store([head + start, 0], (acc / total[:, None]).to(q.dtype))


def configs(shapes: tuple[tuple[int, ...], ...]) -> list[dict[str, int]]:
    names = ("BM", "BN", "num_warps", "num_stages")
    return [dict(zip(names, c, strict=True)) for c in shapes]


FEW = configs(((128, 128, 8, 2), (128, 64, 8, 3), (128, 64, 4, 3), (64, 64, 4, 3)))
# What the tutorial tries on Hopper: eight warps for its largest tile alone.
TUTORIAL = configs(
    tuple(
        (m, n, w, s)
        for m in (64, 128)
        for n in (32, 64, 128)
        for w in (4, 8)
        for s in (2, 3, 4)
        if w == 4 or m * n == 128 * 128
    )
)


class Problem:
    """One head width, full or causal, and who solves it."""

    def __init__(self, width: int, causal: bool, by: str) -> None:
        torch = harness.torch_or_none()
        self.name = f"D={width} {'causal' if causal else 'full'}"
        self.width, self.causal = width, causal
        self.kernel = (
            descriptor_kernel if by == "descriptors" else attention.attention_kernel
        )
        shape = 1, HEADS, KEYS, width
        self.qkv = [torch.randn(shape, device="cuda").bfloat16() for _ in range(3)]
        self.out = torch.empty_like(self.qkv[0])
        self.flops = 4 * HEADS * KEYS**2 * width // (2 if causal else 1)

    def torch(self, backend: str) -> Any:
        torch = harness.torch_or_none()
        with torch.nn.attention.sdpa_kernel(
            getattr(torch.nn.attention.SDPBackend, backend)
        ):
            return torch.nn.functional.scaled_dot_product_attention(
                *self.qkv, is_causal=self.causal
            )

    def run(self, kernel: Any, config: dict[str, int], **options: str) -> Any:
        scale = math.log2(math.e) / math.sqrt(self.width)
        kernel[(KEYS // config["BM"], HEADS)](
            *self.qkv, self.out, scale, KEYS, D=self.width, CAUSAL=self.causal,
            EVEN=True, **config, **options,
        )  # fmt: skip
        return self.out


def checked(problem: Problem, want: Any, fn: Callable[[], Any]) -> str:
    """What is wrong with the result of fn; "": nothing."""
    torch = harness.torch_or_none()
    problem.out.fill_(float("nan"))
    try:
        got = fn().float()
        torch.cuda.synchronize()
    except Exception as e:  # a contender may refuse a configuration
        return f"{type(e).__name__}: {e}"[:90]
    error = float((got - want).norm() / want.norm())
    return "" if error < 1e-2 else f"WRONG {error:.2g}"


def rates(problem: Problem, ms: dict[str, float]) -> str:
    return "  ".join(f"{who} {problem.flops / t / 1e9:4.0f}" for who, t in ms.items())


def measure(
    problem: Problem,
    contenders: dict[str, Callable[..., Any]],
    all_configs: list[dict[str, int]],
    repeats: int,
) -> None:
    torchs = {
        "cudnn": partial(problem.torch, "CUDNN_ATTENTION"),
        "flash": partial(problem.torch, "FLASH_ATTENTION"),
    }
    want = torchs["cudnn"]().float()
    best: dict[str, tuple[float, dict[str, int]]] = {}
    for config in all_configs:
        ready, wrong = {"cudnn": torchs["cudnn"]}, []
        for who, launch in contenders.items():
            fn = partial(launch, problem, config)
            why = checked(problem, want, fn)
            if why:
                wrong.append(f"{who}: {why}")
            else:
                ready[who] = fn
        ms = harness.in_turn(ready, repeats)
        for who in ms.keys() & contenders.keys():
            if who not in best or ms[who] < best[who][0]:
                best[who] = ms[who], config
        tile = "{BM}x{BN} w{num_warps} s{num_stages}".format(**config)
        print(f"{problem.name:12} {tile:14} {rates(problem, ms)} {' '.join(wrong)}",
              flush=True)  # fmt: skip
    ready = {w: partial(contenders[w], problem, c) for w, (_, c) in best.items()}
    ms = harness.in_turn({**torchs, **ready}, 3 * repeats)
    print(f"{problem.name:12} {'BEST':14} {rates(problem, ms)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="words of a problem: D=64, causal")
    parser.add_argument("--by", choices=("descriptors", "pointers"),
                        default="descriptors")  # fmt: skip
    parser.add_argument("--tutorial", action="store_true")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--levels", default=";3", help="of the option hopper: 2;3")
    args = parser.parse_args()
    if not harness.has_gpu():
        raise SystemExit("benchmarks/flash.py wants a GPU and torch")
    torch = harness.torch_or_none()
    torch.manual_seed(0)
    for width in (128, 64):
        for causal in (False, True):
            problem = Problem(width, causal, args.by)
            if not all(word in problem.name for word in args.names):
                continue
            contenders: dict[str, Callable[..., Any]] = {}
            for level in args.levels.split(";"):
                ours = triton.jit(problem.kernel)
                options = {"hopper": level} if level else {}
                contenders[f"ours{level and ':'}{level}"] = (
                    lambda p, c, k=ours, o=options: p.run(k, c, **o)
                )
            twin = harness.triton_kernel(problem.kernel, "cuda")
            if twin is not None:
                import triton as theirs  # its descriptors want memory for their maps

                theirs.set_allocator(
                    lambda size, align, stream: torch.empty(
                        size, dtype=torch.int8, device="cuda"
                    )
                )
                contenders["triton"] = lambda p, c, k=twin: p.run(k, c)
            measure(problem, contenders, TUTORIAL if args.tutorial else FEW,
                    args.repeats)  # fmt: skip


if __name__ == "__main__":
    main()
