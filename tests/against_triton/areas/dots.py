"""Products of matrices. Elements are small whole numbers: every order of adding is exact."""

from __future__ import annotations

from collections.abc import Iterator

from case import ALL, FP8, Case, array


def load(m: int, n: int, k: int) -> str:
    return (
        f"x = tl.load(a + tl.arange(0, {m})[:, None] * {k} + tl.arange(0, {k})[None, :])\n"
        f"y = tl.load(b + tl.arange(0, {k})[:, None] * {n} + tl.arange(0, {n})[None, :])\n"
    )


def make() -> Iterator[Case]:
    for s in ALL:
        for t in ALL:
            most = 1 if s in FP8 or t in FP8 else 3
            args = (
                array("a", s, "whole", 1024, most),
                array("b", t, "whole", 1024, most),
            )
            names = {"plain": "tl.dot(x, y)"}
            if s == t or (s in FP8 and t in FP8):
                for out in (
                    "float16",
                    "bfloat16",
                    "float32",
                    "float64",
                    "int32",
                    "int8",
                ):
                    names[f"out.{out}"] = f"tl.dot(x, y, out_dtype=tl.{out})"
                    names[f"acc.{out}"] = (
                        f"tl.dot(x, y, tl.full([16, 16], 1, tl.{out}))"
                    )
                    names[f"acc.out.{out}"] = (
                        f"tl.dot(x, y, acc=tl.full([16, 16], 1, tl.{out}), out_dtype=tl.{out})"
                    )
                for p in ("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6", "odd"):
                    names[f"precision.{p}"] = f"tl.dot(x, y, input_precision='{p}')"
                names |= {
                    "tf32": "tl.dot(x, y, allow_tf32=True)",
                    "no.tf32": "tl.dot(x, y, allow_tf32=False)",
                    "both": "tl.dot(x, y, allow_tf32=False, input_precision='ieee')",
                    "imprecise": "tl.dot(x, y, max_num_imprecise_acc=16)",
                    "imprecise.far": "tl.dot(x, y, max_num_imprecise_acc=64)",
                    "plus": "tl.dot(x, y) + 1",
                    "trans": "tl.dot(x, tl.trans(tl.trans(y)))",
                    "cast": "tl.dot(x.to(tl.float16), y.to(tl.float16))",
                    "acc.literal": "tl.dot(x, y, 0.0)",
                    "acc.shape": "tl.dot(x, y, tl.zeros([16, 32], tl.float32))",
                    "method": "x.dot(y)",
                    "matmul": "x @ y",
                }
            for name, text in names.items():
                body = f"{load(16, 16, 32)}put({text})"
                yield Case(f"dot/{name}/{s}.{t}", args, body)
    for t in ("float16", "float32", "int8", "float8e5", "float64", "bfloat16"):
        args = (array("a", t, "whole", 4096, 1), array("b", t, "whole", 4096, 1))
        for m, n, k in (
            (1, 16, 32),
            (16, 1, 32),
            (1, 1, 32),
            (2, 4, 16),
            (16, 16, 8),
            (16, 16, 16),
            (32, 8, 32),
            (8, 32, 64),
            (64, 64, 64),
            (64, 32, 32),
            (128, 16, 32),
            (16, 16, 1),
        ):
            body = f"{load(m, n, k)}put(tl.dot(x, y))"
            room = max(2048, m * n * 8)
            yield Case(f"dot.side/{m}x{n}x{k}/{t}", args, body, room=room)
            body = f"{load(m, n, k)}put(tl.sum(x[:, :, None].to(tl.float32) * y[None, :, :].to(tl.float32), 1))"
            if m * n * k <= 4096:
                yield Case(f"dot.side/{m}x{n}x{k}.sum/{t}", args, body, room=room)
        body = f"{load(16, 16, 32)}put(tl.dot(tl.reshape(x, [1, 16, 32]), tl.reshape(y, [1, 32, 16])))"
        yield Case(f"dot.side/batch1/{t}", args, body)
        for name, text in {
            "batch4": "p = tl.reshape(tl.load(a + tl.arange(0, 2048)), [4, 16, 32])\nq = tl.reshape(tl.load(b + tl.arange(0, 2048)), [4, 32, 16])\nput(tl.dot(p, q))",
            "batch.differ": "p = tl.reshape(tl.load(a + tl.arange(0, 2048)), [4, 16, 32])\nq = tl.reshape(tl.load(b + tl.arange(0, 1024)), [2, 32, 16])\nput(tl.dot(p, q))",
            "rank": "p = tl.reshape(tl.load(a + tl.arange(0, 2048)), [4, 16, 32])\nput(tl.dot(p, p))",
            "batch2x2": "p = tl.reshape(tl.load(a + tl.arange(0, 2048)), [2, 2, 16, 32])\nq = tl.reshape(tl.load(b + tl.arange(0, 2048)), [2, 2, 32, 16])\nput(tl.dot(p, q))",
            "inner": f"{load(16, 16, 32)}put(tl.dot(x, x))",
            "vector": "p = tl.load(a + tl.arange(0, 32))\nput(tl.dot(p, p))",
        }.items():
            yield Case(f"dot.side/{name}/{t}", args, text, room=8192)

    yield from scaled()


def scaled() -> Iterator[Case]:
    formats = {"e2m1": 2, "e4m3": 1, "e5m2": 1, "bf16": 1, "fp16": 1}
    types = {"bf16": "bfloat16", "fp16": "float16"}
    m, n, k = 32, 32, 64
    for f, p in formats.items():
        for g, q in formats.items():
            s, t = types.get(f, "uint8"), types.get(g, "uint8")
            # Of bytes only those that are numbers in either format.
            args = (
                array("a", s, "whole", 4096, 3 if s != "uint8" else 100),
                array("b", t, "whole", 4096, 3 if t != "uint8" else 100),
                array("c", "uint8", "whole", 256, 2),
            )
            body = (
                f"x = tl.load(a + tl.arange(0, {m})[:, None] * {k // p} + tl.arange(0, {k // p})[None, :])\n"
                f"y = tl.load(b + tl.arange(0, {k // q})[:, None] * {n} + tl.arange(0, {n})[None, :])\n"
                f"u = tl.load(c + tl.arange(0, {m})[:, None] * {k // 32} + tl.arange(0, {k // 32})[None, :]) + 126\n"
                f"v = tl.load(c + tl.arange(0, {n})[:, None] * {k // 32} + tl.arange(0, {k // 32})[None, :]) + 126\n"
            )
            for name, (left, right) in {
                "both": ("u", "v"),
                "left": ("u", "None"),
                "right": ("None", "v"),
                "neither": ("None", "None"),
            }.items():
                text = f"tl.dot_scaled(x, {left}, '{f}', y, {right}, '{g}')"
                yield Case(
                    f"dot_scaled/{name}/{f}.{g}", args, f"{body}put({text})", room=4096
                )
            text = f"tl.dot_scaled(x, u, '{f}', y, v, '{g}', acc=tl.full([{m}, {n}], 1.0, tl.float32))"
            yield Case(f"dot_scaled/acc/{f}.{g}", args, f"{body}put({text})", room=4096)
