/* blame: what a message says of the values it is about: the operands as they are written,
 * their types, and where the caret goes.
 *
 * While a builtin or an operator runs, Fe.args has its operands beside their nodes. A value
 * is recognised among them by identity; a shape, after casts, by being the only one like it.
 */
#include "frontend/fe.h"

enum { MAX_TEXT = 40 }; /* longer expressions are not repeated in a message */

const char *
fe_text(Fe *f, const Node *n)
{
    const Frame *fr = f->frame;
    if (!n || !n->line || n->line != n->end_line || !fr || fr->tree->is_library)
        return NULL;
    const char *line = f->c->source_line
                           ? f->c->source_line(f->c, fr->tree->file, n->line)
                           : NULL;
    int len = n->end_col - n->col;
    if (!line || len < 1 || len > MAX_TEXT || (int)strlen(line) < n->end_col)
        return NULL;
    return str_intern_n(f->c, line + n->col, (size_t)len);
}

/* Which operand v is; -1: none, or more than one that are written differently. */
static int
find_operand(Fe *f, Value v)
{
    const CallArgs *a = f->args;
    int found = -1;
    if (!a || a->frame != f->frame)
        return -1;
    for (int i = 0; i < a->n; i++)
        if (!is_absent(a->v[i]) && v_identical(a->v[i], v)) {
            if (found >= 0 || !a->at[i])
                return -1;
            found = i;
        }
    return found;
}

void
fe_blame(Fe *f, Value v)
{
    int i = find_operand(f, v);
    if (i >= 0)
        fe_at(f, f->args->at[i]);
}

const Node *
fe_element_node(Fe *f, Value v, int i)
{
    int at = find_operand(f, v);
    const Node *n = at >= 0 ? f->args->at[at] : NULL;
    if (n && n->kind == AST_keyword)
        n = n->a;
    if (!n || (n->kind != AST_Tuple && n->kind != AST_List) || i >= n->n_list)
        return NULL;
    for (int k = 0; k <= i; k++)
        if (n->list[k]->kind == AST_Starred)
            return NULL;
    return n->list[i];
}

const char *
fe_written(Fe *f, Value v)
{
    int i = find_operand(f, v);
    const Node *n = i >= 0 ? f->args->at[i] : NULL;
    if (n && n->kind == AST_keyword)
        n = n->a;
    /* these are described as they are written */
    if (!n || n->kind == AST_Constant || n->kind == AST_Tuple || n->kind == AST_List ||
        n->kind == AST_Lambda)
        return NULL;
    return fe_text(f, n);
}

const char *
fe_who(Fe *f, Value v)
{
    const char *text = fe_written(f, v), *what = v_describe(f, v);
    return text ? str_printf(f->a, "'%s' (%s)", text, what) : what;
}

void
fe_help_float(Fe *f, Value v)
{
    const char *text = fe_written(f, v);
    fe_blame(f, v);
    if (v.kind == V_TENSOR && v.val->type->is_ptr)
        err_help(f->c, "tl.load(%s) reads what is there", text ? text : "p");
    else
        err_help(f->c, "convert first: %s.to(tl.float32)",
                 text && strspn(text,
                                "abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789") == strlen(text)
                     ? text
                     : "x");
}

/* Adds the names in n that are constants of the current function. */
static void
put_values(Fe *f, Sb *sb, const Node *n, int *count)
{
    if (!n || *count > 4)
        return;
    const Frame *fr = f->frame;
    if (n->kind == AST_Attribute && !strcmp(n->name, "shape") && n->a->slot >= 0) {
        Value v = fe_read(f, fr->local[n->a->slot]);
        if (v.kind == V_TENSOR)
            sb_printf(sb, "%s%s.shape is %s", (*count)++ ? ", " : "", n->a->name,
                      ty_shape_str(f->a, v.val->type));
        return;
    }
    if (n->kind == AST_Name && n->slot >= 0) {
        Value v = fe_read(f, fr->local[n->slot]);
        const char *text = str_printf(f->a, "%s is %s", n->name, v_short(f, v));
        if ((v.kind == V_OBJ && (is_number(v) || PyUnicode_Check(v.obj))) ||
            is_py_none(v))
            if (!sb->n || !strstr(sb->at, text))
                sb_printf(sb, "%s%s", (*count)++ ? ", " : "", text);
    }
    put_values(f, sb, n->a, count);
    put_values(f, sb, n->b, count);
    put_values(f, sb, n->c, count);
    for (int i = 0; i < n->n_list; i++)
        put_values(f, sb, n->list[i], count);
}

const char *
fe_values(Fe *f, const Node *n)
{
    Sb sb = {.a = f->a};
    int count = 0;
    if (!f->frame->tree->is_library)
        put_values(f, &sb, n, &count);
    return count ? sb.at : NULL;
}

