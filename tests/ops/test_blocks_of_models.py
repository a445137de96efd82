"""The ops that models are made of: results and gradients beside torch's in float64."""

from __future__ import annotations

import importlib
import inspect

import numpy as np
import pytest
from test_against_torch import DTYPES, compare

import tegula
from tegula import ops

torch = pytest.importorskip("torch")
F = torch.nn.functional


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1,), (7, 11), (3000,)])
@pytest.mark.parametrize(
    "ours, theirs",
    [
        (ops.relu, F.relu),
        (ops.silu, F.silu),
        (ops.gelu, F.gelu),
        (
            lambda x: ops.gelu(x, "tanh"),
            lambda x: F.gelu(x, approximate="tanh"),
        ),
    ],
    ids=["relu", "silu", "gelu", "gelu_tanh"],
)
def test_activation(where, dtype, shape, ours, theirs):
    compare(ours, theirs, [where.randn(*shape, dtype=dtype)], dtype)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_gates(where, dtype):
    for ours, f in ((ops.swiglu, F.silu), (ops.geglu, F.gelu)):
        a, b = (where.randn(7, 300, dtype=dtype) for _ in range(2))
        compare(ours, lambda a, b, f=f: f(a) * b, [a, b], dtype)


def test_softmax_of_wide_rows(where):
    if where.is_emulated:
        pytest.skip("65537 elements a row take the emulator long")
    x = where.randn(2, 65537)
    compare(ops.softmax, lambda x: x.softmax(-1), [x], "float32")


def test_batched_matmul(where):
    a, b = where.randn(3, 33, 17), where.randn(3, 17, 65)
    compare(ops.matmul, lambda a, b: a @ b, [a, b], "float32")


@pytest.mark.parametrize("act", ["", "relu", "silu", "gelu", "gelu_tanh"])
def test_linear(where, act):
    def theirs(x, w, b):
        y = F.linear(x, w, b)
        kind = {"gelu_tanh": lambda y: F.gelu(y, approximate="tanh")}
        return kind.get(act, getattr(F, act, None))(y) if act else y

    x, w, b = where.randn(2, 5, 17), where.randn(9, 17), where.randn(9)
    compare(lambda *a: ops.linear(*a, activation=act), theirs, [x, w, b], "float32")


def test_add_rms_norm(where):
    def both(pair):
        return torch.cat(list(pair))

    x, r, w = where.randn(5, 33), where.randn(5, 33), where.randn(33)
    compare(
        lambda x, r, w: both(ops.add_rms_norm(x, r, w)),
        lambda x, r, w: both((F.rms_norm(x + r, (33,), w, 1e-6), x + r)),
        [x, r, w],
        "float32",
    )
    y, _ = ops.add_rms_norm(x, r, w)
    (dx,) = torch.autograd.grad(y.sum(), x)  # the sum unused
    wide = x.detach().double().requires_grad_()
    F.rms_norm(wide + r.double(), (33,), w.double(), 1e-6).sum().backward()
    torch.testing.assert_close(dx.double(), wide.grad, atol=1e-5, rtol=0)


@pytest.mark.parametrize("shape", [(2, 6, 5, 3), (1, 3, 1), (4, 12)])
def test_group_norm(where, shape):
    x, w, b = where.randn(*shape), where.randn(shape[1]), where.randn(shape[1])
    if shape == (1, 3, 1):  # one element a group: its gradient is rounding alone
        assert ops.group_norm(x, 3, w, b).detach().equal(b.detach()[None, :, None])
        return
    compare(
        lambda x, w, b: ops.group_norm(x, 3, w, b),
        lambda x, w, b: F.group_norm(x, 3, w, b),
        [x, w, b],
        "float32",
    )


@pytest.mark.parametrize("shape", [(1, 6, 53, 100), (1, 300, 30)])
def test_group_norm_of_large_groups(where, shape, monkeypatch):
    """More than a block, of few channels and of many, far from 0."""
    module = importlib.import_module("tegula.ops.group_norm")
    monkeypatch.setattr(module, "MOST_ON_CPU", module.MOST_ON_GPU)
    x, w, b = where.randn(*shape), where.randn(shape[1]), where.randn(shape[1])
    compare(
        lambda x, w, b: ops.group_norm(x + 3, 1, w, b),
        lambda x, w, b: F.group_norm(x + 3, 1, w, b),
        [x, w, b],
        "float32",
    )


def turned(x, cos, sin, interleaved):
    if interleaved:
        a, b = x[..., ::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2)
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


