/* hopper: what sm_90a alone has, and where it is used.
 *
 * A warpgroup, four warps, multiplies 64 rows by up to 256 columns with one instruction,
 * wgmma, that reads B out of shared memory itself, and A too unless that is in registers:
 *
 *     f16[128, 64] @ f16[64, 256], 8 warps     2 warpgroups on M, each m64n256k16, 4 steps
 *     f16[64, 64]  @ f16[64, 256], 8 warps     2 warpgroups on N, each m64n128k16
 *
 * A stays in registers where it was computed there (attention's probabilities); where it was
 * loaded it is read out of the slot that it was copied to: of 32-bit elements that run along M, word
 * by word into registers, as descriptors know them along K alone. Of 8 bits both must run along K.
 * passes/tile/swap_dots.c brings products into the one of two ways that this file takes.
 *
 * Tensor cores sum products of float8 in fewer bits than float32 has. Such a sum is taken where the
 * kernel gives its accumulator to `tl.dot`, as Triton does; `acc += tl.dot(a, b)` is added in float32
 * (passes/tile/fuse_dot.c), and max_num_imprecise_acc below K, too, by level 1, which is exact.
 *
 * One place answers, before layouts are given, and nobody behind it may change its mind.
 * The option `hopper` says how far to go: "1" is mma.sync everywhere, "2" is wgmma, "2,0"
 * waits for each product before the next iteration begins, "2,1" never does. "3" is what a kernel
 * gets by itself, wgmma fed by copies of tensors that warps of their own begin, but for what
 * compile.c does where ptxas disappoints, and such copies are made without such warps, too; "3,5" is
 * that with 5 slots in each ring; "3,all" is for tests. A
 * launcher that hands on no more than a kernel's own parameters asks for the option abi=plain, and
 * has no copies of tensors.
 */
#include "analysis/analysis.h"

#define GROUP_TYPES                                                                    \
    "wgmma is for f16, bf16, tf32 and float8 summed as f32, f16 and float8 as f16, and for int8"

enum {
    GROUP = 2,     /* log2 of the warps of a warpgroup */
    MAX_ACC = 128, /* words of an accumulator in a thread */
    MAX_STEPS = 64
};

/* Does printing or stopping with a message call a function? Then ptxas does one product after
 * the other. */
static bool
calls(const Block *b)
{
    EACH_OP(o, b)
        if (o->op == OP_PRINT || (o->op == OP_ASSERT && b->func->c->opt.debug))
            return true;
    return false;
}

int64_t
acc_words(const Block *b)
{
    int64_t most = 0, sum = 0;
    for (const Op *o = b->first; o; o = o->next) {
        bool is_product = o->op == OP_DOT || o->op == OP_MMA_START;
        const Op *before = o->op == OP_DOT ? arg(o, 2)->def : NULL;
        if (is_product && !(before && before->op == OP_DOT && before->block == b))
            sum += ty_numel(result(o, 0)->type) * ty_bytes(result(o, 0)->type) /
                   (4 * 32 * b->func->team_warps);
        for (int i = 0; i < o->n_regions; i++) {
            int64_t inside = acc_words(o->regions[i]); /* MAX evaluates twice */
            most = MAX(most, inside);
        }
    }
    return MAX(most, sum);
}

/* Why the function has nothing of it; NULL: it may. */
static const char *
refusal(const Func *f, const char *asked)
{
    if (asked && asked[0] == '1')
        return "hopper=1";
    if (f->c->hopper.no_groups)
        return f->c->hopper.why;
    if (f->team_warps < 1 << GROUP)
        return "a warpgroup is 4 warps";
    if (f->log2_ctas)
        return "the program is a cluster's";
    if (calls(f->body))
        return "ptxas does one wgmma at a time where functions are called";
    return NULL;
}

/* Code of a user's file has the kernel's own parameters, unless the user says otherwise. */
bool
launcher_is_plain(const Comp *c)
{
    size_t n = 0;
    const char *abi = option_text(c->option_texts, "abi=", &n);
    if (!abi)
        return comp_override(c, "ptx") || comp_override(c, "cubin");
    return n == strlen("plain") && !memcmp(abi, "plain", n);
}

