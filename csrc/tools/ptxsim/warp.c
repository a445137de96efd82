/* warp: what lanes do together: shuffles, votes, matrices, barriers.
 *
 * The lanes that a mask names must all be here at the same time (.sync waits for them, and
 * whoever has taken another path will not come): that is checked first.
 */
#include "ptx/lanes.h"
#include "tools/ptxsim/ptxsim.h"
#include "tools/ptxsim/tensor.h"

#include <cuda.h>
#include <math.h>

/* members: operand k as every lane of m gives it; all of them must be in m. */
static void
check_members(Warp *w, const Ins *i, uint32_t m, const Reg *mask)
{
    uint64_t members[LANES];
    lanes_get(&w->lanes, *mask, members);
    for (int l = 0; l < LANES; l++) {
        if (!(m >> l & 1))
            continue;
        uint32_t want = (uint32_t)members[l];
        if (!(want >> l & 1))
            sim_fault(w, i, l, CUDA_ERROR_LAUNCH_FAILED,
                      "the lane is not in its own mask %#x", want);
        if (want & w->alive & ~m)
            sim_fault(w, i, l, CUDA_ERROR_LAUNCH_FAILED,
                      "lanes %#x of the mask %#x are elsewhere: the warp has diverged",
                      want & w->alive & ~m, want);
    }
}

/* ---- shuffles -------------------------------------------------------------------- */

enum { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };
static const char *const shfl_words[] = {"up", "down", "bfly", "idx", NULL};

static void
shfl(Lanes *lanes, const Ins *i, uint32_t m)
{
    Warp *w = warp_of(lanes);
    uint64_t b[LANES], c[LANES], p[LANES];
    uint32_t a[LANES], *d = LANE(uint32_t, &w->lanes, i->d), undef = 0;
    check_members(w, i, m, &i->in[3]);
    memcpy(a, LANE(uint32_t, &w->lanes, i->a), sizeof a);
    lanes_get(&w->lanes, i->in[1], b);
    lanes_get(&w->lanes, i->in[2], c);
    uint32_t ua = w->lanes.undef[i->in[0].id],
             uo = w->lanes.undef[i->in[1].id] | w->lanes.undef[i->in[2].id];
    for (int l = 0; l < LANES; l++) {
        int by = b[l] & 31, clamp = c[l] & 31, seg = c[l] >> 8 & 31, from;
        int most = (l & seg) | (clamp & ~seg), least = l & seg;
        bool is_in;
        switch (i->op) {
        case SHFL_UP: from = l - by, is_in = from >= most; break;
        case SHFL_DOWN: from = l + by, is_in = from <= most; break;
        case SHFL_BFLY: from = l ^ by, is_in = from <= most; break;
        default: from = least | (by & ~seg), is_in = from <= most;
        }
        from = is_in ? from : l;
        p[l] = is_in;
        if (!(m >> l & 1))
            continue;
        d[l] = a[from];
        undef |= ((ua >> from | ~(m >> from)) & 1) << l;
    }
    undef |= uo & m;
    w->lanes.undef[i->out[0].id] = (w->lanes.undef[i->out[0].id] & ~m) | undef;
    if (i->n_out > 1) {
        lanes_put(&w->lanes, i->out[1], m, p);
        w->lanes.undef[i->out[1].id] = (w->lanes.undef[i->out[1].id] & ~m) | (uo & m);
    }
}

static void
dec_shfl(Dec *d)
{
    if (!dec_has(d, "sync"))
        dec_fail(d, ".sync is missing");
    int op = dec_one(d, shfl_words);
    if (op < 0 || dec_type(d) != T_B32 || d->n_opds != 5)
        dec_fail(d, "no such form");
    dec_out(d, 0, 4);
    if (d->opd[0].second)
        dec_out_opd(d, &(Opd){.kind = OPD_NAME, .name = d->opd[0].second}, 1);
    for (int k = 1; k < 5; k++)
        dec_in(d, k, 4);
    dec_places(d);
    d->ins->op = (uint8_t)op;
    d->ins->tracks = true;
    d->ins->meets = true;
    d->ins->run = shfl;
}

/* ---- votes ----------------------------------------------------------------------- */

enum { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };
static const char *const vote_words[] = {"all", "any", "uni", "ballot", NULL};

