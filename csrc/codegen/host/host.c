/* host: cg_host, and the walk over ops.
 *
 * Ops that are pure per element, and loads, are lazy: the walk only notes them. Roots that have one number in the
 * text (passes/host/group.c) are collected, and become one loop nest with the last of them:
 *
 *     x = load .. ; m = max(x) {nest=1} ; k = keep x {nest=1}         loads, maximum; x goes to scratch
 *     e = exp(k - m) ; s = sum(e) {nest=2} ; l = keep e {nest=2}      reads x, writes e
 *     store l / s {nest=3}
 *
 * Rule 1: scalars are made in the straight line, never inside a loop nest: those that wait for one are
 *         emitted behind it.
 */
#include "codegen/host/host.h"

/* ---- scalars ---------------------------------------------------------------------------------- */

static Lv
program_word(Host *h, Lv base, const Op *o)
{
    Ll *l = h->l;
    return ll_load_element(l, l->i32, base, ll_i64(l, ir_attr(o, ATTR_AXIS)));
}

static void
emit_scalar(Host *h, const Op *o)
{
    Lv *x = NEW_N(h->c->arena, Lv, o->n_args + 1), r;
    for (int i = 0; i < o->n_args; i++)
        x[i] = host_scalar(h, arg(o, i));
    switch (o->op) {
    case OP_CONST: r = host_const(h, result(o, 0)->type, o->bits, 0); break;
    case OP_PROGRAM_ID: r = program_word(h, h->pid, o); break;
    case OP_NUM_PROGRAMS: r = program_word(h, h->grid, o); break;
    default: r = cg_elementwise(h->l, o, x);
    }
    state(h, result(o, 0))->lv = r;
}

static bool
all_ready(Host *h, const Op *o)
{
    for (int i = 0; i < o->n_args; i++)
        if (!host_is_ready(h, arg(o, i)))
            return false;
    return true;
}

static void
scalar_op(Host *h, const Op *o)
{
    state(h, result(o, 0))->kind = V_SCALAR;
    state(h, result(o, 0))->lv = NULL;
    if (all_ready(h, o))
        emit_scalar(h, o);
    else
        PUSH(h->c->arena, &h->deferred, o);
}

void
host_emit_deferred(Host *h)
{
    int n = h->deferred.n, k = 0;
    for (int i = 0; i < n; i++) {
        const Op *o = h->deferred.at[i];
        if (all_ready(h, o))
            emit_scalar(h, o);
        else
            h->deferred.at[k++] = o;
    }
    h->deferred.n = k;
}

void
host_flush(Host *h)
{
    Group *g = h->open;
    h->open = NULL;
    if (g)
        host_emit_group(h, g);
}

/* ---- the walk ----------------------------------------------------------------------------------- */

static void
lazy_op(Host *h, const Op *o)
{
    VState *s = state(h, result(o, 0));
    s->kind = V_LAZY;
    s->is_virtual = op_is_cheap(o);
    for (int i = 0; i < o->n_args && s->is_virtual; i++) {
        VState *a = state(h, arg(o, i));
        s->is_virtual = !arg(o, i)->type->rank ||
                        (a->kind == V_LAZY && a->is_virtual) ||
                        is_kept_index(arg(o, i));
    }
}

static Lv
scalar_arg(Host *h, const Op *o, int i)
{
    return i < o->n_args ? host_scalar(h, arg(o, i)) : NULL;
}

/* Nothing that is read before is what is read behind. */
static void
reads_anew(Host *h)
{
    LLVMBuildFence(h->l->b, LLVMAtomicOrderingAcquire, false, "");
}

/* Of one element. */
static void
scalar_access(Host *h, const Op *o)
{
    bool is_load = o->op == OP_LOAD, is_volatile = is_load && ir_attr(o, ATTR_VOLATILE);
    const Type *t = ty_pointee(h->c, arg(o, 0)->type);
    Lv x[4], r;
    for (int i = 0; i < 4; i++)
        x[i] = scalar_arg(h, o, i);
    if (is_load) {
        host_guard(h, o, M_ROW, 0, x[0], x[1]);
        if (is_volatile)
            reads_anew(h);
        r = host_read(h, t, M_ROW, 0, x[0], x[1], x[2]);
        if (is_volatile)
            reads_anew(h);
    } else {
        r = host_act(h, o, M_ROW, 0, x);
    }
    if (r)
        *state(h, result(o, 0)) = (VState){.kind = V_SCALAR, .lv = r};
}

/* A block, volatile: into scratch, now. */
static void
volatile_load(Host *h, const Op *o)
{
    const Val *v = result(o, 0);
    reads_anew(h);
    lazy_op(h, o);
    View w = host_new_view(h, v);
    host_materialise_to(h, v, w);
    host_flush(h);
    state(h, v)->kind = V_BUFFER, state(h, v)->view = w;
    reads_anew(h);
}