/* Why there are no maps of tensors; NULL: there may be some. */
static const char *
refused_maps(const Func *f, const char *asked)
{
    if (asked && asked[0] != '3')
        return "hopper=2";
    if (launcher_is_plain(f->c))
        return "the launcher knows a kernel's own parameters alone (abi=plain)";
    if (f->c->hopper.no_maps)
        return f->c->hopper.why ? f->c->hopper.why
                                : "a launch could make none, or TEGULA_TMA=0";
    return NULL;
}

HopperPlan
hopper_plan(const Func *f)
{
    const Target *t = &f->c->opt.target;
    size_t n = 0;
    const char *asked = option_text(f->c->option_texts, "hopper=", &n);
    HopperPlan p = {.level = 1, .behind = 1, .is_forced = n == 3 && asked[0] == '2'};
    if (p.is_forced)
        p.behind = asked[2] == '0' ? 0 : 1;
    if (t->kind == TARGET_CPU || t->sm != 90 || !t->accelerated)
        return p;
    if (f->c->hopper.no_open)
        p.behind = 0;
    p.is_plain = launcher_is_plain(f->c);
    p.why_not = refusal(f, asked);
    p.level = p.why_not ? 1 : 2;
    if (t->kind != TARGET_CUDA) { /* only the driver encodes maps */
        p.no_maps = "the emulator has none";
        return p;
    }
    p.no_maps = refused_maps(f, asked);
    p.has_maps = !p.no_maps;
    p.is_asked = p.has_maps && asked;
    p.has_all_maps = p.is_asked && n == strlen("3,all");
    if (p.is_asked && n == strlen("3,5"))
        p.slots = asked[2] - '0';
    return p;
}

bool
hopper_grid_is(Func *f, unsigned what)
{
    f->c->hopper.asked |= what;
    return f->c->hopper.grid & what;
}

bool
comes_from_load(const Val *v)
{
    for (int i = 0; v->def && i < MAX_STEPS; i++) {
        const Op *o = v->def;
        if (o->op == OP_LOAD || o->op == OP_TILE_LOAD || o->op == OP_MAP_LOAD ||
            o->op == OP_SHARED_LOAD)
            return true;
        if (o->op != OP_TRANS && o->op != OP_CONVERT)
            return false;
        v = arg(o, 0);
    }
    return false;
}

/* Do elements that are one behind the other in memory differ along `dim` of v? True also of
 * what no load gave: assign_layouts stores it as it must be. */
static bool
runs_along(FactTable *t, const Val *v, int dim)
{
    for (int i = 0; v->def && i < MAX_STEPS; i++) {
        const Op *o = v->def;
        if (o->op == OP_LOAD || o->op == OP_TILE_LOAD || o->op == OP_MAP_LOAD)
            return dim == (o->op == OP_LOAD ? facts_fastest_dim(t, o)
                                            : result(o, 0)->type->rank - 1);
        if (o->op != OP_TRANS && o->op != OP_CONVERT)
            return true;
        if (o->op == OP_TRANS)
            dim = 1 - dim; /* of two */
        v = arg(o, 0);
    }
    return !v->def; /* what a loop carries is in registers */
}

/* Operands of 16 bits may lie either way. Of all others B must run along K, as A does unless
 * each thread reads its words, of 32 bits. is_words: it does. */
static bool
lie_right(Func *f, const Op *dot, bool is_a_regs, bool *is_words)
{
    enum { K_OF_B, K_OF_A };
    int bytes = elem_info[arg(dot, 0)->type->elem].bytes;
    *is_words = false;
    if (bytes == 2)
        return true;
    FactTable *t = facts_new(f);
    bool is_a_along_k = is_a_regs || runs_along(t, arg(dot, 0), K_OF_A);
    *is_words = !is_a_along_k && bytes == 4;
    return (is_a_along_k || *is_words) && runs_along(t, arg(dot, 1), K_OF_B);
}

/* Layouts are given: does A lie in its slot as no descriptor says? */
static bool
is_read_by_words(const Type *a)
{
    WgmmaOperand w;
    int bytes = elem_info[a->elem].bytes;
    return a->slots && bytes == 4 && !layout_wgmma(a->layout, 0, 64, bytes, &w);
}

static bool
is_group_f8(Elem e)
{
    return e == E_F8E4M3 || e == E_F8E5M2;
}