@pytest.mark.parametrize("interleaved", [False, True])
def test_rotary(where, interleaved):
    cos, sin = (where.randn(6, 5, grad=False) for _ in range(2))
    compare(
        lambda x: ops.rotary(x, cos, sin, interleaved),
        lambda x: turned(x, cos.double(), sin.double(), interleaved),
        [where.randn(2, 3, 6, 10)],
        "float32",
    )


def test_topk(where):
    x = where.randn(4, 37)
    compare(lambda x: ops.topk(x, 5)[0], lambda x: torch.topk(x, 5)[0], [x], "float32")
    ties = torch.tensor([[1.0, 3.0, float("nan"), 3.0, -0.5]], device=where.device)
    values, indices = ops.topk(ties, 4)
    assert indices.tolist() == [[2, 1, 3, 0]] and values[0, 1:].tolist() == [3, 3, 1]


def test_linear_cross_entropy(where, monkeypatch):
    # ops.linear_cross_entropy is the function
    module = importlib.import_module("tegula.ops.linear_cross_entropy")
    monkeypatch.setattr(module, "CHUNK", 70)  # two rows at a time
    target = torch.tensor([1, 2, -100, 4, 0], device=where.device)
    compare(
        lambda x, w: ops.linear_cross_entropy(x, w, target),
        lambda x, w: F.cross_entropy(x @ w.T, target),
        [where.randn(5, 17), where.randn(33, 17)],
        "float32",
    )


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_attention(where, causal, dtype):
    """Four heads share two, in rows of a length that is no power of two."""
    T = 20 if where.is_emulated else 70
    q = where.randn(2, 4, T, 24, dtype=dtype)
    k, v = (where.randn(2, 2, T, 24, dtype=dtype) for _ in range(2))
    compare(
        lambda q, k, v: ops.attention(q, k, v, causal),
        lambda q, k, v: F.scaled_dot_product_attention(
            q, k, v, is_causal=causal, enable_gqa=True
        ),
        [q, k, v],
        dtype,
    )


@tegula.jit
def window(batch, head, m, n):
    return (m >= n) & (m - n < 8 + head)


def test_attention_with_a_mask(where):
    i = torch.arange(50, device=where.device)
    head = torch.arange(2, device=where.device)[:, None, None]
    keep = (i[:, None] >= i) & (i[:, None] - i < 8 + head)
    compare(
        lambda q, k, v: ops.attention(q, k, v, mask=window),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=keep),
        [where.randn(1, 2, 50, 16) for _ in range(3)],
        "float32",
    )


@tegula.jit
def late(batch, head, m, n):
    return m > n + 2


def test_a_row_that_sees_nothing_is_zero(where):
    q, k, v = (where.randn(1, 1, 10, 16) for _ in range(3))
    y = ops.attention(q, k, v, mask=late)
    y.sum().backward()
    assert not y[:, :, :3].any() and y[:, :, 3:].any()
    assert not q.grad[:, :, :3].any() and q.grad.isfinite().all()


def test_dropout(where):
    x = where.randn(5000)
    y = ops.dropout(x, 0.3, seed=3)
    y.sum().backward()
    kept = y != 0
    assert 0.65 < kept.double().mean().item() < 0.75
    torch.testing.assert_close(y[kept], x[kept] / 0.7)
    assert torch.equal(x.grad != 0, kept)  # the same numbers, drawn again
    assert torch.equal(ops.dropout(x, 0.3, seed=3), y)
    assert not torch.equal(ops.dropout(x, 0.3, seed=4), y)
    assert ops.dropout(x, 0.3, training=False) is x and not ops.dropout(x, 1.0).any()


