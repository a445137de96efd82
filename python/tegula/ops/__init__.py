"""Kernels people need, forward and backward.

    from tegula import ops

    y = ops.softmax(x)                          # NumPy in, NumPy out
    loss = ops.cross_entropy(logits, target)    # torch in, torch out, on any device
    loss.backward()                             # through kernels of ours as well

Each takes NumPy arrays or torch tensors. With torch the result takes part in autograd,
once: gradients of gradients raise. torch itself is imported by whoever has a tensor.
"""

from tegula.ops.cross_entropy import cross_entropy as cross_entropy
from tegula.ops.matmul import matmul as matmul
from tegula.ops.norm import layer_norm as layer_norm
from tegula.ops.norm import rms_norm as rms_norm
from tegula.ops.softmax import softmax as softmax
