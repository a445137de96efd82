/* builtins_memory: load, store, atomics.
 *
 * A bool in memory is a byte: pointers to int1 are read and written as int8. What a masked-
 * off lane gives without `other` is left open by the language; here it is 0, which kernels
 * in the wild rely on.
 */
#include "frontend/fe.h"

/* The index of a word among words, which end with NULL; raises. */
static int
word(Fe *f, Value v, const char *what, const char *const *words)
{
    if (!fe_is_given(v))
        return 0;
    const char *s = v_const_str(f, v, what);
    Sb sb = {.a = f->a};
    for (int i = 0; words[i]; i++) {
        if (!strcmp(words[i], s))
            return i;
        sb_printf(&sb, "%s\"%s\"", i ? ", " : "", words[i]);
    }
    fail_of(f, v, VALUE, "%s must be one of %s, not \"%s\"", what, sb.at, s);
}

static const char *const load_cache[] = {"", ".ca", ".cg", ".cs", ".cv", NULL};
static const char *const store_cache[] = {"", ".wb", ".cg", ".cs", ".wt", NULL};
static const char *const evictions[] = {"", "evict_first", "evict_last", NULL};
static const char *const sems[] = {"acq_rel", "acquire", "release", "relaxed", NULL};
static const char *const load_sems[] = {"acquire", "relaxed", NULL};
static const char *const store_sems[] = {"release", "relaxed", NULL};
static const char *const scopes[] = {"gpu", "cta", "sys", NULL};

/* The pointer operand; pointers to int1 become pointers to int8. */
static Val *
pointer(Fe *f, Value v, bool writes)
{
    if (v.kind != V_TENSOR || !v.val->type->is_ptr) {
        if (v.kind == V_TENSOR && elem_is_int(v.val->type->elem))
            err_help(f->c, "a tensor that is passed to the kernel is a pointer; an "
                           "address becomes one by .to(tl.pointer_type(tl.float32))");
        else if (v.kind == V_TENSOR)
            err_help(f->c, "a tensor that is passed to the kernel is a pointer, and so "
                           "is that plus offsets; this is a value already");
        else if (is_py_none(v))
            err_help(f->c, "test it with 'is not None' first");
        else if (v.kind == V_TUPLE && !v.tuple->is_aggregate)
            err_help(f->c, "each pointer is given by itself: tl.%s(p), then tl.%s(q)",
                     f->callee, f->callee);
        fail_of(f, v, TYPE, "%s needs a pointer or a block of pointers, not %s",
                f->callee, is_py_none(v) ? fe_who(f, v) : v_describe(f, v));
    }
    if (writes && v.val->type->is_const)
        fail_of(f, v, TYPE, "%s through a pointer that is declared tl.const",
                f->callee);
    return v.val;
}

static Val *
byte_pointer(Fe *f, Val *p)
{
    if (p->type->elem != E_I1)
        return p;
    const Type *t = ty_ptr(f->c, E_I8, p->type->is_const);
    if (p->type->rank)
        t = ty_block(f->c, t, p->type->rank, p->type->shape);
    return ir_bitcast(&f->b, p, t);
}

Val *
fe_byte_pointer(Fe *f, Value v, bool writes)
{
    return byte_pointer(f, pointer(f, v, writes));
}

/* The mask as a block of i1, or NULL. */
static Val *
mask_of(Fe *f, Value v, const Val *p, const char *what)
{
    if (!fe_is_given(v))
        return NULL;
    if (v.kind == V_OBJ && PyUnicode_Check(v.obj))
        err_help(f->c, strstr(what, "atomic")
                           ? "the order and the scope go by name: sem=.., scope=.."
                           : "a mask is True or False of each element: i < n");
    Val *m = fe_tensor(f, v, what);
    if (m->type->is_ptr || m->type->elem != E_I1) {
        const char *text = fe_written(f, v);
        if (m->type->is_ptr)
            err_help(f->c, "that is an address: compare what it points to, "
                           "tl.load(p + offsets) != 0");
        else if (v.kind == V_OBJ && PyFloat_Check(v.obj) &&
                 !strcmp(what, "the mask of load"))
            err_help(f->c,
                     "what is loaded where the mask is False goes by name: "
                     "tl.load(p, mask, other=%s)",
                     v_short(f, v));
        else if (v.kind == V_OBJ)
            err_help(f->c, "a mask is True or False; offsets are added to the pointer, "
                           "p + i");
        else if (m->type->rank && !p->type->rank && elem_is_int(m->type->elem))
            err_help(f->c, "offsets are added to the pointer: p + %s",
                     text ? text : "offsets");
        else if (!strcmp(what, "the mask of store") && elem_is_float(m->type->elem))
            err_help(f->c, "the value comes second: tl.store(p + offsets, %s)",
                     text ? text : "value");
        else
            err_help(f->c,
                     text && strchr(text, ' ') ? "compare: (%s) != 0"
                                               : "compare: %s != 0",
                     text ? text : "mask");
        fail_of(f, v, TYPE, "%s must be of int1, not %s", what, ty_str(f->a, m->type));
    }
    if (!p->type->rank && m->type->rank) {
        err_help(f->c, "add a block of offsets to the pointer: p + tl.arange(..)");
        fail_of(f, v, VALUE, "%s cannot be a block when the pointer is a scalar", what);
    }
    return m;
}

