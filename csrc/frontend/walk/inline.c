/* inline: a function written in the language is called: its parameters are bound and its
 * body is walked where the call stands.
 *
 * A def or lambda inside of a function is called the same way. It sees the variables around
 * it as they are when it is called, as in Python, and sets none of them; the defaults of
 * its parameters are evaluated where it stands.
 */
#include "frontend/fe.h"

enum { MAX_INLINE = 100 };

static const char *
param_name(const Tree *t, int i)
{
    return t->local[i];
}

/* The parameters as the help of a message shows them: f(a, b=..). */
static const char *
params_text(Fe *f, const Tree *t, const Value *defaults, const char *name, int from)
{
    Sb sb = {.a = f->a};
    const FeParam *p = t->fn->params;
    int n = 0;
    bool is_lambda = !strcmp(t->name, "lambda"); /* a word no function can have */
    sb_printf(&sb, "%s%s", name, is_lambda ? " " : "(");
    for (int i = from; i < t->n_params; i++) {
        if (p[i].keyword_only && (!i || !p[i - 1].keyword_only))
            sb_printf(&sb, "%s%s", n++ ? ", " : "", t->has_vararg ? "*.." : "*");
        bool may_miss = p[i].default_value || (defaults && !is_absent(defaults[i]));
        sb_printf(&sb, "%s%s%s", n++ ? ", " : "", param_name(t, i),
                  may_miss ? "=.." : "");
    }
    if (t->has_vararg && !(t->n_params && p[t->n_params - 1].keyword_only))
        sb_printf(&sb, "%s*..", n++ ? ", " : "");
    sb_printf(&sb, "%s%s",
              !t->has_kwarg ? ""
              : n           ? ", **.."
                            : "**..",
              is_lambda ? ": .." : ")");
    return sb.at;
}

/* f(), or "this lambda". */
static const char *
who_is(Fe *f, const char *name)
{
    return !strcmp(name, "lambda") ? "this lambda" : str_printf(f->a, "%s()", name);
}

/* What a caller calls it: __init__ is its class. */
static const char *
called(Fe *f, const Tree *t, int n, const Value *args)
{
    if (strcmp(t->name, "__init__") != 0 || !n || args[0].kind != V_TUPLE ||
        !args[0].tuple->type)
        return t->name;
    PyObject *cls = fe_own(f, PyType_GetName((PyTypeObject *)args[0].tuple->type));
    return v_const_str(f, v_obj(cls), "a name");
}

/* The keywords that no parameter took, as what **kwargs is. */
static Value
rest_of_keywords(Fe *f, int n, const char *const *kw, const Value *at)
{
    Value v = v_tuple(f, n, at);
    const char **keys = NEW_N(f->a, const char *, n + 1);
    for (int i = 0; i < n; i++)
        keys[i] = str_intern(f->c, kw[i]);
    v.tuple->keys = keys;
    return v;
}

/* A call whose arguments are being bound. */
typedef struct Binding {
    const Tree *t;
    const Node *call;
    Value *local;          /* to be filled: by parameter */
    const Value *defaults; /* of a closure, or NULL */
    const char *name, *who;
    int from;  /* the first parameter that a call lists: self is none */
    int n_pos; /* of parameters that may be given by position */
} Binding;

static NORETURN void
refuse(Fe *f, const Binding *k, const char *why)
{
    err_help(f->c, "it is %s", params_text(f, k->t, k->defaults, k->name, k->from));
    err_at(f->c, f->b.loc, ARGUMENT, k->who, why);
}

static void
bind_positions(Fe *f, const Binding *k, int n, const Value *args)
{
    if (n > k->n_pos && !k->t->has_vararg)
        refuse(f, k,
               str_printf(f->a, "it takes %d argument%s, but %d %s given",
                          k->n_pos - k->from, k->n_pos - k->from == 1 ? "" : "s",
                          n - k->from, n - k->from == 1 ? "was" : "were"));
    int n_own = MIN(n, k->n_pos);
    for (int i = 0; i < n_own; i++)
        k->local[i] = args[i];
    if (k->t->has_vararg)
        k->local[k->t->n_params] = v_tuple(f, n - n_own, args + n_own);
}

