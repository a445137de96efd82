"""AttributeError: an op under another library's name."""

from tegula import ops


def run():
    ops.layernorm


# ----
# AttributeError: module 'tegula.ops' has no attribute 'layernorm'; did you mean 'layer_norm'?
