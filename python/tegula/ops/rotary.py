"""Rotary position embedding: pairs of elements are turned by an angle of their position."""

from __future__ import annotations

from typing import Any

import tegula
import tegula.language as tl
from tegula.ops import arrays


@tegula.jit
def kernel(
    x_ptr, cos_ptr, sin_ptr, y_ptr, rows, T,
    ROWS: tl.constexpr, HALF: tl.constexpr, NEXT: tl.constexpr, INTERLEAVED: tl.constexpr,
    BACK: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    mask = (row < rows)[:, None]
    i = tl.arange(0, HALF)[None, :]
    angle = (row % T)[:, None] * HALF + i
    cos = tl.load(cos_ptr + angle, mask=mask, other=0.0).to(ACC)
    sin = tl.load(sin_ptr + angle, mask=mask, other=0.0).to(ACC)
    if BACK:
        sin = -sin
    at = row[:, None] * 2 * HALF + (2 * i if INTERLEAVED else i)
    a = tl.load(x_ptr + at, mask=mask, other=0.0).to(ACC)
    b = tl.load(x_ptr + at + NEXT, mask=mask, other=0.0).to(ACC)
    tl.store(y_ptr + at, a * cos - b * sin, mask=mask)
    tl.store(y_ptr + at + NEXT, b * cos + a * sin, mask=mask)


def run(outs: tuple, x: Any, cos: Any, sin: Any, interleaved: bool, back: bool) -> None:
    x, cos, sin = (arrays.contiguous(a) for a in (x, cos, sin))
    half, n = x.shape[-1] // 2, arrays.n_rows(x)
    rows = max(1, 1024 // tegula.next_power_of_2(half))
    kernel[(tegula.cdiv(n, rows),)](
        x, cos, sin, *outs, n, x.shape[-2], ROWS=rows, HALF=half,
        NEXT=1 if interleaved else half, INTERLEAVED=interleaved, BACK=back,
        ACC=arrays.accumulator(x)[0],
    )  # fmt: skip


def gradient(args: Any, outs: Any, grads: Any, wanted: Any) -> tuple:
    _, cos, sin, interleaved, back = args
    if wanted[1] or wanted[2]:
        raise RuntimeError("rotary: cos and sin have no gradient here")
    return _rotary(grads[0], cos, sin, interleaved, not back)


_rotary = arrays.Op(
    "rotary(Tensor x, Tensor cos, Tensor sin, bool interleaved, bool back) -> Tensor",
    lambda x, *_: (arrays.empty(x, x.shape),),
    run,
    gradient,
)


def rotary(x: Any, cos: Any, sin: Any, interleaved: bool = False) -> Any:
    """Turns the pair (a, b) to (a cos - b sin, b cos + a sin).

    Shapes: x [..., T, D] with an even D; cos and sin [T, D / 2]. Pairs are an element of
            the first half of a row and one of the second, or neighbours if interleaved.
    Types:  f16, bf16, f32, f64, the same for all.
    """
    arrays.check_arrays("rotary", x=x, cos=cos, sin=sin)
    wanted = (x.shape[-2], x.shape[-1] // 2) if x.ndim > 1 else ()
    if not wanted or x.shape[-1] % 2 or not wanted[1]:
        raise ValueError(f"rotary: x has shape {list(x.shape)}, expected [.., T, even]")
    for name, a in (("cos", cos), ("sin", sin)):
        if tuple(a.shape) != tuple(wanted):
            raise ValueError(
                f"rotary: {name} has shape {list(a.shape)}, expected {list(wanted)}"
            )
    return _rotary(x, cos, sin, bool(interleaved), False)[0]
