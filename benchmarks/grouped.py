"""Grouped matmul: products of different matrices in one launch, whose addresses and sizes
the kernel reads from memory. With pointers, and with descriptors made of what was read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import harness
import tegula as triton
import tegula.language as tl


def pointers(
    table, groups, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    PROGRAMS: tl.constexpr, T: tl.constexpr,
):  # fmt: skip
    """c = a @ b.T for each row of the table: m, n, k, the addresses of a, b and c, and what
    lies between rows of them. Tiles are dealt to programs in turn; all are whole."""
    tile = tl.program_id(0)
    first = 0
    for g in range(groups):
        row = table + g * 9
        n, k = tl.load(row + 1).to(tl.int32), tl.load(row + 2).to(tl.int32)
        across = tl.cdiv(n, BN)
        last = first + tl.cdiv(tl.load(row).to(tl.int32), BM) * across
        while tile < last:
            lda, ldb, ldc = tl.load(row + 6), tl.load(row + 7), tl.load(row + 8)
            rows = (tile - first) // across * BM + tl.arange(0, BM)
            columns = (tile - first) % across * BN + tl.arange(0, BN)
            inner = tl.arange(0, BK)[None, :]
            a = tl.load(row + 3).to(tl.pointer_type(T)) + rows[:, None] * lda + inner
            b = tl.load(row + 4).to(tl.pointer_type(T)) + columns[:, None] * ldb + inner
            acc = tl.zeros((BM, BN), tl.float32)
            for _ in range(tl.cdiv(k, BK)):
                tl.multiple_of(a, [16, 16])
                tl.multiple_of(b, [16, 16])
                acc = tl.dot(tl.load(a), tl.load(b).T, acc)
                a += BK
                b += BK
            c = tl.load(row + 5).to(tl.pointer_type(T))
            c += rows[:, None] * ldc + columns[None, :]
            tl.multiple_of(c, [16, 16])
            tl.store(c, acc.to(T))
            tile += PROGRAMS
        first = last


def descriptors(
    table, groups, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    PROGRAMS: tl.constexpr, T: tl.constexpr,
):  # fmt: skip
    """The same, of any sizes."""
    tile = tl.program_id(0)
    first = 0
    for g in range(groups):
        row = table + g * 9
        m, n = tl.load(row).to(tl.int32), tl.load(row + 1).to(tl.int32)
        k = tl.load(row + 2).to(tl.int32)
        across = tl.cdiv(n, BN)
        last = first + tl.cdiv(m, BM) * across
        if tile < last:
            a_ptr = tl.load(row + 3).to(tl.pointer_type(T))
            b_ptr = tl.load(row + 4).to(tl.pointer_type(T))
            c_ptr = tl.load(row + 5).to(tl.pointer_type(T))
            a = tl.make_tensor_descriptor(
                a_ptr, [m, k], [tl.load(row + 6), 1], [BM, BK]
            )
            b = tl.make_tensor_descriptor(
                b_ptr, [n, k], [tl.load(row + 7), 1], [BN, BK]
            )
            c = tl.make_tensor_descriptor(
                c_ptr, [m, n], [tl.load(row + 8), 1], [BM, BN]
            )
            while tile < last:
                i = (tile - first) // across * BM
                j = (tile - first) % across * BN
                acc = tl.zeros((BM, BN), tl.float32)
                for s in range(tl.cdiv(k, BK)):
                    acc = tl.dot(a.load([i, s * BK]), b.load([j, s * BK]).T, acc)
                c.store([i, j], acc.to(T))
                tile += PROGRAMS
        first = last


CONFIGS = [
    {"BM": m, "BN": n, "BK": k, "num_warps": w, "num_stages": s}
    for m, n, k, w, s in (
        (128, 128, 32, 4, 4),
        (128, 128, 64, 4, 3),
        (128, 128, 64, 8, 3),
        (128, 256, 64, 8, 3),
        (64, 128, 64, 4, 4),
    )
]


def allow_triton_descriptors() -> None:
    """Its descriptors live in memory that it asks its user for."""
    try:
        import torch
        import triton as theirs
    except ImportError:
        return
    if hasattr(theirs, "set_allocator"):
        theirs.set_allocator(
            lambda size, align, stream: torch.empty(
                size, dtype=torch.int8, device="cuda"
            )
        )


def table_of(a: Any, b: Any, c: Any, device: str) -> Any:
    """A row for each product of the stacks a, b and c."""

    def address(x: Any) -> int:
        return int(x.ctypes.data if isinstance(x, np.ndarray) else x.data_ptr())

    (groups, m, k), n = a.shape, b.shape[1]
    rows = [
        [m, n, k, *(address(x[g]) for x in (a, b, c)), k, k, n] for g in range(groups)
    ]
    return harness.to_device(np.array(rows, np.int64), device)


def contender(
    kernel: Any, types: Any, a: Any, b: Any, c: Any, device: str, programs: int
) -> harness.Contender:
    table = table_of(a, b, c, device)

    def run(**options: int) -> Any:
        more = {"PROGRAMS": programs, "T": types.float16, **options}
        if device == "cpu":
            more["T"] = types.float32
        kernel[(programs,)](table, a.shape[0], **more)
        return c

    cpu = [{"BM": 64, "BN": 64, "BK": 64}]
    return harness.Best(run, CONFIGS if device == "cuda" else cpu, device)


def cases(device: str) -> Iterator[harness.Case]:
    torch = harness.torch_or_none()
    rng = np.random.default_rng(0)
    gpu = device == "cuda"
    kind = np.float16 if gpu else np.float32
    programs = torch.cuda.get_device_properties(0).multi_processor_count if gpu else 8
    if gpu:
        allow_triton_descriptors()
    variants: tuple[Callable[..., None], ...] = (pointers, descriptors)
    sizes = [(4, n, n, n) for n in ((512, 1024, 2048, 4096) if gpu else (256,))]
    if gpu:
        sizes.append((4, 256, 8192, 8192))
    for groups, m, n, k in sizes:
        a = rng.standard_normal((groups, m, k), np.float32).astype(kind)
        b = rng.standard_normal((groups, n, k), np.float32).astype(kind)
        a64, b64 = (harness.float64(x, device) for x in (a, b))
        case = harness.Case(
            "grouped",
            f"{groups} of {m}x{n}x{k} {np.dtype(kind)}",
            a64 @ b64.swapaxes(1, 2),
            n_bytes=a.nbytes + b.nbytes + groups * m * n * a.itemsize,
            flops=2 * groups * m * n * k,
        )
        da, db = harness.to_device(a, device), harness.to_device(b, device)
        add = partial(contender, a=da, b=db, device=device, programs=programs)
        for fn in variants:
            c = harness.to_device(np.empty((groups, m, n), kind), device)
            who = "tegula" if fn is pointers else "tegula, descriptors"
            case.add(who, add(triton.jit(fn), tl, c=c))
        if torch is not None:
            ta, tb = (torch.from_numpy(x).to(device) for x in (a, b))
            tc = torch.empty((groups, m, n), dtype=ta.dtype, device=device)

            def one_by_one(a: Any = ta, b: Any = tb, c: Any = tc) -> Any:
                for x, y, z in zip(a, b, c, strict=True):
                    torch.matmul(x, y.t(), out=z)
                return c

            case.add("torch", one_by_one)
        for fn in variants:
            theirs = harness.triton_kernel(fn, device)
            if theirs is None:
                continue
            import triton.language as their_types

            c = torch.empty((groups, m, n), dtype=torch.float16, device=device)
            who = "triton" if fn is pointers else "triton, descriptors"
            case.add(who, add(theirs, their_types, c=c))
        yield case
