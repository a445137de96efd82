"""Kernels with products that are no plain matmul, beside torch and Triton. GPU only.

    python benchmarks/unseen.py                  # all
    python benchmarks/unseen.py bias float8      # rows with such words

Libraries have such kernels, and nobody tuned them here: operands of 8 bits, weights of 4
and 8 bits, a norm in front of a product, gates, attention with a bias and in float8, and
chunks of a state. Each has a few configurations that a user would try first. products.py
says how rows are measured and what torch does beside them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import products
from products import Case

import harness
import tegula as triton
import tegula.language as tl

Config = dict[str, int]


def bytes_kernel(
    a_ptr, b_ptr, c_ptr, N, K, ACC: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Float8 or int8; B is N x K."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_ptrs = a_ptr + m[:, None] * K + k[None, :]
    b_ptrs = b_ptr + n[None, :] * K + k[:, None]
    acc = tl.zeros((BM, BN), ACC)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs), acc, out_dtype=ACC)
        a_ptrs += BK
        b_ptrs += BK
    c_ptrs = c_ptr + m[:, None] * N + n[None, :]
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty))


def weights_of_bytes_kernel(
    a_ptr, b_ptr, scale_ptr, c_ptr, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_ptrs = a_ptr + m[:, None] * K + k[None, :]
    b_ptrs = b_ptr + k[:, None] * N + n[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs).to(tl.bfloat16), acc)
        a_ptrs += BK
        b_ptrs += BK * N
    acc = acc * tl.load(scale_ptr + n)[None, :]
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc.to(tl.bfloat16))


def weights_of_half_bytes_kernel(
    a_ptr, b_ptr, scale_ptr, zero_ptr, c_ptr, N, K, GROUP: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """B is K/8 x N words, with a scale and a zero for each GROUP rows of a column."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_ptrs = a_ptr + m[:, None] * K + k[None, :]
    b_ptrs = b_ptr + (k[:, None] // 8) * N + n[None, :]
    shift = k % 8 * 4
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(K // BK):
        group = i * BK // GROUP * N
        scale = tl.load(scale_ptr + group + n)
        zero = tl.load(zero_ptr + group + n)
        w = (tl.load(b_ptrs) >> shift[:, None]) & 15
        w = ((w - zero[None, :]) * scale[None, :]).to(tl.float16)
        acc += tl.dot(tl.load(a_ptrs), w)
        a_ptrs += BK
        b_ptrs += BK // 8 * N
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc.to(tl.float16))


def norm_and_product_kernel(
    x_ptr, gain_ptr, w_ptr, y_ptr, N, K, eps,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    squares = tl.zeros((BM,), tl.float32)
    for k0 in range(0, K, BK):
        x = tl.load(x_ptr + m[:, None] * K + (k0 + k)[None, :]).to(tl.float32)
        squares += tl.sum(x * x, 1)
        gain = tl.load(gain_ptr + k0 + k).to(tl.float32)
        w = tl.load(w_ptr + (k0 + k)[:, None] * N + n[None, :])
        acc = tl.dot((x * gain[None, :]).to(tl.bfloat16), w, acc)
    acc = acc * tl.rsqrt(squares / K + eps)[:, None]
    tl.store(y_ptr + m[:, None] * N + n[None, :], acc.to(tl.bfloat16))


def gate_kernel(
    a_ptr, b_ptr, d_ptr, c_ptr, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """silu(A @ B) * (A @ D)"""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_ptrs = a_ptr + m[:, None] * K + k[None, :]
    at = k[:, None] * N + n[None, :]
    x = tl.zeros((BM, BN), tl.float32)
    y = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        a = tl.load(a_ptrs)
        x = tl.dot(a, tl.load(b_ptr + at), x)
        y = tl.dot(a, tl.load(d_ptr + at), y)
        a_ptrs += BK
        at += BK * N
    out = x * tl.sigmoid(x) * y
    tl.store(c_ptr + m[:, None] * N + n[None, :], out.to(tl.bfloat16))


def bias_attention_kernel(
    q_ptr, k_ptr, v_ptr, bias_ptr, o_ptr, scale, T, D: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Scores are powers of two; a T x T bias is every head's."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    base = tl.program_id(1) * T * D
    q = tl.load(q_ptr + base + m[:, None] * D + d[None, :])
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for t in range(0, T, BN):
        n = t + tl.arange(0, BN)
        k = tl.load(k_ptr + base + n[None, :] * D + d[:, None])
        bias = tl.load(bias_ptr + m[:, None] * T + n[None, :])
        s = tl.dot(q, k) * scale + bias.to(tl.float32)
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        shrink = tl.exp2(top - new)
        v = tl.load(v_ptr + base + n[:, None] * D + d[None, :])
        acc = tl.dot(p.to(tl.bfloat16), v, acc * shrink[:, None])
        total = total * shrink + tl.sum(p, 1)
        top = new
    out = (acc / total[:, None]).to(tl.bfloat16)
    tl.store(o_ptr + base + m[:, None] * D + d[None, :], out)


def float8_attention_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, scale, T, D: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """All in float8e5; V is D x T."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    base = tl.program_id(1) * T * D
    q = tl.load(q_ptr + base + m[:, None] * D + d[None, :])
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for t in range(0, T, BN):
        n = t + tl.arange(0, BN)
        k = tl.load(k_ptr + base + n[None, :] * D + d[:, None])
        s = tl.dot(q, k) * scale
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        shrink = tl.exp2(top - new)
        v = tl.load(v_ptr + base + d[None, :] * T + n[:, None])
        acc = tl.dot(p.to(tl.float8e5), v, acc * shrink[:, None])
        total = total * shrink + tl.sum(p, 1)
        top = new
    out = (acc / total[:, None]).to(tl.bfloat16)
    tl.store(o_ptr + base + m[:, None] * D + d[None, :], out)


def states_kernel(
    x_ptr, b_ptr, dt_ptr, out_ptr, T, P: tl.constexpr, S: tl.constexpr,
    C: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Mamba 2's states of chunks of C rows: X^T @ (B * dt)."""
    chunk = tl.program_id(0)
    head = tl.program_id(1)
    p = tl.arange(0, P)
    s = tl.arange(0, S)
    acc = tl.zeros((P, S), tl.float32)
    for c in range(0, C, BK):
        row = head * T + chunk * C + c + tl.arange(0, BK)
        x = tl.load(x_ptr + row[None, :] * P + p[:, None])
        dt = tl.load(dt_ptr + row)
        b = tl.load(b_ptr + row[:, None] * S + s[None, :]).to(tl.float32) * dt[:, None]
        acc += tl.dot(x, b.to(tl.bfloat16))
    at = (head * tl.num_programs(0) + chunk) * P
    out_ptrs = out_ptr + (at + p[:, None]) * S + s[None, :]
    tl.store(out_ptrs, acc.to(tl.bfloat16))


def tiles(*rows: tuple[int, int, int, int, int]) -> list[Config]:
    names = "BM", "BN", "BK", "num_warps", "num_stages"
    return [dict(zip(names, row, strict=True)) for row in rows]


WIDE = tiles((128, 128, 64, 8, 3), (128, 256, 64, 8, 3), (64, 128, 32, 4, 4))
OF_BYTES = tiles((128, 128, 128, 8, 3), (128, 256, 128, 8, 4), (64, 128, 64, 4, 4))
FEW_ROWS = tiles((16, 64, 64, 4, 4), (16, 128, 128, 4, 3))
HEADS = [
    {"BM": m, "BN": n, "num_warps": w, "num_stages": 3}
    for m, n, w in ((128, 64, 8), (128, 128, 8), (64, 64, 4))
]


def product(
    name: str, kernel: Callable[..., None], args: list[Any], out: Any, k: int,
    configs: list[Config], torch: Callable[[], Any], each: int = 1, **constants: Any,
) -> Case:  # fmt: skip
    """`each` products of out's shape and depth k."""
    m, n = out.shape

    def run(jitted: Any, **config: int) -> Any:
        grid = triton.cdiv(m, config["BM"]), triton.cdiv(n, config["BN"])
        jitted[grid](*args, out, n, k, **constants, **config)
        return out

    size = f"{m}^3" if m == n == k else f"{m}x{n}x{k}"
    return Case(name, size, kernel, run, torch, configs, each * 2 * m * n * k)


def bytes_case(n: int, kind: str) -> Case:
    torch = harness.torch_or_none()
    out = torch.empty(n, n, device="cuda", dtype=torch.bfloat16)
    if kind == "int8":
        a, b = (
            torch.randint(-128, 128, (n, n), device="cuda", dtype=torch.int8)
            for _ in range(2)
        )
        out = torch.empty(n, n, device="cuda", dtype=torch.int32)
        by_torch = lambda: torch._int_mm(a, b.t())
    else:
        a, b = (
            torch.randn(n, n, device="cuda").to(torch.float8_e4m3fn) for _ in range(2)
        )
        one = torch.ones((), device="cuda")
        by_torch = lambda: torch._scaled_mm(
            a, b.t(), one, one, out_dtype=torch.bfloat16, use_fast_accum=True
        )

    def run(jitted: Any, **config: int) -> Any:
        acc = tl if jitted.__class__.__module__.startswith("tegula") else theirs()
        acc = acc.int32 if kind == "int8" else acc.float32
        jitted[n // config["BM"], n // config["BN"]](a, b, out, n, n, acc, **config)
        return out

    return Case(kind, f"{n}^3", bytes_kernel, run, by_torch, OF_BYTES, 2 * n**3)


def theirs() -> Any:
    import triton.language

    return triton.language


def half_bytes_case(m: int, configs: list[Config]) -> Case:
    torch = harness.torch_or_none()
    n = k = 4096
    a = torch.randn(m, k, device="cuda").half()
    b = torch.randint(
        -(2**31), 2**31 - 1, (k // 8, n), device="cuda", dtype=torch.int32
    )
    scale = torch.rand(k // 128, n, device="cuda").half()
    zero = torch.randint(0, 16, (k // 128, n), device="cuda", dtype=torch.int32)
    shifts = torch.arange(0, 32, 4, device="cuda")[None, :, None]
    w = (b[:, None, :] >> shifts & 15).reshape(k, n)
    each = lambda x: x.repeat_interleave(128, 0)
    w = ((w - each(zero)) * each(scale)).half()
    out = torch.empty(m, n, device="cuda", dtype=torch.float16)
    args = [a, b, scale, zero]
    return product(
        "4-bit weights", weights_of_half_bytes_kernel, args, out, k, configs,
        lambda: a @ w, GROUP=128,
    )  # fmt: skip


def attention_case(width: int, kind: str) -> Case:
    torch = harness.torch_or_none()
    heads, t, scale = 2048 // width, 2048, 0.1
    q, k, v = (torch.randn(heads, t, width, device="cuda") for _ in range(3))
    bias = torch.randn(t, t, device="cuda").bfloat16()
    out = torch.empty(heads, t, width, device="cuda", dtype=torch.bfloat16)
    is_float8 = kind == "float8"
    dtype = torch.float8_e5m2 if is_float8 else torch.bfloat16
    q, k, v = (x.to(dtype) for x in (q, k, v))
    last = v.float().transpose(1, 2).contiguous().to(dtype) if is_float8 else v
    args = [q, k, last] if is_float8 else [q, k, last, bias]

    def by_torch() -> Any:
        s = q.bfloat16() @ k.bfloat16().transpose(1, 2)
        s = s.float() * scale + (0 if is_float8 else bias.float())
        return torch.softmax(s * 0.6931471805599453, -1).bfloat16() @ v.bfloat16()

    def run(jitted: Any, **config: int) -> Any:
        grid = t // config["BM"], heads
        jitted[grid](*args, out, scale, t, D=width, **config)
        return out

    kernel = float8_attention_kernel if is_float8 else bias_attention_kernel
    flops = 4 * heads * t * t * width
    return Case(
        f"attention, {kind}", f"D={width}", kernel, run, by_torch, HEADS, flops,
        tolerance=0.1 if is_float8 else 2e-2,
    )  # fmt: skip


def states_case() -> Case:
    torch = harness.torch_or_none()
    heads, t, p, s, c = 64, 4096, 64, 128, 256
    x = torch.randn(heads, t, p, device="cuda").bfloat16()
    b = torch.randn(heads, t, s, device="cuda").bfloat16()
    dt = torch.rand(heads, t, device="cuda")
    out = torch.empty(heads, t // c, p, s, device="cuda", dtype=torch.bfloat16)

    def by_torch() -> Any:
        rows = lambda v: v.reshape(heads, t // c, c, -1)
        return rows(x).transpose(2, 3) @ rows((b.float() * dt[..., None]).bfloat16())

    def run(jitted: Any, **config: int) -> Any:
        jitted[t // c, heads](x, b, dt, out, t, P=p, S=s, C=c, **config)
        return out

    configs = [
        {"BK": k, "num_warps": w, "num_stages": n}
        for k, w, n in ((64, 4, 3), (32, 4, 4), (64, 8, 3))
    ]
    flops = 2 * heads * t * p * s
    return Case("chunk states", f"{heads}x{t}", states_kernel, run, by_torch, configs,
                flops)  # fmt: skip


def cases() -> Iterator[Callable[[], Case]]:
    torch = harness.torch_or_none()
    torch.manual_seed(0)
    n = 4096
    new = lambda *shape: torch.randn(*shape, device="cuda").bfloat16()
    for kind in ("float8", "int8"):
        for size in (2048, 4096, 8192):
            yield lambda kind=kind, size=size: bytes_case(size, kind)

    def of_bytes() -> Case:
        a, out, scale = new(n, n), new(n, n), torch.rand(n, device="cuda")
        b = torch.randint(-128, 128, (n, n), device="cuda", dtype=torch.int8)
        return product(
            "8-bit weights", weights_of_bytes_kernel, [a, b, scale], out, n, WIDE,
            lambda: a @ (b.bfloat16() * scale.bfloat16()),
        )  # fmt: skip

    def norm() -> Case:
        x, gain, w, y = new(n, n), new(n), new(n, n), new(n, n)

        def run(jitted: Any, **config: int) -> Any:
            grid = n // config["BM"], n // config["BN"]
            jitted[grid](x, gain, w, y, n, n, 1e-5, **config)
            return y

        by_torch = lambda: torch.nn.functional.rms_norm(x, (n,), gain, 1e-5) @ w
        return Case("norm and product", f"{n}^3", norm_and_product_kernel, run, by_torch,
                    WIDE, 2 * n**3)  # fmt: skip

    def gate() -> Case:
        a, b, d, out = new(n, n), new(n, n) / 64, new(n, n) / 64, new(n, n)
        by_torch = lambda: torch.nn.functional.silu(a @ b) * (a @ d)
        return product("gate", gate_kernel, [a, b, d], out, n,
                       [WIDE[0], *tiles((64, 256, 64, 8, 3)), WIDE[2]], by_torch,
                       each=2)  # fmt: skip

    yield of_bytes
    yield lambda: half_bytes_case(16, FEW_ROWS)
    yield lambda: half_bytes_case(2048, tiles((64, 64, 64, 4, 3), (128, 128, 64, 8, 3)))
    yield norm
    yield gate
    for width in (64, 128):
        for kind in ("bias", "float8"):
            yield lambda width=width, kind=kind: attention_case(width, kind)
    yield states_case


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="words of a row's name or size")
    parser.add_argument("--repeats", type=int, default=9)
    args = parser.parse_args()
    if not harness.has_gpu():
        raise SystemExit("benchmarks/unseen.py wants a GPU and torch")
    for make in cases():
        case = make()
        label = f"{case.name} {case.size}"
        if args.names and not any(n in label for n in args.names):
            continue
        ours = triton.jit(case.kernel)
        contenders = {"tegula": lambda case, config, k=ours: case.run(k, **config)}
        twin = harness.triton_kernel(case.kernel, "cuda")
        if twin is not None:
            contenders["triton"] = lambda case, config, k=twin: case.run(k, **config)
        products.measure(case, contenders, args.repeats)


if __name__ == "__main__":
    main()
