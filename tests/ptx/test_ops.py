"""Every op of ops.def on every element type for every target: code that assembles, or a
CompileError at the user's line. A new op is missing here until someone says how a kernel
comes to it."""

from __future__ import annotations

import linecache
import os
import re
import subprocess
import tempfile
import zlib
from functools import cache
from pathlib import Path

import pytest
from cases import ROOT, TARGETS
from test_gate import PTXAS

import tegula
import tegula.language as tl
from tegula.language import core

DTYPES = re.findall(
    r'^ELEM\(\w+,\s+"\w+",\s+"\w+",\s+"(\w+)"',
    (ROOT / "csrc/ir/types.def").read_text(),
    re.M,
)
OPS = re.findall(
    r'^(?:OP\(\w+\s*,\s*"|MATH\(\w+,\s*)(\w+)',
    (ROOT / "csrc/ir/ops.def").read_text(),
    re.M,
)

# What makes z of x and y, blocks of 64 of the type, of c, a block of i32 0..63, and of n.
BODIES = {
    "const": "z = tl.full((64,), 3, x.dtype)",
    "arange": "z = tl.arange(64, 128)",
    "splat": "z = tl.broadcast_to(tl.load(x_ptr), (64,))",
    "program_id": "z = x + tl.program_id(1)",
    "num_programs": "z = x + tl.num_programs(2)",
    "expand_dims": "z = tl.sum((x[:, None] == y[None, :]).to(tl.int32), axis=1)",
    "broadcast": "z = tl.sum(tl.broadcast_to(tl.reshape(x, (64, 1)), (64, 2)), axis=1)",
    "reshape": "z = tl.reshape(tl.trans(tl.reshape(x, (4, 16))), (64,))",
    "trans": "z = tl.reshape(tl.permute(tl.reshape(x, (4, 2, 8)), (2, 0, 1)), (64,))",
    "join": "z, w = tl.split(tl.join(x, y))",
    "split": "a, b = tl.split(tl.reshape(x, (32, 2)))\n    z = tl.interleave(b, a)",
    "resize": "z = tl.resize(tl.resize(x, (40,)), (64,), tl.load(y_ptr))",
    "cat": "z = tl.sum(tl.reshape(tl.cat(x, y, can_reorder=True), (64, 2)), axis=1)",
    "convert_layout": "z = tl.reshape(tl.sum(tl.reshape(x, (8, 8)), axis=0)[:, None] + tl.reshape(y, (8, 8)), (64,))",
    "add": "z = x + y",
    "sub": "z = x - y",
    "mul": "z = x * y",
    "div": "z = x / y if x.dtype.is_floating() else x // y",
    "div_rn": "z = tl.div_rn(x, y)",
    "div_approx": "z = tl.fdiv(x, y, approx=True)",
    "rem": "z = x % y",
    "min": "z = tl.minimum(x, y)",
    "max": "z = tl.maximum(x, y)",
    "minnan": "z = tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL)",
    "maxnan": "z = tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)",
    "umulhi": "z = tl.umulhi(x, y)",
    "and": "z = x & y",
    "or": "z = x | y",
    "xor": "z = x ^ y",
    "shl": "z = x << y",
    "shr": "z = x >> y",
    "neg": "z = -x",
    "abs": "z = tl.abs(x)",
    "fma": "z = tl.fma(x, y, x)",
    "eq": "z = x == y",
    "ne": "z = x != y",
    "lt": "z = x < y",
    "le": "z = x <= y",
    "gt": "z = x > y",
    "ge": "z = x >= y",
    "select": "z = tl.where(c < n, x, y)",
    "cast": "z = x.to(tl.float32).to(tl.float16).to(tl.float64).to(x.dtype)",
    "bitcast": "z = y.to(x.dtype, bitcast=True)",
    "addptr": "z = tl.load(x_ptr + c.to(tl.int64) * n)",
    **{op: f"z = tl.{op}(x)" for op in ("exp", "exp2", "log", "log2", "sin", "cos", "erf")},
    **{op: f"z = tl.{op}(x)" for op in ("sqrt", "sqrt_rn", "rsqrt", "floor", "ceil", "rint")},
    "tanh": "z = tl.math.tanh(x)",
    "load": 'z = tl.load(x_ptr + c, mask=c < n, other=y, cache_modifier=".cg")',
    "store": 'tl.store(o_ptr + 2 * c, x, mask=c < n, eviction_policy="evict_first")\n    z = y',
    "atomic_rmw": "z = tl.atomic_add(x_ptr + c, y, mask=c < n)",
    "atomic_cas": "z = tl.atomic_cas(x_ptr + c, x, y)",
    "prefetch": "tl.prefetch(x_ptr + 2 * c, mask=c < n)\n    z = y",
    "tile_load": "d = tl.make_tensor_descriptor(x_ptr, (n,), (1,), (64,))\n    z = d.load([n - 3])",
    "tile_store": "d = tl.make_tensor_descriptor(o_ptr, (n, 64), (64, 1), (1, 64))\n    d.store([3, 0], x[None, :])\n    z = y",
    "reduce": "z = tl.sum(tl.reshape(x, (8, 8)), axis=0)[None, :] + tl.reshape(y, (8, 8))\n    z = tl.reshape(z, (64,)) + tl.max(x)",
    "scan": "z = tl.cumsum(x)",
    "dot": "a = tl.load(x_ptr + tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :])\n    z = tl.dot(a, tl.trans(a))\n    z = tl.sum(z) + c",
    "gather": "z = tl.gather(x, 63 - c, axis=0)",
    "histogram": "z = tl.histogram(x, 64)",
    "for": "z = x\n    for k in range(n):\n        z = z + tl.load(y_ptr + c + k)",
    "while": "z = x\n    while tl.sum((z == y).to(tl.int32)) < n:\n        z = z + y",
    "if": "if n > 3:\n        z = x + y\n    else:\n        z = x",
    "assume": "tl.assume(n % 16 == 0)\n    z = tl.load(x_ptr + n + c)",
    "assert": 'tl.device_assert(x == y, "they differ")\n    z = x',
    "print": 'tl.device_print("x", x)\n    z = x',
    "barrier": "tl.debug_barrier()\n    z = x",
    "hint": "z = tl.load(x_ptr + tl.multiple_of(c * n, 16))",
    "inline_asm": 'z = tl.inline_asm_elementwise("add.u32 $0, $1, 1;", "=r,r", [c], dtype=tl.int32, is_pure=True, pack=1) + x',
    "inline_asm_io": 'z, w = tl.inline_asm_elementwise("atom.global.add.u32 $0, [$2], 1; add.u32 $1, $3, 1;", "=r,=r,l,r", [(x_ptr + c).to(tl.pointer_type(tl.int32)), c], dtype=(tl.int32, tl.int32), is_pure=False, pack=1)\n    z = z + w + x',
    "extern": "z = mine(x.to(tl.float32), LIBRARY)",
    "extern_io": "z = mine_io(x.to(tl.float32), LIBRARY)",
    "shared_alloc": "z = x\n    for k in tl.range(0, n, 64, num_stages=3):\n        z = z + tl.load(x_ptr + k + c)",
    "mma_start": "a = tl.load(x_ptr + c[:, None] * 64 + c[None, :])\n    z = tl.sum(tl.dot(a, tl.trans(a)), axis=1)",
}  # fmt: skip
# What passes make, and kernels come to by another row.
MADE_BY = {
    "yield": "for",
    "condition": "while",
    "return": "const",
    "debug": "print",  # of the interpreter alone
    "keep": "store",  # of CPUs alone: group
    "sort": "gather",  # of CPUs alone: tests/host/sort.tir
    **dict.fromkeys(
        ("shared_load", "shared_store", "async_copy", "async_commit", "async_wait"),
        "shared_alloc",
    ),
    # Of blocks that registers do not hold: chunk.
    **dict.fromkeys(("local_alloc", "local_load", "local_store"), "store"),
    **dict.fromkeys(("tensor_map", "map_load", "launch_test"), "tile_load"),
    "map_store": "tile_store",
    **dict.fromkeys(("block_id", "num_blocks"), "mma_start"),  # persist
    **dict.fromkeys(("cluster_rank", "reduce_scatter"), "mma_start"),  # split_k
    **dict.fromkeys(
        ("to_shared", "shared_view", "fence_async", "mma_open", "mma_wait"), "mma_start"
    ),
    **dict.fromkeys(
        ("ring_alloc", "mbar_wait", "mbar_arrive", "turn", "tma_load", "roles"),
        "mma_start",
    ),
}
BUGS = re.findall(
    r"^ERR\((\w+),\s*BUG", (ROOT / "csrc/base/errors.def").read_text(), re.M
)

