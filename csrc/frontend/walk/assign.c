/* assign: names and patterns on the left of =.
 *
 * A plain assignment makes a tensor of a constant (fe_decay), which is why c = 0.5 is f32
 * from then on. "c: tl.constexpr = 0.5" keeps the constant, and its weakness in promotion.
 */
#include "frontend/fe.h"

/* a, b = 1, 2, 3: Triton drops the 3 in silence, and kernels that run there were written so;
 * Python would refuse them. */
static void
warn_dropped(Fe *f, const Node *t, int n_values)
{
    const Loc *was = f->b.loc;
    fe_at(f, t);
    fe_warn(
        f, PyExc_UserWarning,
        "%d name%s on the left, %d values on the right: what is left over is dropped",
        t->n_list, t->n_list == 1 ? "" : "s", n_values);
    f->b.loc = was;
}

/* a, *b, c = e: the starred name takes what the others leave. */
static void
unpack(Fe *f, Node *t, const TupleValue *e)
{
    int star = -1, n = t->n_list;
    for (int i = 0; i < n; i++)
        if (t->list[i]->kind == AST_Starred)
            star = i;
    int least = star < 0 ? n : n - 1;
    if (e->n < least) {
        fe_at(f, t);
        fail(f, VALUE, "%s%d name%s on the left, %d value%s on the right",
             star < 0 ? "" : "at least ", least, least == 1 ? "" : "s", e->n,
             e->n == 1 ? "" : "s");
    }
    if (star < 0 && e->n > n)
        warn_dropped(f, t, e->n);
    int many = star < 0 ? 1 : e->n - (n - 1);
    for (int i = 0, at = 0; i < n; i++) {
        int take = i == star ? many : 1;
        if (i == star)
            fe_assign(f, t->list[i]->a, v_tuple(f, take, e->at + at));
        else
            fe_assign(f, t->list[i], e->at[at]);
        at += take;
    }
}

/* What a, b = v may have meant: n names, and v of no parts, which `from` computed. */
static void
help_unpack(Fe *f, const Node *t, const Node *from, Value v)
{
    const Type *of = v.kind == V_TENSOR ? v.val->type : NULL;
    const Op *made = of ? v.val->def : NULL;
    if (!of || of->is_ptr)
        return;
    const char *fn = !from || from->kind != AST_Call ? NULL : from->a->name;
    if (fn && (!strcmp(fn, "topk") || !strcmp(fn, "sort")))
        err_help(f->c,
                 "%s gives the values alone; to keep indices, of keys that are ints, "
                 "%s takes key * N + index, and %% N of what it gives is the index",
                 fn, fn);
    else if (!of->rank && t->n_list == 2 && made && made->op == OP_REDUCE)
        err_help(f->c, "tl.max(x, axis, return_indices=True) gives the index as well");
    else if (of->rank && of->shape[of->rank - 1] == 2 && t->n_list == 2)
        err_help(f->c, "tl.split(x) takes the two halves of the last dimension apart");
    else if (of->rank)
        err_help(f->c, "x[0], x[1] are the elements of a block");
}

/* What to write instead of x[i] = v. */
static void
help_element(Fe *f, const Node *index, Value x)
{
    const char *test = index->kind == AST_Compare ? fe_text(f, index) : NULL;
    if (x.kind == V_TENSOR && x.val->type->is_ptr)
        err_help(f->c, "tl.store(p + i, value) writes to memory");
    else if (x.kind == V_TENSOR && test)
        err_help(f->c, "blocks are values: x = tl.where(%s, value, x)", test);
    else if (x.kind == V_TENSOR)
        err_help(f->c, "blocks are values: tl.where(index == i, value, x) is x with "
                       "another element");
    else if ((x.kind == V_TUPLE && (x.tuple->keys || !x.tuple->n)) ||
             (x.kind == V_OBJ && PyDict_Check(x.obj)))
        err_help(f->c, "dicts and lists are values: {'key': value} and [a, b] are "
                       "written in one expression");
    else
        err_help(f->c, "tuples are values: (*t[:i], value, *t[i + 1:]) is t with "
                       "another element");
}

