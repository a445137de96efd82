/* expr: one function per kind of expression, named after it.
 *
 * Constants fold as Python computes them. As soon as an operand is known only when the
 * kernel runs, semantic.c takes over. Each function sets b.loc to its own node after its
 * operands are lowered, so an op and an error point at the expression that caused them.
 */
#include "frontend/fe.h"

static Value
expr_Tuple(Fe *f, Node *n)
{
    VEC(Value) items = {0};
    for (int i = 0; i < n->n_list; i++) {
        Node *x = n->list[i];
        Value v = fe_expr(f, x->kind == AST_Starred ? x->a : x);
        if (x->kind == AST_Starred) {
            fe_at(f, x);
            const TupleValue *t = fe_elements(f, v, "what '*' spreads").tuple;
            for (int k = 0; k < t->n; k++)
                PUSH(f->a, &items, t->at[k]);
        } else
            PUSH(f->a, &items, v);
    }
    return v_tuple(f, items.n, items.at);
}

static Value
expr_BoolOp(Fe *f, Node *n)
{
    bool is_and = n->opr == OPR_And;
    Value last = v_bool(is_and);
    Val **vals = NEW_N(f->a, Val *, n->n_list);
    int n_vals = 0;
    for (int i = 0; i < n->n_list; i++) {
        Value v = fe_read(f, fe_expr(f, n->list[i]));
        if (v.kind == V_TENSOR) {
            vals[n_vals++] = v.val;
            continue;
        }
        fe_at(f, n->list[i]);
        bool t = fe_truth(f, v, opr_text[n->opr]);
        last = v;
        if (t != is_and) {
            if (!n_vals)
                return v; /* decided: what follows is not even compiled */
            break;
        }
    }
    fe_at(f, n);
    if (!n_vals)
        return last;
    if (last.kind == V_OBJ && fe_truth(f, last, "") != is_and) {
        if (!is_and && !PyBool_Check(last.obj))
            fe_warn(f, PyExc_UserWarning,
                    "'or' of a run-time value and %s gives True, and none of the two: "
                    "tl.where(x != 0, x, %s) chooses one",
                    v_short(f, last), v_short(f, last));
        return v_bool(!is_and);
    }
    Val *r = vals[n_vals - 1];
    for (int i = 0; i < n_vals; i++)
        if (vals[i]->type->rank)
            fe_warn(f, PyExc_UserWarning,
                    "'%s' of blocks evaluates both sides: write '%s', with parentheses "
                    "around comparisons",
                    opr_text[n->opr], is_and ? "&" : "|");
    for (int i = n_vals - 2; i >= 0; i--)
        r = fe_logical(f, (Operator)n->opr, vals[i], r);
    return v_val(r);
}

/* x in (a, b, ..): x == a or x == b or .., of constants and scalars. Python would go through the
 * elements of what has no __contains__, and those may have no end: it must have a length. */
static Value
is_in(Fe *f, Value x, Value in)
{
    if (in.kind == V_OBJ && !PyType_Check(in.obj) && x.kind == V_OBJ &&
        (fe_has_attr(f, in.obj, "__contains__") || fe_has_attr(f, in.obj, "__len__"))) {
        fe_watch_operand(f, in);
        int r = PySequence_Contains(in.obj, x.obj); /* a str in a str, a dict */
        if (r < 0)
            fe_raise(f, f->b.loc);
        return v_bool(r);
    }
    if (x.kind == V_TENSOR && x.val->type->rank) {
        err_help(f->c, "compare with each: (x == 1) | (x == 2)");
        fail(f, TYPE, "'in' asks of one value, and on the left is %s",
             v_describe(f, x));
    }
    const TupleValue *t = fe_elements(f, in, "what stands behind 'in'").tuple;
    Val *any = NULL;
    for (int i = 0; i < t->n; i++) {
        Value y = fe_read(f, t->at[i]);
        bool weak = x.kind != V_TENSOR && y.kind != V_TENSOR;
        Value r = weak ? v_bool(v_same_shape(x, y) ||
                                (is_number(x) && is_number(y) &&
                                 fe_truth(f, fe_compare(f, OPR_Eq, x, y), "'in'")))
                       : fe_compare(f, OPR_Eq, x, y);
        if (r.kind == V_TENSOR)
            any = any ? fe_logical(f, OPR_Or, any, r.val) : r.val;
        else if (fe_truth(f, r, "'in'"))
            return v_bool(true);
    }
    return any ? v_val(any) : v_bool(false);
}

