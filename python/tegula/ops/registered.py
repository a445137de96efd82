"""What torch knows of the ops: made when first asked for, so that nobody imports torch.

``registered.softmax`` is ``torch.ops.tegula.softmax``, ``registered.Function`` the way of
eager tensors into autograd, ``registered.Transformed`` that of torch.func's. A module's
``__getattr__`` is run, not traced, by Dynamo: an op may be met for the first time inside of
a compiled function.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from tegula.ops import arrays

    if name in _FUNCTIONS:
        made = _FUNCTIONS[name]()
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
        keep(ctx, inputs, output if isinstance(output, (tuple, list)) else (output,))

    def backward(ctx: Any, *grads: Any) -> tuple:
        return differentiate(op, ctx, grads, ctx.needs_input_grad)

    made.register_vmap(one_by_one(made))
    if op.gradient:
        made.register_autograd(backward, setup_context=setup_context)
    return getattr(torch.ops.tegula, op.name).default


def one_by_one(op: Any) -> Any:
    """For register_vmap: a call for each element of the batch."""
    import torch

    def at(i: int, x: Any, dim: Any) -> Any:
        if isinstance(x, (tuple, list)) and isinstance(dim, (tuple, list)):
            return [at(i, *pair) for pair in zip(x, dim, strict=True)]
        return x if dim is None else x.select(dim, i)

    def rule(info: Any, dims: tuple, *args: Any) -> Any:
        calls = [
            op(*(at(i, *pair) for pair in zip(args, dims, strict=True)))
            for i in range(info.batch_size)
        ]
        if isinstance(calls[0], torch.Tensor):
            return torch.stack(calls), 0
        outs = [torch.stack(x) for x in zip(*calls, strict=True)]
        return type(calls[0])(outs), type(calls[0])([0] * len(outs))

    return rule


def keep(ctx: Any, args: tuple, outs: Any) -> None:
    """Tensors where autograd watches over them, the rest beside."""
    import torch

    tensors = [x for x in (*args, *outs) if isinstance(x, torch.Tensor)]
    ctx.save_for_backward(*tensors)
    ctx.rest = [None if isinstance(x, torch.Tensor) else (x,) for x in (*args, *outs)]
    ctx.n_args = len(args)


def differentiate(op: Any, ctx: Any, grads: tuple, wanted: Any) -> tuple:
    if op.gradient is None:
        raise RuntimeError(f"tegula.ops: {op.name} has no derivative")
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
            keep(ctx, args, outs)
            ctx.set_materialize_grads(False)
            return outs

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            with torch.no_grad():
                found = differentiate(ctx.op, ctx, grads, ctx.needs_input_grad[1:])
            if torch.is_grad_enabled():  # create_graph=True
                given = (*ctx.saved_tensors, *grads)
                found = Last.apply(ctx.op.name, len(found), *found, *given)
            return None, *found

    class Last(torch.autograd.Function):
        """Gradients, as functions of what they were made of, that have none.

        Torch's once_differentiable cuts that tie, so a second derivative is taken for 0.
        """

        @staticmethod
        def forward(ctx: Any, name: str, n: int, *every: Any) -> Any:
            ctx.name = name
            return tuple(g if g is None else g.view_as(g) for g in every[:n])

        @staticmethod
        def backward(ctx: Any, *_: Any) -> Any:
            raise RuntimeError(f"tegula.ops: {ctx.name} cannot be differentiated twice")

    return Function


def _transformed() -> Any:
    import torch

    class Transformed(torch.autograd.Function):
        """An op inside of torch.func's transforms, which want a Function of this form:
        what torch.library registers is refused by grad(), and to jvp() it is a constant.

        Of the op: traced(*args) calls what torch.library has; keep(ctx, args, outs);
        differentiate(ctx, grads, wanted).
        """

        generate_vmap_rule = True

        @staticmethod
        def forward(op: Any, *args: Any) -> Any:
            return op.traced(*args)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple, outs: tuple) -> None:
            ctx.op, *args = inputs
            ctx.op.keep(ctx, tuple(args), outs)
            ctx.set_materialize_grads(False)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            wanted = ctx.needs_input_grad[1:]
            return None, *ctx.op.differentiate(ctx, grads, wanted)

        @staticmethod
        def jvp(ctx: Any, *_: Any) -> Any:
            raise RuntimeError(
                f"{ctx.op.name} has no derivative forward (torch.func.jvp): take vjp"
            )

    return Transformed


_FUNCTIONS = {"Function": _function, "Transformed": _transformed}
