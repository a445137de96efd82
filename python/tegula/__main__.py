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


def run_cache(args: argparse.Namespace) -> int:
    from . import cache

    if args.action == "prune":
        return cache.prune(args.max_bytes)
    return cache.show() if args.action == "list" else cache.verify()


def add_cache_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("list", "verify", "prune"))
    parser.add_argument(
        "--max-bytes", type=int, help="prune to this; else TEGULA_CACHE_MAX_BYTES"
    )


COMMANDS: dict[str, tuple[str, Callable[[argparse.Namespace], int]]] = {
    "info": ("version and build", show_info),
    "cache": ("list, verify or prune the kernels on disk", run_cache),
    "knobs": ("every environment variable, its value and meaning", show_knobs),
}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tegula")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (doc, run) in COMMANDS.items():
        command = commands.add_parser(name, help=doc)
        command.set_defaults(run=run)
        if name == "cache":
            add_cache_arguments(command)
    args = parser.parse_args(argv)
    result: int = args.run(args)
    return result


if __name__ == "__main__":
    sys.exit(main())
