"""Tensor descriptors, of kernels and of hosts."""

from __future__ import annotations

from collections.abc import Iterator

from case import ALL, Case, Descriptor, array

MADE = "d = tl.make_tensor_descriptor({of}, shape={shape}, strides={strides}, block_shape={block})\n"


def made(of: str, shape: str, strides: str, block: str, pad: str = "") -> str:
    text = MADE.format(of=of, shape=shape, strides=strides, block=block)
    return text.replace(")\n", f", padding_option='{pad}')\n") if pad else text


WHOLE = ("[16, 16]", "[16, 1]", "[8, 16]")
PART = ("[13, 11]", "[16, 1]", "[8, 16]")


def make() -> Iterator[Case]:
    for t in ALL:
        a = (array("a", t, "all"),)
        places = {
            "in": (WHOLE, "[4, 0]"),
            "beyond": (PART, "[8, 0]"),
            "beyond.column": (PART, "[0, 9]"),
            "before": (WHOLE, "[-3, 0]"),
            "before.column": (WHOLE, "[0, -5]"),
            "far": (PART, "[100, 100]"),
            "one.row": (("[16, 16]", "[16, 1]", "[1, 16]"), "[7, 0]"),
            "flat": (("[200]", "[1]", "[64]"), "[160]"),
            "deep": (("[3, 5, 16]", "[80, 16, 1]", "[2, 4, 16]"), "[1, 2, 3]"),
            "wide": (("[2, 2, 4, 16]", "[128, 64, 16, 1]", "[1, 2, 4, 16]"), "[1, 0, 1, 0]"),
            "strided": (("[4, 16]", "[32, 1]", "[4, 16]"), "[1, 0]"),
            "column": (("[16, 4]", "[1, 16]", "[8, 4]"), "[0, 0]"),
        }  # fmt: skip
        for name, (form, at) in places.items():
            for pad in ("", "zero", "nan"):
                body = f"{made('a', *form, pad)}put(d.load({at}))"
                yield Case(f"descriptor/{name}.{pad}/{t}", a, body)
        whole, part = made("a", *WHOLE), made("a", *PART)
        for name, text in {
            "function": f"{whole}put(tl.load_tensor_descriptor(d, [2, 0]))",
            "where": f"{whole}put(d.load([tl.program_id(0) * 4 + 2, 0]))",
            "int64": f"{whole}put(d.load([tl.program_id(0).to(tl.int64), 0]))",
            "rank": f"{whole}put(d.load([2]))",
            "dot.T": f"{part}put(d.load([6, 0]).T)",
            "loop": f"{part}s = d.load([0, 0])\nfor i in range(1, 3):\n    s = d.load([i * 5, i])\nput(s)",
            "shape": f"{part}put(d.shape[0])\nput(d.shape[1])",
            "strides": f"{part}put(d.strides[0])",
            "block": f"{part}put(tl.zeros(d.block_shape, d.dtype))",
            "run.time": "n = tl.load(a).to(tl.int32) * 0 + 13\nd = tl.make_tensor_descriptor(a, [n, 16], [16, 1], [8, 16])\nput(d.load([8, 0]))",
            "gather": f"{made('a', '[16, 16]', '[16, 1]', '[1, 16]')}put(d.gather(tl.arange(0, 8) * 2 + 1, 0))",
            "gather.beyond": f"{made('a', '[11, 16]', '[16, 1]', '[1, 16]')}put(d.gather(tl.arange(0, 8) * 2, 0))",
            "gather.column": f"{made('a', '[16, 16]', '[16, 1]', '[1, 8]')}put(d.gather(tl.arange(0, 8), 8))",
        }.items():
            yield Case(f"descriptor/{name}/{t}", a, text)
        out = (array("a", t, "all"), array("b", t, "zero"))
        x = "x = tl.reshape(tl.load(a + tl.arange(0, 128)), [8, 16])\n"
        here, less = made("b", *WHOLE), made("b", *PART)
        for name, text in {
            "store": f"{here}d.store([4, 0], x)",
            "store.function": f"{here}tl.store_tensor_descriptor(d, [4, 0], x)",
            "store.beyond": f"{less}d.store([8, 4], x)",
            "store.before": f"{less}d.store([-2, -3], x)",
            "store.float": f"{here}d.store([0, 0], x.to(tl.float32))",
            "scatter": f"{made('b', '[16, 16]', '[16, 1]', '[1, 16]')}d.scatter(x, tl.arange(0, 8) * 2, 0)",
            "scatter.beyond": f"{made('b', '[11, 16]', '[16, 1]', '[1, 16]')}d.scatter(x, tl.arange(0, 8) * 2, 0)",
        }.items():
            yield Case(f"descriptor/{name}/{t}", out, f"{x}{text}\nput(x == x)")
        some = (array("a", t, "whole", arg=3), array("b", t, "zero"))
        for op in ("add", "min", "max", "and", "or", "xor"):
            body = f"{x}{here}d.atomic_{op}([4, 0], x)\nput(x == x)"
            yield Case(f"descriptor/atomic_{op}/{t}", some, body)
            body = f"{x}{less}d.atomic_{op}([8, 2], x)\nput(x == x)"
            yield Case(f"descriptor/atomic_{op}.beyond/{t}", some, body)
        for pad in ("zero", "nan"):
            h = (Descriptor("a", t, "all", shape=(13, 16), block=(8, 16), pad=pad),)
            yield Case(f"descriptor.host/load.{pad}/{t}", h, "put(a.load([2, 0]))")
            yield Case(f"descriptor.host/beyond.{pad}/{t}", h, "put(a.load([8, 4]))")
        h = (Descriptor("a", t, "all", shape=(16, 16), block=(1, 16)),)
        body = "put(a.gather(tl.arange(0, 8) * 2, 0))"
        yield Case(f"descriptor.host/gather/{t}", h, body)
        s = (
            array("a", t, "all"),
            Descriptor("b", t, "zero", shape=(13, 16), block=(8, 16)),
        )
        yield Case(
            f"descriptor.host/store/{t}", s, f"{x}b.store([8, 0], x)\nput(x == x)"
        )
