"""What fuzz_source.py grafts into kernels: statements and expressions of all Python.

{0} to {2} are expressions of the kernel, {n} and {m} names of it.
"""

from __future__ import annotations

import ast
import copy
import random
from typing import Any

STATEMENTS = (
    "match {0}:\n case 0 | 1: {n} = {1}\n case [a, *b]: pass\n"
    " case {{'k': c, **d}}: pass",
    "match {0}:\n case tl.tensor(x=y) if {1}: pass\n case _ as z: {n} = z",
    "match ({0}, {1}):\n case (1, {n}): {m} = {n}\n case str() | None: return",
    "try:\n {n} = {0}\nexcept (A, B) as e:\n {m} = e\nelse:\n pass\n"
    "finally:\n {n} = {1}",
    "try:\n {n} = {0}\nexcept* ValueError:\n pass",
    "with {0} as {n}, {1} as ({m}, *rest):\n {n} += {2}", "with ({0}):\n return {1}",
    "async def {n}(a):\n await {0}\n async for b in {1}: yield b",
    "def {n}(a, /, b={0}, *c, d={1}, **e):\n return a + b\n"
    "{m} = {n}({2}, *{0}, **{1})",
    "def {n}({m}):\n nonlocal {n}\n {n} = {m}\n{n}({0})",
    "def {n}({m}={m}):\n return {n}({m})\n{m} = {n}()",
    "@{0}\n@tegula.jit\ndef {n}(a): return a\n{m} = {n}({1})",
    "class {n}({0}, metaclass={1}):\n {m} = {2}", "global {n}\n{n} = {0}", "del {n}",
    "del {n}[{0}], {m}.x", "{n}[{0}] += {1}", "{n}[{0}, ...] **= {1}",
    "{n}[{0}:{1}:{2}] = {m}", "{n}.shape += {0}", "{n} @= {0}", "{n} >>= {0}",
    "{n} //= {0}", "({n}): int = {0}", "{n}.a: {0} = {1}",
    "{n}[{0}]: tl.constexpr = {1}", "[{n}, *{m}] = {0}", "*{n}, = {0}",
    "({n}, ({m}, *a)) = {0}", "{n} = {m} = *{0}, {1}", "for {n}[0] in {0}:\n pass",
    "for *{n}, {m} in ({0},):\n break",
    "for {n} in *{0}, {1}:\n {m} = {n}\nelse:\n {n} = {2}",
    "while ({n} := {0}):\n {m} = {n}\n continue\nelse:\n return {1}",
    "while True:\n {n} = {0}", "while {0}:\n if {1}:\n  break\n {n} = {2}",
    "for {n} in tl.range({0}, {1}, {2}):\n {m} = {m} + {n}",
    "for {n} in range(*{0}, **{1}):\n pass", "for {n} in {n}:\n {n} = {0}",
    "if ({n} := {0}) is not ({m} := {1}):\n return {n}",
    "assert ({n} := {0}), f'{{{1}!r:>{{{2}}}}}'", "raise {0} from {1}",
    "import os as {n}", "from tl import *", "return {0}, *{1}", "...", "'{n}'",
    "tl.static_assert({0}, f'{{{1}=}} {{{2}:{{{0}}}.2f}}')",
    "tl.static_print({0}, sep={1}, **{2})", "tl.device_print('{n}', {0}, hex={1})",
    "{n}: tl.constexpr = {0}", "{n}: tl.constexpr = {n}", "{n} = {n}, {n}",
    "{n} = [{n}] * {0}", "{n} = {n} if {0} else ({n}, {1})", "pass; pass;",
    "if {0}:\n {n} = {1}\nelif {1}:\n {n} = {2}, {2}\nelse:\n del {n}",
    "if {0}:\n if {1}:\n  return {2}\n {n} = {0}\n return {n}",
)  # fmt: skip

