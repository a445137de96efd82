"""What is measured: an op of ours, the same by torch, and what both are given.

Sizes are those of a transformer's layers, smaller on a CPU. Types are bfloat16 on a GPU and
float32 on a CPU. A case has its bytes from its arrays: every input read once, every output
written once, and for the backward pass every input and the gradient of the result read
once, every gradient written once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tegula import ops


@dataclass
class Problem:
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    inputs: list[Any]
    flops: float = 0.0  # of the textbook's algorithm, forward
    is_exact: bool = True  # False where chance decides: nothing is compared
    n_bytes: float = 0.0  # forward, where the arrays do not tell


class Inputs:
    """Makes arrays: tensors where torch is, else NumPy's."""

    def __init__(self, device: str, torch: Any) -> None:
        self.is_large = device == "cuda"
        self.dtype = "bfloat16" if self.is_large else "float32"
        self._device, self._torch = device, torch
        if torch is not None:
            torch.manual_seed(0)

    def size(self, large: int, small: int) -> int:
        return large if self.is_large else small

    def randn(self, *shape: int, grad: bool = True, dtype: str = "") -> Any:
        if self._torch is None:
            import numpy as np

            rng = np.random.default_rng(math.prod(shape))
            return rng.standard_normal(shape, dtype=np.float32)
        x = self._torch.randn(*shape, device=self._device)
        kind = getattr(self._torch, dtype or self.dtype)
        return x.to(kind).requires_grad_(grad)

    def integers(self, high: int, *shape: int, dtype: str = "int64") -> Any:
        if self._torch is None:
            import numpy as np

            return np.random.default_rng(0).integers(0, high, shape, dtype)
        kind = getattr(self._torch, dtype)
        return self._torch.randint(high, shape, device=self._device, dtype=kind)

    def array(self, numbers: list, dtype: str) -> Any:
        if self._torch is None:
            import numpy as np

            return np.array(numbers, dtype)
        kind = getattr(self._torch, dtype)
        return self._torch.tensor(numbers, device=self._device, dtype=kind)


Maker = Callable[[Inputs], Problem]
CASES: dict[str, tuple[str, Maker]] = {}  # name -> (group, how to make it)


def case(group: str, name: str = "") -> Callable[[Maker], Maker]:
    def add(make: Maker) -> Maker:
        CASES[name or make.__name__] = group, make
        return make

    return add


def functional() -> Any:
    import torch

    return torch.nn.functional


