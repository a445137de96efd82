"""Products beside torch and Triton, every configuration. GPU only.

    python benchmarks/products.py                     # all
    python benchmarks/products.py 8192^3 attention    # rows with such words
    python benchmarks/products.py --levels "1;2,0"    # ours, with hopper=1 and 2,0
    python benchmarks/products.py --levels ";persistent=0"    # and another option

The same source goes through Tegula and Triton with the same configuration. Contenders take
turns behind a write of 256 MB that empties the caches, and torch takes its turn beside each
configuration, because a chip that computes at its power limit changes its clock within
seconds. A result is compared with torch's, and a row names what is wrong. The last row of
a size times each contender's best configuration again, in turn.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import attention

import harness
import tegula as triton
import tegula.language as tl


def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, sam, sak, sbk, sbn, scm, scn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Programs of GROUP rows of tiles follow each other, and share what they read of B."""
    pid = tl.program_id(0)
    n_m, n_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = pid // (GROUP * n_n) * GROUP
    rows = tl.minimum(n_m - first, GROUP)
    pid_m = first + pid % (GROUP * n_n) % rows
    pid_n = pid % (GROUP * n_n) // rows
    m = (pid_m * BM + tl.arange(0, BM)) % M
    n = (pid_n * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    a_ptrs = a_ptr + m[:, None] * sam + k[None, :] * sak
    b_ptrs = b_ptr + k[:, None] * sbk + n[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(tl.cdiv(K, BK)):
        a = tl.load(a_ptrs, mask=k[None, :] < K - k0 * BK, other=0.0)
        b = tl.load(b_ptrs, mask=k[:, None] < K - k0 * BK, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BK * sak
        b_ptrs += BK * sbk
    m = pid_m * BM + tl.arange(0, BM)
    n = pid_n * BN + tl.arange(0, BN)
    c_ptrs = c_ptr + scm * m[:, None] + scn * n[None, :]
    mask = (m[:, None] < M) & (n[None, :] < N)
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=mask)


def descriptor_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, sam, sak, sbk, sbn, scm, scn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """The same by tensor descriptors; sak, sbn and scn are 1."""
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [sam, 1], [BM, BK])
    b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [sbk, 1], [BK, BN])
    c_desc = tl.make_tensor_descriptor(c_ptr, [M, N], [scm, 1], [BM, BN])
    pid = tl.program_id(0)
    n_m, n_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = pid // (GROUP * n_n) * GROUP
    rows = tl.minimum(n_m - first, GROUP)
    m = (first + pid % (GROUP * n_n) % rows) * BM
    n = pid % (GROUP * n_n) // rows * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a_desc.load([m, k]), b_desc.load([k, n]), acc)
    c_desc.store([m, n], acc.to(c_ptr.dtype.element_ty))


@dataclass
class Case:
    """run(kernel, **config) launches and returns the result, as torch() does."""

    name: str
    size: str
    kernel: Callable[..., None]
    run: Callable[..., Any]
    torch: Callable[[], Any]
    configs: list[dict[str, int]]
    flops: int
    rows: list[dict[str, Any]] = field(default_factory=list)
    tolerance: float = 2e-2  # of the error's norm


MATMUL_CONFIGS = [
    {"BM": m, "BN": n, "BK": k, "GROUP": 8, "num_warps": w, "num_stages": s}
    for m, n, k, w, s in (
        (128, 256, 64, 8, 3), (128, 256, 64, 8, 4), (256, 128, 64, 8, 3),
        (128, 128, 64, 8, 4), (128, 128, 64, 4, 4), (128, 128, 64, 4, 3),
        (64, 256, 64, 4, 4), (128, 64, 64, 4, 4), (64, 128, 64, 4, 4),
        (64, 64, 64, 4, 4), (128, 128, 32, 4, 4),
    )
]  # fmt: skip
TF32_CONFIGS = [{**c, "BK": 32} for c in MATMUL_CONFIGS[:6]]
SKINNY_CONFIGS = [
    {"BM": 16, "BN": n, "BK": k, "GROUP": 8, "num_warps": w, "num_stages": s}
    for n, k, w, s in (
        (64, 128, 4, 4),
        (128, 128, 4, 4),
        (32, 256, 4, 4),
        (64, 256, 8, 3),
    )
]


