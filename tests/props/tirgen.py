"""Small functions in tile IR around one op, with random buffers for tirc."""

from __future__ import annotations

import math
from collections.abc import Sequence

Shape = Sequence[int]


def is_float(elem: str) -> bool:
    return elem[0] in "fb"


def zero(elem: str) -> str:
    return "false" if elem == "i1" else "0.0" if is_float(elem) else "0"


def block(elem: str, shape: Shape) -> str:
    return f"{elem}[{', '.join(map(str, shape))}]" if shape else elem


class Kernel:
    """Lines of a function under construction; one buffer a parameter."""

    def __init__(self) -> None:
        self.params: list[str] = []
        self.args: list[str] = []
        self.lines: list[str] = []
        self.n = 0

    def op(self, text: str, elem: str, shape: Shape = ()) -> str:
        """A line ``%new = text : type``; returns the name."""
        self.n += 1
        self.lines.append(f"%t{self.n} = {text} : {block(elem, shape)}")
        return f"%t{self.n}"

    def buffer(self, elem: str, value: str) -> str:
        name = f"%p{len(self.params)}"
        self.params.append(f"{name}: ptr<{elem}> {{div16}}")
        self.args.append(f"[{value}]")
        return name

    def index(self, shape: Shape) -> str:
        """Row-major positions: a sum of an arange along each dim, as users write it."""
        total = ""
        for dim, size in enumerate(shape):
            at = self.op(f"arange {{start=0, end={size}}}", "i32", [size])
            grown = [size]
            for _ in range(dim):
                grown = [1, *grown]
                at = self.op(f"expand_dims {at} {{axis=0}}", "i32", grown)
            for _ in range(dim + 1, len(shape)):
                grown = [*grown, 1]
                at = self.op(
                    f"expand_dims {at} {{axis={len(grown) - 1}}}", "i32", grown
                )
            if grown != list(shape):
                at = self.op(f"broadcast {at}", "i32", shape)
            stride = self.op(
                f"const splat({math.prod(shape[dim + 1 :])})", "i32", shape
            )
            at = self.op(f"mul {at}, {stride}", "i32", shape)
            total = self.op(f"add {total}, {at}", "i32", shape) if total else at
        return total

    def pointers(self, elem: str, shape: Shape, buffer: str) -> str:
        base = self.op(f"splat {buffer}", f"ptr<{elem}>", shape)
        return self.op(f"addptr {base}, {self.index(shape)}", f"ptr<{elem}>", shape)

    def load(self, elem: str, shape: Shape, seed: int = 3) -> str:
        buffer = self.buffer(elem, f"random {math.prod(shape)} {seed}")
        return self.op(f"load {self.pointers(elem, shape, buffer)}", elem, shape)

    def store(self, elem: str, shape: Shape, value: str) -> None:
        buffer = self.buffer(elem, f"{zero(elem)} x {math.prod(shape)}")
        at = self.pointers(elem, shape, buffer) if shape else buffer
        self.lines.append(f"store {at}, {value}")

    def text(self) -> str:
        head = "".join(f"// ARG: {a}\n" for a in self.args)
        body = "".join(f"  {line}\n" for line in [*self.lines, "return"])
        return f"{head}func @k({', '.join(self.params)}) {{\n{body}}}\n"


def reduction(elem: str, shape: Shape, axis: int, combine: str) -> str:
    """combine: an op; "first" keeps the left operand; "argmax" carries an index."""
    k = Kernel()
    x = k.load(elem, shape)
    rest = [n for d, n in enumerate(shape) if d != axis]
    to = block(elem, rest)
    if combine == "argmax":
        i = k.index(shape)
        k.lines.append(
            f"%r, %ri = reduce {x}, {i} {{axis={axis}}} : {to}, {block('i32', rest)} "
            f"^(%a: {elem}, %ai: i32, %b: {elem}, %bi: i32) {{\n"
            "    %g = gt %a, %b : i1\n    %e = eq %a, %b : i1\n    %l = lt %ai, %bi : i1\n"
            "    %el = and %e, %l : i1\n    %w = or %g, %el : i1\n"
            f"    %v = select %w, %a, %b : {elem}\n    %vi = select %w, %ai, %bi : i32\n"
            "    yield %v, %vi\n  }"
        )
        k.store("i32", rest, "%ri")
    else:
        last = "yield %a" if combine == "first" else "yield %c"
        line = "" if combine == "first" else f"    %c = {combine} %a, %b : {elem}\n"
        k.lines.append(
            f"%r = reduce {x} {{axis={axis}}} : {to} ^(%a: {elem}, %b: {elem}) {{\n"
            f"{line}    {last}\n  }}"
        )
    k.store(elem, rest, "%r")
    return k.text()


