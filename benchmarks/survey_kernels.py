"""The kernels of survey.py: products and attention in the forms that libraries give them.

Plain functions, so that the same text goes through Tegula and Triton. Arrays are dense and
run along their last side unless a line says otherwise.
"""

import tegula.language as tl


# --- attention ----------------------------------------------------------------------------
def varlen_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, starts_ptr, scale, H,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Causal, tokens x heads x D, sequences one after another: (rows, heads, sequences)."""
    block, h, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    first = tl.load(starts_ptr + z)
    n = tl.load(starts_ptr + z + 1) - first
    if block * BM >= n:
        return
    m = block * BM + tl.arange(0, BM)
    d, c = tl.arange(0, D), tl.arange(0, BN)
    rows = (first + m[:, None]) * H * D + h * D + d[None, :]
    q = tl.load(q_ptr + rows, mask=m[:, None] < n, other=0.0)
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for j in range(0, tl.minimum(n, (block + 1) * BM), BN):
        at = j + c
        k_ptrs = k_ptr + (first + at[None, :]) * H * D + h * D + d[:, None]
        s = tl.dot(q, tl.load(k_ptrs, mask=at[None, :] < n, other=0.0)) * scale
        s = tl.where(m[:, None] >= at[None, :], s, -float("inf"))
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        shrink = tl.exp2(top - new)
        total = total * shrink + tl.sum(p, 1)
        v_ptrs = v_ptr + (first + at[:, None]) * H * D + h * D + d[None, :]
        v = tl.load(v_ptrs, mask=at[:, None] < n, other=0.0)
        acc = acc * shrink[:, None] + tl.dot(p.to(v.dtype), v)
        top = new
    out = (acc / total[:, None]).to(tl.bfloat16)
    tl.store(o_ptr + rows, out, mask=m[:, None] < n)


def window_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, scale, cap, T, window, GROUP: tl.constexpr,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """A window of keys, scores capped by tanh, GROUP heads to a head of keys."""
    block, h = tl.program_id(0), tl.program_id(1)
    m = block * BM + tl.arange(0, BM)
    d, c = tl.arange(0, D), tl.arange(0, BN)
    q = tl.load(q_ptr + h * T * D + m[:, None] * D + d[None, :])
    k_ptr += h // GROUP * T * D
    v_ptr += h // GROUP * T * D
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for j in range(tl.maximum(0, block * BM - window) // BN * BN, (block + 1) * BM, BN):
        at = j + c
        s = tl.dot(q, tl.load(k_ptr + at[None, :] * D + d[:, None])) * scale
        s = cap * (2 / (1 + tl.exp(-2 * s / cap)) - 1)
        seen = (m[:, None] >= at[None, :]) & (m[:, None] - window < at[None, :])
        s = tl.where(seen, s, -1.0e6)
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(p, 1)
        v = tl.load(v_ptr + at[:, None] * D + d[None, :])
        acc = acc * shrink[:, None] + tl.dot(p.to(v.dtype), v)
        top = new
    out = (acc / total[:, None]).to(tl.bfloat16)
    tl.store(o_ptr + h * T * D + m[:, None] * D + d[None, :], out)


def paged_kernel(
    q_ptr, k_ptr, v_ptr, table_ptr, lengths_ptr, o_ptr, lse_ptr, scale, n_pages,
    H: tl.constexpr, D: tl.constexpr, PAGE: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    """One token, H heads on one head of keys, a page a step: (sequences, parts of them)."""
    z, part = tl.program_id(0), tl.program_id(1)
    n = tl.load(lengths_ptr + z)
    each = tl.cdiv(tl.cdiv(n, SPLIT), PAGE) * PAGE
    last = tl.minimum(n, (part + 1) * each)
    h, d, c = tl.arange(0, H), tl.arange(0, D), tl.arange(0, PAGE)
    q = tl.load(q_ptr + z * H * D + h[:, None] * D + d[None, :])
    top = tl.full((H,), -float("inf"), tl.float32)
    total = tl.zeros((H,), tl.float32)
    acc = tl.zeros((H, D), tl.float32)
    for j in range(part * each, last, PAGE):
        page = tl.load(table_ptr + z * n_pages + j // PAGE).to(tl.int64) * PAGE * D
        s = tl.dot(q, tl.load(k_ptr + page + c[None, :] * D + d[:, None])) * scale
        s = tl.where(j + c[None, :] < last, s, -float("inf"))
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        shrink = tl.exp2(top - new)
        total = total * shrink + tl.sum(p, 1)
        v = tl.load(v_ptr + page + c[:, None] * D + d[None, :])
        acc = acc * shrink[:, None] + tl.dot(p.to(v.dtype), v)
        top = new
    at = (z * SPLIT + part) * H
    tl.store(o_ptr + (at + h[:, None]) * D + d[None, :], acc / total[:, None])
    tl.store(lse_ptr + at + h, top + tl.log2(total))


def latent_kernel(
    q_ptr, keys_ptr, o_ptr, lse_ptr, scale, T, H: tl.constexpr, D: tl.constexpr,
    R: tl.constexpr, BN: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    """DeepSeek's latent decoding: keys have D + R columns, the first D are the values."""
    z, part = tl.program_id(0), tl.program_id(1)
    h, c = tl.arange(0, H), tl.arange(0, BN)
    d, r = tl.arange(0, D), D + tl.arange(0, R)
    rows = q_ptr + (z * H + h[:, None]) * (D + R)
    q, q_turned = tl.load(rows + d[None, :]), tl.load(rows + r[None, :])
    top = tl.full((H,), -float("inf"), tl.float32)
    total = tl.zeros((H,), tl.float32)
    acc = tl.zeros((H, D), tl.float32)
    each = tl.cdiv(T, SPLIT)
    for j in range(part * each, tl.minimum(T, (part + 1) * each), BN):
        at = j + c[None, :]
        columns = keys_ptr + (z * T + at) * (D + R)
        k = tl.load(columns + d[:, None], mask=at < T, other=0.0)
        s = tl.dot(q, k)
        s += tl.dot(q_turned, tl.load(columns + r[:, None], mask=at < T, other=0.0))
        s = tl.where(at < T, s * scale, -float("inf"))
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        shrink = tl.exp2(top - new)
        total = total * shrink + tl.sum(p, 1)
        acc = acc * shrink[:, None] + tl.dot(p.to(k.dtype), tl.trans(k))
        top = new
    at = (z * SPLIT + part) * H
    tl.store(o_ptr + (at + h[:, None]) * D + d[None, :], acc / total[:, None])
    tl.store(lse_ptr + at + h, top + tl.log2(total))


