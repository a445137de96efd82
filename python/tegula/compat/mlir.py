"""As much of MLIR as torch.compile asks of a kernel: which tensors it reads and writes.

torch turns a call of a kernel into one that changes nothing, and must know what the call
changed. It has Triton make its IR and walks over it, looking for stores and for the
parameters that their pointers come from. Tegula knows the answer already. So its module
has one operation for each thing that is to be found: ``tt.store`` for a parameter that is
stored through, ``tt.load`` for every pointer. (Every pointer counts as read: that orders
more than it must, and is never wrong.)

Without it torch takes all tensors for changed, copies each, and puts the copies back one
after the other: a tensor that is input and output at once gets the old values back.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any


class Context:
    """What Triton's IR lives in. Ours needs none."""


def load_dialects(context: Context) -> None:
    """Nothing to load."""


class _Thing:
    """A value, a block or a region: something that has a number."""

    def __init__(self, number: int, parent: _Thing | None = None) -> None:
        self.number = number
        self.parent = parent
        self.arguments: list[_Thing] = []

    def id(self) -> int:
        return self.number

    def get_parent(self) -> _Thing | None:
        return self.parent

    def get_num_arguments(self) -> int:
        return len(self.arguments)

    def get_argument(self, i: int) -> _Thing:
        return self.arguments[i]


class Operation:
    """An operation of a ``Module``."""

    def __init__(
        self,
        name: str,
        block: _Thing | None = None,
        operands: tuple[_Thing, ...] = (),
        results: tuple[_Thing, ...] = (),
        regions: tuple[_Thing, ...] = (),
        symbol: str = "",
    ) -> None:
        self.name, self.block, self.symbol = name, block, symbol
        self.operands, self.results, self.regions = operands, results, regions

    def get_name(self) -> str:
        return self.name

    def get_block(self) -> _Thing | None:
        return self.block

    def get_num_operands(self) -> int:
        return len(self.operands)

    def get_operand(self, i: int) -> _Thing:
        return self.operands[i]

    def get_num_results(self) -> int:
        return len(self.results)

    def get_result(self, i: int) -> _Thing:
        return self.results[i]

    def get_num_regions(self) -> int:
        return len(self.regions)

    def get_region(self, i: int) -> _Thing:
        return self.regions[i]

    def get_str_attr(self, name: str) -> str | None:
        return self.symbol if name == "sym_name" else None

    def get_flat_symbol_ref_attr(self, name: str) -> str | None:
        return None

    def get_bool_attr(self, name: str) -> bool | None:
        return None


class Module:
    """A function whose parameter i is a pointer where is_written[i] is not None, and is
    stored through where it is true."""

    def __init__(
        self, symbol: str, is_written: list[bool | None], compiled: Any
    ) -> None:
        self.symbol, self.is_written = symbol, is_written
        self.compiled = compiled  # the variant that this is of

    def __str__(self) -> str:
        return str(self.compiled.asm["tir"])

    def dump(self) -> None:
        """Write the tile IR to standard error."""
        print(self, file=sys.stderr)

    def verify(self) -> bool:
        return True

    def operations(self) -> Iterator[Operation]:
        """Inner ones first."""
        numbers = iter(range(1 << 30))
        region = _Thing(next(numbers))
        block = _Thing(next(numbers), region)
        block.arguments = [_Thing(next(numbers)) for _ in self.is_written]
        for x, is_written in zip(block.arguments, self.is_written, strict=True):
            if is_written is None:
                continue
            yield Operation("tt.load", block, (x,), (_Thing(next(numbers)),))
            if is_written:
                # Twice: once, and torch might try to put an operation of its own into
                # the one store, whose text it would look for.
                yield Operation("tt.store", block, (x,))
                yield Operation("tt.store", block, (x,))
        yield Operation("tt.return", block)
        yield Operation("tt.func", regions=(region,), symbol=self.symbol)
        yield Operation("builtin.module")

    def walk(self, visit: Callable[[Operation], Any]) -> None:
        for operation in self.operations():
            visit(operation)


def _nodes(ty: Any) -> int:
    """How many values of a launch an argument of that type is (runtime/nodes.c)."""
    if isinstance(ty, (tuple, list)):
        return 1 + sum(map(_nodes, ty))
    if str(ty).startswith("tensordesc"):
        return 3 * _rank(ty) + 4  # itself, its base, sides, padding, rounding
    return 1


def _rank(ty: str) -> int:
    return ty[ty.index("[") : ty.index("]")].count(",") + 1


def module_of(src: Any, compiled: Any) -> Module:
    """The module of an ``ASTSource`` that was compiled."""
    written = {node for node, _, _, is_written, _ in compiled._params if is_written}
    first, is_written = 0, []
    for i, name in enumerate(src.fn.arg_names):
        ty = src.signature.get(name, "constexpr")
        nodes = range(first, first + _nodes(ty))
        first = nodes.stop
        if ty == "constexpr" or src.constants.get((i,), 0) is None:
            continue
        is_pointer = str(ty).startswith(("*", "tensordesc"))
        is_written.append(bool(written.intersection(nodes)) if is_pointer else None)
        if str(ty).startswith(
            "tensordesc"
        ):  # its sides and strides, as Triton has them
            is_written += [None] * (2 * _rank(ty))
    return Module(src.name, is_written, compiled)