def scan(elem: str, shape: Shape, axis: int, reverse: bool, combine: str) -> str:
    """combine: an op; "affine" composes x -> a x + b, which is not commutative."""
    k = Kernel()
    x = k.load(elem, shape)
    attrs = f"{{axis={axis}, reverse={int(reverse)}}}"
    if combine == "affine":
        a = k.load(elem, shape, 4)
        k.lines.append(
            f"%ra, %r = scan {a}, {x} {attrs} : {block(elem, shape)}, {block(elem, shape)} "
            f"^(%a: {elem}, %b: {elem}, %c: {elem}, %d: {elem}) {{\n"
            f"    %m = mul %a, %c : {elem}\n    %cb = mul %c, %b : {elem}\n"
            f"    %s = add %cb, %d : {elem}\n    yield %m, %s\n  }}"
        )
    else:
        k.lines.append(
            f"%r = scan {x} {attrs} : {block(elem, shape)} ^(%a: {elem}, %b: {elem}) {{\n"
            f"    %c = {combine} %a, %b : {elem}\n    yield %c\n  }}"
        )
    k.store(elem, shape, "%r")
    return k.text()


def dot(
    elem: str,
    acc: str,
    size: tuple[int, int, int],
    precision: str = "tf32",
    batch: int = 0,
    transposed: bool = False,
    b_elem: str | None = None,
) -> str:
    k = Kernel()
    m, n, depth = size
    more = [batch] if batch else []
    a = k.load(elem, [*more, m, depth])
    elem = b_elem or elem
    if transposed:
        b = k.load(elem, [*more, n, depth], 5)
        perm = [0, 2, 1] if batch else [1, 0]
        b = k.op(f"trans {b} {{perm={perm}}}", elem, [*more, depth, n])
    else:
        b = k.load(elem, [*more, depth, n], 5)
    c = k.load(acc, [*more, m, n], 7)
    d = k.op(f"dot {a}, {b}, {c} {{precision={precision}}}", acc, [*more, m, n])
    k.store(acc, [*more, m, n], d)
    return k.text()


def gather(elem: str, source: Shape, index: Shape, axis: int) -> str:
    k = Kernel()
    x = k.load(elem, source)
    i = k.load("i32", index, 4)
    mask = k.op(f"const splat({source[axis] - 1})", "i32", index)
    i = k.op(f"and {i}, {mask}", "i32", index)
    k.store(elem, index, k.op(f"gather {x}, {i} {{axis={axis}}}", elem, index))
    return k.text()


def histogram(elem: str, n: int, bins: int, masked: bool) -> str:
    k = Kernel()
    operands = k.load(elem, [n])
    if masked:
        operands += ", " + k.load("i1", [n], 8)
    k.store("i32", [bins], k.op(f"histogram {operands} {{bins={bins}}}", "i32", [bins]))
    return k.text()


def transpose(elem: str, shape: Shape, perm: Sequence[int]) -> str:
    k = Kernel()
    to = [shape[p] for p in perm]
    k.store(
        elem, to, k.op(f"trans {k.load(elem, shape)} {{perm={list(perm)}}}", elem, to)
    )
    return k.text()


def join_and_split(elem: str, shape: Shape) -> str:
    k = Kernel()
    x, y = k.load(elem, shape), k.load(elem, shape, 4)
    both = k.op(f"join {x}, {y}", elem, [*shape, 2])
    k.store(elem, [*shape, 2], both)
    flat = [2 * math.prod(shape)]
    k.store(elem, flat, k.op(f"reshape {both}", elem, flat))
    if len(shape) == 1:
        k.store(elem, flat, k.op(f"cat {x}, {y}", elem, flat))
    z = k.load(elem, [*shape, 2], 9)
    k.lines.append(
        f"%even, %odd = split {z} : {block(elem, shape)}, {block(elem, shape)}"
    )
    k.store(elem, shape, "%even")
    k.store(elem, shape, "%odd")
    return k.text()


def atomic(elem: str, n: int, cells: int, rmw: str) -> str:
    """n elements onto the cells; what was there before is kept where each has its own."""
    k = Kernel()
    x = k.load(elem, [n])
    mask = k.op(f"const splat({cells - 1})", "i32", [n])
    i = k.op(f"and {k.index([n])}, {mask}", "i32", [n])
    base = k.op(f"splat {k.buffer(elem, f'random {cells} 5')}", f"ptr<{elem}>", [n])
    p = k.op(f"addptr {base}, {i}", f"ptr<{elem}>", [n])
    old = k.op(f"atomic_rmw {p}, {x} {{rmw={rmw}}}", elem, [n])
    if cells == n:
        k.store(elem, [n], old)
    return k.text()


def scalar_atomic(elem: str) -> str:
    """One thread acts; all learn what it found."""
    k = Kernel()
    cell = k.buffer(elem, "3")
    one = k.op("const 1" if not is_float(elem) else "const 1.0", elem)
    old = k.op(f"atomic_rmw {cell}, {one} {{rmw=add}}", elem)
    k.store(elem, [64], k.op(f"splat {old}", elem, [64]))
    return k.text()


def elementwise(op: str, elem: str, n_operands: int, result: str = "") -> str:
    k = Kernel()
    operands = ", ".join(k.load(elem, [128], 3 + i) for i in range(n_operands))
    to = result or elem
    k.store(to, [128], k.op(f"{op} {operands}", to, [128]))
    return k.text()
