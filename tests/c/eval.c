/* eval: conversions against the definition of rounding, arithmetic against plain C. */
#include "test.h"

#include "ir/ir.h"

#include <float.h>
#include <math.h>

/* ---- conversions ---------------------------------------------------------------- */

static const struct {
    Elem e;
    uint64_t max;
} narrow[] = {
    {E_F16, 0x7bff},   {E_BF16, 0x7f7f}, {E_F8E4M3, 0x7e},  {E_F8E5M2, 0x7b},
    {E_F8E4B15, 0x7e}, {E_F8E4B8, 0x7f}, {E_F8E5B16, 0x7f},
};

/* Every pair of neighbours a < b: a and b stay, what is between goes to the nearer
 * one, the middle to the even one. Doubles hold all of these exactly. */
void
test_eval_rounding(Test *t)
{
    for (size_t k = 0; k < COUNT(narrow); k++) {
        Elem e = narrow[k].e;
        uint64_t sign = (uint64_t)1 << (elem_info[e].bits - 1);
        bool away = e == E_F8E4B15, fnuz = e == E_F8E4B8 || e == E_F8E5B16;
        bool ok = true, tie = true, cut = true;
        for (uint64_t i = 0; i < narrow[k].max; i++) {
            double a = elem_to_double(e, i), b = elem_to_double(e, i + 1),
                   mid = (a + b) / 2;
            ok &= elem_from_double(e, a) == i &&
                  elem_from_double(e, -a) == (fnuz && !i ? 0 : sign | i);
            tie &= elem_from_double(e, mid) == (i & 1 || away ? i + 1 : i);
            tie &= elem_from_double(e, nextafter(mid, a)) == i;
            tie &= elem_from_double(e, nextafter(mid, b)) == i + 1;
            tie &= elem_from_double(e, -nextafter(mid, b)) == (sign | (i + 1));
            uint64_t below_b;
            double near = nextafter(b, 0);
            memcpy(&below_b, &near, 8);
            cut &= elem_cast(E_F64, e, below_b, ROUND_RTZ) == i + away;
        }
        CHECKF(t, ok, "%s: values come back", elem_info[e].text);
        CHECKF(t, tie, "%s: nearest, ties to even or away", elem_info[e].text);
        CHECKF(t, cut, "%s: toward zero", elem_info[e].text);
    }
}