def tokens(m: Inputs, width: int = 4096) -> tuple[int, int]:
    return m.size(8192, 2048), m.size(width, width // 4)


# --- bound by memory ----------------------------------------------------------------------
@case("memory")
def relu(m: Inputs) -> Problem:
    return Problem(ops.relu, lambda x: functional().relu(x), [m.randn(*tokens(m))])


@case("memory")
def gelu(m: Inputs) -> Problem:
    return Problem(ops.gelu, lambda x: functional().gelu(x), [m.randn(*tokens(m))])


@case("memory")
def silu(m: Inputs) -> Problem:
    return Problem(ops.silu, lambda x: functional().silu(x), [m.randn(*tokens(m))])


@case("memory")
def swiglu(m: Inputs) -> Problem:
    a, b = (m.randn(*tokens(m, 8192)) for _ in range(2))
    return Problem(ops.swiglu, lambda a, b: functional().silu(a) * b, [a, b])


@case("memory")
def geglu(m: Inputs) -> Problem:
    a, b = (m.randn(*tokens(m, 8192)) for _ in range(2))
    return Problem(ops.geglu, lambda a, b: functional().gelu(a) * b, [a, b])


@case("memory")
def softmax(m: Inputs) -> Problem:
    return Problem(ops.softmax, lambda x: x.softmax(-1), [m.randn(*tokens(m))])


@case("memory")
def layer_norm(m: Inputs) -> Problem:
    rows, n = tokens(m)
    return Problem(
        ops.layer_norm,
        lambda x, w, b: functional().layer_norm(x, (n,), w, b),
        [m.randn(rows, n), m.randn(n), m.randn(n)],
    )


@case("memory")
def rms_norm(m: Inputs) -> Problem:
    rows, n = tokens(m)
    return Problem(
        ops.rms_norm,
        lambda x, w: functional().rms_norm(x, (n,), w, 1e-6),
        [m.randn(rows, n), m.randn(n)],
    )


@case("memory")
def add_rms_norm(m: Inputs) -> Problem:
    rows, n = tokens(m)

    def theirs(x: Any, r: Any, w: Any) -> Any:
        total = x + r
        return functional().rms_norm(total, (n,), w, 1e-6), total

    inputs = [m.randn(rows, n), m.randn(rows, n), m.randn(n)]
    return Problem(ops.add_rms_norm, theirs, inputs)


@case("memory")
def group_norm(m: Inputs) -> Problem:
    batch, channels = m.size(16, 4), m.size(512, 128)
    return Problem(
        lambda x, w, b: ops.group_norm(x, 32, w, b),
        lambda x, w, b: functional().group_norm(x, 32, w, b),
        [m.randn(batch, channels, 64, 64), m.randn(channels), m.randn(channels)],
    )


@case("memory")
def rotary(m: Inputs) -> Problem:
    length = m.size(4096, 512)
    cos, sin = (m.randn(length, 64, grad=False) for _ in range(2))

    def theirs(x: Any, cos: Any, sin: Any) -> Any:
        import torch

        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    x = m.randn(2, m.size(32, 8), length, 128)
    return Problem(ops.rotary, theirs, [x, cos, sin])


@case("memory")
def dropout(m: Inputs) -> Problem:
    return Problem(
        lambda x: ops.dropout(x, 0.1),
        lambda x: functional().dropout(x, 0.1),
        [m.randn(*tokens(m))],
        is_exact=False,
    )


@case("memory")
def cross_entropy(m: Inputs) -> Problem:
    rows, n = m.size(4096, 512), m.size(32000, 8000)
    target = m.integers(n, rows)
    return Problem(
        lambda x: ops.cross_entropy(x, target),
        lambda x: functional().cross_entropy(x, target),
        [m.randn(rows, n)],
    )


@case("memory")
def topk(m: Inputs) -> Problem:
    x = m.randn(m.size(8192, 512), m.size(4096, 1024), dtype="float32")
    return Problem(
        lambda x: ops.topk(x, 8)[0], lambda x: x.topk(8, sorted=True)[0], [x]
    )


# --- bound by products --------------------------------------------------------------------
@case("products")
def matmul(m: Inputs) -> Problem:
    n = m.size(4096, 768)
    inputs = [m.randn(n, n), m.randn(n, n)]
    return Problem(ops.matmul, lambda a, b: a @ b, inputs, flops=2.0 * n**3)


@case("products")
def batched_matmul(m: Inputs) -> Problem:
    z, n = m.size(64, 16), m.size(1024, 192)
    inputs = [m.randn(z, n, n), m.randn(z, n, n)]
    return Problem(ops.matmul, lambda a, b: a @ b, inputs, flops=2.0 * z * n**3)


@case("products")
def linear_gelu(m: Inputs) -> Problem:
    rows, k, n = m.size(4096, 512), m.size(4096, 512), m.size(11264, 1536)
    return Problem(
        lambda x, w, b: ops.linear(x, w, b, activation="gelu_tanh"),
        lambda x, w, b: functional().gelu(
            functional().linear(x, w, b), approximate="tanh"
        ),
        [m.randn(rows, k), m.randn(n, k), m.randn(n)],
        flops=2.0 * rows * k * n,
    )


@case("products")
def linear_cross_entropy(m: Inputs) -> Problem:
    rows, k, n = m.size(4096, 256), m.size(2048, 256), m.size(32000, 4000)
    target = m.integers(n, rows)
    return Problem(
        lambda x, w: ops.linear_cross_entropy(x, w, target),
        lambda x, w: functional().cross_entropy(functional().linear(x, w), target),
        [m.randn(rows, k), m.randn(n, k)],
        flops=2.0 * rows * k * n,
    )


@case("products")
def attention(m: Inputs) -> Problem:
    b, h, n, d = m.size(4, 1), m.size(16, 8), m.size(4096, 512), m.size(128, 64)
    return Problem(
        lambda q, k, v: ops.attention(q, k, v, causal=True),
        lambda q, k, v: functional().scaled_dot_product_attention(
            q, k, v, is_causal=True
        ),
        [m.randn(b, h, n, d) for _ in range(3)],
        flops=2.0 * b * h * n * n * d,  # half of the pairs
    )


@case("products")
def attention_varlen(m: Inputs) -> Problem:
    """Sequences of three lengths, beside torch's attention of each."""
    lengths = [n // m.size(1, 8) for n in (4096, 1024, 2048)]
    h, d = m.size(16, 4), m.size(128, 64)
    starts = [sum(lengths[:i]) for i in range(4)]
    places = m.array(starts, "int32")

    def theirs(q: Any, k: Any, v: Any) -> Any:
        import torch

        parts = [
            functional()
            .scaled_dot_product_attention(
                *(x[a:b].transpose(0, 1)[None] for x in (q, k, v)), is_causal=True
            )[0]
            .transpose(0, 1)
            for a, b in itertools.pairwise(starts)
        ]
        return torch.cat(parts)

    return Problem(
        lambda q, k, v: ops.attention_varlen(
            q, k, v, places, places, max(lengths), max(lengths), causal=True
        ),
        theirs,
        [m.randn(starts[3], h, d) for _ in range(3)],
        flops=2.0 * h * d * sum(n * n for n in lengths),
    )


@case("products")
def paged_attention(m: Inputs) -> Problem:
    """Eight heads to each head of the cache; torch gathers the pages first."""
    b, length, hk, d, page = m.size(16, 2), m.size(8192, 1024), m.size(8, 2), 128, 64
    n = length // page
    q = m.randn(b, 8 * hk, d, grad=False)
    k, v = (m.randn(b * n, page, hk, d, grad=False) for _ in range(2))
    table = m.array(
        [[i * n + (7 * j) % n for j in range(n)] for i in range(b)], "int32"
    )
    lengths = m.array([length] * b, "int32")

    def theirs(q: Any, k: Any, v: Any) -> Any:
        keys, values = (x[table.long()].flatten(1, 2).transpose(1, 2) for x in (k, v))
        out = functional().scaled_dot_product_attention(
            q[:, :, None], keys, values, enable_gqa=True
        )
        return out[:, :, 0]

    return Problem(
        lambda q, k, v: ops.paged_attention(q, k, v, table, lengths), theirs, [q, k, v]
    )


@case("products")
def grouped_matmul(m: Inputs) -> Problem:
    groups, k, n = 8, m.size(2048, 256), m.size(4096, 512)
    sizes = [s * m.size(64, 8) for s in (3, 20, 7, 0, 11, 1, 16, 6)]
    starts = [sum(sizes[:i]) for i in range(groups + 1)]
    places = m.array(starts, "int32")

    def theirs(a: Any, b: Any) -> Any:
        import torch

        pairs = zip(itertools.pairwise(starts), b, strict=True)
        return torch.cat([a[i:j] @ w for (i, j), w in pairs])

    return Problem(
        lambda a, b: ops.grouped_matmul(a, b, places),
        theirs,
        [m.randn(starts[-1], k), m.randn(groups, k, n)],
        flops=2.0 * starts[-1] * k * n,
    )


def _quantized(m: Inputs, bits: int) -> Problem:
    """Sixteen tokens; torch multiplies by the weight as it was, which is larger."""
    k, n = m.size(8192, 1024), m.size(8192, 1024)
    w = m.randn(n, k, grad=False)
    q, scales, zeros = ops.quantize(w, bits, 128)
    plain = ops.dequantize(q, scales, zeros, bits)
    x = m.randn(16, k, grad=False)
    return Problem(
        lambda x: ops.quantized_linear(x, q, scales, zeros, bits=bits),
        lambda x: functional().linear(x, plain.to(x.dtype)),
        [x],
        flops=2.0 * 16 * k * n,
        n_bytes=float(q.nbytes + scales.nbytes + 16 * (k + n) * x.itemsize),
    )


@case("products")
def quantized_linear_int8(m: Inputs) -> Problem:
    return _quantized(m, 8)


@case("products")
def quantized_linear_int4(m: Inputs) -> Problem:
    return _quantized(m, 4)


@case("products")
def layer_norm_linear(m: Inputs) -> Problem:
    rows, k, n = m.size(8192, 1024), m.size(2048, 512), m.size(2048, 512)
    return Problem(
        lambda x, w, b, g: ops.layer_norm_linear(x, w, b, norm_weight=g),
        lambda x, w, b, g: functional().linear(
            functional().layer_norm(x, (k,), g), w, b
        ),
        [m.randn(rows, k), m.randn(n, k), m.randn(n), m.randn(k)],
        flops=2.0 * rows * k * n,
    )


@case("products")
def rms_norm_linear(m: Inputs) -> Problem:
    rows, k, n = m.size(8192, 1024), m.size(2048, 512), m.size(2048, 512)
    return Problem(
        lambda x, w, g: ops.rms_norm_linear(x, w, norm_weight=g),
        lambda x, w, g: functional().linear(functional().rms_norm(x, (k,), g, 1e-6), w),
        [m.randn(rows, k), m.randn(n, k), m.randn(k)],
        flops=2.0 * rows * k * n,
    )
