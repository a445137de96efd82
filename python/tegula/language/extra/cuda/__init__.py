"""What Triton keeps for CUDA alone."""

from .. import libdevice as libdevice