static NORETURN void
refuse_keyword(Fe *f, const Binding *k, const char *word)
{
    const char **words = NEW_N(f->a, const char *, k->t->n_params + 1);
    memcpy(words, k->t->local, (size_t)k->t->n_params * sizeof *words);
    err_help(f->c, "it is %s", params_text(f, k->t, k->defaults, k->name, k->from));
    fe_unknown_keyword(f, k->who, word, words);
}

static void
bind_keywords(Fe *f, const Binding *b, int n, const char *const *kw, const Value *args)
{
    const Tree *t = b->t;
    int n_rest = 0;
    const char **rest_kw = NEW_N(f->a, const char *, n + 1);
    Value *rest = NEW_N(f->a, Value, n + 1);
    for (int k = 0; k < n; k++) {
        int at = 0;
        while (at < t->n_params && strcmp(param_name(t, at), kw[k]) != 0)
            at++;
        if (at == t->n_params && t->has_kwarg) {
            rest_kw[n_rest] = kw[k];
            rest[n_rest++] = fe_read(f, args[k]);
            continue;
        }
        if (at == t->n_params || !is_absent(b->local[at]))
            fe_point(f, fe_keyword_node(b->call, k));
        if (at == t->n_params)
            refuse_keyword(f, b, kw[k]);
        if (!is_absent(b->local[at]))
            err_at(f->c, f->b.loc, ARGUMENT, b->who,
                   str_printf(f->a, "'%s' is given twice", kw[k]));
        b->local[at] = args[k];
    }
    if (t->has_kwarg)
        b->local[t->n_params + t->has_vararg] = rest_of_keywords(f, n_rest, rest_kw,
                                                                 rest);
}

/* The value of a parameter that the call does not give. */
static Value
default_of(Fe *f, const Binding *k, int i)
{
    FeFunction *fn = k->t->fn;
    const FeParam *p = &fn->params[i];
    Value v = {0};
    if (k->defaults)
        v = k->defaults[i];
    else if (p->default_value) {
        if (fe_watch_parameter(f->env, fn, p->name, p->default_value))
            fe_raise(f, f->b.loc);
        v = v_from_py(f, p->default_value);
    }
    if (is_absent(v))
        refuse(f, k,
               str_printf(f->a, "the argument '%s' is missing", param_name(k->t, i)));
    return v;
}

/* A tensor for a parameter annotated tl.constexpr is as good: published kernels (the attention tutorial's offsets)
 * annotate so what is none. It stays a tensor; whoever needs a constant of it says so there. The library's own
 * functions do need one. */
static Value
as_parameter(Fe *f, const Binding *k, int i, Value v)
{
    const Tree *t = k->t;
    if (!t->is_library)
        return fe_own_value(f, v, param_name(t, i));
    if (t->fn->params[i].is_constexpr && v.kind == V_TENSOR && f->frame &&
        !f->frame->tree->is_library)
        refuse(f, k,
               str_printf(f->a,
                          "the argument '%s' must be known when the kernel is "
                          "compiled, and is %s",
                          param_name(t, i), v_describe(f, v)));
    return v;
}

/* Binds arguments to the parameters of t in local[0..]. defaults: of a closure, or NULL. */
static void
bind_params(Fe *f, const Tree *t, Value *local, const Value *defaults, int n,
            const Value *args, int n_kw, const char *const *kw, const Value *kw_args)
{
    const char *name = called(f, t, n, args);
    Binding k = {.t = t,
                 .call = f->call,
                 .local = local,
                 .defaults = defaults,
                 .name = name,
                 .who = who_is(f, name),
                 .from = n && args[0].kind == V_TUPLE && args[0].tuple->type &&
                         t->n_params && !strcmp(param_name(t, 0), "self")};
    f->call = NULL;
    while (k.n_pos < t->n_params && !t->fn->params[k.n_pos].keyword_only)
        k.n_pos++;
    bind_positions(f, &k, n, args);
    bind_keywords(f, &k, n_kw, kw, kw_args);
    for (int i = 0; i < t->n_params; i++) {
        Value v = is_absent(local[i]) ? default_of(f, &k, i) : local[i];
        local[i] = as_parameter(f, &k, i, fe_read(f, v));
    }
}

