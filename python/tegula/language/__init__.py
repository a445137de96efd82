"""The kernel language: what may be written in a function under ``@jit``."""

from __future__ import annotations

from .core import *  # noqa: F403
