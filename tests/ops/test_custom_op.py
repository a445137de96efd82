"""``tegula.torch``: kernels of one's own inside of a compiled function."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import tegula
import tegula.language as tl

torch = pytest.importorskip("torch")

from tegula.torch import custom_op, triton_op, wrap_triton  # noqa: E402


@tegula.jit
def scale_kernel(x_ptr, w_ptr, y_ptr, n, a, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    if w_ptr is not None:
        x = x * tl.load(w_ptr + i, mask=i < n)
    tl.store(y_ptr + i, x * a, mask=i < n)


@tegula.autotune(
    [tegula.Config({"BLOCK": 32}), tegula.Config({"BLOCK": 64})], key=["n"]
)
@tegula.jit
def double_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, 2 * tl.load(x_ptr + i, mask=i < n), mask=i < n)


def launch(x, w, a):
    y = torch.empty_like(x)
    n = x.numel()
    scale_kernel[(tegula.cdiv(n, 32),)](x, w, y, n, a, BLOCK=32)
    return y


@custom_op("tegula_tests::scaled")
def scaled(x: torch.Tensor, w: torch.Tensor | None, a: float = 2.0) -> torch.Tensor:
    """x * w * a."""
    return launch(x.contiguous(), w, a)


@scaled.backward
def _(args, outs, grads):
    x, w, a = args
    (dy,) = (g.contiguous() for g in grads)
    return launch(dy, w, a), None if w is None else launch(dy, x.contiguous(), a), None


def plain(x, w, a=2.0):
    return x * a if w is None else x * w * a


@pytest.mark.parametrize("has_w", [True, False])
@pytest.mark.parametrize("dynamic", [False, True])
def test_forward_and_backward_without_a_break(has_w, dynamic):
    def f(op, x, w):
        return op(x.sin(), w, 3.0).cos() + op(x, w)

    options = {"fullgraph": True, "backend": "aot_eager", "dynamic": dynamic}
    compiled = torch.compile(lambda x, w: f(scaled, x, w), **options)
    for n in (40, 50):
        x, w = (torch.randn(n, requires_grad=True) for _ in range(2))
        leaves = [x, w] if has_w else [x]
        w = w if has_w else None
        want = f(plain, x, w)
        grads = torch.autograd.grad(want.sum(), leaves)
        for got in (f(scaled, x, w), compiled(x, w)):
            torch.testing.assert_close(got, want)
            found = torch.autograd.grad(got.sum(), leaves)
            torch.testing.assert_close(found, grads)


def test_torch_finds_nothing_wrong_with_it():
    x, w = (torch.randn(40, requires_grad=True) for _ in range(2))
    torch.library.opcheck(scaled.op, (x, w, 3.0))
    # Memory in another order than the gradient that a kernel leaves.
    torch.library.opcheck(scaled.op, (torch.randn(4, 6).T.requires_grad_(), None))
    given = [torch.randn(5, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    assert torch.autograd.gradcheck(scaled, given)


def test_only_what_is_wanted():
    x, w = torch.randn(5), torch.randn(5, requires_grad=True)
    scaled(x, w).sum().backward()
    torch.testing.assert_close(w.grad, 2 * x)


def test_an_autotuned_kernel_and_a_name_of_its_own():
    @custom_op
    def doubled(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y, z = torch.empty_like(x), torch.empty(3)
        double_kernel[lambda m: (tegula.cdiv(x.numel(), m["BLOCK"]),)](x, y, x.numel())
        return y, z.fill_(1)

    x = torch.randn(70)
    compiled = torch.compile(doubled, fullgraph=True, backend="aot_eager")
    for y, z in (doubled(x), compiled(x)):
        assert torch.equal(y, 2 * x) and z.tolist() == [1, 1, 1]
    assert "doubled" in doubled.name and "::" in doubled.name
    # A launch outside of the trace is a launch again.
    y = torch.zeros(70)
    double_kernel[(3,)](x, y, 70)
    assert torch.equal(y, 2 * x)


def test_an_op_that_writes_to_what_it_is_given():
    @custom_op("tegula_tests::double_in_place", mutates_args=["x"])
    def double(x: torch.Tensor) -> None:
        scale_kernel[(1,)](x, None, x, x.numel(), 2.0, BLOCK=32)

    def f(x):
        y = x + 1
        double(y)
        return y

    compiled = torch.compile(f, fullgraph=True, backend="aot_eager")
    assert compiled(torch.ones(4)).tolist() == [4] * 4


# --- what cannot be -----------------------------------------------------------------------
def test_a_function_that_looks_at_numbers():
    def compacted(x: torch.Tensor) -> torch.Tensor:
        n = int((x > 0).sum())
        y = torch.zeros(x.numel())
        y[:n] = 1
        return y

    op = custom_op("tegula_tests::compacted")(compacted)
    compiled = torch.compile(lambda x: op(x), fullgraph=True, backend="aot_eager")
    with pytest.raises(Exception, match=r"without memory.*@compacted\.fake"):
        compiled(torch.ones(3))

    @op.fake
    def _(x):
        return x.new_empty(x.numel())

    assert compiled(torch.ones(3)).tolist() == [1, 1, 1]


def test_messages():
    with pytest.raises(TypeError, match="every parameter and the result need"):
        custom_op("tegula_tests::nothing_said")(lambda x: x)

    @custom_op("tegula_tests::wrong_gradient")
    def wrong(x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @wrong.backward
    def _(args, outs, grads):
        return grads[0][:2]

    with pytest.raises(RuntimeError, match=r"gradient 0 is torch.float32 \[2\]"):
        wrong(torch.ones(3, requires_grad=True)).sum().backward()
    with pytest.raises(RuntimeError, match="there is a backward function"):
        wrong.backward(lambda args, outs, grads: None)

    @custom_op("tegula_tests::counted")
    def counted(x: torch.Tensor) -> int:
        return x.numel()

    with pytest.raises(TypeError, match="results that are tensors, not int"):
        counted.backward(lambda args, outs, grads: None)


def test_wrap_triton_says_what_it_needs():
    if tegula.compat.is_installed():
        pytest.skip("another test made triton ours")
    with pytest.raises(RuntimeError, match=r"tegula.compat.install\(\)"):
        wrap_triton(scale_kernel)
    with pytest.raises(RuntimeError, match="which needs no Triton"):
        triton_op("tegula_tests::t", mutates_args=())


TRITONS_WAY = """
import tegula.compat
tegula.compat.install()
import torch, triton
import triton.language as tl
from tegula.torch import triton_op, wrap_triton

