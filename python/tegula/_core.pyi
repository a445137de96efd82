# Made by csrc/tools/gen.py from the built core: make gen.
from typing import Any

build: str