static Value
load_block(Fe *f, Val *p, Val *mask, Val *other, const Value *a)
{
    Elem e = p->type->elem;
    if (other) {
        if (!p->type->rank && other->type->rank)
            fail(f, VALUE, "other cannot be a block when the pointer is a scalar");
        other = fe_cast(f, other, e == E_I1 ? E_I8 : e, ROUND_RTNE);
    }
    p = byte_pointer(f, p);
    /* A mask or other of more dims enlarges the block of pointers. */
    if (mask)
        fe_broadcast_pair(f, &p, &mask);
    if (other) {
        fe_broadcast_pair(f, &p, &other);
        mask = fe_broadcast_like(f, mask, p->type);
    }
    Val *v = ir_load(&f->b, p, mask, other);
    ir_set_attr(v->def, ATTR_CACHE, word(f, a[5], "cache_modifier", load_cache));
    ir_set_attr(v->def, ATTR_EVICT, word(f, a[6], "eviction_policy", evictions));
    if (!is_absent(a[7]))
        ir_set_attr(v->def, ATTR_VOLATILE, v_const_bool(f, a[7], "volatile"));
    return v_val(e == E_I1 ? fe_cast(f, v, E_I1, ROUND_RTNE) : v);
}

/* v is what goes to memory of elements e: the mistake is an address in place of what is
 * there. */
static void
no_pointer(Fe *f, Value v, Elem e, const char *what)
{
    if (v.kind != V_TENSOR || !v.val->type->is_ptr || e == E_I64 || e == E_U64 ||
        e == E_I1)
        return;
    const char *who = fe_who(f, v);
    fe_help_float(f, v);
    fail(f, TYPE, "the value of %s is %s, which does not fit into %s", what, who,
         elem_info[e].tl);
}

Val *
fe_stored_value(Fe *f, Value v, Elem e)
{
    Val *x = fe_tensor(f, v, "the value of store");
    no_pointer(f, v, e, "store");
    return fe_cast(f, x, e == E_I1 ? E_I8 : e, ROUND_RTNE);
}

/* A constant that e has not: 2.7 or -inf of integers, 300 of int8. -1 is all bits of uint8. */
static void
warn_constant(Fe *f, Value v, Elem e, const char *what)
{
    if (!is_number(v) || !elem_is_int(e) || e == E_I1)
        return;
    double d = PyFloat_AsDouble(v.obj), limit = ldexp(1, elem_info[e].bits);
    PyErr_Clear(); /* of an integer beyond doubles, which no type holds */
    if (d == trunc(d) && d >= -limit / 2 && d < limit)
        return;
    fe_blame(f, v);
    fe_warn(f, PyExc_UserWarning, "%s is %s, which %s cannot hold", what, v_short(f, v),
            elem_info[e].tl);
}

static bool
is_given(Value v)
{
    if (!fe_is_given(v) || (v.kind == V_TUPLE && !v.tuple->n))
        return false;
    return v.kind != V_OBJ || !PyUnicode_Check(v.obj) || PyUnicode_GetLength(v.obj) > 0;
}

Value
bi_load(Fe *f, Value *a)
{
    if (a[0].kind == V_BLOCK_PTR)
        return fe_block_ptr_load(f, a);
    Val *p = pointer(f, a[0], false);
    if (is_given(a[3]) || is_given(a[4]))
        fail_of(f, a[is_given(a[3]) ? 3 : 4], VALUE,
                "boundary_check and padding_option are for block pointers; use mask "
                "and other");
    Val *mask = mask_of(f, a[1], p, "the mask of load"), *other = NULL;
    if (fe_is_given(a[2])) {
        if (!mask) {
            err_help(f->c, "mask=i < n says which elements are read, and other stands "
                           "for the rest");
            fail_of(f, a[2], VALUE, "other cannot be provided without mask");
        }
        other = fe_tensor(f, a[2], "other");
        warn_constant(f, a[2], p->type->elem, "other");
    }
    return load_block(f, p, mask, other, a);
}