static const char *
refused_types(const Op *dot)
{
    const Type *a = arg(dot, 0)->type, *acc = result(dot, 0)->type;
    Elem b = arg(dot, 1)->type->elem;
    bool is_f8 = is_group_f8(a->elem) && is_group_f8(b),
         is_tf32 = a->elem == E_F32 && ir_attr(dot, ATTR_PRECISION) == PREC_TF32;
    if (is_f8 && ir_attr(dot, ATTR_IMPRECISE))
        return "its sums of float8 are longer than max_num_imprecise_acc";
    bool ok = a->elem == E_I8 ? acc->elem == E_I32
              : acc->elem == E_F16
                  ? is_f8 || a->elem == E_F16
                  : acc->elem == E_F32 &&
                        (is_tf32 || is_f8 || a->elem == E_F16 || a->elem == E_BF16);
    return acc->rank == 2 && ok ? NULL : GROUP_TYPES;
}

const char *
hopper_dot(Func *f, const Op *dot, DotPlan *p)
{
    const Type *a = arg(dot, 0)->type, *acc = result(dot, 0)->type;
    const char *why = refused_types(dot);
    if (why)
        return why;
    int bytes = elem_info[a->elem].bytes;
    HopperPlan plan = hopper_plan(f);
    if (plan.level < 2)
        return plan.why_not ? plan.why_not : "";
    int warps = log2_of(f->team_warps), m = log2_of(acc->shape[0]),
        n = log2_of(acc->shape[1]), k = log2_of(a->shape[1]);
    int warps_m = MIN(warps, m - 4), warps_n = warps - warps_m;
    if (warps_m < GROUP || n - warps_n < 4 || bytes << k < 32)
        return "a warpgroup's share is 64 x 16 at least, and 32 bytes of K";
    if (elem_info[acc->elem].bytes << MAX(m + n - warps - LANE_BITS, 0) > 4 * MAX_ACC)
        return "the accumulators leave no registers";
    bool is_a_regs = !a->slots && !comes_from_load(arg(dot, 0)),
         is_settled = acc->layout, /* by assign_layouts, before a cast of float8 */
        is_words = is_settled && is_read_by_words(a);
    if (is_settled ? !arg(dot, 1)->type->slots
                   : !lie_right(f, dot, is_a_regs, &is_words))
        return bytes == 2 ? GROUP_TYPES
                          : str_printf(f->c->arena,
                                       "wgmma takes %d-bit operands that run along "
                                       "K in memory",
                                       8 * bytes);
    p->is_wgmma = true;
    /* Two words of a sum are neighbours, and stay where all warps are along M. Threads store B to fit; a
     * copy brings it as it is. */
    bool is_paired = is_a_regs && bytes == 4 && !warps_n &&
                     !comes_from_load(arg(dot, 1));
    p->kw = is_paired ? 2 : 4 / bytes;
    p->is_a_regs = is_a_regs;
    p->is_a_words = is_words;
    p->log2_warps_m = warps_m;
    p->log2_warps_n = warps_n;
    return NULL;
}

int
hopper_blocks_of(const Func *f, int warps, int words, int64_t shared)
{
    enum { MOST = 255 /* of a thread: the rest spills */ };
    int64_t n = chip_blocks(chip_of(f->c->opt.target.sm), 32 * warps, MIN(words, MOST),
                            shared);
    return (int)MAX(n, 1);
}

int
hopper_blocks(const Func *f, int warps, int words, int64_t shared)
{
    return hopper_blocks_of(f, warps, words + OTHERS_OF_LOOPS, shared);
}

bool
hopper_holds_fewer(Func *f, int few, int more)
{
    unsigned fact = GRID_FEW;
    if (few >= more || few < 1)
        return few < more;
    for (int k = 2; k <= few && fact != GRID_16; k *= 2)
        fact = fact == GRID_FEW ? GRID_2 : fact << 1;
    return !hopper_grid_is(f, fact);
}

int64_t
product_clocks(const Block *b)
{
    int64_t bytes = 0, n = chip_of(b->func->c->opt.target.sm)->tensor / 2;
    for (const Op *o = b->first; o; o = o->next)
        if (o->op == OP_DOT || o->op == OP_MMA_START) {
            const Type *a = arg(o, 0)->type;
            bytes += ty_numel(result(o, 0)->type) * a->shape[1] * ty_bytes(a);
        }
    return MAX(bytes / 2 / MAX(n, 1), 1);
}
