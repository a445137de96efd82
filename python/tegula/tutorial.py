"""``python -m tegula tutorial``: copies the notebooks, which come with the wheel."""

from __future__ import annotations

import shutil
from pathlib import Path


def folder() -> Path | None:
    """Where the notebooks lie: in the package, or beside it in a checkout."""
    here = Path(__file__).resolve().parent
    for place in (here / "tutorials", here.parents[1] / "tutorials"):
        if any(place.glob("*.ipynb")):
            return place
    return None


def copy(to: str) -> int:
    """Each notebook, and the pictures they show, unless it is there: what a reader has
    written stays."""
    source, target = folder(), Path(to)
    if source is None:
        print("the notebooks are not here: they come with the wheel and the sources")
        return 1
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        print(f"tutorial: no folder {to!r} can be made: {e.strerror}")
        return 1
    for picture in source.glob("*.svg"):
        shutil.copyfile(picture, target / picture.name)
    for book in sorted(source.glob("*.ipynb")):
        kept = (target / book.name).exists()
        if not kept:
            shutil.copyfile(book, target / book.name)
        print(f"{target / book.name}{'  (kept as it is)' if kept else ''}")
    print(f"now: pip install jupyterlab numpy matplotlib && jupyter lab {target}")
    return 0