Value
bi_store(Fe *f, Value *a)
{
    if (a[0].kind == V_BLOCK_PTR)
        return fe_block_ptr_store(f, a);
    Val *p = pointer(f, a[0], true);
    if (is_given(a[3]))
        fail_of(f, a[3], VALUE, "boundary_check is for block pointers; use mask");
    Val *v = fe_tensor(f, a[1], "the value of store");
    warn_constant(f, a[1], p->type->elem, "the value of store");
    Val *mask = mask_of(f, a[2], p, "the mask of store");
    if (!p->type->rank && v->type->rank) {
        err_help(f->c, "add a block of offsets to the pointer: p + tl.arange(..)");
        fail(f, VALUE, "a block cannot be stored to a scalar pointer");
    }
    Elem e = p->type->elem;
    const Type *t = p->type;
    p = byte_pointer(f, p);
    no_pointer(f, a[1], e, "store");
    v = fe_cast(f, v, e == E_I1 ? E_I8 : e, ROUND_RTNE);
    v = fe_broadcast_like(f, v, t);
    if (mask)
        mask = fe_broadcast_like(f, mask, t);
    Op *o = ir_store(&f->b, p, v, mask);
    ir_set_attr(o, ATTR_CACHE,
                (int[]){CACHE_NONE, CACHE_WB, CACHE_CG, CACHE_CS,
                        CACHE_WT}[word(f, a[4], "cache_modifier", store_cache)]);
    ir_set_attr(o, ATTR_EVICT, word(f, a[5], "eviction_policy", evictions));
    return v_obj(Py_None);
}

Value
bi_prefetch(Fe *f, Value *a)
{
    static const char *const levels[] = {"L2", "L1", NULL};
    Val *p = pointer(f, a[0], false),
        *mask = mask_of(f, a[1], p, "the mask of prefetch");
    p = byte_pointer(f, p);
    if (mask)
        fe_broadcast_pair(f, &p, &mask);
    Op *o = ir_op(&f->b, OP_PREFETCH, mask ? 2 : 1, (Val *[]){p, mask}, 0, NULL);
    bool is_first = word(f, a[2], "level", levels) > 0;
    ir_set_attr(o, ATTR_CACHE, is_first ? CACHE_CA : CACHE_NONE);
    return v_obj(Py_None);
}

/* ---- atomics ------------------------------------------------------------------------------ */

static void
set_order(Fe *f, Op *o, Value sem, Value scope)
{
    ir_set_attr(o, ATTR_SEM, word(f, sem, "sem", sems));
    ir_set_attr(o, ATTR_SCOPE, word(f, scope, "scope", scopes));
}

/* An atomic that only reads, or only writes: of any number; a bool is a byte. */
Value
bi_atomic_one_way(Fe *f, Value *a)
{
    bool is_load = f->which == RMW_LOAD;
    const Value *rest = a + (is_load ? 1 : 2); /* mask, sem, scope */
    Val *p = pointer(f, a[0], !is_load), *v;
    Elem e = p->type->elem;
    Val *mask = mask_of(f, rest[0], p, "the mask of an atomic");
    p = byte_pointer(f, p);
    if (mask && is_load)
        fe_broadcast_pair(f, &p, &mask);
    const Type *t = ty_pointee(f->c, p->type);
    if (is_load) {
        v = ir_const_bits(&f->b, t, 0);
    } else {
        v = fe_tensor(f, a[1], "the value of an atomic");
        no_pointer(f, a[1], e, f->callee);
        warn_constant(f, a[1], e, "the value of an atomic");
        v = fe_cast(f, v, e, ROUND_RTNE);
        v = fe_cast(f, v, t->elem, ROUND_RTNE);
        if (!t->rank && v->type->rank)
            fail(f, VALUE, "a block of values needs a block of pointers");
        v = fe_broadcast_like(f, v, t);
        mask = mask ? fe_broadcast_like(f, mask, t) : NULL;
    }
    Op *o = ir_op(&f->b, OP_ATOMIC_RMW, mask ? 3 : 2, (Val *[]){p, v, mask}, 1, &t);
    int kind = word(f, rest[1], "sem", is_load ? load_sems : store_sems);
    ir_set_attr(o, ATTR_RMW, is_load ? RMW_LOAD : RMW_STORE);
    ir_set_attr(o, ATTR_SEM, kind ? SEM_RELAXED : is_load ? SEM_ACQUIRE : SEM_RELEASE);
    ir_set_attr(o, ATTR_SCOPE, word(f, rest[2], "scope", scopes));
    if (!is_load)
        return v_obj(Py_None);
    return v_val(e == E_I1 ? fe_cast(f, result(o, 0), E_I1, ROUND_RTNE) : result(o, 0));
}

