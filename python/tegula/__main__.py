"""``python -m tegula``: look after an installation, run and compile kernels, learn.

doctor       what this machine has, and a kernel on each target
demo         a few kernels beside NumPy and torch
run          a script, its kernels checked, emulated or interpreted
compile      f.py:kernel for a target, any stage shown
bench        the ops beside torch, torch.compile and Triton
tune         what autotuning kept on disk
tutorial     copies the notebooks
explain      what an error's code means
cache, knobs, info
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import Any


def show_knobs(_: argparse.Namespace) -> int:
    from . import knobs

    print(knobs.describe())
    return 0


def show_info(_: argparse.Namespace) -> int:
    import platform

    from . import __version__, _core

    print(f"tegula {__version__} ({_core.build}), {_core.__file__}")
    print(f"Python {platform.python_version()}, {platform.machine()}")
    return 0


def doctor(_: argparse.Namespace) -> int:
    from . import doctor

    return doctor.main()


def demo(_: argparse.Namespace) -> int:
    from . import demo

    return demo.main()


def run_cache(args: argparse.Namespace) -> int:
    from . import cache

    if args.action == "prune":
        return cache.prune(args.max_bytes)
    return cache.show() if args.action == "list" else cache.verify()


def cache_arguments(parser: argparse.ArgumentParser) -> None:
    actions = ("list", "verify", "prune")
    parser.add_argument("action", nargs="?", default="list", choices=actions)
    parser.add_argument(
        "--max-bytes",
        type=n_bytes,
        metavar="N[K|M|G]",
        help="prune to this; else TEGULA_CACHE_MAX_BYTES",
    )


def n_bytes(text: str) -> int:
    """1048576, 1M or 0.5G."""
    unit = {"K": 10, "M": 20, "G": 30}.get(text[-1:].upper())
    return int(float(text[:-1]) * (1 << unit)) if unit else int(text)


def run_script(args: argparse.Namespace) -> int:
    from . import kernel_report, knobs

    if bool(args.check) + bool(args.emu or args.target) + bool(args.interpret) > 1:
        raise SystemExit("run: one of --check, --emu, --target and --interpret")
    if args.check:
        knobs.runtime.check_bounds = True
        knobs.runtime.debug = True
    if args.emu or args.target:
        knobs.runtime.target = args.target or "emu:sm_80"
    if args.interpret:
        knobs.runtime.interpret = True
    kernels = kernel_report.run(args.script, args.arguments)
    if args.check or args.emu:  # silence could mean that nothing was launched
        names = sorted({k.fn.__name__ for k in kernels if k.variants})
        said = "nothing amiss in " + ", ".join(names) if names else "no kernel ran"
        print(f"run: {said}", file=sys.stderr)
    return 0


def run_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--check",
        action="store_true",
        help="on the CPU, every access within its tensor, device_assert live",
    )
    parser.add_argument(
        "--emu",
        action="store_true",
        help="on the emulator of a GPU: also races in shared memory, forgotten barriers",
    )
    parser.add_argument(
        "--interpret", action="store_true", help="statement by statement: for debuggers"
    )
    parser.add_argument("--target", help="as TEGULA_TARGET: emu:sm_90, cpu")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)


def compile_kernel(args: argparse.Namespace) -> int:
    from . import errors
    from .jit import JITFunction

    file, _, name = args.kernel.rpartition(":")
    if not file:
        raise SystemExit("compile: write file.py:kernel")
    if not os.path.exists(file):
        raise SystemExit(f"compile: there is no file {file!r}")
    import runpy

    def kernel_in(value: Any) -> JITFunction[Any] | None:
        while value is not None and not isinstance(value, JITFunction):
            value = getattr(value, "fn", None)
        return value

    found = runpy.run_path(file, run_name="tegula.compiled")
    kernel = kernel_in(found.get(name))
    if kernel is None:
        there = ", ".join(k for k, v in found.items() if kernel_in(v)) or "none"
        raise SystemExit(f"compile: {file} has no kernel {name!r}; there are: {there}")
    types = [a for a in args.types if "=" not in a]
    constants = dict(a.split("=", 1) for a in args.types if "=" in a)
    try:
        compiled = kernel.compile(
            *types,
            **{k: _constant(v) for k, v in constants.items()},
            target=args.target,
        )
    except (errors.TegulaError, TypeError, ValueError) as e:
        print(e, file=sys.stderr)
        return 1
    for stage in args.show.split(","):
        if stage == "report":
            print(compiled.report, end="")
            continue
        try:
            text = compiled.asm[stage]
        except KeyError as e:  # it says which there are, or what a disassembler needs
            raise SystemExit(f"compile: {e.args[0]}") from None
        print(text if isinstance(text, str) else f"{stage}: {len(text)} bytes")
    return 0


def _constant(text: str) -> object:
    """A number, None, True, a dtype of the language, or the text as it is."""
    import ast

    from . import language

    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return getattr(language, text.removeprefix("tl."), text)


def compile_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernel", metavar="file.py:kernel")
    parser.add_argument(
        "types",
        nargs="*",
        metavar="TYPE | NAME=VALUE",
        help="*fp32:16 i32 f32 ..: one for each argument; constants and options by name",
    )
    parser.add_argument("--target", default="cpu", help="cpu, cuda:sm_90a, emu:sm_80")
    parser.add_argument(
        "--show", default="report", help="report, tir, simt, llir, ptx, sass, asm"
    )


def tune(args: argparse.Namespace) -> int:
    from . import tuning

    return tuning.command(args.action, args.kernel, args.what)


def tune_arguments(parser: argparse.ArgumentParser) -> None:
    actions = ("list", "show", "pin", "clear", "export")
    parser.add_argument("action", nargs="?", default="list", choices=actions)
    parser.add_argument("kernel", nargs="?", help="of this name only")
    parser.add_argument(
        "what",
        nargs="?",
        help="pin: 'BLOCK: 64, num_warps: 4', or none; export: a file",
    )


def report(args: argparse.Namespace) -> int:
    from . import kernel_report

    return kernel_report.of_script(args.script, args.arguments)


def report_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)


def bench(args: argparse.Namespace) -> int:
    from . import bench

    return bench.command(args)


def bench_arguments(parser: argparse.ArgumentParser) -> None:
    from . import bench

    bench.arguments(parser)


def tutorial(args: argparse.Namespace) -> int:
    from . import tutorial

    return tutorial.copy(args.folder)


def tutorial_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", default="tegula-tutorials")


def explain(args: argparse.Namespace) -> int:
    from . import explanations

    return explanations.show(args.code)


def explain_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "code", nargs="?", help="SHAPE, CompileError[SHAPE], or nothing"
    )


Command = tuple[
    str,
    Callable[[argparse.Namespace], int],
    Callable[[argparse.ArgumentParser], None] | None,
]
COMMANDS: dict[str, Command] = {
    "doctor": ("what this machine has, and a kernel on each target", doctor, None),
    "demo": ("a few kernels beside NumPy and torch", demo, None),
    "run": ("run a script, its kernels checked", run_script, run_arguments),
    "compile": ("compile file.py:kernel", compile_kernel, compile_arguments),
    "tune": ("what autotuning kept on disk", tune, tune_arguments),
    "report": (
        "run a script; what its kernels' lines became",
        report,
        report_arguments,
    ),
    "bench": ("the ops beside torch and Triton", bench, bench_arguments),
    "tutorial": ("copy the notebooks", tutorial, tutorial_arguments),
    "explain": ("what an error's code means", explain, explain_arguments),
    "info": ("version and build", show_info, None),
    "cache": ("list, verify or prune the kernels on disk", run_cache, cache_arguments),
    "knobs": ("every environment variable, its value and meaning", show_knobs, None),
}


def main(argv: list[str] | None = None) -> int:
    from . import __version__

    parser = argparse.ArgumentParser(prog="python -m tegula")
    parser.add_argument("--version", action="version", version=f"tegula {__version__}")
    commands = parser.add_subparsers(dest="command")
    for name, (doc, run, arguments) in COMMANDS.items():
        command = commands.add_parser(name, help=doc)
        command.set_defaults(run=run)
        if arguments:
            arguments(command)
    args = parser.parse_args(argv)
    if not args.command:
        parser.print_help()
        return 2
    try:
        result: int = args.run(args)
        sys.stdout.flush()
        return result
    except BrokenPipeError:  # a reader such as head has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


if __name__ == "__main__":
    sys.exit(main())
