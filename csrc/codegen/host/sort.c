/* sort: the first elements of each row in order, by a bitonic network whose steps stay in registers.
 *
 * A step of the network compares elements whose places differ in one bit. Where the bit is one of the register's
 * number, that is a minimum and a maximum of two registers; where it is one of the lane, registers exchange it first
 * for a bit that is wanted later (2 registers, 4 lanes, and the bits of a place):
 *
 *     place  0 1 2 3        0 1 4 5
 *            4 5 6 7   ->   2 3 6 7        lane bit 1 and the register's bit have changed places
 *
 * So nothing is turned as a whole, and 256 elements of 4 bytes in 16 registers of AVX-512 take 36 steps of 16
 * instructions and some 20 exchanges of as many. Where rows are short, other rows' places are bits, too.
 *
 *     more than such a chunk   chunks are sorted, each other one the other way round; then runs of two, four ..
 *                              chunks are merged: steps of bits above the chunk's over memory, then chunks again
 *     the first k of a row     runs of k are sorted, and of two neighbours the better half is kept and merged
 *
 * 1. Whatever row was there is in order in the end, so before a sort the bits of a place may have any names: those of
 *    registers are called the lowest ones, which steps want most.
 * 2. Elements that go the other way round are inverted (~x), where no register's bit says which way its pair goes.
 * 3. The code is as long for any row beyond a chunk. Only the first k's is by levels of chunks.
 */
#include "codegen/host/host.h"

enum {
    REGISTERS =
        16, /* at most: AVX-512 has 32, and others 16, of which half hold what is sorted */
    PLACE_BITS = 10, /* of a place: 16 registers of 64 lanes */
    UNIFORM = -1
};

typedef struct Step {
    int id;       /* of the bit that tells the pair apart */
    int by;       /* of the bit that says which way round a pair goes, or UNIFORM */
    bool is_half; /* the better one of the pair is kept, and the bit is gone */
} Step;

typedef struct Net {
    Host *h;
    Lt word; /* an element in memory, an integer */
    bool is_signed, goes_down;
    int bytes, most_lanes, most_registers; /* of an element; logarithms */
    Step step[PLACE_BITS * (PLACE_BITS + 3)];
    int n_steps;
    /* of one chunk: */
    Lv x[REGISTERS];
    int id
        [PLACE_BITS]; /* of the bits of a place: those of the lane, then those of the register's number */
    int n_lane_bits, n_bits;
    unsigned
        flipped; /* elements with an odd number of these bits (1 << id) are inverted */
} Net;

/* ---- one chunk in registers ------------------------------------------------------------------- */

static int
where_is(const Net *n, int id)
{
    int p = 0;
    while (p < n->n_bits && n->id[p] != id)
        p++;
    return p;
}

static Lv
shuffled(Net *n, Lv a, Lv b, const int *pick)
{
    Lv at[64];
    int lanes = 1 << n->n_lane_bits;
    for (int i = 0; i < lanes; i++)
        at[i] = ll_i32(n->h->l, pick[i]);
    return LLVMBuildShuffleVector(n->h->l->b, a, b,
                                  LLVMConstVector(at, (unsigned)lanes), "");
}

/* Lane bit p and bit q of the register's number change places. */
static void
exchange_bits(Net *n, int p, int q)
{
    int lanes = 1 << n->n_lane_bits, low[64], high[64];
    for (int i = 0; i < lanes; i++) {
        bool is_set = i >> p & 1;
        low[i] = is_set ? lanes + (i ^ 1 << p) : i;
        high[i] = is_set ? lanes + i : i ^ 1 << p;
    }
    for (int i = 0; i < 1 << (n->n_bits - n->n_lane_bits); i++) {
        if (i >> q & 1)
            continue;
        Lv a = n->x[i], b = n->x[i | 1 << q];
        n->x[i] = shuffled(n, a, b, low);
        n->x[i | 1 << q] = shuffled(n, a, b, high);
    }
    int id = n->id[p];
    n->id[p] = n->id[n->n_lane_bits + q];
    n->id[n->n_lane_bits + q] = id;
}

