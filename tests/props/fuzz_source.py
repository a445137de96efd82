"""Odd Python through the frontend alone, in a process that may die of it.

    python tests/props/fuzz_source.py 0 1000            seeds 0 .. 999, as fuzz.py
    python tests/props/fuzz_source.py 0 1000 compile    to code of a target, a seed's

A kernel is written from a grammar that knows all of Python's statements and expressions,
also those no kernel may contain; or it is one of tests/ptx/cases.py whose tokens were
dropped, doubled, swapped and traded, or whose syntax tree was, with the oddities of
grafts.py put into it. It is lowered and hashed, or compiled. What may
come: tile IR or code, or an error that is not of class BUG and points into the text.
"""

from __future__ import annotations

import ast
import inspect
import io
import linecache
import random
import re
import signal
import sys
import textwrap
import tokenize
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests/ptx"), str(ROOT / "tests/props")]

import grafts  # noqa: E402
from cases import CASES, module  # noqa: E402

import tegula  # noqa: E402
import tegula.language as tl  # noqa: E402

BUGS = re.findall(
    r"^ERR\((\w+),\s*BUG", (ROOT / "csrc/base/errors.def").read_text(), re.M
)
SECONDS = 10  # of CPU time
TARGETS = ("cpu", "emu:sm_80", "emu:sm_90a", "cuda:sm_90a")

HEAD = """
import math
from typing import Any, NamedTuple
import tegula
import tegula.language as tl

SIZE = tl.constexpr(16)
NAMES = (tl.constexpr("a"), tl.constexpr("b"))
NOT_CONSTANT = 7

class Pair(NamedTuple):
    left: Any
    right: Any

@tegula.aggregate
class Lock:
    p: tl.tensor
    def __init__(self, p):
        self.p = p
    @tegula.jit
    def __enter__(self):
        return self.p
    @tegula.jit
    def __exit__(self, a, b, c):
        tl.atomic_add(self.p, 1)

@tegula.jit
def helper(a, b=2, *rest, c=1, **more):
    for r in rest:
        a += r
    return a * b + c

@tegula.jit
def forever(a):
    return forever(a)

@tegula.constexpr_function
def double(n):
    return n * 2
"""

NAMES = (
    "x n f i m v t a b c k p q SIZE NAMES NOT_CONSTANT Pair Lock helper tl math".split()
)
WORDS = "x n f i m v t a b c left right SIZE B".split()
NUMBERS = "0 1 2 3 7 16 64 -1 0.5 1e300 2**31 1<<63 True None 1j b'z' ... 'a'".split()
NUMBERS += ["1" + "0" * 40, "'" + "z" * 300 + "'", "float('nan')", "10**400"]
BINARY = "+ - * / // % ** @ << >> & | ^ and or == != < <= > >= is in".split()
BINARY += ["is not", "not in"]
CALLS = (
    "tl.load({0})", "tl.store({0}, {1})", "tl.arange(0, {0})", "tl.sum({0}, {1})",
    "tl.where({0}, {1}, {0})", "tl.zeros(({0},), tl.float32)", "tl.dot({0}, {1})",
    "tl.reduce({0}, 0, lambda a, b: {1})", "tl.associative_scan({0}, 0, {1})",
    "tl.map_elementwise(lambda a: {1}, {0})", "helper({0}, {1})", "helper(*{0}, **{1})",
    "helper(c={0}, d={1})", "forever({0})", "double({0})", "Pair({0}, {1})",
    "Lock({0})", "math.sqrt({0})", "len({0})", "sum({0})", "zip({0}, {1})",
    "enumerate({0})", "range({0})", "tl.static_range({0})", "min({0}, {1})",
    "tl.cast({0}, tl.float16)", "{0}.to(tl.int8)", "{0}.shape[{1}]", "{0}.T",
    "isinstance({0}, {1})", "getattr({0}, {1})", "tl.static_assert({0}, {1})",
    "tl.static_print({0})", "tl.device_print('x', {0})", "tl.cdiv({0}, {1})",
    "tl.constexpr({0})", "tl.tuple({0})", "int({0})", "any({0})", "tuple({0})",
    "tl.broadcast_to({0}, {1})", "tl.reshape({0}, {1})", "tl.gather({0}, {1}, 0)",
    "tl.make_block_ptr({0}, ({1},), (1,), (0,), (16,), (0,))",
    "tl.full({0}, {1}, tl.int32)",
    "tl.join({0}, {1})", "tl.split({0})", "tl.sort({0})", "tl.atomic_add({0}, {1})",
)  # fmt: skip
FORMS = (
    "({0}, {1})", "[{0}, *{1}]", "{{'a': {0}, 'b': {1}}}", "{0}[{1}]", "{0}[{1}:]",
    "{0}[:, None]", "{0}[None, :]", "{0}[..., {1}]", "{0} if {1} else {0}",
    "(lambda a, b={1}, *c, **d: {0})({1})", "lambda: {0}", "[{0} for a in {1}]",
    "[{0} for a, b in {1} if {0}]", "({0} for a in {1})", "{{{0} for a in {1}}}",
    "{{a: {0} for a in {1}}}", "(k := {0})", "not {0}", "-{0}", "+{0}", "~{0}",
    "f'{{{0}}} {{{1}!r:>4}}'", "{0} < {1} < {0}", "await {0}", "(yield {0})",
    "{0}.left", "{0}.a.b", "*{0},", "{0}({1})", "{0}(**{1})", "{{**{0}}}", "({0})",
)  # fmt: skip
STATEMENTS = (
    "{n} = {0}", "{n}: tl.constexpr = {0}", "{n} += {0}", "{n}, *k = {0}", "[{n}, m] = {0}",
    "{n}[{0}] = {1}", "{n}.left = {0}", "a = {n} = {0}", "{0}", "return {0}", "return",
    "assert {0}, {1}", "pass", "break", "continue", "del {n}", "global {n}", "nonlocal {n}",
    "import math", "from math import *", "raise {0}", "{n}: int", "tl.store(x, {0})",
    "yield {0}", "type T = int",
)  # fmt: skip
BLOCKS = (
    "if {0}:", "for {n} in {0}:", "for {n}, m in {0}:", "for {n} in range({0}):",
    "for {n} in tl.range(n, num_stages=2):", "for {n} in tl.static_range(3):",
    "while {0}:", "with {0} as {n}:", "with {0}, {1}:",
    "def {n}(a, b={0}, *c, d={1}, **e):",
    "def {n}():", "async def {n}():", "class {n}:", "try:", "match {0}:", "async with {0}:",
    "async for {n} in {0}:", "@tegula.jit\n{pad}def {n}(a):", "@{0}\n{pad}def {n}(a):",
)  # fmt: skip