void
test_eval_conversions(Test *t)
{
    CHECK(t, elem_from_double(E_F16, 65519.9) == 0x7bff);
    CHECK(t, elem_from_double(E_F16, 65520) == 0x7c00); /* rounds to 2^16: infinity */
    CHECK(t, elem_from_double(E_F16, -INFINITY) == 0xfc00);
    CHECK(t, elem_from_double(E_F8E4M3, 1e9) == 0x7e); /* saturates at 448 */
    CHECK(t, elem_from_double(E_F8E4M3, -INFINITY) == 0xfe);
    CHECK(t, elem_from_double(E_F8E5M2, 1e9) == 0x7b);
    CHECK(t, isnan(elem_to_double(E_F8E4M3, 0x7f)) &&
                 elem_to_double(E_F8E4M3, 0x7e) == 448);
    CHECK(t, isinf(elem_to_double(E_F8E5M2, 0x7c)) &&
                 isnan(elem_to_double(E_F8E5M2, 0x7d)));
    CHECK(t, elem_from_double(E_F32, NAN) == 0x7fc00000 &&
                 elem_from_double(E_F8E5M2, NAN) == 0x7f);
    CHECK(t, elem_from_double(E_F8E4B8, 1e9) == 0x7f &&
                 elem_from_double(E_F8E4B8, -1e9) == 0xff &&
                 elem_to_double(E_F8E4B8, 0x7f) == 240 &&
                 elem_to_double(E_F8E5B16, 0x7f) == 57344);
    CHECK(t, elem_from_double(E_F8E5B16, -INFINITY) == 0x80 &&
                 elem_from_double(E_F8E5B16, NAN) == 0x80 &&
                 elem_from_double(E_F8E5B16, -1e-30) == 0 &&
                 isnan(elem_to_double(E_F8E5B16, 0x80)));
    CHECK(t, elem_from_double(E_F8E4B15, NAN) == 0x7e &&
                 elem_from_double(E_F8E4B15, -INFINITY) == 0xfe &&
                 elem_to_double(E_F8E4B15, 0x7e) == 1.75 &&
                 elem_to_double(E_F8E4B15, 0xff) == -1.875);
    for (uint64_t i = 0; i < 2; i++) { /* what has no sign keeps none */
        uint64_t zero_or_nan = i << 7, r = 1;
        CHECK(t, ir_eval(OP_NEG, E_F8E4B8, E_F8E4B8, &zero_or_nan, 1, &r) &&
                     r == zero_or_nan);
        CHECK(t, ir_eval(OP_ABS, E_F8E4B8, E_F8E4B8, &zero_or_nan, 1, &r) &&
                     r == zero_or_nan);
    }
    uint64_t huge = 0x7fefffffffffffff; /* the largest double */
    CHECK(t, elem_cast(E_F64, E_F16, huge, ROUND_RTZ) == 0x7bff);
    CHECK(t, elem_cast(E_F64, E_F32, huge, ROUND_RTNE) == 0x7f800000);

    for (int i = 0; i < 20000; i++) { /* f32 against the machine */
        uint64_t bits = test_random(t), got;
        if (i & 1) /* near the subnormals of f32 */
            bits = (bits & 0x800fffffffffffff) | (uint64_t)(860 + test_below(t, 40))
                                                     << 52;
        double v;
        memcpy(&v, &bits, 8);
        float f = (float)v;
        uint32_t want;
        memcpy(&want, &f, 4);
        got = elem_from_double(E_F32, v);
        CHECKF(t, isnan(v) ? got == 0x7fc00000 : got == want, "%a: %llx", v,
               (unsigned long long)got);
    }

    CHECK(t, elem_from_double(E_I8, 1e9) == 0xff && elem_from_double(E_I8, -1e9) == 0);
    CHECK(t, elem_from_double(E_I8, 300) == 44 && elem_from_double(E_U8, 300) == 44);
    CHECK(t, elem_from_double(E_I16, 1e9) == 0x7fff);
    CHECK(t, elem_from_double(E_U8, -3) == 0 && elem_from_double(E_U8, 255.9) == 255);
    CHECK(t, elem_from_double(E_I64, 0x1p63) == INT64_MAX);
    CHECK(t, elem_from_double(E_U64, 0x1p64) == UINT64_MAX &&
                 elem_from_double(E_I32, NAN) == 0);
    CHECK(t, elem_from_double(E_I1, NAN) == 1 && elem_from_double(E_I1, 0.25) == 1);
    CHECK(t, elem_from_double(E_I1, -0.0) == 0);
    CHECK(t, elem_cast(E_I1, E_I32, 1, 0) == 1 &&
                 elem_cast(E_I8, E_U32, 0xff, 0) == 0xffffffff);
    CHECK(t,
          elem_cast(E_U8, E_I32, 0xff, 0) == 255 && elem_cast(E_I32, E_I1, 2, 0) == 1);
    CHECK(t, elem_cast(E_U64, E_F64, UINT64_MAX, 0) == 0x43f0000000000000);  /* 2^64 */
    CHECK(t, elem_cast(E_I64, E_F32, (uint64_t)INT64_MIN, 0) == 0xdf000000); /* -2^63 */
    CHECK(t, elem_cast(E_I32, E_F16, 100000, 0) == 0x7c00);
}

/* ---- arithmetic ----------------------------------------------------------------- */

static uint64_t
eval2(OpCode op, Elem e, uint64_t a, uint64_t b)
{
    uint64_t r = 0xdead;
    return ir_eval(op, e, e, (uint64_t[]){a, b}, 2, &r) ? r : 0xbad;
}

static int
shift_right(int x, int count)
{
    return count < 0 || count >= 8 ? (x < 0 ? -1 : 0) : x >> count;
}

