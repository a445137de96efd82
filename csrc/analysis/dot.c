/* dot: how a dot is done on a target: which matrix instruction, or multiply-adds.
 *
 * One place answers, so that assign_layouts (who needs the operands' layouts) and codegen
 * (who emits the instruction) cannot disagree. Warps are dealt over [M, N] so that the
 * tiles are as square as they can be, but all to M when one dot's result feeds another
 * (attention): then a row of the first product stays in one warp, where its maximum and sum
 * are taken, and becomes the second dot's operand without leaving the registers.
 *
 * Blocks smaller than an instruction take it all the same (codegen/simt/dot.c fills up).
 *
 * Along k an instruction may take the elements in any order that both operands share. So tf32 that
 * is computed of another product is taken by pairs, as that product's result has it, and
 * float8 that is multiplied as f16 is dealt out by words of memory, four elements and not
 * two: ldmatrix reads it, and two conversions make two words of it.
 */
#include "analysis/analysis.h"

enum { WALK_BUDGET = 256 };

/* What the last iteration of the loop handed on as v; NULL: v is no such value. */
static const Val *
carried_from(const Val *v)
{
    const Op *loop = v->block ? v->block->owner : NULL;
    return loop && loop->op == OP_FOR && v->index ? arg(v->block->last, v->index - 1)
                                                  : NULL;
}

bool
comes_from_dot(const Val *v, int *budget)
{
    const Op *o = v->def;
    if (!v->type->rank || --*budget < 0)
        return false;
    if (!o) {
        const Val *from = carried_from(v);
        return from && comes_from_dot(from, budget);
    }
    if (o->op == OP_DOT)
        return true;
    if (!op_has(o, OPF_ELEM) && o->op != OP_CONVERT && o->op != OP_TRANS &&
        o->op != OP_RESHAPE)
        return false;
    for (int i = 0; i < o->n_args; i++)
        if (comes_from_dot(arg(o, i), budget))
            return true;
    return false;
}

bool
has_chained_dot(const Block *b)
{
    EACH_OP(o, b) {
        int budget = WALK_BUDGET;
        if (o->op == OP_DOT && comes_from_dot(arg(o, 0), &budget))
            return true;
    }
    return false;
}

/* Do the tensor cores multiply these two float8? They know e4m3 and e5m2 at most. Those of sm_90 and sm_100 do not: ptxas would
 * convert both operands for every mma.sync, where we convert once. */
static bool
multiplies_f8(int sm, const Elem *e)
{
    for (int i = 0; i < 2; i++)
        if (e[i] != E_F8E4M3 && e[i] != E_F8E5M2)
            return false;
    return sm == 89 || sm >= 120;
}

static MmaKind
f8_kind(Elem a, Elem b)
{
    if (a == b)
        return a == E_F8E4M3 ? MMA_E4M3_M16N8K32 : MMA_E5M2_M16N8K32;
    return a == E_F8E4M3 ? MMA_E4M3_E5M2_M16N8K32 : MMA_E5M2_E4M3_M16N8K32;
}

/* The deepest that the chip does as one and k fills. */
static MmaKind
f64_kind(int sm, int k)
{
    if (sm != 90) /* others take the large ones apart */
        return MMA_F64_M8N8K4;
    return k >= 16 ? MMA_F64_M16N8K16 : k >= 8 ? MMA_F64_M16N8K8 : MMA_F64_M16N8K4;
}

/* The instruction for operands of these types, depth k; false: there is none. Depths
 * below the instruction's are filled up with zeros. */
static bool
pick_mma(const Elem *e, int precision, int sm, int k, DotPlan *p)
{
    p->n_terms = 1;
    if (e[0] == E_F16) {
        p->kind = sm >= 80 && k >= 16 ? MMA_F16_M16N8K16 : MMA_F16_M16N8K8;
    } else if (e[0] == E_BF16) {
        p->kind = k >= 16 ? MMA_BF16_M16N8K16 : MMA_BF16_M16N8K8;
    } else if (e[0] == E_F32 && precision != PREC_IEEE) {
        p->kind = k >= 8 ? MMA_TF32_M16N8K8 : MMA_TF32_M16N8K4;
        p->n_terms = precision == PREC_TF32 ? 1 : 3;
    } else if (e[0] == E_I8) {
        p->kind = sm < 80   ? MMA_S8_M8N8K16
                  : k >= 32 ? MMA_S8_M16N8K32
                            : MMA_S8_M16N8K16;
    } else if (e[0] == E_F8E4M3 || e[0] == E_F8E5M2) {
        p->kind = f8_kind(e[0], e[1]);
    } else if (e[0] == E_F64) {
        p->kind = f64_kind(sm, k);
    } else {
        return false;
    }
    return sm >= mma_shape[p->kind].min_sm;
}