def keys_and_values_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, dk_ptr, dv_ptr, lse_ptr, delta_ptr, scale, T,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Attention's gradients of keys and values; scores are powers of two."""
    head = tl.program_id(1)
    n, d = tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, D)
    mine = head * T * D + n[:, None] * D + d[None, :]
    k, v = tl.load(k_ptr + mine), tl.load(v_ptr + mine)
    dk = tl.zeros((BN, D), tl.float32)
    dv = tl.zeros((BN, D), tl.float32)
    for t in range(0, T, BM):
        m = t + tl.arange(0, BM)
        q_t = tl.load(q_ptr + head * T * D + m[None, :] * D + d[:, None])
        do = tl.load(do_ptr + head * T * D + m[:, None] * D + d[None, :])
        p = tl.exp2(tl.dot(k, q_t) - tl.load(lse_ptr + head * T + m)[None, :])
        dv += tl.dot(p.to(tl.bfloat16), do)
        dp = tl.dot(v, tl.trans(do))
        ds = p * (dp - tl.load(delta_ptr + head * T + m)[None, :])
        dk += tl.dot(ds.to(tl.bfloat16), tl.trans(q_t))
    tl.store(dk_ptr + mine, (dk * scale).to(tl.bfloat16))
    tl.store(dv_ptr + mine, dv.to(tl.bfloat16))


