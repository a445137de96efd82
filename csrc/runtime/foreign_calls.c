/* foreign_calls: what the code of a user's library may call on a host.
 *
 * Functions of the C library by their names, which CUDA's libdevice shares but for the prefix
 * __nv_; those that only libdevice has; and arithmetic in a direction of rounding, which no
 * instruction of a CPU has in itself.
 */
#include "codegen/foreign.h"
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
        r.n_threads = 1;
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

#define PAIR(name)                                                                     \
    {#name, (void *)(uintptr_t)name},                                                  \
    {                                                                                  \
        #name "f", (void *)(uintptr_t)name##f                                          \
    }
#define MINE(name)                                                                     \
    {#name, (void *)(uintptr_t)my_##name},                                             \
    {                                                                                  \
        #name "f", (void *)(uintptr_t)my_##name##f                                     \
    }

static const HostSymbol foreign_symbols[] = {
    {"tegula_rounded_d", (void *)(uintptr_t)rounded_d},
    {"tegula_rounded_f", (void *)(uintptr_t)rounded_f},
    {"tegula_int_to_d", (void *)(uintptr_t)int_to_d},
    {"tegula_int_to_f", (void *)(uintptr_t)int_to_f},
    {"tegula_narrowed", (void *)(uintptr_t)narrowed},
    {"tegula_foreign_assembly", (void *)(uintptr_t)foreign_assembly_run},
    {"malloc", (void *)(uintptr_t)malloc},
    {"free", (void *)(uintptr_t)free},
    {"memcpy", (void *)(uintptr_t)memcpy},
    {"memmove", (void *)(uintptr_t)memmove},
    {"memset", (void *)(uintptr_t)memset},
    {"memcmp", (void *)(uintptr_t)memcmp},
    {"strlen", (void *)(uintptr_t)strlen},
    PAIR(acos),
    PAIR(acosh),
    PAIR(asin),
    PAIR(asinh),
    PAIR(atan),
    PAIR(atan2),
    PAIR(atanh),
    PAIR(cbrt),
    PAIR(ceil),
    PAIR(copysign),
    PAIR(cos),
    PAIR(cosh),
    PAIR(erf),
    PAIR(erfc),
    PAIR(exp),
    PAIR(exp2),
    PAIR(expm1),
    PAIR(fabs),
    PAIR(fdim),
    PAIR(floor),
    PAIR(fma),
    PAIR(fmax),
    PAIR(fmin),
    PAIR(fmod),
    PAIR(frexp),
    PAIR(hypot),
    PAIR(ilogb),
    PAIR(ldexp),
    PAIR(lgamma),
    PAIR(llrint),
    PAIR(llround),
    PAIR(log),
    PAIR(log10),
    PAIR(log1p),
    PAIR(log2),
    PAIR(logb),
    PAIR(modf),
    PAIR(nearbyint),
    PAIR(nextafter),
    PAIR(pow),
    PAIR(remainder),
    PAIR(remquo),
    PAIR(rint),
    PAIR(round),
    PAIR(scalbn),
    PAIR(sin),
    PAIR(sinh),
    PAIR(sqrt),
    PAIR(tan),
    PAIR(tanh),
    PAIR(tgamma),
    PAIR(trunc),
    MINE(exp10),
    MINE(rsqrt),
    MINE(rcbrt),
    MINE(sinpi),
    MINE(cospi),
    MINE(normcdf),
    MINE(rhypot),
    MINE(sincos),
};

const void *
foreign_address(const char *name)
{
    for (size_t i = 0; i < COUNT(foreign_symbols); i++)
        if (!strcmp(foreign_symbols[i].name, name))
            return foreign_symbols[i].address;
    return NULL;
}

bool
foreign_is_symbol(const char *name)
{
    return foreign_address(name) != NULL;
}
