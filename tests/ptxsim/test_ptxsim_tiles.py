"""Copies of tiles by tensor maps: what arrives where, beside NumPy's slices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from simulated import Fault, available, kernel, launch, put, tensor_map

pytestmark = pytest.mark.skipif(not available(), reason="no build/libptxsim.so")

TYPES = {"uint8": 0, "uint16": 1, "uint32": 2, "int32": 3, "uint64": 4, "int64": 5}
TYPES |= {"float16": 6, "float32": 7, "float64": 8}
TARGET, BAR = "sm_90a", 16 << 10  # the mbarrier's place behind all tiles

START = f"""
    .reg .pred %first, %done, %more;
    .reg .b32 %s, %b, %n, %v;
    .reg .b64 %m, %from, %to;
    setp.eq.u32 %first, %t, 0;
    mov.u32 %s, smem;
    add.u32 %b, %s, {BAR};
    mov.b64 %m, m0;
    cvta.param.u64 %m, %m;
"""


def loading(coordinates: tuple[int, ...], n_bytes: int) -> str:
    """A tile to shared memory, which 32 threads then copy to %p0, word by word."""
    c = ", ".join(map(str, coordinates))
    copy = (
        "cp.async.bulk.tensor.{}d.shared::cluster.global.tile"
        ".mbarrier::complete_tx::bytes"
    )
    return (
        START
        + f"""
    @%first mbarrier.init.shared.b64 [%b], 1;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    @%first mbarrier.arrive.expect_tx.shared.b64 _, [%b], {n_bytes};
    @%first {copy.format(len(coordinates))} [%s], [%m, {{{c}}}], [%b];
poll:
    mbarrier.try_wait.parity.shared.b64 %done, [%b], 0;
    @!%done bra poll;
    shl.b32 %n, %t, 2;
next:
    add.u32 %v, %s, %n;
    cvt.u64.u32 %to, %n;
    add.u64 %to, %to, %p0;
    ld.shared.b32 %v, [%v];
    st.global.b32 [%to], %v;
    add.u32 %n, %n, 128;
    setp.lt.u32 %more, %n, {n_bytes};
    @%more bra next;
"""
    )


def storing(coordinates: tuple[int, ...], n_bytes: int, op: str = "") -> str:
    """%p0, word by word, to shared memory, and from there by the map."""
    c = ", ".join(map(str, coordinates))
    name = f"cp.{'reduce.' if op else ''}async.bulk.tensor.{len(coordinates)}d"
    name += f".global.shared::cta{op and '.' + op}.tile.bulk_group"
    return (
        START
        + f"""
    shl.b32 %n, %t, 2;
next:
    cvt.u64.u32 %from, %n;
    add.u64 %from, %from, %p0;
    ld.global.b32 %v, [%from];
    add.u32 %b, %s, %n;
    st.shared.b32 [%b], %v;
    add.u32 %n, %n, 128;
    setp.lt.u32 %more, %n, {n_bytes};
    @%more bra next;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    @%first {name} [%m, {{{c}}}], [%s];
    @%first cp.async.bulk.commit_group;
    @%first cp.async.bulk.wait_group 0;