def queries_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, dq_ptr, lse_ptr, delta_ptr, scale, T,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Attention's gradient of queries."""
    head = tl.program_id(1)
    m, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    mine = head * T * D + m[:, None] * D + d[None, :]
    q, do = tl.load(q_ptr + mine), tl.load(do_ptr + mine)
    lse = tl.load(lse_ptr + head * T + m)
    delta = tl.load(delta_ptr + head * T + m)
    dq = tl.zeros((BM, D), tl.float32)
    for t in range(0, T, BN):
        at = head * T * D + (t + tl.arange(0, BN))[None, :] * D + d[:, None]
        k_t, v_t = tl.load(k_ptr + at), tl.load(v_ptr + at)
        p = tl.exp2(tl.dot(q, k_t) - lse[:, None])
        ds = p * (tl.dot(do, v_t) - delta[:, None])
        dq += tl.dot(ds.to(tl.bfloat16), tl.trans(k_t))
    tl.store(dq_ptr + mine, (dq * scale).to(tl.bfloat16))


# --- states that are carried --------------------------------------------------------------
def linear_attention_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, T,
    DK: tl.constexpr, DV: tl.constexpr, BV: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Chunks of C rows, a state of DK x BV from one to the next."""
    head = tl.program_id(1)
    c, d = tl.arange(0, C), tl.arange(0, DK)
    e = tl.program_id(0) * BV + tl.arange(0, BV)
    state = tl.zeros((DK, BV), tl.float32)
    for t in range(0, T, C):
        r = head * T + t + c
        q = tl.load(q_ptr + r[:, None] * DK + d[None, :])
        k_t = tl.load(k_ptr + r[None, :] * DK + d[:, None])
        v = tl.load(v_ptr + r[:, None] * DV + e[None, :])
        s = tl.where(c[:, None] >= c[None, :], tl.dot(q, k_t), 0.0)
        out = tl.dot(s.to(q.dtype), v) + tl.dot(q, state.to(q.dtype))
        state += tl.dot(k_t, v)
        tl.store(o_ptr + r[:, None] * DV + e[None, :], out.to(tl.bfloat16))


def gated_output_kernel(
    q_ptr, k_ptr, v_ptr, states_ptr, gates_ptr, o_ptr, scale, T, DK: tl.constexpr,
    DV: tl.constexpr, C: tl.constexpr, BK: tl.constexpr, BV: tl.constexpr,
):  # fmt: skip
    """A chunk's output of its state and of its own rows, each shrunk by its gate."""
    chunk, head = tl.program_id(1), tl.program_id(2)
    r = tl.arange(0, C)
    t = head * T + chunk * C + r
    e = tl.program_id(0) * BV + tl.arange(0, BV)
    states_ptr += (head * (T // C) + chunk) * DK * DV
    out = tl.zeros((C, BV), tl.float32)
    s = tl.zeros((C, C), tl.float32)
    for k0 in range(0, DK, BK):
        d = k0 + tl.arange(0, BK)
        q = tl.load(q_ptr + t[:, None] * DK + d[None, :])
        out += tl.dot(q, tl.load(states_ptr + d[:, None] * DV + e[None, :]))
        s += tl.dot(q, tl.load(k_ptr + t[None, :] * DK + d[:, None]))
    gate = tl.load(gates_ptr + t)
    s = tl.where(
        r[:, None] >= r[None, :], s * tl.exp(gate[:, None] - gate[None, :]), 0.0
    )
    v = tl.load(v_ptr + t[:, None] * DV + e[None, :])
    out = (out * tl.exp(gate)[:, None] + tl.dot(s.to(v.dtype), v)) * scale
    tl.store(o_ptr + t[:, None] * DV + e[None, :], out.to(tl.bfloat16))


def delta_rule_kernel(
    k_ptr, v_ptr, w_ptr, gates_ptr, states_ptr, new_ptr, T,
    DK: tl.constexpr, DV: tl.constexpr, C: tl.constexpr, BV: tl.constexpr,
):  # fmt: skip
    """The gated delta rule: v - w @ state is what a chunk adds to the state."""
    head = tl.program_id(1)
    d = tl.arange(0, DK)
    e = tl.program_id(0) * BV + tl.arange(0, BV)
    state = tl.zeros((DK, BV), tl.float32)
    for chunk in range(T // C):
        first = head * T + chunk * C
        t = first + tl.arange(0, C)
        at = (head * (T // C) + chunk) * DK + d[:, None]
        tl.store(states_ptr + at * DV + e[None, :], state.to(tl.bfloat16))
        w = tl.load(w_ptr + t[:, None] * DK + d[None, :])
        v = tl.load(v_ptr + t[:, None] * DV + e[None, :])
        v = v - tl.dot(w, state.to(w.dtype))
        tl.store(new_ptr + t[:, None] * DV + e[None, :], v.to(tl.bfloat16))
        last = tl.load(gates_ptr + first + C - 1)
        v *= tl.exp(last - tl.load(gates_ptr + t))[:, None]
        k_t = tl.load(k_ptr + t[None, :] * DK + d[:, None])
        state = state * tl.exp(last) + tl.dot(k_t, v.to(k_t.dtype))


# --- products of small numbers ------------------------------------------------------------
def scaled_blocks_kernel(
    a_ptr, b_ptr, c_ptr, a_scale_ptr, b_scale_ptr, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """A @ B.T in float8; a scale for BK of a row of A, and for 128 x BK of B."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_ptrs = a_ptr + m[:, None] * K + k[None, :]
    b_ptrs = b_ptr + n[None, :] * K + k[:, None]
    a_scale_ptrs = a_scale_ptr + m * (K // BK)
    b_scale_ptrs = b_scale_ptr + n // 128 * (K // BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(K // BK):
        s, t = tl.load(a_scale_ptrs), tl.load(b_scale_ptrs)
        acc += tl.dot(tl.load(a_ptrs), tl.load(b_ptrs)) * s[:, None] * t[None, :]
        a_ptrs += BK
        b_ptrs += BK
        a_scale_ptrs += 1
        b_scale_ptrs += 1
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc.to(tl.bfloat16))


def scaled_bytes_kernel(
    a_ptr, b_ptr, c_ptr, a_scale_ptr, b_scale_ptr, bias_ptr, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """A @ B.T of int8, a scale for each row of both, and a bias."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.int32)
    for k0 in range(0, K, BK):
        a_ptrs = a_ptr + m[:, None] * K + k0 + k[None, :]
        b_ptrs = b_ptr + n[None, :] * K + k0 + k[:, None]
        a = tl.load(a_ptrs, mask=m[:, None] < M, other=0)
        b = tl.load(b_ptrs, mask=n[None, :] < N, other=0)
        acc = tl.dot(a, b, acc, out_dtype=tl.int32)
    s = tl.load(a_scale_ptr + m, mask=m < M, other=0.0)
    t = tl.load(b_scale_ptr + n, mask=n < N, other=0.0)
    out = acc.to(tl.float32) * s[:, None] * t[None, :]
    out += tl.load(bias_ptr + n, mask=n < N, other=0.0)[None, :]
    mask = (m[:, None] < M) & (n[None, :] < N)
    tl.store(c_ptr + m[:, None] * N + n[None, :], out.to(tl.bfloat16), mask=mask)


# --- products whose rows or tiles are somebody's choice -----------------------------------
def experts_kernel(
    a_ptr, b_ptr, c_ptr, tokens_ptr, experts_ptr, N, K, T, GROUP: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Rows of A by a list, two of it to a row, BM of one expert; B is experts x N x K."""
    n_m, n_n = tl.cdiv(T, BM), tl.cdiv(N, BN)
    pid = tl.program_id(0)
    first = pid // (GROUP * n_n) * GROUP
    rows = tl.minimum(n_m - first, GROUP)
    block = first + pid % (GROUP * n_n) % rows
    column = pid % (GROUP * n_n) // rows * BN
    token = tl.load(tokens_ptr + block * BM + tl.arange(0, BM)).to(tl.int64)
    n = (column + tl.arange(0, BN)).to(tl.int64) % N
    k = tl.arange(0, BK)
    a_ptrs = a_ptr + token[:, None] // 2 * K + k[None, :]
    b_ptrs = b_ptr + tl.load(experts_ptr + block).to(tl.int64) * N * K
    b_ptrs += k[:, None] + n[None, :] * K
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(tl.cdiv(K, BK)):
        is_in = k < K - i * BK
        a = tl.load(a_ptrs, mask=(token[:, None] < T) & is_in[None, :], other=0.0)
        acc += tl.dot(a, tl.load(b_ptrs, mask=is_in[:, None], other=0.0))
        a_ptrs += BK
        b_ptrs += BK
    n = column + tl.arange(0, BN)
    mask = (token[:, None] < T) & (n[None, :] < N)
    tl.store(c_ptr + token[:, None] * N + n[None, :], acc.to(tl.bfloat16), mask=mask)


def grouped_rows_kernel(
    groups_ptr, blocks_ptr, starts_ptr, a_ptr, b_ptr, c_ptr, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Groups of rows one after another; a program's group and block are in two lists."""
    group = tl.load(groups_ptr + tl.program_id(0))
    block = tl.load(blocks_ptr + tl.program_id(0))
    last = tl.load(starts_ptr + group + 1)
    m = tl.load(starts_ptr + group) + block * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_ptrs = a_ptr + m[:, None] * K + k[None, :]
    b_ptrs = b_ptr + group.to(tl.int64) * N * K + n[None, :] * K + k[:, None]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(tl.cdiv(K, BK)):
        a = tl.load(a_ptrs, mask=m[:, None] < last, other=0.0)
        acc += tl.dot(a, tl.load(b_ptrs))
        a_ptrs += BK
        b_ptrs += BK
    c_ptrs = c_ptr + m[:, None] * N + n[None, :]
    tl.store(c_ptrs, acc.to(tl.bfloat16), mask=m[:, None] < last)


def sparse_kernel(
    a_ptr, b_ptr, c_ptr, blocks_ptr, counts_ptr, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """For each row of blocks of A a list of those that are not zero."""
    row = tl.program_id(0)
    m = row * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(tl.load(counts_ptr + row)):
        at = tl.load(blocks_ptr + row * (K // BK) + i) * BK + k
        a = tl.load(a_ptr + m[:, None] * K + at[None, :])
        acc += tl.dot(a, tl.load(b_ptr + at[:, None] * N + n[None, :]))
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc.to(tl.bfloat16))


def in_turn_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, programs,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """As many programs as the chip has multiprocessors, tiles in turn, all masked."""
    n_n = tl.cdiv(N, BN)
    for tile in range(tl.program_id(0), tl.cdiv(M, BM) * n_n, programs):
        m = tile // n_n * BM + tl.arange(0, BM)
        n = tile % n_n * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), tl.float32)
        for i in range(tl.cdiv(K, BK)):
            k = i * BK + tl.arange(0, BK)
            a_mask = (m[:, None] < M) & (k[None, :] < K)
            b_mask = (k[:, None] < K) & (n[None, :] < N)
            a = tl.load(a_ptr + m[:, None] * K + k[None, :], mask=a_mask, other=0.0)
            b = tl.load(b_ptr + k[:, None] * N + n[None, :], mask=b_mask, other=0.0)
            acc = tl.dot(a, b, acc)
        mask = (m[:, None] < M) & (n[None, :] < N)
        tl.store(c_ptr + m[:, None] * N + n[None, :], acc.to(tl.bfloat16), mask=mask)


def mirrored_kernel(
    x_ptr, y_ptr, M, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    """X @ X.T: tiles on and above the diagonal, each stored twice."""
    if tl.program_id(0) * BM > tl.program_id(1) * BN + BN - 1:
        return
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_ptrs = x_ptr + (m % M)[:, None] * K + k[None, :]
    b_ptrs = x_ptr + (n % M)[:, None] * K + k[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(tl.cdiv(K, BK)):
        mask = k[None, :] < K - i * BK
        a = tl.load(a_ptrs, mask=mask, other=0.0)
        b = tl.load(b_ptrs, mask=mask, other=0.0)
        acc = tl.dot(a, tl.permute(b, (1, 0)), acc)
        a_ptrs += BK
        b_ptrs += BK
    out = acc.to(tl.bfloat16)
    mask = (m[:, None] < M) & (n[None, :] < M)
    tl.store(y_ptr + m[:, None] * M + n[None, :], out, mask=mask)
    mask = (n[:, None] < M) & (m[None, :] < M)
    y_ptrs = y_ptr + n[:, None] * M + m[None, :]
    tl.store(y_ptrs, tl.permute(out, (1, 0)), mask=mask)


def convolution_kernel(
    x_ptr, w_ptr, y_ptr, height, width, C, K, R: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Images x height x width x C by R x R x C x K, a border of zeros of R // 2."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    c = tl.arange(0, BK)
    image, i, j = m // (height * width), m // width % height, m % width
    acc = tl.zeros((BM, BN), tl.float32)
    for r in range(R * R):
        y, x = i + r // R - R // 2, j + r % R - R // 2
        is_in = (y >= 0) & (y < height) & (x >= 0) & (x < width)
        at = ((image * height + y) * width + x) * C
        for c0 in range(0, C, BK):
            x_ptrs = x_ptr + at[:, None] + (c0 + c)[None, :]
            a = tl.load(x_ptrs, mask=is_in[:, None], other=0.0)
            b = tl.load(w_ptr + (r * C + c0 + c)[:, None] * K + n[None, :])
            acc = tl.dot(a, b, acc)
    tl.store(y_ptr + m[:, None] * K + n[None, :], acc.to(tl.bfloat16))


# --- products one after another, batched, and in other types ------------------------------
def low_rank_kernel(
    x_ptr, a_ptr, b_ptr, y_ptr, N, K, R: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """(X @ A) @ B with R columns between."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k, r = tl.arange(0, BK), tl.arange(0, R)
    t = tl.zeros((BM, R), tl.float32)
    for k0 in range(0, K, BK):
        x = tl.load(x_ptr + m[:, None] * K + k0 + k[None, :])
        t += tl.dot(x, tl.load(a_ptr + (k0 + k)[:, None] * R + r[None, :]))
    out = tl.dot(t.to(tl.bfloat16), tl.load(b_ptr + r[:, None] * N + n[None, :]))
    tl.store(y_ptr + m[:, None] * N + n[None, :], out.to(tl.bfloat16))


def adapter_kernel(
    x_ptr, a_ptr, b_ptr, base_ptr, y_ptr, N, K, R: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """base + (X @ A) @ B, all columns by the program that has the rows."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    k, r = tl.arange(0, BK), tl.arange(0, R)
    t = tl.zeros((BM, R), tl.float32)
    for k0 in range(0, K, BK):
        x = tl.load(x_ptr + m[:, None] * K + (k0 + k)[None, :])
        t = tl.dot(x, tl.load(a_ptr + (k0 + k)[:, None] * R + r[None, :]), t)
    for n0 in range(0, N, BN):
        n = n0 + tl.arange(0, BN)
        at = m[:, None] * N + n[None, :]
        out = tl.dot(t.to(tl.bfloat16), tl.load(b_ptr + r[:, None] * N + n[None, :]))
        out += tl.load(base_ptr + at).to(tl.float32)
        tl.store(y_ptr + at, out.to(tl.bfloat16))


def two_layers_kernel(
    x_ptr, w1_ptr, w2_ptr, y_ptr, F,
    K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """gelu(X @ W1) @ W2 with rows of X that fit, BN hidden columns a step."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    k, f = tl.arange(0, K), tl.arange(0, BN)
    x = tl.load(x_ptr + m[:, None] * K + k[None, :])
    acc = tl.zeros((BM, K), tl.float32)
    for f0 in range(0, F, BN):
        h = tl.dot(x, tl.load(w1_ptr + k[:, None] * F + f0 + f[None, :]))
        h *= 1 / (1 + tl.exp(-1.702 * h))
        w2 = tl.load(w2_ptr + (f0 + f)[:, None] * K + k[None, :])
        acc += tl.dot(h.to(tl.bfloat16), w2)
    tl.store(y_ptr + m[:, None] * K + k[None, :], acc.to(tl.bfloat16))


def log_sum_kernel(
    x_ptr, w_ptr, out_ptr, V, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """log sum exp of the rows of X @ W.T, which is kept nowhere."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    k = tl.arange(0, BK)
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    for v0 in range(0, V, BN):
        n = v0 + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), tl.float32)
        for k0 in range(0, K, BK):
            x = tl.load(x_ptr + m[:, None] * K + (k0 + k)[None, :])
            w_t = tl.load(w_ptr + n[None, :] * K + (k0 + k)[:, None])
            acc = tl.dot(x, w_t, acc)
        new = tl.maximum(top, tl.max(acc, 1))
        total = total * tl.exp(top - new) + tl.sum(tl.exp(acc - new[:, None]), 1)
        top = new
    tl.store(out_ptr + m, top + tl.log(total))


def three_sides_kernel(
    a_ptr, b_ptr, c_ptr, K: tl.constexpr, B: tl.constexpr, M: tl.constexpr,
    N: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """B small products a program: a dot of blocks with three sides."""
    i = tl.program_id(0) * B + tl.arange(0, B)[:, None, None]
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    acc = tl.zeros((B, M, N), tl.float32)
    for k0 in range(0, K, BK):
        a = tl.load(a_ptr + (i * M + m[None, :, None]) * K + k0 + k[None, None, :])
        b = tl.load(b_ptr + (i * K + k0 + k[None, :, None]) * N + n[None, None, :])
        acc = tl.dot(a, b, acc)
    c_ptrs = c_ptr + (i * M + m[None, :, None]) * N + n[None, None, :]
    tl.store(c_ptrs, acc.to(tl.bfloat16))


def precision_kernel(
    a_ptr, b_ptr, c_ptr, N, K, PRECISION: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """float32 by tf32, by three products of tf32, and as IEEE has it."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        a = tl.load(a_ptr + m[:, None] * K + k0 + k[None, :])
        b = tl.load(b_ptr + (k0 + k)[:, None] * N + n[None, :])
        acc = tl.dot(a, b, acc, input_precision=PRECISION)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


def half_sums_kernel(
    a_ptr, b_ptr, c_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    """float16, summed in float16."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float16)
    for k0 in range(0, K, BK):
        a = tl.load(a_ptr + m[:, None] * K + k0 + k[None, :])
        b = tl.load(b_ptr + (k0 + k)[:, None] * N + n[None, :])
        acc = tl.dot(a, b, acc, out_dtype=tl.float16)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


def inverse_kernel(a_ptr, o_ptr, N: tl.constexpr, TURNS: tl.constexpr):
    """Of 1 + the lower triangle of A: the product of 1 + (-A)^(2^i)."""
    r = tl.arange(0, N)
    at = tl.program_id(0) * N * N + r[:, None] * N + r[None, :]
    x = tl.where(r[:, None] > r[None, :], -tl.load(a_ptr + at), 0.0)
    one = tl.where(r[:, None] == r[None, :], 1.0, 0.0)
    out = one + x
    for _ in tl.static_range(TURNS):
        x = tl.dot(x, x, input_precision="tf32")
        out = tl.dot(out, one + x, input_precision="tf32")
    tl.store(o_ptr + at, out)