static Value
compare_two(Fe *f, Operator o, Value a, Value b)
{
    if (o == OPR_In || o == OPR_NotIn) {
        Value r = is_in(f, a, b);
        return o == OPR_In ? r : fe_unary(f, OPR_Not, r);
    }
    if (o == OPR_Is || o == OPR_IsNot) {
        bool same = v_identical(a, b);
        if (!same && is_int_obj(a) && is_int_obj(b))
            same = Py_TYPE(a.obj) == Py_TYPE(b.obj) && v_same_shape(a, b);
        return v_bool(same == (o == OPR_Is));
    }
    return fe_compare(f, o, a, b);
}

/* a < b < c: each operand once; what is decided while compiling ends the chain there, as
 * Python does, and the rest are both computed and combined. */
/* a < b & c > d is a < (b & c) > d, which nobody means who does not write the parentheses.
 * n: what stands in the middle of a chain. */
static void
check_precedence(Fe *f, const Node *n)
{
    if (n->kind != AST_BinOp || (n->opr != OPR_BitAnd && n->opr != OPR_BitOr))
        return;
    const char *file = f->frame->tree->file;
    const char *line = f->c->source_line ? f->c->source_line(f->c, file, n->line)
                                         : NULL;
    int before = n->col - 1;
    while (line && before >= 0 && line[before] == ' ')
        before--;
    if (!line || before < 0 || line[before] == '(')
        return;
    const char *op = opr_text[n->opr];
    err_help(f->c, "write (a < b) %s (c < d)", op);
    err_say(f->c, fe_loc(f, n), CONDITION,
            "'%s' binds before the comparisons on both sides of it", op);
}

static Value
expr_Compare(Fe *f, Node *n)
{
    Value a = fe_read(f, fe_expr(f, n->a)), all = v_bool(true);
    for (int i = 0; i < n->n_list; i++) {
        if (i + 1 < n->n_list)
            check_precedence(f, n->list[i]);
        Value b = fe_read(f, fe_expr(f, n->list[i]));
        fe_at(f, n);
        const Value v[2] = {a, b};
        const Node *const nodes[2] = {i ? n->list[i - 1] : n->a, n->list[i]};
        const CallArgs now = {f->frame, 2, v, nodes, NULL}, *outer = f->args;
        f->args = &now;
        Value r = fe_read(f, compare_two(f, (Operator)n->oprs[i], a, b));
        f->args = outer;
        if (r.kind != V_TENSOR) {
            if (n->n_list == 1 || !fe_truth(f, r, "a comparison"))
                return r;
        } else
            all = all.kind == V_TENSOR ? v_val(fe_logical(f, OPR_And, all.val, r.val))
                                       : r;
        a = b;
    }
    return all;
}

static Value
expr_IfExp(Fe *f, Node *n)
{
    Value c = fe_read(f, fe_expr(f, n->a));
    fe_at(f, n);
    if (c.kind != V_TENSOR)
        return fe_expr(f, fe_truth(f, c, "the condition") ? n->b : n->c);
    const char *cond = fe_text(f, n->a), *yes = fe_text(f, n->b),
               *no = fe_text(f, n->c);
    if (cond && yes && no)
        err_help(f->c, "tl.where(%s, %s, %s) chooses element by element", cond, yes,
                 no);
    Val *test = fe_condition(f, c, "the condition of 'a if c else b'");
    f->c->pending_help = NULL;
    return fe_ternary(f, n, test);
}

/* ---- the rest ------------------------------------------------------------------------------ */

static Value
expr_Attribute(Fe *f, Node *n)
{
    Value v = fe_read(f, fe_expr(f, n->a));
    fe_at(f, n);
    Value r = fe_attribute(f, v, n->name);
    if (is_absent(r))
        fe_no_attribute(f, v, n->name);
    return r;
}

static Value
expr_BinOp(Fe *f, Node *n)
{
    Value a = fe_read(f, fe_expr(f, n->a)), b = fe_read(f, fe_expr(f, n->b));
    fe_at(f, n);
    const Value v[2] = {a, b};
    const Node *const nodes[2] = {n->a, n->b};
    const CallArgs now = {f->frame, 2, v, nodes, NULL}, *outer = f->args;
    f->args = &now;
    Value r = fe_binary(f, (Operator)n->opr, a, b);
    f->args = outer;
    return r;
}

