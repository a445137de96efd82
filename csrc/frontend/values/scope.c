/* scope: what a name means. Locals by slot, then the closure, then the module's globals,
 * then Python's builtins.
 *
 * A kernel is compiled once and launched often, so a global it reads must not change:
 * modules, functions of the language, types, None and tl.constexpr instances may be read,
 * a plain number may not (TEGULA_ALLOW_NON_CONSTEXPR_GLOBALS=1 lifts that).
 */
#include "frontend/fe.h"

const Loc *
fe_loc(Fe *f, const Node *n)
{
    const Frame *fr = f->frame;
    if (!fr)
        return NULL;
    Loc *l = NEW(f->a, Loc);
    l->file = fr->tree->file;
    l->func = fr->tree->name;
    l->line = n->line;
    l->col = n->col;
    l->end_line = n->end_line;
    l->end_col = n->end_col;
    l->caller = fr->call;
    l->is_library = fr->tree->is_library;
    return l;
}

void
fe_enter(Fe *f, const Node *n)
{
    if (++f->depth > 2500 || stack_left() < FE_STACK)
        err_at(f->c, fe_loc(f, n), LIMIT, "the kernel is nested too deeply");
}

/* The i-th integer parameter has the value 1 in this launch: it is the constant then. */
Value
fe_read(Fe *f, Value v)
{
    if (v.kind != V_PARAM)
        return v;
    LazyParam *p = v.param;
    if (is_absent(p->now))
        p->now = ir_ask(f->func, p->val, FACT_EQ1) ? v_int(f, 1) : v_val(p->val);
    return p->now;
}

void
fe_set(Fe *f, int slot, Value v)
{
    f->frame->local[slot] = v;
    f->frame->set_at[slot] = f->b.loc;
}

static bool
is_py_builtin(Fe *f, PyObject *o, const char *name)
{
    PyObject *b = PyObject_GetAttrString(f->builtins_mod, name);
    Py_XDECREF(b); /* the module holds it */
    fe_forget(f);
    return b == o;
}

/* ---- builtins.def ------------------------------------------------------------------------ */

const BuiltinName fe_builtin_names[] = {
#define BUILTIN(name, sig, fn, flags, doc) {name, flags, true},
#define JIT_MEMBER(name) {name, BI_MEMBER, false},
#include "frontend/builtins.def"
#undef BUILTIN
#undef JIT_MEMBER
};
const int n_fe_builtins = (int)COUNT(fe_builtin_names);

const BuiltinName *
fe_builtin_named(const char *name, bool py)
{
    for (const BuiltinName *b = fe_builtin_names; b < fe_builtin_names + n_fe_builtins;
         b++)
        if (b->has_code && ((b->flags & BI_PY) != 0) == py && !strcmp(b->name, name))
            return b;
    return NULL;
}

/* The text of s, an attribute that may be missing or no string; steals s. */
static const char *
word(Fe *f, PyObject *s)
{
    const char *u = s && PyUnicode_Check(fe_own(f, s))
                        ? PyUnicode_AsUTF8AndSize(s, NULL)
                        : NULL;
    fe_forget(f);
    return u;
}

const BuiltinName *
fe_builtin_name_of(Fe *f, PyObject *o)
{
    static const BuiltinName none;
    const BuiltinName *known = map_get(&f->builtins, o, 0);
    if (known)
        return known == &none ? NULL : known;
    const char *name = word(f, PyObject_GetAttr(o, f->attr_builtin));
    known = name ? fe_builtin_named(name, false) : NULL;
    if (!known && (PyCFunction_Check(o) || PyType_Check(o))) {
        name = word(f, PyObject_GetAttrString(o, "__name__"));
        known = name ? fe_builtin_named(name, true) : NULL;
        if (known && !is_py_builtin(f, o, name))
            known = NULL;
    }
    map_put(&f->builtins, fe_own(f, Py_NewRef(o)), 0, (void *)(known ? known : &none));
    return known;
}

/* ---- lookup ------------------------------------------------------------------------------ */

