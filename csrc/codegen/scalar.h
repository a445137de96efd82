/* scalar.h: what scalar.c and cast.c share; the names others call are in codegen.h. */
#ifndef TEGULA_SCALAR_H
#define TEGULA_SCALAR_H

#include "codegen/codegen.h"

static inline Lt
like(Lv x, Lt t)
{
    return ll_vec(t, ll_lanes(x));
}

/* An integer constant of x's type. */
static inline Lv
same_int(Lv x, uint64_t v)
{
    Lt t = LLVMTypeOf(x);
    if (LLVMGetTypeKind(t) != LLVMVectorTypeKind)
        return LLVMConstInt(t, v, false);
    Lv all[256], one = LLVMConstInt(LLVMGetElementType(t), v, false);
    unsigned n = LLVMGetVectorSize(t);
    for (unsigned i = 0; i < n && i < COUNT(all); i++)
        all[i] = one;
    return LLVMConstVector(all, n);
}

static inline Lv
same_float(Ll *l, Lv x, double v)
{
    Lt t = LLVMTypeOf(x);
    if (LLVMGetTypeKind(t) == LLVMVectorTypeKind)
        t = LLVMGetElementType(t);
    return ll_splat(l, LLVMConstReal(t, v), ll_lanes(x));
}

static inline Lv
cmp_int(Ll *l, LLVMIntPredicate p, Lv x, Lv y)
{
    return LLVMBuildICmp(l->b, p, x, y, "");
}

static inline Lv
choose(Ll *l, Lv c, Lv x, Lv y)
{
    return LLVMBuildSelect(l->b, c, x, y, "");
}

static inline Lv
unary(Ll *l, const char *name, Lv x)
{
    Lt t = LLVMTypeOf(x);
    return ll_intrinsic(l, name, &t, 1, &x, 1);
}

static inline Lv
binary(Ll *l, const char *name, Lv x, Lv y)
{
    Lt t = LLVMTypeOf(x);
    return ll_intrinsic(l, name, &t, 1, (Lv[]){x, y}, 2);
}

/* Floats of 8 and 16 bits as a float, exactly; and back. */
Lv cast_narrow_to_float(Ll *l, Elem e, Lv x);
Lv cast_float_to_narrow(Ll *l, Elem e, Lv x, int rounding);

#endif