@triton.jit
def scale_kernel(x_ptr, y_ptr, n, a, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n) * a, mask=i < n)

@triton_op("tegula_tests::scaled", mutates_args={})
def scaled(x: torch.Tensor, a: float) -> torch.Tensor:
    y = torch.empty_like(x)
    wrap_triton(scale_kernel)[(triton.cdiv(x.numel(), 32),)](x, y, x.numel(), a, BLOCK=32)
    return y

def backward(ctx, dy):
    return scaled(dy.contiguous(), ctx.a), None

def setup_context(ctx, inputs, output):
    ctx.a = inputs[1]

scaled.register_autograd(backward, setup_context=setup_context)
torch.manual_seed(0)
x = torch.randn(50, requires_grad=True)
f = torch.compile(lambda x: scaled(x.sin(), 3.0) + 1, fullgraph=True, backend="aot_eager")
for g in (lambda x: scaled(x.sin(), 3.0) + 1, f):
    y = g(x)
    torch.testing.assert_close(y, x.sin() * 3 + 1)
    (dx,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(dx, 3 * x.cos())
"""


@pytest.mark.slow
def test_tritons_way(tmp_path):
    script = tmp_path / "script.py"  # a kernel's source must be found
    script.write_text(TRITONS_WAY)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr


def test_a_kernel_is_no_op_and_a_name_has_two_parts():
    with pytest.raises(TypeError, match="scale_kernel is a kernel; the op is a func"):
        custom_op("tegula_tests::kernel")(scale_kernel)
    with pytest.raises(ValueError, match="the name is 'yours::scaled', not 'scaled'"):
        custom_op("scaled")(launch)


def test_a_tensor_of_vmap_is_told_of_ops():
    rows = torch.ones(2, 32)
    with pytest.raises(TypeError, match=r"tegula\.torch\.custom_op makes an op of"):
        torch.vmap(lambda x: launch(x, None, 2.0))(rows)