SOURCE = """\
def kernel(x_ptr, y_ptr, o_ptr, n):
    c = tl.arange(0, 64)
    x = tl.load(x_ptr + c)
    y = tl.load(y_ptr + c)
    {body}
    tl.store(o_ptr + c, z)
"""


# The same on blocks of 60, which are padded, or of 48.
ODD = {
    "64": "60", "63": "59", "128": "120", "(4, 16)": "(4, 15)", "(4, 2, 8)": "(5, 3, 4)",
    "(32, 2)": "(30, 2)", "(8, 8)": "(6, 10)", "(0, 16)": "(0, 15)", "* 16": "* 15",
}  # fmt: skip


ODD_BODIES = {
    "convert_layout": "z = tl.reshape(tl.sum(tl.reshape(x, (6, 10)), axis=0)[None, :] + tl.trans(tl.reshape(y, (10, 6))), (60,))",
}  # fmt: skip


def odd(text: str) -> str:
    for old, new in ODD.items():
        text = re.sub(rf"(?<![\w]){re.escape(old)}(?![\w])", new, text)
    return text


@core.extern
def mine(x, path: tl.constexpr, _semantic=None):
    row = {(core.dtype("fp32"),): ("mine", core.dtype("fp32"))}
    return core.extern_elementwise("mine", path, [x], row, True, _semantic=_semantic)


