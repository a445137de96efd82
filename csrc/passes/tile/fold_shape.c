/* fold_shape: what moves elements, casts, and masked memory ops. See fold.c for the rules.
 *
 *     broadcast(splat %x), reshape(splat %x)   splat %x
 *     reshape(reshape %x), trans(trans %x)     reshape %x, trans %x, or %x
 *     split(join(%a, %b))                      %a, %b
 *     cast(cast %x : f32) : f16    x: f16      %x
 *     load %p, true, %o                        load %p
 *     load splat(%p)                           splat(load %p)
 *     store %p, %v, false                      gone
 */
#include "passes/tile/fold.h"

Val *
fold_const(Fold *w, const Type *t, uint64_t bits)
{
    return ir_const_bits(&w->b, t, bits);
}

Val *
fold_like(Fold *w, const Op *o, int n_args, Val *const *args, const Type *t)
{
    Op *n = ir_op(&w->b, o->op, n_args, args, 1, &t);
    memcpy(n->attr, o->attr, sizeof n->attr);
    n->bits = o->bits;
    n->text = o->text;
    return result(n, 0);
}

bool
fold_is_filled(const Val *v)
{
    return v->def && v->type->rank &&
           (v->def->op == OP_SPLAT || v->def->op == OP_CONST);
}

Val *
fold_filling(Fold *w, const Val *v)
{
    if (v->def->op == OP_SPLAT)
        return arg(v->def, 0);
    return fold_const(w, ty_element(w->f->c, v->type), v->def->bits);
}

Val *
fold_splat(Fold *w, Val *x, const Type *t)
{
    uint64_t bits;
    if (ir_is_const(x, &bits))
        return fold_const(w, t, bits);
    if (!t->rank)
        return x; /* a block of one element was reshaped, a pair split */
    return ir_op1(&w->b, OP_SPLAT, 1, &x, t);
}

/* ---- shapes ------------------------------------------------------------------------------- */

static Val *
one_like(Fold *w, const Op *o, Val *x)
{
    return fold_like(w, o, 1, &x, result(o, 0)->type);
}

static Val *
fold_trans(Fold *w, const Op *o)
{
    Val *x = arg(o, 0);
    int rank = x->type->rank;
    int perm[MAX_RANK];
    ir_perm(o, perm);
    const Op *in = x->def;
    if (in && in->op == OP_TRANS) {
        int inner[MAX_RANK], both[MAX_RANK];
        ir_perm(in, inner);
        for (int d = 0; d < rank; d++)
            both[d] = inner[perm[d]];
        Val *r = one_like(w, o, arg(in, 0));
        ir_set_attr(r->def, ATTR_PERM, perm_pack(rank, both));
        return r;
    }
    for (int d = 0; d < rank; d++)
        if (perm[d] != d)
            return NULL;
    return x->type == result(o, 0)->type ? x : NULL;
}

/* split of a join: two results at once. */
static Val *
fold_split(Fold *w, Op *o)
{
    const Op *in = arg(o, 0)->def;
    Val *first = NULL, *second = NULL;
    if (in && in->op == OP_JOIN) {
        first = arg(in, 0);
        second = arg(in, 1);
    } else if (fold_is_filled(arg(o, 0))) {
        Val *x = fold_filling(w, arg(o, 0));
        first = second = fold_splat(w, x, result(o, 0)->type);
    }
    if (!first || first->type != result(o, 0)->type ||
        second->type != result(o, 1)->type)
        return NULL;
    ir_replace(result(o, 1), second);
    return first;
}

static Val *
fold_join(Fold *w, const Op *o)
{
    Val *x = arg(o, 0), *y = arg(o, 1);
    uint64_t a, b;
    if (o->op == OP_JOIN && x->def && x->def == y->def && x->def->op == OP_SPLIT &&
        x->index == 0 && y->index == 1 && arg(x->def, 0)->type == result(o, 0)->type)
        return arg(x->def, 0);
    if (ir_is_const(x, &a) && ir_is_const(y, &b) && a == b)
        return fold_const(w, result(o, 0)->type, a);
    if (x->def && y->def && x->def->op == OP_SPLAT && y->def->op == OP_SPLAT &&
        arg(x->def, 0) == arg(y->def, 0))
        return fold_splat(w, arg(x->def, 0), result(o, 0)->type);
    return NULL;
}

static Val *
fold_hint(Op *o)
{
    bool says_something = ir_attr(o, ATTR_DIVISIBLE) || ir_attr(o, ATTR_CONTIGUOUS) ||
                          ir_attr(o, ATTR_CONSTANCY);
    return says_something && !ir_is_const(arg(o, 0), NULL) ? NULL : arg(o, 0);
}

