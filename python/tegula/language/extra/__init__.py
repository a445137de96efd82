"""Functions beyond the core of the language."""

from tegula.language.builtin import _notice

from . import cuda as cuda
from . import libdevice as libdevice

_notice(__name__)
del _notice