/* All pairs of 8-bit integers. */
void
test_eval_ints(Test *t)
{
    bool ok = true;
    for (int a = -128; a < 128; a++)
        for (int b = -128; b < 128; b++) {
            uint64_t x = (uint8_t)a, y = (uint8_t)b;
            ok &= eval2(OP_ADD, E_I8, x, y) == (uint8_t)(a + b);
            ok &= eval2(OP_MUL, E_I8, x, y) == (uint8_t)(a * b);
            ok &= eval2(OP_SUB, E_U8, x, y) == (uint8_t)(x - y);
            ok &= eval2(OP_MIN, E_I8, x, y) == (uint8_t)MIN(a, b);
            ok &= eval2(OP_MAX, E_U8, x, y) == MAX(x, y);
            ok &= eval2(OP_LT, E_I8, x, y) == (a < b) &&
                  eval2(OP_GE, E_U8, x, y) == (x >= y);
            ok &= eval2(OP_LE, E_U8, x, y) == (x <= y) &&
                  eval2(OP_GT, E_I8, x, y) == (a > b);
            ok &= eval2(OP_SHL, E_I8, x, y) == (y > 7 ? 0 : (uint8_t)(x << y));
            ok &= eval2(OP_SHR, E_I8, x, y) == (uint8_t)shift_right(a, b);
            ok &= eval2(OP_SHR, E_U8, x, y) == (y > 7 ? 0 : x >> y);
            ok &= eval2(OP_UMULHI, E_I8, x, y) == x * y >> 8;
            ok &= eval2(OP_DIV, E_I8, x, y) == (b ? (uint8_t)(a / b) : 0xbad);
            ok &= eval2(OP_REM, E_I8, x, y) == (b ? (uint8_t)(a % b) : 0xbad);
            ok &= eval2(OP_DIV, E_U8, x, y) == (y ? x / y : 0xbad);
        }
    CHECK(t, ok);
    CHECK(t,
          eval2(OP_DIV, E_I64, (uint64_t)INT64_MIN, UINT64_MAX) == (uint64_t)INT64_MIN);
    CHECK(t, eval2(OP_REM, E_I64, (uint64_t)INT64_MIN, UINT64_MAX) == 0);
    CHECK(t, eval2(OP_UMULHI, E_I64, UINT64_MAX, UINT64_MAX) == UINT64_MAX - 1);
    CHECK(t, eval2(OP_UMULHI, E_U64, 0x123456789abcdef0, 0xfedcba9876543210) ==
                 0x121fa00ad77d7422);
    CHECK(t, eval2(OP_SHR, E_I64, (uint64_t)INT64_MIN, 63) == UINT64_MAX);
    CHECK(t, eval2(OP_ADD, E_I1, 1, 1) == 0);
    CHECK(t,
          eval2(OP_NEG, E_I8, 0x80, 0) == 0x80 && eval2(OP_ABS, E_I8, 0x80, 0) == 0x80);
}

static uint64_t
f(Elem e, double v)
{
    return elem_from_double(e, v);
}

/* r is a * b + c rounded once: no neighbour is nearer, and of two equally near ones
 * it is the even one. The exact sum of these fits into 64 bits of significand. */
static bool
is_nearest(Elem e, uint64_t r, long double exact)
{
    uint64_t mag = r & 0x7fff;
    long double d = fabsl((long double)elem_to_double(e, r) - exact);
    for (int step = -1; step <= 1; step += 2) {
        if ((mag == 0 && step < 0) || (mag == 0x7bff && step > 0))
            continue;
        long double dn =
            fabsl((long double)elem_to_double(e, r + (uint64_t)step) - exact);
        if (dn < d || (dn == d && r & 1))
            return false;
    }
    return true;
}

