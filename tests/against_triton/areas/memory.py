"""Loads and stores: masks, what is in their place, block pointers, descriptors; atomics."""

from __future__ import annotations

from collections.abc import Iterator

from case import ALL, Case, array

FILL = (
    "0",
    "1",
    "-1",
    "3",
    "300",
    "2.5",
    "-0.0",
    "1e9",
    "True",
    "float('nan')",
    "float('-inf')",
    "None",
    "2147483648",
)


def loads() -> Iterator[Case]:
    for t in ALL:
        a = (array("a", t, "all"),)
        masks = {
            "some": "I % 3 == 0",
            "none": "I < 0",
            "full": "I < 256",
            "True": "True",
            "False": "False",
            "scalar": "tl.program_id(0) == 1",
            "number": "I",
            "one": "1",
        }
        for name, mask in masks.items():
            yield Case(f"load/{name}/{t}", a, f"put(tl.load(a + I, mask={mask}))")
            body = f"put(tl.load(a + I, mask={mask}, other=1))"
            yield Case(f"load.other/{name}/{t}", a, body)
        for v in FILL:
            body = f"put(tl.load(a + I, mask=I < 100, other={v}))"
            yield Case(f"load.fill/{v}/{t}", a, body)
        for name, text in {
            "other.only": "tl.load(a + I, other=0)",
            "place": "tl.load(a + 3)",
            "scalar.mask": "tl.load(a + 3, mask=tl.program_id(0) == 0)",
            "scalar.off": "tl.load(a + 3, mask=tl.program_id(0) == 1, other=5)",
            "scalar.block.mask": "tl.load(a + 3, mask=I < 3)",
            "block.scalar.mask": "tl.load(a + I, tl.program_id(0) == 1, 4)",
            "wider.mask": "tl.load(a + tl.arange(0, 16), mask=tl.arange(0, 4)[:, None] < 2)",
            "other.tile": "tl.load(a + I, I % 2 == 0, tl.load(a + 255 - I))",
            "other.wide": "tl.load(a + I, I % 2 == 0, I * 1.5)",
            "other.int": "tl.load(a + I, I % 2 == 0, I)",
            "ca": "tl.load(a + I, cache_modifier='.ca')",
            "cg": "tl.load(a + I, cache_modifier='.cg')",
            "cv": "tl.load(a + I, cache_modifier='.cv')",
            "wb": "tl.load(a + I, cache_modifier='.wb')",
            "first": "tl.load(a + I, eviction_policy='evict_first')",
            "last": "tl.load(a + I, I < 9, eviction_policy='evict_last')",
            "odd": "tl.load(a + I, eviction_policy='evict_normal')",
            "volatile": "tl.load(a + I, volatile=True)",
            "boundary": "tl.load(a + I, boundary_check=(0,))",
            "padding": "tl.load(a + I, padding_option='zero')",
            "strided": "tl.load(a + (I * 7) % 256)",
            "wide.offset": "tl.load(a + I.to(tl.int64))",
            "narrow.offset": "tl.load(a + (I % 128).to(tl.int8))",
            "unsigned.offset": "tl.load(a + (I % 256).to(tl.uint8))",
            "minus": "tl.load(a + 255 - I)",
            "left": "tl.load(I + a)",
            "bool.offset": "tl.load(a + (I > 3))",
            "float.offset": "tl.load(a + 1.0)",
            "value": "tl.load(I)",
            "as.byte": "tl.load(a.to(tl.pointer_type(tl.uint8)) + I)",
            "address": "tl.load((a.to(tl.int64) + 0).to(tl.pointer_type(tl.uint8)) + I)",
            "distance": "(a + 8).to(tl.int64) - a.to(tl.int64)",
            "element": "tl.zeros([2], a.dtype.element_ty)",
            "compare": "a + 1 == a",
            "pointer.add": "a + a",
            "pointer.sub": "(a + 1) - a",
            "pointer.mul": "a * 2",
            "pointer.neg": "-a",
            "is.none": "a is None",
            "pointer.where": "tl.load(tl.where(I < 128, a + I, a))",
            "pointer.bool": "(a + I).to(tl.int1)",
            "pointer.int32": "(a + I).to(tl.int32)",
        }.items():
            yield Case(f"load/{name}/{t}", a, f"put({text})")


