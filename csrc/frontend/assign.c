/* assign: names and patterns on the left of =.
 *
 * A plain assignment makes a tensor of a constant (fe_decay), which is why c = 0.5 is f32
 * from then on. "c: tl.constexpr = 0.5" keeps the constant, and its weakness in promotion.
 */
#include "frontend/fe.h"

void
fe_assign(Fe *f, Node *t, Value v)
{
    switch (t->kind) {
    case AST_Name:
        if (v.kind == V_TENSOR && !v.val->name)
            v.val->name = t->name;
        fe_set(f, t->slot, v);
        return;
    case AST_Tuple:
    case AST_List: {
        Value e = fe_elements(f, v, "what is unpacked");
        for (int i = 0; i < t->n_list; i++)
            if (t->list[i]->kind == AST_Starred)
                err_at(f->c, fe_loc(f, t->list[i]), SYNTAX, "'*' in an assignment");
        if (e.tuple->n != t->n_list) {
            f->b.loc = fe_loc(f, t);
            fail(f, VALUE, "%d names on the left, %d values on the right", t->n_list,
                 e.tuple->n);
        }
        for (int i = 0; i < t->n_list; i++)
            fe_assign(f, t->list[i], e.tuple->at[i]);
        return;
    }
    case AST_Subscript:
        err_help(f->c,
                 "blocks are values: build a new one with tl.where, or tl.store to "
                 "memory");
        err_at(f->c, fe_loc(f, t), SYNTAX, "assigning to an element");
    case AST_Attribute: {
        Value of = fe_read(f, fe_expr(f, t->a));
        f->b.loc = fe_loc(f, t);
        fe_set_field(f, of, t->name, v);
        return;
    }
    case AST_Starred: err_at(f->c, fe_loc(f, t), SYNTAX, "'*' in an assignment");
    default: err_at(f->c, fe_loc(f, t), SYNTAX, "this assignment");
    }
}

static bool
is_constexpr_annotation(Fe *f, const Node *n)
{
    if (n->kind == AST_Name || n->kind == AST_Attribute)
        return !strcmp(n->name, "constexpr");
    if (n->kind == AST_Subscript)
        return is_constexpr_annotation(f, n->a);
    return n->kind == AST_Constant && PyUnicode_Check(n->value) &&
           strstr(v_const_str(f, v_obj(n->value), "an annotation"), "constexpr");
}

/* The value of "x: tl.constexpr = v": also of a tensor that folded to a constant, as what
 * a helper returns is: n: tl.constexpr = tl.cdiv(N, BLOCK). */
static Value
constant_of(Fe *f, Value v)
{
    uint64_t bits;
    v = fe_read(f, v);
    if (v.kind == V_TENSOR && !v.val->type->rank && !v.val->type->is_ptr &&
        ir_is_const(v.val, &bits)) {
        Elem e = v.val->type->elem;
        if (e == E_I1)
            return v_bool(bits & 1);
        if (elem_is_float(e))
            return v_obj(fe_own(f, PyFloat_FromDouble(elem_to_double(e, bits))));
        if (e == E_U64)
            return v_obj(fe_own(f, PyLong_FromUnsignedLongLong(bits)));
        return v_int(f, elem_to_int(e, bits));
    }
    if (v.kind == V_TUPLE) {
        Value t = v_tuple(f, v.tuple->n, v.tuple->at);
        t.tuple->type = v.tuple->type;
        t.tuple->is_aggregate = v.tuple->is_aggregate;
        for (int i = 0; i < t.tuple->n; i++)
            t.tuple->at[i] = constant_of(f, t.tuple->at[i]);
        return t;
    }
    return v_from_py(f, v_to_py(f, v, "the value of a tl.constexpr"));
}

void
fe_ann_assign(Fe *f, Node *n)
{
    if (!n->a)
        return; /* a bare annotation says nothing */
    Value v = fe_expr(f, n->a);
    f->b.loc = fe_loc(f, n);
    if (n->c && is_constexpr_annotation(f, n->c))
        v = constant_of(f, v);
    else
        v = fe_decay(f, v);
    fe_assign(f, n->b, v);
}

void
fe_aug_assign(Fe *f, Node *n)
{
    if (n->b->kind != AST_Name) {
        fe_assign(f, n->b, (Value){0}); /* says what is wrong */
        unreachable(f->c);
    }
    Value old = fe_name(f, n->b), v = fe_expr(f, n->a);
    f->b.loc = fe_loc(f, n);
    fe_assign(f, n->b, fe_decay(f, fe_binary(f, (Operator)n->opr, old, v)));
}