static Value
expr_UnaryOp(Fe *f, Node *n)
{
    const Value a = fe_read(f, fe_expr(f, n->a));
    fe_at(f, n);
    const Node *const node = n->a;
    const CallArgs now = {f->frame, 1, &a, &node, NULL}, *outer = f->args;
    f->args = &now;
    Value r = fe_unary(f, (Operator)n->opr, a);
    f->args = outer;
    return r;
}

enum { MAX_WIDTH = 9999 };

/* A format may ask for more than there is memory: f'{3:>1000000000}'. */
static void
check_format(Fe *f, PyObject *spec)
{
    const char *s = fe_utf8(spec);
    PyErr_Clear();
    for (; s && *s; s++)
        if (*s >= '1' && *s <= '9') {
            size_t digits = strspn(s, "0123456789_");
            if (digits > 4)
                fail(f, VALUE, "the width or precision %.*s is too large: at most %d",
                     (int)MIN(digits, 20), s, MAX_WIDTH);
            s += digits - 1;
        }
}

static Value
expr_JoinedStr(Fe *f, Node *n)
{
    PyObject *s = fe_own(f, PyUnicode_FromString(""));
    for (int i = 0; i < n->n_list; i++) {
        Node *p = n->list[i];
        PyObject *o, *spec = NULL;
        if (p->kind == AST_FormattedValue) {
            const Value v = fe_read(f, fe_expr(f, p->a));
            const Node *const node = p->a;
            const CallArgs now = {f->frame, 1, &v, &node, NULL}, *outer = f->args;
            fe_at(f, p);
            f->args = &now;
            const char *shown = v.kind == V_TENSOR ? fe_text(f, p->a) : NULL;
            if (v.kind == V_TENSOR)
                err_help(f->c, "tl.device_print(\"..\", %s) shows run-time values",
                         shown ? shown : "x");
            o = v_to_py(f, v, "a field of an f-string");
            fe_watch_operand(f, v_obj(o));
            f->args = outer;
            long conv = PyLong_AsLong(p->value);
            if (conv == 'r')
                o = fe_own(f, PyObject_Repr(o));
            else if (conv == 's')
                o = fe_own(f, PyObject_Str(o));
            else if (conv == 'a')
                o = fe_own(f, PyObject_ASCII(o));
            if (p->b)
                check_format(f, spec = v_to_py(f, fe_expr(f, p->b), "a format"));
            o = fe_own(f, PyObject_Format(o, spec));
        } else
            o = v_to_py(f, fe_expr(f, p), "a part of an f-string");
        s = fe_own(f, PyUnicode_Concat(s, o));
    }
    return v_obj(s);
}

static bool
is_constant(Value v)
{
    if (v.kind != V_TUPLE)
        return v.kind == V_OBJ;
    for (int i = 0; i < v.tuple->n; i++)
        if (!is_constant(v.tuple->at[i]))
            return false;
    return true;
}

/* A table of constants, as tl.constexpr functions and extern_elementwise take; of other
 * values when the keys are texts, to be spread by ** or read by d["key"]. */
static Value
expr_Dict(Fe *f, Node *n)
{
    PyObject *d = fe_own(f, PyDict_New());
    Value *item = NEW_N(f->a, Value, n->n_list + 1);
    PyObject **key = NEW_N(f->a, PyObject *, n->n_list + 1);
    const char **text = NEW_N(f->a, const char *, n->n_list + 1);
    bool constant = true;
    for (int i = 0; i < n->n_list; i++) {
        if (!n->list[i])
            err_at(f->c, fe_loc(f, n), SYNTAX, "'**' in a dict display");
        key[i] = v_to_py(f, fe_expr(f, n->list[i]), "a key of a dict");
        item[i] = fe_read(f, fe_expr(f, n->list2[i]));
        constant &= is_constant(item[i]);
    }
    fe_at(f, n);
    for (int i = 0; constant && i < n->n_list; i++)
        if (PyDict_SetItem(d, key[i], v_to_py(f, item[i], "a value of a dict")))
            fe_raise(f, f->b.loc);
    if (constant)
        return v_obj(d);
    for (int i = 0; i < n->n_list; i++) {
        fe_at(f, n->list[i]);
        if (!PyUnicode_Check(key[i])) {
            err_help(f->c, "a dict with run-time values has texts for keys; a tuple is "
                           "indexed by numbers");
            fail(f, TYPE, "a key of a dict must be a str here, not %s",
                 v_describe(f, v_obj(key[i])));
        }
        text[i] = v_const_str(f, v_obj(key[i]), "a key of a dict");
        for (int k = 0; k < i; k++)
            if (text[k] == text[i])
                fail(f, VALUE, "the key '%s' is given twice", text[i]);
    }
    Value v = v_tuple(f, n->n_list, item);
    v.tuple->keys = text;
    return v;
}