# --- torch.compile ------------------------------------------------------------------------
COMPILED = {
    "relu": (ops.relu, [(7, 11)]),
    "silu": (ops.silu, [(7, 11)]),
    "gelu": (ops.gelu, [(7, 11)]),
    "swiglu": (ops.swiglu, [(7, 11)] * 2),
    "geglu": (ops.geglu, [(7, 11)] * 2),
    "softmax": (ops.softmax, [(3, 33)]),
    "layer_norm": (ops.layer_norm, [(5, 33), (33,), (33,)]),
    "rms_norm": (ops.rms_norm, [(5, 33), (33,)]),
    "add_rms_norm": (lambda x, r: sum(ops.add_rms_norm(x, r)), [(5, 33)] * 2),
    "group_norm": (lambda x, w: ops.group_norm(x, 3, w), [(2, 6, 5), (6,)]),
    "linear": (
        lambda *a: ops.linear(*a, activation="gelu"),
        [(2, 5, 17), (9, 17), (9,)],
    ),
    "matmul": (ops.matmul, [(3, 5, 7), (3, 7, 4)]),
    "rotary": (lambda x: ops.rotary(x, COS, SIN), [(2, 6, 8)]),
    "topk": (lambda x: ops.topk(x, 3)[0], [(4, 37)]),
    "dropout": (lambda x: ops.dropout(x, 0.5, seed=2), [(40,)]),
    "cross_entropy": (lambda x: ops.cross_entropy(x, TARGET), [(5, 33)]),
    "linear_cross_entropy": (
        lambda x, w: ops.linear_cross_entropy(x, w, TARGET),
        [(5, 17), (33, 17)],
    ),
    "attention": (
        lambda q: ops.attention(q, q, q, True, mask=window),
        [(1, 2, 20, 16)],
    ),
    "attention_varlen": (
        lambda q: ops.attention_varlen(q, q, q, STARTS, STARTS, 4, 4, True),
        [(5, 2, 16)],
    ),
    "grouped_matmul": (
        lambda a, b: ops.grouped_matmul(a, b, STARTS),
        [(5, 7), (2, 7, 4)],
    ),
    "quantized_linear": (
        lambda x, b: ops.quantized_linear(x, *QUANTIZED, b, bits=4),
        [(3, 32), (8,)],
    ),
    "layer_norm_linear": (
        lambda x, w, g: ops.layer_norm_linear(x, w, norm_weight=g, activation="silu"),
        [(5, 17), (9, 17), (17,)],
    ),
    "rms_norm_linear": (
        lambda x, w, g: ops.rms_norm_linear(x, w, norm_weight=g),
        [(5, 17), (9, 17), (17,)],
    ),
}
STARTS = torch.tensor([0, 1, 5])
QUANTIZED = ops.quantize(torch.randn(8, 32), 4, 16)
TARGET = torch.tensor([1, 2, -100, 4, 0])
COS, SIN = torch.randn(6, 4).cos(), torch.randn(6, 4).sin()


@pytest.mark.parametrize("name", COMPILED)
def test_inside_of_a_compiled_function(name):
    """No graph break, forward and backward, whoever makes code of the graph."""
    f, shapes = COMPILED[name]
    args = [torch.randn(*s, requires_grad=True) for s in shapes]
    eager = f(*args)
    grads = torch.autograd.grad(eager.sum(), args)
    compiled = torch.compile(f, fullgraph=True, backend="aot_eager")
    for _ in range(2):
        again = compiled(*args)
        torch.testing.assert_close(again, eager)
        for g, h in zip(torch.autograd.grad(again.sum(), args), grads, strict=True):
            torch.testing.assert_close(g, h)


def test_no_op_is_left_out():
    public = {n for n, v in vars(ops).items() if inspect.isfunction(v) and n[0] != "_"}
    # The first two have no kernels; the last has no gradient, and a test of its own.
    assert public - {"quantize", "dequantize", "paged_attention"} == set(COMPILED)


def test_paged_attention_inside_of_a_compiled_function():
    q, kv = torch.randn(2, 2, 16), torch.randn(3, 4, 1, 16)
    given = q, kv, kv, torch.tensor([[2, 0], [1, 1]]), torch.tensor([6, 3])
    compiled = torch.compile(ops.paged_attention, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(*given), ops.paged_attention(*given))


def test_opcheck():
    """torch's own test of an op: schema, fake tensors, autograd."""
    x, w = torch.randn(5, 33, requires_grad=True), torch.randn(33, requires_grad=True)
    ops.rms_norm(x, w)
    from tegula.ops import registered

    torch.library.opcheck(registered.norm, (x, None, w, None, 1e-6, False))
    torch.library.opcheck(registered.softmax, (x,))


