"""Functions beyond the core of the language."""

from . import cuda as cuda
from . import libdevice as libdevice
