"""``python -m tegula``: what is installed, and what can be set."""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Callable


def show_knobs(_: argparse.Namespace) -> int:
    from . import knobs

    print(knobs.describe())
    return 0


def show_info(_: argparse.Namespace) -> int:
    from . import __version__, _core

    print(f"tegula {__version__} ({_core.build}), {_core.__file__}")
    print(f"Python {platform.python_version()}, {platform.machine()}")
    return 0


COMMANDS: dict[str, tuple[str, Callable[[argparse.Namespace], int]]] = {
    "info": ("version and build", show_info),
    "knobs": ("every environment variable, its value and meaning", show_knobs),
}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tegula")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (doc, run) in COMMANDS.items():
        commands.add_parser(name, help=doc).set_defaults(run=run)
    args = parser.parse_args(argv)
    result: int = args.run(args)
    return result


if __name__ == "__main__":
    sys.exit(main())
