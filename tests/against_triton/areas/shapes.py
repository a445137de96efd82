"""Shapes: what moves elements, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator

from case import Case, array

MOVES = (
    "tl.reshape(x, [16, 16])",
    "tl.reshape(x, 16, 16)",
    "tl.reshape(x, (4, 8, 8))",
    "tl.reshape(x, [2, 2, 2, 2, 16])",
    "x.reshape(8, 32)",
    "x.reshape([8, 32]).reshape(256)",
    "tl.reshape(x, [16, 8])",
    "tl.reshape(x, [256, 1])",
    "tl.view(x, [16, 16]).to(tl.int32) * 0",
    "tl.ravel(tl.reshape(x, [16, 16]))",
    "tl.trans(tl.reshape(x, [8, 32]))",
    "tl.reshape(x, [8, 32]).T",
    "x.T",
    "tl.trans(x)",
    "tl.trans(tl.reshape(x, [4, 8, 8]))",
    "tl.trans(tl.reshape(x, [4, 8, 8]), 2, 0, 1)",
    "tl.trans(tl.reshape(x, [4, 8, 8]), (2, 0, 1))",
    "tl.permute(tl.reshape(x, [4, 8, 8]), 1, 2, 0)",
    "tl.permute(tl.reshape(x, [4, 8, 8]), [1, 2, 0])",
    "tl.permute(tl.reshape(x, [4, 8, 8]), 1, 1, 0)",
    "tl.permute(tl.reshape(x, [4, 8, 8]), -1, 1, 0)",
    "tl.permute(tl.reshape(x, [2, 4, 4, 8]), 3, 1, 0, 2)",
    "tl.join(x, x + x)",
    "tl.join(x, 1)",
    "tl.join(tl.reshape(x, [8, 32]), tl.reshape(x, [8, 32]))",
    "tl.interleave(x, x + x)",
    "tl.interleave(tl.reshape(x, [8, 32]), tl.reshape(x, [8, 32]))",
    "tl.split(tl.reshape(x, [128, 2]))[0]",
    "tl.split(tl.reshape(x, [128, 2]))[1]",
    "tl.reshape(x, [4, 32, 2]).split()[1]",
    "tl.split(tl.reshape(x, [64, 4]))[0]",
    "tl.split(tl.load(a + tl.arange(0, 2)))[1]",
    "tl.join(tl.load(a), tl.load(a + 1))",
    "tl.sum(tl.cat(x, x, can_reorder=True).to(tl.int32))",
    "tl.cat(x, x)",
    "tl.expand_dims(x, 0)",
    "tl.expand_dims(x, 1)",
    "tl.expand_dims(x, -1)",
    "tl.expand_dims(x, (0, 2))",
    "tl.expand_dims(x, [0, 1])",
    "tl.expand_dims(x, 2)",
    "tl.expand_dims(x, (0, 0))",
    "x[:, None]",
    "x[None, :]",
    "x[None, :, None]",
    "x[:]",
    "x[:, None] * 0 + tl.arange(0, 2)[None, :]",
    "tl.load(a)[None]",
    "tl.load(a)[None, None]",
    "tl.broadcast_to(x[:, None], [256, 2])",
    "tl.broadcast_to(x[:, None], 256, 2)",
    "tl.broadcast_to(x, [2, 256])",
    "tl.broadcast_to(tl.load(a), [4, 4])",
    "tl.broadcast(x[:, None], tl.arange(0, 2)[None, :])[0]",
    "x + tl.reshape(x, [16, 16])",
    "tl.load(a + tl.arange(0, 16))[:, None] < tl.load(a + tl.arange(0, 16))[None, :]",
    "tl.load(a + tl.arange(0, 16))[:, None] + tl.load(a + tl.arange(0, 8))[None, :]",
    "tl.load(a + tl.arange(0, 16)) + tl.load(a + tl.arange(0, 8))",
    "tl.load(a + tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16))",
    "tl.load(a + tl.arange(0, 1))",
    "tl.load(a + tl.arange(0, 1)) + x",
    "tl.reshape(tl.load(a + tl.arange(0, 1)), ())",
    "tl.load(a + tl.arange(0, 1)).item()",
    "tl.zeros([4, 4], x.dtype)",
    "tl.zeros((8,), dtype=x.dtype)",
    "tl.zeros([3], x.dtype)",
    "tl.zeros_like(tl.reshape(x, [8, 32]))",
    "tl.full([8, 4], 1, x.dtype)",
    "tl.full([8], tl.load(a + 5), x.dtype)",
    "tl.full([8], x, x.dtype)",
    "tl.full([8], 1, None)",
    "x.numel",
    "x.shape[0]",
    "tl.zeros(x.shape, tl.int32)",
    "tl.zeros([x.shape[0], 2], tl.int32)",
    "tl.where(x[:, None] == x[:, None], tl.arange(0, 4)[None, :], 0)",
    "tl.swizzle2d(tl.arange(0, 4), 3, 4, 8, 2)[0]",
    "tl.swizzle2d(tl.arange(0, 4), 3, 4, 8, 2)[1]",
    "tl.swizzle2d(tl.arange(0, 16) // 4, tl.arange(0, 16) % 4, 4, 4, 3)[0]",
    "tl.map_elementwise(twice, x)",
    "tl.reduce(tl.reshape(x, [2, 2, 64]), 1, larger)",
    "tl.sum(tl.reshape(x, [4, 8, 8]), 1).to(tl.int32) * 0",
    "tl.max(tl.max(tl.reshape(x, [4, 8, 8]), 2), 0)",
)


def make() -> Iterator[Case]:
    for t in (
        "int1",
        "int8",
        "uint16",
        "int32",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float8e5",
    ):
        a = (array("a", t, "all"),)
        for i, text in enumerate(MOVES):
            room = 16384 if "[None, :]" in text or "16" in text else 4096
            yield Case(
                f"shape/{i}/{t}", a, f"x = tl.load(a + I)\nput({text})", room=room
            )
    dims = (array("a", "int32", "all", 512),)
    for m in (1, 2, 4, 16, 64):
        n = 512 // m
        load = f"x = tl.load(a + tl.arange(0, {m})[:, None] * {n} + tl.arange(0, {n})[None, :])\n"
        for name, text in {
            "trans": "x.T",
            "sum0": "tl.sum(x, 0)",
            "sum1": "tl.sum(x, 1)",
            "sort": "tl.sort(x)",
            "scan0": "tl.cumsum(x, 0)",
            "scan1": "tl.cumsum(x, 1)",
            "flip": "tl.flip(x, 0)",
            "row": "x - tl.max(x, 1)[:, None]",
            "column": "x - tl.max(x, 0)[None, :]",
            "reshape": f"tl.reshape(x, [{n}, {m}])",
            "join": "tl.join(x, x)",
            "argmax": "tl.argmax(x, 1)",
        }.items():
            yield Case(f"sides/{name}/{m}", dims, f"{load}put({text})", room=8192)
