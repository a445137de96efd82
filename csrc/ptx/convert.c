/* convert: cvt. Between floats it is floats.c's, here are integers and rounding to them.
 *
 * A register may be wider than the type: the source's upper bits are not looked at, the
 * result is extended to the width of its register by its sign.
 */
#include "ptx/half.h"
#include "ptx/lanes.h"

#include <math.h>

UNARY(u64_u32, uint64_t, uint32_t, x)
UNARY(s64_s32, int64_t, int32_t, x)
UNARY(u32_u64, uint32_t, uint64_t, x)
UNARY(u16_u32, uint16_t, uint32_t, x)
UNARY(u32_u16, uint32_t, uint16_t, x)
UNARY(s32_s16, int32_t, int16_t, x)
UNARY(f64_f32, double, float, x)

typedef struct Cvt {
    Type to, from;
    int round; /* place in to_int_words or to_float_words */
    bool sat, ftz;
} Cvt;

static const char *const to_int_words[] = {"rni", "rzi", "rmi", "rpi", NULL};
static const char *const to_float_words[] = {"rn", "rz", "rm", "rp", NULL};

static bool
is_signed(Type t)
{
    return type_info[t].kind == 's';
}

/* The type's value in 64 bits, by its sign. */
static int64_t
as_int(Type t, uint64_t x)
{
    int shift = 64 - 8 * type_info[t].bytes;
    return is_signed(t) ? (int64_t)(x << shift) >> shift
                        : (int64_t)(x << shift >> shift);
}

static uint64_t
int_to_int(const Cvt *c, uint64_t raw)
{
    int64_t x = as_int(c->from, raw);
    int bits = 8 * type_info[c->to].bytes;
    if (c->sat) {
        bool neg = is_signed(c->from) && x < 0;
        uint64_t top = is_signed(c->to) ? (UINT64_C(1) << (bits - 1)) - 1
                       : bits == 64     ? UINT64_MAX
                                        : (UINT64_C(1) << bits) - 1;
        int64_t low = is_signed(c->to) ? -(int64_t)top - 1 : 0;
        if (neg ? x < low : (uint64_t)x > top)
            return neg ? (uint64_t)low : top;
        return (uint64_t)x;
    }
    return (uint64_t)as_int(c->to, (uint64_t)x);
}

static double
to_whole(int round, double x)
{
    return round == 0   ? nearbyint(x)
           : round == 1 ? trunc(x)
           : round == 2 ? floor(x)
                        : ceil(x);
}

/* Clamped to the type; NaN is 0, or the least integer where one side has 64 bits. */
static uint64_t
float_to_int(const Cvt *c, uint64_t raw)
{
    double x = lane_float(c->from, raw, c->ftz);
    int bits = 8 * type_info[c->to].bytes;
    if (x != x)
        return c->from == T_F64 || bits == 64 ? UINT64_C(1) << (bits - 1) : 0;
    x = to_whole(c->round, x);
    if (is_signed(c->to)) {
        double top = ldexp(1, bits - 1);
        return x >= top   ? (UINT64_C(1) << (bits - 1)) - 1
               : x < -top ? -(UINT64_C(1) << (bits - 1))
                          : (uint64_t)(int64_t)x;
    }
    double top = ldexp(1, bits);
    return x >= top ? (bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1)
           : x <= 0 ? 0
                    : (uint64_t)x;
}

static FloatType
float_type(Type t)
{
    return t == T_F64   ? FMT_F64
           : t == T_F32 ? FMT_F32
           : t == T_F16 ? FMT_F16
                        : FMT_BF16;
}

/* An integer rounded to odd in double, with its magnitude: what was cut is in the last bit. */
static uint64_t
int_to_float(const Cvt *c, uint64_t raw)
{
    static const FmtRounding mode[] = {FMT_RN, FMT_RZ, FMT_RM, FMT_RP};
    int64_t x = as_int(c->from, raw);
    bool neg = is_signed(c->from) && x < 0;
    uint64_t size = neg ? -(uint64_t)x : (uint64_t)x;
    FmtRounding r = mode[c->round];
    if (c->to == T_F64 && r == FMT_RN)
        return bits_of_f64(neg ? -(double)size : (double)size);
    int cut = size >> 53 ? 11 - __builtin_clzll(size) : 0;
    uint64_t kept = size >> cut;
    bool inexact = cut && size & ((UINT64_C(1) << cut) - 1);
    if (c->to == T_F64) { /* kept has 53 bits */
        bool away = r == FMT_RP ? !neg : r == FMT_RM ? neg : false;
        kept += inexact && away;
    } else {
        kept |= inexact;
    }
    double y = ldexp((double)kept, cut);
    if (c->sat && c->to != T_F64)
        y = neg ? 0 : y > 1 ? 1 : y;
    return fmt_from_double(float_type(c->to), r, false, neg && y != 0 ? -y : y);
}

/* The value rounded to an integer, in the same type. */
static uint64_t
float_to_whole(const Cvt *c, uint64_t raw)
{
    double x = lane_float(c->from, raw, c->ftz);
    double y = copysign(to_whole(c->round, x), x);
    if (c->sat)
        y = !(y > 0) ? 0 : y > 1 ? 1 : y;
    return fmt_from_double(float_type(c->to), FMT_RN, false, x != x ? NAN : y);
}

