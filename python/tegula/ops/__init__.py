"""Kernels people need, forward and backward.

    from tegula import ops

    y = ops.softmax(x)                          # NumPy in, NumPy out
    loss = ops.cross_entropy(logits, target)    # torch in, torch out, on any device
    loss.backward()                             # through kernels of ours as well

Each takes NumPy arrays or torch tensors. With torch the result takes part in autograd,
once: gradients of gradients raise. ``torch.compile(fullgraph=True)`` takes them all,
as ``torch.ops.tegula.*``. ``ops.nn`` has modules. torch itself is imported by whoever has a
tensor.
"""

from typing import Any

from tegula.ops.activation import geglu as geglu
from tegula.ops.activation import gelu as gelu
from tegula.ops.activation import relu as relu
from tegula.ops.activation import silu as silu
from tegula.ops.activation import swiglu as swiglu
from tegula.ops.attention import attention as attention
from tegula.ops.attention import attention_varlen as attention_varlen
from tegula.ops.cross_entropy import cross_entropy as cross_entropy
from tegula.ops.dropout import dropout as dropout
from tegula.ops.group_norm import group_norm as group_norm
from tegula.ops.grouped_matmul import grouped_matmul as grouped_matmul
from tegula.ops.linear_cross_entropy import linear_cross_entropy as linear_cross_entropy
from tegula.ops.matmul import linear as linear
from tegula.ops.matmul import matmul as matmul
from tegula.ops.norm import add_rms_norm as add_rms_norm
from tegula.ops.norm import layer_norm as layer_norm
from tegula.ops.norm import rms_norm as rms_norm
from tegula.ops.norm_linear import layer_norm_linear as layer_norm_linear
from tegula.ops.norm_linear import rms_norm_linear as rms_norm_linear
from tegula.ops.paged_attention import paged_attention as paged_attention
from tegula.ops.quantized import dequantize as dequantize
from tegula.ops.quantized import quantize as quantize
from tegula.ops.quantized import quantized_linear as quantized_linear
from tegula.ops.rotary import rotary as rotary
from tegula.ops.softmax import softmax as softmax
from tegula.ops.topk import topk as topk


def __getattr__(name: str) -> Any:
    if name == "nn":  # its classes are torch's, which we do not import
        import importlib

        return importlib.import_module("tegula.ops.nn")
    from tegula.configs import did_you_mean

    words = [w for w in globals() if not w.startswith("_")]
    here = {
        "flash_attention": "attention",
        "scaled_dot_product_attention": "attention",
        "nll_loss": "cross_entropy",
        "rope": "rotary",
        "mm": "matmul",
        "bmm": "matmul",
    }.get(name)
    more = f"; here it is {here!r}" if here else did_you_mean(name, words)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{more}")
