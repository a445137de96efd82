"""``python -m tegula.compat script.py ...``: run a program whose triton is tegula.

Like Python itself: a script, ``-m module``, or ``-c code``, and then its arguments.
"""

from __future__ import annotations

import os
import runpy
import sys

from tegula import compat

USAGE = "usage: python -m tegula.compat (script.py | -m module | -c code) [arguments]"


def main() -> int:
    args = sys.argv[1:]
    if not args or args[0] in ("-h", "--help"):
        print(USAGE, file=sys.stderr if not args else sys.stdout)
        return 0 if args else 2
    compat.install()
    if args[0] in ("-m", "-c"):
        if len(args) < 2:
            print(USAGE, file=sys.stderr)
            return 2
        sys.argv[:] = args[1:] if args[0] == "-m" else ["-c", *args[2:]]
        sys.path[0] = os.getcwd()
        if args[0] == "-m":
            runpy.run_module(args[1], run_name="__main__", alter_sys=True)
        else:
            main_module = type(sys)("__main__")
            sys.modules["__main__"] = main_module
            exec(compile(args[1], "<string>", "exec"), vars(main_module))
        return 0
    sys.argv[:] = args
    sys.path[0] = os.path.dirname(os.path.abspath(args[0]))
    runpy.run_path(args[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