def matmul(
    m: int, n: int, k: int, dtype: Any, configs: list[dict[str, int]], *,
    by: str = "pointers", b_runs_along_k: bool = False,
) -> Case:  # fmt: skip
    torch = harness.torch_or_none()
    a = torch.randn(m, k, device="cuda").to(dtype)
    b = torch.randn(k, n, device="cuda").to(dtype)
    if b_runs_along_k:
        b = b.t().contiguous().t()
    c = torch.full((m, n), float("nan"), device="cuda", dtype=dtype)
    theirs = torch.empty_like(c)

    def run(kernel: Any, **config: int) -> Any:
        grid = (triton.cdiv(m, config["BM"]) * triton.cdiv(n, config["BN"]),)
        kernel[grid](a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride(), **config)
        return c

    kind = str(dtype).removeprefix("torch.").replace("float", "f")
    size = f"{m}^3" if m == n == k else f"{m}x{n}x{k}"
    return Case(
        f"matmul by {by}", f"{size} {kind}{' B along k' * b_runs_along_k}",
        matmul_kernel if by == "pointers" else descriptor_kernel, run,
        lambda: torch.mm(a, b, out=theirs), configs, 2 * m * n * k,
    )  # fmt: skip


def attention_case(batch: int, heads: int, n: int, width: int, causal: bool) -> Case:
    torch = harness.torch_or_none()
    shape = batch, heads, n, width
    q, k, v = (torch.randn(shape, device="cuda").bfloat16() for _ in range(3))
    out = torch.full_like(q, float("nan"))
    scale = math.log2(math.e) / math.sqrt(width)

    def run(kernel: Any, **c: int) -> Any:
        even = n % c["BM"] == 0 and n % c["BN"] == 0
        kernel[(triton.cdiv(n, c["BM"]), batch * heads)](
            q, k, v, out, scale, n, D=width, CAUSAL=causal, EVEN=even, **c
        )
        return out

    backends = torch.nn.attention

    def cudnn() -> Any:
        with backends.sdpa_kernel(backends.SDPBackend.CUDNN_ATTENTION):
            return torch.nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=causal
            )

    flops = 4 * batch * heads * n * n * width // (2 if causal else 1)
    configs = [
        {"BM": m, "BN": b, "num_warps": w, "num_stages": s}
        for m, b, w, s in (
            (128, 64, 8, 3), (128, 128, 8, 2), (128, 128, 8, 3), (64, 64, 4, 3),
            (128, 64, 4, 3), (128, 32, 4, 4),
        )
    ]  # fmt: skip
    size = f"{batch}x{heads}x{n}x{width} bf16{' causal' * causal}"
    return Case(
        "attention", size, attention.attention_kernel, run, cudnn, configs, flops
    )


def cases() -> Iterator[Callable[[], Case]]:
    torch = harness.torch_or_none()
    torch.manual_seed(0)
    bf16, f16, f32 = torch.bfloat16, torch.float16, torch.float32
    few = MATMUL_CONFIGS
    for m, n, k in (
        (8192, 8192, 8192), (4096, 4096, 4096), (2048, 2048, 2048), (8192, 1024, 8192),
        (8192, 8192, 1024), (1000, 1000, 1000), (512, 512, 512),
    ):  # fmt: skip
        yield lambda m=m, n=n, k=k: matmul(m, n, k, bf16, few)
    yield lambda: matmul(16, 4096, 4096, bf16, SKINNY_CONFIGS)
    yield lambda: matmul(4096, 4096, 4096, f16, few)
    yield lambda: matmul(4096, 4096, 4096, bf16, few, b_runs_along_k=True)
    yield lambda: matmul(4096, 4096, 4096, f32, TF32_CONFIGS, b_runs_along_k=True)
    yield lambda: matmul(4096, 4096, 4096, f32, TF32_CONFIGS)
    for size in (8192, 4096, 2048):
        yield lambda n=size: matmul(n, n, n, bf16, few, by="descriptors")
    for width in (128, 64):
        for causal in (False, True):
            yield lambda w=width, c=causal: attention_case(1, 16, 8192, w, c)


