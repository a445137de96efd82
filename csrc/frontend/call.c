/* call: everything behind f(..).
 *
 *     a jit function          inlined: its parameters are bound, its body is walked here
 *     a builtin               its row in builtins.def binds the arguments and runs
 *     a constexpr function    called in Python, on constants alone
 *     a namedtuple class      a tuple with named fields
 */
#include "frontend/fe.h"

enum { MAX_INLINE = 100, MAX_ARGS = 256 };

FeFunction *
fe_as_function(Fe *f, Value v)
{
    if (v.kind != V_OBJ)
        return NULL;
    return f->env->as_function(f->env->data, v.obj);
}

/* ---- carets -------------------------------------------------------------------------------- */

/* The arguments of the builtin that runs, bound to its parameters. */
typedef struct CallArgs {
    const Frame *frame; /* where the call stands */
    int n;
    const Value *v;
    const Node *const *at; /* the argument as written; NULL: not known */
} CallArgs;

void
fe_blame(Fe *f, Value v)
{
    const CallArgs *a = f->args;
    const Node *found = NULL;
    if (!a || a->frame != f->frame)
        return;
    for (int i = 0; i < a->n; i++)
        if (!is_absent(a->v[i]) && v_identical(a->v[i], v)) {
            if (found || !a->at[i])
                return; /* given twice: which one is not known */
            found = a->at[i];
        }
    if (found)
        f->b.loc = fe_loc(f, found);
}

/* The i-th argument of a call as written, self of a method being its 0th; or NULL. */
static const Node *
positional(const Node *call, int i, bool is_method)
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

static const Node *
keyword(const Node *call, int k)
{
    return call && k < call->n_list2 ? call->list2[k] : NULL;
}

/* Points at node, if it is known. */
static void
point(Fe *f, const Node *node)
{
    if (node)
        f->b.loc = fe_loc(f, node);
}

/* ---- inlining ------------------------------------------------------------------------------ */

static const char *
param_name(const Tree *t, int i)
{
    return t->local[i];
}

static NORETURN void
unknown_keyword(Fe *f, const char *fn, const char *kw, const char *const *words)
{
    const char *near = fe_closest(kw, words);
    if (near)
        err_help(f->c, "did you mean '%s'?", near);
    err_at(f->c, f->b.loc, ARGUMENT,
           strchr(fn, '(') ? fn : str_printf(f->a, "%s()", fn),
           str_printf(f->a, "it has no parameter '%s'", kw));
}

/* The parameters as the help of a message shows them: f(a, b=..). */
static const char *
params_text(Fe *f, const Tree *t)
{
    Sb sb = {.a = f->a};
    sb_printf(&sb, "%s(", t->name);
    for (int i = 0; i < t->n_params; i++)
        sb_printf(&sb, "%s%s%s", i ? ", " : "", param_name(t, i),
                  t->fn->params[i].default_value ? "=.." : "");
    sb_printf(&sb, "%s)", t->has_vararg ? ", *.." : "");
    return sb.at;
}

/* Binds arguments to the parameters of t in local[0..]. */
static void
bind_params(Fe *f, const Tree *t, Value *local, int n, const Value *args, int n_kw,
            const char *const *kw, const Value *kw_args)
{
    FeFunction *fn = t->fn;
    const char *who = str_printf(f->a, "%s()", t->name);
    const Node *call = f->call;
    f->call = NULL;
    int n_pos = 0;
    while (n_pos < t->n_params && !fn->params[n_pos].keyword_only)
        n_pos++;
    if (n > n_pos && !t->has_vararg) {
        err_help(f->c, "it is %s", params_text(f, t));
        err_at(f->c, f->b.loc, ARGUMENT, who,
               str_printf(f->a, "it takes %d argument%s, but %d were given", n_pos,
                          n_pos == 1 ? "" : "s", n));
    }
    for (int i = 0; i < MIN(n, n_pos); i++)
        local[i] = args[i];
    if (t->has_vararg)
        local[t->n_params] = v_tuple(f, MAX(n - n_pos, 0), args + MIN(n, n_pos));
    for (int k = 0; k < n_kw; k++) {
        int at = -1;
        for (int i = 0; i < t->n_params && at < 0; i++)
            if (!strcmp(param_name(t, i), kw[k]))
                at = i;
        if (at < 0) {
            const char **words = NEW_N(f->a, const char *, t->n_params + 1);
            memcpy(words, t->local, (size_t)t->n_params * sizeof *words);
            point(f, keyword(call, k));
            err_help(f->c, "it is %s", params_text(f, t));
            unknown_keyword(f, t->name, kw[k], words);
        }
        if (!is_absent(local[at])) {
            point(f, keyword(call, k));
            err_at(f->c, f->b.loc, ARGUMENT, who,
                   str_printf(f->a, "'%s' is given twice", kw[k]));
        }
        local[at] = kw_args[k];
    }
    for (int i = 0; i < t->n_params; i++) {
        FeParam *p = &fn->params[i];
        if (is_absent(local[i])) {
            if (!p->default_value) {
                err_help(f->c, "it is %s", params_text(f, t));
                err_at(f->c, f->b.loc, ARGUMENT, who,
                       str_printf(f->a, "the argument '%s' is missing",
                                  param_name(t, i)));
            }
            local[i] = v_from_py(f, p->default_value);
        }
        local[i] = fe_read(f, local[i]);
        /* A tensor for a parameter annotated tl.constexpr is as good: published kernels
         * (the attention tutorial's offsets) annotate so what is none. It stays a tensor;
         * whoever needs a constant of it says so there. */
    }
}

