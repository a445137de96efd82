"""Run by test_abi3.py in another Python than the tests': what test_edits.py edits in place,
as far as it needs no package. What a standard library has inside differs from Python to
Python, and so does bytecode.

    python edits_elsewhere.py FOLDER     the folder gets the modules that are edited
"""

import ctypes
import linecache
import sys
import warnings
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from edits_held import WAYS

import tegula.language as tl

IMPORT = "import numpy as np\n"


class Out:
    dtype = tl.int32

    def __init__(self):
        self.at = (ctypes.c_int32 * 1)()

    def data_ptr(self):
        return ctypes.addressof(self.at)


def launch(module):
    out = Out()
    if hasattr(module, "launch"):
        module.launch(out)
    else:
        module.kernel[(1,)](out)
    return out.at[0]


def load(file, text):
    """As spec.loader does it, for a file whose time may be that of the one before."""
    file.write_text(text)
    linecache.checkcache(str(file))
    spec = spec_from_file_location(file.stem, file)
    sys.modules[file.stem] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def answer(way, edit, file):
    module = load(file, way.source.replace(IMPORT, "").replace("@V@", "1"))
    was = [launch(module), launch(module)]
    exec(compile(edit, "<an edit>", "exec"), module.__dict__)
    try:
        return [*was, launch(module)]
    except RuntimeError as e:
        changed = "when the kernel kernel() was compiled, and is" in str(e)
        return [*was, 5 if changed else str(e)]


def main(folder):
    sys.dont_write_bytecode = True
    warnings.simplefilter("ignore")
    ways = [w for w in WAYS if "np." not in w.source + "".join(w.edits)]
    kinds = [(w, e) for w in ways for e in w.edits]
    for i, (way, edit) in enumerate(kinds):
        if way.name not in ("dtype", "sign of zero"):  # which give 0 and 1
            found = answer(way, edit, Path(folder, f"edited{i}.py"))
            assert found == [1, 1, 5], (way.name, edit, found)
    print("ok", len(kinds))


main(sys.argv[1])