def stores() -> Iterator[Case]:
    for t in ALL:
        args = (array("a", t, "all"), array("b", t, "zero"))
        for name, text in {
            "all": "tl.store(b + I, x)",
            "mask": "tl.store(b + I, x, mask=I % 3 == 0)",
            "True": "tl.store(b + I, x, mask=True)",
            "False": "tl.store(b + I, x, mask=False)",
            "number": "tl.store(b + I, x, mask=I)",
            "scalar": "tl.store(b + 3, tl.load(a + 5))",
            "scalar.mask": "tl.store(b + 3, tl.load(a + 5), mask=tl.program_id(0) == 0)",
            "splat": "tl.store(b + I, tl.load(a + 5))",
            "block.to.scalar": "tl.store(b, x)",
            "wider": "tl.store(b + tl.arange(0, 1), x)",
            "narrower": "tl.store(b + I, tl.load(a + tl.arange(0, 1)))",
            "literal": "tl.store(b + I, 3)",
            "minus": "tl.store(b + I, -1)",
            "half": "tl.store(b + I, 2.5)",
            "true": "tl.store(b + I, True)",
            "large": "tl.store(b + I, 300)",
            "nan": "tl.store(b + I, float('nan'))",
            "wide": "tl.store(b + I, I * 100000.5)",
            "int": "tl.store(b + I, I - 128)",
            "method": "(b + I).store(x)",
            "cs": "tl.store(b + I, x, cache_modifier='.cs')",
            "wt": "tl.store(b + I, x, cache_modifier='.wt')",
            "ca": "tl.store(b + I, x, cache_modifier='.ca')",
            "first": "tl.store(b + I, x, eviction_policy='evict_first')",
            "2d": "tl.store(b + tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16), tl.reshape(x, [16, 16]).T)",
            "row": "tl.store(b + tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16), tl.load(a + tl.arange(0, 16)))",
        }.items():
            yield Case(
                f"store.form/{name}/{t}",
                args,
                f"x = tl.load(a + I)\n{text}\nput(x == x)",
            )


def block_pointers() -> Iterator[Case]:
    for t in ALL:
        args = (array("a", t, "all"),)
        make = "p = tl.make_block_ptr(a, {shape}, {strides}, {offsets}, [8, 16], {order})\n"
        forms = {
            "in": ("[16, 16]", "[16, 1]", "[0, 0]", "[1, 0]"),
            "beyond": ("[13, 11]", "[16, 1]", "[8, 0]", "(1, 0)"),
            "before": ("[16, 16]", "[16, 1]", "[-3, -5]", "[1, 0]"),
            "turned": ("[16, 16]", "[1, 16]", "[4, 0]", "[0, 1]"),
            "tuple": ("(16, 16)", "(16, 1)", "(0, 0)", "(0, 1)"),
        }
        for name, (shape, strides, offsets, order) in forms.items():
            block = make.format(
                shape=shape, strides=strides, offsets=offsets, order=order
            )
            for check in (
                "(0, 1)",
                "[0, 1]",
                "(0,)",
                "(1,)",
                "()",
                "(0, 0)",
                "(2,)",
                "(-1,)",
            ):
                if check in ("()", "(0,)", "(1,)") and name in ("beyond", "before"):
                    continue  # reads what is not there
                for pad in ("", "zero", "nan", "odd"):
                    body = f"{block}put(tl.load(p, boundary_check={check}, padding_option='{pad}'))"
                    yield Case(f"block/{name}/{check}.{pad}.{t}", args, body)
        block = make.format(
            shape="[16, 16]", strides="[16, 1]", offsets="[0, 0]", order="[1, 0]"
        )
        for name, text in {
            "advance": "put(tl.load(tl.advance(p, [8, 0])))",
            "advance.method": "put(tl.load(p.advance((8, 0)), boundary_check=(0, 1)))",
            "advance.far": "put(tl.load(tl.advance(p, (12, 9)), boundary_check=(0, 1)))",
            "advance.twice": "p = tl.advance(p, (4, 0))\np = tl.advance(p, (4, 0))\nput(tl.load(p))",
            "mask": "put(tl.load(p, mask=I < 3))",
            "other": "put(tl.load(p, other=0))",
            "loop": "s = tl.zeros([8, 16], a.dtype.element_ty)\nfor i in range(2):\n    s = tl.load(p)\n    p = tl.advance(p, [8, 0])\nput(s)",
            "lost": "tl.advance(p, [8, 0])\nput(tl.load(p))",
        }.items():
            yield Case(f"block/{name}/{t}", args, f"{block}{text}")
        out = (array("a", t, "all"), array("b", t, "zero"))
        made = "p = tl.make_block_ptr(b, [13, 11], [16, 1], [8, 0], [8, 16], [1, 0])\n"
        x = "x = tl.reshape(tl.load(a + tl.arange(0, 128)), [8, 16])\n"
        for name, text in {
            "store": "tl.store(p, x, boundary_check=(0, 1))",
            "store.scalar": "tl.store(p, tl.load(a), boundary_check=(0, 1))",
            "store.literal": "tl.store(p, 1, boundary_check=(0, 1))",
            "store.other": "tl.store(p, x.to(tl.float32), boundary_check=(0, 1))",
            "store.mask": "tl.store(p, x, mask=True)",
            "store.shape": "tl.store(p, tl.load(a + tl.arange(0, 128)), boundary_check=(0, 1))",
        }.items():
            yield Case(f"block/{name}/{t}", out, f"{made}{x}{text}\nput(x == x)")


