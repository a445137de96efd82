"""The mathematical functions that CUDA calls libdevice, written in the language.

None needs CUDA's bitcode: they are the same on every target, and GPUs' instructions where
there are such. Types are those that a function lists; operands that match no row are
promoted to one, as those of an operator. Accuracy is in units of the last place of the
result, as tests/libdevice allows it; exact functions say nothing.
"""

from __future__ import annotations

from ...math import abs as abs
from ...math import ceil as ceil
from ...math import floor as floor
from ...math import fma as fma
from ._arithmetic import *  # noqa: F403
from ._bessel import *  # noqa: F403
from ._bits import *  # noqa: F403
from ._circular import *  # noqa: F403
from ._conversions import *  # noqa: F403
from ._exponential import *  # noqa: F403
from ._fast import *  # noqa: F403
from ._roots import *  # noqa: F403
from ._special import *  # noqa: F403
from ._whole import *  # noqa: F403