Value
fe_inline(Fe *f, FeFunction *fn, int n, const Value *args, int n_kw,
          const char *const *kw, const Value *kw_args)
{
    const Loc *call = f->b.loc;
    Tree *t = fe_tree(f, fn);
    Frame fr = {.caller = f->frame, .tree = t, .call = call};
    fr.depth = f->frame ? f->frame->depth + 1 : 0;
    if (t->has_kwarg) {
        err_help(f->c, "name the parameters of %s()", t->name);
        err_at(f->c, call, SYNTAX, "a parameter '**kwargs'");
    }
    if (fr.depth > MAX_INLINE) {
        int same = 0;
        for (Frame *up = f->frame; up; up = up->caller)
            same += up->tree == t;
        if (same > 1)
            err_at(f->c, call, RECURSION, t->name);
        fail(f, LIMIT, "functions are inlined more than %d levels deep", MAX_INLINE);
    }
    fr.local = NEW_N(f->a, Value, t->n_locals + N_HIDDEN);
    fr.set_at = NEW_N(f->a, const Loc *, t->n_locals + N_HIDDEN);
    fr.branch_only = NEW_N(f->a, bool, t->n_locals + N_HIDDEN);
    fr.loop_only = NEW_N(f->a, bool, t->n_locals + N_HIDDEN);
    bind_params(f, t, fr.local, n, args, n_kw, kw, kw_args);
    if (t->types)
        fe_typed_args(f, t, fr.local);
    bool outer = f->no_overflow_checks;
    f->no_overflow_checks |= t->types !=
                             NULL; /* they work on bits, and wrap on purpose */
    f->frame = &fr;
    Value v = fe_body(f);
    f->frame = fr.caller;
    f->no_overflow_checks = outer;
    f->b.loc = call;
    return v;
}

/* ---- builtins -------------------------------------------------------------------------------- */

const Builtin fe_builtins[] = {
#define BUILTIN(name, sig, fn, flags, doc) {name, sig, fn, flags, doc},
#define JIT_MEMBER(name) {name, "", NULL, BI_MEMBER, ""},
#include "frontend/builtins.def"
#undef BUILTIN
#undef JIT_MEMBER
};
const int n_fe_builtins = (int)COUNT(fe_builtins);

static const Builtin *
row(const char *name, bool py)
{
    for (int i = 0; i < n_fe_builtins; i++)
        if (!strcmp(fe_builtins[i].name, name) &&
            ((fe_builtins[i].flags & BI_PY) != 0) == py && fe_builtins[i].fn)
            return &fe_builtins[i];
    return NULL;
}

const Builtin *
fe_member(const char *name)
{
    for (int i = 0; i < n_fe_builtins; i++)
        if ((fe_builtins[i].flags & BI_MEMBER) && !strcmp(fe_builtins[i].name, name))
            return &fe_builtins[i];
    return NULL;
}

const Builtin *
fe_builtin_of(Fe *f, PyObject *o)
{
    const Builtin *bi = map_get(&f->builtins, o, 0);
    if (bi)
        return bi->name ? bi : NULL;
    static const Builtin none;
    bi = &none;
    PyObject *mark = PyObject_GetAttr(o, f->attr_builtin);
    const char *name = mark && PyUnicode_Check(mark)
                           ? PyUnicode_AsUTF8AndSize(mark, NULL)
                           : NULL;
    if (name && row(name, false))
        bi = row(name, false);
    PyErr_Clear();
    Py_XDECREF(mark);
    if (bi == &none && (PyCFunction_Check(o) || PyType_Check(o))) {
        PyObject *py = PyObject_GetAttrString(o, "__name__");
        name = py && PyUnicode_Check(py) ? PyUnicode_AsUTF8AndSize(py, NULL) : NULL;
        PyErr_Clear();
        if (name && row(name, true) && fe_is_py_builtin(f, o, name))
            bi = row(name, true);
        Py_XDECREF(py);
    }
    map_put(&f->builtins, fe_own(f, Py_NewRef(o)), 0, (void *)bi);
    return bi->name ? bi : NULL;
}

