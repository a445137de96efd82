/* foreign_calls: what the code of a user's library may call on a host.
 *
 * Functions of the C library by their names, which CUDA's libdevice shares but for the prefix
 * __nv_; those that only libdevice has; and arithmetic in a direction of rounding, which no
 * instruction of a CPU has in itself.
 */
#include "codegen/library/foreign.h"
#include "codegen/host/calls.h"
#include "runtime/runtime.h"

#include <fenv.h>
#include <math.h>
#include <stdlib.h>

/* ---- rounding ------------------------------------------------------------------------------ */

static const int directions[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

/* volatile: the compiler believes that nobody changes the direction. */
#define ROUNDED(name, T, FMA, SQRT)                                                    \
    static T name(int32_t op, int32_t mode, T a, T b, T c)                             \
    {                                                                                  \
        volatile T x = a, y = b, z = c, r = 0;                                         \
        int was = fegetround();                                                        \
        fesetround(directions[mode & 3]);                                              \
        switch (op) {                                                                  \
        case '+': r = x + y; break;                                                    \
        case '-': r = x - y; break;                                                    \
        case '*': r = x * y; break;                                                    \
        case '/': r = x / y; break;                                                    \
        case 'f': r = FMA(x, y, z); break;                                             \
        case 's': r = SQRT(x); break;                                                  \
        default: r = 1 / x;                                                            \
        }                                                                              \
        fesetround(was);                                                               \
        return r;                                                                      \
    }
ROUNDED(rounded_d, double, fma, sqrt)
ROUNDED(rounded_f, float, fmaf, sqrtf)

#define INT_TO(name, T)                                                                \
    static T name(int32_t mode, int32_t is_signed, int64_t v)                          \
    {                                                                                  \
        volatile int64_t s = v;                                                        \
        volatile uint64_t u = (uint64_t)v;                                             \
        int was = fegetround();                                                        \
        fesetround(directions[mode & 3]);                                              \
        volatile T r = is_signed ? (T)s : (T)u;                                        \
        fesetround(was);                                                               \
        return r;                                                                      \
    }
INT_TO(int_to_d, double)
INT_TO(int_to_f, float)

static float
narrowed(int32_t mode, double v)
{
    volatile double x = v;
    int was = fegetround();
    fesetround(directions[mode & 3]);
    volatile float r = (float)x;
    fesetround(was);
    return r;
}

/* ---- assembly ------------------------------------------------------------------------------- */

/* One element through it. What goes wrong is told when the launch is over. */
static void
foreign_assembly_run(PtxCache *cache, const PtxSite *site, void *const *data)
{
    static const int32_t first[3] = {0, 0, 0}, only[3] = {1, 1, 1};
    PtxBlock block[PTX_MAX_OPERANDS];
    PtxRun r = {0};
    char err[PTX_ERROR] = "";
    const PtxAsm *a = ptx_cache_get(cache, site->text, site->sm, err);
    if (a) {
        ptx_site_run(site, data, block, &r);
        r.pid = first;
        r.grid = only;
        if (ptx_asm_run(a, &r, err))
            return;
    }
    char *none = NULL, *text = malloc(ERR_TEXT);
    if (!text)
        return;
    snprintf(text, ERR_TEXT, "%.300s:%d: in the assembly of a library: %.600s",
             site->file, site->line, err);
    if (!__atomic_compare_exchange_n(&cache->fault, &none, text, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        free(text);
}

/* ---- what C has not ------------------------------------------------------------------------- */

static double
my_rsqrt(double x)
{
    return 1 / sqrt(x);
}

static float
my_rsqrtf(float x)
{
    return (float)(1 / sqrt((double)x));
}

static double
my_rcbrt(double x)
{
    return 1 / cbrt(x);
}

static float
my_rcbrtf(float x)
{
    return (float)(1 / cbrt((double)x));
}

/* sin(pi x): the part that matters is exact. */
static double
my_sinpi(double x)
{
    double y = fmod(fabs(x), 2), s = y >= 1 ? -1 : 1;
    y = y >= 1 ? y - 1 : y;
    y = y > 0.5 ? 1 - y : y;
    double r = y > 0.25 ? cos(M_PI * (0.5 - y)) : sin(M_PI * y);
    return copysign(1, x) * s * r;
}

static double
my_cospi(double x)
{
    double y = fmod(fabs(x), 2);
    y = y > 1 ? 2 - y : y;
    return y > 0.75   ? -cos(M_PI * (1 - y))
           : y > 0.25 ? sin(M_PI * (0.5 - y))
                      : cos(M_PI * y);
}

static float
my_sinpif(float x)
{
    return (float)my_sinpi((double)x);
}

static float
my_cospif(float x)
{
    return (float)my_cospi((double)x);
}

static double
my_exp10(double x)
{
    return pow(10, x);
}

static float
my_exp10f(float x)
{
    return (float)pow(10, (double)x);
}

/* What rounding -x / sqrt(2) loses comes back by the slope of erfc there. */
static double
my_normcdf(double x)
{
    const double rest = -4.8336466567264573e-17; /* 1 / sqrt(2) - M_SQRT1_2 */
    double t = -x * M_SQRT1_2;
    double lost = isfinite(x) ? fma(-x, M_SQRT1_2, -t) - x * rest : 0;
    return 0.5 * erfc(t) - exp(-t * t) * lost * (M_2_SQRTPI / 2);
}

static float
my_normcdff(float x)
{
    return (float)my_normcdf((double)x);
}

static double
my_rhypot(double x, double y)
{
    return 1 / hypot(x, y);
}

static float
my_rhypotf(float x, float y)
{
    return (float)(1 / hypot((double)x, (double)y));
}

static void
my_sincos(double x, double *s, double *c)
{
    *s = sin(x);
    *c = cos(x);
}

static void
my_sincosf(float x, float *s, float *c)
{
    *s = sinf(x);
    *c = cosf(x);
}

/* ---- the table -------------------------------------------------------------------------------- */

/* Types: T float or double, i and l integers of 32 and 64 bits, p a pointer, v nothing; the
 * result's first. NULL: only our own code calls it. */
typedef struct Symbol {
    const char *name;
    const void *address;
    char real; /* what T is: f or d */
    const char *types;
} Symbol;

/* clang-format off */
#define OF(fn) ((const void *)(uintptr_t)(fn))
#define PAIR(name, types) {#name, OF(name), 'd', types}, {#name "f", OF(name##f), 'f', types}
#define MINE(name, types) {#name, OF(my_##name), 'd', types}, {#name "f", OF(my_##name##f), 'f', types}

static const Symbol symbols[] = {
    {"tegula_rounded_d", OF(rounded_d), 'd', NULL},
    {"tegula_rounded_f", OF(rounded_f), 'f', NULL},
    {"tegula_int_to_d", OF(int_to_d), 'd', NULL},
    {"tegula_int_to_f", OF(int_to_f), 'f', NULL},
    {"tegula_narrowed", OF(narrowed), 'f', NULL},
    {"tegula_foreign_assembly", OF(foreign_assembly_run), 'd', NULL},
    {"malloc", OF(malloc), 'd', "pl"},
    {"free", OF(free), 'd', "vp"},
    {"memcpy", OF(memcpy), 'd', "pppl"},
    {"memmove", OF(memmove), 'd', "pppl"},
    {"memset", OF(memset), 'd', "ppil"},
    {"memcmp", OF(memcmp), 'd', "ippl"},
    {"strlen", OF(strlen), 'd', "lp"},
    PAIR(acos, "TT"),
    PAIR(acosh, "TT"),
    PAIR(asin, "TT"),
    PAIR(asinh, "TT"),
    PAIR(atan, "TT"),
    PAIR(atan2, "TTT"),
    PAIR(atanh, "TT"),
    PAIR(cbrt, "TT"),
    PAIR(ceil, "TT"),
    PAIR(copysign, "TTT"),
    PAIR(cos, "TT"),
    PAIR(cosh, "TT"),
    PAIR(erf, "TT"),
    PAIR(erfc, "TT"),
    PAIR(exp, "TT"),
    PAIR(exp2, "TT"),
    PAIR(expm1, "TT"),
    PAIR(fabs, "TT"),
    PAIR(fdim, "TTT"),
    PAIR(floor, "TT"),
    PAIR(fma, "TTTT"),
    PAIR(fmax, "TTT"),
    PAIR(fmin, "TTT"),
    PAIR(fmod, "TTT"),
    PAIR(frexp, "TTp"),
    PAIR(hypot, "TTT"),
    PAIR(ilogb, "iT"),
    PAIR(ldexp, "TTi"),
    PAIR(lgamma, "TT"),
    PAIR(llrint, "lT"),
    PAIR(llround, "lT"),
    PAIR(log, "TT"),
    PAIR(log10, "TT"),
    PAIR(log1p, "TT"),
    PAIR(log2, "TT"),
    PAIR(logb, "TT"),
    PAIR(modf, "TTp"),
    PAIR(nearbyint, "TT"),
    PAIR(nextafter, "TTT"),
    PAIR(pow, "TTT"),
    PAIR(remainder, "TTT"),
    PAIR(remquo, "TTTp"),
    PAIR(rint, "TT"),
    PAIR(round, "TT"),
    PAIR(scalbn, "TTi"),
    PAIR(sin, "TT"),
    PAIR(sinh, "TT"),
    PAIR(sqrt, "TT"),
    PAIR(tan, "TT"),
    PAIR(tanh, "TT"),
    PAIR(tgamma, "TT"),
    PAIR(trunc, "TT"),
    MINE(exp10, "TT"),
    MINE(rsqrt, "TT"),
    MINE(rcbrt, "TT"),
    MINE(sinpi, "TT"),
    MINE(cospi, "TT"),
    MINE(normcdf, "TT"),
    MINE(rhypot, "TTT"),
    MINE(sincos, "vTpp"),
};
/* clang-format on */

const void *
foreign_address(const char *name)
{
    for (size_t i = 0; i < COUNT(symbols); i++)
        if (!strcmp(symbols[i].name, name))
            return symbols[i].address;
    return NULL;
}

const char *
foreign_types(const char *name, char *real)
{
    for (size_t i = 0; i < COUNT(symbols); i++)
        if (!strcmp(symbols[i].name, name)) {
            *real = symbols[i].real;
            return symbols[i].types;
        }
    return NULL;
}