void
test_eval_floats(Test *t)
{
    uint64_t nan = f(E_F32, NAN), r;
    CHECK(t, eval2(OP_MIN, E_F32, nan, f(E_F32, 1)) == f(E_F32, 1));
    CHECK(t, eval2(OP_MAX, E_F32, f(E_F32, 1), nan) == f(E_F32, 1));
    CHECK(t, eval2(OP_MAX, E_F32, nan, nan) == nan);
    CHECK(t, eval2(OP_MINNAN, E_F32, nan, f(E_F32, 1)) == nan);
    CHECK(t, eval2(OP_MIN, E_F32, 0, f(E_F32, -0.0)) == f(E_F32, -0.0));
    CHECK(t, eval2(OP_MAX, E_F32, f(E_F32, -0.0), 0) == 0);
    CHECK(t, eval2(OP_EQ, E_F32, nan, nan) == 0 && eval2(OP_NE, E_F32, nan, nan) == 1);
    CHECK(t, eval2(OP_LE, E_F16, f(E_F16, NAN), 0) == 0);
    CHECK(t, eval2(OP_ADD, E_F32, f(E_F32, 0x1p24), f(E_F32, 1)) == f(E_F32, 0x1p24));
    CHECK(t, eval2(OP_ADD, E_F16, f(E_F16, 2048), f(E_F16, 1)) == f(E_F16, 2048));
    CHECK(t, eval2(OP_SUB, E_F32, f(E_F32, INFINITY), f(E_F32, INFINITY)) == nan);
    CHECK(t, eval2(OP_REM, E_F32, f(E_F32, -5.5), f(E_F32, 2)) == f(E_F32, -1.5));
    CHECK(t, eval2(OP_NEG, E_F32, 0x7fc12345, 0) == 0xffc12345); /* payload kept */
    CHECK(t, eval2(OP_NEG, E_F16, 0, 0) == 0x8000 &&
                 eval2(OP_ABS, E_F64, f(E_F64, -2), 0) == f(E_F64, 2));
    CHECK(t, eval2(OP_RSQRT, E_F32, f(E_F32, 4), 0) == f(E_F32, 0.5));
    CHECK(t, eval2(OP_EXP2, E_F64, f(E_F64, 10), 0) == f(E_F64, 1024));
    CHECK(t,
          eval2(OP_AND, E_F32, 1, 1) == 0xbad && eval2(OP_EXP, E_I32, 1, 0) == 0xbad);

    /* 1 + 2^-11 lies in the middle of two f16; 2^-24 * 2^-24 more decides. */
    uint64_t fma[] = {f(E_F16, 0x1p-24), f(E_F16, 0x1p-24), f(E_F16, 1)};
    ir_eval(OP_FMA, E_F16, E_F16, fma, 3, &r);
    CHECK(t, r == f(E_F16, 1));
    if (LDBL_MANT_DIG >= 64)
        for (int i = 0; i < 200000; i++) {
            uint64_t x[3];
            for (int k = 0; k < 3; k++) {
                x[k] = test_random(t) & 0xbfff; /* exponents that do not overflow */
                if (k < 2)
                    x[k] &= 0xdfff;
            }
            ir_eval(OP_FMA, E_F16, E_F16, x, 3, &r);
            long double exact = (long double)elem_to_double(E_F16, x[0]) *
                                    (long double)elem_to_double(E_F16, x[1]) +
                                (long double)elem_to_double(E_F16, x[2]);
            CHECKF(t, is_nearest(E_F16, r, exact), "fma %llx %llx %llx: %llx",
                   (unsigned long long)x[0], (unsigned long long)x[1],
                   (unsigned long long)x[2], (unsigned long long)r);
        }

    uint64_t ptr[] = {0x1000, (uint64_t)-3};
    ir_eval(OP_ADDPTR, E_I64, E_F32, ptr, 2, &r);
    CHECK(t, r == 0x1000 - 12);
    ptr[1] = 0xfffffffd;
    ir_eval(OP_ADDPTR, E_I32, E_F64, ptr, 2, &r);
    CHECK(t, r == 0x1000 - 24);
    ir_eval(OP_ADDPTR, E_U32, E_I8, ptr, 2, &r);
    CHECK(t, r == 0x1000 + 0xfffffffdull);
}
