"""``triton.experimental.gluon.language``: what it shares with ``triton.language``.

Enough for the decorators and annotations of kernels (``gl.constexpr``, types). Layouts and
the parts of single GPUs are not here.
"""

from __future__ import annotations

from typing import Any

import tegula.language


def __getattr__(name: str) -> Any:
    if not name.startswith("__") and hasattr(tegula.language, name):
        return getattr(tegula.language, name)
    raise AttributeError(f"tegula has no Gluon, so no gluon.language.{name}")