def is_python(text: str) -> bool:
    try:
        compile(text, "<fuzz>", "exec")
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


# What no kernel may contain: most kernels do without, so that their ends are reached.
REFUSED = re.compile(
    r"^del|global|nonlocal|import|raise|yield|await|type T|\] = |left =|for a in \{1\}[)}]"
    r"|\.\.\.|class|try|match|async|@\{0|1j|b'z'|NOT_CONSTANT|\{\{\{0|\*\*\{0|forever"
)


class Writer:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        lists = NAMES, NUMBERS, CALLS, FORMS, STATEMENTS, BLOCKS
        tame = rng.random() < 0.75
        (
            self.names,
            self.numbers,
            self.calls,
            self.forms,
            self.statements,
            self.blocks,
        ) = ([w for w in words if not (tame and REFUSED.search(w))] for words in lists)

    def expr(self, depth: int) -> str:
        draw = self.rng.random()
        if depth <= 0 or draw < 0.2:
            return self.rng.choice(
                self.names if self.rng.random() < 0.7 else self.numbers
            )
        a, b = self.expr(depth - 1), self.expr(depth - 1)
        if draw < 0.45:
            return f"({a} {self.rng.choice(BINARY)} {b})"
        return self.rng.choice(self.calls if draw < 0.75 else self.forms).format(a, b)

    def suite(self, depth: int, indent: int, n: int) -> list[str]:
        lines = []
        for _ in range(n):
            lines += self.statement(depth, indent)
        return lines

    def statement(self, depth: int, indent: int) -> list[str]:
        for _ in range(8):
            lines = self.any_statement(depth, indent)
            inside = textwrap.indent(textwrap.dedent("\n".join(lines)), "  ")
            if is_python("async def f(x):\n while x:\n" + inside.replace("yield", "")):
                return lines
        return ["    " * indent + "pass"]

    def any_statement(self, depth: int, indent: int) -> list[str]:
        pad, lines = "    " * indent, []
        a, b = self.expr(self.rng.randrange(4)), self.expr(self.rng.randrange(3))
        name = self.rng.choice(WORDS)
        if depth and self.rng.random() < 0.35:
            head = self.rng.choice(self.blocks).format(a, b, n=name, pad=pad)
            lines.append(pad + head)
            inner = self.suite(depth - 1, indent + 1, self.rng.randrange(1, 4))
            if head.startswith("match"):
                lines.append(pad + "    case _:")
                inner = ["    " + s for s in inner]
            lines += inner
            if head.startswith("try"):
                lines += [pad + "except ValueError:", pad + "    pass"]
            elif self.rng.random() < 0.2 and head.split()[0] in (
                "if",
                "for",
                "while",
            ):
                lines += [pad + "else:"] + self.suite(0, indent + 1, 1)
        else:
            lines.append(pad + self.rng.choice(self.statements).format(a, b, n=name))
        return lines

    def kernel(self) -> str:
        lines = ["@tegula.jit", "def kernel(x, n, f, B: tl.constexpr = 16):"]
        lines += ["    i = tl.arange(0, 16)", "    m = i < n", "    t = (n, f, 3)"]
        lines += [
            "    v = tl.load(x + i, mask=m)",
            "    a, b, c, k, p, q = 1, 2.0, t, i, x, v",
        ]
        lines += self.suite(3, 1, self.rng.randrange(1, 7))
        return HEAD + "\n".join(lines) + "\n"


