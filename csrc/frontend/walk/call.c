/* call: everything behind f(..).
 *
 *     a jit function          inlined: inline.c
 *     a nested def, a lambda  the same, with the variables around it: inline.c
 *     a builtin               its row in builtins.def binds the arguments and runs: builtins.c
 *     a constexpr function    called in Python, on constants alone
 *     a namedtuple class      a tuple with named fields
 */
#include "frontend/fe.h"

/* ---- Python objects ------------------------------------------------------------------------- */

static const char *
class_name(Fe *f, PyObject *cls)
{
    PyObject *name = fe_own(f, PyType_GetName((PyTypeObject *)cls));
    return str_printf(f->a, "%s()", v_const_str(f, v_obj(name), "a name"));
}

/* A namedtuple of values: binds arguments to its fields. */
static Value
make_named(Fe *f, PyObject *cls, int n, const Value *args, int n_kw,
           const char *const *kw, const Value *kw_args)
{
    PyObject *fields = fe_own(f, PyObject_GetAttrString(cls, "_fields"));
    PyObject *defaults = PyObject_GetAttrString(cls, "_field_defaults");
    if (defaults) {
        fe_own(f, defaults);
        fe_watch(f, cls, "_field_defaults");
        fe_watch_operand(f, v_obj(defaults));
    } else
        fe_forget(f);
    int size = (int)PyTuple_Size(fields);
    Value *items = NEW_N(f->a, Value, size + 1);
    const char **names = NEW_N(f->a, const char *, size + 1);
    const char *who = class_name(f, cls);
    for (int i = 0; i < size; i++) {
        names[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(fields, i), NULL);
        if (!names[i])
            fe_raise(f, f->b.loc);
        if (i < n)
            items[i] = args[i];
    }
    if (n > size)
        err_at(f->c, f->b.loc, ARGUMENT, who,
               str_printf(f->a, "it has %d fields, but %d values were given", size, n));
    for (int k = 0; k < n_kw; k++) {
        int at = -1;
        for (int i = 0; i < size && at < 0; i++)
            if (!strcmp(names[i], kw[k]))
                at = i;
        if (at < 0) {
            fe_point(f, fe_keyword_node(f->call, k));
            fe_unknown_keyword(f, who, kw[k], names);
        }
        items[at] = kw_args[k];
    }
    for (int i = 0; i < size; i++) {
        if (!is_absent(items[i]))
            continue;
        PyObject *d = defaults ? PyDict_GetItemWithError(defaults,
                                                         PyTuple_GetItem(fields, i))
                               : NULL;
        if (!d) {
            fe_forget(f);
            Sb sb = {.a = f->a};
            for (int k = 0; k < size; k++)
                sb_printf(&sb, "%s%s", k ? ", " : "", names[k]);
            err_help(f->c, "it is %.*s(%s)", (int)strcspn(who, "("), who, sb.at);
            err_at(f->c, f->b.loc, ARGUMENT, who,
                   str_printf(f->a, "the field '%s' is missing", names[i]));
        }
        items[i] = v_from_py(f, d);
    }
    Value t = v_tuple(f, size, items);
    t.tuple->type = cls;
    return t;
}

/* Is o's module, or that of the object it is a method of, one whose functions compute
 * constants from constants? */
