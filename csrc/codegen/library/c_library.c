/* c_library: the functions of the C library that the code of a user's library may call on a
 * host. Any other name must be defined in a file of the user's.
 */
#include "codegen/library/foreign.h"

#include <math.h>
#include <stdlib.h>

/* Types: T float or double, i and l integers of 32 and 64 bits, p a pointer, v nothing; the
 * result's first. */
typedef struct Symbol {
    const char *name;
    const void *address;
    char real; /* what T is: f or d */
    const char *types;
} Symbol;

/* clang-format off */
#define OF(fn) ((const void *)(uintptr_t)(fn))
#define PAIR(name, types) {#name, OF(name), 'd', types}, {#name "f", OF(name##f), 'f', types}

static const Symbol symbols[] = {
    {"malloc", OF(malloc), 'd', "pl"}, {"free", OF(free), 'd', "vp"},
    {"memcpy", OF(memcpy), 'd', "pppl"}, {"memmove", OF(memmove), 'd', "pppl"},
    {"memset", OF(memset), 'd', "ppil"}, {"memcmp", OF(memcmp), 'd', "ippl"},
    {"strlen", OF(strlen), 'd', "lp"},
    PAIR(acos, "TT"), PAIR(acosh, "TT"), PAIR(asin, "TT"), PAIR(asinh, "TT"),
    PAIR(atan, "TT"), PAIR(atan2, "TTT"), PAIR(atanh, "TT"), PAIR(cbrt, "TT"),
    PAIR(ceil, "TT"), PAIR(copysign, "TTT"), PAIR(cos, "TT"), PAIR(cosh, "TT"),
    PAIR(erf, "TT"), PAIR(erfc, "TT"), PAIR(exp, "TT"), PAIR(exp2, "TT"),
    PAIR(expm1, "TT"), PAIR(fabs, "TT"), PAIR(fdim, "TTT"), PAIR(floor, "TT"),
    PAIR(fma, "TTTT"), PAIR(fmax, "TTT"), PAIR(fmin, "TTT"), PAIR(fmod, "TTT"),
    PAIR(frexp, "TTp"), PAIR(hypot, "TTT"), PAIR(ilogb, "iT"), PAIR(ldexp, "TTi"),
    PAIR(lgamma, "TT"), PAIR(llrint, "lT"), PAIR(llround, "lT"), PAIR(log, "TT"),
    PAIR(log10, "TT"), PAIR(log1p, "TT"), PAIR(log2, "TT"), PAIR(logb, "TT"),
    PAIR(modf, "TTp"), PAIR(nearbyint, "TT"), PAIR(nextafter, "TTT"), PAIR(pow, "TTT"),
    PAIR(remainder, "TTT"), PAIR(remquo, "TTTp"), PAIR(rint, "TT"), PAIR(round, "TT"),
    PAIR(scalbn, "TTi"), PAIR(sin, "TT"), PAIR(sinh, "TT"), PAIR(sqrt, "TT"),
    PAIR(tan, "TT"), PAIR(tanh, "TT"), PAIR(tgamma, "TT"), PAIR(trunc, "TT"),
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
