/* pipeline_slots: how a block lies in its slot of shared memory.
 *
 * The candidates are swizzles (layout_swizzled); the one wins whose reads cost a warp the
 * fewest accesses, over all users of the block and in the layouts that they want. A user may
 * stand behind a chain of ops that only rename or convert elements: then the slot is read in
 * the layout that the start of the chain must have.
 */
#include "passes/simt/layouts.h"
#include "passes/simt/pipeline.h"

bool
pipeline_is_link(const Op *o)
{
    if (op_has(o, OPF_VIEW))
        return true;
    return op_has(o, OPF_ELEM) && o->n_args == 1 && o->n_results == 1;
}

const Layout *
pipeline_pulled_back(Comp *c, const Chain *chain, const Layout *l)
{
    for (int i = chain->n; i-- > 0;) {
        const Layout *below = layouts_operand(c, chain->op[i], l);
        l = below ? below : l;
    }
    return l;
}

/* What a warp spends on reading a slot as l, in accesses. */
static int
read_cost(const Layout *l, const Col *offset_of, int elem_bits)
{
    LdMatrix m;
    int regs = 1 << l->n[IN_REG];
    if (layout_ldmatrix(l, offset_of, elem_bits, 0, &m)) {
        Layout rows = {.rank = 1,
                       .log2_shape = {(uint8_t)layout_bits(l)},
                       .n = {[IN_LANE] = LANE_BITS}};
        Col same[MAX_BITS];
        for (int i = 0; i < layout_bits(l); i++)
            same[i] = (Col)1 << i;
        memcpy(rows.basis[IN_LANE], m.row, sizeof m.row);
        int chunk = __builtin_ctz(128u / (unsigned)elem_bits);
        return (regs >> m.log2_word) * layout_bank_ways(&rows, same, chunk, elem_bits);
    }
    return 2 * layouts_access_cost(l, offset_of, elem_bits);
}

/* Adds up the cost of all reads of v's uses, from the start of the chain. */
static int
reads_cost(Comp *c, const Val *v, Chain *chain, const Col *offset_of, int elem_bits)
{
    int cost = 0;
    for (const Use *u = v->uses; u; u = u->next) {
        Op *o = u->user;
        if (o->op == OP_CONVERT) {
            cost +=
                read_cost(pipeline_pulled_back(c, chain, result(o, 0)->type->layout),
                          offset_of, elem_bits);
        } else if (pipeline_is_link(o) && chain->n < MAX_CHAIN) {
            chain->op[chain->n++] = o;
            cost += reads_cost(c, result(o, 0), chain, offset_of, elem_bits);
            chain->n--;
        } else {
            cost += read_cost(pipeline_pulled_back(c, chain, v->type->layout),
                              offset_of, elem_bits);
        }
    }
    return cost;
}

bool
pipeline_is_read_in_place(const Val *v)
{
    for (const Use *u = v->uses; u; u = u->next)
        if (u->user->op == OP_TO_SHARED ||
            (u->user->op == OP_TRANS && pipeline_is_read_in_place(result(u->user, 0))))
            return true;
    return false;
}

const Layout *
pipeline_slot_layout(Comp *c, const Val *v, int dim)
{
    const Type *t = v->type;
    const Layout *best = NULL;
    uint8_t shape[MAX_RANK];
    ty_log2_shape(t, shape);
    int least = INT32_MAX, bytes = elem_info[t->elem].bytes;
    if (pipeline_is_read_in_place(v)) /* as wgmma wants it */
        return layout_swizzled(c, t->rank, shape, dim, __builtin_ctz((unsigned)bytes),
                               0, 0);
    for (int i = 0; i < 9; i++) {
        const Layout *l = layout_swizzled(c, t->rank, shape, dim,
                                          __builtin_ctz((unsigned)bytes), i % 3, i / 3);
        Col offset_of[MAX_BITS];
        Chain chain = {.n = 0};
        layout_offsets(l, offset_of);
        int cost = reads_cost(c, v, &chain, offset_of, bytes * 8);
        if (cost < least) {
            least = cost;
            best = l;
        }
    }
    return best;
}