static bool
is_plain_builtin(PyObject *o)
{
    static const char *const modules[] = {"builtins",  "math", "operator",
                                          "_operator", "copy", "cmath"};
    static const char *const effects[] = {
        "open",    "exec",   "eval", "input",   "__import__", "compile", "breakpoint",
        "globals", "locals", "vars", "setattr", "delattr",    "id"};
    PyObject *self = PyObject_GetAttrString(o, "__self__");
    PyObject *mod = PyObject_GetAttrString(o, "__module__");
    PyObject *name = PyObject_GetAttrString(o, "__name__");
    PyErr_Clear();
    bool ok = self && !PyModule_Check(self) && !PyType_Check(self) &&
              (PyUnicode_Check(self) || PyLong_Check(self) || PyFloat_Check(self) ||
               PyDict_Check(self) || PyTuple_Check(self));
    for (size_t i = 0; !ok && mod && PyUnicode_Check(mod) && i < COUNT(modules); i++)
        ok = !PyUnicode_CompareWithASCIIString(mod, modules[i]);
    for (size_t i = 0; ok && name && i < COUNT(effects); i++)
        ok = PyUnicode_CompareWithASCIIString(name, effects[i]) != 0;
    DROP(self, mod, name);
    return ok;
}

/* A function that a library marked with __triton_builtin__: it runs while compiling, gets
 * constants as tl.constexpr and may look at no more of a tensor than that it is none. */
static bool
is_foreign(Fe *f, PyObject *o)
{
    return fe_has_attr(f, o, "__code__") && fe_has_attr(f, o, "__triton_builtin__");
}

/* May o be called by the compiler? Only what computes constants from constants. */
static bool
is_constant_function(Fe *f, PyObject *o)
{
    if (PyCFunction_Check(o))
        return is_plain_builtin(o);
    if (fe_has_attr(f, o, "__tegula_constexpr__") || is_foreign(f, o))
        return true;
    PyObject *of = PyType_Check(o) ? Py_NewRef(o)
                                   : PyObject_GetAttrString(o, "__self__");
    fe_forget(f);
    return of &&
           fe_is_ours(f, PyType_Check(fe_own(f, of)) ? of : (PyObject *)Py_TYPE(of));
}

/* A class that a module has, torch.finfo, called with constants: its object is one, too.
 * What Python has built in stands in builtins.def, or is no part of the language. */
static bool
is_class_of_constants(Fe *f, PyObject *o, int n, const Value *args, int n_kw,
                      const Value *kw_args)
{
    if (!PyType_Check(o))
        return false;
    PyObject *mod = PyObject_GetAttrString(o, "__module__");
    bool ok = mod && PyUnicode_Check(mod) &&
              PyUnicode_CompareWithASCIIString(mod, "builtins") != 0;
    Py_XDECREF(mod);
    fe_forget(f);
    for (int i = 0; ok && i < n + n_kw; i++)
        ok = fe_read(f, i < n ? args[i] : kw_args[i - n]).kind == V_OBJ;
    return ok;
}

/* o.__name__, or NULL. */
static const char *
callee_name(Fe *f, PyObject *o)
{
    PyObject *name = PyObject_GetAttrString(o, "__name__");
    const char *s = name && PyUnicode_Check(fe_own(f, name))
                        ? v_const_str(f, v_obj(name), "a name")
                        : NULL;
    PyErr_Clear();
    return s;
}

/* Says what the language has in place of the function called name. */
static void
help_instead(Fe *f, const char *name)
{
    const char *other = fe_other_name(name);
    if (other)
        err_help(f->c, "here it is %s", other);
    else if (fe_builtin_named(name, false))
        err_help(f->c, "the kernel language has tl.%s", name);
}

/* What stands for a tensor in a call of such a function. */
static PyObject *
placeholder(Fe *f)
{
    PyObject *m = fe_own(f, PyImport_ImportModule("tegula.language._calls"));
    return fe_own(f, PyObject_CallMethod(m, "Placeholder", NULL));
}

/* New reference to what such a function returns, or NULL with an exception. */
static PyObject *
call_foreign(Fe *f, PyObject *o, PyObject *pos, PyObject *named)
{
    PyObject *m = fe_own(f, PyImport_ImportModule("tegula.language._calls"));
    return PyObject_CallMethod(m, "call_foreign", "OOO", o, pos, named);
}

