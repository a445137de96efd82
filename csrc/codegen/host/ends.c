/* ends: a product computes no rows and columns that nobody sees, and adds up no K that is all 0.
 *
 *     513 rows in blocks of 128:     0..127   128..255   256..383   384..511   512
 *                                                                              only this one is stored
 *     513 of K in blocks of 128:     the last block has one column of a, one row of b; masks make the rest 0
 *
 * Analysis rows.c says where rows end that are stored in the end; the masks of both operands' loads
 * say where their K does. The number is known when the product runs.
 *
 * Rule 1: a row is left out because nobody sees it, not because its operand is 0: 0 times infinity is NaN.
 *         K is left out where both sides are 0.
 * Rule 2: what is left out keeps what was in scratch.
 */
#include "codegen/host/dot.h"

enum { DEPTH = 6 };

/* A scalar whose op may stand behind the product: what comes by masks of stores often does. NULL: it cannot be
 * known here. */
static Lv
scalar_at(Host *h, const Val *v, const Block *scope, int depth)
{
    if (host_is_ready(h, v))
        return ir_encloses(v->block, scope) ? host_scalar(h, v) : NULL;
    const Op *o = v->def;
    Lv x[3];
    if (!o || !depth || o->op < OP_ADD || o->op > OP_CAST || o->n_args > 3)
        return NULL;
    for (int i = 0; i < o->n_args; i++) {
        x[i] = scalar_at(h, arg(o, i), scope, depth - 1);
        if (!x[i])
            return NULL;
    }
    return cg_elementwise(h->l, o, x);
}

Lv
host_count_of(Host *h, const AffSum *end, const Block *scope, int n)
{
    Ll *l = h->l;
    Lv sum = ll_i64(l, end->c);
    for (int i = 0; i < end->n; i++) {
        const AffTerm *t = &end->term[i];
        Lv x = ll_i64(l, t->factor);
        const Val *of[] = {t->a, t->b};
        for (int k = 0; k < 2 && of[k]; k++) {
            Lv y = scalar_at(h, of[k], scope, DEPTH);
            if (!y)
                return NULL;
            y = cg_cast(l, of[k]->type->elem, E_I64, y, ROUND_RTNE);
            x = LLVMBuildMul(l->b, x, y, "");
        }
        sum = LLVMBuildAdd(l->b, sum, x, "");
    }
    sum = ll_intrinsic(l, "llvm.smax", &l->i64, 1, (Lv[]){sum, ll_i64(l, 1)}, 2);
    return ll_intrinsic(l, "llvm.smin", &l->i64, 1, (Lv[]){sum, ll_i64(l, n)}, 2);
}

static Lv
seen_of(Host *h, const Val *v, int dim, int n)
{
    AffSum end;
    const Block *scope;
    return rows_end(h->f, v, dim, &end, &scope) ? host_count_of(h, &end, scope, n)
                                                : NULL;
}

/* Is v 0 from *end of dim on, as its load is masked? */
static bool
zero_end(Host *h, const Val *v, int dim, AffSum *end)
{
    int perm[MAX_RANK];
    while (v->def && (v->def->op == OP_CAST || v->def->op == OP_TRANS)) {
        if (v->def->op == OP_TRANS) {
            ir_perm(v->def, perm);
            dim = perm[dim];
        }
        v = arg(v->def, 0);
    }
    const Op *o = v->def;
    if (!o || o->op != OP_LOAD || o->n_args < 2 || v->type->is_ptr)
        return false;
    const Op *other = o->n_args > 2 ? arg(o, 2)->def : NULL;
    if (o->n_args > 2 && (!other || other->op != OP_CONST || other->bits))
        return false;
    return mask_end(h->f, arg(o, 1), dim, end);
}

void
host_find_ends(Host *h, Product *p)
{
    const Op *o = p->o;
    const Val *r = result(o, 0);
    int rank = r->type->rank;
    DotSides sides = dot_sides(o);
    p->m = seen_of(h, r, rank - 2, sides.m);
    p->n = seen_of(h, r, rank - 1, sides.n);
    AffSum a, b;
    if (zero_end(h, arg(o, 0), rank - 1, &a) && zero_end(h, arg(o, 1), rank - 2, &b) &&
        aff_is_same(&a, &b))
        p->k = host_count_of(h, &a, o->block, sides.k);
}
