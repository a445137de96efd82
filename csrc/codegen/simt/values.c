/* values: the LLVM values of a block's registers, and which register of an operand is which of
 * a result.
 */
#include "codegen/simt/simt.h"

int
sim_n_regs(const Val *v)
{
    if (v->type->slots) /* where they begin, in bytes */
        return 1;
    return v->type->rank ? 1 << v->type->layout->n[IN_REG] : 1;
}

/* Registers of a value that are made when wanted. */
typedef struct Lazy {
    void (*make)(Sim *s, void *data, int r);
    void *data;
} Lazy;

Lv
sim_reg(Sim *s, const Val *v, int r)
{
    Lv *regs = s->vals[v->id];
    if (!regs[r])
        s->lazy[v->id]->make(s, s->lazy[v->id]->data, r);
    return regs[r];
}

Lv *
sim_val(Sim *s, const Val *v)
{
    if (s->lazy[v->id]) {
        for (int r = 0; r < sim_n_regs(v); r++)
            sim_reg(s, v, r);
        s->lazy[v->id] = NULL;
    }
    return s->vals[v->id];
}

void
sim_define_lazily(Sim *s, const Val *v, void (*make)(Sim *s, void *data, int r),
                  void *data)
{
    Lazy *z = s->lazy[v->id] = NEW(s->a, Lazy);
    *z = (Lazy){make, data};
    sim_define(s, v);
}

Lv *
sim_define(Sim *s, const Val *v)
{
    return s->vals[v->id] = NEW_N(s->a, Lv, sim_n_regs(v));
}

NORETURN void
sim_bad_layout(Sim *s, const Op *o)
{
    const char *why = str_printf(s->a, "the layouts of %s do not fit together",
                                 info(o)->text);
    if (comp_override(s->c, "simt")) /* the user's layouts */
        err_at(s->c, o->loc, PARSE_IR, why);
    err_at(s->c, o->loc, VERIFY, "layouts", why);
}

/* ---- other names for the same registers ------------------------------------------------ */

/* Bit i of the result is where bit i of a register of `to` comes from among the registers
 * of `from`, when flat index i of `to` is flat index project(i) of `from`. Raises when the
 * lanes or warps disagree. */
static void
reg_map(Sim *s, const Op *o, const Layout *to, const Layout *from,
        Col (*project)(const Op *o, const Layout *to, Col flat), Col *map)
{
    for (int i = 0; i < to->n[IN_REG]; i++)
        if (!f2_solve(from->basis[IN_REG], from->n[IN_REG],
                      project(o, to, to->basis[IN_REG][i]), &map[i]))
            sim_bad_layout(s, o);
    for (int in = IN_LANE; in <= IN_WARP; in++)
        for (int i = 0; i < to->n[in]; i++)
            if (i >= from->n[in] ||
                project(o, to, to->basis[in][i]) != from->basis[in][i])
                sim_bad_layout(s, o);
}

static Col
same_flat(const Op *o, const Layout *to, Col flat)
{
    (void)o;
    (void)to;
    return flat;
}

static Col
coordinate(const Layout *l, int dim, Col flat)
{
    return flat >> layout_dim_shift(l, dim) & (((Col)1 << l->log2_shape[dim]) - 1);
}

static Col
broadcast_flat(const Op *o, const Layout *to, Col flat)
{
    const Layout *from = arg(o, 0)->type->layout;
    Col r = 0;
    for (int d = 0; d < to->rank; d++)
        if (from->log2_shape[d])
            r |= coordinate(to, d, flat) << layout_dim_shift(from, d);
    return r;
}

static Col
trans_flat(const Op *o, const Layout *to, Col flat)
{
    const Layout *from = arg(o, 0)->type->layout;
    int perm[MAX_RANK];
    ir_perm(o, perm);
    Col r = 0;
    for (int d = 0; d < to->rank; d++)
        r |= coordinate(to, d, flat) << layout_dim_shift(from, perm[d]);
    return r;
}

void
sim_reg_map(Sim *s, const Op *o, Col *map)
{
    reg_map(s, o, result(o, 0)->type->layout, arg(o, 0)->type->layout,
            o->op == OP_BROADCAST ? broadcast_flat
            : o->op == OP_TRANS   ? trans_flat
                                  : same_flat,
            map);
}

int
sim_half_bit(Sim *s, const Op *o)
{
    const Val *whole = o->op == OP_SPLIT ? arg(o, 0) : result(o, 0),
              *half = o->op == OP_SPLIT ? result(o, 0) : arg(o, 0);
    const Layout *l = whole->type->layout, *h = half->type->layout;
    bool is_cat = o->op == OP_CAT;
    int bit = is_cat ? h->n[IN_REG] : layout_split_bit(l);
    bool ok = is_cat ? l->n[IN_REG] == bit + 1 &&
                           l->basis[IN_REG][bit] == (Col)half->type->shape[0]
                     : bit >= 0 && layout_split(s->c, l) == h;
    if (!ok)
        sim_bad_layout(s, o);
    return bit;
}