/* r as a value; one of the placeholders in pos is what it stands for. pos may be NULL. */
static Value
value_of_result(Fe *f, PyObject *r, PyObject *pos, const Value *all)
{
    for (Py_ssize_t i = 0; pos && i < PyTuple_Size(pos); i++)
        if (r == PyTuple_GetItem(pos, i))
            return all[i];
    return v_from_py(f, r);
}

/* What a user's function of constants raised over a stand-in is about a value that it needs:
 * `x`, the first that is none. Anything else it raises is its own. */
static void
blame_stand_in(Fe *f, const Value *all, int n, const char *what)
{
    if (!PyErr_ExceptionMatches(PyExc_TypeError) &&
        !PyErr_ExceptionMatches(PyExc_AttributeError))
        return;
    for (int i = 0; i < n; i++)
        if (fe_has_stand_in(all[i])) {
            PyErr_Clear();
            v_to_py(f, all[i], what);
        }
}

/* What the function and its arguments may read is what the kernel reads. named may be NULL. False:
 * not all of it is known. */
static bool
watch_call(Fe *f, PyObject *o, PyObject *pos, PyObject *named)
{
    PyObject *values = named ? fe_own(f, PyDict_Values(named)) : NULL;
    FeCaptures *c = f->env->captures;
    if (!c)
        return true;
    c->is_of_call = true;
    c->has_met_idle = false;
    bool is_opaque = false, bad = fe_watch_call(f->env, o, &is_opaque);
    for (Py_ssize_t i = 0; !bad && i < PyTuple_Size(pos); i++)
        bad = fe_watch_value(f->env, PyTuple_GetItem(pos, i), &is_opaque);
    for (Py_ssize_t i = 0; !bad && values && i < PyList_Size(values); i++)
        bad = fe_watch_value(f->env, PyList_GetItem(values, i), &is_opaque);
    c->is_of_call = false;
    if (bad)
        fe_raise(f, f->b.loc);
    return !is_opaque && !c->has_met_idle;
}

/* The call of o was made. Where it changed what it reads, it has notes of its own, as a table of results,
 * and is made once more, to see what it reads with these. is_known, start: what watch_call said, and how
 * many were noted before it. False: not all of what it reads is known. */
static bool
settle_call(Fe *f, PyObject *o, PyObject *pos, PyObject *named, bool is_known,
            int start)
{
    FeCaptures *c = f->env->captures;
    int changed = fe_captures_settle(c, start, false);
    if (changed > 0) {
        is_known &= watch_call(f, o, pos, named);
        PyObject *again = PyObject_Call(o, pos, named);
        is_known &= again != NULL;
        Py_XDECREF(again);
        if (!again && !fe_is_grave())
            PyErr_Clear();
        changed = PyErr_Occurred() ? -1 : fe_captures_settle(c, start, true);
    }
    if (changed < 0)
        fe_raise(f, f->b.loc);
    return is_known && !changed;
}

/* A function of Python's runs while compiling: all of its arguments are constants. A user's
 * may ask a tensor what is known of it, its dtype: fe_stand_in(). */