Value
fe_atomic(Fe *f, int rmw, const Value *a, bool is_desc)
{
    Val *p = pointer(f, a[0], true);
    const Type *t = p->type;
    int bits = elem_info[t->elem].bits;
    bool is_float = elem_is_float(t->elem);
    bool halves = rmw == RMW_ADD || (is_desc && (rmw == RMW_MAX || rmw == RMW_MIN));
    bool of_bits = rmw == RMW_AND || rmw == RMW_OR || rmw == RMW_XOR;
    bool ok = bits >= 32 || (bits == 16 && is_float && halves);
    if (of_bits && is_desc)
        ok = ok && !is_float;
    if (!ok) {
        err_help(f->c, halves ? "32 and 64 bits, float16 and bfloat16 are possible"
                       : of_bits && is_desc ? "integers of 32 and 64 bits are possible"
                                            : "32 and 64 bits are possible");
        fail(f, TYPE, "%s does not support pointers to %s", f->callee,
             elem_info[t->elem].text);
    }
    Val *v = fe_tensor(f, a[1], "the value of an atomic");
    no_pointer(f, a[1], t->elem, f->callee);
    warn_constant(f, a[1], t->elem, "the value of an atomic");
    v = fe_cast(f, v, t->elem, ROUND_RTNE);
    Val *mask = mask_of(f, a[2], p, "the mask of an atomic");
    if (!t->rank && v->type->rank) {
        err_help(
            f->c,
            "reduce it first: tl.sum(x); or add a block of offsets to the pointer");
        fail(f, VALUE, "a block of values needs a block of pointers");
    }
    v = fe_broadcast_like(f, v, t);
    if (mask)
        mask = fe_broadcast_like(f, mask, t);
    const Type *r = ty_pointee(f->c, t), *kept = r;
    if (of_bits && is_float) { /* the bits of floats, as integers */
        Elem e = bits == 32 ? E_I32 : E_I64;
        v = ir_bitcast(&f->b, v, ty_with_elem(f->c, v->type, e));
        const Type *to = ty_ptr(f->c, e, false);
        p = ir_bitcast(&f->b, p, t->rank ? ty_block(f->c, to, t->rank, t->shape) : to);
        r = ty_with_elem(f->c, r, e);
    }
    Op *o = ir_op(&f->b, OP_ATOMIC_RMW, mask ? 3 : 2, (Val *[]){p, v, mask}, 1, &r);
    ir_set_attr(o, ATTR_RMW, rmw);
    set_order(f, o, a[3], a[4]);
    return v_val(r == kept ? result(o, 0) : ir_bitcast(&f->b, result(o, 0), kept));
}

Value
bi_atomic(Fe *f, Value *a)
{
    return fe_atomic(f, f->which, a, false);
}

Value
bi_atomic_cas(Fe *f, Value *a)
{
    Val *p = pointer(f, a[0], true);
    const Type *t = ty_pointee(f->c, p->type);
    if (elem_info[t->elem].bits < 16)
        fail(f, TYPE, "atomic_cas works on 16, 32 and 64 bits, not on %s",
             elem_info[t->elem].text);
    Val *v[3] = {p, fe_tensor(f, a[1], "cmp"), fe_tensor(f, a[2], "val")};
    const Type *kept = t; /* the result's: the signs of integers are val's */
    for (int i = 1; i < 3; i++) {
        Elem e = v[i]->type->elem;
        bool other_sign = !v[i]->type->is_ptr && e != t->elem && elem_is_int(e) &&
                          elem_is_int(t->elem) &&
                          elem_info[e].bits == elem_info[t->elem].bits;
        if (other_sign) {
            v[i] = ir_bitcast(&f->b, v[i], ty_with_elem(f->c, v[i]->type, t->elem));
            if (i == 2)
                kept = ty_with_elem(f->c, t, e);
        }
        bool fits = elem_is_float(t->elem) || !elem_is_float(v[i]->type->elem);
        if (a[i].kind == V_OBJ && fits) /* one of another width takes the pointer's */
            v[i] = fe_cast(f, v[i], t->elem, ROUND_RTNE);
        if (v[i]->type != t && !v[i]->type->rank && a[i].kind == V_OBJ)
            v[i] = fe_broadcast_like(f, v[i], t);
        if (v[i]->type != t) {
            err_help(f->c, t->rank == v[i]->type->rank
                               ? "convert it: x.to(p.dtype.element_ty)"
                               : "give it the shape of the pointers: tl.full(..)");
            fail_of(f, a[i], TYPE,
                    "%s of atomic_cas must be %s as the pointer says, not %s",
                    i == 1 ? "cmp" : "val", ty_str(f->a, t), ty_str(f->a, v[i]->type));
        }
    }
    Op *o = ir_op(&f->b, OP_ATOMIC_CAS, 3, v, 1, &t);
    set_order(f, o, a[3], a[4]);
    return v_val(kept == t ? result(o, 0) : ir_bitcast(&f->b, result(o, 0), kept));
}
