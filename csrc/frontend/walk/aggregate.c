/* aggregate: classes of values, made by @aggregate (tegula/language/aggregates.py).
 *
 * A value of one is a tuple with the class's annotated fields in order; so ifs and loops
 * carry it like any tuple. Its __init__ is walked here, as a jit function would be, and is
 * the only place where a field may be set: what may change in a branch is a variable.
 * A field annotated tl.constexpr stays a constant; in others numbers become tensors.
 */
#include "frontend/fe.h"

bool
fe_is_aggregate(PyObject *cls)
{
    return PyType_Check(cls) && PyObject_HasAttrString(cls, "__tegula_aggregate__");
}

static void
drop_function(void *fn)
{
    fe_function_free(fn);
}

FeFunction *
fe_method_of(Fe *f, PyObject *o)
{
    FeFunction *fn = fe_as_function(f, v_obj(o));
    if (fn)
        return fn;
    if (fe_has_attr(f, o, "__tegula_constexpr__")) {
        o = PyObject_GetAttrString(o, "fn");
        if (!o) {
            fe_forget(f);
            return NULL;
        }
        fe_own(f, o);
    }
    if (!fe_has_attr(f, o, "__code__"))
        return NULL;
    fn = map_get(&f->methods, o, 0);
    if (fn)
        return fn;
    fn = fe_function_new(o, NULL, NULL);
    if (!fn)
        fe_raise(f, f->b.loc);
    arena_defer(f->a, drop_function, fn);
    map_put(&f->methods, o, 0, fn);
    return fn;
}

static const char *
name_at(Fe *f, PyObject *names, int i)
{
    const char *s = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(names, i), NULL);
    if (!s)
        fe_raise(f, f->b.loc);
    return s;
}

static const char *
class_name(Fe *f, PyObject *cls)
{
    PyObject *s = fe_own(f, PyObject_GetAttrString(cls, "__name__"));
    return v_const_str(f, v_obj(s), "the name of a class");
}

static PyObject *
fields_of(Fe *f, PyObject *cls)
{
    return fe_own(f, PyObject_GetAttrString(cls, "_fields"));
}

/* A field annotated tl.tensor is no text, dtype or function. */
static void
check_field(Fe *f, PyObject *cls, PyObject *name, Value v)
{
    PyObject *tensors = fe_own(f, PyObject_GetAttrString(cls, "_tensor_fields"));
    int is_tensor = PySequence_Contains(tensors, name);
    if (is_tensor < 0)
        fe_raise(f, f->b.loc);
    if (!is_tensor || v.kind != V_OBJ || is_py_none(v))
        return;
    const char *field = PyUnicode_AsUTF8AndSize(name, NULL);
    err_help(f->c, "annotate it %s: tl.constexpr when it is known while compiling",
             field ? field : "x");
    fail(f, TYPE, "the field '%s' of %s is a tl.tensor, not %s", field ? field : "?",
         class_name(f, cls), v_describe(f, v));
}

void
fe_set_field(Fe *f, Value v, const char *name, Value to)
{
    if (v.kind != V_TUPLE || !v.tuple->open_in) {
        if (v.kind == V_TUPLE && v.tuple->is_aggregate)
            err_help(f->c, "fields are set in __init__ alone: make a new value");
        else
            err_help(f->c, "values do not change: assign to a name, or tl.store to "
                           "memory");
        err_at(f->c, f->b.loc, SYNTAX, "assigning to an attribute");
    }
    if (v.tuple->open_in != f->b.block) {
        err_help(f->c, "assign a variable in the branches, and the field after them");
        err_at(f->c, f->b.loc, SYNTAX, "assigning to a field under a condition");
    }
    PyObject *names = fields_of(f, v.tuple->type);
    PyObject *weak = fe_own(f,
                            PyObject_GetAttrString(v.tuple->type, "_constexpr_fields"));
    const char **words = NEW_N(f->a, const char *, v.tuple->n + 1);
    for (int i = 0; i < v.tuple->n; i++) {
        words[i] = name_at(f, names, i);
        if (strcmp(words[i], name))
            continue;
        to = fe_read(f, to);
        int constant = PySequence_Contains(weak, PyTuple_GetItem(names, i));
        if (constant < 0)
            fe_raise(f, f->b.loc);
        if (constant)
            v_to_py(f, to, str_printf(f->a, "the field '%s'", name));
        v.tuple->at[i] = constant ? to : fe_decay(f, to);
        check_field(f, v.tuple->type, PyTuple_GetItem(names, i), v.tuple->at[i]);
        return;
    }
    const char *near = fe_closest(name, words);
    if (near)
        err_help(f->c, "did you mean '%s'?", near);
    else
        err_help(f->c, "annotate it in the class: %s: tl.tensor", name);
    err_at(f->c, f->b.loc, ATTRIBUTE, class_name(f, v.tuple->type), name);
}

