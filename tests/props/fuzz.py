"""Mutated kernels through the whole compiler, in a process that may die of it.

    python tests/props/fuzz.py 0 100     seeds 0 .. 99; each prints its seed, then what came

The kernels of tests/ptx/cases.py lose, swap and trade expressions and statements, their
arguments change type and their constants value; then they are compiled, not run, for a
target that the seed chooses. What may come: code, or an error that is not of class BUG.
"""

from __future__ import annotations

import ast
import copy
import inspect
import linecache
import random
import re
import signal
import sys
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests/ptx")]

from cases import CASES, TARGETS, module  # noqa: E402

import tegula  # noqa: E402

DTYPES = (
    "fp32",
    "fp16",
    "bf16",
    "fp64",
    "i32",
    "i8",
    "i64",
    "u32",
    "i1",
    "fp8e5",
    "fp8e4nv",
    "fp8e4b15",
    "fp8e4b8",
    "fp8e5b16",
)
BUGS = re.findall(
    r"^ERR\((\w+),\s*BUG", (ROOT / "csrc/base/errors.def").read_text(), re.M
)
ODD = [
    ast.parse(text, mode="eval").body
    for text in (
        "0", "1", "-1", "7", "2**31", "1e38", "0.5", "True", "None", "tl.float16",
        "tl.int8", "tl.program_id(0)", "tl.arange(0, 16)", "tl.arange(0, 1)",
        "tl.zeros((4, 4), tl.float32)", "tl.full((), 2, tl.int64)",
        "tl.full((32,), 0.5, tl.float64)", "(1, 2)",
    )
]  # fmt: skip
SECONDS = 60  # of CPU time: machines are busy


class Mutator(ast.NodeTransformer):
    def __init__(self, rng: random.Random, pool: list[ast.expr], rate: float) -> None:
        self.rng, self.pool, self.rate = rng, pool, rate

    def visit(self, node: ast.AST) -> Any:
        node = self.generic_visit(node)
        draw = self.rng.random
        if isinstance(node, ast.expr) and draw() < self.rate:
            if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
                return node
            return copy.deepcopy(self.rng.choice(self.pool if draw() < 0.7 else ODD))
        if isinstance(node, ast.BinOp) and draw() < self.rate:
            ops = (
                ast.Add,
                ast.Mult,
                ast.FloorDiv,
                ast.Mod,
                ast.LShift,
                ast.BitAnd,
                ast.Div,
            )
            node.op = self.rng.choice(ops)()
        body = getattr(node, "body", None)
        if isinstance(body, list) and len(body) > 1 and draw() < 3 * self.rate:
            i, k = self.rng.randrange(len(body)), self.rng.randrange(len(body))
            choice = draw()
            if choice < 0.4:
                body[i], body[k] = body[k], body[i]
            elif choice < 0.7:
                del body[i]
            else:
                body.insert(i, copy.deepcopy(body[k]))
        return node


def mutated(seed: int) -> tuple[Any, list[str], dict[str, Any], str]:
    rng = random.Random(seed)
    case = rng.choice(CASES)
    path, name = case.kernel.split(":")
    kernel = getattr(module(path), name)
    plain = getattr(kernel, "fn", kernel)
    tree = ast.parse(textwrap.dedent(inspect.getsource(plain)))
    function = tree.body[0]
    function.decorator_list = []
    pool = [
        n
        for n in ast.walk(function)
        if isinstance(n, ast.expr)
        and not isinstance(n, (ast.Slice, ast.Starred))
        and isinstance(getattr(n, "ctx", ast.Load()), ast.Load)
    ]
    mutator = Mutator(rng, pool, rng.choice((0, 0.005, 0.02, 0.05)))
    function.body = [mutator.visit(s) for s in function.body]
    text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    file = f"<fuzz {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = dict(plain.__globals__)
    exec(compile(text, file, "exec"), space)

    signature = case.signature.split()
    for i, s in enumerate(signature):
        if rng.random() < 0.1:
            dtype = rng.choice(DTYPES)
            hint = rng.choice(("", ":16", ":8", ":4", ":2"))
            signature[i] = ("*" if s[0] == "*" else "") + dtype + hint
    options = dict(case.options)
    for key, value in options.items():
        if type(value) is int and rng.random() < 0.2:
            options[key] = rng.choice((1, 2, 4, 8, 16, 32, 64, 3, 0))
    if rng.random() < 0.3:
        options["num_warps"] = rng.choice((1, 2, 4, 8))
    gpu = rng.choice(TARGETS)
    target = rng.choice(("cpu", f"emu:{gpu}", f"cuda:{gpu}", f"cuda:{gpu}"))
    return tegula.jit(space[name]), signature, {**options, "target": target}, text


def attempt(seed: int) -> str:
    try:
        kernel, signature, options, text = mutated(seed)
    except (SyntaxError, ValueError, RecursionError):
        return "no Python"
    try:
        kernel.compile(*signature, **options)
    except tegula.CompileError as e:
        if e.code in BUGS:
            raise AssertionError(f"{signature} {options}\n{text}\n{e}") from None
        return e.code
    except (tegula.TegulaError, TypeError, ValueError) as e:
        return type(e).__name__
    except AssertionError as e:  # what Triton raises for it
        if "option num_warps" in str(e):
            return "num_warps"
        raise
    return "ok"


def main() -> None:
    first, n = int(sys.argv[1]), int(sys.argv[2])
    tegula.knobs.nvidia.ptxas = "none"
    for seed in range(first, first + n):
        print(seed, end=" ", flush=True)
        # A compile that never ends is as bad as a crash. The signal's default ends us.
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        print(attempt(seed), flush=True)


if __name__ == "__main__":
    main()
