"""The kernels whose PTX is watched: where each stands, and arguments it would be given.

A row: name, file:kernel, signature (runtime/signature.c says how to read one), options.
`small`: not one register may spill, on any target. With a large dot ptxas at times spills
one register so that one more program fits; the table shows it.
"""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import tegula
import tegula.language as tl

ROOT = Path(__file__).parents[2]
TARGETS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a")


class Case(NamedTuple):
    name: str
    kernel: str
    signature: str
    options: dict[str, Any]
    small: bool = True


F, H, B, D, I = "*fp32:16", "*fp16:16", "*bf16:16", "*fp64:16", "*i32:16"
TESTS, OPS, BENCH = "tests/kernels/test_", "python/tegula/ops/", "benchmarks/"
MATMUL = f"{TESTS}matmul.py:matmul_kernel"
OUR_MATMUL = f"{TESTS}pipeline.py:matmul_kernel"
BENCH_MATMUL = f"{BENCH}matmul.py:matmul_kernel"
BENCH_ATTENTION = f"{BENCH}attention.py:attention_kernel"


def sizes(m: int, n: int, k: int, **more: Any) -> dict[str, Any]:
    return {"BM": m, "BN": n, "BK": k, **more}


def blocks(m: int, n: int, k: int, acc: Any, precision: str = "ieee") -> dict[str, Any]:
    shape = {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": 8}
    return {**shape, "ACC": acc, "PRECISION": precision}


STRIDES = "i32:16 i32:1 i32:16 i32:1 i32:16 i32:1"
MNK = "i32:16 i32:16 i32:16"

CASES = [
    # tests/kernels
    Case("add", f"{TESTS}add.py:add_kernel", f"{F} {F} {F} i32:16", {"BLOCK_SIZE": 1024}),
    Case("add any n", f"{TESTS}add.py:add_kernel", f"{F} {F} {F} i32", {"BLOCK_SIZE": 1024}),
    Case("add unaligned", f"{TESTS}add.py:add_kernel", "*fp32 *fp32 *fp32 i32", {"BLOCK_SIZE": 1024}),
    Case("saxpy f16", f"{TESTS}saxpy.py:saxpy_kernel", f"{H} {H} {H} fp32 i32:16", {"BLOCK": 1024}),
    Case("saxpy f64", f"{TESTS}saxpy.py:saxpy_kernel", f"{D} {D} {D} fp32 i32:16", {"BLOCK": 1024}),
    Case("softmax 1024", f"{TESTS}softmax.py:softmax_kernel", f"{F} {F} i32:16 i32:16 i32:16", {"BLOCK": 1024}),
    Case("softmax 65536", f"{TESTS}softmax.py:softmax_kernel", f"{F} {F} i32:16 i32:16 i32:16", {"BLOCK": 65536, "num_warps": 32}, False),
    Case("softmax 2d", f"{TESTS}softmax.py:softmax_2d_kernel", f"{F} {F} i32 i32:16", {"ROWS": 4, "BLOCK": 256}),
    Case("layer norm", f"{TESTS}norm.py:layer_norm_kernel", f"{B} {B} {B} {B} {F} {F} i32:16 i32:16 fp32", {"BLOCK": 1024}),
    Case("rms norm", f"{TESTS}norm.py:rms_norm_kernel", f"{B} {B} {B} i32:16 fp32", {"BLOCK": 1024}),
    Case("matmul f16", MATMUL, f"{H} {H} {H} {MNK} {STRIDES}", blocks(64, 64, 32, tl.float32), False),
    Case("matmul by roles", f"{TESTS}roles.py:matmul", f"{H} {H} {H} {MNK}", sizes(128, 256, 64, TURNED=False, num_warps=8, hopper="3"), False),
    Case("matmul tf32 by roles", f"{TESTS}roles.py:matmul", f"{F} {F} {F} {MNK}", sizes(128, 256, 32, TURNED=False, num_warps=8, hopper="3"), False),
    Case("few rows by roles", f"{TESTS}roles.py:matmul", f"{H} {H} {H} {MNK}", sizes(16, 128, 64, TURNED=False, num_warps=4, hopper="3"), False),
    Case("matmul float8 by roles", f"{TESTS}roles.py:matmul", f"*fp8e4nv:16 *fp8e4nv:16 {F} {MNK}", sizes(128, 256, 128, TURNED=True, num_warps=8, hopper="3"), False),
    Case("attention by roles", f"{TESTS}roles.py:attention", f"{H} {H} {H} {H} i32:16", {"BM": 128, "BN": 64, "D": 128, "CAUSAL": True, "num_warps": 8, "hopper": "3"}, False),
    Case("matmul bf16", MATMUL, f"{B} {B} {B} {MNK} {STRIDES}", blocks(64, 64, 32, tl.float32), False),
    Case("matmul f32", MATMUL, f"{F} {F} {F} {MNK} {STRIDES}", blocks(64, 64, 32, tl.float32), False),
    Case("matmul tf32", MATMUL, f"{F} {F} {F} {MNK} {STRIDES}", blocks(64, 64, 32, tl.float32, "tf32"), False),
    Case("matmul tf32, B along K", MATMUL, f"{F} {F} {F} {MNK} i32:16 i32:1 i32:1 i32:16 i32:16 i32:1", blocks(64, 64, 32, tl.float32, "tf32"), False),
    Case("matmul tf32x3", MATMUL, f"{F} {F} {F} {MNK} {STRIDES}", blocks(64, 64, 32, tl.float32, "tf32x3"), False),
    Case("matmul f64", MATMUL, f"{D} {D} {D} {MNK} {STRIDES}", blocks(32, 32, 16, tl.float64), False),
    Case("matmul i8", MATMUL, f"*i8:16 *i8:16 {I} {MNK} {STRIDES}", blocks(64, 64, 64, tl.int32), False),
    Case("small dot", f"{TESTS}matmul.py:small_dot_kernel", f"{H} {H} {F}", {"M": 16, "N": 8, "K": 32}),
    Case("dot f64", f"{TESTS}small_dot.py:dot_kernel", f"{D} {D} {D} {D}", {"B": 2, "M": 16, "N": 16, "K": 32, "PRECISION": "ieee"}),
    Case("dot of one row", f"{TESTS}small_dot.py:dot_kernel", f"{H} {H} {F} {F}", {"B": 1, "M": 1, "N": 64, "K": 64, "PRECISION": "ieee"}),
    Case("dot i8, K = 8", f"{TESTS}small_dot.py:dot_kernel", f"*i8:16 *i8:16 {I} {I}", {"B": 1, "M": 32, "N": 32, "K": 8, "PRECISION": "ieee"}),
    Case("pipelined matmul", OUR_MATMUL, f"{H} {H} {F} i32:16 i32:16 i32:1 i32:16 i32:1", {"M": 64, "N": 64, "BLOCK_K": 32, "ACC": tl.float32}, False),
    Case("pages", f"{TESTS}pipeline.py:pages_kernel", f"{I} {H} {F} i32", {"P": 32, "STAGES": 3}),
    Case("row sums", f"{TESTS}pipeline.py:row_sums_kernel", f"{F} {F} i32:16", {"BLOCK": 1024, "STAGES": 3}),
    Case("attention f16", f"{TESTS}attention.py:attention_kernel", f"{H} {H} {H} {H} i32:16 fp32", {"HEAD": 64, "BLOCK_M": 64, "BLOCK_N": 64, "CAUSAL": False}),
    Case("attention causal", f"{TESTS}attention.py:attention_kernel", f"{H} {H} {H} {H} i32:16 fp32", {"HEAD": 64, "BLOCK_M": 64, "BLOCK_N": 32, "CAUSAL": True}, False),
    Case("odd softmax 1000", f"{TESTS}block_sides.py:softmax_kernel", f"{F} {F}", {"n": 1000}),
    Case("odd layer norm 768", f"{TESTS}block_sides.py:layer_norm_kernel", f"{H} {H} {H} {H}", {"n": 768}),
    Case("odd matmul", f"{TESTS}block_sides.py:matmul_kernel", f"{F} {H} {H}", {"M": 96, "N": 80, "K": 48}, False),
    Case("odd attention", f"{TESTS}attention.py:attention_kernel", f"{H} {H} {H} {H} i32:16 fp32", {"HEAD": 96, "BLOCK_M": 64, "BLOCK_N": 32, "CAUSAL": False}, False),
    Case("loaded descriptors", f"{TESTS}loaded_descriptors.py:product", f"*i64:16 {I} i32", {"M": 64, "N": 64, "K": 64, "num_stages": 3}, False),
    Case("running means", f"{TESTS}running_means.py:columns", f"{F} {F} {F} {F} i32:16 i32:16", {"X": 64, "R": 64, "num_warps": 16}),
    Case("collatz", f"{TESTS}control_kernels.py:collatz_kernel", f"{I} {I}", {}),
    Case("newton", f"{TESTS}control_kernels.py:newton_kernel", f"{F} {F} i32", {"BLOCK": 1024}),
    Case("store if", f"{TESTS}control_kernels.py:store_if_kernel", f"{F} {F} fp32", {"BLOCK": 1024}),
    Case("early return", f"{TESTS}control_kernels.py:early_return_kernel", f"{F} i32", {}),
    Case("branch value", f"{TESTS}control_kernels.py:branch_value_kernel", f"{F} {F}", {"BLOCK": 1024}),
    Case("bincount", f"{TESTS}control_kernels.py:bincount_kernel", f"{I} {I} i32:16", {"BLOCK": 1024}),
    Case("atomic sum", f"{TESTS}control_kernels.py:atomic_sum_kernel", f"{F} {F} {I}", {"BLOCK": 1024}),
    Case("lock", f"{TESTS}control_kernels.py:lock_kernel", f"{I} {I}", {}),
    Case("atomic min max", f"{TESTS}control_kernels.py:atomic_minmax_kernel", f"{F} {F}", {"BLOCK": 1024}),
    Case("int division", f"{TESTS}integers.py:binary_kernel", f"{I} {I} {I} i32", {"OP": "//", "BLOCK": 128}),
    Case("cast i64 f16", f"{TESTS}integers.py:cast_kernel", f"*i64:16 {H} i32", {"BLOCK": 1024}),
    Case("cast f32 fp8", f"{TESTS}integers.py:cast_kernel", f"{F} *fp8e4nv:16 i32", {"BLOCK": 1024}),
    Case("umulhi i64", f"{TESTS}integers.py:mulhi_kernel", "*u64:16 *u64:16 *u64:16", {"BLOCK": 1024}),
    Case("exp f64", f"{TESTS}math.py:math_kernel", f"{D} {D}", {"OP": "exp", "BLOCK": 1024}),
    Case("sin f32", f"{TESTS}math.py:math_kernel", f"{F} {F}", {"OP": "sin", "BLOCK": 1024}),
    Case("sin f64", f"{TESTS}math.py:math_kernel", f"{D} {D}", {"OP": "sin", "BLOCK": 512}),
    # tegula.ops
    Case("ops softmax", f"{OPS}softmax.py:forward_kernel", f"{B} {B} i32:16", {"ACC": tl.float32, "BLOCK": 4096, "num_warps": 8}),
    Case("ops softmax back", f"{OPS}softmax.py:backward_kernel", f"{B} {B} {B} i32:16", {"ACC": tl.float32, "BLOCK": 4096, "num_warps": 8}),
    Case("ops softmax f64", f"{OPS}softmax.py:forward_kernel", f"{D} {D} i32:16", {"ACC": tl.float64, "BLOCK": 1024, "num_warps": 2}),
    Case("ops norm", f"{OPS}norm.py:forward_kernel", f"{B} {B} {B} {B} {B} {B} {F} {F} i32:16 fp32", {"CENTER": True, "ACC": tl.float32, "BLOCK": 4096, "num_warps": 8}),
    Case("ops norm back", f"{OPS}norm.py:backward_kernel", f"{B} {B} {B} {B} {F} {F} {B} {F} {F} i32 i32:16", {"CENTER": True, "ACC": tl.float32, "BLOCK": 1024, "num_warps": 4}),
    Case("ops cross entropy", f"{OPS}cross_entropy.py:forward_kernel", f"{B} *i64:16 {F} {F} i32:16 i32", {"ACC": tl.float32, "BLOCK": 4096, "num_warps": 8}),
    Case("ops cross entropy back", f"{OPS}cross_entropy.py:backward_kernel", f"{B} *i64:16 {F} {F} {F} {B} i32:16 i32", {"REDUCED": True, "ACC": tl.float32, "BLOCK": 4096, "num_warps": 8}),
    Case("ops matmul", f"{OPS}matmul.py:kernel", f"{B} {B} {B} {B} {B} {MNK} i32:16 i32:16 i32:1 i32:16 i32:16 i32:1", sizes(64, 64, 32, GROUP=8, RUN=0, ACT="gelu", ACC=tl.float32, PRECISION="ieee"), False),
    # benchmarks
    Case("bench softmax 4096", f"{BENCH}memory.py:softmax", f"{B} {B} i32:16", {"BLOCK": 4096, "num_warps": 8}),
    Case("bench softmax 32768", f"{BENCH}memory.py:softmax", f"{B} {B} i32:16", {"BLOCK": 32768, "num_warps": 16}),
    Case("bench softmax slices", f"{BENCH}memory.py:softmax", f"{B} {B} i32:16", {"BLOCK": 32768, "num_warps": 4}),
    Case("bench swiglu slices", f"{BENCH}configurations.py:swiglu", f"{B} {B} {B} i32:16", {"BLOCK": 32768, "num_warps": 4}),
    Case("bench layer norm", f"{BENCH}memory.py:layer_norm", f"{B} {B} {B} {B} i32:16 fp32", {"BLOCK": 8192, "num_warps": 8}),
    Case("bench rms norm", f"{BENCH}memory.py:rms_norm", f"{B} {B} {B} i32:16 fp32", {"BLOCK": 4096, "num_warps": 8}),
    Case("bench rms norm, 3 blocks", f"{BENCH}memory.py:rms_norm", f"{B} {B} {B} i32:16 fp32", {"BLOCK": 8192, "num_warps": 16}),
    Case("bench online softmax", f"{BENCH}configurations.py:online_softmax", f"{B} {B} i32:16", {"BLOCK": 8192, "num_warps": 16}),
    Case("bench norm back", f"{BENCH}configurations.py:layer_norm_backward", f"{B} {B} {B} {B} i32:16", {"BLOCK": 4096, "num_warps": 8}),
    Case("bench softmax back", f"{BENCH}configurations.py:softmax_backward", f"{B} {B} {B} i32:16", {"BLOCK": 32768, "num_warps": 32}, False),
    Case("bench weight gradient", f"{BENCH}configurations.py:weight_gradient", f"{B} {B} {F} i32:16 i32:16", {"M": 128, "N": 32, "num_warps": 16}),
    Case("bench dequantise", f"{BENCH}libraries.py:dequantise", f"{I} {H} {I} {H} i32:16 i32:16", {"GROUP": 128, "M": 128, "W": 16, "num_warps": 4}, False),
    Case("bench argmax", f"{BENCH}configurations.py:arg_max", f"{B} {I} i32:16", {"BLOCK": 1024, "num_warps": 16}),
    Case("bench transpose 128", f"{BENCH}memory.py:transpose", f"{B} {B} i32:16 i32:16", {"BLOCK": 128, "num_warps": 4}, False),
    Case("bench cross entropy", f"{BENCH}memory.py:cross_entropy", f"{B} *i64:16 {F} i32:16", {"BLOCK": 32768, "num_warps": 16}),
    Case("bench dropout", f"{BENCH}memory.py:dropout", f"{F} {F} i32:16 fp32 i32", {"BLOCK": 1024}),
    Case("bench column sum", f"{BENCH}memory.py:column_sum", f"{F} {F} i32:16 i32:16", {"BLOCK_M": 32, "BLOCK_N": 128}),
    Case("bench cumsum", f"{BENCH}memory.py:cumsum", f"{F} {F} i32:16", {"BLOCK": 4096, "num_warps": 8}),
    Case("bench transpose", f"{BENCH}memory.py:transpose", f"{F} {F} i32:16 i32:16", {"BLOCK": 64}),
    Case("bench matmul 128", BENCH_MATMUL, f"{B} {B} {B} {MNK}", sizes(128, 128, 64, GROUP=8, num_warps=8, num_stages=3), False),
    Case("bench matmul 64", BENCH_MATMUL, f"{B} {B} {B} {MNK}", sizes(64, 64, 64, GROUP=8, num_warps=4, num_stages=4), False),
    Case("bench matmul fp8", BENCH_MATMUL, f"*fp8e5:16 *fp8e5:16 {B} {MNK}", sizes(64, 64, 64, GROUP=8, num_warps=4), False),
    Case("bench attention 64", BENCH_ATTENTION, f"{H} {H} {H} {H} fp32 i32:16", {"D": 64, "BM": 128, "BN": 64, "CAUSAL": False, "EVEN": True, "num_warps": 4}, False),
    Case("bench attention 128", BENCH_ATTENTION, f"{H} {H} {H} {H} fp32 i32:16", {"D": 128, "BM": 128, "BN": 64, "CAUSAL": True, "EVEN": True, "num_warps": 8}, False),
]  # fmt: skip


@cache
def module(path: str) -> ModuleType:
    """The file, imported under a name of its own: test files of two folders share names."""
    for folder in (BENCH, "tests/ptxsim"):  # whose modules these files import
        if str(ROOT / folder) not in sys.path:
            sys.path.append(str(ROOT / folder))
    name = "ptx_" + path.replace("/", "_").removesuffix(".py")
    spec = importlib.util.spec_from_file_location(name, ROOT / path)
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made


def compiled(case: Case, target: str) -> Any:
    """The case for "sm_80" and the like: a kernel never compiled before."""
    path, name = case.kernel.split(":")
    kernel = getattr(module(path), name)
    plain = getattr(kernel, "fn", kernel)  # benchmarks leave kernels undecorated
    return tegula.jit(plain).compile(
        *case.signature.split(), **case.options, target=f"cuda:{target}"
    )
