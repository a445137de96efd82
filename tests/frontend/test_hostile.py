"""Sources nobody would write: an error, never a crash."""

from __future__ import annotations

import ast
import itertools
import linecache
import random
import runpy
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tegula
import tegula.language as tl

SEEDS = """
def helper(a, b=2.0, *rest, scale: tl.constexpr = 1):
    if a is None:
        return b
    for r in rest:
        b += r
    return a * scale, b
---
def kernel(x, y, n, m, B: tl.constexpr, FLAG: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * B + tl.arange(0, B)
    mask = (offs < n) & (offs >= 0)
    v = tl.load(x + offs, mask=mask, other=0.0)
    acc = tl.zeros((B,), dtype=tl.float32)
    i = n
    for k in range(0, m, 2):
        if k > 3:
            acc += v * k
        elif FLAG:
            acc = tl.where(mask, acc, -v)
        while i > 0:
            i -= 1
    for s in tl.static_range(3):
        acc = acc + s if FLAG else acc - s
    a, (b, c) = 1, (acc, [q + 1 for q in (1, 2, n)])
    w: tl.constexpr = B // 2
    z = acc[:, None] * b[None, :]
    r = tl.sum(z, axis=1) + tl.max(z, axis=0) + c[2] + w
    h, _ = helper(r, *c, scale=2)
    if n == 0:
        return
    assert n > 0, "n"
    tl.store(y + offs, h.to(tl.float16), mask=mask)
    tl.static_assert(B == 16 and not (n is None), f"{B}")
    tl.atomic_add(y + pid, 1.0 if m > 3 else -1.0)
    z = tl.dot(z, tl.trans(z), allow_tf32=False) + tl.exp(z) / (z % 2 - 1)
    tl.store(y, tl.sum(z) if FLAG or m > n and mask is not None else 0.0)
"""
TIRC = Path(__file__).parents[2] / "build" / "tirc"
WORDS = [
    "x",
    "n",
    "B",
    "None",
    "True",
    "acc",
    "tl",
    "1",
    "0.5",
    "'s'",
    "offs",
    "-1",
    "helper",
]
WORDS += [
    "tl.float32",
    "tl.load",
    "tl.sum",
    "(1, 2)",
    "[]",
    "range(3)",
    "x.dtype",
    "2**70",
]
WORDS += [
    "tl.constexpr",
    "int",
    "len",
    "(lambda: 1)",
    "...",
    "b''",
    "1j",
    "x.shape",
    "acc.T",
]


class Mutator(ast.NodeTransformer):
    """Replaces a few nodes by others of the same file, or by odd words."""

    def __init__(self, rng: random.Random, pool: list[ast.expr], rate: float) -> None:
        self.rng, self.pool, self.rate = rng, pool, rate

    def visit(self, node: ast.AST) -> Any:
        node = super().generic_visit(node)
        if isinstance(node, ast.expr) and self.rng.random() < self.rate:
            store = isinstance(getattr(node, "ctx", None), ast.Store)
            if not store:
                if self.rng.random() < 0.5:
                    return self.rng.choice(self.pool)
                return ast.parse(self.rng.choice(WORDS), mode="eval").body
        if isinstance(node, ast.BinOp) and self.rng.random() < self.rate:
            ops = [ast.Add, ast.Pow, ast.FloorDiv, ast.MatMult, ast.RShift, ast.BitXor]
            node.op = self.rng.choice(ops)()
        body = getattr(node, "body", None)
        if (
            isinstance(body, list)
            and len(body) > 1
            and self.rng.random() < 2 * self.rate
        ):
            i, k = self.rng.randrange(len(body)), self.rng.randrange(len(body))
            body[i], body[k] = body[k], body[i]
            if self.rng.random() < 0.3:
                del body[i]
        return node


def build(text: str, name: str) -> Any:
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, Any] = {"tegula": tegula, "tl": tl}
    exec(compile(text, name, "exec"), space)
    return space["kernel"]