"""
    )


def swizzled(tile: np.ndarray, swizzle: int) -> np.ndarray:
    """The bytes of shared memory, 16 at a time where the swizzle puts them."""
    chunks = np.frombuffer(tile.tobytes(), np.uint8).reshape(-1, 16)
    out = np.empty_like(chunks)
    for k, chunk in enumerate(chunks):
        out[k ^ (k // 8 & (1 << swizzle) - 1)] = chunk
    return out.reshape(-1)


def window(x: np.ndarray, at: tuple[int, ...], box: tuple[int, ...], fill: Any) -> Any:
    """x[at : at + box], with what is outside; the outermost dim first."""
    out = np.full(box, fill, x.dtype)
    for index in np.ndindex(*box):
        there = tuple(a + i for a, i in zip(at, index, strict=True))
        if all(0 <= k < n for k, n in zip(there, x.shape, strict=True)):
            out[index] = x[there]
    return out


def numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 100, shape).astype(dtype)


def map_of(x: Any, box: tuple[int, ...], **options: Any) -> Any:
    a = x.array
    return tensor_map(
        TYPES[str(a.dtype)], x, a.shape[::-1], a.strides[-2::-1], box[::-1], **options
    )


LOADS = [
    # dtype, shape, box, where, swizzle
    ("float16", (64, 128), (8, 64), (16, 32), 3),
    ("float16", (64, 128), (8, 64), (60, 104), 3),  # rows and columns outside
    ("float16", (64, 128), (16, 32), (-3, -8), 2),  # in front of it
    ("float16", (64, 120), (8, 16), (0, 112), 1),
    ("uint8", (40, 144), (8, 128), (33, 32), 3),
    ("uint8", (40, 144), (16, 64), (-5, 112), 2),
    ("uint8", (40, 144), (8, 32), (4, -16), 1),
    ("uint8", (40, 144), (8, 16), (3, 48), 0),
    ("float32", (20, 36), (8, 32), (1, 4), 3),
    ("float32", (20, 36), (8, 12), (15, 28), 0),  # no swizzle: any multiple of 16 bytes
    ("float64", (9, 10), (4, 4), (7, 8), 0),
    ("int64", (9, 10), (2, 8), (0, 4), 2),
    ("uint16", (3, 5, 24), (2, 3, 16), (1, -1, 8), 1),
    ("int32", (2, 3, 4, 8), (2, 2, 2, 4), (1, 2, 3, 4), 0),
    ("float16", (2, 2, 3, 4, 16), (1, 2, 2, 2, 8), (1, 0, 2, 3, 8), 0),
    ("float16", (100,), (64,), (48,), 3),
    ("uint8", (100,), (128,), (16,), 3),
]


@pytest.mark.parametrize("dtype,shape,box,at,swizzle", LOADS)
@pytest.mark.parametrize("fill", [0, 1])
def test_load(dtype, shape, box, at, swizzle, fill):
    if fill and not dtype.startswith("float"):
        pytest.skip("no NaN")
    x = put(numbers(shape, dtype), TARGET)
    m = map_of(x, box, swizzle=swizzle, fill=fill)
    n_bytes = int(np.prod(box)) * x.array.itemsize
    ptx = kernel(loading(at[::-1], n_bytes), 1, n_maps=1)
    (out,) = launch(ptx, np.zeros(n_bytes, np.uint8), shared=BAR + 8, maps=(m,))
    want = window(x.array, at, box, np.nan if fill else 0)
    got = np.empty_like(out)
    if fill:  # any NaN is one
        back = np.empty_like(out).reshape(-1, 16)
        for k in range(len(back)):
            back[k] = out.reshape(-1, 16)[k ^ (k // 8 & (1 << swizzle) - 1)]
        np.testing.assert_array_equal(back.reshape(-1).view(dtype).reshape(box), want)
    else:
        got = swizzled(want, swizzle)
        np.testing.assert_array_equal(out, got)


@pytest.mark.parametrize("dtype,shape,box,at,swizzle", LOADS)
@pytest.mark.parametrize("op", ["", "add"])
def test_store(dtype, shape, box, at, swizzle, op):
    if op and dtype in ("uint8", "uint16", "float64"):
        pytest.skip("no such reduction")
    at = tuple(max(a, 0) for a in at)
    there = put(numbers(shape, dtype), TARGET)
    before = there.array.copy()
    m = map_of(there, box, swizzle=swizzle)
    tile = (numbers(box, dtype) + 1).astype(dtype)
    packed = swizzled(tile, swizzle)
    ptx = kernel(storing(at[::-1], packed.size, op), 1, n_maps=1)
    launch(ptx, packed, shared=BAR + 8, maps=(m,))
    want = before.copy()
    for index in np.ndindex(*box):
        to = tuple(a + i for a, i in zip(at, index, strict=True))
        if all(0 <= k < n for k, n in zip(to, shape, strict=True)):
            want[to] = tile[index] + (before[to] if op else 0)
    np.testing.assert_array_equal(there.array, want)


def test_coordinates_that_stop_a_chip():
    """An H200 has them as illegal instructions: tried one by one."""
    x = put(numbers((64, 128), "float16"), TARGET)
    m = map_of(x, (8, 64), swizzle=3)
    out = np.zeros(1024, np.uint8)
    for at in ((5, 0), (4, 3), (-3, 0)):
        ptx = kernel(loading(at, 1024), 1, n_maps=1)
        with pytest.raises(Fault, match="no multiple of 16 bytes"):
            launch(ptx, out, shared=BAR + 8, maps=(m,))
    for at in ((0, -1), (-8, 0)):
        with pytest.raises(Fault, match="begins in front of the tensor"):
            launch(
                kernel(storing(at, 1024, ""), 1, n_maps=1),
                out,
                shared=BAR + 8,
                maps=(m,),
            )


REFUSED = [
    ({"box": (8, 512)}, "1 to 256"),
    ({"box": (8, 4)}, "multiple of 16 bytes"),
    ({"box": (8, 128), "swizzle": 3}, "exceeds its swizzle"),
    ({"strides": (250,)}, "a stride"),
    ({"sizes": (128, 0)}, "a size"),
    ({"offset": 8}, "a multiple of 16 bytes"),
    ({"data_type": 11}, "this type"),
    ({"data_type": 1, "fill": 1}, "filled with NaN"),
]


@pytest.mark.parametrize("change,text", REFUSED)
def test_what_the_driver_refuses(change, text):
    x = put(numbers((64, 128), "float16"), TARGET)
    asked: dict[str, Any] = {"sizes": (128, 64), "strides": (256,), "box": (8, 64)}
    asked |= {"data_type": 6, "swizzle": 0, "fill": 0, "offset": 0, **change}
    with pytest.raises(Fault, match=text):
        tensor_map(
            asked["data_type"],
            x,
            asked["sizes"],
            asked["strides"],
            asked["box"][::-1],
            asked["swizzle"],
            asked["fill"],
            x.data_ptr() + asked["offset"],
        )


def test_a_tile_that_leaves_the_memory_is_a_fault():
    """The map promises more rows than there are."""
    x = put(numbers((8, 64), "float16"), TARGET)
    m = tensor_map(6, x, (64, 16), (128,), (64, 8), 3)
    with pytest.raises(Fault, match="no registered memory"):
        out = np.zeros(1024, np.uint8)
        launch(
            kernel(loading((0, 4), 1024), 1, n_maps=1), out, shared=BAR + 8, maps=(m,)
        )


@pytest.mark.parametrize("row", [-8, 16])
def test_a_box_that_is_all_outside_asks_for_the_address(row: int):
    """As on an H200: a map that begins where no memory is, is an illegal address then,
    although nothing of the tensor is asked for. Where there is memory, there are zeros."""
    x = put(numbers((8, 64), "float16"), TARGET)
    out = np.zeros(1024, np.uint8)
    k = kernel(loading((0, row), 1024), 1, n_maps=1)
    m = tensor_map(6, x, (64, 16), (128,), (64, 8), 3)
    assert not launch(k, out, shared=BAR + 8, maps=(m,))[0].any()
    in_front = x.data_ptr() - (1 << 37)
    m = tensor_map(6, x, (64, 16), (128,), (64, 8), 3, address=in_front)
    with pytest.raises(Fault, match="no registered memory"):
        launch(k, out, shared=BAR + 8, maps=(m,))


FAULTS = [
    ("[%s]", "[%s + 128]", "begins at a multiple of 1024"),
    ("[%m, {0, 0}]", "[%m, {0, 0, 0}]", "with 2 coordinates"),
    ("mov.b64 %m, m0", "mov.b64 %m, 0", "no tensor map"),
    ("tensor.2d", "tensor.3d", "with 3 coordinates"),
]


@pytest.mark.parametrize("old,new,text", FAULTS, ids=[row[2] for row in FAULTS])
def test_faults(old, new, text):
    x = put(numbers((8, 64), "float16"), TARGET)
    body = loading((0, 0), 1024)
    assert old in body
    body = body.replace(old, new)
    if "no tensor map" in text:
        body = body.replace("cvta.param.u64 %m, %m;", "mov.b64 %m, %p0;")
    m = map_of(x, (8, 64), swizzle=3)
    with pytest.raises(Fault, match=text):
        out = np.zeros(1024, np.uint8)
        launch(kernel(body, 1, n_maps=1), out, shared=BAR + 8, maps=(m,))


def test_a_store_of_what_nobody_wrote_is_a_fault():
    x = put(numbers((8, 64), "float16"), TARGET)
    body = storing((0, 0), 1024).replace("st.shared.b32 [%b], %v;", "")
    m = map_of(x, (8, 64), swizzle=3)
    with pytest.raises(Fault, match="what nobody wrote"):
        launch(
            kernel(body, 1, n_maps=1),
            np.zeros(1024, np.uint8),
            shared=BAR + 8,
            maps=(m,),
        )


@pytest.mark.parametrize("lanes", ["", "@%first "])
def test_a_store_without_a_fence_of_all_writers_is_a_fault(lanes):
    """One lane's fence is none of the others'."""
    x = put(numbers((8, 64), "float16"), TARGET)
    fence = "fence.proxy.async.shared::cta;"
    body = storing((0, 0), 1024).replace(fence, lanes and lanes + fence)
    m = map_of(x, (8, 64), swizzle=3)
    with pytest.raises(Fault, match=r"without a fence\.proxy\.async"):
        launch(
            kernel(body, 1, n_maps=1),
            np.zeros(1024, np.uint8),
            shared=BAR + 8,
            maps=(m,),
        )
