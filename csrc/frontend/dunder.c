/* dunder: operators of blocks and scalars under the names that Python gives their methods.
 *
 *     x.__rshift__(4)       x >> 4
 *     x.__rsub__(1)         1 - x
 *
 * Kernels write that where an operator would bind otherwise than meant, or to pass on which
 * one they want. One row an operator; what it does is the operator's own.
 */
#include "frontend/fe.h"

#include <string.h>

/*  method    operator  what it says of itself */
#define BINARY(X)                                                                      \
    X(add, Add, "x + y")                                                               \
    X(sub, Sub, "x - y")                                                               \
    X(mul, Mult, "x * y")                                                              \
    X(truediv, Div, "x / y")                                                           \
    X(floordiv, FloorDiv, "x // y")                                                    \
    X(mod, Mod, "x % y")                                                               \
    X(and, BitAnd, "x & y")                                                            \
    X(or, BitOr, "x | y")                                                              \
    X(xor, BitXor, "x ^ y")                                                            \
    X(lshift, LShift, "x << y")                                                        \
    X(rshift, RShift, "x >> y")
#define COMPARE(X)                                                                     \
    X(eq, Eq, "x == y")                                                                \
    X(ne, NotEq, "x != y")                                                             \
    X(lt, Lt, "x < y")                                                                 \
    X(le, LtE, "x <= y")                                                               \
    X(gt, Gt, "x > y")                                                                 \
    X(ge, GtE, "x >= y")
#define UNARY(X)                                                                       \
    X(neg, USub, "-x")                                                                 \
    X(invert, Invert, "~x")

#define X(name, opr, doc)                                                              \
    static Value method_##name(Fe *f, Value *a)                                        \
    {                                                                                  \
        return fe_binary(f, OPR_##opr, a[0], a[1]);                                    \
    }                                                                                  \
    static Value method_r##name(Fe *f, Value *a)                                       \
    {                                                                                  \
        return fe_binary(f, OPR_##opr, a[1], a[0]);                                    \
    }
BINARY(X)
#undef X
#define X(name, opr, doc)                                                              \
    static Value method_##name(Fe *f, Value *a)                                        \
    {                                                                                  \
        return fe_compare(f, OPR_##opr, a[0], a[1]);                                   \
    }
COMPARE(X)
#undef X
#define X(name, opr, doc)                                                              \
    static Value method_##name(Fe *f, Value *a)                                        \
    {                                                                                  \
        return fe_unary(f, OPR_##opr, a[0]);                                           \
    }
UNARY(X)
#undef X

static const Builtin methods[] = {
#define X(name, opr, doc)                                                              \
    {"__" #name "__", "x, y", method_##name, BI_MEMBER, doc},                          \
        {"__r" #name "__", "y, x", method_r##name, BI_MEMBER, doc},
    BINARY(X)
#undef X
#define X(name, opr, doc) {"__" #name "__", "x, y", method_##name, BI_MEMBER, doc},
        COMPARE(X)
#undef X
#define X(name, opr, doc) {"__" #name "__", "x", method_##name, BI_MEMBER, doc},
            UNARY(X)
#undef X
};

const Builtin *
fe_operator_method(const char *name)
{
    if (strncmp(name, "__", 2) != 0)
        return NULL;
    for (int i = 0; i < (int)COUNT(methods); i++)
        if (!strcmp(methods[i].name, name))
            return &methods[i];
    return NULL;
}