/* dict[name], borrowed, or NULL. */
static PyObject *
look_b(Fe *f, PyObject *dict, PyObject *name)
{
    if (!dict)
        return NULL;
    PyObject *v = PyDict_GetItemWithError(dict, name);
    if (!v && PyErr_Occurred())
        fe_raise(f, f->b.loc);
    return v;
}

/* What is near to a name that is not defined: a local with a value, or a global. */
static const char *
suggest(Fe *f, const char *name)
{
    const Frame *fr = f->frame;
    PyObject *globals = fr->tree->fn->globals;
    Py_ssize_t n = PyDict_Size(globals), n_locals = 0, at = 0, k = 0;
    for (const Frame *o = fr; o; o = o->outer)
        n_locals += o->tree->n_locals;
    const char **words = NEW_N(f->a, const char *, n_locals + n + 1);
    for (const Frame *o = fr; o; o = o->outer)
        for (int i = 0; i < o->tree->n_locals; i++)
            if (!is_absent(o->local[i]))
                words[k++] = o->tree->local[i];
    PyObject *key, *value;
    Py_ssize_t limit = k + n;
    while (k < limit && PyDict_Next(globals, &at, &key, &value)) {
        const char *s = fe_utf8(key);
        if (s && s[0] != '_')
            words[k++] = s;
    }
    PyErr_Clear();
    words[k] = NULL;
    return fe_closest(name, words);
}

/* slot: of the local of fr that it would be; -1: it is none. */
static NORETURN void
not_defined(Fe *f, const Node *n, const Frame *fr, int slot)
{
    const Loc *loc = fe_loc(f, n);
    if (slot >= 0 && fr->lost[slot])
        err_help(f->c, "%s", fr->lost[slot]);
    else if (slot >= 0)
        err_help(f->c, "'%s' gets its value further down", n->name);
    else {
        const char *near = suggest(f, n->name);
        const char *here =
            strcmp(n->name, "cuda")
                ? fe_other_name(n->name)
                : "tl.program_id(axis) and tl.arange(0, N) for an index; "
                  "blocks need no shared memory of their own";
        if (here && near && strlen(near) < 3)
            near =
                NULL; /* pl is Pallas before it is tl; what is so short is near to much */
        if (fe_has_attr(f, f->env->language, n->name))
            err_help(f->c, "did you mean tl.%s?", n->name);
        else if (near)
            err_help(f->c, "did you mean '%s'?", near);
        else if (here)
            err_help(f->c, "here it is %s", here);
    }
    const char *const *two = slot >= 0 ? fr->two[slot].of : NULL;
    if (two && two[0])
        err_at(f->c, loc, BRANCH_TYPE, n->name, two[0], two[1]);
    err_at(f->c, loc, NAME, n->name);
}

/* The variable of an enclosing function that name means in a closure; NULL: there is none.
 * names are interned. */
static const Value *
outer_variable(const Frame *fr, const char *name, const Frame **whose, int *slot)
{
    for (const Frame *o = fr->outer; o; o = o->outer)
        for (int i = 0; i < o->tree->n_locals; i++)
            if (o->tree->local[i] == name) {
                *whose = o;
                *slot = i;
                return &o->local[i];
            }
    return NULL;
}

/* The cell that holds the free variable of what fr runs. */
static PyObject *
cell_of(Fe *f, const Frame *fr, PyObject *name)
{
    while (!fr->tree->fn
                ->fn) /* a def inside of a kernel: Python has not made its function */
        fr = fr->outer;
    const FeFunction *fn = fr->tree->fn;
    PyObject *code = fe_own(f, PyObject_GetAttrString(fn->fn, "__code__"));
    PyObject *names = fe_own(f, PyObject_GetAttrString(code, "co_freevars"));
    PyObject *cells = fe_own(f, PyObject_GetAttrString(fn->fn, "__closure__"));
    Py_ssize_t i = PySequence_Index(names, name);
    PyObject *cell = i < 0 ? NULL : PyTuple_GetItem(cells, i);
    if (!cell)
        fe_raise(f, f->b.loc);
    return cell;
}

/* np.float32(2), or a tensor of no dimension */
static bool
is_one_number(Fe *f, PyObject *o)
{
    if (!fe_has_attr(f, o, "shape") || !fe_has_attr(f, o, "item"))
        return false;
    PyObject *shape = fe_own(f, PyObject_GetAttrString(o, "shape"));
    return PyTuple_Check(shape) && PyTuple_Size(shape) == 0;
}