Val *
fold_shape(Fold *w, Op *o)
{
    const Type *t = o->n_results ? result(o, 0)->type : NULL;
    Val *x = o->n_args ? arg(o, 0) : NULL;
    uint64_t bits;
    switch (o->op) {
    case OP_ARANGE:
        return t->shape[0] == 1
                   ? fold_const(w, t, elem_from_int(t->elem, ir_attr(o, ATTR_START)))
                   : NULL;
    case OP_SPLAT: return ir_is_const(x, &bits) ? fold_const(w, t, bits) : NULL;
    case OP_HINT: return fold_hint(o);
    case OP_SPLIT: return fold_split(w, o);
    case OP_JOIN:
    case OP_CAT: return fold_join(w, o);
    case OPS(OPS_INDEX, OPS_MOVED): break;
    case OPS(OP_CONST, OPS_GRID, OP_RESIZE, OPS_ARITH, OPS_MATH, OPS_OTHER):
        return NULL;
    }
    if (fold_is_filled(x))
        return fold_splat(w, fold_filling(w, x), t);
    const Op *in = x->def;
    if (o->op == OP_TRANS)
        return fold_trans(w, o);
    if (o->op == OP_EXPAND || x->type == t)
        return o->op == OP_EXPAND ? NULL : x;
    /* reshape, broadcast, convert: the last one decides */
    bool is_same = in &&
                   (in->op == o->op || (o->op == OP_RESHAPE && in->op == OP_EXPAND));
    return is_same ? one_like(w, o, arg(in, 0)) : NULL;
}

/* ---- casts ----------------------------------------------------------------------------------- */

/* Does every value of `from` exist in `to`? */
static bool
is_exact(Elem from, Elem to)
{
    static const int8_t mant[N_ELEM] = {
        /* significand bits, the hidden one included */
        [E_F16] = 11,    [E_BF16] = 8,   [E_F32] = 24,
        [E_F64] = 53,    [E_F8E4M3] = 4, [E_F8E5M2] = 3,
        [E_F8E4B15] = 4, [E_F8E4B8] = 4, [E_F8E5B16] = 3,
    };
    int from_bits = elem_info[from].bits, to_bits = elem_info[to].bits;
    bool from_signed = elem_is_signed(from);
    if (elem_is_float(from))
        return elem_is_float(to) && mant[from] <= mant[to] &&
               (to == E_F64 || to == E_F32 || (to == E_F16 && from_bits == 8));
    if (elem_is_float(to))
        return from_bits - from_signed <= mant[to] && to_bits >= 32;
    if (to == E_I1)
        return from == E_I1;
    return from_signed
               ? elem_is_signed(to) && from_bits <= to_bits
               : from_bits < to_bits || (from_bits == to_bits && !elem_is_signed(to));
}

/* cast(cast(x : a) : b) : c  is  cast(x : a) : c. Never makes a direct cast between a narrow
 * float and anything but itself: those go through f32 everywhere, here as well. */
static bool
may_skip(Elem a, Elem b, Elem c)
{
    if (a != c && (elem_is_narrow_float(a) || elem_is_narrow_float(c)))
        return false;
    /* The infinities of e5m2 and 0x7f of e4b15 do not come back. */
    if (a == c && elem_is_float(a) && float_form[a].saturates &&
        (float_form[a].has_inf || float_form[a].no_nan))
        return false;
    if (is_exact(a, b)) /* b holds the value itself */
        return elem_is_float(c) || elem_is_float(b) == elem_is_float(a) ||
               is_exact(a, c) || c == E_I1;
    /* Integers cut short twice. */
    return elem_is_int(a) && elem_is_int(b) && elem_is_int(c) && b != E_I1 &&
           c != E_I1 && elem_info[c].bits <= elem_info[b].bits;
}

Val *
fold_cast(Fold *w, Op *o)
{
    Val *x = arg(o, 0);
    const Type *t = result(o, 0)->type;
    if (x->type == t)
        return x;
    const Op *in = x->def;
    if (!in || in->op != o->op)
        return NULL;
    Val *y = arg(in, 0);
    const Type *a = y->type, *b = x->type;
    if (o->op == OP_BITCAST)
        return y->type == t ? y : one_like(w, o, y);
    if (a->is_ptr || b->is_ptr || t->is_ptr || ir_attr(in, ATTR_ROUNDING) ||
        ir_attr(o, ATTR_ROUNDING) || !may_skip(a->elem, b->elem, t->elem))
        return NULL;
    return y->type == t ? y : one_like(w, o, y);
}

/* ---- masks ------------------------------------------------------------------------------------- */

bool
fold_masked(Fold *w, Op *o, Val **with)
{
    *with = NULL;
    int mask = op_mask_at(o);
    uint64_t bits;
    if (o->op == OP_ASSUME || o->op == OP_ASSERT) {
        if (ir_is_const(arg(o, 0), &bits) && bits)
            return false;
        if (o->op == OP_ASSUME)
            return true;
    }
    if (o->n_args <= mask || !ir_is_const(arg(o, mask), &bits))
        return true;
    if (bits) {
        ir_drop_args(o, mask, o->n_args - mask);
        w->changed = true;
        return true;
    }
    if (o->op == OP_LOAD && o->n_args > 2)
        *with = arg(o, 2);
    else if (o->n_results)
        *with = fold_const(w, result(o, 0)->type, 0);
    return false;
}