BY_WORD(run_int_to_int, int_to_int(i->more, x))
BY_WORD(run_float_to_int, float_to_int(i->more, x))
BY_WORD(run_int_to_float, int_to_float(i->more, x))
BY_WORD(run_float_to_whole, float_to_whole(i->more, x))
BY_WORD(run_floats, fmt_cvt_run(i->more, x, y))

/* ---- rows ------------------------------------------------------------------------ */

static void
dec_floats(Dec *d)
{
    FmtCvt *c = dec_more(d, sizeof *c);
    if (!fmt_cvt_decode(c, d->text))
        dec_fail(d, "this conversion is not simulated");
    dec_take_all(d);
    int to = c->n * fmt_bits(c->to) / 8;
    int from = c->n / c->n_sources * fmt_bits(c->from) / 8;
    dec_out(d, 0, to);
    /* A literal is a number of the source's type: cvt.rp.ue8m0x2.f32 d, 0.0, x. */
    Type t = from == 4 && c->from == FMT_F32 ? T_F32
             : c->from == FMT_F64            ? T_F64
                                             : T_NONE;
    for (int k = 0; k < c->n_sources; k++) {
        if (t == T_NONE)
            dec_in(d, k + 1, from);
        else
            dec_in_typed(d, k + 1, t);
    }
    dec_operands(d, c->n_sources + 1);
    dec_places(d);
    d->ins->run = run_floats;
    if (c->to == FMT_F64 && c->from == FMT_F32 && !c->ftz && d->in[0].bytes == 4)
        d->ins->run = f64_f32;
}

/* A frequent pair, when the registers are as wide as the types. */
static Run *
fast_pair(const Dec *d, Type to, Type from)
{
    static const struct {
        uint8_t to, from;
        bool is_signed;
        Run *run;
    } rows[] = {{8, 4, false, u64_u32}, {8, 4, true, s64_s32},  {4, 8, false, u32_u64},
                {4, 8, true, u32_u64},  {2, 4, false, u16_u32}, {2, 4, true, u16_u32},
                {4, 2, false, u32_u16}, {4, 2, true, s32_s16}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (rows[k].to == type_info[to].bytes &&
            rows[k].from == type_info[from].bytes &&
            rows[k].is_signed == is_signed(from) && d->out[0].bytes == rows[k].to &&
            d->in[0].bytes == rows[k].from)
            return rows[k].run;
    return NULL;
}

static void
dec_cvt(Dec *d)
{
    Type types[2] = {T_NONE, T_NONE};
    int n = 0, whole = -1;
    if (dec_has(d, "pack") || dec_has(d, "rs")) {
        (d->mod[0][0] == 'p' ? dec_pack : dec_random)(d);
        return;
    }
    for (int k = 0; k < d->n_mods; k++) {
        Type t = type_named(d->mod[k]);
        if (t && n < 2)
            types[n++] = t;
        for (int r = 0; to_int_words[r]; r++)
            whole = strcmp(d->mod[k], to_int_words[r]) ? whole : r;
    }
    bool to_float = type_info[types[0]].kind == 'f',
         of_float = type_info[types[1]].kind == 'f';
    if (n < 2 || (to_float && of_float && whole < 0)) {
        dec_floats(d);
        return;
    }
    Cvt *c = dec_more(d, sizeof *c);
    c->to = dec_type(d);
    c->from = dec_type(d);
    dec_refuse(d, type_info[c->to].kind == 'b' || type_info[c->from].kind == 'b' ||
                      c->to == T_F16X2 || c->to == T_BF16X2 || c->from == T_F16X2 ||
                      c->from == T_BF16X2 ||
                      (to_float && of_float && c->to != c->from));
    c->sat = dec_has(d, "sat");
    if (c->sat && !to_float && !of_float &&
        (is_signed(c->from)
             ? is_signed(c->to) && type_info[c->to].bytes >= type_info[c->from].bytes
             : type_info[c->to].bytes > type_info[c->from].bytes))
        dec_fail(d, ".sat where nothing can be too large");
    c->ftz = (c->to == T_F32 || c->from == T_F32) && dec_has(d, "ftz");
    c->round = of_float   ? dec_one(d, to_int_words)
               : to_float ? dec_one(d, to_float_words)
                          : 0;
    if (c->round < 0)
        dec_fail(d, "no rounding");
    dec_operands(d, 2);
    if (to_float)
        dec_out(d, 0, type_info[c->to].bytes);
    else
        dec_out_wide(d, &d->opd[0], type_info[c->to].bytes);
    if (of_float)
        dec_in_typed(d, 1, c->from);
    else
        dec_in_wide(d, &d->opd[1], type_info[c->from].bytes);
    dec_places(d);
    if (of_float)
        d->ins->run = to_float ? run_float_to_whole : run_float_to_int;
    else
        d->ins->run = to_float ? run_int_to_float : run_int_to_int;
    Run *fast = to_float || of_float || c->sat ? NULL : fast_pair(d, c->to, c->from);
    if (fast)
        d->ins->run = fast;
    /* The register's upper bits are not looked at; an integer's sign is copied. */
    if (to_float || of_float || c->sat) {
        d->ins->undef = UNDEF_LOW;
        d->ins->bytes = type_info[c->from].bytes;
    } else {
        dec_bitwise(d, 1);
    }
}

const OpRow convert_ops[] = {{"cvt", dec_cvt}, {NULL, NULL}};