/* One parameter of a signature. */
typedef struct SigParam {
    const char *name;
    bool is_rest, has_default;
} SigParam;

static int
read_signature(Fe *f, const char *s, SigParam *p)
{
    int n = 0;
    while (*s) {
        while (*s == ' ' || *s == ',')
            s++;
        size_t len = strcspn(s, ",");
        if (!len)
            break;
        if (n == MAX_PARAM)
            unreachable(f->c);
        p[n].is_rest = *s == '*';
        p[n].has_default = s[len - 1] == '=' || p[n].is_rest;
        p[n].name = str_intern_n(f->c, s + p[n].is_rest,
                                 len - p[n].is_rest - (s[len - 1] == '='));
        n++;
        s += len;
    }
    return n;
}

/* A function of map_elementwise is written for scalars but sees blocks: what tells them
 * apart, and what may not run for elements that took another branch, is refused. */
static void
check_lanes(Fe *f, const Builtin *bi)
{
    static BuiltinFn *const elementwise[] = {
        bi_program_id,
        bi_num_programs,
        bi_cast,
        bi_to_tensor,
        bi_exp,
        bi_exp2,
        bi_log,
        bi_log2,
        bi_sin,
        bi_cos,
        bi_sqrt,
        bi_rsqrt,
        bi_erf,
        bi_floor,
        bi_ceil,
        bi_sqrt_rn,
        bi_tanh,
        bi_abs,
        bi_fma,
        bi_fdiv,
        bi_div_rn,
        bi_umulhi,
        bi_add,
        bi_sub,
        bi_mul,
        bi_logical_and,
        bi_logical_or,
        bi_minimum,
        bi_maximum,
        bi_clamp,
        bi_where,
        bi_cdiv,
        bi_sigmoid,
        bi_range,
        bi_static_range,
        bi_static_assert,
        bi_static_print,
        bi_is_cuda,
        bi_cuda_capability_geq,
        bi_polynomial,
        bi_is_ptx,
        bi_full,
        bi_inline_asm_elementwise,
        bi_num_warps,
        bi_num_threads,
        bi_len,
        bi_int,
        bi_float,
        bi_bool,
        bi_isinstance,
        bi_getattr,
        bi_hasattr,
        bi_py_min,
        bi_py_max,
        bi_tuple,
    };
    for (size_t i = 0; i < COUNT(elementwise); i++)
        if (bi->fn == elementwise[i])
            return;
    err_at(f->c, f->b.loc, LIMIT,
           str_printf(f->a, "%s() in a function of map_elementwise", bi->name));
}

/* f(a, b[, c, d]), for the help of a message. */
static const char *
signature_text(Fe *f, const Builtin *bi, const SigParam *p, int n)
{
    Sb sb = {.a = f->a};
    bool optional = false;
    sb_printf(&sb, "%s(", bi->name);
    for (int i = 0; i < n; i++) {
        bool opens = p[i].has_default && !p[i].is_rest && !optional;
        sb_printf(&sb, "%s%s%s%s", opens ? "[" : "", i ? ", " : "",
                  p[i].is_rest ? "*" : "", p[i].name);
        optional |= opens;
    }
    sb_put(&sb, optional ? "])" : ")");
    return sb.at;
}

