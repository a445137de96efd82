"""Modules of ours that are imported when something of them is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tegula import tuning as tuning
    from tegula import tuning_report as tuning_report
else:

    class _Later:
        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, name: str) -> object:
            from importlib import import_module

            return getattr(import_module(self._name), name)

    tuning, tuning_report = _Later("tegula.tuning"), _Later("tegula.tuning_report")