EXPRESSIONS = (
    "({n} := {0})", "[({n} := {0}) for {m} in {1}]", "[{n} async for {n} in {0}]",
    "(await {0})", "(yield)", "(yield from {0})", "{{**{0}, 'a': {1}}}",
    "{{{0}: {1} for {n} in {2}}}", "{{{0}, *{1}}}",
    "[{n} for {n} in {0} if {1} for {m} in {n} if {m}]", "({n} for {n} in {0})",
    "[*{0}, *{1}][{2}]", "(lambda {n}={0}, *a, {m}={1}, **k: {n} + {m})()",
    "(lambda: (lambda: {0}))()()", "(lambda x: x(x))(lambda x: x(x))",
    "(lambda *a: a)(*{0}, {1})", "(lambda **k: k['{n}'])({n}={0})",
    "{0} < {1} <= {2} != {0}", "{0} in {1} not in {2}", "not not {0} is not {1}",
    "f'{{{0}!s:{{{1}}}}}'", "f'{{{0}:%Y}}' 'b' r'\\'", "{0}[{1}:{2}, None, ...]",
    "{0}[::-1]", "{0}[*{1}]", "{0}[{1}][{2}]", "{0}.{n}.{m}", "{0}.to({1}).to({2})",
    "{0}({1}, *{2}, {n}={1}, **{2})", "{n}(*({0},) * 300)", "-{0} ** -{1}", "~~{0}",
    "1e999", "-1e-400", "1e400j", "0.1 + 2 ** 200",
    "b'\\xff'", "'\\udc80'", "'\\0'", "(2 ** 63)", "(-2 ** 63)", "(2 ** 64 - 1)",
    "(1 << 4096)", "({0} << 4096)", "({0} // 0)", "({0} % 0.0)", "({0} ** {1} ** {2})",
    "tl.constexpr({0})", "tl.constexpr(tl.constexpr({0}))", "tl.arange({0}, {1})",
    "tl.full([{0}], {1}, {2})", "tl.full([2 ** 31, 2], {0}, tl.int8)",
    "tl.zeros([1] * 40, tl.int1)", "tl.zeros((0,), tl.int32)",
    "tl.zeros([-1], tl.float32)", "tl.reshape({0}, {1}, {2})", "tl.reshape({0}, [-1])",
    "tl.permute({0}, {1})", "tl.expand_dims({0}, {1})", "tl.broadcast_to({0}, {1})",
    "tl.reduce({0}, {1}, lambda a, b: (a, b))",
    "tl.reduce(({0}, {1}), 0, lambda a, b, c, d: (c, a))",
    "tl.associative_scan({0}, {1}, {2})", "tl.dot({0}, {1}, {2})", "tl.dot({0}, {0}.T)",
    "tl.where({0}, {1}, {2})", "tl.cat({0}, {1})", "tl.join({0}, {1})", "tl.split({0})",
    "tl.gather({0}, {1}, {2})", "tl.histogram({0}, {1})", "tl.sort({0}, {1})",
    "tl.topk({0}, {1})", "tl.flip({0}, {1})", "tl.cumsum({0}, {1}, {2})",
    "tl.load({0}, mask={1}, other={2})", "tl.load({0} + {1}, cache_modifier={2})",
    "tl.atomic_cas({0}, {1}, {2})", "tl.atomic_xchg({0}, {1}, {2}, sem='x')",
    "tl.make_tensor_descriptor({0}, [{1}], [{2}], [16])",
    "tl.make_block_ptr({0}, [{1}], [{2}], [0], [16], [0])", "tl.advance({0}, [{1}])",
    "tl.inline_asm_elementwise('', '=r,r', [{0}], {1}, True, 1)",
    "tl.cast({0}, {1}, bitcast={2})", "{0}.to(tl.pointer_type({1}))",
    "tl.philox({0}, {1}, {2})", "tl.rand({0}, {1})", "tl.program_id({0})",
    "tl.num_programs({0})", "tl.swizzle2d({0}, {1}, {2}, {0})", "tl.cdiv({0}, {1})",
    "tl.clamp({0}, {1}, {2})", "tl.max({0}, {1}, return_indices={2})",
    "tl.argmin({0}, {1})", "tl.xor_sum({0})", "tl.math.fma({0}, {1}, {2})",
    "tl.map_elementwise(lambda a, b: (a, b), {0}, {1})", "tl.multiple_of({0}, {1})",
    "tl.max_contiguous({0}, [{1}, {2}])", "tl.assume({0})", "getattr(tl, '{n}')({0})",
    "isinstance({0}, tl.tensor)", "type({0})", "{0}.dtype.element_ty", "{0}.shape[{1}]",
    "{0}.type.scalar", "len({0})", "max({0}, {1}, {2})", "min({0})", "abs({0})",
    "float({0})", "bool({0})", "str({0})", "zip({0}, {1})", "list(enumerate({0}))",
    "sum({0}, {1})", "sorted({0})", "map({0}, {1})", "print({0})", "eval('{n}')",
    "super()", "__class__", "__name__", "tegula",
)  # fmt: skip
EXPRESSIONS += (
    "1" + "0" * 400, "0x" + "f" * 300, "'" + "\u00e4" * 50 + "'",
    "tl.reduce({0}, {1}, lambda a, b: a" + " + b" * 200 + ")",
    "tl.inline_asm_elementwise('', '=r,r', [{0}], {1}, True, 1)",
    "tl.make_block_ptr({0}, [{1}], [{2}], [0], [16], [0])",
)  # fmt: skip