static uint32_t
truths(const Warp *w, const Ins *i, const Reg *p, uint32_t m)
{
    uint64_t v[LANES];
    uint32_t bits = 0;
    lanes_get(&w->lanes, *p, v);
    for (int l = 0; l < LANES; l++)
        bits |= (uint32_t)(v[l] & 1) << l;
    return (i->flags ? ~bits : bits) & m;
}

static void
same_everywhere(Warp *w, const Ins *i, uint32_t m, uint64_t x)
{
    uint64_t v[LANES];
    for (int l = 0; l < LANES; l++)
        v[l] = x;
    lanes_put(&w->lanes, i->out[0], m, v);
}

/* One undefined lane makes the result of all undefined. */
static void
spread_undef(Warp *w, const Ins *i, uint32_t m)
{
    uint32_t u = 0;
    for (int k = 0; k < i->n_in; k++)
        u |= w->lanes.undef[i->in[k].id] & m;
    for (int k = 0; k < i->n_out; k++) {
        uint32_t *d = &w->lanes.undef[i->out[k].id];
        *d = u ? *d | m : *d & ~m;
    }
}

static void
vote(Lanes *lanes, const Ins *i, uint32_t m)
{
    Warp *w = warp_of(lanes);
    check_members(w, i, m, &i->in[1]);
    uint32_t bits = truths(w, i, &i->in[0], m);
    spread_undef(w, i, m);
    same_everywhere(w, i, m,
                    i->op == VOTE_BALLOT ? bits
                    : i->op == VOTE_ALL  ? bits == m
                    : i->op == VOTE_ANY  ? bits != 0
                                         : bits == m || bits == 0);
}

static void
dec_vote(Dec *d)
{
    if (!dec_has(d, "sync"))
        dec_fail(d, ".sync is missing");
    int op = dec_one(d, vote_words);
    Type t = dec_type(d);
    if (op < 0 || t != (op == VOTE_BALLOT ? T_B32 : T_PRED))
        dec_fail(d, "no such form");
    dec_out(d, 0, op == VOTE_BALLOT ? 4 : 1);
    d->ins->flags = d->opd[1].is_not;
    d->opd[1].is_not = false;
    dec_in(d, 1, 1);
    dec_in(d, 2, 4);
    d->ins->op = (uint8_t)op;
    d->ins->tracks = true;
    d->ins->meets = true;
    d->ins->run = vote;
}

static void
active(Lanes *lanes, const Ins *i, uint32_t m)
{
    Warp *w = warp_of(lanes);
    same_everywhere(w, i, m, m);
}

static void
dec_activemask(Dec *d)
{
    if (dec_type(d) != T_B32)
        dec_fail(d, "no such form");
    dec_out(d, 0, 4);
    d->ins->run = active;
}

static void
match(Lanes *lanes, const Ins *i, uint32_t m)
{
    Warp *w = warp_of(lanes);
    uint64_t a[LANES], out[LANES] = {0}, p[LANES];
    check_members(w, i, m, &i->in[1]);
    lanes_get(&w->lanes, i->in[0], a);
    bool all = true;
    uint64_t first = a[__builtin_ctz(m)];
    for (int l = 0; l < LANES; l++) {
        for (int k = 0; k < LANES; k++)
            out[l] |= (uint64_t)(m >> k & 1 && a[k] == a[l]) << k;
        all &= !(m >> l & 1) || a[l] == first;
    }
    for (int l = 0; l < LANES && i->op; l++)
        out[l] = all ? m : 0, p[l] = all;
    spread_undef(w, i, m);
    lanes_put(&w->lanes, i->out[0], m, out);
    if (i->n_out > 1)
        lanes_put(&w->lanes, i->out[1], m, p);
}

static void
dec_match(Dec *d)
{
    static const char *const words[] = {"any", "all", NULL};
    int op = dec_has(d, "sync") ? dec_one(d, words) : -1;
    Type t = dec_type(d);
    if (op < 0 || (t != T_B32 && t != T_B64))
        dec_fail(d, "no such form");
    dec_out(d, 0, 4);
    if (d->opd[0].second)
        dec_out_opd(d, &(Opd){.kind = OPD_NAME, .name = d->opd[0].second}, 1);
    dec_in(d, 1, type_info[t].bytes);
    dec_in(d, 2, 4);
    d->ins->op = (uint8_t)op;
    d->ins->tracks = true;
    d->ins->meets = true;
    d->ins->run = match;
}

/* ---- redux ----------------------------------------------------------------------- */

