"""Products beyond matmul: ragged groups, weights of few bits, a norm in front."""

from __future__ import annotations

import numpy as np
import pytest
from test_against_torch import compare

from tegula import ops

torch = pytest.importorskip("torch")
F = torch.nn.functional


def by_group(a, b, starts):
    ends = starts.tolist()
    parts = [a[ends[g] : ends[g + 1]] @ b[g] for g in range(len(b))]
    rest = a[ends[-1] :]
    return torch.cat([*parts, rest.new_zeros(len(rest), b.shape[2])])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_groups(where, dtype):
    """An empty group, one of a single row, one of several tiles, rows of no group."""
    sizes = [3, 0, 1, 70, 5]
    starts = torch.tensor([0, *np.cumsum(sizes)], device=where.device)
    a = where.randn(sum(sizes) + 4, 33, dtype=dtype)
    b = where.randn(len(sizes), 33, 40, dtype=dtype)
    compare(
        lambda a, b: ops.grouped_matmul(a, b, starts),
        lambda a, b: by_group(a, b, starts),
        [a, b],
        dtype,
    )


def widened(q, scales, zeros, bits):
    """The weights in float64."""
    q, scales = q.long(), scales.double()
    if bits == 4:
        q = torch.stack([q & 15, q >> 4], -1).flatten(1)
    q = q.reshape(*scales.shape, -1).double()
    if zeros is not None:
        q = q - zeros.double()[..., None]
    return (q * scales[..., None]).flatten(1)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("bits", [8, 4])
def test_few_bits(where, bits, zeros, dtype):
    weight = where.randn(40, 96, dtype=dtype, grad=False)
    q, scales, zero = ops.quantize(weight, bits, 32, zeros)
    wide = widened(q, scales, zero, bits)
    step = 2 * weight.abs().max().item() / (2**bits - 1)
    assert (wide - weight.double()).abs().max() <= step  # it is that weight
    again = ops.dequantize(q, scales, zero, bits)
    torch.testing.assert_close(again.double(), wide, rtol=1e-2, atol=0)
    x, bias = where.randn(2, 5, 96, dtype=dtype), where.randn(40, dtype=dtype)
    compare(
        lambda x, b: ops.quantized_linear(x, q, scales, zero, b, bits),
        lambda x, b: F.linear(x, wide, b),
        [x, bias],
        dtype,
    )


def test_groups_that_no_power_of_two_divides(where):
    weight = where.randn(8, 96, grad=False)
    q, scales, _ = ops.quantize(weight, 8, 48)
    wide = widened(q, scales, None, 8)
    compare(
        lambda x: ops.quantized_linear(x, q, scales),
        lambda x: F.linear(x, wide),
        [where.randn(20, 96)],
        "float32",
    )


@pytest.mark.parametrize("act", ["", "gelu"])
@pytest.mark.parametrize("name", ["layer_norm", "rms_norm"])
def test_a_norm_in_front(where, name, act):
    x, w, bias = where.randn(2, 5, 33), where.randn(20, 33), where.randn(20)
    gamma, beta = where.randn(33), where.randn(33)
    layer = name == "layer_norm"

    def ours(x, w, bias, gamma, beta):
        norm = {"norm_weight": gamma} | ({"norm_bias": beta} if layer else {})
        y = getattr(ops, f"{name}_linear")(x, w, bias, **norm, activation=act)
        return y if layer else y + 0 * beta.sum()

    def theirs(x, w, bias, gamma, beta):
        if layer:
            z = F.layer_norm(x, (33,), gamma, beta)
        else:
            z = F.rms_norm(x, (33,), gamma, 1e-6)
        y = F.linear(z, w, bias)
        y = F.gelu(y) if act else y
        return y if layer else y + 0 * beta.sum()

    compare(ours, theirs, [x, w, bias, gamma, beta], "float32")


def test_a_norm_in_front_of_half_types(where):
    x, w = (where.randn(*s, dtype="bfloat16") for s in ((40, 64), (70, 64)))
    compare(
        lambda x, w: ops.layer_norm_linear(x, w),
        lambda x, w: F.linear(F.layer_norm(x, (64,)), w),
        [x, w],
        "bfloat16",
    )


def test_numpy():
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(s, dtype=np.float32) for s in ((6, 5), (2, 5, 3)))
    got = ops.grouped_matmul(a, b, np.array([0, 4, 6]))
    np.testing.assert_allclose(got, np.vstack([a[:4] @ b[0], a[4:] @ b[1]]), atol=1e-5)
    norm = a / np.sqrt((a**2).mean(1, keepdims=True) + 1e-6)
    got = ops.rms_norm_linear(a, b[0].T, activation="relu")
    np.testing.assert_allclose(got, np.maximum(norm @ b[0], 0), atol=1e-5)
    weight = rng.standard_normal((7, 32), dtype=np.float32)
    x = rng.standard_normal((3, 32), dtype=np.float32)
    for bits, zeros in ((8, False), (4, False), (4, True)):
        q, scales, zero = ops.quantize(weight, bits, 16, zeros)
        given = [
            torch.from_numpy(z) if z is not None else None for z in (q, scales, zero)
        ]
        want = x @ widened(*given, bits).numpy().T
        got = ops.quantized_linear(x, q, scales, zero, bits=bits)
        np.testing.assert_allclose(got, want, atol=1e-4)


def test_what_is_refused():
    x, w = torch.ones(3, 32), torch.ones(4, 32)
    q, scales, _ = ops.quantize(w, 8, 16)
    cases = [
        (lambda: ops.quantized_linear(x, q, scales, bits=3), "4 or 8, not 3"),
        (lambda: ops.quantized_linear(x[:, :30], q, scales), "do not fit"),
        (lambda: ops.quantized_linear(x, q, scales[:, 0]), "expected \\[4, 32 / group"),
        (lambda: ops.quantized_linear(x, q, scales, bias=x[0]), "bias has shape"),
        (lambda: ops.layer_norm_linear(x, w, x[0]), r"bias has shape .*expected \[4\]"),
        (lambda: ops.rms_norm_linear(x, w, activation="mish"), "not 'mish'"),
        (lambda: ops.quantize(w, 8, 24), "a multiple of 16"),
        (lambda: ops.quantize(w, 8, 64), "no groups of 64"),
        (lambda: ops.grouped_matmul(x, w, torch.zeros(2).long()), r"\[G, K, N\]"),
        (
            lambda: ops.grouped_matmul(x, w.mT[None], torch.zeros(3).long()),
            r"expected \[2\]",
        ),
    ]
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError, match="weight is int8; expected uint8"):
        ops.quantized_linear(x, q, scales, bits=4)
    y = ops.quantized_linear(x, q, scales.clone().requires_grad_())
    with pytest.raises(RuntimeError, match="scales and zeros have no gradient"):
        y.sum().backward()
