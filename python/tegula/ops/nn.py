"""Modules of torch whose work the ops do: drop-ins for those of ``torch.nn``.

torch.nn.Linear(..)  ->  tegula.ops.nn.Linear(..)      and its state_dict fits
"""

from __future__ import annotations

from typing import Any

import torch

from tegula import ops


class Linear(torch.nn.Linear):
    """torch's, and ``activation``: relu, silu, gelu or gelu_tanh in the same kernel."""

    def __init__(self, *args: Any, activation: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.activation = activation

    def forward(self, x: Any) -> Any:
        return ops.linear(x, self.weight, self.bias, self.activation)


class LayerNorm(torch.nn.LayerNorm):
    def __init__(self, normalized_shape: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(normalized_shape, *args, **kwargs)
        if len(self.normalized_shape) != 1:
            raise ValueError("tegula.ops.nn.LayerNorm normalises the last side alone")

    def forward(self, x: Any) -> Any:
        return ops.layer_norm(x, self.weight, self.bias, self.eps)


class RMSNorm(torch.nn.RMSNorm):
    def __init__(self, normalized_shape: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(normalized_shape, *args, **kwargs)
        if len(self.normalized_shape) != 1:
            raise ValueError("tegula.ops.nn.RMSNorm normalises the last side alone")

    def forward(self, x: Any) -> Any:
        eps = torch.finfo(x.dtype).eps if self.eps is None else self.eps
        return ops.rms_norm(x, self.weight, eps)


class GroupNorm(torch.nn.GroupNorm):
    def forward(self, x: Any) -> Any:
        return ops.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)


class GELU(torch.nn.GELU):
    def forward(self, x: Any) -> Any:
        return ops.gelu(x, self.approximate)


class SiLU(torch.nn.SiLU):
    def forward(self, x: Any) -> Any:
        return ops.silu(x)


class Dropout(torch.nn.Dropout):
    def forward(self, x: Any) -> Any:
        return ops.dropout(x, self.p, training=self.training)


class ReLU(torch.nn.ReLU):
    def forward(self, x: Any) -> Any:
        return ops.relu(x)


class Softmax(torch.nn.Softmax):
    def forward(self, x: Any) -> Any:
        if self.dim not in (-1, x.ndim - 1):
            raise ValueError("tegula.ops.nn.Softmax is of the last side alone")
        return ops.softmax(x)


class CrossEntropyLoss(torch.nn.CrossEntropyLoss):
    """Of logits [N, C] and class indices [N], without weights of classes or smoothing."""

    def forward(self, x: Any, target: Any) -> Any:
        if self.weight is not None or self.label_smoothing:
            raise ValueError(
                "tegula.ops.nn.CrossEntropyLoss takes no weight and no label_smoothing"
            )
        return ops.cross_entropy(x, target, self.ignore_index, self.reduction)