enum { REDUX_ADD, REDUX_MIN, REDUX_MAX, REDUX_AND, REDUX_OR, REDUX_XOR };
static const char *const redux_words[] = {"add", "min", "max", "and",
                                          "or",  "xor", NULL};
enum { REDUX_ABS = 1, REDUX_NAN = 2 };

static uint32_t
redux_float(const Ins *i, const uint64_t a[LANES], uint32_t m)
{
    float best = NAN;
    bool nan = false;
    for (int l = 0; l < LANES; l++) {
        if (!(m >> l & 1))
            continue;
        uint32_t bits = (uint32_t)a[l];
        float x;
        memcpy(&x, &bits, sizeof x);
        x = i->flags & REDUX_ABS ? fabsf(x) : x;
        nan |= x != x;
        bool less = x < best || (x == best && signbit(x) && !signbit(best));
        if (x == x && (best != best || less == (i->op == REDUX_MIN)))
            best = x;
    }
    uint32_t r;
    memcpy(&r, &best, sizeof r);
    return best != best || (nan && i->flags & REDUX_NAN) ? 0x7fffffff : r;
}

static void
redux(Lanes *lanes, const Ins *i, uint32_t m)
{
    Warp *w = warp_of(lanes);
    uint64_t a[LANES];
    check_members(w, i, m, &i->in[1]);
    lanes_get(&w->lanes, i->in[0], a);
    int first = __builtin_ctz(m);
    uint32_t r = (uint32_t)a[first];
    for (int l = first + 1; l < LANES; l++) {
        if (!(m >> l & 1))
            continue;
        uint32_t x = (uint32_t)a[l];
        bool less = i->type == T_S32 ? (int32_t)x < (int32_t)r : x < r;
        switch (i->op) {
        case REDUX_ADD: r += x; break;
        case REDUX_MIN: r = less ? x : r; break;
        case REDUX_MAX: r = less ? r : x; break;
        case REDUX_AND: r &= x; break;
        case REDUX_OR: r |= x; break;
        default: r ^= x;
        }
    }
    if (i->type == T_F32)
        r = redux_float(i, a, m);
    spread_undef(w, i, m);
    same_everywhere(w, i, m, r);
}

static void
dec_redux(Dec *d)
{
    int op = dec_has(d, "sync") ? dec_one(d, redux_words) : -1;
    d->ins->flags = dec_has(d, "abs") ? REDUX_ABS : 0;
    d->ins->flags |= dec_has(d, "NaN") ? REDUX_NAN : 0;
    Type t = dec_type(d);
    bool is_float = t == T_F32 && dec_sm(d) >= 100 &&
                    (op == REDUX_MIN || op == REDUX_MAX);
    if (op < 0 || type_info[t].bytes != 4 || dec_sm(d) < 80 ||
        (type_info[t].kind == 'f') != is_float || (d->ins->flags && !is_float))
        dec_fail(d, "no such form");
    dec_same(d, t, 2);
    d->ins->op = (uint8_t)op;
    d->ins->type = (uint8_t)t;
    d->ins->tracks = true;
    d->ins->meets = true;
    d->ins->run = redux;
}

/* elect.sync d|p, mask: the lowest lane. */
static void
elect(Lanes *lanes, const Ins *i, uint32_t m)
{
    Warp *w = warp_of(lanes);
    uint64_t p[LANES] = {0};
    check_members(w, i, m, &i->in[0]);
    p[__builtin_ctz(m)] = 1;
    same_everywhere(w, i, m, (uint64_t)__builtin_ctz(m));
    lanes_put(&w->lanes, i->out[1], m, p);
}

static void
dec_elect(Dec *d)
{
    if (!dec_has(d, "sync") || !d->n_opds || !d->opd[0].second || dec_sm(d) < 90)
        dec_fail(d, "no such form");
    dec_out(d, 0, 4);
    dec_out_opd(d, &(Opd){.kind = OPD_NAME, .name = d->opd[0].second}, 1);
    dec_in(d, 1, 4);
    d->ins->meets = true;
    d->ins->run = elect;
}

/* ---- matrices -------------------------------------------------------------------- */

static void
get_many(const Warp *w, const Reg *r, int n, uint64_t (*out)[LANES])
{
    for (int k = 0; k < n; k++)
        lanes_get(&w->lanes, r[k], out[k]);
}

