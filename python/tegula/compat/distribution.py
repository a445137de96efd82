"""What ``importlib.metadata`` says about the distribution ``triton``: that it is us.

Libraries ask for its version before they use it. Name and version are Triton's, because
they are compared; the summary says who answers.
"""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from typing import Any

import tegula
from tegula.compat import TRITON_VERSION


class StandIn(importlib.metadata.Distribution):
    """Metadata of the stand-in; it has no files."""

    def read_text(self, filename: str) -> str | None:
        if filename not in ("METADATA", "PKG-INFO"):
            return None
        return (
            "Metadata-Version: 2.1\nName: triton\n"
            f"Version: {TRITON_VERSION}\n"
            f"Summary: tegula {tegula.__version__} in the place of Triton\n"
        )

    def locate_file(self, path: Any) -> Any:
        return Path(tegula.__file__).parent / path
