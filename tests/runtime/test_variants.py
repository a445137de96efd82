"""Which launches share machine code: what is in the key is a promise."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import tegula
import tegula.language as tl


def make():
    """A fresh kernel with no variants."""

    @tegula.jit
    def kernel(x, out, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)

    return kernel


def aligned(n: int, offset: int = 0, dtype=np.float32) -> np.ndarray:
    """n elements whose address is offset bytes past a multiple of 64."""
    item = np.dtype(dtype).itemsize
    raw = np.zeros(n * item + 128, np.uint8)
    start = -raw.ctypes.data % 64 + offset
    return raw[start : start + n * item].view(dtype)


def test_same_kind_of_arguments_same_variant():
    k = make()
    x, out = aligned(64), aligned(64)
    first = k[(1,)](x, out, 64, BLOCK=64)
    assert k[(2,)](aligned(64), aligned(64), 64, BLOCK=64) is first
    assert k[(1,)](out, x, n=64, BLOCK=64) is first
    assert len(k.variants) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"BLOCK": 32},
        {"x": aligned(64, dtype=np.float64)},
        {"n": 2**40},
        {"num_warps": 8},
        {"debug": True},
        {"enable_fp_fusion": False},
    ],
)
def test_other_kinds_of_arguments_other_variants(change):
    k = make()
    args = {"x": aligned(64), "out": aligned(64), "n": 64, "BLOCK": 64}
    first = k[(1,)](**args)
    second = k[(1,)](**{**args, **change})
    assert second is not first and len(k.variants) == 2
    assert k[(1,)](**args) is first


def test_integers_nobody_asks_about_share_a_variant():
    @tegula.jit
    def kernel(out, n):
        tl.store(out, n)

    out = aligned(16, dtype=np.int32)
    for n in (7, 8, 16, 100, 1000, 4096):
        kernel[(1,)](out, n)
        assert out[0] == n
    assert len(kernel.variants) == 1


def test_one_is_special_where_it_is_read():
    @tegula.jit
    def kernel(x, out, stride):
        i = tl.arange(0, 16)
        tl.store(out + i, tl.load(x + i * stride))

    x, out = np.arange(64, dtype=np.float32), np.zeros(16, np.float32)
    for stride in (1, 2, 3, 1):
        kernel[(1,)](x, out, stride)
        np.testing.assert_array_equal(out, x[: 16 * stride : stride])
    assert any(
        "const 1" in v.asm["tir"] or "mul" not in v.asm["tir"] for v in kernel.variants
    )


def test_do_not_specialize():
    @tegula.jit(do_not_specialize=["n"], do_not_specialize_on_alignment=["x", 1])
    def kernel(x, out, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)

    for n in (1, 2, 3, 16, 48, 64):
        for offset in (0, 4, 8):
            kernel[(1,)](aligned(64, offset), aligned(64, offset), n, BLOCK=64)
    assert len(kernel.variants) == 1


def test_alignment_gives_right_results_whatever_is_shared():
    k = make()
    for offset in (0, 4, 8, 12, 16, 20):
        for n in (1, 2, 15, 16, 63, 64):
            x, out = aligned(64, offset), aligned(64, 0)
            x[:] = np.arange(64)
            k[(1,)](x, out, n, BLOCK=64)
            assert out.tolist() == [float(i) if i < n else 0.0 for i in range(64)]


def test_constants_differ_by_type_not_only_by_value():
    @tegula.jit
    def kernel(out, c: tl.constexpr):
        tl.store(out, c / 2)

    out = np.zeros(1, np.float32)
    values = [2, 2.0, True, 1, 1.0, 0.0, -0.0, (1,), (1.0,), (True,)]
    variants = [
        kernel.warmup(out, v, grid=(1,)) if not isinstance(v, tuple) else None
        for v in values
    ]
    made = [v for v in variants if v]
    assert len({id(v) for v in made}) == len(made)


def test_constants_are_found_again_by_value():
    k = make()
    x, out = aligned(64), aligned(64)
    first = k[(1,)](x, out, 64, BLOCK=64)
    assert k[(1,)](x, out, 64, BLOCK=int("64")) is first
    assert k[(1,)](x, out, 64, BLOCK=tl.constexpr(64)) is first


def test_many_keys_grow_the_table():
    @tegula.jit
    def kernel(a, b, c, d, e):
        tl.store(a, 1)

    arrays = [aligned(8, offset) for offset in (0, 4, 8, 16)]
    for a in arrays:
        for b in (1, 2, 4, 8, 16, 3):
            for c in (1, 2, 4, 8, 16, 3):
                kernel[(1,)](a, b, c, b, c)
    assert len(kernel.variants) <= 4


def test_clusters_need_an_architecture_that_has_them():
    signature = ("*fp32", "*fp32", "i32")
    with pytest.raises(ValueError, match="sm_90"):
        make().compile(*signature, BLOCK=64, num_ctas=2, target="cuda:sm_80")
    assert make().compile(*signature, BLOCK=64, num_ctas=2, target="cuda:sm_90a")


def test_compile_for_any_target_without_it():
    k = make()
    signature = ("*fp32:16", "*bf16", "i32:16")
    for target in ("cuda:sm_75", "cuda:sm_90a", "cuda:sm_120a", "emu:sm_80", "cpu"):
        compiled = k.compile(*signature, BLOCK=64, target=target)
        assert compiled.target == target
        assert ("ptx" in compiled.asm) == (target != "cpu")
        assert k.compile(*signature, BLOCK=64, target=target) is compiled
    assert compiled.asm["ttir"] == compiled.asm["tir"]
    with pytest.raises(KeyError, match="no stage 'ptx' here"):
        compiled.asm["ptx"]


@pytest.mark.parametrize(
    "signature, words",
    [
        (("*fp3", "*fp32", "i32"), "unknown type"),
        (("*fp32:3", "*fp32", "i32"), "after the colon"),
        (("*fp32:1", "*fp32", "i32"), "after the colon"),
        (("*fp32", "*fp32", "banana"), "unknown type"),
    ],
)
def test_bad_signatures(signature, words):
    with pytest.raises(ValueError, match=words):
        make().compile(*signature, BLOCK=64)
    with pytest.raises(ValueError, match="target"):
        make().lower("*fp32", "*fp32", "i32", BLOCK=64, target="gpu")


@pytest.mark.torch
def test_warmup_with_dtypes_for_tensors():
    torch = pytest.importorskip("torch")
    k = make()
    compiled = k.warmup(torch.float16, torch.float16, 64, BLOCK=64, grid=(1,))
    assert "ptr<f16>" in compiled.asm["tir"]
    x = torch.ones(64, dtype=torch.float16)
    assert k[(1,)](x, x, 64, BLOCK=64) is compiled
    with pytest.raises(TypeError, match="'x'"):
        k[(1,)](torch.float16, x, 64, BLOCK=64)


def test_variants_answer_for_their_questions():
    k = make()
    compiled = k[(1,)](aligned(64), aligned(64), 64, BLOCK=64)
    for node, asked, truth in compiled._answers:
        assert 0 <= node < 4 and asked and truth & asked == truth


# --- threads, memory, processes ---------------------------------------------------------
def test_two_threads_compile_once():
    k = make()
    results, start = [], threading.Barrier(8)

    def work():
        x, out = aligned(64), aligned(64)
        x[:] = 1
        start.wait()
        for _ in range(20):
            compiled = k[(1,)](x, out, 64, BLOCK=64)
            results.append((compiled, out.sum()))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 160 and len(k.variants) == 1
    assert {c for c, _ in results} == set(k.variants)
    assert all(total == 64 for _, total in results)


def test_threads_compile_different_variants_at_once():
    k = make()
    errors = []

    def work(block):
        try:
            x, out = aligned(256), aligned(256)
            x[:] = block
            k[(1,)](x, out, block, BLOCK=block)
            assert (out[:block] == block).all()
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=work, args=(1 << i % 8,)) for i in range(24)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors and len(k.variants) == 8


def test_errors_are_raised_in_every_thread_and_every_time():
    @tegula.jit
    def wrong(out):
        tl.store(out, nowhere)  # noqa: F821

    for _ in range(3):
        with pytest.raises(tegula.CompileError, match="nowhere"):
            wrong[(1,)](aligned(4))
    assert wrong.variants == []


def test_kernels_are_collected():
    k = make()
    k[(1,)](aligned(64), aligned(64), 64, BLOCK=64)
    gone = weakref.ref(k)
    del k
    gc.collect()
    assert gone() is None


def test_launches_leak_nothing():
    k = make()
    x, out = aligned(64), aligned(64)
    launcher = k[(1,)]
    block = 64

    def run():
        for _ in range(100):
            launcher(x, out, 64, BLOCK=block)
            k[lambda meta: (1,)](x, out, 64, block)
            try:
                launcher(x, out, [], BLOCK=block)
            except TypeError:
                pass

    run()
    before = [sys.getrefcount(o) for o in (x, out, k, launcher, None, k.variants[0])]
    run()
    after = [sys.getrefcount(o) for o in (x, out, k, launcher, None, k.variants[0])]
    assert before[:4] == after[:4] and abs(before[5] - after[5]) <= 1


def test_a_failed_launch_keeps_the_kernel_usable():
    k = make()
    x, out = aligned(64), aligned(64)
    x[:] = 3
    with pytest.raises(tegula.CompileError):
        k[(1,)](x, out, 64, BLOCK=0)
    k[(1,)](x, out, 64, BLOCK=64)
    assert out.sum() == 192


def test_fork_after_a_launch():
    k = make()
    x, out = aligned(64), aligned(64)
    x[:] = 2
    k[(1,)](x, out, 64, BLOCK=64)
    out[:] = 0
    pid = os.fork()
    if pid == 0:
        try:
            k[(1,)](x, out, 64, BLOCK=64)
            k[(1,)](x, out, 32, BLOCK=32)
            os._exit(0 if out.sum() == 128 else 1)
        except BaseException:
            os._exit(2)
    assert os.waitpid(pid, 0)[1] == 0


def test_two_imports_are_two_modules():
    code = """