static void
mma(Lanes *lanes, const Ins *i, uint32_t m)
{
    Warp *w = warp_of(lanes);
    const SimMma *s = i->more;
    uint64_t a[SIM_MAX_REGS][LANES], b[SIM_MAX_REGS][LANES], c[SIM_MAX_REGS][LANES],
        d[SIM_MAX_REGS][LANES];
    const Reg *in = i->in;
    get_many(w, in, s->a_regs, a);
    get_many(w, in + s->a_regs, s->b_regs, b);
    get_many(w, in + s->a_regs + s->b_regs, s->c_regs, c);
    sim_mma_run(s, d, (const uint64_t (*)[LANES])a, (const uint64_t (*)[LANES])b,
                (const uint64_t (*)[LANES])c);
    spread_undef(w, i, m);
    for (int k = 0; k < s->d_regs; k++)
        lanes_put(&w->lanes, i->out[k], m, d[k]);
}

/* The registers of a vector operand, which may be one alone. */
static void
dec_vector(Dec *d, int k, int n, int bytes, bool is_out)
{
    Opd *o = &d->opd[k];
    if (k >= d->n_opds || (o->kind == OPD_VEC ? o->n_parts != n : n != 1))
        dec_fail(d, "operand %d has not %d registers", k + 1, n);
    for (int e = 0; e < n; e++) {
        Opd *part = o->kind == OPD_VEC ? &o->part[e] : o;
        if (is_out)
            dec_out_opd(d, part, bytes);
        else
            dec_in_opd(d, part, bytes);
    }
}

static void
dec_mma(Dec *d)
{
    SimMma *s = dec_more(d, sizeof *s);
    if (!sim_mma_decode(s, d->text))
        dec_fail(d, "this matrix instruction is not simulated");
    dec_take_all(d);
    dec_vector(d, 0, s->d_regs, s->d == FMT_F64 ? 8 : 4, true);
    dec_vector(d, 1, s->a_regs, s->a == FMT_F64 ? 8 : 4, false);
    dec_vector(d, 2, s->b_regs, s->b == FMT_F64 ? 8 : 4, false);
    dec_vector(d, 3, s->c_regs, s->c == FMT_F64 ? 8 : 4, false);
    d->ins->is_aligned = true;
    d->ins->tracks = true;
    d->ins->run = mma;
}

static void
ldmatrix(Lanes *lanes, const Ins *i, uint32_t m)
{
    Warp *w = warp_of(lanes);
    const SimMatrix *s = i->more;
    uint64_t address[LANES], v[4][LANES], known[4][LANES];
    const uint8_t *row[LANES] = {0}, *state[LANES] = {0};
    uint32_t used = 8 * s->n == LANES ? (uint32_t)FULL : (1u << 8 * s->n) - 1;
    lanes_addresses(&w->lanes, i, used, address);
    sim_access(&w->lanes, i, used, SPACE_SHARED, address, 16, false);
    for (int l = 0; l < 8 * s->n; l++) {
        row[l] = sim_bytes(w, i, l, (Space)i->space, address[l], 16, false);
        state[l] = sim_states(w, (Space)i->space, address[l]);
        if (!state[l])
            sim_fault(w, i, l, CUDA_ERROR_ILLEGAL_ADDRESS, "not of shared memory");
    }
    sim_ldmatrix(s, v, row);
    sim_ldmatrix(s, known, state); /* the states go where the bytes go */
    for (int k = 0; k < s->n; k++) {
        uint32_t undef = 0;
        for (int l = 0; l < LANES; l++)
            undef |= (uint32_t)((known[k][l] & 0x01010101) != 0x01010101) << l;
        w->lanes.undef[i->out[k].id] = undef & m;
        lanes_put(&w->lanes, i->out[k], m, v[k]);
    }
}

