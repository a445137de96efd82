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

/* ---- moves ----------------------------------------------------------------------- */

/* {lo, hi} <-> one register: the parts are as wide as they are many. */
static void
pack(Lanes *w, const Ins *i, uint32_t m)
{
    uint64_t sum[LANES] = {0}, part[LANES];
    int bits = 8 * i->in[0].bytes;
    for (int k = 0; k < i->n_in; k++) {
        lanes_get(w, i->in[k], part);
        for (int l = 0; l < LANES; l++)
            sum[l] |= part[l] << k * bits;
    }
    lanes_put(w, i->out[0], m, sum);
}

static void
unpack(Lanes *w, const Ins *i, uint32_t m)
{
    uint64_t x[LANES], part[LANES];
    lanes_get(w, i->in[0], x);
    for (int k = 0; k < i->n_out; k++) {
        for (int l = 0; l < LANES; l++)
            part[l] = x[l] >> k * 8 * i->out[0].bytes;
        lanes_put(w, i->out[k], m, part);
    }
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
dec_bits(Dec *d, Run *const table[N_TYPES], int n)
{
    Type t = dec_type(d);
    dec_run(d, table, t);
    dec_same(d, t, n);
    if (table != cnot_run) /* which asks whether any bit is set */
        dec_bitwise(d, n);
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
    dec_bitwise(d, 1);
}

static void
dec_shf(Dec *d)
{
    static const char *const side[] = {"l", "r", NULL}, *const mode[] = {"wrap",
                                                                         "clamp", NULL};
    int s = dec_one(d, side), k = dec_one(d, mode);
    dec_refuse(d, s < 0 || k < 0 || dec_type(d) != T_B32);
    static Run *const run[2][2] = {{shf_l_wrap, shf_l_clamp},
                                   {shf_r_wrap, shf_r_clamp}};
    dec_same(d, T_B32, 3);
    dec_bitwise(d, 2);
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
    dec_refuse(d, d->n_opds != 6 || !d->opd[0].second || dec_type(d) != T_B32 ||
                      dec_sm(d) < 70 || !dec_literal(d, 4, &d->ins->imm));
    d->ins->flags = (uint16_t)((op ? LOP3_OR : 0) | (q->is_not ? LOP3_NOT : 0));
    q->is_not = false;
    dec_out_and_truth(d, 4);
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
    dec_refuse(d, d->n_opds != 5 || dec_type(d) != T_B32 ||
                      !dec_literal(d, 4, &d->ins->imm));
    d->n_opds = 4;
    dec_same(d, T_B32, 3);
    dec_bitwise(d, 3);
    d->ins->run = lop3;
}

static void
dec_prmt(Dec *d)
{
    dec_refuse(d, dec_type(d) != T_B32);
    int mode = dec_one(d, prmt_words);
    d->ins->op = (uint8_t)(mode < 0 ? 0 : mode);
    dec_same(d, T_B32, 3);
    dec_bitwise(d, 2);
    d->ins->run = permute;
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
    if (from->kind == OPD_VEC || to->kind == OPD_VEC) {
        bool packs = from->kind == OPD_VEC;
        int n = (packs ? from : to)->n_parts, part = n ? bytes / n : 0;
        if (part < 1 || part * n != bytes)
            dec_fail(d, "%d parts do not make %d bytes", n, bytes);
        dec_vector(d, 0, packs ? 1 : n, packs ? bytes : part, dec_out_opd);
        dec_vector(d, 1, packs ? n : 1, packs ? part : bytes, dec_in_opd);
        dec_bitwise(d, d->n_in);
        d->ins->run = packs ? pack : unpack;
        return;
    }
    dec_out(d, 0, bytes);
    Sym *s = from->kind == OPD_NAME ? dec_sym(d, from->name) : NULL;
    dec_in_typed(d, 1, t);
    dec_places(d);
    dec_bitwise(d, 1);
    d->ins->run = t == T_PRED ? mov_pred : run[type_info[t].log2];
    dec_refuse(d, !d->ins->run);
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