def deep(rng: random.Random) -> str:
    """Deep or long, rather than odd."""
    n = rng.choice((30, 90, 200, 1500))
    few, lines = min(n, 190), min(n, 90)
    ifs = [f"{' ' * (k + 4)}if n > {k}:" for k in range(lines)]
    loops = [f"{' ' * (k + 4)}for i{k} in range(n):" for k in range(min(n, 18))]
    bodies = (
        f"tl.store(x, {'(' * few}n{')' * few})",
        f"tl.store(x, {' + '.join(['n'] * n)})",
        f"tl.store(x, {'-' * n}n)",
        f"tl.store(x, {'tl.abs(' * few}n{')' * few})",
        f"g = {'lambda: ' * few}n\n    tl.store(x, g{'()' * few})",
        f"tl.store(x, {'n if n else ' * n}n)",
        f"tl.store(x, n{'.T' * n})",
        f"t = {'(' * few}n{',)' * few}\n    tl.store(x, t{'[0]' * few})",
        "\n    ".join(f"a{k} = n + {k}" for k in range(n)),
        f"tl.store(x, {' < '.join(['n'] * n)})",
        "\n".join([*ifs, " " * (len(ifs) + 4) + "tl.store(x, n)"]),
        "\n".join([*loops, " " * (len(loops) + 4) + "tl.store(x, n)"]),
        f"tl.static_assert(True, '{'z' * n * 100}')",
        f"{'q' * n * 10} = n\n    tl.store(x, {'q' * n * 10})",
        f"tl.static_assert(len('z' * {n * 1000}))",
        f"tl.store(x, {n}**{n})",
        "\n    ".join(["g = lambda v: v + 1"] + ["g = lambda v, g=g: g(v) + 1"] * few)
        + "\n    tl.store(x, g(n))",
        f"t = (n,)\n    t = {'t + ' * few}t\n    tl.store(x, t[0])",
    )
    text = rng.choice(bodies).lstrip()
    return (
        HEAD + f"@tegula.jit\ndef kernel(x, n, f, B: tl.constexpr = 16):\n    {text}\n"
    )


POOL = [
    "(",
    ")",
    "[",
    "]",
    ":",
    ",",
    "=",
    "*",
    "**",
    "lambda",
    "if",
    "else",
    "not",
    "None",
]
POOL += [
    "for",
    "in",
    "return",
    "while",
    "x",
    "0",
    "1",
    "'s'",
    "tl",
    ".",
    "@",
    "def",
    ":=",
]


def traded(rng: random.Random) -> tuple[str, list[str], dict[str, Any], dict[str, Any]]:
    case = rng.choice(CASES)
    path, name = case.kernel.split(":")
    plain = getattr(module(path), name)
    plain = getattr(plain, "fn", plain)
    text = textwrap.dedent(inspect.getsource(plain))
    text = text[re.search(r"^def ", text, re.M).start() :]
    tokens = [
        (t.type, t.string) for t in tokenize.generate_tokens(io.StringIO(text).readline)
    ]
    places = [
        k
        for k, t in enumerate(tokens)
        if t[0] in (tokenize.NAME, tokenize.OP, tokenize.NUMBER)
    ]
    for _ in range(rng.randrange(1, 4)):
        k, other, draw = rng.choice(places[4:]), rng.choice(places[4:]), rng.random()
        if draw < 0.25:
            tokens[k] = (tokens[k][0], "")
        elif draw < 0.5:
            tokens[k] = tokens[other]
        elif draw < 0.75:
            tokens[k], tokens[other] = tokens[other], tokens[k]
        else:
            tokens[k] = (tokenize.NAME, rng.choice(POOL))
    text = tokenize.untokenize(tokens)
    space = dict(plain.__globals__, tegula=tegula)
    text = "@tegula.jit\n" + text.replace(f"def {name}", "def kernel", 1)
    return text, case.signature.split(), dict(case.options), space


