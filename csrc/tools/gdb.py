"""gdb shows tile IR as text: the structs of ir/ir.h, and a command for whole functions.

    TEGULA_DEBUG=1 make tirc                                # -O0 -g3
    gdb -x csrc/tools/gdb.py --args build/tirc fold kernel.tir

    (gdb) p v                 %3 : f32[128] = add
    (gdb) p *o                %3 = add %1, %2 : f32[128]
    (gdb) p *t                ptr<f32>[64, 32] #layout
    (gdb) tir f               the function, block or op and all that is inside

Everything is read out of memory and nothing is called, so core dumps work too, and so does
IR that is broken: what cannot be read is shown as ?. Values are named as the user named
them, else by Val.id (texts number them in their own order).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import gdb  # type: ignore[import-not-found]

MANY = 10_000  # a list that does not end is cut off


def of_table(table: str, i: int, field: str = "text") -> str:
    return gdb.parse_and_eval(table)[i][field].string()


def element(e: gdb.Value) -> str:
    return of_table("elem_info", int(e))


def type_text(t: gdb.Value) -> str:
    """t: a Type."""
    text = element(t["elem"])
    if t["is_ptr"]:
        text = f"ptr<{'const ' if t['is_const'] else ''}{text}>"
    if t["rank"]:
        sides = ", ".join(str(int(t["shape"][i])) for i in range(int(t["rank"])))
        text += f"[{sides}]"
    if t["slots"]:
        text = f"shared {text} x {int(t['slots'])}"
    return (
        text + (" #layout" if t["layout"] else "") + (" async" if t["is_async"] else "")
    )


def name(v: gdb.Value) -> str:
    """v: a pointer to a Val."""
    if not v:
        return "%?"
    try:
        return f"%{v['name'].string()}" if v["name"] else f"%{int(v['id'])}"
    except gdb.error:
        return "%?"


def val_text(v: gdb.Value) -> str:
    """v: a Val."""
    text = f"{name(v.address)} : {type_text(v['type'].dereference())}"
    if v["def"]:
        return f"{text} = {of_table('op_info', int(v['def']['op']))}"
    return f"{text}, argument {int(v['index'])}"


def attribute_texts(o: gdb.Value) -> Iterator[str]:
    row = gdb.parse_and_eval("op_info")[int(o["op"])]
    for i in range(int(row["n_attrs"])):
        value, attr = int(o["attr"][i]), int(row["attrs"][i])
        if not value:
            continue
        words = gdb.parse_and_eval("attr_info")[attr]["words"]
        word = words.string().split()[value] if words else str(value)
        yield f"{of_table('attr_info', attr)}={word}"


def op_text(o: gdb.Value) -> str:
    """o: an Op. One line, without its regions."""
    results = [o["results"][i] for i in range(int(o["n_results"]))]
    args = [o["args"][i]["v"] for i in range(int(o["n_args"]))]
    text = of_table("op_info", int(o["op"]))
    if results:
        text = f"{', '.join(map(name, results))} = {text}"
    if args:
        text += f" {', '.join(map(name, args))}"
    if text.endswith("= const"):
        text += f" {int(o['bits']):#x}"
    attributes = ", ".join(attribute_texts(o))
    if attributes:
        text += f" {{{attributes}}}"
    if results:
        text += f" : {', '.join(type_text(r['type'].dereference()) for r in results)}"
    if o["loc"] and o["loc"]["file"]:
        text += f"  // {o['loc']['file'].string()}:{int(o['loc']['line'])}"
    return text


def func_text(f: gdb.Value) -> str:
    """f: a Func. Its head."""
    return f"func @{f['name'].string()}({arguments(f['body'].dereference())})"


def arguments(b: gdb.Value) -> str:
    args = [b["args"][i] for i in range(int(b["n_args"]))]
    return ", ".join(f"{name(v)}: {type_text(v['type'].dereference())}" for v in args)


def ops(b: gdb.Value) -> Iterator[gdb.Value]:
    o = b["first"]
    for _ in range(MANY):
        if not o:
            return
        yield o.dereference()
        o = o["next"]


def block_text(b: gdb.Value) -> str:
    owner = b["owner"]
    of = of_table("op_info", int(owner["op"])) if owner else "the function"
    return f"block of {of}, {sum(1 for _ in ops(b))} ops, ({arguments(b)})"


def lines(x: gdb.Value, depth: int = 0) -> Iterator[str]:
    """A Func, Block or Op with everything inside of it."""
    kind, pad = str(x.type.strip_typedefs()), "  " * depth
    if kind == "struct Func":
        yield f"{pad}{func_text(x)} {{"
        yield from lines(x["body"].dereference(), depth + 1)
        yield f"{pad}}}"
    elif kind == "struct Block":
        for o in ops(x):
            yield from lines(o, depth)
    elif kind == "struct Op":
        regions = [x["regions"][i] for i in range(int(x["n_regions"]))]
        yield f"{pad}{op_text(x)}"
        for r in regions:
            yield f"{pad}{{ ({arguments(r.dereference())})"
            yield from lines(r.dereference(), depth + 1)
            yield f"{pad}}}"
    else:
        raise gdb.GdbError(f"tir: a Func, Block or Op is wanted, not a {kind}")


TEXTS: dict[str, Callable[[gdb.Value], str]] = {
    "Type": type_text,
    "Val": val_text,
    "Op": op_text,
    "Block": block_text,
    "Func": func_text,
}


class Printer:
    """The struct itself, or a pointer to it: then the address stands in front."""

    def __init__(self, value: gdb.Value, text: Callable[[gdb.Value], str]) -> None:
        self.value, self.text = value, text

    def to_string(self) -> str:
        is_pointer = self.value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR
        if not is_pointer:
            return self.text(self.value)
        at = int(self.value)
        if not at:
            return "NULL"
        try:
            return f"{at:#x} {self.text(self.value.dereference())}"
        except gdb.error as e:
            return f"{at:#x} ? ({e})"


def find_printer(value: gdb.Value) -> Printer | None:
    t = value.type.strip_typedefs()
    if t.code == gdb.TYPE_CODE_PTR:
        t = t.target().strip_typedefs()
    if t.code != gdb.TYPE_CODE_STRUCT or t.tag not in TEXTS:
        return None
    return Printer(value, TEXTS[t.tag])


class Tir(gdb.Command):  # type: ignore[misc]
    """tir EXPRESSION: a Func, Block or Op, or a pointer to one, with its regions."""

    def __init__(self) -> None:
        super().__init__("tir", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument: str, from_tty: bool) -> None:
        x = gdb.parse_and_eval(argument)
        if x.type.strip_typedefs().code == gdb.TYPE_CODE_PTR:
            if not x:
                raise gdb.GdbError(f"tir: {argument} is NULL")
            x = x.dereference()
        print("\n".join(lines(x.cast(x.type.unqualified()))))


gdb.pretty_printers.append(find_printer)
Tir()