static Value
call_python(Fe *f, PyObject *o, int n, const Value *args, int n_kw,
            const char *const *kw, const Value *kw_args)
{
    const char *name = callee_name(f, o);
    const Node **at = NEW_N(f->a, const Node *, n + n_kw + 1);
    Value *all = NEW_N(f->a, Value, n + n_kw + 1);
    for (int i = 0; i < n + n_kw; i++) {
        at[i] = i < n ? fe_positional_node(f->call, i, false)
                      : fe_keyword_node(f->call, i - n);
        all[i] = fe_read(f, i < n ? args[i] : kw_args[i - n]);
    }
    const CallArgs now = {f->frame, n + n_kw, all, at, NULL}, *outer = f->args;
    f->args = &now;
    f->call = NULL;
    const char *what = str_printf(f->a, "an argument of %s()", name ? name : "it");
    PyObject *pos = fe_own(f, PyTuple_New(n)), *named = NULL;
    bool foreign = is_foreign(f, o);
    if (n_kw || foreign)
        named = fe_own(f, PyDict_New());
    bool is_users = fe_has_attr(f, o, "__tegula_constexpr__") && !fe_is_ours(f, o);
    for (int i = 0; i < n + n_kw; i++) {
        if (foreign && i < n && all[i].kind == V_TENSOR) {
            PyTuple_SetItem(pos, i, Py_NewRef(placeholder(f)));
            continue;
        }
        if (all[i].kind != V_OBJ && name && !is_users)
            help_instead(f, name);
        bool stands_in = is_users && fe_has_stand_in(all[i]);
        PyObject *x = stands_in ? fe_stand_in(f, all[i]) : v_to_py(f, all[i], what);
        f->c->pending_help = NULL;
        if (i < n)
            PyTuple_SetItem(pos, i, Py_NewRef(x));
        else if (PyDict_SetItemString(named, kw[i - n], x))
            fe_raise(f, f->b.loc);
    }
    FeCaptures *c = f->env->captures;
    int start = c ? c->n : 0;
    bool is_known = watch_call(f, o, pos, named);
    fe_check_text_method(f, o, pos, NULL);
    if (f->c->opt.interpret) /* theirs, which they may step through: runtime/cache.c */
        tracing_resume();
    PyObject *given = foreign ? call_foreign(f, o, pos, named)
                              : PyObject_Call(o, pos, named);
    if (f->c->opt.interpret)
        tracing_pause();
    if (!given && is_users)
        blame_stand_in(f, all, n + n_kw, what);
    fe_own(f, given);
    if (c && !is_users && fe_captures_settle(c, start, false) < 0)
        fe_raise(f, f->b.loc);
    if (c && is_users) {
        is_known = settle_call(f, o, pos, named, is_known, start);
        PyObject *label = fe_own(f, PyUnicode_FromString(name ? name : "a function"));
        if (fe_watch_result(f->env, o, pos, named, given, label, is_known))
            fe_raise(f, f->b.loc);
    }
    fe_check_text_method(f, o, pos, given);
    Value r = value_of_result(f, given, foreign || is_users ? pos : NULL, all);
    f->args = outer;
    return r;
}

/* o is nothing that can be called in a kernel. */
static NORETURN void
cannot_call(Fe *f, PyObject *o)
{
    const char *name = callee_name(f, o);
    const char *text = f->call ? fe_text(f, f->call->a) : NULL;
    if (name)
        help_instead(f, name);
    if (f->call && f->call->a->kind == AST_Subscript)
        err_help(f->c, "a kernel calls other functions without a grid: f(..)");
    bool is_python = !PyType_Check(o) && fe_has_attr(f, o, "__code__");
    if (!f->c->pending_help && (is_python || PyCFunction_Check(o)))
        fe_help_function(f, o);
    if (is_python || !text)
        fail(f, TYPE, "a kernel cannot call %s", v_describe(f, v_obj(o)));
    fail(f, TYPE, "a kernel cannot call %s: it is no function of the kernel language",
         text);
}