def atomics() -> Iterator[Case]:
    orders = ("None", "'relaxed'", "'acquire'", "'release'", "'acq_rel'", "'odd'")
    for t in ALL:
        # Each lane its own place: what comes back is what was there.
        args = (array("a", t, "all"), array("b", t, "zero"))
        small = (array("a", t, "whole", arg=3), array("b", t, "zero"))
        for op in ("add", "max", "min", "and", "or", "xor", "xchg"):
            call = f"tl.atomic_{op}(b + I, x)"
            load = "x = tl.load(a + I)\n"
            before = (
                f"{load}tl.store(b + I, tl.load(a + 255 - I))\ntl.debug_barrier()\n"
            )
            for name, given in (("all", args), ("small", small)):
                if (
                    name == "all"
                    and op in ("max", "min")
                    and t in ("float32", "float64")
                ):
                    continue  # NaN is nobody's
                yield Case(f"atomic/{op}.{name}/{t}", given, f"{before}put({call})")
            for name, text in {
                "zero": f"put({call})",
                "mask": f"put(tl.where(I < 99, tl.atomic_{op}(b + I, x, mask=I < 99), x))",
                "True": f"put(tl.atomic_{op}(b + I, x, True))",
                "literal": f"put(tl.atomic_{op}(b + I, 1))",
                "scalar": f"put(tl.atomic_{op}(b + 5, tl.load(a + 9)))",
                "splat": f"put(tl.atomic_{op}(b + I, tl.load(a + 9)))",
                "wide": f"put(tl.atomic_{op}(b + I, x.to(tl.float32)))",
                "int": f"put(tl.atomic_{op}(b + I, I))",
                "method": f"put((b + I).atomic_{op}(x))",
            }.items():
                yield Case(f"atomic/{op}.{name}/{t}", small, f"{load}{text}")
        for order in orders:
            body = f"put(tl.atomic_add(b + I, tl.load(a + I), sem={order}))"
            yield Case(f"atomic/sem.{order}/{t}", small, body)
        for scope in ("'gpu'", "'cta'", "'sys'", "'odd'", "None"):
            body = f"put(tl.atomic_add(b + I, tl.load(a + I), scope={scope}))"
            yield Case(f"atomic/scope.{scope}/{t}", small, body)
        for name, text in {
            "cas": "tl.atomic_cas(b + I, tl.zeros([256], a.dtype.element_ty), x)",
            "cas.misses": "tl.atomic_cas(b + I, x, x)",
            "cas.literal": "tl.atomic_cas(b + I, 0, x)",
            "cas.scalar": "tl.atomic_cas(b + 3, tl.load(b + 9), tl.load(a + 2))",
            "cas.scalar.literal": "tl.atomic_cas(b + 3, 0, 1)",
            "cas.wide": "tl.atomic_cas(b + I, I, x)",
        }.items():
            yield Case(f"atomic/{name}/{t}", small, f"x = tl.load(a + I)\nput({text})")


def make() -> Iterator[Case]:
    yield from loads()
    yield from stores()
    yield from block_pointers()
    yield from atomics()