/* Without an __init__ of its own: the fields in order, and defaults. */
static void
set_all(Fe *f, Value v, int n, const Value *args, int n_kw, const char *const *kw,
        const Value *kw_args)
{
    PyObject *cls = v.tuple->type, *names = fields_of(f, cls);
    const char *who = str_printf(f->a, "%s()", class_name(f, cls));
    if (n > v.tuple->n)
        err_at(f->c, f->b.loc, ARGUMENT, who,
               str_printf(f->a, "it has %d fields, but %d values were given",
                          v.tuple->n, n));
    for (int i = 0; i < n; i++)
        fe_set_field(f, v, name_at(f, names, i), args[i]);
    for (int k = 0; k < n_kw; k++)
        fe_set_field(f, v, kw[k], kw_args[k]);
    for (int i = 0; i < v.tuple->n; i++) {
        if (!is_absent(v.tuple->at[i]))
            continue;
        PyObject *d = PyObject_GetAttrString(cls, name_at(f, names, i));
        if (d) {
            fe_own(f, d);
            fe_watch(f, cls, name_at(f, names, i));
            fe_set_field(f, v, name_at(f, names, i), v_from_py(f, d));
        } else
            fe_forget(f);
    }
}

Value
fe_make_aggregate(Fe *f, PyObject *cls, int n, const Value *args, int n_kw,
                  const char *const *kw, const Value *kw_args)
{
    PyObject *names = fields_of(f, cls);
    int size = (int)PyTuple_Size(names);
    const Loc *loc = f->b.loc;
    Value *items = NEW_N(f->a, Value, size + 1);
    Value v = v_tuple(f, size, items);
    v.tuple->type = cls;
    v.tuple->is_aggregate = true;
    v.tuple->open_in = f->b.block;
    PyObject *init = fe_own(f, PyObject_GetAttrString(cls, "__init__"));
    fe_watch(f, cls, "__init__");
    FeFunction *fn = fe_method_of(f, init);
    if (fn) {
        Value *all = NEW_N(f->a, Value, n + 1);
        all[0] = v;
        if (n)
            memcpy(all + 1, args, (size_t)n * sizeof *all);
        fe_inline(f, fn, n + 1, all, n_kw, kw, kw_args);
    } else
        set_all(f, v, n, args, n_kw, kw, kw_args);
    f->b.loc = loc;
    v.tuple->open_in = NULL;
    for (int i = 0; i < size; i++)
        if (is_absent(v.tuple->at[i]))
            err_at(f->c, loc, ARGUMENT, str_printf(f->a, "%s()", class_name(f, cls)),
                   str_printf(f->a, "the field '%s' got no value",
                              name_at(f, names, i)));
    return v;
}

Value
fe_replace_fields(Fe *f, int n, const Value *args, int n_kw, const char *const *kw,
                  const Value *kw_args)
{
    Value old = n == 1 ? fe_read(f, args[0]) : (Value){0};
    if (n != 1 || old.kind != V_TUPLE || !old.tuple->is_aggregate) {
        err_help(f->c, "tl.aggregate_replace(value, field=new, ..)");
        err_at(
            f->c, f->b.loc, ARGUMENT, "aggregate_replace()",
            n == 1
                ? str_printf(f->a, "it takes an aggregate, not %s", v_describe(f, old))
                : str_printf(f->a, "it takes one value and fields, not %d values", n));
    }
    PyObject *cls = old.tuple->type, *names = fields_of(f, cls);
    int size = old.tuple->n;
    const char **words = NEW_N(f->a, const char *, size + 1);
    Value *values = NEW_N(f->a, Value, size + 1);
    for (int i = 0; i < size; i++) {
        words[i] = name_at(f, names, i);
        values[i] = old.tuple->at[i];
    }
    for (int k = 0; k < n_kw; k++) {
        int at = 0;
        while (at < size && strcmp(words[at], kw[k]))
            at++;
        if (at == size) {
            const char *near = fe_closest(kw[k], words);
            if (near)
                err_help(f->c, "did you mean '%s'?", near);
            err_at(f->c, f->b.loc, ATTRIBUTE, class_name(f, cls), kw[k]);
        }
        values[at] = kw_args[k];
    }
    return fe_make_aggregate(f, cls, 0, NULL, size, words, values);
}
