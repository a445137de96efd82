"""Tegula: a kernel language for tiles. The public names, nothing else."""

from __future__ import annotations

__version__ = "0.1.0"
