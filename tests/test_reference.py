"""The reference: each name says what it does, and its examples do what they show.

In an example ``x_ptr`` points to the float32 numbers 0, 1, 2, .. 63 and ``i_ptr`` to the
int32 ones. A line with an answer is an expression of the kernel; the answer is its type,
shape and elements. All examples of a name are one kernel, run on the CPU.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import textwrap
import types
from pathlib import Path

import numpy as np
import pytest

import tegula
import tegula.language as tl

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "csrc/tools"))
import gen  # noqa: E402
import reference  # noqa: E402

sys.path.pop(0)

ROOM = 64  # elements of one answer, at most

HEAD = """
import tegula
import tegula.language as tl
from tegula.language.extra import libdevice

SEEN = {}


@tegula.constexpr_function
def place(n, dtype, shape):
    # It may be called again, as functions are that change what they read.
    SEEN[n] = dtype, shape
    return {room} * n


@tegula.jit
def show(out, n: tl.constexpr, r):
    if isinstance(r, tl.tuple):
        for i in tl.static_range(len(r)):
            show(out, n + i, r[i])
    else:
        r = tl.to_tensor(r)
        at: tl.constexpr = place(n, r.dtype, r.shape)
        if r.dtype.is_fp8():
            wide = r.to(tl.float32).to(tl.float64)
        else:
            wide = r.to(tl.float64)
        if len(r.shape) == 0:
            tl.store(out + at, wide)
        else:
            n: tl.constexpr = r.numel
            tl.store(out + at + tl.arange(0, n), tl.reshape(wide, [n]))
