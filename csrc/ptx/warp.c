/* warp: what lanes do together: shuffles, votes, barriers.
 *
 * The lanes that a mask names must all be here at the same time (.sync waits for them, and
 * whoever has taken another path will not come): that is checked first. Several groups of lanes,
 * each with a mask of its own, may be here at once. Barriers of more
 * than a warp are those to wait at who run the lanes (Ins.flow).
 */
#include "ptx/engine.h"
#include "ptx/lanes.h"

#include <math.h>

/* Lanes that give the same mask are a group, and body is done for each group: all of a mask
 * must be here, and give that mask. */
static void
by_group(Lanes *w, const Ins *i, uint32_t m, Run *body)
{
    uint64_t members[LANES];
    lanes_get(w, i->in[i->members - 1], members);
    bool is_one = !memcmp(members, members + 1, sizeof members - sizeof *members);
    for (uint32_t left = m, group; left; left &= ~group) {
        int first = __builtin_ctz(left);
        uint32_t want = (uint32_t)members[first];
        group = is_one ? left : 0;
        for (int l = first; l < LANES && !is_one; l++)
            group |= (uint32_t)(left >> l & 1 && (uint32_t)members[l] == want) << l;
        if (group & ~want)
            lanes_fault(w, i, __builtin_ctz(group & ~want),
                        "the lane is not in its own mask %#x", want);
        uint32_t missing = want & w->alive & ~group;
        if (missing & ~m)
            warp_apart(w, i, first, missing & ~m);
        if (missing)
            lanes_fault(w, i, first, "lanes %#x of the mask %#x give another mask",
                        missing, want);
        body(w, i, group);
    }
}

