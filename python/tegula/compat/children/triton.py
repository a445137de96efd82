"""What ``import triton`` finds in a child of a process that has called
``tegula.compat.install()``: it calls that, too, and makes way for what is installed.
"""

import sys

del sys.modules["triton"]
try:
    import tegula.compat
except ModuleNotFoundError:  # the parent's path is not the child's
    from pathlib import Path

    sys.path.append(str(Path(__file__).parents[3]))
    import tegula.compat

tegula.compat.install()
