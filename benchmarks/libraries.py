"""Kernels that move memory, as libraries and torch.compile write them; configurations.py
measures them: vLLM, AWQ, Mamba, Liger, xformers, Inductor, LoRA servers, optimisers."""

from __future__ import annotations

import tegula.language as tl


def add_norm_quantise(x_ptr, r_ptr, w_ptr, q_ptr, s_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=mask, other=0.0).to(tl.float32)
    x += tl.load(r_ptr + row * n + cols, mask=mask, other=0.0).to(tl.float32)
    tl.store(r_ptr + row * n + cols, x.to(r_ptr.dtype.element_ty), mask=mask)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    y = x * tl.rsqrt(tl.sum(x * x, axis=0) / n + eps) * w
    scale = tl.maximum(tl.max(tl.abs(y), axis=0), 1e-10) / 448.0
    tl.store(s_ptr + row, scale)
    tl.store(q_ptr + row * n + cols, (y / scale).to(q_ptr.dtype.element_ty), mask=mask)


def dequantise(
    q_ptr,
    s_ptr,
    z_ptr,
    y_ptr,
    K,
    N,
    GROUP: tl.constexpr,
    M: tl.constexpr,
    W: tl.constexpr,
):
    k = tl.program_id(0) * M + tl.arange(0, M)
    c = tl.program_id(1) * W + tl.arange(0, W)
    n = tl.program_id(1) * W * 8 + tl.arange(0, W * 8)
    q = tl.load(q_ptr + k[:, None] * (N // 8) + c[None, :])
    q = tl.interleave(q, q)
    q = tl.interleave(q, q)
    q = tl.interleave(q, q)
    shift = tl.arange(0, W * 8) % 8 * 4
    q = (q >> shift[None, :]) & 15
    group = k // GROUP
    z = tl.load(z_ptr + group[:, None] * (N // 8) + c[None, :])
    z = tl.interleave(z, z)
    z = tl.interleave(z, z)
    z = tl.interleave(z, z)
    z = (z >> shift[None, :]) & 15
    s = tl.load(s_ptr + group[:, None] * N + n[None, :])
    tl.store(y_ptr + k[:, None] * N + n[None, :], (q - z).to(tl.float16) * s)


def middle_softmax(x_ptr, y_ptr, C, D, N: tl.constexpr, R: tl.constexpr):
    d = tl.program_id(0) * N + tl.arange(0, N)[None, :]
    base = tl.program_id(1) * C * D
    top = tl.full((R, N), -float("inf"), tl.float32)
    total = tl.zeros((R, N), tl.float32)
    for start in range(0, C, R):
        c = start + tl.arange(0, R)[:, None]
        v = tl.load(
            x_ptr + base + c * D + d, mask=(c < C) & (d < D), other=-float("inf")
        ).to(tl.float32)
        new = tl.maximum(top, v)
        total = total * tl.exp(top - new) + tl.exp(v - new)
        top = new
    peak = tl.max(top, 0)[None, :]
    total = tl.sum(total * tl.exp(top - peak), 0)[None, :]
    for start in range(0, C, R):
        c = start + tl.arange(0, R)[:, None]
        v = tl.load(
            x_ptr + base + c * D + d, mask=(c < C) & (d < D), other=-float("inf")
        ).to(tl.float32)
        tl.store(
            y_ptr + base + c * D + d, tl.exp(v - peak) / total, mask=(c < C) & (d < D)
        )


def sort_rows(x_ptr, y_ptr, n, M: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * M + tl.arange(0, M)
    at = i[:, None] * n + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, tl.sort(x, 1))


def selective_scan(
    u_ptr,
    dt_ptr,
    a_ptr,
    b_ptr,
    c_ptr,
    y_ptr,
    T,
    D,
    BLOCK: tl.constexpr,
    N: tl.constexpr,
):
    d = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.arange(0, N)
    batch = tl.program_id(1).to(tl.int64)
    a = tl.load(a_ptr + d[:, None] * N + n[None, :])
    h = tl.zeros((BLOCK, N), tl.float32)
    for t in range(T):
        at = (batch * T + t) * D + d
        u = tl.load(u_ptr + at).to(tl.float32)
        dt = tl.load(dt_ptr + at).to(tl.float32)
        b = tl.load(b_ptr + (batch * T + t) * N + n)
        c = tl.load(c_ptr + (batch * T + t) * N + n)
        h = tl.exp(dt[:, None] * a) * h + (dt * u)[:, None] * b[None, :]
        tl.store(y_ptr + at, tl.sum(h * c[None, :], 1).to(y_ptr.dtype.element_ty))


def divergence(x_ptr, y_ptr, loss_ptr, dx_ptr, n, beta, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        mask = i < n
        x = tl.load(x_ptr + row * n + i, mask=mask, other=-float("inf")).to(tl.float32)
        y = tl.load(y_ptr + row * n + i, mask=mask, other=-float("inf")).to(tl.float32)
        q = tl.exp(x)
        p = tl.exp(y)
        m = beta * p + (1 - beta) * q
        log_m = tl.log(m)
        loss = beta * p * (y - log_m) + (1 - beta) * q * (x - log_m)
        tl.store(loss_ptr + row * n + i, loss.to(loss_ptr.dtype.element_ty), mask=mask)
        dx = (1 - beta) * q * (x - log_m)
        tl.store(dx_ptr + row * n + i, dx.to(dx_ptr.dtype.element_ty), mask=mask)


def im2col(x_ptr, y_ptr, C, H, W, M: tl.constexpr, N: tl.constexpr):
    k = tl.program_id(0) * M + tl.arange(0, M)
    p = tl.program_id(1) * N + tl.arange(0, N)
    batch = tl.program_id(2)
    c = k // 9
    h = (p // W)[None, :] + (k % 9 // 3 - 1)[:, None]
    w = (p % W)[None, :] + (k % 3 - 1)[:, None]
    inside = (c < C)[:, None] & (p < H * W)[None, :]
    mask = inside & (h >= 0) & (h < H) & (w >= 0) & (w < W)
    v = tl.load(
        x_ptr + (batch * C + c[:, None]) * H * W + h * W + w, mask=mask, other=0.0
    )
    tl.store(y_ptr + (batch * C * 9 + k)[:, None] * H * W + p[None, :], v, mask=inside)


def upsample(x_ptr, y_ptr, n, H, W, X: tl.constexpr):
    i = tl.program_id(0) * X + tl.arange(0, X)
    ow = i % (2 * W)
    oh = i // (2 * W) % (2 * H)
    plane = i // (4 * H * W)
    fh = tl.maximum((oh.to(tl.float32) + 0.5) * 0.5 - 0.5, 0.0)
    fw = tl.maximum((ow.to(tl.float32) + 0.5) * 0.5 - 0.5, 0.0)
    h0 = fh.to(tl.int32)
    w0 = fw.to(tl.int32)
    h1 = tl.minimum(h0 + 1, H - 1)
    w1 = tl.minimum(w0 + 1, W - 1)
    base = plane * H * W
    mask = i < n
    a = tl.load(x_ptr + base + h0 * W + w0, mask=mask).to(tl.float32)
    b = tl.load(x_ptr + base + h0 * W + w1, mask=mask).to(tl.float32)
    c = tl.load(x_ptr + base + h1 * W + w0, mask=mask).to(tl.float32)
    d = tl.load(x_ptr + base + h1 * W + w1, mask=mask).to(tl.float32)
    lw = fw - w0.to(tl.float32)
    lh = fh - h0.to(tl.float32)
    top = a + (b - a) * lw
    low = c + (d - c) * lw
    tl.store(y_ptr + i, top + (low - top) * lh, mask=mask)


def top_experts(
    x_ptr, w_ptr, id_ptr, rows, M: tl.constexpr, E: tl.constexpr, K: tl.constexpr
):
    i = tl.program_id(0) * M + tl.arange(0, M)
    e = tl.arange(0, E)
    x = tl.load(
        x_ptr + i[:, None] * E + e[None, :],
        mask=(i < rows)[:, None],
        other=-float("inf"),
    ).to(tl.float32)
    x = tl.exp(x - tl.max(x, 1)[:, None])
    x = x / tl.sum(x, 1)[:, None]
    for k in tl.static_range(K):
        best, at = tl.max(x, 1, return_indices=True)
        tl.store(w_ptr + i * K + k, best, mask=i < rows)
        tl.store(id_ptr + i * K + k, at, mask=i < rows)
        x = tl.where(e[None, :] == at[:, None], -1.0, x)


def combine(x_ptr, at_ptr, w_ptr, y_ptr, n, K, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    d = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for k in range(K):
        at = tl.load(at_ptr + token * K + k).to(tl.int64)
        w = tl.load(w_ptr + token * K + k)
        acc += w * tl.load(x_ptr + at * n + d, mask=d < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + token * n + d, acc.to(y_ptr.dtype.element_ty), mask=d < n)


def rotary_pairs(
    x_ptr, cos_ptr, sin_ptr, y_ptr, T, heads, M: tl.constexpr, HALF: tl.constexpr
):
    t = tl.program_id(0) * M + tl.arange(0, M)
    head = tl.program_id(1)
    d = tl.arange(0, HALF)
    mask = (t < T)[:, None] & (d < HALF)[None, :]
    at = (t[:, None] * heads + head) * (2 * HALF) + 2 * d[None, :]
    a = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(x_ptr + at + 1, mask=mask, other=0.0).to(tl.float32)
    c = tl.load(cos_ptr + t[:, None] * HALF + d[None, :], mask=mask, other=0.0)
    s = tl.load(sin_ptr + t[:, None] * HALF + d[None, :], mask=mask, other=0.0)
    tl.store(y_ptr + at, (a * c - b * s).to(y_ptr.dtype.element_ty), mask=mask)
    tl.store(y_ptr + at + 1, (b * c + a * s).to(y_ptr.dtype.element_ty), mask=mask)


def inner_sum(x_ptr, y_ptr, n, rows, X: tl.constexpr, R: tl.constexpr):
    x_i = tl.program_id(0) * X + tl.arange(0, X)[:, None]
    base = tl.arange(0, R)[None, :]
    acc = tl.full([X, R], 0, tl.float32)
    for start in range(0, rows, R):
        r = start + base
        mask = (r < rows) & (x_i < n)
        v = tl.load(
            x_ptr + x_i + n * r, mask=mask, eviction_policy="evict_first", other=0.0
        ).to(tl.float32)
        acc = tl.where(mask, acc + v, acc)
    tl.store(y_ptr + x_i, tl.sum(acc, 1)[:, None], mask=x_i < n)


def lamb_norms(
    p_ptr, g_ptr, m_ptr, v_ptr, u_ptr, norm_ptr, n, b1, b2, eps, wd, BLOCK: tl.constexpr
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    p = tl.load(p_ptr + i, mask=mask, other=0.0)
    g = tl.load(g_ptr + i, mask=mask, other=0.0)
    m = tl.load(m_ptr + i, mask=mask, other=0.0) * b1 + (1 - b1) * g
    v = tl.load(v_ptr + i, mask=mask, other=0.0) * b2 + (1 - b2) * g * g
    u = m / (tl.sqrt(v) + eps) + wd * p
    tl.store(m_ptr + i, m, mask=mask)
    tl.store(v_ptr + i, v, mask=mask)
    tl.store(u_ptr + i, u, mask=mask)
    tl.atomic_add(norm_ptr, tl.sum(p * p, 0))
    tl.atomic_add(norm_ptr + 1, tl.sum(tl.where(mask, u * u, 0.0), 0))


def batch_norm_stats(x_ptr, mean_ptr, var_ptr, N, C, HW, BLOCK: tl.constexpr):
    c = tl.program_id(0)
    mean = 0.0
    m2 = 0.0
    count = 0.0
    for n in range(N):
        for start in range(0, HW, BLOCK):
            i = start + tl.arange(0, BLOCK)
            mask = i < HW
            x = tl.load(x_ptr + (n * C + c) * HW + i, mask=mask, other=0.0).to(
                tl.float32
            )
            k = tl.minimum(HW - start, BLOCK).to(tl.float32)
            here = tl.sum(x, 0) / k
            d = tl.where(mask, x - here, 0.0)
            delta = here - mean
            m2 += tl.sum(d * d, 0) + delta * delta * count * k / (count + k)
            mean += delta * k / (count + k)
            count += k
    tl.store(mean_ptr + c, mean)
    tl.store(var_ptr + c, m2 / count)


def top_p(x_ptr, y_ptr, n, p, BLOCK: tl.constexpr, STEPS: tl.constexpr):
    """Probabilities of the smallest set whose sum is p, by bisection of a threshold."""
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + i, mask=i < n, other=0.0)
    low = 0.0
    high = tl.max(x, 0)
    for _ in range(STEPS):
        mid = (low + high) * 0.5
        over = tl.sum(tl.where(x >= mid, x, 0.0), 0)
        low = tl.where(over >= p, mid, low)
        high = tl.where(over >= p, high, mid)
    kept = tl.where(x >= low, x, 0.0)
    tl.store(y_ptr + row * n + i, kept / tl.sum(kept, 0), mask=i < n)


def bgmv_expand(x_ptr, w_ptr, id_ptr, y_ptr, R, N, K: tl.constexpr, BN: tl.constexpr):
    """LoRA's second product by vector: rank K, a token a program."""
    t = tl.program_id(1)
    lora = tl.load(id_ptr + t)
    if lora == -1:
        return
    k = tl.arange(0, K)
    x = tl.load(x_ptr + t * K + k, mask=k < R, other=0.0).to(tl.float32)
    split = tl.cdiv(N, tl.num_programs(0))
    first = tl.program_id(0) * split
    for s in range(0, split, BN):
        c = s + tl.arange(0, BN)
        mask = (c < split) & (first + c < N)
        w = tl.load(
            w_ptr + lora * N * K + (first + c)[:, None] * K + k[None, :],
            mask=mask[:, None],
            other=0.0,
        ).to(tl.float32)
        y = tl.load(y_ptr + t * N + first + c, mask=mask, other=0.0)
        y += tl.sum(x[None, :] * w, 1)
        tl.store(y_ptr + t * N + first + c, y, mask=mask)


def one_hot(ids_ptr, y_ptr, rows, n, M: tl.constexpr, N: tl.constexpr):
    r = tl.program_id(0) * M + tl.arange(0, M)
    c = tl.program_id(1) * N + tl.arange(0, N)
    at = tl.load(ids_ptr + r, mask=r < rows, other=-1)
    y = (at[:, None] == c[None, :]).to(y_ptr.dtype.element_ty)
    mask = (r < rows)[:, None] & (c < n)[None, :]
    tl.store(y_ptr + r[:, None] * n + c[None, :], y, mask=mask)


def norm_groups_f8(
    x_ptr, w_ptr, y_ptr, s_ptr, n, eps, BLOCK: tl.constexpr, G: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + row * n + i, mask=mask, other=0.0).to(tl.float32)
    r = tl.rsqrt(tl.sum(x * x, 0) / n + eps)
    y = x * r * tl.load(w_ptr + i, mask=mask, other=0.0).to(tl.float32)
    y = tl.reshape(y, (BLOCK // G, G))
    s = tl.maximum(tl.max(tl.abs(y), 1), 1e-10) / 448.0
    q = tl.reshape(y / s[:, None], (BLOCK,))
    tl.store(y_ptr + row * n + i, q.to(y_ptr.dtype.element_ty), mask=mask)
    g = tl.arange(0, BLOCK // G)
    tl.store(s_ptr + row * (n // G) + g, s, mask=g < n // G)


def stencil_2d(x_ptr, y_ptr, H, W, k, M: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * M + tl.arange(0, M)[:, None]
    j = tl.program_id(1) * N + tl.arange(0, N)[None, :]
    inside = (i > 0) & (i < H - 1) & (j > 0) & (j < W - 1)
    at = i * W + j
    mask = (i < H) & (j < W)
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    up = tl.load(x_ptr + at - W, mask=inside, other=0.0)
    down = tl.load(x_ptr + at + W, mask=inside, other=0.0)
    left = tl.load(x_ptr + at - 1, mask=inside, other=0.0)
    right = tl.load(x_ptr + at + 1, mask=inside, other=0.0)
    y = tl.where(inside, x + k * (up + down + left + right - 4 * x), x)
    tl.store(y_ptr + at, y, mask=mask)


def sliding_variance(x_ptr, y_ptr, n, BLOCK: tl.constexpr, WINDOW: tl.constexpr):
    row = tl.program_id(1)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    squares = tl.zeros((BLOCK,), tl.float32)
    for k in tl.static_range(WINDOW):
        x = tl.load(x_ptr + row * n + i - k, mask=(i >= k) & (i < n), other=0.0)
        total += x
        squares += x * x
    mean = total / WINDOW
    tl.store(y_ptr + row * n + i, squares / WINDOW - mean * mean, mask=i < n)