/* Registers of half as many lanes: the highest lane bit becomes the lowest one of the register's number. */
static void
narrow(Net *n)
{
    Ll *l = n->h->l;
    int lanes = 1 << n->n_lane_bits, count = 1 << (n->n_bits - n->n_lane_bits);
    for (int i = count - 1; i >= 0; i--)
        for (int k = 1; k >= 0; k--)
            n->x[2 * i + k] =
                lanes == 2
                    ? LLVMBuildExtractElement(l->b, n->x[i], ll_i32(l, k), "")
                    : ll_some_lanes(l, n->x[i], NULL, k * lanes / 2, 1, lanes / 2);
    n->n_lane_bits--;
}

/* The register's bit that is wanted last from step `at` on, other than `by`, if there is another one. */
static int
idlest(const Net *n, int at, int by)
{
    int best = -1, best_wait = -1;
    for (int q = 0; q < n->n_bits - n->n_lane_bits; q++) {
        int id = n->id[n->n_lane_bits + q], wait = at;
        while (wait < n->n_steps && n->step[wait].id != id)
            wait++;
        if (id == by)
            wait = 0;
        if (wait > best_wait)
            best = q, best_wait = wait;
    }
    return best;
}

/* Makes the bit one of the register's number, and says which. */
static int
bring(Net *n, int id, int at, int by)
{
    int p = where_is(n, id);
    if (n->n_bits == n->n_lane_bits)
        narrow(n);
    if (p < n->n_lane_bits) {
        exchange_bits(n, p, idlest(n, at, by));
        p = where_is(n, id);
    }
    return p - n->n_lane_bits;
}

/* Inverts elements until those of `want` are the inverted ones. */
static void
flip(Net *n, unsigned want)
{
    Ll *l = n->h->l;
    unsigned change = n->flipped ^ want;
    n->flipped = want;
    int lanes = 1 << n->n_lane_bits;
    for (int i = 0; change && i < 1 << (n->n_bits - n->n_lane_bits); i++) {
        Lv ones[64];
        bool is_any = false;
        for (int k = 0; k < lanes; k++) {
            bool is_odd = false;
            for (int p = 0; p < n->n_bits; p++)
                is_odd ^= (change >> n->id[p] & 1) &&
                          ((i << n->n_lane_bits | k) >> p & 1);
            ones[k] = LLVMConstInt(n->word, is_odd ? UINT64_MAX : 0, true);
            is_any |= is_odd;
        }
        Lv mask = lanes > 1 ? LLVMConstVector(ones, (unsigned)lanes) : ones[0];
        if (is_any)
            n->x[i] = LLVMBuildXor(l->b, n->x[i], mask, "");
    }
}

static Lv
extreme(Net *n, bool is_max, Lv a, Lv b)
{
    const char *name = n->is_signed ? (is_max ? "llvm.smax" : "llvm.smin")
                                    : (is_max ? "llvm.umax" : "llvm.umin");
    Lt t = LLVMTypeOf(a);
    return ll_intrinsic(n->h->l, name, &t, 1, (Lv[]){a, b}, 2);
}

/* Of registers that differ in bit q the better ones stay. */
static void
halve(Net *n, int q)
{
    int count = 1 << (n->n_bits - n->n_lane_bits), to = 0;
    for (int i = 0; i < count; i++)
        if (!(i >> q & 1))
            n->x[to++] = extreme(n, n->goes_down, n->x[i], n->x[i | 1 << q]);
    n->n_bits--;
    for (int p = n->n_lane_bits + q; p < n->n_bits; p++)
        n->id[p] = n->id[p + 1];
}

static void
compare(Net *n, int q, int way)
{
    for (int i = 0; i < 1 << (n->n_bits - n->n_lane_bits); i++) {
        if (i >> q & 1)
            continue;
        bool is_down = n->goes_down ^ (way >= 0 && (i >> way & 1));
        Lv a = n->x[i], b = n->x[i | 1 << q];
        n->x[i] = extreme(n, is_down, a, b);
        n->x[i | 1 << q] = extreme(n, !is_down, a, b);
    }
}

