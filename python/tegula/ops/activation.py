"""Elementwise functions and their gradients, and gates: f(gate) * up in one pass.

A kernel takes the function by its name, a constant of the compile; the products of gates
read both sides once and write once, where torch's eager code reads and writes six times.
"""

from __future__ import annotations

from typing import Any

import tegula
import tegula.language as tl
from tegula.ops import arrays

NAMES = ("", "relu", "silu", "gelu", "gelu_tanh")
BLOCK = 1024


@tegula.jit
def apply(x, NAME: tl.constexpr):
    """f(x)."""
    if NAME == "relu":
        x = tl.maximum(x, 0.0)
    elif NAME == "silu":
        x = x / (1.0 + tl.exp(-x))
    elif NAME == "gelu":
        x = 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    elif NAME == "gelu_tanh":
        # (1 + tanh(u)) / 2 is 1 / (1 + exp(-2 u))
        x = x / (1.0 + tl.exp(-1.5957691216057308 * (x + 0.044715 * x * x * x)))
    return x


@tegula.jit
def slope(x, NAME: tl.constexpr):
    """f'(x)."""
    d = x * 0.0 + 1.0
    if NAME == "relu":
        d = tl.where(x > 0.0, 1.0, 0.0).to(x.dtype)
    elif NAME == "silu":
        s = 1.0 / (1.0 + tl.exp(-x))
        d = s * (1.0 + x * (1.0 - s))
    elif NAME == "gelu":
        d = 0.5 * (1.0 + tl.erf(x * 0.7071067811865476))
        d += x * 0.3989422804014327 * tl.exp(-0.5 * x * x)
    elif NAME == "gelu_tanh":
        u = 1.5957691216057308 * (x + 0.044715 * x * x * x)
        s = 1.0 / (1.0 + tl.exp(-u))
        d = s + x * s * (1.0 - s) * 1.5957691216057308 * (1.0 + 0.134145 * x * x)
    return d


@tegula.jit
def forward_kernel(
    x_ptr, up_ptr, y_ptr, n,
    NAME: tl.constexpr, ACC: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    y = apply(tl.load(x_ptr + i, mask=i < n).to(ACC), NAME)
    if up_ptr is not None:
        y = y * tl.load(up_ptr + i, mask=i < n).to(ACC)
    tl.store(y_ptr + i, y, mask=i < n)


@tegula.jit
def backward_kernel(
    x_ptr, up_ptr, dy_ptr, dx_ptr, dup_ptr, n,
    NAME: tl.constexpr, ACC: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n).to(ACC)
    dy = tl.load(dy_ptr + i, mask=i < n).to(ACC)
    if up_ptr is not None:
        tl.store(dup_ptr + i, dy * apply(x, NAME), mask=i < n)
        dy = dy * tl.load(up_ptr + i, mask=i < n).to(ACC)
    tl.store(dx_ptr + i, dy * slope(x, NAME), mask=i < n)


def _launch(kernel: Any, given: tuple, outs: tuple, name: str) -> None:
    given = tuple(None if a is None else arrays.contiguous(a) for a in given)
    n = arrays.size(outs[0])
    kernel[(tegula.cdiv(n, BLOCK),)](
        *given, *outs, n, NAME=name, ACC=arrays.accumulator(outs[0])[0], BLOCK=BLOCK
    )


def run(outs: tuple, x: Any, up: Any, name: str) -> None:
    _launch(forward_kernel, (x, up), outs, name)


def backward_outputs(x: Any, up: Any, dy: Any, name: str) -> tuple:
    """dx, and dup where there is an up."""
    return arrays.empty(x, x.shape), arrays.empty(x, (0,) if up is None else x.shape)


def run_backward(outs: tuple, x: Any, up: Any, dy: Any, name: str) -> None:
    outs = outs if up is not None else (outs[0], None)
    _launch(backward_kernel, (x, up, dy), outs, name)


def gradient(args: Any, outs: Any, grads: Any, wanted: Any) -> tuple:
    x, up, name = args
    dx, dup = _backward(x, up, grads[0], name)
    return dx, None if up is None else dup


_backward = arrays.Op(
    "activation_backward(Tensor x, Tensor? up, Tensor dy, str name) -> (Tensor, Tensor)",
    backward_outputs,
    run_backward,
)
_activation = arrays.Op(
    "activation(Tensor x, Tensor? up, str name) -> Tensor",
    lambda x, *_: (arrays.empty(x, x.shape),),
    run,
    gradient,
)


def _call(op: str, name: str, x: Any, up: Any = None) -> Any:
    arrays.check_arrays(op, x=x, up=up)
    if up is not None and tuple(up.shape) != tuple(x.shape):
        raise ValueError(
            f"{op}: up has shape {list(up.shape)}, and gate has {list(x.shape)}"
        )
    return _activation(x, up, name)[0]


def relu(x: Any) -> Any:
    """``max(x, 0)``, f16 to f64, any shape."""
    return _call("relu", "relu", x)


def silu(x: Any) -> Any:
    """``x * sigmoid(x)``, f16 to f64, any shape."""
    return _call("silu", "silu", x)


def gelu(x: Any, approximate: str = "none") -> Any:
    """``x * P(N(0, 1) < x)``; approximate="tanh" is the form of GPT-2."""
    if approximate not in ("none", "tanh"):
        raise ValueError(f"gelu: approximate is none or tanh, not {approximate!r}")
    return _call("gelu", "gelu_tanh" if approximate == "tanh" else "gelu", x)


def swiglu(gate: Any, up: Any) -> Any:
    """``silu(gate) * up``, both of one shape and dtype; two reads, one write."""
    return _call("swiglu", "silu", gate, up)


def geglu(gate: Any, up: Any) -> Any:
    """``gelu(gate) * up``, both of one shape and dtype; two reads, one write."""
    return _call("geglu", "gelu", gate, up)