static Value
inline_in(Fe *f, FeFunction *fn, const Closure *k, int n, const Value *args, int n_kw,
          const char *const *kw, const Value *kw_args)
{
    const Loc *call = f->b.loc;
    Tree *t = fe_tree(f, fn);
    Frame *fr = NEW(f->a, Frame); /* a closure may outlive the call */
    *fr = (Frame){.caller = f->frame, .tree = t, .call = call};
    fr->outer = k ? k->frame : NULL;
    fr->depth = f->frame ? f->frame->depth + 1 : 0;
    if (fr->depth > MAX_INLINE) {
        int same = 0;
        for (Frame *up = f->frame; up; up = up->caller)
            same += up->tree == t;
        if (same > 1) {
            err_help(f->c, "every call is inlined: a function may call itself where "
                           "constants decide when that ends, and where a number "
                           "of the launch decides, write a loop");
            err_at(f->c, call, RECURSION, t->name);
        }
        fail(f, LIMIT, "functions are inlined more than %d levels deep", MAX_INLINE);
    }
    fr->local = NEW_N(f->a, Value, t->n_locals + N_HIDDEN);
    fr->set_at = NEW_N(f->a, const Loc *, t->n_locals + N_HIDDEN);
    fr->lost = NEW_N(f->a, const char *, t->n_locals + N_HIDDEN);
    fr->two = NEW_N(f->a, TwoTypes, t->n_locals + N_HIDDEN);
    bind_params(f, t, fr->local, k ? k->defaults : NULL, n, args, n_kw, kw, kw_args);
    if (t->types)
        fe_typed_args(f, t, fr->local);
    bool outer = f->no_overflow_checks;
    /* functions that list their types work on bits, and wrap on purpose */
    f->no_overflow_checks |= t->types != NULL;
    f->frame = fr;
    fe_mark_call(f);
    Value v = fe_body(f);
    fe_mark_return(f, v);
    f->frame = fr->caller;
    f->no_overflow_checks = outer;
    f->b.loc = call;
    return v;
}

Value
fe_inline(Fe *f, FeFunction *fn, int n, const Value *args, int n_kw,
          const char *const *kw, const Value *kw_args)
{
    return inline_in(f, fn, NULL, n, args, n_kw, kw, kw_args);
}

/* ---- closures ----------------------------------------------------------------------------- */

Value
fe_call_closure(Fe *f, const Closure *k, int n, const Value *args, int n_kw,
                const char *const *kw, const Value *kw_args)
{
    return inline_in(f, k->fn, k, n, args, n_kw, kw, kw_args);
}

/* Decorators say nothing to a function that is inlined anyway; those but jit may. */
static void
check_decorators(Fe *f, const Node *n)
{
    for (int i = 0; i < n->n_list; i++) {
        const Node *d = n->list[i];
        const Node *name = d->kind == AST_Call ? d->a : d;
        if ((name->kind == AST_Name || name->kind == AST_Attribute) &&
            !strcmp(name->name, "jit"))
            continue;
        err_help(f->c, "a function inside of a kernel needs no decorator; with this "
                       "one define it outside");
        err_at(f->c, fe_loc(f, d), SYNTAX,
               "a decorator but @jit on a function inside of a kernel");
    }
}

Value
fe_closure(Fe *f, const Node *n)
{
    Closure *k = NEW(f->a, Closure);
    check_decorators(f, n);
    Value *given = NEW_N(f->a, Value, n->n_list2 + 1);
    for (int i = 0; i < n->n_list2; i++)
        if (n->list2[i])
            given[i] = fe_read(f, fe_expr(f, n->list2[i]));
    k->fn = fe_nested(f, n);
    k->frame = f->frame;
    k->defaults = NEW_N(f->a, Value, k->fn->n_params + 1);
    /* list2: for the last of the positional parameters, then one for each of the others */
    memcpy(k->defaults + k->fn->n_params - n->n_list2, given,
           (size_t)n->n_list2 * sizeof *given);
    fe_at(f, n);
    return (Value){.kind = V_CLOSURE, .closure = k};
}