@core.extern
def mine_io(x, path: tl.constexpr, _semantic=None):
    row = {(core.dtype("fp32"),): ("mine", core.dtype("fp32"))}
    return core.extern_elementwise("mine", path, [x], row, False, _semantic=_semantic)


@cache
def library() -> str:
    """A file of bitcode with one function."""
    path = Path(tempfile.mkdtemp(prefix="tegula-")) / "mine.ll"
    path.write_text("define float @mine(float %x) {\n  ret float %x\n}\n")
    return str(path)


def make(op: str, dtype: str, is_odd: bool = False) -> tegula.jit:
    """A kernel of its own name: what is assembled together needs distinct ones."""
    name = f"{op}_{dtype}"
    body = ODD_BODIES.get(op, BODIES[op]) if is_odd else BODIES[op]
    text = SOURCE.replace("kernel", name).format(body=body)
    text = odd(text) if is_odd else text
    file = f"<one op: {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {
        "tl": tl,
        "mine": mine,
        "mine_io": mine_io,
        "LIBRARY": tl.constexpr(library()),
    }
    exec(compile(text, file, "exec"), space)
    return tegula.jit(space[name])


def test_every_op_has_a_row() -> None:
    assert set(OPS) == set(BODIES) | set(MADE_BY)


@pytest.mark.parametrize("is_odd", (False, True), ids=("", "odd"))
@pytest.mark.parametrize("op", BODIES)
def test_compiles_or_says_why(
    op: str, is_odd: bool, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    # Compiled and assembled for one target of the seven, each type for another one, all in
    # seven turns; under --full compiled for all, but those of odd sides.
    is_whole = request.config.getoption("--full")
    files: dict[str, list[Path]] = {}
    n_compiled = 0
    with tegula.knobs.nvidia.scope():
        tegula.knobs.nvidia.ptxas = "none"
        for dtype in DTYPES:
            kernel = make(op, dtype, is_odd)
            p = f"*{dtype}:16"
            draw = zlib.crc32(f"{op} {dtype}".encode()) + int(os.environ["TEGULA_TURN"])
            chosen = TARGETS[draw % len(TARGETS)]
            for target in TARGETS if is_whole and not is_odd else [chosen]:
                try:
                    c = kernel.compile(p, p, p, "i32", target=f"cuda:{target}")
                except tegula.CompileError as e:
                    assert e.code not in BUGS, f"{dtype} {target}: {e}"
                    assert e.filename == f"<one op: {op}_{dtype}>", e
                    assert 4 < e.lineno <= 4 + BODIES[op].count("\n") + 2, e
                    continue
                n_compiled += 1
                if target == chosen:
                    file = tmp_path / f"{dtype}.ptx"
                    file.write_text(c.asm["ptx"])
                    files.setdefault(target, []).append(file)
    assert n_compiled, "of no type on no target"
    out = tmp_path / "cubin"
    for target, group in files.items():
        # ptxas 13.0 crashes on two files that both declare vprintf.
        for part in [[f] for f in group] if op == "print" else [group]:
            command = [PTXAS, f"-arch={target}", "-o", out, *part]
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.returncode == 0, f"{target}: {done.stdout}{done.stderr}"