static void
access_op(Host *h, const Op *o)
{
    if (!arg(o, 0)->type->rank) {
        scalar_access(h, o);
        return;
    }
    if (o->op == OP_LOAD) {
        volatile_load(h, o);
        return;
    }
    Root r = {.kind = o->n_results ? R_ATOMIC : R_STORE, .o = o, .pos = host_pos(h, o)};
    if (ir_attr(o, ATTR_NEST))
        host_add_to_nest(h, r, arg(o, 0)->type, -1);
    else
        host_store_alone(h, r);
}

static void
reduce_op(Host *h, const Op *o)
{
    Root r = {.kind = R_REDUCE, .o = o, .pos = host_pos(h, o)};
    for (int i = 0; i < o->n_results; i++)
        if (!result(o, i)->type->rank)
            *state(h, result(o, i)) = (VState){.kind = V_SCALAR};
    host_add_to_nest(h, r, arg(o, 0)->type, (int)ir_attr(o, ATTR_AXIS));
}

static void
keep_op(Host *h, const Op *o)
{
    Root r = {.kind = R_KEEP, .o = o, .v = arg(o, 0), .pos = host_pos(h, o)};
    host_add_to_nest(h, r, r.v->type, -1);
}

/* assert and print: scalars now, blocks as roots that keep their place among the writes. */
static void
debug_op(Host *h, const Op *o)
{
    bool is_print = o->op == OP_PRINT;
    if (is_print && !o->n_args)
        host_print(h, o, -1, 0, NULL, NULL, NULL);
    for (int i = 0; i < (is_print ? ir_n_values(o) : 1); i++) {
        const Type *t = arg(o, i)->type;
        if (t->rank) {
            Root r = {.kind = is_print ? R_PRINT : R_CHECK,
                      .o = o,
                      .mode = i,
                      .pos = host_pos(h, o)};
            host_add_root(h, r, t);
            host_flush(h);
        } else if (is_print) {
            host_print(h, o, i, 0, NULL, host_scalar(h, arg(o, i)),
                       ir_attr(o, ATTR_MASKED) ? scalar_arg(h, o, 1) : NULL);
        } else {
            host_check(h, o, 0, NULL, host_scalar(h, arg(o, 0)), scalar_arg(h, o, 1));
        }
    }
}

static void
visit(Host *h, const Op *o)
{
    if (op_is_scalar(o)) {
        scalar_op(h, o);
        return;
    }
    if (op_is_lazy(o)) {
        lazy_op(h, o);
        return;
    }
    switch (o->op) {
    case OPS_ACCESS: access_op(h, o); return;
    case OP_REDUCE: reduce_op(h, o); return;
    case OP_KEEP: keep_op(h, o); return;
    case OP_ASSERT:
    case OP_PRINT: debug_op(h, o); return;
    case OP_DEBUG: err_at(h->c, o->loc, TARGET, info(o)->text, "the CPU");
    case OP_ASSUME:
    case OP_BARRIER: break;
    case OP_SCAN: host_scan(h, o); break;
    case OP_DOT: host_dot(h, o); break;
    case OP_INLINE_ASM:
    case OP_INLINE_ASM_IO: host_assembly(h, o); break;
    case OP_EXTERN_IO: host_extern(h, o); break;
    case OP_FOR: host_for(h, o); break;
    case OP_WHILE: host_while(h, o); break;
    case OP_IF: host_if(h, o); break;
    default: host_shape_op(h, o);
    }
}

void
host_walk(Host *h, const Block *b)
{
    for (const Op *o = b->first; o && !op_has(o, OPF_TERM); o = o->next)
        visit(h, o);
}

/* ---- the function ---------------------------------------------------------------------------------- */

/* Is what o makes a step of what it takes, so that an ulp of that may be all of this? */
static bool
takes_steps(const Op *o)
{
    if (o->op != OP_CAST && o->op != OP_BITCAST)
        return op_has(o, OPF_STEPS);
    Elem e = result(o, 0)->type->elem;
    return elem_is_float(arg(o, 0)->type->elem) &&
           (!elem_is_float(e) || elem_info[e].bits <= 8);
}

static bool
has_feature(const char *all, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = all; p && (p = strstr(p, name)); p += n)
        if (p > all && p[-1] == '+' && (p[n] == ',' || !p[n]))
            return true;
    return false;
}

static void
look_at_cpu(Host *h)
{
    const char *features = ll_host_features(h->c);
    bool avx512 = has_feature(features, "avx512f") &&
                  has_feature(features, "avx512vl") &&
                  has_feature(features, "avx512bw");
    h->l->has_halves = has_feature(features, "avx512fp16") ||
                       has_feature(features, "fullfp16");
    h->l->has_scalef = avx512;
    h->l->has_range = avx512 && has_feature(features, "avx512dq");
    h->vec_bytes = avx512 ? 64 : has_feature(features, "avx2") ? 32 : 16;
    h->has_masks = avx512;
    h->has_word_masks = !avx512 && has_feature(features, "avx2");
    h->has_gather = avx512 || has_feature(features, "avx2");
    h->has_scatter = avx512;
    h->has_bf16_pairs = h->l->has_bf16 = avx512 && has_feature(features, "avx512bf16");
    h->has_vnni = avx512 && has_feature(features, "avx512vnni");
    bool tiles = avx512 && has_feature(features, "amx-tile") &&
                 (h->c->cpu || cpu_allows_tiles());
    h->has_bf16_tiles = tiles && has_feature(features, "amx-bf16");
    h->has_i8_tiles = tiles && has_feature(features, "amx-int8");
}

