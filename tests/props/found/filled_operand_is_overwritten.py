# case: {"params": [{"name": "x0", "role": "in", "dtype": "int64", "whole": true, "n": 8192}, {"name": "x1", "role": "in", "dtype": "float32", "whole": true, "n": 8192}, {"name": "x2", "role": "in", "dtype": "float32", "whole": false, "n": 8192}, {"name": "x3", "role": "in", "dtype": "uint16", "whole": true, "n": 8192}, {"name": "w_float16", "role": "work", "dtype": "float16", "whole": true, "n": 32}, {"name": "m_bfloat16", "role": "in", "dtype": "bfloat16", "whole": true, "n": 12288}, {"name": "c_add_float64", "role": "out", "dtype": "float64", "whole": true, "n": 64}, {"name": "oi", "role": "out", "dtype": "int64", "whole": true, "n": 162}, {"name": "oa", "role": "near", "dtype": "float64", "whole": false, "n": 2272}, {"name": "of", "role": "out", "dtype": "float64", "whole": true, "n": 2128}, {"name": "o_float16", "role": "out", "dtype": "float16", "whole": true, "n": 512}, {"name": "o_int16", "role": "out", "dtype": "int16", "whole": true, "n": 32}, {"name": "o_uint64", "role": "out", "dtype": "uint64", "whole": false, "n": 1024}, {"name": "o_int1", "role": "out", "dtype": "int1", "whole": false, "n": 2}], "n": 3, "big": 1099511627792, "scale": 0.5, "seed": 182, "grid": 1, "rows": 1, "streams": false, "targets": ["cpu", "emu:sm_80"], "options": {"C": 5, "num_warps": 4}, "emu_seed": 0}
import tegula
import tegula.language as tl
from tegula.language.extra import libdevice


@tegula.jit
def kernel(
    x0,
    x1,
    x2,
    x3,
    w_float16,
    m_bfloat16,
    c_add_float64,
    oi,
    oa,
    of,
    o_float16,
    o_int16,
    o_uint64,
    o_int1,
    n,
    big,
    scale,
    C: tl.constexpr,
):
    m_bfloat16 = m_bfloat16.to(tl.pointer_type(tl.bfloat16))
    a19 = m_bfloat16 + tl.arange(0, 64)[:, None] * 48 + tl.arange(0, 16)[None, :]
    b20 = m_bfloat16 + tl.arange(0, 16)[None, :] * 64 + tl.arange(0, 16)[:, None]
    v22 = tl.zeros([64, 16], tl.float32)
    for t23 in tl.range(0, 4, num_stages=3):
        x24 = tl.load(a19, mask=tl.arange(0, 64)[:, None] < t23 * 7 + n, other=1.0)
        y25 = tl.load(b20)
        v22 = tl.dot(x24, y25, v22)
        a19 += 16
        b20 += 16
    v28 = (
        tl.load(
            x2 + (tl.arange(0, 32)[:, None] * 16 + tl.arange(0, 16)[None, :]) * 3 + 42,
            mask=tl.full([32, 16], False, tl.int1),
            other=2.0,
        ).to(tl.uint64)
        // ((tl.load(x0 + 0 * 3, mask=0 < 0).to(tl.uint64) & 7) + 1)
    ).to(tl.uint64)
    v29 = (
        tl.xor_sum(
            tl.make_tensor_descriptor(x3, [17, 64], [64, 1], [1, 16])
            .load([n, n])
            .to(tl.int1)
            .to(tl.int32),
            axis=1,
        )
        > 0
    )
    tl.store(
        oa + 96 + (tl.arange(0, 64)[:, None] * 16 + tl.arange(0, 16)[None, :]),
        tl.sigmoid(v22 * 0.5).to(tl.float64),
    )
    tl.store(
        o_uint64 + 0 + (tl.arange(0, 32)[:, None] * 16 + tl.arange(0, 16)[None, :]),
        v28,
        mask=tl.arange(0, 32)[:, None] * 16 + tl.arange(0, 16)[None, :] < n,
    )
    tl.store(o_int1 + 0 + tl.arange(0, 1), v29)