/* o is a global, or a variable of an enclosing function, that kernels may not read. */
static NORETURN void
refuse_global(Fe *f, const Node *n, PyObject *o, bool is_cell)
{
    const char *what = v_describe(f, v_obj(o));
    if (PyLong_Check(o) || PyFloat_Check(o) || PyUnicode_Check(o))
        err_help(f->c, "write %s = tl.constexpr(%s), or pass it as an argument",
                 n->name, v_short(f, v_obj(o)));
    else if (PyType_Check(o)) {
        fe_help_dtype(f, o);
        if (!f->c->pending_help)
            err_help(f->c,
                     "kernels know named tuples and @aggregate; of an Enum, or "
                     "a class of constants, make tl.constexpr(%s)",
                     n->name);
    } else if (PyCallable_Check(o))
        fe_help_function(f, o);
    else if (!strncmp(what, "dtype(", 6) || !strncmp(what, "torch.", 6))
        fe_help_dtype(f, o);
    else if (is_one_number(f, o))
        err_help(f->c, "write %s = tl.constexpr(%s.item()), or pass it as an argument",
                 n->name, n->name);
    else if (fe_has_attr(f, o, "shape"))
        err_help(f->c, "an array is passed as an argument");
    else
        err_help(f->c, "pass it as an argument, or wrap it: tl.constexpr(..)");
    const char *where = is_cell ? "variable of the enclosing function"
                                : "global variable";
    err_at(f->c, f->b.loc, GLOBAL, where, n->name, what);
}

static void
check_may_read(Fe *f, const Node *n, PyObject *o, bool is_cell)
{
    PyObject *lost = NULL;
    bool may = fe_may_read(f->env, o, &lost);
    if (lost) {
        PyErr_SetNone(fe_own(f, lost));
        fe_raise(f, f->b.loc);
    }
    if (!may && !fe_builtin_name_of(f, o) &&
        fe_knob(f, "compilation", "allow_non_constexpr_globals") != Py_True)
        refuse_global(f, n, o, is_cell);
}

/* What stands in the module or in an enclosing function, o. */
static Value
global_value(Fe *f, const Node *n, PyObject *name, PyObject *o, bool is_cell)
{
    fe_at(f, n);
    check_may_read(f, n, o, is_cell);
    Py_INCREF(o); /* the global may be rebound while we hold it */
    fe_own(f, o);
    PyObject *holder = is_cell ? cell_of(f, f->frame, name)
                               : f->frame->tree->fn->globals;
    if (fe_watch_name(f->env, holder, name, o, is_cell))
        fe_raise(f, f->b.loc);
    Value v = v_from_py(f, o);
    v.is_bare = !fe_is_instance(f, o, f->cls_constexpr);
    return v;
}

Value
fe_name(Fe *f, const Node *n)
{
    const Frame *fr = f->frame, *whose;
    int slot;
    if (n->slot >= 0 && !is_absent(fr->local[n->slot]))
        return fe_read(f, fr->local[n->slot]);
    const Value *outer = n->slot < 0 ? outer_variable(fr, n->name, &whose, &slot)
                                     : NULL;
    if (outer && !is_absent(*outer))
        return fe_read(f, *outer);
    if (outer)
        not_defined(f, n, whose, slot);
    PyObject *name = fe_own(f, PyUnicode_FromString(n->name));
    const FeFunction *fn = fr->tree->fn;
    PyObject *o = look_b(f, fn->closure, name);
    if (o)
        return global_value(f, n, name, o, true);
    o = look_b(f, fn->globals, name);
    if (o)
        return global_value(f, n, name, o, false);
    o = PyObject_GetAttr(f->builtins_mod, name);
    if (!o) {
        PyErr_Clear();
        not_defined(f, n, fr, n->slot);
    }
    fe_own(f, o);
    if (fe_watch_name(f->env, fn->globals, name, NULL, false)) /* it may come to be */
        fe_raise(f, f->b.loc);
    return v_obj(o);
}