static bool
fits_acc(Elem operand, Elem acc)
{
    if (operand == E_I8)
        return acc == E_I32;
    if (operand == E_F64)
        return acc == E_F64;
    return acc == E_F32 || acc == E_F16;
}

static void
deal_warps(DotPlan *p, int m, int n, int log2_warps, bool chained)
{
    int free_m = MAX(m - 4, 0), free_n = MAX(n - 3, 0); /* log2 of tiles along each */
    for (int i = 0; i < log2_warps; i++) {
        bool to_m = free_m > p->log2_warps_m &&
                    (chained || free_n <= p->log2_warps_n ||
                     free_m - p->log2_warps_m >= free_n - 1 - p->log2_warps_n);
        if (to_m || free_n <= p->log2_warps_n)
            p->log2_warps_m++; /* beyond the tiles: replicates */
        else
            p->log2_warps_n++;
    }
}

void
dot_plan(Func *f, const Op *dot, DotPlan *p)
{
    const Type *a = arg(dot, 0)->type, *b = arg(dot, 1)->type;
    int r = a->rank, m = a->shape[r - 2], k = a->shape[r - 1], n = b->shape[r - 1];
    int sm = f->c->opt.target.sm, precision = (int)ir_attr(dot, ATTR_PRECISION);
    Elem acc = dot->results[0]->type->elem;
    *p = (DotPlan){.operand = {a->elem, b->elem}};
    if (elem_is_f8(a->elem) && (!multiplies_f8(sm, p->operand) || k < 32))
        p->operand[0] = p->operand[1] = E_F16; /* exact */
    if (!fits_acc(p->operand[0], acc) || !pick_mma(p->operand, precision, sm, k, p))
        return;
    bool chained = has_chained_dot(f->body);
    int kw = (int)ir_attr(dot, ATTR_KW);
    p->is_mma = true;
    if (!hopper_dot(f, dot, p)) {
        p->operand[0] = a->elem;
        p->operand[1] = b->elem;
        return;
    }
    p->kw = kw ? kw : mma_shape[p->kind].kw;
    if (elem_is_f8(a->elem) && p->operand[0] == E_F16 && k >= 32 && !chained)
        p->kw = 4; /* a word of what they are in memory */
    int budget = WALK_BUDGET;
    if (!kw && p->kind == MMA_TF32_M16N8K8 && comes_from_dot(arg(dot, 0), &budget))
        p->kw = 2; /* as a sum has them */
    deal_warps(p, log2_of(m), log2_of(n), log2_of(f->team_warps), chained);
}

/* The attribute has 20 bits each of m - 1, n - 1, k - 1, and is 0 where nothing is padded. */
DotSides
dot_sides(const Op *dot)
{
    const Type *a = arg(dot, 0)->type, *r = dot->results[0]->type;
    int64_t bits = ir_attr(dot, ATTR_SIDES);
    if (!bits)
        return (DotSides){r->shape[r->rank - 2], r->shape[r->rank - 1],
                          a->shape[a->rank - 1]};
    return (DotSides){(int)(bits & 0xfffff) + 1, (int)(bits >> 20 & 0xfffff) + 1,
                      (int)(bits >> 40 & 0xfffff) + 1};
}

void
dot_set_sides(Op *dot, DotSides s)
{
    ir_set_attr(dot, ATTR_SIDES, 0);
    DotSides all = dot_sides(dot);
    if (s.m != all.m || s.n != all.n || s.k != all.k)
        ir_set_attr(dot, ATTR_SIDES,
                    (int64_t)(s.m - 1) | (int64_t)(s.n - 1) << 20 |
                        (int64_t)(s.k - 1) << 40);
}

bool
only_goes_round(const Block *body, const Op *dot)
{
    const Val *acc = arg(dot, 2), *v = result(dot, 0);
    return !acc->def && acc->block == body && acc->index > 0 && ir_has_one_use(acc) &&
           ir_has_one_use(v) && v->uses->user == body->last &&
           v->uses - body->last->args == acc->index - 1;
}

bool
is_running_sum(const Block *body, const Op *o)
{
    return arg(o, 1)->type->slots && only_goes_round(body, o);
}