/* Binds arguments to the signature and runs it. */
static Value
call_builtin(Fe *f, const Builtin *bi, int n, const Value *args, int n_kw,
             const char *const *kw, const Value *kw_args)
{
    Value a[MAX_PARAM] = {0};
    SigParam p[MAX_PARAM] = {0};
    const Node *node[MAX_PARAM] = {0}, *call = f->call;
    bool is_method = f->is_method;
    f->call = NULL;
    int n_params = read_signature(f, bi->sig, p), at = 0, i = 0;
    const char *who = str_printf(f->a, "%s()", bi->name), *outer = f->callee;
    for (; i < n && at < n_params; at++) {
        if (p[at].is_rest) {
            a[at] = v_tuple(f, n - i, args + i);
            i = n;
        } else {
            node[at] = positional(call, i, is_method);
            a[at] = fe_read(f, args[i++]);
        }
    }
    if (i < n) {
        err_help(f->c, "it is %s", signature_text(f, bi, p, n_params));
        err_at(f->c, f->b.loc, ARGUMENT, who,
               str_printf(f->a, "it takes at most %d argument%s, but %d were given",
                          n_params, n_params == 1 ? "" : "s", n));
    }
    for (int k = 0; k < n_kw; k++) {
        int to = -1;
        for (int j = 0; j < n_params && to < 0; j++)
            if (p[j].name == kw[k] || !strcmp(p[j].name, kw[k]))
                to = j;
        /* what a wrapper written for Triton hands on */
        if (to < 0 && (!strcmp(kw[k], "_semantic") || !strcmp(kw[k], "_builder")))
            continue;
        if (to < 0) {
            const char *words[MAX_PARAM + 1] = {0};
            for (int j = 0; j < n_params; j++)
                words[j] = p[j].name;
            point(f, keyword(call, k));
            err_help(f->c, "it is %s", signature_text(f, bi, p, n_params));
            unknown_keyword(f, bi->name, kw[k], words);
        }
        if (!is_absent(a[to])) {
            point(f, keyword(call, k));
            err_at(f->c, f->b.loc, ARGUMENT, who,
                   str_printf(f->a, "'%s' is given twice", kw[k]));
        }
        node[to] = keyword(call, k);
        a[to] = fe_read(f, kw_args[k]);
    }
    for (int j = 0; j < n_params; j++)
        if (is_absent(a[j]) && !p[j].has_default) {
            err_help(f->c, "it is %s", signature_text(f, bi, p, n_params));
            err_at(f->c, f->b.loc, ARGUMENT, who,
                   str_printf(f->a, "the argument '%s' is missing", p[j].name));
        }
    if (f->lanes)
        check_lanes(f, bi);
    const CallArgs now = {f->frame, n_params, a, node}, *outer_args = f->args;
    f->args = &now;
    f->callee = bi->name;
    Value r = bi->fn(f, a);
    f->callee = outer;
    f->args = outer_args;
    return r;
}

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
    if (defaults)
        fe_own(f, defaults);
    PyErr_Clear();
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
            point(f, keyword(f->call, k));
            unknown_keyword(f, who, kw[k], names);
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
            PyErr_Clear();
            err_at(f->c, f->b.loc, ARGUMENT, who,
                   str_printf(f->a, "the field '%s' is missing", names[i]));
        }
        items[i] = v_from_py(f, d);
    }
    Value t = v_tuple(f, size, items);
    t.tuple->type = cls;
    return t;
}

/* May o be called by the compiler? Only what computes constants from constants. */
static bool
is_constant_function(Fe *f, PyObject *o)
{
    if (PyCFunction_Check(o))
        return !fe_is_py_builtin(f, o, "open") && !fe_is_py_builtin(f, o, "exec") &&
               !fe_is_py_builtin(f, o, "eval") && !fe_is_py_builtin(f, o, "input");
    if (PyObject_HasAttrString(o, "__tegula_constexpr__"))
        return true;
    PyObject *of = PyType_Check(o) ? Py_NewRef(o)
                                   : PyObject_GetAttrString(o, "__self__");
    PyErr_Clear();
    if (!of)
        return false;
    PyObject *cls = PyType_Check(of) ? of : (PyObject *)Py_TYPE(of);
    PyObject *mod = PyObject_GetAttrString(cls, "__module__");
    const char *s = mod && PyUnicode_Check(mod) ? PyUnicode_AsUTF8AndSize(mod, NULL)
                                                : NULL;
    bool ours = s && !strncmp(s, "tegula", 6);
    PyErr_Clear();
    Py_XDECREF(mod);
    Py_DECREF(of);
    return ours;
}

static Value
call_python(Fe *f, PyObject *o, int n, const Value *args, int n_kw,
            const char *const *kw, const Value *kw_args)
{
    const char *what = "an argument of a compile-time function";
    PyObject *pos = fe_own(f, PyTuple_New(n)), *named = NULL;
    for (int i = 0; i < n; i++)
        PyTuple_SetItem(pos, i, Py_NewRef(v_to_py(f, args[i], what)));
    if (n_kw)
        named = fe_own(f, PyDict_New());
    for (int k = 0; k < n_kw; k++)
        if (PyDict_SetItemString(named, kw[k], v_to_py(f, kw_args[k], what)))
            fe_raise(f, f->b.loc);
    return v_from_py(f, fe_own(f, PyObject_Call(o, pos, named)));
}