/* x, inverted where the bit (i64, 0 or 1; NULL: it is not) is set. */
static Lv
turned_by(Net *n, Lv x, Lv bit)
{
    Ll *l = n->h->l;
    if (!bit)
        return x;
    Lv mask = LLVMBuildTrunc(l->b, LLVMBuildNeg(l->b, bit, ""), n->word, "");
    return LLVMBuildXor(l->b, x, ll_splat(l, mask, ll_lanes(x)), "");
}

static void
turn_all(Net *n, Lv bit)
{
    for (int i = 0; i < 1 << (n->n_bits - n->n_lane_bits); i++)
        n->x[i] = turned_by(n, n->x[i], bit);
}

/* turn: a bit that says whether the chunk is to go the other way round. What is better does not change by that, so
 * elements are inverted for the steps behind the last half alone. */
static void
run_steps(Net *n, Lv turn)
{
    int from = n->n_steps;
    while (from && !n->step[from - 1].is_half)
        from--;
    for (int i = 0; i < n->n_steps; i++) {
        if (i == from)
            turn_all(n, turn);
        const Step *s = &n->step[i];
        int q = bring(n, s->id, i + 1, s->by);
        int way = s->by == UNIFORM ? -1 : where_is(n, s->by) - n->n_lane_bits;
        flip(n, s->by != UNIFORM && way < 0 ? 1u << s->by : 0);
        if (s->is_half)
            halve(n, q);
        else
            compare(n, q, way);
    }
    flip(n, 0);
    if (from < n->n_steps)
        turn_all(n, turn);
}

/* The bits in the order of their names: how many are lower than that of position p. */
static int
rank_of(const Net *n, int p)
{
    int rank = 0;
    for (int i = 0; i < n->n_bits; i++)
        rank += n->id[i] < n->id[p];
    return rank;
}

/* The lane's bits are the lowest ones, in their order. */
static void
settle(Net *n)
{
    int bits = n->n_lane_bits, lanes = 1 << bits, pick[64] = {0};
    for (int p = 0; p < bits; p++)
        for (int q = 0; rank_of(n, p) >= bits; q++)
            if (rank_of(n, bits + q) < bits)
                exchange_bits(n, p, q);
    int ids[PLACE_BITS];
    bool is_same = true;
    for (int p = 0; p < bits; p++) {
        int rank = rank_of(n, p);
        ids[rank] = n->id[p];
        is_same &= rank == p;
        for (int i = 0; i < lanes; i++)
            pick[i] |= (i >> rank & 1) << p;
    }
    if (is_same)
        return;
    for (int i = 0; i < 1 << (n->n_bits - bits); i++)
        n->x[i] = shuffled(n, n->x[i], n->x[i], pick);
    memcpy(n->id, ids, (size_t)bits * sizeof *ids);
}

/* ---- chunks in memory ---------------------------------------------------------------------------- */

static Lv
place(Net *n, Lv base, Lv at, int64_t more)
{
    Ll *l = n->h->l;
    at = LLVMBuildAdd(l->b, at, ll_i64(l, more), "");
    return LLVMBuildGEP2(l->b, n->word, base, &at, 1, "");
}

static Lv
read_lanes(Net *n, Lv base, Lv at, int64_t more, int lanes)
{
    Lv x = LLVMBuildLoad2(n->h->l->b, ll_vec(n->word, lanes), place(n, base, at, more),
                          "");
    LLVMSetAlignment(x, (unsigned)(MAX(lanes, 1) * n->bytes));
    return x;
}

static void
write_lanes(Net *n, Lv base, Lv at, int64_t more, Lv x)
{
    Lv s = LLVMBuildStore(n->h->l->b, x, place(n, base, at, more));
    LLVMSetAlignment(s, (unsigned)(MAX(ll_lanes(x), 1) * n->bytes));
}

static void
add_step(Net *n, int id, int by, bool is_half)
{
    n->step[n->n_steps++] = (Step){id, by, is_half};
}

