"""Run a script with its kernels on the emulator, which checks what they do to memory.

    python -m tegula.tools.gsan script.py ...

It finds accesses outside of tensors, races in shared memory and between programs, and
forgotten barriers: an error names the line. Tensors have
to be the CPU's: no GPU can be seen meanwhile, because code for one is not instrumented.
``TRITON_INSTRUMENTATION_MODE=gsan`` (or consan)
does the same for a program that is started otherwise.
"""

from __future__ import annotations

import os
import runpy
import sys


def main(argv: list[str]) -> None:
    if not argv:
        sys.exit("usage: python -m tegula.tools.gsan script.py [arguments]")
    os.environ["TRITON_INSTRUMENTATION_MODE"] = "gsan"
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import tegula.compat

    tegula.compat.install()
    sys.argv = argv
    sys.path.insert(0, os.path.dirname(os.path.abspath(argv[0])))
    runpy.run_path(argv[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
