"""torch.func's transforms, second derivatives, pickling: asked of any op of torch."""

from __future__ import annotations

import copy
import pickle

import pytest

import tegula
import tegula.language as tl
from tegula import ops

torch = pytest.importorskip("torch")

from torch.func import functional_call, grad, jacrev, jvp, vmap  # noqa: E402

from tegula.torch import custom_op  # noqa: E402


@tegula.jit
def scale_kernel(x_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n) * tl.load(w_ptr + i, mask=i < n)
    tl.store(y_ptr + i, x, mask=i < n)


def launch(x, w):
    x, w = x.contiguous(), w.contiguous()
    y = torch.empty_like(x)
    scale_kernel[(tegula.cdiv(x.numel(), 16),)](x, w, y, x.numel(), BLOCK=16)
    return y


@custom_op("tegula_tests::scaled_twice")
def scaled_twice(
    x: torch.Tensor, ws: list[torch.Tensor], a: float = 1.0
) -> tuple[torch.Tensor, torch.Tensor]:
    y = launch(x, ws[0])
    return y, launch(y, ws[1]) * a


@custom_op("tegula_tests::multiplied")
def multiplied(x: torch.Tensor, w: torch.Tensor, a: float = 1.0) -> torch.Tensor:
    return launch(x, w) * a


@multiplied.backward
def _(args, outs, grads):
    x, w, a = args
    return launch(grads[0], w) * a, launch(grads[0], x) * a, None


def rms(x, w):
    return ops.rms_norm(x, w, eps=1e-5)


def plain_rms(x, w):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * w


PAIRS = {
    "op": (rms, plain_rms),
    "custom op": (multiplied, lambda x, w: x * w),
    "by keyword": (lambda x, w: multiplied(x, a=2, w=w), lambda x, w: x * w * 2),
}


@pytest.mark.parametrize("ours, theirs", PAIRS.values(), ids=PAIRS)
def test_transforms(ours, theirs):
    x, w = torch.randn(3, 8), torch.randn(8)

    def squares(f):
        return lambda w, x: (f(x, w) ** 2).sum()

    for transformed in (
        lambda f: vmap(f, (0, None))(x, w),
        lambda f: grad(squares(f))(w, x[0]),
        lambda f: grad(squares(f), 1)(w, x[0]),
        lambda f: vmap(grad(squares(f)), (None, 0))(w, x),
        lambda f: jacrev(f)(x[0], w),
        lambda f: vmap(vmap(f, (0, None)), (None, 0))(x, torch.stack([w, -w])),
    ):
        torch.testing.assert_close(transformed(ours), transformed(theirs))


def test_gradients_of_each_sample():
    linear = torch.nn.Linear(8, 8)
    x, weights = torch.randn(5, 8), dict(linear.named_parameters())

    def loss(softmax):
        return lambda w, x: (softmax(functional_call(linear, w, (x,))) ** 2).sum()

    def each(softmax):
        return vmap(grad(loss(softmax)), (None, 0))(weights, x)

    torch.testing.assert_close(each(ops.softmax), each(lambda x: x.softmax(-1)))


def test_vmap_of_lists_and_several_results():
    x, ws = torch.randn(3, 8), torch.randn(2, 8)
    y, z = vmap(lambda x: scaled_twice(x, [ws[0], ws[1]], 2.0))(x)
    torch.testing.assert_close(y, x * ws[0])
    torch.testing.assert_close(z, x * ws[0] * ws[1] * 2)
    y, _ = vmap(lambda w: scaled_twice(x[0], [w, w]))(ws)
    torch.testing.assert_close(y, x[0] * ws)


def test_forward_mode_is_refused():
    x = torch.randn(8)
    for f in (ops.softmax, lambda x: multiplied(x, x)):
        with pytest.raises(RuntimeError, match="no derivative forward"):
            jvp(f, (x,), (x,))


def test_a_second_derivative_is_refused_not_zero():
    x = torch.randn(8, requires_grad=True)
    (dx,) = torch.autograd.grad((ops.softmax(x) ** 2).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="softmax cannot be differentiated twice"):
        torch.autograd.grad(dx.sum(), x)
    with pytest.raises(RuntimeError, match="cannot be differentiated twice"):
        torch.autograd.functional.hessian(lambda x: (ops.softmax(x) ** 2).sum(), x)
    for f in (ops.softmax, lambda x: multiplied(x, x)):
        with pytest.raises(RuntimeError, match="has no derivative"):
            jacrev(jacrev(f))(x.detach())


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.op = multiplied
        self.kernel = scale_kernel

    def forward(self, x):
        return self.op(x, x)


def test_a_module_that_holds_an_op_is_copied_and_pickled():
    x = torch.randn(8)
    for copied in (copy.deepcopy(Model()), pickle.loads(pickle.dumps(Model()))):
        assert copied.op is multiplied and copied.kernel is scale_kernel
        torch.testing.assert_close(copied(x), x * x)


def test_shapes_alone():
    x = torch.empty(2, 8, device="meta")
    assert ops.softmax(x).shape == (2, 8) and ops.softmax(x).is_meta
    assert multiplied(x, x).is_meta
