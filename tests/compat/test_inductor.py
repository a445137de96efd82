"""torch.compile makes Triton kernels, for the CPU too: they run here as they come."""

from __future__ import annotations

import dis
import os
import subprocess
import sys

import pytest

import tegula
import tegula.language as tl

CODE = """
import tegula.compat
tegula.compat.install()
import torch
import torch._inductor.config as config

config.cpu_backend = "triton"
config.fx_graph_cache = False

def functions(x, i):
    normal = torch.nn.functional.layer_norm(x, (100,))
    best, where = torch.softmax(x, -1).max(1)
    return normal, best, where, x.cumsum(1), x[i] * 2, (x > 1).any(0)

torch.manual_seed(0)
x, i = torch.randn(16, 100), torch.randint(0, 16, (5,))
compiled = torch.compile(functions)
torch.testing.assert_close(compiled(x, i), functions(x, i))

# Arguments that share their memory, of a variant that was compiled from types.
def in_place(b):
    return b.add_(1), b.sum()

def parts(z):
    return z.real * z.imag, torch.angle(z)

z = torch.randn(50, dtype=torch.complex64)
for function, given in (in_place, x), (parts, z):
    found = torch.compile(function)(given.clone())
    torch.testing.assert_close(found, function(given.clone()))
from torch._inductor.codecache import PyCodeCache
text = "".join(open(m.__file__).read() for m in PyCodeCache.modules)
assert "@triton.jit" in text, "no Triton was made"

# A kernel of the user's whose input is its output: torch asks what it writes, and would
# put the old values back if it were told "everything".
import triton
import triton.language as tl

@triton.jit
def scale(OUT, X, n, COS, COUNT, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.load(X + i, mask=i < n) * tl.load(COS + i, mask=i < n)
    tl.store(OUT + i, y, mask=i < n)
    if COUNT is not None:
        tl.atomic_add(COUNT, 1)

def function(x, c):
    y = x * 2
    torch.library.wrap_triton(scale)[(4,)](y, y, 60, c, None, BLOCK=16)
    return y + 1

from torch._higher_order_ops import triton_kernel_wrap as wrap
x, c = torch.randn(60), torch.randn(60)
if hasattr(wrap, "identify_accessed_tensors"):  # torch 2.13
    for count, expected in ((None, ["OUT"]), (x, ["OUT", "COUNT"])):
        args = dict(OUT=x, X=x, n=60, COS=c, COUNT=count, BLOCK=16)
        seen = wrap.identify_accessed_tensors(scale, args, {}).read_writes
        assert [d.name for d in seen.writes] == expected, seen
        assert {"X", "COS"} <= {d.name for d in seen.reads}, seen
torch.testing.assert_close(torch.compile(function)(x, c), x * 2 * c + 1)
"""


@pytest.mark.slow
def test_torch_compile(tmp_path):
    """One process: importing torch's compiler takes longer than what it compiles here."""
    pytest.importorskip("torch")
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "TORCHINDUCTOR_CACHE_DIR": str(tmp_path),
        "TORCHINDUCTOR_COMPILE_THREADS": "4",  # processes, which must not come about
    }
    script = tmp_path / "script.py"  # a kernel's source must be found
    script.write_text(CODE)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script)],
        capture_output=True,
        text=True,
        env=env,
    )
    if "Unsupported device type: cpu" in done.stderr:
        pytest.skip("this torch makes no Triton for CPUs")
    assert done.returncode == 0, done.stderr


def test_torch_can_trace_what_a_grid_calls():
    """torch 2.11 traces into cdiv, and gives up at an import of one of our modules."""
    for function in (tegula.cdiv, tegula.next_power_of_2):
        called = [function.fn.__code__, type(function).__call__.__code__]
        for code in called:
            assert not [i for i in dis.get_instructions(code) if "IMPORT" in i.opname]
            names = [type(function).__call__.__globals__.get(n) for n in code.co_names]
            called += [f.__code__ for f in names if hasattr(f, "__code__")]


def test_what_torch_reads_of_a_kernel():
    """Parameters as Triton's IR has them: no constants, and a descriptor's sides."""
    from tegula.compat.compiler import ASTSource

    @tegula.jit
    def f(pair, desc, n, out, none, BLOCK: tl.constexpr):
        x = desc.load([0, 0])
        tl.store(out + tl.arange(0, 4), tl.sum(x, 1))
        tl.store(pair[1], n)

    types = {
        "pair": ("*i32", "*i32"),
        "desc": "tensordesc<fp32[4, 4]>",
        "n": "i32",
        "out": "*fp32",
        "none": "constexpr",
        "BLOCK": "constexpr",
    }
    source = ASTSource(f, types, {"BLOCK": 4, "none": None})
    module = source.make_ir("cpu", None, {}, {}, None)
    # The tuple has no pointer type of its own.
    assert module.is_written == [None, False, *[None] * 4, None, True]
    names = []
    module.walk(lambda op: names.append(op.get_name()))
    assert names[:4] == ["tt.load", "tt.load", "tt.store", "tt.store"]
    assert names[4:] == ["tt.return", "tt.func", "builtin.module"]