/* Steps that sort runs of 2^k of the 2^m places that a chunk has of a row, and keep the first run of them. */
static void
plan(Net *n, int k, int m, bool has_runs)
{
    n->n_steps = 0;
    for (int s = 0; s < k && !has_runs; s++)
        for (int b = s; b >= 0; b--)
            add_step(n, b, s + 1 < m ? s + 1 : UNIFORM, false);
    for (int u = k; u < m; u++) {
        add_step(n, u, UNIFORM, true);
        for (int b = k - 1; b >= 0; b--)
            add_step(n, b, u + 1 < m ? u + 1 : UNIFORM, false);
    }
}

/* Runs the steps on 2^bits elements at i of `from`, and writes what is left of them. free: of the lowest bits of a
 * place so many may have any names. */
static void
do_chunk(Net *n, int bits, int free, Lv from, Lv i, Lv to, Lv j, Lv turn)
{
    n->n_bits = bits;
    n->n_lane_bits = MIN(n->most_lanes, MAX(bits - 3, bits / 2));
    if (bits - n->n_lane_bits > n->most_registers)
        n->n_lane_bits = bits - n->most_registers;
    n->flipped = 0;
    int l = n->n_lane_bits, lanes = 1 << l, spare = MAX(0, free - l);
    for (int p = 0; p < bits; p++)
        n->id[p] = p >= free ? p : p < l ? p + spare : p - l;
    for (int r = 0; r < 1 << (bits - l); r++)
        n->x[r] = read_lanes(n, from, i, (int64_t)r << l, lanes);
    run_steps(n, turn);
    settle(n);
    l = n->n_lane_bits;
    for (int r = 0; r < 1 << (n->n_bits - l); r++) {
        int64_t at = 0;
        for (int p = l; p < n->n_bits; p++)
            at |= (int64_t)(r >> (p - l) & 1) << rank_of(n, p);
        write_lanes(n, to, j, at, n->x[r]);
    }
}

/* Bit number b (i64) of i, as 0 or 1; 0 beyond the m bits of a row. */
static Lv
bit_of(Net *n, Lv i, Lv b, int m)
{
    Ll *l = n->h->l;
    Lv row = LLVMBuildAnd(l->b, i, ll_i64(l, ((int64_t)1 << m) - 1), "");
    return LLVMBuildAnd(l->b, LLVMBuildLShr(l->b, row, b, ""), ll_i64(l, 1), "");
}

/* The step of bit number b (i64), which is none of a register's, over all of `at`. */
static void
step_over_memory(Net *n, Lv at, int64_t count, Lv b, Lv by, int m)
{
    Ll *l = n->h->l;
    int lanes = 1 << n->most_lanes;
    Loop p;
    host_loop_open(n->h, &p, count / 2, lanes);
    Lv one = ll_i64(l, 1), side = LLVMBuildShl(l->b, one, b, "");
    Lv low = LLVMBuildAnd(l->b, p.index, LLVMBuildSub(l->b, side, one, ""), "");
    Lv i = LLVMBuildAdd(l->b, LLVMBuildSub(l->b, p.index, low, ""), p.index, "");
    Lv j = LLVMBuildAdd(l->b, i, side, ""), turn = bit_of(n, i, by, m);
    Lv x = turned_by(n, read_lanes(n, at, i, 0, lanes), turn);
    Lv y = turned_by(n, read_lanes(n, at, j, 0, lanes), turn);
    write_lanes(n, at, i, 0, turned_by(n, extreme(n, n->goes_down, x, y), turn));
    write_lanes(n, at, j, 0, turned_by(n, extreme(n, !n->goes_down, x, y), turn));
    host_loop_close(n->h, &p);
}