def source(seed: int) -> str:
    rng = random.Random(seed)
    tree = ast.parse(SEEDS.replace("---", ""))
    pool = [
        n for n in ast.walk(tree) if isinstance(n, ast.expr) and hasattr(n, "lineno")
    ]
    pool = [
        n for n in pool if not isinstance(getattr(n, "ctx", None), (ast.Store, ast.Del))
    ]
    pool = [n for n in pool if not isinstance(n, (ast.Slice, ast.Starred))]
    # What unparses to an expression of its own: (:, None) does not.
    texts = [t for t in map(ast.unparse, pool) if ":" not in t or t[0] in "[f"]
    pool = [ast.parse(t, mode="eval").body for t in texts]
    for fn in tree.body:
        fn.body = [
            Mutator(rng, pool, 0.001 + 0.02 * rng.random()).visit(s) for s in fn.body
        ]
        fn.decorator_list = [ast.parse("tegula.jit", mode="eval").body]
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def try_seed(seed: int) -> str:
    """ "syntax", "ok" or the code of the error."""
    try:
        text = source(seed)
        kernel = build(text, f"<fuzz {seed}>")
    except (SyntaxError, ValueError):
        return "syntax"  # not even Python
    try:
        ir = kernel.lower("*fp32", "*fp32", "i32", "i32:1", B=16, FLAG=seed % 2 == 0)
    except tegula.CompileError as e:
        assert e.code not in ("UNREACHABLE", "VERIFY"), f"seed {seed}: {e}\n{text}"
        return e.code
    done = subprocess.run(
        [TIRC, "verify", "-"], input=ir, capture_output=True, text=True
    )
    assert done.returncode == 0, f"seed {seed}: {done.stderr}\n{text}"
    return "ok"


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("first", range(0, 400, 50))
def test_mutated_sources(first: int) -> None:
    seen = {try_seed(seed) for seed in range(first, first + 50)}
    assert len(seen) > 3, "the mutations are too tame or too wild"


def test_unmutated_source() -> None:
    text = SEEDS.replace("---", "").replace("\ndef ", "\n@tegula.jit\ndef ")
    ir = build(text, "<seeds>").lower("*fp32", "*fp32", "i32", "i32", B=16, FLAG=True)
    done = subprocess.run(
        [TIRC, "verify", "-"], input=ir, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "body",
    [
        "tl.store(x, " + "+".join(["1"] * 5000) + ")",
        "tl.store(x, " + "-" * 3000 + "n)",
        "tl.store(x, " + "(" * 90 + "n" + ")" * 90 + ")",
        "tl.store(x, " + "n+" * 3000 + "n)",
        "s: tl.constexpr = 1\n    "
        + "\n    ".join(["s: tl.constexpr = s * 12345678901"] * 9000),
        "\n    ".join("    " * i + f"if n > {i}:" for i in range(90)) + " pass",
        "t: tl.constexpr = (1,) * 4096\n    tl.store(x, (t + t)[5000])",
        "s = 'x' * 10 ** 9",
        "tl.store(x, 2 ** 10 ** 9)",
        "tl.store(x, 1 << 10 ** 9)",
        "tl.store(x, tl.arange(0, 2 ** 40))",
        "tl.store(x, tl.zeros((2 ** 15, 2 ** 15), tl.float32))",
        "tl.store(x, tl.zeros((-4,), tl.float32))",
        "tl.store(x, tl.zeros((1,) * 9, tl.float32))",
        "for i in tl.static_range(0, 10, 0): pass",
        "for i in range(0, n, 0): pass",
        "a = (n, n); a = (a, a); tl.store(x, a)",
        "print('ü', n)",
        "tl.device_print(n)",
        "tl.static_print(object)",
        "getattr(n, 'x' * 100000)",
        "tl.reduce(tl.arange(0, 4), 0, kernel)",
        "tl.load(*[x] * 300)",
    ],
    ids=lambda s: s[:24],
)
def test_extremes(body: str) -> None:
    text = f"@tegula.jit\ndef kernel(x, n):\n    {body}\n"
    try:
        kernel = build(text, "<extreme>")
    except (SyntaxError, RecursionError, MemoryError):
        return
    try:
        kernel.lower("*i32", "i32")
    except (tegula.CompileError, RecursionError, MemoryError):
        pass


CALLED = """
import tegula
import tegula.language as tl

@tegula.jit
def k(x, n):
    tl.{}({})
"""


