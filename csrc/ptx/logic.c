/* logic: bits, shifts, bytes, moves. */
#include "ptx/lanes.h"

#define BITS(MAKE, name, expr)                                                         \
    MAKE(name##_b16, uint16_t, uint16_t, expr)                                         \
    MAKE(name##_b32, uint32_t, uint32_t, expr)                                         \
    MAKE(name##_b64, uint64_t, uint64_t, expr)
#define BIT_TABLE(name)                                                                \
    static Run *const name##_run[N_TYPES] = {[T_PRED] = name##_pred,                   \
                                             [T_B16] = name##_b16,                     \
                                             [T_B32] = name##_b32,                     \
                                             [T_B64] = name##_b64}
BITS(BINARY, and, x &y)
BINARY(and_pred, uint8_t, uint8_t, x &y)
BIT_TABLE(and);
BITS(BINARY, or, x | y)
BINARY(or_pred, uint8_t, uint8_t, x | y)
BIT_TABLE(or);
BITS(BINARY, xor, x ^ y)
BINARY(xor_pred, uint8_t, uint8_t, x ^ y)
BIT_TABLE(xor);
BITS(UNARY, not, ~x)
UNARY(not_pred, uint8_t, uint8_t, !x)
BIT_TABLE(not);
BITS(UNARY, cnot, !x)
static Run *const cnot_run[N_TYPES] = {
    [T_B16] = cnot_b16, [T_B32] = cnot_b32, [T_B64] = cnot_b64};
BITS(UNARY, mov, x)
UNARY(mov_pred, uint8_t, uint8_t, x)

/* Shifts: the amount has 32 bits and is clamped, not cut. */
BINARY2(shl_b16, uint16_t, uint16_t, uint32_t, y > 15 ? 0 : x << y)
BINARY2(shl_b32, uint32_t, uint32_t, uint32_t, y > 31 ? 0 : x << y)
BINARY2(shl_b64, uint64_t, uint64_t, uint32_t, y > 63 ? 0 : x << y)
BINARY2(shr_u16, uint16_t, uint16_t, uint32_t, y > 15 ? 0 : x >> y)
BINARY2(shr_u32, uint32_t, uint32_t, uint32_t, y > 31 ? 0 : x >> y)
BINARY2(shr_u64, uint64_t, uint64_t, uint32_t, y > 63 ? 0 : x >> y)
BINARY2(shr_s16, int16_t, int16_t, uint32_t, x >> (y > 15 ? 15 : y))
BINARY2(shr_s32, int32_t, int32_t, uint32_t, x >> (y > 31 ? 31 : y))
BINARY2(shr_s64, int64_t, int64_t, uint32_t, x >> (y > 63 ? 63 : y))

TERNARY(shf_l_wrap, uint32_t, uint32_t, uint32_t,
        z & 31 ? y << (z & 31) | x >> (32 - (z & 31)) : y)
TERNARY(shf_r_wrap, uint32_t, uint32_t, uint32_t,
        z & 31 ? y << (32 - (z & 31)) | x >> (z & 31) : x)
TERNARY(shf_l_clamp, uint32_t, uint32_t, uint32_t,
        z == 0    ? y
        : z >= 32 ? x
                  : y << z | x >> (32 - z))
TERNARY(shf_r_clamp, uint32_t, uint32_t, uint32_t,
        z == 0    ? x
        : z >= 32 ? y
                  : y << (32 - z) | x >> z)

/* The table's bits become masks; a, b, c choose among them. */
#define CHOOSE(by, one, zero) (((by) & (one)) | (~(by) & (zero)))

static void
lop3(Lanes *w, const Ins *i, uint32_t m)
{
    uint32_t *d = LANE(uint32_t, w, i->d), t[8];
    const uint32_t *a = LANE(uint32_t, w, i->a), *b = LANE(uint32_t, w, i->b),
                   *c = LANE(uint32_t, w, i->c);
    for (int k = 0; k < 8; k++)
        t[k] = i->imm >> k & 1 ? UINT32_MAX : 0;
    EACH_LANE(m, uint32_t x = a[l]; uint32_t y = b[l]; uint32_t z = c[l];
              d[l] = CHOOSE(x, CHOOSE(y, CHOOSE(z, t[7], t[6]), CHOOSE(z, t[5], t[4])),
                            CHOOSE(y, CHOOSE(z, t[3], t[2]), CHOOSE(z, t[1], t[0]))))
}

enum { LOP3_OR = 1, LOP3_NOT = 2 }; /* flags: of the predicate */

/* op: 0 plain, else the place in prmt_words. */
static const char *const prmt_words[] = {"",    "f4e", "b4e",  "rc8",
                                         "ecl", "ecr", "rc16", NULL};

static uint32_t
permuted(uint32_t a, uint32_t b, uint32_t s, int mode)
{
    static const uint16_t by_mode[][4] = {
        {0},
        {0x3210, 0x4321, 0x5432, 0x6543},
        {0x5670, 0x6701, 0x7012, 0x0123},
        {0x0000, 0x1111, 0x2222, 0x3333},
        {0x3210, 0x3211, 0x3222, 0x3333},
        {0x0000, 0x1110, 0x2210, 0x3210},
        {0x1010, 0x3232, 0x1010, 0x3232},
    };
    uint64_t both = (uint64_t)b << 32 | a;
    uint32_t r = 0, sel = mode ? by_mode[mode][s & 3] : s;
    for (int k = 0; k < 4; k++) {
        uint32_t pick = sel >> 4 * k & 15;
        uint32_t byte = (uint32_t)(both >> 8 * (pick & 7)) & 255;
        if (pick & 8)
            byte = byte & 128 ? 255 : 0;
        r |= byte << 8 * k;
    }
    return r;
}
TERNARY(permute, uint32_t, uint32_t, uint32_t, permuted(x, y, z, i->op))

/* A word of 255 for each byte of lane l that is undefined. */
static uint32_t
lacking_bytes(const Lanes *w, Reg r, int l)
{
    uint32_t x = 0;
    for (int q = 0; q < 4; q++)
        x |= (lanes_lacks(w, r, q) >> l & 1) * 255u << 8 * q;
    return x;
}

/* What is undefined is permuted as what is not. */
static void
prmt(Lanes *w, const Ins *i, uint32_t m)
{
    uint64_t by[LANES];
    uint32_t no_by = w->undef[i->in[2].id], lacks[4] = {no_by, no_by, no_by, no_by};
    lanes_get(w, i->in[2], by);
    if (w->undef[i->in[0].id] | w->undef[i->in[1].id])
        for (int l = 0; l < LANES; l++) {
            uint32_t x = permuted(lacking_bytes(w, i->in[0], l),
                                  lacking_bytes(w, i->in[1], l), (uint32_t)by[l],
                                  i->op);
            for (int q = 0; q < 4; q++)
                lacks[q] |= (x >> 8 * q & 1) << l;
        }
    permute(w, i, m);
    lanes_set_lacks(w, i->out[0], m, lacks);
}

/* ---- moves ----------------------------------------------------------------------- */

/* {lo, hi} <-> one register: the parts are as wide as they are many. Where one part is
 * undefined, w->has knows that the others are not: LLVM puts a half into a word, and takes
 * it out, without caring for the other. */
static void
pack(Lanes *w, const Ins *i, uint32_t m)
{
    uint64_t sum[LANES] = {0}, part[LANES];
    uint32_t lacks[4] = {0};
    int bits = 8 * i->in[0].bytes;
    for (int k = 0; k < i->n_in; k++) {
        int from = k * 4 / i->n_in, to = (k + 1) * 4 / i->n_in;
        for (int q = from; q < to || q == from; q++)
            lacks[q] |= w->undef[i->in[k].id];
        lanes_get(w, i->in[k], part);
        for (int l = 0; l < LANES; l++)
            sum[l] |= part[l] << k * bits;
    }
    lanes_put(w, i->out[0], m, sum);
    lanes_set_lacks(w, i->out[0], m, lacks);
}

static void
unpack(Lanes *w, const Ins *i, uint32_t m)
{
    uint64_t x[LANES], part[LANES];
    uint32_t lacks[4];
    for (int q = 0; q < 4; q++)
        lacks[q] = lanes_lacks(w, i->in[0], q);
    lanes_get(w, i->in[0], x);
    for (int k = 0; k < i->n_out; k++) {
        int from = k * 4 / i->n_out, to = (k + 1) * 4 / i->n_out;
        uint32_t *u = &w->undef[i->out[k].id], undef = 0;
        for (int q = from; q < to || q == from; q++)
            undef |= lacks[q];
        for (int l = 0; l < LANES; l++)
            part[l] = x[l] >> k * 8 * i->out[0].bytes;
        lanes_put(w, i->out[k], m, part);
        *u = (*u & ~m) | (undef & m);
    }
}

/* What leaves one half of a word: a shift by 16, a conversion to 16 bits. The other may be
 * undefined. */
enum { LOW_UP, HIGH_DOWN, HIGH_DOWN_SIGNED, LOW_ALONE };

static void
keep_half(Lanes *w, const Ins *i, uint32_t m)
{
    uint64_t v[LANES];
    Reg of = i->in[0];
    int half = i->op == LOW_UP || i->op == LOW_ALONE ? 0 : 2;
    uint32_t undef = lanes_lacks(w, of, half) | lanes_lacks(w, of, half + 1);
    const uint32_t lacks[4] = {undef, undef, undef, undef};
    lanes_get(w, i->in[0], v);
    for (int l = 0; l < LANES; l++) {
        uint32_t x = (uint32_t)v[l];
        switch (i->op) {
        case LOW_UP: x <<= 16; break;
        case HIGH_DOWN: x >>= 16; break;
        case HIGH_DOWN_SIGNED: x = (uint32_t)((int32_t)x >> 16); break;
        default: x &= 0xffff;
        }
        v[l] = x;
    }
    lanes_put(w, i->out[0], m, v);
    lanes_set_lacks(w, i->out[0], m, lacks);
}

/* A mask: what it clears may be undefined, by quarters of the register. */
static void
and_number(Lanes *w, const Ins *i, uint32_t m)
{
    uint64_t v[LANES], by[LANES], quarter = (UINT64_C(1) << 2 * i->in[0].bytes) - 1;
    uint32_t lacks[4];
    lanes_get(w, i->in[0], v);
    lanes_get(w, i->in[1], by);
    for (int q = 0; q < 4; q++)
        lacks[q] = by[0] >> 2 * q * i->in[0].bytes & quarter
                       ? lanes_lacks(w, i->in[0], q)
                       : 0;
    for (int l = 0; l < LANES; l++)
        v[l] &= by[l];
    lanes_put(w, i->out[0], m, v);
    lanes_set_lacks(w, i->out[0], m, lacks);
}

/* A clock: every read sees it later. */
static void
read_clock(Lanes *w, const Ins *i, uint32_t m)
{
    uint64_t now[LANES];
    for (int l = 0; l < LANES; l++)
        now[l] = w->owner->clock(w) >> (i->flags ? 32 : 0);
    lanes_put(w, i->out[0], m, now);
}

/* ---- rows ------------------------------------------------------------------------ */

static void
keeps_half(Dec *d, int which)
{
    d->ins->op = (uint8_t)which;
    d->ins->tracks = true;
    d->ins->run = keep_half;
}

void
dec_keeps_low(Dec *d)
{
    keeps_half(d, LOW_ALONE);
}

static void
dec_bits(Dec *d, Run *const table[N_TYPES], int n)
{
    Type t = dec_type(d);
    int64_t mask = 0;
    dec_run(d, table, t);
    dec_same(d, t, n);
    if (table == and_run && (t == T_B32 || t == T_B64) && dec_literal(d, 2, &mask)) {
        d->ins->tracks = true;
        d->ins->run = and_number;
    }
}

#define BIT_ROW(name, n)                                                               \
    static void dec_##name(Dec *d)                                                     \
    {                                                                                  \
        dec_bits(d, name##_run, n);                                                    \
    }
BIT_ROW(and, 2)
BIT_ROW(or, 2)
BIT_ROW(xor, 2)
BIT_ROW(not, 1)
BIT_ROW(cnot, 1)

static void
dec_shift(Dec *d)
{
    static Run *const shl[N_TYPES] = {
        [T_B16] = shl_b16, [T_B32] = shl_b32, [T_B64] = shl_b64};
    static Run *const shr[N_TYPES] = {[T_B16] = shr_u16, [T_B32] = shr_u32,
                                      [T_B64] = shr_u64, [T_U16] = shr_u16,
                                      [T_U32] = shr_u32, [T_U64] = shr_u64,
                                      [T_S16] = shr_s16, [T_S32] = shr_s32,
                                      [T_S64] = shr_s64};
    Type t = dec_type(d);
    dec_run(d, d->op[2] == 'l' ? shl : shr, t);
    dec_out(d, 0, type_info[t].bytes);
    dec_in_typed(d, 1, t);
    dec_in(d, 2, 4);
    dec_places(d);
    int64_t by = 0;
    if (type_info[t].bytes == 4 && dec_literal(d, 2, &by) && by == 16)
        keeps_half(d, d->op[2] == 'l'            ? LOW_UP
                      : type_info[t].kind == 's' ? HIGH_DOWN_SIGNED
                                                 : HIGH_DOWN);
}

static void
dec_shf(Dec *d)
{
    static const char *const side[] = {"l", "r", NULL}, *const mode[] = {"wrap",
                                                                         "clamp", NULL};
    int s = dec_one(d, side), k = dec_one(d, mode);
    if (s < 0 || k < 0 || dec_type(d) != T_B32)
        dec_fail(d, "no such form");
    static Run *const run[2][2] = {{shf_l_wrap, shf_l_clamp},
                                   {shf_r_wrap, shf_r_clamp}};
    dec_same(d, T_B32, 3);
    d->ins->run = run[s][k];
}

/* lop3.or.b32 d|p, a, b, c, table, q: p is whether d is not 0, or q. */
static void
lop3_truth(Lanes *w, const Ins *i, uint32_t m)
{
    uint8_t *p = LANE(uint8_t, w, i->out[1].at);
    const uint8_t *q = LANE(uint8_t, w, i->in[3].at);
    uint8_t with[LANES];
    for (int l = 0; l < LANES; l++) /* p may be q */
        with[l] = q[l] ^ (i->flags & LOP3_NOT ? 1 : 0);
    lop3(w, i, m);
    const uint32_t *d = LANE(uint32_t, w, i->d);
    EACH_LANE(m, bool is = d[l] != 0;
              p[l] = i->flags & LOP3_OR ? is | with[l] : is & with[l])
}

static void
dec_lop3_truth(Dec *d, int op)
{
    Opd *q = &d->opd[5];
    if (d->n_opds != 6 || !d->opd[0].second || dec_type(d) != T_B32 || dec_sm(d) < 70 ||
        !dec_literal(d, 4, &d->ins->imm))
        dec_fail(d, "no such form");
    d->ins->flags = (uint16_t)((op ? LOP3_OR : 0) | (q->is_not ? LOP3_NOT : 0));
    q->is_not = false;
    dec_out(d, 0, 4);
    dec_out_opd(d, &(Opd){.kind = OPD_NAME, .name = d->opd[0].second}, 1);
    for (int k = 1; k <= 3; k++)
        dec_in(d, k, 4);
    dec_in(d, 5, 1);
    dec_places(d);
    d->ins->run = lop3_truth;
}

static void
dec_lop3(Dec *d)
{
    static const char *const ops[] = {"and", "or", NULL};
    int op = dec_one(d, ops);
    if (op >= 0) {
        dec_lop3_truth(d, op);
        return;
    }
    if (d->n_opds != 5 || dec_type(d) != T_B32 || !dec_literal(d, 4, &d->ins->imm))
        dec_fail(d, "no such form");
    d->n_opds = 4;
    dec_same(d, T_B32, 3);
    d->ins->run = lop3;
}

static void
dec_prmt(Dec *d)
{
    if (dec_type(d) != T_B32)
        dec_fail(d, "no such form");
    int mode = dec_one(d, prmt_words);
    d->ins->op = (uint8_t)(mode < 0 ? 0 : mode);
    dec_same(d, T_B32, 3);
    d->ins->run = prmt;
    d->ins->tracks = true;
}

static void
dec_mov(Dec *d)
{
    static Run *const run[] = {NULL, mov_b16, mov_b32, mov_b64};
    Type t = dec_type(d);
    int bytes = type_info[t].bytes;
    if (d->n_opds != 2)
        dec_fail(d, "two operands are wanted");
    Opd *to = &d->opd[0], *from = &d->opd[1];
    if (from->kind == OPD_VEC) {
        int part = from->n_parts ? bytes / from->n_parts : 0;
        if (part < 1 || part * from->n_parts != bytes)
            dec_fail(d, "%d parts do not make %d bytes", from->n_parts, bytes);
        dec_out(d, 0, bytes);
        for (int k = 0; k < from->n_parts; k++)
            dec_in_opd(d, &from->part[k], part);
        d->ins->run = pack;
        d->ins->tracks = true;
        return;
    }
    if (to->kind == OPD_VEC) {
        int part = to->n_parts ? bytes / to->n_parts : 0;
        if (part < 1 || part * to->n_parts != bytes)
            dec_fail(d, "%d parts do not make %d bytes", to->n_parts, bytes);
        for (int k = 0; k < to->n_parts; k++)
            dec_out_opd(d, &to->part[k], part);
        dec_in(d, 1, bytes);
        d->ins->run = unpack;
        d->ins->tracks = true;
        return;
    }
    dec_out(d, 0, bytes);
    Sym *s = from->kind == OPD_NAME ? dec_sym(d, from->name) : NULL;
    dec_in_typed(d, 1, t);
    dec_places(d);
    d->ins->run = t == T_PRED ? mov_pred : run[type_info[t].log2];
    if (!d->ins->run)
        dec_fail(d, "no such form");
    if (s && s->is_sreg_live) {
        d->ins->run = read_clock;
        d->ins->flags = strstr(s->name, "_hi") != NULL;
    }
}

const OpRow logic_ops[] = {
    {"and", dec_and},   {"or", dec_or},     {"xor", dec_xor},   {"not", dec_not},
    {"cnot", dec_cnot}, {"shl", dec_shift}, {"shr", dec_shift}, {"shf", dec_shf},
    {"lop3", dec_lop3}, {"prmt", dec_prmt}, {"mov", dec_mov},   {NULL, NULL},
};