class Grafter(ast.NodeTransformer):
    """Loses, doubles, swaps and trades nodes; grafts what the lists above have."""

    def __init__(self, rng: random.Random, tree: ast.AST, rate: float) -> None:
        self.rng, self.rate = rng, rate
        nodes = list(ast.walk(tree))
        loads = [n for n in nodes if isinstance(n, ast.expr)]
        loads = [
            n
            for n in loads
            if not isinstance(n, (ast.Starred, ast.Slice))
            and isinstance(getattr(n, "ctx", None), (ast.Load, type(None)))
        ]
        self.pool = [t for n in loads if len(t := ast.unparse(n)) < 60 and ":" not in t]
        self.names = [n.id for n in nodes if isinstance(n, ast.Name)] + ["new", "tl"]

    def text(self, form: str) -> str:
        picks = [
            self.text(self.rng.choice(EXPRESSIONS))
            if self.rng.random() < 0.1
            else f"({self.rng.choice(self.pool)})"
            for _ in range(3)
        ]
        n, m = self.rng.choice(self.names), self.rng.choice(self.names)
        return form.format(*picks, n=n, m=m)

    def parsed(self, forms: tuple[str, ...]) -> list[ast.stmt]:
        try:
            return ast.parse(self.text(self.rng.choice(forms))).body
        except (SyntaxError, ValueError, IndexError, KeyError):
            return [ast.Pass()]

    def visit(self, node: ast.AST) -> Any:
        node = self.generic_visit(node)
        draw = self.rng.random
        if isinstance(node, ast.Name) and draw() < self.rate / 2:
            node.id = self.rng.choice(self.names)
        elif isinstance(node, ast.expr) and draw() < self.rate:
            if isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
                body = self.parsed(EXPRESSIONS)[0]
                return body.value if isinstance(body, ast.Expr) else node
        for field in ("body", "orelse"):
            body = getattr(node, field, None)
            if not isinstance(body, list) or not body or draw() > 3 * self.rate:
                continue
            i, k, choice = self.rng.randrange(len(body)), self.rng.choice(body), draw()
            if choice < 0.15 and len(body) > 1:
                del body[i]
            elif choice < 0.3:
                body.insert(i, copy.deepcopy(k))
            elif choice < 0.4:
                self.rng.shuffle(body)
            elif choice < 0.5:
                body[i:] = [ast.If(ast.parse("n > 3").body[0].value, body[i:], [])]
            else:
                body[i:i] = self.parsed(STATEMENTS)
        return node