void
fe_help_values(Fe *f)
{
    const CallArgs *a = f->args;
    Sb sb = {.a = f->a};
    int count = 0;
    if (!a || a->frame != f->frame || f->frame->tree->is_library)
        return;
    if (a->call)
        put_values(f, &sb, a->call, &count);
    else
        for (int i = 0; i < a->n; i++)
            put_values(f, &sb, a->at[i], &count);
    if (count)
        err_help(f->c, "%s", sb.at);
}

/* ---- shapes --------------------------------------------------------------------------------- */

/* The operand that has t's shape, when there is one alone; else -1. */
static int
operand_of_shape(Fe *f, const Type *t)
{
    const CallArgs *a = f->args;
    int found = -1;
    if (!a || a->frame != f->frame)
        return -1;
    for (int i = 0; i < a->n; i++) {
        Value v = a->v[i];
        if (v.kind != V_TENSOR || !ty_same_shape(v.val->type, t) || !a->at[i])
            continue;
        if (found >= 0)
            return -1;
        found = i;
    }
    return found;
}

/* 'x' (f32[64, 32]), or the shape. */
static const char *
shape_words(Fe *f, const Type *t)
{
    int i = operand_of_shape(f, t);
    const Node *n = i >= 0 ? f->args->at[i] : NULL;
    const char *text = n ? fe_text(f, n->kind == AST_keyword ? n->a : n) : NULL;
    if (!text)
        return i >= 0 ? ty_str(f->a, f->args->v[i].val->type)
                      : str_printf(f->a, "the shape %s", ty_shape_str(f->a, t));
    return str_printf(f->a, "'%s' (%s)", text, ty_str(f->a, f->args->v[i].val->type));
}

/* The name of the operand of t's shape, or one to stand for it. */
static const char *
name_for(Fe *f, const Type *t, const char *otherwise)
{
    int i = operand_of_shape(f, t);
    const Node *n = i >= 0 ? f->args->at[i] : NULL;
    return n && n->kind == AST_Name ? n->name : otherwise;
}

/* What to write where x and y do not broadcast. */
static void
help_shapes(Fe *f, const Type *x, const Type *y)
{
    const Type *small = x->rank < y->rank ? x : y, *big = small == x ? y : x;
    if (small->rank == 1 && big->rank == 2 && small->shape[0] == big->shape[0])
        err_help(f->c, "%s[:, None] has the shape [%d, 1], which stretches to %s",
                 name_for(f, small, "x"), (int)small->shape[0],
                 ty_shape_str(f->a, big));
    else if (x->rank == 1 && y->rank == 1)
        err_help(f->c,
                 "blocks of one length combine element by element; %s[:, None] and "
                 "%s[None, :] combine each with each, to [%d, %d]",
                 name_for(f, x, "x"), name_for(f, y, "y"), (int)x->shape[0],
                 (int)y->shape[0]);
    else if (x->rank != y->rank && ty_numel(x) == ty_numel(y))
        err_help(f->c, "tl.reshape(%s, %s) has its elements in the other's shape",
                 name_for(f, x, "x"), ty_shape_str(f->a, y));
    else
        err_help(f->c,
                 "only dimensions of 1 stretch, counted from the last; x[:, None] "
                 "and x[None, :] add one");
}

NORETURN void
fe_cannot_broadcast(Fe *f, const Type *x, const Type *y)
{
    int rank = MAX(x->rank, y->rank), at = 0;
    for (int i = 0; i < rank; i++) {
        int ix = i - (rank - x->rank), iy = i - (rank - y->rank);
        int32_t nx = ix >= 0 ? x->shape[ix] : 1, ny = iy >= 0 ? y->shape[iy] : 1;
        if (nx != ny && nx != 1 && ny != 1)
            at = rank - i; /* from the end, 1 is the last */
    }
    const char *which = at == 1 ? rank == 1 ? "their lengths" : "their last dimensions"
                        : at == 2 ? "their dimensions before the last"
                                  : str_printf(f->a, "their dimensions -%d", at);
    if (!f->c->pending_help)
        help_shapes(f, x, y);
    err_at(f->c, f->b.loc, SHAPE,
           str_printf(f->a, "cannot broadcast %s with %s: %s are %d and %d",
                      shape_words(f, x), shape_words(f, y), which,
                      (int)x->shape[x->rank - at], (int)y->shape[y->rank - at]));
}

NORETURN void
fe_bad_shapes(Fe *f, const char *what, const Type *x, const Type *y)
{
    err_at(f->c, f->b.loc, SHAPE,
           str_printf(f->a, "%s: %s and %s", what, shape_words(f, x),
                      shape_words(f, y)));
}

/* ---- warnings --------------------------------------------------------------------------- */

/* Where Python's filters remember what they have shown: each variant of a kernel is a compile, and a
 * tuner's thirty would show each line's warning thirty times. */