static void
stmatrix(Lanes *lanes, const Ins *i, uint32_t m)
{
    Warp *w = warp_of(lanes);
    const SimMatrix *s = i->more;
    uint64_t address[LANES], v[4][LANES];
    uint8_t *row[LANES] = {0};
    uint32_t used = 8 * s->n == LANES ? (uint32_t)FULL : (1u << 8 * s->n) - 1;
    lanes_addresses(&w->lanes, i, used, address);
    sim_access(&w->lanes, i, used, SPACE_SHARED, address, 16, true);
    get_many(w, i->in + 1, s->n, v);
    for (int k = 0; k < s->n; k++)
        if (w->lanes.undef[i->in[1 + k].id] & m)
            sim_fault(w, i, __builtin_ctz(w->lanes.undef[i->in[1 + k].id] & m),
                      CUDA_ERROR_INVALID_VALUE,
                      "stores a register that was never written");
    for (int l = 0; l < 8 * s->n; l++) {
        row[l] = sim_bytes(w, i, l, (Space)i->space, address[l], 16, true);
        uint8_t *state = sim_states(w, (Space)i->space, address[l]);
        if (!state)
            sim_fault(w, i, l, CUDA_ERROR_ILLEGAL_ADDRESS, "not of shared memory");
        memset(state, BYTE_DEFINED, 16);
    }
    sim_stmatrix(s, row, (const uint64_t (*)[LANES])v);
}

static void
dec_matrix(Dec *d)
{
    SimMatrix *s = dec_more(d, sizeof *s);
    const Sym *sym;
    if (!sim_matrix_decode(s, d->text))
        dec_fail(d, "this form is not simulated");
    d->ins->space = (uint8_t)dec_space(d);
    dec_take_all(d);
    dec_address(d, !s->is_store, &sym);
    dec_vector(d, s->is_store, s->n, 4, !s->is_store);
    if (s->is_store && dec_sm(d) < 90)
        dec_fail(d, "from sm_90 on");
    d->ins->is_aligned = true;
    d->ins->tracks = true;
    d->ins->run = s->is_store ? stmatrix : ldmatrix;
}

/* ---- barriers -------------------------------------------------------------------- */

static void
warp_sync(Lanes *lanes, const Ins *i, uint32_t m)
{
    Warp *w = warp_of(lanes);
    check_members(w, i, m, &i->in[0]);
}

/* in[0]: which barrier, in[1]: how many threads, if the text says; in[last]: the predicate
 * of .red. flags: BAR_*. */
static void
dec_bar(Dec *d)
{
    static const char *const red_words[] = {"popc", "and", "or", NULL};
    Ins *i = d->ins;
    if (dec_has(d, "warp")) {
        if (!dec_has(d, "sync"))
            dec_fail(d, "no such form");
        dec_in(d, 0, 4);
        i->meets = true;
        i->run = warp_sync;
        return;
    }
    if (dec_has(d, "cluster")) {
        bool arrive = dec_has(d, "arrive");
        if (!arrive && !dec_has(d, "wait"))
            dec_fail(d, "no such form");
        dec_has(d, "release"), dec_has(d, "relaxed"), dec_has(d, "acquire");
        i->is_aligned = dec_has(d, "aligned");
        i->flow = FLOW_CLUSTER;
        i->flags = arrive ? BAR_ARRIVE : 0;
        return;
    }
    dec_has(d, "cta");
    bool is_bar = !strcmp(d->op, "bar");
    i->is_aligned = dec_has(d, "aligned") || is_bar;
    bool sync = dec_has(d, "sync"), arrive = !sync && dec_has(d, "arrive");
    bool red = !sync && !arrive && dec_has(d, "red");
    if (!sync && !arrive && !red)
        dec_fail(d, "no such form");
    int op = red ? dec_one(d, red_words) : 0, n = d->n_opds, at = 0;
    if (red) {
        Type t = dec_type(d);
        dec_out(d, at++, op == 0 ? 4 : 1);
        if (op < 0 || t != (op == 0 ? T_U32 : T_PRED))
            dec_fail(d, "no such form");
    }
    dec_in(d, at++, 4);
    if (n - red > at)
        dec_in(d, at++, 4);
    if (red) {
        i->op = (uint8_t)op;
        i->imm = d->opd[at].is_not;
        d->opd[at].is_not = false;
        dec_in(d, at++, 1);
    }
    if (at != n || (arrive && d->n_in != 2))
        dec_fail(d, "%d operands", n);
    i->flags = (uint16_t)((arrive ? BAR_ARRIVE : 0) | (red ? BAR_RED : 0));
    i->flow = FLOW_BARRIER;
}

const OpRow warp_ops[] = {
    {"shfl", dec_shfl},   {"vote", dec_vote},       {"activemask", dec_activemask},
    {"match", dec_match}, {"redux", dec_redux},     {"elect", dec_elect},
    {"mma", dec_mma},     {"ldmatrix", dec_matrix}, {"stmatrix", dec_matrix},
    {"bar", dec_bar},     {"barrier", dec_bar},     {NULL, NULL},
};