static void
begin(Host *h, const char *symbol)
{
    Ll *l = h->l;
    Lt types[] = {l->ptr, l->ptr, l->ptr, l->ptr};
    l->fn = LLVMAddFunction(l->m, symbol, LLVMFunctionType(l->void_, types, 4, false));
    ll_fn_attr(l, l->fn, "no-trapping-math", "true");
    unsigned kind = LLVMGetEnumAttributeKindForName("nounwind", 8);
    LLVMAddAttributeAtIndex(l->fn, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(l->cx, kind, 0));
    for (int i = 0; i < 4; i++)
        ll_param_attr(l, l->fn, i, "noalias", 0);
    ll_param_attr(l, l->fn, 3, "align", 64);
    h->params = LLVMGetParam(l->fn, 0);
    h->pid = LLVMGetParam(l->fn, 1);
    h->grid = LLVMGetParam(l->fn, 2);
    h->scratch = LLVMGetParam(l->fn, 3);
    h->entry = ll_block(l, "entry");
    LLVMBasicBlockRef start = ll_block(l, "start");
    LLVMPositionBuilderAtEnd(l->b, h->entry);
    LLVMBuildBr(l->b, start);
    h->leave = ll_block(l, "leave");
    LLVMPositionBuilderAtEnd(l->b, h->leave);
    LLVMBuildRetVoid(l->b);
    LLVMPositionBuilderAtEnd(l->b, start);
    for (int i = 0; i < h->f->body->n_args; i++) {
        const Val *v = h->f->body->args[i];
        Lv p = ll_element(l, l->i64, h->params, ll_i64(l, i));
        *state(h, v) = (VState){.kind = V_SCALAR,
                                .lv = host_read(h, v->type, M_ROW, 0, p, NULL, NULL)};
    }
}

/* Loops come out rotated and loads hoisted, so little is left to do: promote the stack
 * slots, merge what nodes at several levels have in common, hoist, and tidy up. */
#define PASSES(last_cse)                                                               \
    "function(sroa,early-cse<memssa>,loop-mssa(licm),instcombine<max-iterations=1;"    \
    "no-verify-fixpoint>," last_cse ",simplifycfg)"
static const char passes[] = PASSES("early-cse");
/* Looks behind the polls of loops: what those carry in scratch becomes registers. */
static const char passes_with_polls[] = PASSES("early-cse<memssa>");

/* Of long code, see ll_quicken. */
static const char passes_of_long[] = "function(sroa,early-cse<memssa>,simplifycfg)";

static void
count_root(Host *h, const Op *o)
{
    void *number = (void *)(intptr_t)ir_attr(o, ATTR_NEST);
    if (!number)
        return;
    if (!map_get(&h->nests, number, 0))
        map_put(&h->nests, number, 0, NEW(h->c->arena, Nest));
    ((Nest *)map_get(&h->nests, number, 0))->n_left++;
}

void
cg_host(Func *f, Binary *out)
{
    Comp *c = f->c;
    Ll *l = ll_new(c, LL_HOST, f->name);
    l->call_extern = ll_call_extern;
    Host *h = NEW(c->arena, Host);
    h->l = l, h->c = c, h->f = f;
    h->v = NEW_N(c->arena, VState, f->n_vals);
    h->pos.a = h->nests.a = c->arena;
    EACH_OP_INSIDE_OUT(o, f->body) {
        map_put(&h->pos, o, 0, (void *)(intptr_t)++h->n_pos);
        h->takes_steps |= takes_steps(o);
        count_root(h, o);
    }
    h->facts = facts_new(f);
    facts_trust_hints(h->facts, c->opt.check_bounds ? 0 : 2); /* 16 bytes of f32 */
    look_at_cpu(h);
    h->written = written_new(f);
    const char *symbol = str_printf(c->arena, "tegula_%s", f->name);
    begin(h, symbol);
    host_look_for_streams(h);
    host_walk(h, f->body);
    host_tell(h);
    LLVMBuildBr(l->b, h->leave);
    const char *todo = ll_quicken(l) ? passes_of_long
                       : h->pace     ? passes_with_polls
                                     : passes;
    ll_finish(l, ll_link(l, todo), out);
    ll_note_libraries(l, out);
    ll_emit(l, LLVMObjectFile, "obj", out);
    out->scratch = (int)h->high + 64;
    out->symbol = strdup(symbol);
    if (!out->symbol)
        err_at(c, NULL, MEMORY);
    ll_disassemble(l, out);
}