# --- measuring -----------------------------------------------------------------------
def error_of(got: Any, want: Any) -> float:
    got, want = got.float(), want.float()
    return float((got - want).norm() / want.norm().clamp_min(1e-30))


def measure(
    case: Case, contenders: dict[str, Callable[..., Any]], repeats: int
) -> None:
    torch = harness.torch_or_none()
    best: dict[str, tuple[float, dict[str, int]]] = {}
    want = case.torch().clone()
    for config in case.configs:
        ready, row = {"torch": case.torch}, {"config": config, "error": {}}
        for who, launch in contenders.items():
            fn = lambda launch=launch, config=config: launch(case, config)
            try:
                got = fn()
                torch.cuda.synchronize()
                row["error"][who] = error_of(got, want)
                got.fill_(float("nan") if got.is_floating_point() else -1)
                ready[who] = fn
            except Exception as e:  # a contender may refuse a configuration
                row["error"][who] = f"{type(e).__name__}: {e}"[:200]
        row["ms"] = harness.in_turn(ready, repeats)
        for who, ms in row["ms"].items():
            best[who] = min(
                best.get(who, (math.inf, {})), (ms, config), key=lambda x: x[0]
            )
        case.rows.append(row)
        show(case, row, harness.words(config))
    ready = {
        who: (lambda who=who: contenders[who](case, best[who][1]))
        if who in contenders
        else case.torch
        for who in best
    }
    row = {"config": "best", "error": {}, "ms": harness.in_turn(ready, 3 * repeats)}
    case.rows.append(row)
    show(case, row, "BEST")


def show(case: Case, row: dict[str, Any], config: str) -> None:
    rates = " ".join(
        f"{who} {case.flops / ms / 1e9:.0f}" for who, ms in row["ms"].items()
    )
    wrong = [
        f"{w}: {e}"
        for w, e in row["error"].items()
        if isinstance(e, str) or e > case.tolerance
    ]
    print(
        f"{case.name:22} {case.size:26} {config:48} {rates} {' '.join(wrong)}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="words of a row's name or size")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--levels", default="", help="of the option hopper: 1;2,0")
    parser.add_argument("--json", type=Path, help="write every row here")
    args = parser.parse_args()
    if not harness.has_gpu():
        raise SystemExit("benchmarks/products.py wants a GPU and torch")
    torch = harness.torch_or_none()
    torch.backends.cuda.matmul.allow_tf32 = True
    if harness.triton_kernel(matmul_kernel, "cuda") is not None:
        import triton as theirs  # its descriptors want memory for their maps

        theirs.set_allocator(
            lambda size, align, stream: torch.empty(
                size, dtype=torch.int8, device="cuda"
            )
        )
    out = []
    for make in cases():
        case = make()
        label = f"{case.name} {case.size}"
        if args.names and not any(n in label for n in args.names):
            continue
        contenders: dict[str, Callable[..., Any]] = {}
        for level in args.levels.split(";"):
            name, _, value = level.rpartition("=")
            options = {name or "hopper": value} if level else {}
            kernel = triton.jit(case.kernel)
            contenders[f"tegula{level and ':'}{level}"] = (
                lambda case, config, k=kernel, o=options: case.run(k, **config, **o)
            )
        twin = harness.triton_kernel(case.kernel, "cuda")
        if twin is not None:
            contenders["triton"] = lambda case, config, k=twin: case.run(k, **config)
        measure(case, contenders, args.repeats)
        out.append({"name": case.name, "size": case.size, "flops": case.flops,
                    "rows": case.rows})  # fmt: skip
        if args.json:
            args.json.write_text(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
