/* inline: a function written in the language is called: its parameters are bound and its
 * body is walked where the call stands.
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
            fe_point(f, fe_keyword_node(call, k));
            err_help(f->c, "it is %s", params_text(f, t));
            fe_unknown_keyword(f, t->name, kw[k], words);
        }
        if (!is_absent(local[at])) {
            fe_point(f, fe_keyword_node(call, k));
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