import importlib.util, sys
import tegula
spec = importlib.util.spec_from_file_location("tegula._core", tegula._core.__file__)
other = importlib.util.module_from_spec(spec)
spec.loader.exec_module(other)
assert other.Kernel is not tegula._core.Kernel
other.configure(target="emu:sm_80")
"""
    subprocess.run([sys.executable, "-c", code], check=True, env=child_env())


def test_launch_in_a_thread_while_the_interpreter_ends():
    code = f"""
import threading, numpy as np, sys, time
sys.path.insert(0, {os.path.dirname(__file__)!r})
from test_variants import make, aligned
k = make()
x, out = aligned(64), aligned(64)
k[(1,)](x, out, 64, BLOCK=64)
def work():
    while True:
        k[(1,)](x, out, 64, BLOCK=64)
threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)
"""
    subprocess.run([sys.executable, "-c", code], check=True, env=child_env())


def child_env() -> dict[str, str]:
    root = os.path.dirname(os.path.dirname(tegula.__file__))
    return {**os.environ, "PYTHONPATH": root}


def test_timings(tmp_path):
    """A compile says what each stage cost; what comes from disk cost no compile."""
    code = """
import numpy as np
from test_variants import make, aligned
c = make()[(1,)](aligned(64), aligned(64), 64, BLOCK=64)
t = c.timings
assert t == {} if c.metadata.from_disk else min(t[k] for k in list(t)[:4]) > 0, t
print(*t)
"""
    env = {**child_env(), "TEGULA_CACHE_DIR": str(tmp_path)}
    for words in ("frontend passes codegen llvm ptxas", ""):
        done = subprocess.run(
            [sys.executable, "-c", code], check=True, env=env, text=True,
            cwd=os.path.dirname(__file__), capture_output=True,
        )  # fmt: skip
        assert done.stdout.strip() == words
