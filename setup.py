"""pip's door to csrc/Makefile, which alone knows how the C is built.

pip install .            a stripped release build, one wheel for every Python >= 3.11
TEGULA_DEBUG=1           -O0 -g3, asserts on          (see csrc/Makefile)
TEGULA_SANITIZE=...      address,undefined or thread
TEGULA_LLVM_CONFIG=...   which LLVM; else the newest llvm-config-N from 19 to 22
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent


class MakeCore(build_ext):
    """Runs the Makefile and lets it write the extension where setuptools wants it."""

    def build_extension(self, ext: Extension) -> None:
        out = Path(self.get_ext_fullpath(ext.name)).resolve()
        # An isolated build has its headers in a directory of its own. Objects made with
        # them stay apart, so a developer's build/ is not rebuilt after every wheel.
        objects = Path(self.build_temp).resolve()
        subprocess.run(
            [
                os.environ.get("MAKE", "make"),
                "-f",
                "csrc/Makefile",
                f"-j{os.cpu_count() or 1}",
                f"PYTHON={sys.executable}",
                f"BUILD={os.environ.get('BUILD', 'release')}",
                f"BUILD_DIR={objects}",
                f"OUT={out}",
            ],
            cwd=ROOT,
            check=True,
        )


class WithTutorials(build_py):
    """The notebooks go into the package, where ``python -m tegula tutorial`` finds them."""

    def run(self) -> None:
        super().run()
        target = Path(self.build_lib, "tegula", "tutorials")
        self.mkpath(str(target))
        for kind in ("*.ipynb", "*.svg"):
            for path in sorted((ROOT / "tutorials").glob(kind)):
                self.copy_file(str(path), str(target / path.name))


setup(
    # The sources are the Makefile's business; the name and the ABI are setuptools'.
    ext_modules=[Extension("tegula._core", sources=[], py_limited_api=True)],
    cmdclass={"build_ext": MakeCore, "build_py": WithTutorials},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