/* Rows of 2^m, of which chunks of 2^c are sorted, become sorted rows. */
static void
merge_chunks(Net *n, Lv at, int64_t count, int m, int c)
{
    Ll *l = n->h->l;
    Loop stage, step, p;
    n->n_steps = 0;
    for (int b = c - 1; b >= 0; b--)
        add_step(n, b, UNIFORM, false);
    host_loop_open(n->h, &stage, m - c, 1);
    Lv s = LLVMBuildAdd(l->b, stage.index, ll_i64(l, c), "");
    Lv by = LLVMBuildAdd(l->b, s, ll_i64(l, 1), "");
    host_loop_open_to(n->h, &step, LLVMBuildAdd(l->b, stage.index, ll_i64(l, 1), ""));
    step_over_memory(n, at, count, LLVMBuildSub(l->b, s, step.index, ""), by, m);
    host_loop_close(n->h, &step);
    host_loop_open(n->h, &p, count, (int64_t)1 << c);
    do_chunk(n, c, 0, at, p.index, at, p.index, bit_of(n, p.index, by, m));
    host_loop_close(n->h, &p);
    host_loop_close(n->h, &stage);
}

/* One level: rows of 2^m at `from`, sorted or (has_runs) of sorted runs of 2^k, by chunks of 2^c; the first 2^k of what a
 * chunk has of each row follow each other at `to`. */
static void
do_level(Net *n, Lv from, Lv to, int64_t count, int m, int k, int c, bool has_runs)
{
    Ll *l = n->h->l;
    Loop p;
    plan(n, MIN(k, c), MIN(m, c), has_runs);
    host_loop_open(n->h, &p, count, (int64_t)1 << c);
    Lv turn = m > c ? bit_of(n, p.index, ll_i64(l, c), m) : NULL;
    int less = MIN(m, c) - MIN(k, c);
    Lv j = LLVMBuildLShr(l->b, p.index, ll_i64(l, less), "");
    do_chunk(n, c, has_runs ? 0 : MIN(m, c), from, p.index, to, j, turn);
    host_loop_close(n->h, &p);
}

void
host_sort(Host *h, const Op *o)
{
    Ll *l = h->l;
    const Val *a = arg(o, 0), *r = result(o, 0);
    const Type *t = a->type;
    int64_t count = ty_numel(t);
    int bytes = ty_bytes(t), last = t->rank - 1;
    int m = log2_of(t->shape[last]), k = log2_of(r->type->shape[last]);
    Net n = {.h = h,
             .word = LLVMIntTypeInContext(l->cx, (unsigned)bytes * 8),
             .is_signed = elem_is_signed(t->elem),
             .goes_down = ir_attr(o, ATTR_REVERSE) != 0,
             .bytes = bytes,
             .most_lanes = log2_of(h->vec_bytes / bytes),
             .most_registers = h->vec_bytes == 64 ? 4 : 3};
    int most = n.most_lanes + n.most_registers, all = log2_of(count);
    int c = MIN(most, all);
    Lv from = host_address(h, t, &state(h, a)->view, NULL);
    Lv to = host_address(h, r->type, &state(h, r)->view, NULL), work = to;
    if (k < m && m > c) {
        View w = host_view(t, host_buf(h, count * bytes, host_pos(h, o)));
        work = host_address(h, t, &w, NULL);
    }
    if (k == m || k >= c) {
        do_level(&n, from, work, count, m, m, c, false);
        if (m > c)
            merge_chunks(&n, work, count, m, c);
        if (work == to)
            return;
        Loop p;
        host_loop_open(h, &p, count >> m, 1);
        Lv i = LLVMBuildShl(l->b, p.index, ll_i64(l, m), ""),
           j = LLVMBuildShl(l->b, p.index, ll_i64(l, k), "");
        LLVMBuildMemCpy(l->b, place(&n, to, j, 0), (unsigned)bytes,
                        place(&n, work, i, 0), (unsigned)bytes,
                        ll_i64(l, (int64_t)bytes << k));
        host_loop_close(h, &p);
        return;
    }
    for (bool has_runs = false;; has_runs = true) {
        c = MIN(most, log2_of(count));
        bool is_last = m <= c;
        do_level(&n, from, is_last ? to : work, count, m, k, c, has_runs);
        if (is_last)
            return;
        count >>= c - k;
        m -= c - k;
        from = work;
    }
}