static Value
call_object(Fe *f, PyObject *o, int n, const Value *args, int n_kw,
            const char *const *kw, const Value *kw_args)
{
    const Builtin *bi = fe_builtin_of(f, o);
    f->is_method = false;
    if (bi)
        return call_builtin(f, bi, n, args, n_kw, kw, kw_args);
    FeFunction *fn = fe_as_function(f, v_obj(o));
    if (fn)
        return fe_inline(f, fn, n, args, n_kw, kw, kw_args);
    if (o == f->cls_constexpr) {
        if (n != 1 || n_kw)
            err_at(f->c, f->b.loc, ARGUMENT, "constexpr()", "it takes one argument");
        return v_from_py(f, v_to_py(f, args[0], "a tl.constexpr"));
    }
    if (fe_is_instance(f, o, f->cls_dtype)) {
        /* tl.float32(0.5): a scalar of that type */
        if (n != 1 || n_kw)
            err_at(f->c, f->b.loc, ARGUMENT, v_short(f, v_obj(o)),
                   "it takes one argument");
        Value full[3] = {v_tuple(f, 0, NULL), args[0], v_obj(o)};
        if (fe_read(f, args[0]).kind == V_TENSOR)
            return fe_cast_value(f, args[0], v_obj(o), (Value){0}, false);
        return bi_full(f, full);
    }
    if (fe_is_aggregate(o))
        return fe_make_aggregate(f, o, n, args, n_kw, kw, kw_args);
    if (PyType_Check(o) && PyObject_HasAttrString(o, "_fields"))
        return make_named(f, o, n, args, n_kw, kw, kw_args);
    if (is_constant_function(f, o))
        return call_python(f, o, n, args, n_kw, kw, kw_args);
    if (!PyCallable_Check(o))
        fail(f, TYPE, "%s cannot be called", v_describe(f, v_obj(o)));
    PyObject *name = PyObject_GetAttrString(o, "__name__");
    const char *s = name && PyUnicode_Check(fe_own(f, name))
                        ? v_const_str(f, v_obj(name), "a name")
                        : NULL;
    PyErr_Clear();
    if (s && row(s, false))
        err_help(f->c, "the kernel language has tl.%s", s);
    else if (!PyType_Check(o) && PyObject_HasAttrString(o, "__code__"))
        err_help(f->c,
                 "decorate it with @jit, or with @constexpr_function when it computes "
                 "constants");
    fail(f, TYPE, "a kernel cannot call %s", v_describe(f, v_obj(o)));
}

static Value
call_any(Fe *f, Value fn, int n, const Value *args, int n_kw, const char *const *kw,
         const Value *kw_args)
{
    if (fn.kind == V_METHOD) {
        Value *all = NEW_N(f->a, Value, n + 1);
        all[0] = fn.method->self;
        memcpy(all + 1, args, (size_t)n * sizeof *all);
        if (fn.method->builtin) {
            f->is_method = true;
            return call_builtin(f, fn.method->builtin, n + 1, all, n_kw, kw, kw_args);
        }
        return fe_inline(f, fn.method->fn, n + 1, all, n_kw, kw, kw_args);
    }
    if (fn.kind != V_OBJ)
        fail(f, TYPE, "%s cannot be called", v_describe(f, fn));
    return call_object(f, fn.obj, n, args, n_kw, kw, kw_args);
}

Value
fe_call_value(Fe *f, Value fn, int n, const Value *args)
{
    return call_any(f, fn, n, args, 0, NULL, NULL);
}

Value
fe_call(Fe *f, Node *n)
{
    Value fn = fe_expr(f, n->a);
    VEC(Value) args = {0};
    for (int i = 0; i < n->n_list; i++) {
        Node *x = n->list[i];
        if (x->kind == AST_Starred) {
            Value v = fe_expr(f, x->a);
            f->b.loc = fe_loc(f, x);
            Value t = fe_elements(f, v, "what '*' spreads");
            for (int k = 0; k < t.tuple->n; k++)
                PUSH(f->a, &args, t.tuple->at[k]);
        } else {
            Value v = fe_expr(f, x);
            PUSH(f->a, &args, v);
        }
    }
    const char **kw = NEW_N(f->a, const char *, n->n_list2 + 1);
    Value *kw_args = NEW_N(f->a, Value, n->n_list2 + 1);
    for (int k = 0; k < n->n_list2; k++) {
        Node *x = n->list2[k];
        kw[k] = x->name;
        if (!x->name)
            err_at(f->c, fe_loc(f, x), SYNTAX, "'**' in a call");
        kw_args[k] = fe_expr(f, x->a);
    }
    f->b.loc = fe_loc(f, n);
    f->call = n;
    Value r = call_any(f, fn, args.n, args.n ? args.at : NEW(f->a, Value), n->n_list2,
                       kw, kw_args);
    f->call = NULL;
    return r;
}