static Value
call_object(Fe *f, PyObject *o, int n, const Value *args, int n_kw,
            const char *const *kw, const Value *kw_args)
{
    if (o == f->cls_tuple) /* tl.tuple(x) is tuple(x) */
        o = (PyObject *)&PyTuple_Type;
    const Builtin *bi = fe_builtin_of(f, o);
    f->is_method = false;
    if (bi)
        return fe_call_builtin(f, bi, n, args, n_kw, kw, kw_args);
    FeFunction *fn = fe_as_function(f, v_obj(o));
    if (fn && fe_watch_wrapper(f->env, o, fn))
        fe_raise(f, f->b.loc);
    if (fn)
        return fe_inline(f, fn, n, args, n_kw, kw, kw_args);
    if (o == f->cls_constexpr) {
        if (n != 1 || n_kw)
            err_at(f->c, f->b.loc, ARGUMENT, "constexpr()", "it takes one argument");
        return fe_constexpr(f, args[0]);
    }
    if (fe_is_instance(f, o, f->cls_dtype)) {
        /* tl.float32(0.5): a scalar of that type */
        if (n != 1 || n_kw)
            err_at(f->c, f->b.loc, ARGUMENT, v_short(f, v_obj(o)),
                   "it takes one argument");
        Value to = fe_read(f, args[0]);
        const char *dot = to.kind == V_OBJ && fe_is_instance(f, to.obj, f->cls_dtype)
                              ? strrchr(v_short(f, to),
                                        '.') /* of no pointer or block */
                              : NULL;
        if (dot)
            err_help(f->c, "x.to(tl.%s) converts a tensor; x.dtype is its type",
                     dot + 1);
        Value full[3] = {v_tuple(f, 0, NULL), args[0], v_obj(o)};
        if (fe_read(f, args[0]).kind == V_TENSOR)
            return fe_cast_value(f, args[0], v_obj(o), (Value){0}, false);
        return bi_full(f, full);
    }
    if (fe_has_attr(f, o, "__tegula_replace__"))
        return fe_replace_fields(f, n, args, n_kw, kw, kw_args);
    if (fe_is_aggregate(o))
        return fe_make_aggregate(f, o, n, args, n_kw, kw, kw_args);
    if (PyType_Check(o) && fe_has_attr(f, o, "_fields"))
        return make_named(f, o, n, args, n_kw, kw, kw_args);
    if (is_constant_function(f, o) ||
        is_class_of_constants(f, o, n, args, n_kw, kw_args))
        return call_python(f, o, n, args, n_kw, kw, kw_args);
    if (!PyCallable_Check(o)) {
        const char *text = f->call ? fe_text(f, f->call->a) : NULL;
        if (f->call && f->call->a->kind == AST_Attribute)
            err_help(f->c, "it is a value, no method: leave the () out");
        fail(f, TYPE, "%s%s%s%s%s cannot be called", text ? "'" : "", text ? text : "",
             text ? "' (" : "", v_describe(f, v_obj(o)), text ? ")" : "");
    }
    cannot_call(f, o);
}

static Value
call_any(Fe *f, Value fn, int n, const Value *args, int n_kw, const char *const *kw,
         const Value *kw_args)
{
    if (fn.kind == V_METHOD) {
        Value *all = NEW_N(f->a, Value, n + 1);
        all[0] = fn.method->self;
        if (n) /* args may be NULL */
            memcpy(all + 1, args, (size_t)n * sizeof *all);
        if (fn.method->builtin) {
            f->is_method = true;
            return fe_call_builtin(f, fn.method->builtin, n + 1, all, n_kw, kw,
                                   kw_args);
        }
        Value r = fe_inline(f, fn.method->fn, n + 1, all, n_kw, kw, kw_args);
        return fn.method->is_constant ? fe_constexpr(f, r) : r;
    }
    if (fn.kind == V_CLOSURE)
        return fe_call_closure(f, fn.closure, n, args, n_kw, kw, kw_args);
    if (fn.kind != V_OBJ) {
        const char *text = f->call ? fe_text(f, f->call->a) : NULL;
        if (f->call && f->call->a->kind == AST_Attribute)
            err_help(f->c, "it is a value, no method: leave the () out");
        else if (f->call && f->call->a->kind == AST_Name &&
                 fe_builtin_named(f->call->a->name, true))
            err_help(f->c, "a variable of that name hides Python's function: give it "
                           "another name");
        else if (fn.kind == V_TENSOR)
            err_help(f->c, "x * (..) multiplies; x[..] indexes a block");
        fail(f, TYPE, "%s%s%s%s%s cannot be called", text ? "'" : "", text ? text : "",
             text ? "' (" : "", v_describe(f, fn), text ? ")" : "");
    }
    return call_object(f, fn.obj, n, args, n_kw, kw, kw_args);
}

