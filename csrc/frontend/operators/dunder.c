/* dunder: operators, and the names that Python gives their methods: of blocks and scalars,
 * and of classes of values, which may define them.
 *
 *     x.__rshift__(4)       x >> 4
 *     x.__rsub__(1)         1 - x
 *
 * Kernels write that where an operator would bind otherwise than meant, or to pass on which
 * one they want. One row an operator; what it does is the operator's own.
 *
 *     acc + v               acc.__add__(v), else v.__radd__(acc): an aggregate on either side
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

static Value
method_binary(Fe *f, Value *a)
{
    return fe_binary(f, (Operator)f->which, a[0], a[1]);
}

static Value
method_reflected(Fe *f, Value *a)
{
    return fe_binary(f, (Operator)f->which, a[1], a[0]);
}

static Value
method_compare(Fe *f, Value *a)
{
    return fe_compare(f, (Operator)f->which, a[0], a[1]);
}

static Value
method_unary(Fe *f, Value *a)
{
    return fe_unary(f, (Operator)f->which, a[0]);
}

#define ROW(text, sig, fn, opr, doc) {text, sig, fn, BI_MEMBER | BI_OF(OPR_##opr), doc},
static const Builtin methods[] = {
#define X(name, opr, doc)                                                              \
    ROW("__" #name "__", "x, y", method_binary, opr, doc)                              \
    ROW("__r" #name "__", "y, x", method_reflected, opr, doc)
    BINARY(X)
#undef X
#define X(name, opr, doc) ROW("__" #name "__", "x, y", method_compare, opr, doc)
        COMPARE(X)
#undef X
#define X(name, opr, doc) ROW("__" #name "__", "x", method_unary, opr, doc)
            UNARY(X)
#undef X
};

static const char *
operator_name(Operator o)
{
#define X(name, opr, doc)                                                              \
    if (o == OPR_##opr)                                                                \
        return #name;
    BINARY(X)
    COMPARE(X)
    UNARY(X)
#undef X
    return o == OPR_Pow ? "pow" : o == OPR_MatMult ? "matmul" : NULL;
}

static bool
is_aggregate(Value v)
{
    return v.kind == V_TUPLE && v.tuple->is_aggregate;
}

/* Is method name of v's class a function of the language, and *m that function of v? */
static bool
has_method(Fe *f, Value v, const char *name, Value *m)
{
    *m = is_aggregate(v) ? fe_attribute(f, v, name) : (Value){0};
    return m->kind == V_METHOD;
}

bool
fe_aggregate_operator(Fe *f, Operator o, Value a, Value b, Value *out)
{
    const char *name = operator_name(o);
    Value m;
    if (!name || (!is_aggregate(a) && !is_aggregate(b)))
        return false;
    if (has_method(f, a, str_printf(f->a, "__%s__", name), &m)) {
        *out = fe_call_value(f, m, !is_absent(b), &b);
        return true;
    }
    bool compares = o >= OPR_Eq && o <= OPR_GtE;
    if (!compares && has_method(f, b, str_printf(f->a, "__r%s__", name), &m)) {
        *out = fe_call_value(f, m, 1, &a);
        return true;
    }
    if (compares)
        return false;
    bool right = !is_aggregate(a);
    PyObject *cls = right ? b.tuple->type : a.tuple->type;
    PyObject *of = fe_own(f, PyType_GetName((PyTypeObject *)cls));
    const char *text = v_const_str(f, v_obj(of), "a name");
    err_help(f->c, "@tegula.jit def __%s%s__(self%s) in the class %s says what it is",
             right ? "r" : "", name, is_absent(b) ? "" : ", other", text);
    fail(f, TYPE, "the class %s has no operator '%s'", text, opr_text[o]);
}

bool
fe_aggregate_element(Fe *f, Value v, Value key, Value *out)
{
    Value m;
    if (!has_method(f, v, "__getitem__", &m))
        return false;
    *out = fe_call_value(f, m, 1, &key);
    return true;
}

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