/* name_group, for each group. */
#define BY_GROUP(name)                                                                 \
    static void name(Lanes *w, const Ins *i, uint32_t m)                               \
    {                                                                                  \
        by_group(w, i, m, name##_group);                                               \
    }

/* The last operand is the mask of those who meet. */
static void
dec_members(Dec *d, Run *run)
{
    d->ins->meets = true;
    d->ins->members = (uint8_t)d->n_in;
    d->ins->run = run;
}

/* The same of an op that tells what is not defined of its result. */
static void
dec_op_of_members(Dec *d, int op, Run *run)
{
    d->ins->op = (uint8_t)op;
    d->ins->undef = UNDEF_TRACKED;
    dec_members(d, run);
}

/* ---- shuffles -------------------------------------------------------------------- */

enum { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };
static const char *const shfl_words[] = {"up", "down", "bfly", "idx", NULL};

/* Which lane each asks, and whether there is such a one; else it asks itself. */
#define EACH_ASKS(expr, is_there)                                                      \
    for (int l = 0; l < LANES; l++) {                                                  \
        int by = b[l] & 31, clamp = c[l] & 31, seg = c[l] >> 8 & 31;                   \
        int most = (l & seg) | (clamp & ~seg), at = (expr);                            \
        p[l] = (is_there);                                                             \
        from[l] = (is_there) ? at : l;                                                 \
    }

static void
shfl_group(Lanes *w, const Ins *i, uint32_t m)
{
    uint64_t p[LANES];
    int32_t from[LANES];
    uint32_t a[LANES], b[LANES], c[LANES], *d = LANE(uint32_t, w, i->d);
    memcpy(a, LANE(uint32_t, w, i->a), sizeof a);
    memcpy(b, LANE(uint32_t, w, i->b), sizeof b);
    memcpy(c, LANE(uint32_t, w, i->c), sizeof c);
    uint32_t open = w->undef[i->in[1].id] | w->undef[i->in[2].id];
    switch (i->op) {
    case SHFL_UP: EACH_ASKS(l - by, at >= most) break;
    case SHFL_DOWN: EACH_ASKS(l + by, at <= most) break;
    case SHFL_BFLY: EACH_ASKS(l ^ by, at <= most) break;
    default: EACH_ASKS((l & seg) | (by & ~seg), at <= most)
    }
    uint32_t lacks[PARTS] = {0}, any = w->undef[i->in[0].id] | open | ~m;
    for (int q = 0; q < PARTS && any; q++) {
        uint32_t of = lanes_lacks(w, i->in[0], q) | ~m;
        for (int l = 0; l < LANES; l++)
            lacks[q] |= ((of >> from[l] | open >> l) & 1) << l;
    }
    for (int l = 0; l < LANES; l++)
        d[l] = m >> l & 1 ? a[from[l]] : d[l];
    lanes_set_lacks(w, i->out[0], m, lacks);
    if (i->n_out > 1) {
        lanes_put(w, i->out[1], m, p);
        lanes_set_undef(w, i->out[1], m, open);
    }
}

BY_GROUP(shfl)

static void
dec_shfl(Dec *d)
{
    if (!dec_has(d, "sync"))
        dec_fail(d, ".sync is missing");
    int op = dec_one(d, shfl_words);
    dec_refuse(d, op < 0 || dec_type(d) != T_B32 || d->n_opds != 5);
    dec_out_and_truth(d, 4);
    for (int k = 1; k < 5; k++)
        dec_in(d, k, 4);
    dec_places(d);
    dec_op_of_members(d, op, shfl);
}

/* ---- votes ----------------------------------------------------------------------- */

enum { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };
static const char *const vote_words[] = {"all", "any", "uni", "ballot", NULL};

static void
same_everywhere(Lanes *w, const Ins *i, uint32_t m, uint64_t x)
{
    uint64_t v[LANES];
    for (int l = 0; l < LANES; l++)
        v[l] = x;
    lanes_put(w, i->out[0], m, v);
}

static void
vote_group(Lanes *w, const Ins *i, uint32_t m)
{
    uint32_t p = lanes_true(w, i->in[0]), bits = (i->flags ? ~p : p) & m;
    lanes_spread_undef(w, i, m);
    same_everywhere(w, i, m,
                    i->op == VOTE_BALLOT ? bits
                    : i->op == VOTE_ALL  ? bits == m
                    : i->op == VOTE_ANY  ? bits != 0
                                         : bits == m || bits == 0);
}

BY_GROUP(vote)

static void
dec_vote(Dec *d)
{
    if (!dec_has(d, "sync"))
        dec_fail(d, ".sync is missing");
    int op = dec_one(d, vote_words);
    Type t = dec_type(d);
    dec_refuse(d,
               op < 0 || t != (op == VOTE_BALLOT ? T_B32 : T_PRED) || d->n_opds != 3);
    dec_out(d, 0, op == VOTE_BALLOT ? 4 : 1);
    d->ins->flags = d->opd[1].is_not;
    d->opd[1].is_not = false;
    dec_in(d, 1, 1);
    dec_in(d, 2, 4);
    dec_op_of_members(d, op, vote);
}

static void
active(Lanes *w, const Ins *i, uint32_t m)
{
    same_everywhere(w, i, m, m);
}

static void
dec_activemask(Dec *d)
{
    dec_refuse(d, dec_type(d) != T_B32);
    dec_out(d, 0, 4);
    d->ins->run = active;
}

static void
match_group(Lanes *w, const Ins *i, uint32_t m)
{
    uint64_t a[LANES], out[LANES] = {0}, p[LANES];
    lanes_get(w, i->in[0], a);
    bool all = true;
    uint64_t first = a[__builtin_ctz(m)];
    for (int l = 0; l < LANES; l++) {
        for (int k = 0; k < LANES; k++)
            out[l] |= (uint64_t)(m >> k & 1 && a[k] == a[l]) << k;
        all &= !(m >> l & 1) || a[l] == first;
    }
    for (int l = 0; l < LANES && i->op; l++)
        out[l] = all ? m : 0, p[l] = all;
    lanes_spread_undef(w, i, m);
    lanes_put(w, i->out[0], m, out);
    if (i->n_out > 1)
        lanes_put(w, i->out[1], m, p);
}

BY_GROUP(match)

static void
dec_match(Dec *d)
{
    static const char *const words[] = {"any", "all", NULL};
    int op = dec_has(d, "sync") ? dec_one(d, words) : -1;
    Type t = dec_type(d);
    dec_refuse(d, op < 0 || (t != T_B32 && t != T_B64) || d->n_opds != 3);
    dec_out_and_truth(d, 4);
    dec_in(d, 1, type_info[t].bytes);
    dec_in(d, 2, 4);
    dec_op_of_members(d, op, match);
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
    EACH_LANE_OF(l, m) {
        float x = f32_of_bits((uint32_t)a[l]);
        x = i->flags & REDUX_ABS ? fabsf(x) : x;
        nan |= x != x;
        bool less = x < best || (x == best && signbit(x) && !signbit(best));
        if (x == x && (best != best || less == (i->op == REDUX_MIN)))
            best = x;
    }
    return best != best || (nan && i->flags & REDUX_NAN) ? 0x7fffffff
                                                         : bits_of_f32(best);
}

static void
redux_group(Lanes *w, const Ins *i, uint32_t m)
{
    uint64_t a[LANES];
    lanes_get(w, i->in[0], a);
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
    lanes_spread_undef(w, i, m);
    same_everywhere(w, i, m, r);
}

BY_GROUP(redux)

static void
dec_redux(Dec *d)
{
    int op = dec_has(d, "sync") ? dec_one(d, redux_words) : -1;
    d->ins->flags = dec_has(d, "abs") ? REDUX_ABS : 0;
    d->ins->flags |= dec_has(d, "NaN") ? REDUX_NAN : 0;
    Type t = dec_type(d);
    bool is_float = t == T_F32 && dec_sm(d) >= 100 &&
                    (op == REDUX_MIN || op == REDUX_MAX);
    dec_refuse(d, op < 0 || type_info[t].bytes != 4 || dec_sm(d) < 80 ||
                      (type_info[t].kind == 'f') != is_float ||
                      (d->ins->flags && !is_float));
    dec_same(d, t, 2);
    d->ins->type = (uint8_t)t;
    dec_op_of_members(d, op, redux);
}

/* elect.sync d|p, mask: the lowest lane. */
static void
elect_group(Lanes *w, const Ins *i, uint32_t m)
{
    uint64_t p[LANES] = {0};
    p[__builtin_ctz(m)] = 1;
    same_everywhere(w, i, m, (uint64_t)__builtin_ctz(m));
    lanes_put(w, i->out[1], m, p);
}

BY_GROUP(elect)

static void
dec_elect(Dec *d)
{
    dec_refuse(d, !dec_has(d, "sync") || d->n_opds != 2 || !d->opd[0].second ||
                      dec_sm(d) < 90);
    dec_out_and_truth(d, 4);
    dec_in(d, 1, 4);
    dec_members(d, elect);
}

/* ---- barriers -------------------------------------------------------------------- */

static void
warp_sync_group(Lanes *w, const Ins *i, uint32_t m)
{
    (void)i;
    order_sync(w, m);
}

BY_GROUP(warp_sync)

/* in[0]: which barrier, in[1]: how many threads, if the text says; in[last]: the predicate
 * of .red. flags: BAR_*. */
static void
dec_bar(Dec *d)
{
    static const char *const red_words[] = {"popc", "and", "or", NULL};
    Ins *i = d->ins;
    int n = d->n_opds;
    if (dec_has(d, "warp")) {
        dec_refuse(d, !dec_has(d, "sync") || n != 1);
        dec_in(d, 0, 4);
        dec_members(d, warp_sync);
        return;
    }
    if (dec_has(d, "cluster")) {
        bool arrive = dec_has(d, "arrive");
        dec_refuse(d, (!arrive && !dec_has(d, "wait")) || n);
        if (dec_sm(d) < 90)
            dec_fail(d, "clusters are of sm_90 on");
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
    dec_refuse(d, !sync && !arrive && !red);
    int op = red ? dec_one(d, red_words) : 0, at = 0;
    if (red) {
        Type t = dec_type(d);
        dec_out(d, at++, op == 0 ? 4 : 1);
        dec_refuse(d, op < 0 || t != (op == 0 ? T_U32 : T_PRED));
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

/* Registers are no one's to take or give here: it is only read. */
static void
dec_setmaxnreg(Dec *d)
{
    static const char *const ways[] = {"inc", "dec", NULL};
    int64_t n = 0;
    dec_since(d, 90);
    dec_refuse(d, dec_one(d, ways) < 0 || !dec_has(d, "sync") ||
                      !dec_has(d, "aligned") || dec_type(d) != T_U32);
    if (d->n_opds != 1 || !dec_literal(d, 0, &n) || n < 24 || n > 256 || n % 8)
        dec_fail(d, "a number of registers is a multiple of 8 from 24 to 256");
    d->ins->is_aligned = true;
    d->ins->run = run_nothing;
}

const OpRow warp_ops[] = {
    {"shfl", dec_shfl},   {"vote", dec_vote},   {"activemask", dec_activemask},
    {"match", dec_match}, {"redux", dec_redux}, {"elect", dec_elect},
    {"bar", dec_bar},     {"barrier", dec_bar}, {"setmaxnreg", dec_setmaxnreg},
    {NULL, NULL},
};