def test_what_a_combine_function_asks_of_types_alone():
    """Inductor's helpers compute a value whose type they look at, and drop it."""
    np = pytest.importorskip("numpy")

    @tegula.jit
    def is_floating(x):
        return (x + tl.zeros((1,), tl.int1)).dtype.is_floating()

    @tegula.jit
    def larger(a, b):
        mask = a > b
        if is_floating(a):
            mask |= a != a
        return tl.where(mask, a, b)

    @tegula.jit
    def reduce(x, out):
        tl.store(out, tl.reduce(tl.load(x + tl.arange(0, 16)), 0, larger))

    x = np.arange(16, dtype=np.float32)
    for value in (15.0, np.nan):
        x[3], out = value, np.zeros(1, np.float32)
        reduce[(1,)](x, out)
        np.testing.assert_equal(out[0], np.float32(value))


def marked(f):
    """As a library marks its own functions of the compiler."""

    def wrapper(*args, _semantic, **kwargs):
        return f(*args, **kwargs)

    wrapper.__triton_builtin__ = True
    return wrapper


@marked
def doubled(n, *, plus=0):
    assert isinstance(n, tl.constexpr)
    return tl.constexpr(2 * n.value + tl.constexpr(plus).value)


@marked
def value_if(mask, value):
    if isinstance(mask, tl.constexpr) and mask.value is None:
        return tl.constexpr(None)
    return value


@marked
def first_type(x):
    return x.dtype


def test_functions_that_a_library_marks_as_builtins():
    np = pytest.importorskip("numpy")

    @tegula.jit
    def kernel(x, out, n, MASKED: tl.constexpr):
        W: tl.constexpr = doubled(7, plus=2)
        i = tl.arange(0, W)
        mask = i < n if MASKED else None
        v = tl.load(x + i, mask, other=value_if(mask, 5.0))
        tl.store(out + i, value_if(mask, v) if MASKED else v)

    x, out = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    kernel[(1,)](x, out, 10, True)
    np.testing.assert_array_equal(out, np.where(np.arange(16) < 10, x, 5))
    kernel[(1,)](x, out, 10, False)
    np.testing.assert_array_equal(out, x)

    @tegula.jit
    def looks(x):
        tl.store(x, first_type(tl.load(x)).itemsize)

    with pytest.raises(tegula.CompileError, match="no attribute"):
        looks[(1,)](x)


@tegula.jit
def template(a_ptr, b_ptr, c_ptr):
    """A product as Inductor writes it: sides are constants, rows that wrap have hints."""
    pid = tl.program_id(0).to(tl.int32)
    group = min(4 - pid // 32 * 8, 8)
    pid_m = pid // 32 * 8 + pid % group
    pid_n = pid % 32 // group
    tl.assume(pid_m >= 0)
    tl.assume(pid_n >= 0)
    rm = pid_m * 128 + tl.arange(0, 128)
    rn = pid_n * 128 + tl.arange(0, 128)
    m = tl.max_contiguous(tl.multiple_of(rm % 512, 128), 128)
    n = tl.max_contiguous(tl.multiple_of(rn % 512, 128), 128)
    acc = tl.zeros((128, 128), tl.float32)
    for i in range(tl.cdiv(512, 64)):
        k = tl.arange(0, 64) + i * 64
        a = tl.load(a_ptr + (k[None, :] + 512 * m[:, None]))
        b = tl.load(b_ptr + (n[None, :] + 512 * k[:, None]))
        acc += tl.dot(a, b)
    rm, rn = rm[:, None], rn[None, :]
    tl.store(c_ptr + (rn + 512 * rm), acc, (rm < 512) & (rn < 512))


@pytest.mark.parametrize("stores_cubin", [False, True])
def test_who_launches_by_run_has_tensor_maps(stores_cubin):
    """A launcher in C++ takes the cubin, and knows of no parameters but the kernel's."""
    names = {"__name__": "torch._inductor.runtime.triton_heuristics"}
    exec(
        "def compiled(self, compile, *args):\n    return compile(*args)",
        names,
    )

    class Tuner:
        inductor_meta = {"store_cubin": stores_cubin}

    types = dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), "*bf16")
    aligned = {(i,): [["tt.divisibility", 16]] for i in range(3)}
    source = tegula.ASTSource(template, types, {}, aligned)
    options = {"num_warps": 8, "num_stages": 3}
    args = tegula.compile, source, "cuda:sm_90a", options
    ptx = names["compiled"](Tuner(), *args).asm["ptx"]
    assert ("cp.async.bulk.tensor" in ptx) is not stores_cubin
    assert "cp.async.bulk.tensor" not in tegula.compile(*args[1:]).asm["ptx"]
