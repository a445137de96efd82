"""Random kernels as source text: what test_random_kernels.py runs. Start at README.md."""

from __future__ import annotations

from .case import Case, Param
from .chain import chains
from .draw import Draw
from .kernel import make

__all__ = ["Case", "Draw", "Param", "chains", "make"]