Value
fe_run_value(Fe *f, Value fn, int n, const Value *args)
{
    return call_any(f, fn, n, args, 0, NULL, NULL);
}

/* The arguments of a call as they are evaluated. */
typedef struct Given {
    VEC(Value) args;
    VEC(const char *) kw;
    VEC(Value) kw_args;
} Given;

/* **x: a dict of texts, known now, or what **kwargs and a dict display are. */
static void
spread_keywords(Fe *f, Given *g, const Node *x)
{
    Value v = fe_read(f, fe_expr(f, x->a));
    fe_at(f, x);
    if (v.kind == V_OBJ && PyDict_Check(v.obj)) {
        PyObject *items = fe_own(f, PyMapping_Items(v.obj));
        for (Py_ssize_t i = 0; i < PyList_Size(items); i++) {
            PyObject *item = PyList_GetItem(items, i);
            PUSH(f->a, &g->kw,
                 v_const_str(f, v_obj(PyTuple_GetItem(item, 0)), "a key after '**'"));
            PUSH(f->a, &g->kw_args, v_from_py(f, PyTuple_GetItem(item, 1)));
        }
        return;
    }
    if (v.kind != V_TUPLE || !v.tuple->keys) {
        err_help(f->c, "it spreads what a helper got as **kwargs, or a dict");
        fail(f, TYPE, "'**' cannot spread %s", v_describe(f, v));
    }
    for (int i = 0; i < v.tuple->n; i++) {
        PUSH(f->a, &g->kw, v.tuple->keys[i]);
        PUSH(f->a, &g->kw_args, v.tuple->at[i]);
    }
}

/* A call that is a statement: refused where @must_use_result says so, with its reason. */
static void
check_dropped(Fe *f, const Node *n, Value fn)
{
    PyObject *o = fn.kind == V_OBJ      ? fn.obj
                  : fn.kind == V_METHOD ? fn.method->obj
                                        : NULL;
    PyObject *why = o ? PyObject_GetAttrString(o, "_must_use_result") : NULL;
    if (!why)
        fe_forget(f);
    if (!why || PyObject_IsTrue(fe_own(f, why)) != 1)
        return;
    fe_at(f, n);
    const char *text = fe_text(f, n->a), *name = callee_name(f, o), *more = NULL;
    if (PyUnicode_Check(why))
        more = v_const_str(f, v_obj(why), "the text of must_use_result");
    fail(f, VALUE, "The result of %s is not being used%s%s",
         text   ? text
         : name ? name
                : "this function",
         more ? ". " : "", more ? more : "");
}

/* Is fn a function or a method of the language, and not a user's? */
static bool
is_of_language(Fe *f, Value fn)
{
    if (fn.kind == V_METHOD && fn.method->builtin)
        return true;
    if (fn.kind == V_OBJ && fe_builtin_of(f, fn.obj))
        return true;
    FeFunction *of = fn.kind == V_METHOD ? fn.method->fn
                     : fn.kind == V_OBJ  ? fe_as_function(f, fn)
                                         : NULL;
    return of && fe_tree(f, of)->is_library;
}

/* A promise (tl.multiple_of) holds for its argument. */
bool
fe_does_more(const Op *o)
{
    if (op_has(o, OPF_WRITES | OPF_SYNC | OPF_STAYS) || o->op == OP_HINT ||
        (o->op == OP_LOAD && ir_attr(o, ATTR_VOLATILE)))
        return true;
    for (int r = 0; r < o->n_regions; r++)
        for (const Op *p = o->regions[r]->first; p; p = p->next)
            if (fe_does_more(p))
                return true;
    return false;
}