typedef struct Listed {
    VEC(Value) items;
} Listed;

/* The elements from the k-th "for" of the comprehension n on. */
static void
comprehend(Fe *f, Node *n, int k, Listed *out)
{
    if (k == n->n_list) {
        Value v = fe_expr(f, n->a);
        PUSH(f->a, &out->items, v);
        return;
    }
    Node *g = n->list[k];
    Value v = fe_expr(f, g->a);
    fe_at(f, g->a);
    const TupleValue *t =
        fe_elements(f, v, "what a list comprehension runs over").tuple;
    for (int i = 0; i < t->n; i++) {
        fe_at(f, n);
        fe_assign(f, g->b, t->at[i]);
        bool keep = true;
        for (int j = 0; keep && j < g->n_list; j++) {
            Value c = fe_read(f, fe_expr(f, g->list[j]));
            fe_at(f, g->list[j]);
            if (c.kind == V_TENSOR)
                err_help(f->c,
                         "how many elements there are is known when the kernel is "
                         "compiled: keep all, and let tl.where(.., x, 0) or mask= "
                         "leave some out");
            keep = fe_truth(f, c, "the filter of a list comprehension");
        }
        if (keep)
            comprehend(f, n, k + 1, out);
    }
}

static Value
expr_ListComp(Fe *f, Node *n)
{
    Listed out = {0};
    comprehend(f, n, 0, &out);
    return v_tuple(f, out.items.n, out.items.at);
}

static Value
expr_any(Fe *f, Node *n)
{
    switch (n->kind) {
    case AST_Constant:
        if (n->value == Py_Ellipsis || PyBytes_Check(n->value) ||
            PyComplex_Check(n->value)) {
            fe_at(f, n);
            err_help(f->c,
                     PyBytes_Check(n->value) ? "a text is written without the b"
                     : PyComplex_Check(n->value)
                         ? "keep the real and the imaginary part in two values"
                         : "'...' stands for dimensions in an index, x[..., None]");
            err_at(f->c, f->b.loc, SYNTAX,
                   n->value == Py_Ellipsis ? "'...'" : v_short(f, v_obj(n->value)));
        }
        return v_obj(n->value);
    case AST_Name: return fe_name(f, n);
    case AST_Attribute: return expr_Attribute(f, n);
    case AST_Subscript: return fe_subscript(f, n);
    case AST_Tuple:
    case AST_List: return expr_Tuple(f, n);
    case AST_BinOp: return expr_BinOp(f, n);
    case AST_UnaryOp: return expr_UnaryOp(f, n);
    case AST_BoolOp: return expr_BoolOp(f, n);
    case AST_Compare: return expr_Compare(f, n);
    case AST_IfExp: return expr_IfExp(f, n);
    case AST_Call: return fe_call(f, n);
    case AST_ListComp: return expr_ListComp(f, n);
    case AST_Lambda: return fe_closure(f, n);
    case AST_JoinedStr: return expr_JoinedStr(f, n);
    case AST_Dict: return expr_Dict(f, n);
    case AST_NamedExpr: {
        Value v = fe_decay(f, fe_expr(f, n->a));
        fe_at(f, n);
        fe_assign(f, n->b, v);
        return v;
    }
    case AST_Slice: err_at(f->c, fe_loc(f, n), SYNTAX, "a slice here");
    case AST_Starred: err_at(f->c, fe_loc(f, n), SYNTAX, "'*' here");
    default: fe_no_such_syntax(f, n);
    }
}

Value
fe_expr(Fe *f, Node *n)
{
    fe_enter(f, n);
    Value v = expr_any(f, n);
    fe_leave(f);
    return v;
}
