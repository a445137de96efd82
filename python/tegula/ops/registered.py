"""What torch knows of the ops: made when first asked for, so that nobody imports torch.

``registered.softmax`` is ``torch.ops.tegula.softmax``, and ``registered.Function`` the way
of eager tensors into autograd. A module's ``__getattr__`` is run, not traced, by Dynamo:
an op may be met for the first time inside of a compiled function.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from tegula.ops import arrays

    if name == "Function":
        made = _function()
    elif name in arrays.BY_NAME:
        made = _register(arrays.BY_NAME[name])
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = made
    return made


def _register(op: Any) -> Any:
    import torch

    def one(outs: tuple) -> Any:
        return outs[0] if len(outs) == 1 else outs

    def compute(*args: Any) -> Any:
        return one(op.compute(*args))

    def fake(*args: Any) -> Any:
        return one(op.outputs(*args))

    made = torch.library.custom_op(
        f"tegula::{op.name}", compute, mutates_args=(), schema=op.signature
    )
    made.register_fake(fake)

    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        _keep(ctx, inputs, output if isinstance(output, (tuple, list)) else (output,))

    def backward(ctx: Any, *grads: Any) -> tuple:
        return _gradients(op, ctx, grads, ctx.needs_input_grad)

    if op.gradient:
        made.register_autograd(backward, setup_context=setup_context)
    return getattr(torch.ops.tegula, op.name).default


def _keep(ctx: Any, args: tuple, outs: Any) -> None:
    """Tensors where autograd watches over them, the rest beside."""
    import torch

    tensors = [x for x in (*args, *outs) if isinstance(x, torch.Tensor)]
    ctx.save_for_backward(*tensors)
    ctx.rest = [None if isinstance(x, torch.Tensor) else (x,) for x in (*args, *outs)]
    ctx.n_args = len(args)


def _gradients(op: Any, ctx: Any, grads: tuple, wanted: Any) -> tuple:
    if all(g is None for g in grads):
        return (None,) * ctx.n_args
    tensors = iter(ctx.saved_tensors)
    every = [x[0] if x else next(tensors) for x in ctx.rest]
    args, outs = every[: ctx.n_args], every[ctx.n_args :]
    found = op.gradient(args, outs, grads, wanted)
    return (*found, *[None] * (len(args) - len(found)))


def _function() -> Any:
    import torch

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, op: Any, *args: Any) -> Any:
            outs = op.compute(*args)
            ctx.op = op
            _keep(ctx, args, outs)
            ctx.set_materialize_grads(False)
            return outs

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, *grads: Any) -> Any:
            return None, *_gradients(ctx.op, ctx, grads, ctx.needs_input_grad[1:])

    return Function