/* Has nothing come behind `last` in b that does more than compute? */
static bool
only_computes(const Fe *f, const Block *b, const Op *last)
{
    const Op *o = last ? last->next : b->first;
    if (!o || f->b.block != b)
        return false;
    for (; o; o = o->next)
        if (fe_does_more(o))
            return false;
    return true;
}

/* x.sort() as a statement was to change x, tl.dot(a, b, acc) was to add to acc. */
static void
warn_dropped(Fe *f, const Node *n, Value fn, Value r)
{
    if (r.kind != V_TENSOR && r.kind != V_TUPLE)
        return;
    const char *args = n->n_list + n->n_list2 ? ".." : "";
    if (fn.kind != V_METHOD || fn.method->self.kind != V_TENSOR ||
        n->a->kind != AST_Attribute) {
        const char *what = fe_text(f, n->a), *to = "y";
        if (!what || strlen(what) > 40)
            what = "this call";
        if (n->n_list > 2 && n->list[2]->kind == AST_Name && strstr(what, "dot"))
            to = n->list[2]->name;
        fe_warn(f, PyExc_UserWarning,
                "what %s(%s) gives is not used, and it changes nothing: write "
                "%s = %s(%s), or leave it out",
                what, args, to, what, args);
        return;
    }
    const Node *x = n->a->a;
    const char *set = x->kind == AST_Name ? str_printf(f->a, "%s = ", x->name) : "y = ";
    const char *of = x->kind == AST_Name ? x->name : "x";
    fe_warn(
        f, PyExc_UserWarning,
        "what %s.%s(%s) gives is not used, and a tensor is a value, which no method "
        "changes: write %s%s.%s(%s)",
        of, n->a->name, args, set, of, n->a->name, args);
}

/* h(v) where all that h does is to assign to its own names, v += 2. */
static void
warn_in_place(Fe *f, Value fn, Value r)
{
    FeFunction *of = fe_as_function(f, fn);
    const Tree *t = of && is_py_none(r) ? fe_tree(f, of) : NULL;
    for (int i = 0; t && i < t->n_body; i++)
        if (t->body[i]->kind != AST_Assign && t->body[i]->kind != AST_AugAssign)
            return;
    if (t)
        fe_warn(f, PyExc_UserWarning,
                "%s() changes nothing: its parameters are names of its own, so it "
                "returns the value, and x = %s(x) keeps it",
                t->name, t->name);
}

Value
fe_call(Fe *f, Node *n)
{
    bool is_dropped = f->dropped == n;
    Value fn = fe_expr(f, n->a);
    if (is_dropped)
        check_dropped(f, n, fn);
    Given g = {0};
    for (int i = 0; i < n->n_list; i++) {
        Node *x = n->list[i];
        if (x->kind == AST_Starred) {
            Value v = fe_expr(f, x->a);
            fe_at(f, x);
            Value t = fe_elements(f, v, "what '*' spreads");
            for (int k = 0; k < t.tuple->n; k++)
                PUSH(f->a, &g.args, t.tuple->at[k]);
        } else {
            Value v = fe_expr(f, x);
            PUSH(f->a, &g.args, v);
        }
    }
    for (int k = 0; k < n->n_list2; k++) {
        Node *x = n->list2[k];
        if (!x->name) {
            spread_keywords(f, &g, x);
            continue;
        }
        PUSH(f->a, &g.kw, x->name);
        Value v = fe_expr(f, x->a);
        PUSH(f->a, &g.kw_args, v);
    }
    fe_at(f, n);
    f->call = n;
    const Block *block = f->b.block;
    const Op *last = block->last;
    Value r = call_any(f, fn, g.args.n, g.args.n ? g.args.at : NEW(f->a, Value), g.kw.n,
                       g.kw.at, g.kw_args.at);
    f->call = NULL;
    if (is_dropped && only_computes(f, block, last)) {
        fe_at(f, n);
        if (is_of_language(f, fn))
            warn_dropped(f, n, fn, r);
        else
            warn_in_place(f, fn, r);
    }
    return r;
}