static PyObject *
registry_b(Fe *f)
{
    static const char name[] = "__warningregistry__";
    PyObject *globals_b = f->frame->tree->fn->globals;
    PyObject *r_b = PyDict_GetItemString(globals_b, name);
    if (r_b)
        return PyDict_Check(r_b) ? r_b : NULL;
    r_b = fe_own(f, PyDict_New());
    if (PyDict_SetItemString(globals_b, name, r_b))
        fe_raise(f, f->b.loc);
    return r_b;
}

void
fe_warn(Fe *f, PyObject *category, const char *fmt, ...)
{
    const Loc *at = f->b.loc;
    va_list ap;
    if (!f->frame || f->frame->tree->is_library || !at)
        return;
    va_start(ap, fmt);
    const char *text = str_vprintf(f->a, fmt, ap);
    va_end(ap);
    const char *key = str_printf(f->a, "%s:%d %s", at->file, at->line, text);
    if (map_get(&f->warned, key, strlen(key)))
        return;
    map_put(&f->warned, key, strlen(key), f);
    if (PyErr_WarnExplicit(category, text, at->file, at->line, NULL, registry_b(f)))
        fe_raise(f, at); /* warnings are errors: python -W error */
}

/* Was it made of v, or v of it, by one op or none? */
static bool
is_next_to(const Val *a, const Val *b)
{
    if (a == b)
        return true;
    for (int k = 0; k < 2; k++) {
        const Val *of = k ? b : a, *is = k ? a : b;
        for (int i = 0; of->def && i < of->def->n_args; i++)
            if (arg(of->def, i) == is)
                return true;
    }
    return false;
}

/* x / tl.sum(x, axis=1) of a square x divides columns by the sums of rows, and no shape says
 * so: a sum along the last axis, or what is computed of it, meets its own block as a row. */
void
fe_warn_row(Fe *f, const Val *block, const Val *row)
{
    enum { FAR = 4 }; /* ops between the sum and the meeting */
    int rank = block->type->rank;
    const int32_t *side = block->type->shape;
    if (rank < 2 || row->type->rank != rank - 1 || side[rank - 1] < 2 ||
        side[rank - 1] != side[rank - 2])
        return;
    const Op *o = row->def;
    for (int i = 0; o && o->op != OP_REDUCE; i++) {
        const Val *next = NULL;
        for (int k = 0; k < o->n_args && !next; k++)
            if (arg(o, k)->type->rank == rank - 1 && arg(o, k)->def &&
                arg(o, k)->def->op != OP_CONST && arg(o, k)->def->op != OP_SPLAT)
                next = arg(o, k);
        if (!next || i == FAR || o->n_regions)
            return;
        o = next->def;
    }
    if (o && ir_attr(o, ATTR_AXIS) == rank - 1 &&
        ty_same_shape(arg(o, 0)->type, block->type) && is_next_to(arg(o, 0), block))
        fe_warn(f, PyExc_UserWarning,
                "what was reduced along axis %d stretches along it again, as a row: "
                "keep_dims=True, or s[:, None], has one of it beside each row",
                rank - 1);
}

/* ---- functions of Python ------------------------------------------------------------- */

/* Is the function o of another package than the kernel? It is not the reader's to decorate. */
static bool
is_of_library(Fe *f, PyObject *o)
{
    PyObject *home_b = PyDict_GetItemString(f->frame->tree->fn->globals, "__name__");
    PyObject *module = PyObject_GetAttrString(o, "__module__");
    if (!module || !home_b || !PyUnicode_Check(fe_own(f, module)) ||
        !PyUnicode_Check(home_b)) {
        PyErr_Clear();
        return false;
    }
    const char *a = v_const_str(f, v_obj(module), "a name");
    const char *b = v_const_str(f, v_obj(home_b), "a name");
    size_t n = strcspn(a, ".");
    return n != strcspn(b, ".") || memcmp(a, b, n);
}

void
fe_help_function(Fe *f, PyObject *o)
{
    if (is_of_library(f, o))
        err_help(f->c, "a library's function runs on the host: call it before the "
                       "launch and pass what it gives");
    else
        err_help(f->c, "decorate it with @jit, or with @constexpr_function when it "
                       "computes constants");
}

/* ---- arguments of calls -------------------------------------------------------------- */

const Node *
fe_positional_node(const Node *call, int i, bool is_method)
{
    if (!call)
        return NULL;
    for (int k = 0; k < call->n_list; k++)
        if (call->list[k]->kind == AST_Starred)
            return NULL;
    if (is_method && !i)
        return call->a->a;
    i -= is_method;
    return i < call->n_list ? call->list[i] : NULL;
}

const Node *
fe_keyword_node(const Node *call, int k)
{
    for (int i = 0; call && i <= k && i < call->n_list2; i++)
        if (!call->list2[i]->name)
            return NULL; /* '**' in front: positions differ */
    return call && k < call->n_list2 ? call->list2[k] : NULL;
}

void
fe_point(Fe *f, const Node *node)
{
    if (node)
        fe_at(f, node);
}
