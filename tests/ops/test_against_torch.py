"""Every op and its gradients beside torch's, in float64 of the same inputs."""

from __future__ import annotations

import pytest

from tegula import ops

# Of the largest value: a few roundings of the type the result is stored in.
TOLERANCE = {"float64": 1e-12, "float32": 2e-6, "float16": 2e-3, "bfloat16": 1.6e-2}
DTYPES = list(TOLERANCE)


def compare(ours, theirs, tensors, dtype):
    """ours(*tensors) and its gradients against theirs in float64."""
    import torch

    wide = [t.detach().double().requires_grad_(t.requires_grad) for t in tensors]
    got, expected = ours(*tensors), theirs(*wide)
    grad = torch.randn(expected.shape, dtype=torch.float64).to(expected.device)
    grad = grad.to(got.dtype)
    got.backward(grad)
    expected.backward(grad.double())
    pairs = [("result", got, expected)]
    pairs += [(f"gradient {i}", t.grad, w.grad) for i, (t, w) in
              enumerate(zip(tensors, wide, strict=True)) if t.requires_grad]  # fmt: skip
    for name, x, y in pairs:
        assert x.shape == y.shape, name
        if x.numel():
            bound = TOLERANCE[dtype] * max(1.0, y.abs().max().item())
            assert (x.double() - y).abs().max().item() <= bound, name


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (3, 33), (2, 3, 100), (4, 1000)])
def test_softmax(where, dtype, shape):
    x = where.randn(*shape, dtype=dtype)
    compare(ops.softmax, lambda x: x.softmax(-1), [x], dtype)


def test_softmax_of_a_view(where):
    x = where.randn(40, 6)
    compare(lambda x: ops.softmax(x.T), lambda x: x.T.softmax(-1), [x], "float32")


def test_softmax_without_rows(where):
    x = where.randn(0, 5)
    assert ops.softmax(x).shape == (0, 5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (3, 33), (2, 3, 100), (130, 64)])
def test_layer_norm(where, dtype, shape):
    import torch

    n = shape[-1:]
    x, w, b = (where.randn(*s, dtype=dtype) for s in (shape, n, n))
    compare(
        ops.layer_norm,
        lambda x, w, b: torch.nn.functional.layer_norm(x, n, w, b),
        [x, w, b],
        "float16" if dtype == "float32" and shape[-1] == 1 else dtype,
    )


def test_layer_norm_alone(where):
    import torch

    x = where.randn(5, 33)
    compare(
        ops.layer_norm,
        lambda x: torch.nn.functional.layer_norm(x, (33,)),
        [x],
        "float32",
    )


def test_layer_norm_of_what_wants_no_gradient(where):
    import torch

    x, w, b = where.randn(5, 33), where.randn(33, grad=False), where.randn(33)
    compare(
        ops.layer_norm,
        lambda x, w, b: torch.nn.functional.layer_norm(x, (33,), w, b),
        [x, w, b],
        "float32",
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (3, 33), (2, 3, 100), (130, 64)])
def test_rms_norm(where, dtype, shape):
    import torch

    x, w = where.randn(*shape, dtype=dtype), where.randn(shape[-1], dtype=dtype)
    compare(
        ops.rms_norm,
        lambda x, w: torch.nn.functional.rms_norm(x, shape[-1:], w, 1e-6),
        [x, w],
        dtype,
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (5, 33), (3, 5000)])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy(where, dtype, shape, reduction):
    import torch

    x = where.randn(*shape, dtype=dtype)
    target = torch.randint(shape[1], shape[:1]).to(where.device)
    if shape[0] > 1:
        target[1] = -100
    compare(
        lambda x: ops.cross_entropy(x, target, reduction=reduction),
        lambda x: torch.nn.functional.cross_entropy(x, target, reduction=reduction),
        [x],
        dtype,
    )


def test_cross_entropy_of_certainty(where):
    """Logits of -inf are probabilities of 0; a class that is not there is a NaN."""
    import torch

    inf = float("inf")
    x = torch.tensor([[0.0, -inf], [-inf, 2.0], [1.0, 2.0]], device=where.device)
    target = torch.tensor([0, 1, 2], device=where.device)
    loss = ops.cross_entropy(x, target, reduction="none").cpu()
    assert loss[:2].tolist() == [0.0, 0.0]
    assert loss[2].isnan()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1, 1), (33, 65, 17), (70, 40, 130)])
def test_matmul(where, dtype, shape):
    M, N, K = shape
    a, b = where.randn(M, K, dtype=dtype), where.randn(K, N, dtype=dtype)
    compare(ops.matmul, lambda a, b: a @ b, [a, b], dtype)


def test_matmul_of_views(where):
    a, b = where.randn(40, 33), where.randn(50, 40)
    compare(
        lambda a, b: ops.matmul(a.T, b.T), lambda a, b: a.T @ b.T, [a, b], "float32"
    )


@pytest.mark.parametrize("op", ["softmax", "layer_norm", "rms_norm"])
def test_gradcheck(where, op):
    import torch

    x = where.randn(3, 7, dtype="float64")
    assert torch.autograd.gradcheck(getattr(ops, op), (x,))


def test_no_gradient_of_a_gradient(where):
    import torch

    x = where.randn(3, 7)
    (dx,) = torch.autograd.grad((ops.softmax(x) ** 2).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="twice"):
        dx.sum().backward()