void
fe_assign(Fe *f, Node *t, Value v)
{
    switch (t->kind) {
    case AST_Name:
        v = fe_own_value(f, v, t->name);
        if (v.kind == V_TENSOR && !v.val->name)
            v.val->name = t->name;
        fe_set(f, t->slot, v);
        return;
    case AST_Tuple:
    case AST_List: {
        Value r = fe_read(f, v);
        if (r.kind != V_TUPLE && r.kind != V_RANGE)
            help_unpack(f, t, f->assigned, r);
        unpack(f, t, fe_elements(f, r, "what is unpacked").tuple);
        return;
    }
    case AST_Subscript:
        help_element(f, t->b, fe_read(f, fe_expr(f, t->a)));
        err_at(f->c, fe_loc(f, t), SYNTAX, "assigning to an element");
    case AST_Attribute: {
        Value of = fe_read(f, fe_expr(f, t->a));
        fe_at(f, t);
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

/* The value of "x: tl.constexpr = v" and of tl.constexpr(v): also of a tensor that folded to a constant, as what
 * a helper returns is: n: tl.constexpr = tl.cdiv(N, BLOCK). What is known only at run time
 * stays a tensor, as in Triton: a parameter without an annotation is a constant when it is
 * 1, and kernels that were written for that must compile for 2. Where a constant is needed,
 * the message is about that place. */
Value
fe_constexpr(Fe *f, Value v)
{
    uint64_t bits;
    v = fe_read(f, v);
    if (v.kind == V_TENSOR && !v.val->type->rank && !v.val->type->is_ptr &&
        ir_is_const(v.val, &bits)) {
        Elem e = v.val->type->elem;
        if (e == E_I1)
            return v_bool(bits & 1);
        if (elem_is_float(e) ? e != E_F32 : elem_info[e].bits < 32)
            return v; /* whose type somebody chose: as a number it would lose it */
        if (elem_is_float(e))
            return v_obj(fe_own(f, PyFloat_FromDouble(elem_to_double(e, bits))));
        if (e == E_U64)
            return v_obj(fe_own(f, PyLong_FromUnsignedLongLong(bits)));
        return v_int(f, elem_to_int(e, bits));
    }
    if (v.kind == V_TUPLE) {
        Value t = v_tuple_like(f, v.tuple);
        for (int i = 0; i < t.tuple->n; i++)
            t.tuple->at[i] = fe_constexpr(f, t.tuple->at[i]);
        return t;
    }
    if (v.kind == V_TENSOR)
        return v;
    return v_from_py(f, v_to_py(f, v, "the value of a tl.constexpr"));
}

bool
fe_is_declared(Fe *f, const Node *target)
{
    const bool *is = f->frame->is_declared;
    return is && target->kind == AST_Name && is[target->slot];
}

void
fe_ann_assign(Fe *f, Node *n)
{
    if (!n->a) {
        /* x: tl.constexpr: what is assigned to x from here on is a constant where it can
         * be. Other bare annotations say nothing. */
        Frame *fr = f->frame;
        if (n->b->kind != AST_Name || !n->c || !is_constexpr_annotation(f, n->c))
            return;
        if (!fr->is_declared)
            fr->is_declared = NEW_N(f->a, bool, fr->tree->n_locals + N_HIDDEN);
        fr->is_declared[n->b->slot] = true;
        return;
    }
    Value v = fe_expr(f, n->a);
    fe_at(f, n);
    if (n->c && is_constexpr_annotation(f, n->c))
        v = fe_constexpr(f, v);
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
    Value old = fe_name(f, n->b), v = fe_read(f, fe_expr(f, n->a));
    fe_at(f, n);
    const Value both[2] = {old, v};
    const Node *const nodes[2] = {n->b, n->a};
    const CallArgs now = {f->frame, 2, both, nodes, NULL}, *outer = f->args;
    f->args = &now;
    Value r = fe_binary(f, (Operator)n->opr, old, v);
    r = fe_is_declared(f, n->b) ? fe_constexpr(f, r) : fe_decay(f, r);
    f->args = outer;
    fe_assign(f, n->b, r);
}
