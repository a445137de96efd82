/* specials: %tid.x and its kin. All but the clocks are constants of a warp's lanes, so they
 * are registers that a warp starts with.
 */
#include "ptx/specials.h"
#include "ptx/parse.h"

static const struct {
    const char *name;
    uint8_t bytes;
} special_info[N_SPECIALS] = {
#define SPECIAL(id, text, n) [S_##id] = {text, n},
    SPECIALS(SPECIAL)
#undef SPECIAL
};

/* %envreg0 to %envreg31: what a driver put there, here 0. */
static bool
is_environment(const char *name)
{
    static const char prefix[] = "%envreg";
    size_t n = sizeof prefix - 1;
    if (strncmp(name, prefix, n) || strspn(name + n, "0123456789") != strlen(name + n))
        return false;
    return name[n] && strlen(name + n) < 3 && atoi(name + n) < 32;
}

Sym *
special_name(Parser *p, const char *name)
{
    Func *f = p->func;
    if (name[0] != '%' || !f)
        return NULL;
    bool is_env = is_environment(name);
    for (int k = 0; k < N_SPECIALS; k++) {
        if (strcmp(special_info[k].name, is_env ? "%envreg" : name))
            continue;
        if (p->mod->sm < 90 && strstr(name, "cluster"))
            parse_fail(p, p->tok.line, "%s is of sm_90 on", name);
        Sym *s = POOL_NEW(p->mod->pool, Sym, 1);
        s->kind = SYM_REG;
        s->name = name;
        s->type = special_info[k].bytes == 8   ? T_U64
                  : special_info[k].bytes == 1 ? T_PRED
                                               : T_U32;
        s->reg = new_reg(p, special_info[k].bytes);
        s->reg.id = 0;
        s->is_sreg_live = k <= S_LAST_LIVE;
        GROW(p->mod->pool, f->specials, f->n_specials, f->cap_specials);
        f->specials[f->n_specials++] = (struct SpecialReg){s->reg, k};
        names_set(p->scope[1], name, s); /* of the function: found from now on */
        return s;
    }
    return NULL;
}