# --- NumPy --------------------------------------------------------------------------------
def test_numpy():
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((6, 8)).astype(np.float32) for _ in range(2))
    silu = x / (1 + np.exp(-x))
    np.testing.assert_allclose(ops.swiglu(x, y), silu * y, rtol=1e-5)
    np.testing.assert_allclose(ops.linear(x, y, y[:, 0]), x @ y.T + y[:, 0], atol=1e-5)
    values, places = ops.topk(x, 3)
    np.testing.assert_array_equal(places, np.argsort(-x, axis=1)[:, :3])
    np.testing.assert_array_equal(values, -np.sort(-x, axis=1)[:, :3])
    total, norm = x + y, np.sqrt(((x + y) ** 2).mean(1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(ops.add_rms_norm(x, y)[0], total / norm, rtol=1e-5)
    q = x[None, None]
    s = x @ x.T / np.sqrt(8)
    p = np.exp(s - s.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    np.testing.assert_allclose(ops.attention(q, q, q)[0, 0], p @ x, atol=1e-5)
    dropped = ops.dropout(x, 0.5, seed=1)
    assert set(np.unique(dropped / x).round(4)) == {0.0, 2.0}
    cos, sin = np.cos(y[:, :4]), np.sin(y[:, :4])
    a, b = x[:, :4], x[:, 4:]
    expected = np.hstack([a * cos - b * sin, b * cos + a * sin])
    np.testing.assert_allclose(ops.rotary(x, cos, sin), expected, atol=1e-6)


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (lambda x: ops.swiglu(x, x[:2]), ValueError, r"up has shape \[2, 8\]"),
        (lambda x: ops.gelu(x, "exact"), ValueError, "none or tanh, not 'exact'"),
        (lambda x: ops.linear(x, x, activation="mish"), ValueError, "not 'mish'"),
        (lambda x: ops.linear(x, x, x[0, :3]), ValueError, r"bias has shape \[3\]"),
        (lambda x: ops.linear(x, x.T), ValueError, r"weight \[8, 4\]; expected"),
        (
            lambda x: ops.attention(x[None, :3, None], *[x[None, :2, None]] * 2),
            ValueError,
            "3 heads of q are no multiple of k's 2",
        ),
        (lambda x: ops.quantize(x, 3), ValueError, "bits is 4 or 8, not 3"),
        (lambda x: ops.topk(x, 9), ValueError, "between 1 and 8, not 9"),
        (lambda x: ops.group_norm(x, 3), ValueError, "multiple of the 3 groups"),
        (lambda x: ops.rotary(x, x, x), ValueError, r"cos has shape .* \[4, 4\]"),
        (lambda x: ops.dropout(x, 1.5), ValueError, "a probability, not 1.5"),
        (lambda x: ops.attention(x, x, x), ValueError, r"expected \[B, H, M, D\]"),
        (
            lambda x: ops.attention(
                *[x[None, None]] * 3, mask=lambda b, h, m, n: m > n
            ),
            TypeError,
            "a function under @jit",
        ),
        (lambda x: ops.add_rms_norm(x, x[:1]), ValueError, "residual has shape"),
    ],
)
def test_refused(call, kind, message):
    with pytest.raises(kind, match=message):
        call(np.ones((4, 8), np.float32))


# --- a model ------------------------------------------------------------------------------
class Library:
    """The functions a GPT is made of, by torch."""

    softmax_cross_entropy = staticmethod(F.cross_entropy)
    linear = staticmethod(F.linear)

    @staticmethod
    def norm(x, w):
        return F.rms_norm(x, x.shape[-1:], w, 1e-6)

    @staticmethod
    def mlp(x, gate, up):
        return F.silu(F.linear(x, gate)) * F.linear(x, up)

    @staticmethod
    def rotary(x, cos, sin):
        return turned(x, cos, sin, False)

    @staticmethod
    def attention(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class Ours:
    """The same by tegula."""

    softmax_cross_entropy = staticmethod(ops.cross_entropy)
    linear = staticmethod(ops.linear)
    norm = staticmethod(ops.rms_norm)
    rotary = staticmethod(ops.rotary)

    @staticmethod
    def mlp(x, gate, up):
        return ops.swiglu(ops.linear(x, gate), ops.linear(x, up))

    @staticmethod
    def attention(q, k, v):
        return ops.attention(q, k, v, causal=True)


def train(lib, steps=30, T=24, D=32, H=2, vocabulary=19):
    """The losses of a GPT of two layers that learns to count by threes."""
    torch.manual_seed(1)
    shapes = {"embed": (vocabulary, D), "out": (vocabulary, D), "last": (D,)}
    for i in range(2):
        shapes |= {f"qkv{i}": (3 * D, D), f"o{i}": (D, D), f"n{i}": (D,), f"m{i}": (D,)}
        shapes |= {f"gate{i}": (2 * D, D), f"up{i}": (2 * D, D), f"down{i}": (D, 2 * D)}
    p = {
        k: (torch.ones(s) if len(s) == 1 else torch.randn(s) * 0.1).requires_grad_()
        for k, s in shapes.items()
    }
    angle = torch.arange(T)[:, None] / 100 ** (
        torch.arange(D // H // 2) / (D // H // 2)
    )
    cos, sin = angle.cos(), angle.sin()
    optimizer = torch.optim.AdamW(p.values(), lr=1e-2)
    losses = []
    for _ in range(steps):
        text = (
            torch.randint(vocabulary, (8, 1)) + 3 * torch.arange(T + 1)
        ) % vocabulary
        x = p["embed"][text[:, :-1]]
        for i in range(2):
            qkv = lib.linear(lib.norm(x, p[f"n{i}"]), p[f"qkv{i}"])
            q, k, v = qkv.view(8, T, 3, H, D // H).permute(2, 0, 3, 1, 4)
            a = lib.attention(lib.rotary(q, cos, sin), lib.rotary(k, cos, sin), v)
            x = x + lib.linear(a.transpose(1, 2).reshape(8, T, D), p[f"o{i}"])
            h = lib.mlp(lib.norm(x, p[f"m{i}"]), p[f"gate{i}"], p[f"up{i}"])
            x = x + lib.linear(h, p[f"down{i}"])
        logits = lib.linear(lib.norm(x, p["last"]), p["out"]).view(-1, vocabulary)
        loss = lib.softmax_cross_entropy(logits, text[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_a_small_gpt_learns_as_with_torch():
    with tegula.knobs.runtime.scope():
        tegula.knobs.runtime.num_threads = 1  # kernels of microseconds
        theirs, ours = train(Library), train(Ours)
    assert theirs[-1] < 0.3 * theirs[0]  # it learns
    np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=2e-3)


def test_modules():
    from tegula.ops import nn

    x = torch.randn(3, 16)
    pairs = [
        (nn.Linear(16, 5, activation="gelu"), torch.nn.Linear(16, 5), F.gelu),
        (nn.LayerNorm(16), torch.nn.LayerNorm(16), lambda y: y),
        (nn.RMSNorm(16), torch.nn.RMSNorm(16), lambda y: y),
        (nn.GroupNorm(4, 16), torch.nn.GroupNorm(4, 16), lambda y: y),
        (nn.GELU("tanh"), torch.nn.GELU("tanh"), lambda y: y),
        (nn.SiLU(), torch.nn.SiLU(), lambda y: y),
    ]
    for mine, theirs, after in pairs:
        theirs.load_state_dict(mine.state_dict())
        torch.testing.assert_close(mine(x), after(theirs(x)))
    layer = nn.Dropout(0.5)
    assert (layer(x) == 0).any() and layer.eval()(x) is x
    with pytest.raises(ValueError, match="last side alone"):
        nn.LayerNorm((3, 16))


def test_modules_of_losses_and_rows():
    from tegula.ops import nn

    x, target = torch.randn(6, 11), torch.tensor([0, 3, 10, -100, 5, 1])
    pairs = [
        (nn.ReLU(), torch.nn.ReLU(), (x,)),
        (nn.Softmax(1), torch.nn.Softmax(1), (x,)),
        (nn.CrossEntropyLoss(), torch.nn.CrossEntropyLoss(), (x, target)),
        (
            nn.CrossEntropyLoss(reduction="sum", ignore_index=3),
            torch.nn.CrossEntropyLoss(reduction="sum", ignore_index=3),
            (x, target.clamp(min=0)),
        ),
    ]
    for ours, theirs, args in pairs:
        torch.testing.assert_close(ours(*args), theirs(*args))
    with pytest.raises(ValueError, match="of the last side alone"):
        nn.Softmax(0)(x)
    with pytest.raises(ValueError, match="no weight and no label_smoothing"):
        nn.CrossEntropyLoss(label_smoothing=0.1)(x, target.clamp(min=0))


def test_the_gradient_of_a_target_is_rounded_once():
    torch.manual_seed(0)
    x = (0.1 * torch.randn(256, 4096)).requires_grad_()
    target, up = torch.randint(4096, (256,)), torch.rand(256) + 1
    (got,) = torch.autograd.grad(ops.cross_entropy(x, target, reduction="none"), x, up)
    wide = x.detach().double().requires_grad_()
    (want,) = torch.autograd.grad(
        F.cross_entropy(wide, target, reduction="none"), wide, up.double()
    )
    at = torch.arange(256), target
    assert float((got[at] / want[at] - 1).abs().max()) <= 1.1 * 2**-24
