/* typed: functions of the library that take a few combinations of types, as their
 * decorator @typed lists them: "f32 i32, f64 i32".
 *
 *     exactly a row          taken as it is; a number literal counts as float32 or int32
 *     else                   the operands are promoted as those of an operator, once
 *     still none             an error at the caller that says which rows there are
 *
 * The operands get one shape, too, as operators would give them.
 */
#include "frontend/fe.h"

/* The row from s on: its words are the types of x? *next: the row behind it, or NULL. */
static bool
is_row(const char *s, int n, Val *const *x, const char **next)
{
    const char *end = strchr(s, ',');
    size_t len = end ? (size_t)(end - s) : strlen(s);
    *next = end ? end + 1 : NULL;
    const char *stop = s + len;
    bool same = true;
    int i = 0;
    while (s < stop) {
        size_t k = strspn(s, " ");
        s += k;
        k = strcspn(s, " ,");
        if (!k)
            break;
        const Type *t = i < n ? x[i]->type : NULL;
        const char *text = t && !t->is_ptr ? elem_info[t->elem].text : "";
        same &= strlen(text) == k && !strncmp(s, text, k);
        s += k;
        i++;
    }
    return same && i == n;
}

static bool
is_listed(const char *types, int n, Val *const *x)
{
    for (const char *s = types, *next; s; s = next)
        if (is_row(s, n, x, &next))
            return true;
    return false;
}

static const char *
types_text(Fe *f, int n, Val *const *x)
{
    Sb sb = {.a = f->a};
    for (int i = 0; i < n; i++)
        sb_printf(&sb, "%s%s", i ? " " : "", ty_str(f->a, x[i]->type));
    return sb.at;
}

bool
fe_promote_all(Fe *f, int n, const Value *given, Val **out, const char *op)
{
    for (int i = 0; i < n; i++) {
        out[i] = fe_tensor(f, given[i], str_printf(f->a, "an operand of %s", op));
        if (out[i]->type->is_ptr)
            return false;
    }
    /* Against the widest of all; numbers stay weak, so 0.1 is exact in float64. */
    Value all = given[0];
    for (int i = 1; i < n; i++) {
        Val *a, *b;
        fe_promote(f, all, given[i], false, false, &a, &b, op);
        all = v_val(a);
    }
    for (int i = 0; i < n && n > 1; i++) {
        Val *unused;
        fe_promote(f, all, given[i], false, false, &unused, &out[i], op);
    }
    return true;
}

void
fe_typed_args(Fe *f, const Tree *t, Value *local)
{
    int n = t->n_params;
    Val *x[MAX_PARAM], *y[MAX_PARAM];
    if (n < 1 || n > MAX_PARAM)
        unreachable(f->c);
    for (int i = 0; i < n; i++)
        y[i] = x[i] = fe_tensor(f, local[i],
                                str_printf(f->a, "an operand of %s", t->name));
    if (!is_listed(t->types, n, x)) {
        if (!fe_promote_all(f, n, local, y, t->name) || !is_listed(t->types, n, y)) {
            err_help(f->c, "convert first: x.to(tl.float32)");
            fail(f, TYPE, "%s takes %s, not %s", t->name, t->types,
                 types_text(f, n, x));
        }
    }
    for (int round = 0; round < 2; round++)
        for (int i = 1; i < n; i++)
            fe_broadcast_pair(f, &y[0], &y[i]);
    for (int i = 0; i < n; i++)
        local[i] = v_val(y[i]);
}