"""

ENTRIES = [e for g in reference.GROUPS for e in reference.entries(g)]
IN_KERNEL = [e for e in ENTRIES if e.group.file not in reference.ON_HOST and e.examples]


def source(entry: reference.Entry) -> tuple[str, list[str]]:
    """A module with one kernel, and the answers it must give."""
    above, body, wants = [], [], []
    for example in entry.examples:
        code = example.source.rstrip("\n")
        if example.want:
            code = f"show(out, {len(wants)}, {code})"
            wants += example.want.strip("\n").split("\n")
        (above if code.startswith("@") else body).append(code)
    kernel = "@tegula.jit\ndef kernel(out, x_ptr, i_ptr):\n"
    kernel += textwrap.indent("\n".join(body), "    ")
    head = HEAD.replace("{room}", str(ROOM))
    return "\n\n\n".join([head, *above, kernel]) + "\n", wants


def number(x: float, dtype: tl.dtype) -> str:
    return str(int(x)) if dtype.is_int() else f"{x:.4g}"


def answer(dtype: tl.dtype, shape: tuple[int, ...], numbers: np.ndarray) -> str:
    n = int(np.prod(shape))

    def nested(a: np.ndarray) -> str:
        if a.ndim == 0:
            return number(float(a), dtype)
        return "[" + ", ".join(map(nested, a)) + "]"

    dims = f"[{', '.join(map(str, shape))}]" if shape else ""
    return f"{dtype.codegen_name()}{dims}: {nested(numbers[:n].reshape(shape))}"


def run(entry: reference.Entry, folder: Path) -> tuple[list[str], list[str]]:
    text, wants = source(entry)
    path = folder / f"example_{entry.group.file}_{entry.name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # What is shown is seen while compiling: a kernel out of the cache shows nothing.
    with tegula.knobs.cache.scope():
        tegula.knobs.cache.dir = ""
        out = np.full(ROOM * max(1, len(wants)), np.nan)
        x = np.arange(64, dtype=np.float32)
        module.kernel[(1,)](out, x, np.arange(64, dtype=np.int32))
    got = [
        answer(t, tuple(s), out[i * ROOM :])
        for i, (t, s) in sorted(module.SEEN.items())
    ]
    return got, wants


@pytest.mark.parametrize("entry", IN_KERNEL, ids=lambda e: f"{e.group.file}-{e.name}")
def test_example(entry: reference.Entry, tmp_path: Path) -> None:
    got, wants = run(entry, tmp_path)
    assert wants, "no line of the example has an answer"
    assert got == wants


# Names whose examples need what is not everywhere, and the host's own.
NO_EXAMPLE = {
    "extern_elementwise": "tests/frontend",
    "extern": "a decorator of extern_elementwise",
    "builtin": "a decorator of the package itself",
    "gdc_wait": "needs a launch after another",
    "gdc_launch_dependents": "needs a launch after another",
    "do_bench_cudagraph": "needs a GPU",
    "do_bench_cudagraph_proton": "needs a GPU",
    "get_dram_gbps": "needs a GPU",
    "get_max_simd_tflops": "needs a GPU",
    "get_max_tensorcore_tflops": "needs a GPU",
    "nvsmi": "needs a GPU",
    "set_gpu_clock": "needs a GPU",
    "cuda_memcheck": "needs a GPU",
    "extract": "needs cuobjdump",
    "get_sass": "needs cuobjdump",
    "GridError": "needs a GPU",
    "PTXASError": "needs ptxas",
    "Mark": "perf_report's",
    "store_ragged": "load_ragged's",
    "atomic_add_ragged": "load_ragged's",
}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: f"{e.group.file}-{e.name}")
def test_says_what_shapes_types_errors(entry: reference.Entry) -> None:
    first = entry.doc.partition("\n\n")[0]
    assert len(first) > 8 and first.endswith((".", "?", ":", "``", ")"))
    if entry.name not in NO_EXAMPLE:
        assert entry.examples, "no example"
    if entry.group.file in (*reference.ON_HOST, "types", "libdevice"):
        return
    labels = set(re.findall(r"^(\w+):", entry.doc, re.M))
    if entry.group.file in ("shape", "memory", "math", "reduction", "random"):
        assert {"Shapes", "Types", "Errors"} <= labels


@pytest.mark.parametrize(
    "entry",
    [e for e in ENTRIES if e.group.file in reference.ON_HOST and e.examples],
    ids=lambda e: e.name,
)
def test_host_example(
    entry: reference.Entry, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kernels need a file to be read from, so the example becomes one."""
    if any("torch" in e.source for e in entry.examples):
        pytest.importorskip("torch")
    lines, wants = (
        ["import numpy as np", "import tegula", "import tegula.language as tl"],
        "",
    )
    for example in entry.examples:
        code = example.source.rstrip("\n")
        lines.append(f"print(repr(({code})))" if example.want else code)
        wants += example.want
    path = tmp_path / f"host_{entry.name}.py"
    path.write_text("\n".join(lines) + "\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    assert wants and capsys.readouterr().out == wants


def test_pages_and_stubs_are_up_to_date() -> None:
    made = [
        *reference.pages(gen.rows),
        ("python/tegula/_core.pyi", gen.stubs.core_stub()),
        ("python/tegula/language/_tensor.pyi", gen.stubs.tensor_stub(gen.rows)),
    ]
    for path, text in made:
        assert (ROOT / path).read_text(encoding="utf-8") == text, f"{path}: make gen"


def test_every_name_of_the_language_has_a_place() -> None:
    """A section; the dtypes in a table, other constants at the head of types.md."""
    told = (ROOT / "python/tegula/language/README.md").read_text(encoding="utf-8")
    told += (ROOT / reference.FOLDER / "types.md").read_text(encoding="utf-8")
    sections = {e.name for e in ENTRIES}
    for name in dir(tl):
        if name.startswith("_") or isinstance(getattr(tl, name), types.ModuleType):
            continue
        in_table = isinstance(getattr(tl, name), tl.dtype) and f"`{name}`" in told
        assert name in sections or in_table or f"`tl.{name}`" in told, name


CODE = re.compile(r"CompileError\[(\w+)\]")


def test_errors_exist() -> None:
    rows = (ROOT / "csrc/base/errors.def").read_text()
    known = set(re.findall(r"^ERR\((\w+)", rows, re.M))
    for e in ENTRIES:
        assert set(CODE.findall(e.doc)) <= known, e.name