@pytest.mark.parametrize("n_args", [0, 1, 20])
def test_any_number_of_arguments(tmp_path: Path, n_args: int) -> None:
    """Of every function: it compiles, or says how it is called."""
    names = [n for n in dir(tl) if n[0] != "_" and callable(getattr(tl, n))]
    assert "debug_barrier" in names  # which has no parameter
    for name in names:
        path = tmp_path / f"{name}.py"
        path.write_text(CALLED.format(name, ", ".join(["n"] * n_args)))
        try:
            runpy.run_path(str(path))["k"].lower("*fp32", "i32")
        except tegula.CompilationError as e:
            assert f"{name}.py:7" in str(e)


def test_branches_nest_too_deep(tmp_path):
    """Passes recurse over them: an error of the kernel, wherever it is compiled for."""
    for depth in (80, 150, 250):
        text = "import tegula\nimport tegula.language as tl\n@tegula.jit\n"
        text += "def kernel(x, n):\n    v = tl.load(x)\n"
        text += "    tl.store(x, " + "v if n > v else " * depth + "n)\n"
        file = tmp_path / f"deep{depth}.py"
        file.write_text(text)
        space = {"__name__": "deep"}
        exec(compile(text, str(file), "exec"), space)
        if depth < 90:
            space["kernel"].compile("*i32", "i32", target="cpu")
            continue
        with pytest.raises(tegula.CompileError, match="nest deeper than 90"):
            space["kernel"].compile("*i32", "i32", target="cpu")


# ruff: noqa: E501 (sources as texts)
TEXTS = {
    "doubled": "    t: tl.constexpr = 'ab'\n    for _ in tl.static_range(60):\n        t: tl.constexpr = t + t\n    tl.store(x, len(t))",
    "percent": "    tl.store(x, len('%1000000000d' % 3))",
    "format": "    tl.store(x, len('{:>999999999}'.format(1)))",
    "zfill": "    tl.store(x, len('a'.zfill(10**9)))",
    "center": "    tl.store(x, len('a'.center(10**9)))",
    "replaced": "    s: tl.constexpr = '{:>9999}'.format(1)\n    tl.store(x, len(s.replace('', s)))",
    "power": "    a: tl.constexpr = (1 << 4096) - 1\n    tl.store(x, (a ** 16) ** 4096 % 3)",
}


def of_text(body: str) -> tegula.Kernel:
    text = f"@tegula.jit\ndef kernel(x):\n{body}\n"
    file = f"<text {len(linecache.cache)} of test_hostile>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    names = {"tegula": tegula, "tl": tl}
    exec(compile(text, file, "exec"), names)
    return names["kernel"]  # type: ignore[return-value]


@pytest.mark.parametrize("what", TEXTS)
def test_constants_are_bounded(what):
    """Each would take gigabytes or minutes."""
    with pytest.raises(tegula.CompileError, match=r"too large|more than 1048576"):
        of_text(TEXTS[what]).lower("*i32")


def test_a_function_holds_nothing() -> None:
    """Every object is a grid to `function[..]`, so its elements had no end."""
    with pytest.raises(TypeError, match="not iterable"):
        iter(helper_of_one)


@pytest.mark.parametrize("behind", ["helper_of_one", "COUNT", "COUNTED"])
def test_in_asks_nothing_endless(behind: str) -> None:
    kernel = of_text(f"    tl.store(x, 0.5 in {behind})")
    kernel.fn.__globals__.update(
        helper_of_one=helper_of_one,
        COUNT=tl.constexpr(itertools.count()),
        COUNTED=tl.constexpr(Counted()),
    )
    with pytest.raises(tegula.CompileError, match="behind 'in' must be a tuple"):
        kernel.lower("*i1")


@tegula.jit
def helper_of_one(x):
    return x


class Counted:
    def __getitem__(self, i: int) -> int:
        return i


def test_texts_that_are_no_attack():
    """Digits that are no widths, percent signs, a width of a line."""
    x = "'{:>5}'.format(1) + '%5d' % 3 + '123456789'.upper() + '100%% of %s' % 1234567"
    kernel = of_text(f"    tl.store(x, len({x}))")
    out = np.zeros(1, np.int32)
    kernel[(1,)](out)
    assert out[0] == 5 + 5 + 9 + len("100% of 1234567")
