# case: {"params": [{"name": "x0", "role": "in", "dtype": "int64", "whole": true, "n": 8192}, {"name": "x1", "role": "in", "dtype": "float32", "whole": true, "n": 8192}, {"name": "x2", "role": "in", "dtype": "float32", "whole": false, "n": 8192}, {"name": "x3", "role": "in", "dtype": "int32", "whole": false, "n": 8192}, {"name": "oi", "role": "out", "dtype": "int64", "whole": true, "n": 30}, {"name": "of", "role": "out", "dtype": "float64", "whole": false, "n": 464}], "n": 0, "big": 8589934592, "scale": 0.5, "seed": 0, "grid": 1, "rows": 1, "streams": false, "targets": ["cpu", "emu:sm_80"], "options": {"C": 1, "num_warps": 4}, "emu_seed": 0}
import tegula
import tegula.language as tl


@tegula.jit
def kernel(x0, x1, x2, x3, oi, of, n, big, scale, C: tl.constexpr):
    i = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    v1 = tl.load(x0 + tl.arange(0, 32)).to(tl.int32)
    v3 = tl.load(x0 + i).to(tl.float16)
    for _ in range(3):
        v3 = (tl.load(x0 + i) & 15).to(tl.float16) + (
            tl.load(x0 + tl.arange(0, 16)) & 15
        ).to(tl.float16)[:, None]
        for _ in range(n):
            v1 = tl.full([32], -9, tl.int32)
    tl.store(oi + tl.arange(0, 32), v1.to(tl.int64), mask=tl.arange(0, 32) < 30)
    tl.store(of + 16 + i, v3.to(tl.float64))