def grafted(
    rng: random.Random,
) -> tuple[str, list[str], dict[str, Any], dict[str, Any]]:
    case = rng.choice(CASES)
    path, name = case.kernel.split(":")
    plain = getattr(module(path), name)
    plain = getattr(plain, "fn", plain)
    function = ast.parse(textwrap.dedent(inspect.getsource(plain))).body[0]
    function.decorator_list = []
    grafter = grafts.Grafter(rng, function, rng.choice((0.002, 0.01, 0.03)))
    grafter.generic_visit(function)
    function.name = "kernel"
    function.body[:0] = grafter.parsed(grafts.STATEMENTS) if rng.random() < 0.2 else []
    text = "@tegula.jit\n" + ast.unparse(ast.fix_missing_locations(function)) + "\n"
    space = dict(plain.__globals__, tegula=tegula)
    return text, case.signature.split(), dict(case.options), space


# What no message may say, but where it shows the kernel's own text.
INSIDE = re.compile(
    r"\b(?:fe|ir|ty|rt|cg|ll|pass|str)_\w+\(|\b(?:V|OP|AST|ERR|E)_[A-Z]\w+|\w\.[ch]:\d|csrc/"
    r"|0x[0-9a-f]{6,}|\(null\)|NULL|PyObject|SystemError|without an exception|unreachable"
)


def written(seed: int) -> tuple[str, list[str], dict[str, Any], dict[str, Any]] | None:
    """The text of a kernel, its signature, its options and the globals it needs."""
    rng = random.Random(seed)
    signature, options, space = ["*fp32", "i32", "fp32"], {}, {"__name__": "fuzzed"}
    kind = rng.random()
    if kind < 0.55:
        writer = Writer(rng)
        text = next((t for _ in range(6) if is_python(t := writer.kernel())), "")
    elif kind < 0.65:
        text = deep(rng)
    else:
        try:
            make = traded if kind < 0.8 else grafted
            text, signature, options, space = make(rng)
        except (IndexError, tokenize.TokenError, ValueError):
            return None
    for key in ("num_warps", "num_stages", "num_ctas", "maxnreg"):
        options.pop(key, None)
    return text, signature, options, space


def attempt(seed: int, compiles: bool) -> str:
    made = written(seed)
    if not made:
        return "no Python"
    text, signature, options, space = made
    file = f"<fuzz {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    try:
        exec(compile(text, file, "exec"), space)
        kernel = space["kernel"]
    except (Exception, RecursionError):
        return "no Python"
    if not isinstance(kernel, tegula.JITFunction):
        return "no kernel"
    try:
        _ = kernel.cache_key
    except (RecursionError, ValueError, TypeError, SyntaxError):
        pass
    try:
        if compiles:
            options["target"] = TARGETS[seed % len(TARGETS)]
            kernel.compile(*signature, **options)
        else:
            kernel.lower(*signature, **options)
    except tegula.CompileError as e:
        if e.code in BUGS or (e.lineno is not None and not e.filename):
            raise AssertionError(f"{text}\n{e}") from None
        # VALUE has Python's words; a str may be a kernel's f"{tl.load}", with an address
        is_ours = e.code != "VALUE" and "the constant str" not in str(e)
        for found in INSIDE.findall(str(e)) if is_ours else ():
            assert found in text, f"{found}: {text}\n{e}"
        return e.code
    except (tegula.TegulaError, TypeError, ValueError, KeyError, OverflowError) as e:
        return type(e).__name__
    except AssertionError as e:  # what Triton raises for it
        if "option num_warps" in str(e):
            return "num_warps"
        raise
    except RecursionError:
        return "RecursionError"
    return "ok"


def main() -> None:
    first, n = int(sys.argv[1]), int(sys.argv[2])
    assert tl
    tegula.knobs.nvidia.ptxas = "none"
    for seed in range(first, first + n):
        print(seed, end=" ", flush=True)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        print(attempt(seed, sys.argv[3:] == ["compile"]), flush=True)


if __name__ == "__main__":
    main()
