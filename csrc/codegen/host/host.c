/* host: cg_host, and the walk over ops that decides what is computed where.
 *
 * Ops that are pure per element, and loads, are lazy: the walk only notes them. Roots
 * (stores, reductions, atomics, values that must be in scratch) collect in the open group
 * while they have one shape and do not need each other's results:
 *
 *     x = load .. ; m = max(x)                group 1: loads, maximum; x goes to scratch
 *     e = exp(x - m) ; s = sum(e)             group 2: reads x, writes e
 *     store e / s                             group 3
 *
 * A group is emitted (flush) when a root cannot join it. What lazy values it computes and
 * later groups still want is kept in scratch then, or computed again where that is cheap.
 *
 * Rule 1: a load is never moved behind something that writes memory: settle_loads.
 * Rule 2: scalars are made in the straight line, never inside a loop nest: each stands
 *         before the first group that reads it.
 * Rule 3: a value of an outer block that is put into scratch inside a region is there only
 *         inside of it: the trail takes it back.
 */
#include "codegen/host/host.h"

/* ---- groups ------------------------------------------------------------------------------ */

static bool
is_ready(Host *h, const Val *v)
{
    return state(h, v)->kind == V_SCALAR && state(h, v)->lv;
}

/* Does computing v need something the open group has not made yet? */
static bool
waits(Host *h, const Val *v)
{
    VState *s = state(h, v);
    if (!v->type->rank)
        return !is_ready(h, v);
    if (s->kind != V_LAZY)
        return s->kind == V_INGROUP;
    if (s->stamp == h->stamp)
        return false; /* seen in this walk */
    s->stamp = h->stamp;
    s->again = false;
    for (int i = 0; i < v->def->n_args; i++)
        if (waits(h, arg(v->def, i)))
            return true;
    return false;
}

static bool
root_waits(Host *h, const Root *r)
{
    h->stamp++;
    if (r->kind == R_KEEP)
        return waits(h, r->v);
    for (int i = 0; i < r->o->n_args; i++)
        if (waits(h, arg(r->o, i)))
            return true;
    return false;
}

/* Does computing v on demand load from memory behind position pos? */
static bool
loads_after(Host *h, const Val *v, int pos)
{
    VState *s = state(h, v);
    if (s->kind != V_LAZY || s->is_virtual || s->stamp == h->stamp)
        return false;
    s->stamp = h->stamp;
    s->again = false;
    if (v->def->op == OP_LOAD && host_pos(h, v->def) > pos)
        return true;
    for (int i = 0; i < v->def->n_args; i++)
        if (loads_after(h, arg(v->def, i), pos))
            return true;
    return false;
}

static bool
root_loads_after(Host *h, const Root *r, int pos)
{
    h->stamp++;
    if (r->kind == R_KEEP)
        return loads_after(h, r->v, pos);
    for (int i = 0; i < r->o->n_args; i++)
        if (loads_after(h, arg(r->o, i), pos))
            return true;
    return false;
}

static bool
writes(const Root *r)
{
    return r->kind != R_KEEP && r->kind != R_REDUCE;
}

static int
first_write(const Group *g)
{
    for (int i = 0; i < g->roots.n; i++)
        if (writes(&g->roots.at[i]))
            return g->roots.at[i].pos;
    return INT32_MAX;
}

static bool
can_join(Host *h, const Group *g, const Root *r, const Type *t, int axis)
{
    if (g->rank != t->rank || (axis >= 0 && g->axis >= 0 && axis != g->axis))
        return false;
    for (int d = 0; d < t->rank; d++)
        if (g->shape[d] != t->shape[d])
            return false;
    if (root_waits(h, r))
        return false;
    return !g->has_writes || !root_loads_after(h, r, first_write(g));
}

static Group *
new_group(Host *h, const Type *t)
{
    Group *g = NEW(h->c->arena, Group);
    g->rank = t->rank;
    memcpy(g->shape, t->shape, sizeof g->shape);
    g->axis = -1;
    return g;
}

static void
put_root(Host *h, Group *g, Root r, int axis)
{
    if (axis >= 0)
        g->axis = axis;
    g->has_writes |= writes(&r);
    PUSH(h->c->arena, &g->roots, r);
    if (r.kind != R_KEEP)
        for (int i = 0; i < r.o->n_results; i++)
            if (result(r.o, i)->type->rank)
                state(h, result(r.o, i))->kind = V_INGROUP;
}

/* ---- values of another shape that are worth computing once --------------------------------- */

/* Work to compute one element, roughly in instructions; stops counting at 64. */
static int
cost(Host *h, const Val *v)
{
    VState *s = state(h, v);
    if (s->kind != V_LAZY)
        return 1;
    const Op *o = v->def;
    if (host_is_through(o))
        return cost(h, arg(o, 0));
    if (o->op == OP_CONST || o->op == OP_SPLAT || o->op == OP_ARANGE)
        return 0;
    if (o->op == OP_LOAD)
        return 3;
    int n = op_has(o, OPF_HEAVY) ? 20 : op_has(o, OPF_SLOW) ? 8 : 1;
    for (int i = 0; i < o->n_args && n < 64; i++)
        n += cost(h, arg(o, i));
    return MIN(n, 64);
}

static bool
has_many_uses(const Val *v)
{
    return v->uses && v->uses->next;
}

typedef VEC(const Val *) Vals;

/* Collects what a nest of t's shape should find in scratch, operands first. */
static void
find_small(Host *h, const Type *t, const Val *v, Vals *out)
{
    VState *s = state(h, v);
    if (s->kind != V_LAZY || s->is_virtual || s->stamp == h->stamp)
        return;
    s->stamp = h->stamp;
    s->again = false;
    const Op *o = v->def;
    bool is_other = !ty_same_shape(v->type, t) && !host_is_through(o);
    bool once = is_other && (cost(h, v) > 6 || has_many_uses(v)) &&
                ty_numel(v->type) < ty_numel(t);
    for (int i = 0; i < o->n_args; i++)
        find_small(h, once ? v->type : t, arg(o, i), out);
    if (once)
        PUSH(h->c->arena, out, v);
}

static void
emit_kept(Host *h, Vals *small)
{
    /* The last group that was opened may be emitted later only if nothing here writes or
     * waits for it. */
    bool flush = h->open && h->open->has_writes;
    h->stamp++;
    for (int i = 0; i < small->n && !flush; i++)
        flush = waits(h, small->at[i]);
    if (flush)
        host_flush(h);
    Group *g = NULL;
    for (int i = 0; i < small->n; i++) {
        const Val *v = small->at[i];
        if (state(h, v)->kind != V_LAZY)
            continue; /* an earlier group of these has kept it */
        Root r = {.kind = R_KEEP, .v = v, .pos = host_pos(h, v->def)};
        if (g && !can_join(h, g, &r, v->type, -1)) {
            host_emit_group(h, g);
            g = NULL;
        }
        if (state(h, v)->kind != V_LAZY)
            continue;
        if (!g)
            g = new_group(h, v->type);
        put_root(h, g, r, -1);
    }
    if (g)
        host_emit_group(h, g);
}

static void
settle_small(Host *h, const Root *r, const Type *t)
{
    Vals small = {0};
    h->stamp++;
    if (r->kind == R_KEEP)
        find_small(h, t, r->v, &small);
    for (int i = 0; r->o && i < r->o->n_args; i++)
        find_small(h, t, arg(r->o, i), &small);
    if (small.n)
        emit_kept(h, &small);
}

static void
add_root(Host *h, Root r, const Type *t, int axis)
{
    settle_small(h, &r, t);
    if (h->open && !can_join(h, h->open, &r, t, axis))
        host_flush(h);
    if (!h->open)
        h->open = new_group(h, t);
    put_root(h, h->open, r, axis);
}

/* ---- scalars ---------------------------------------------------------------------------------- */

static Lv
program_word(Host *h, Lv base, const Op *o)
{
    Ll *l = h->l;
    Lv at = ll_i64(l, ir_attr(o, ATTR_AXIS));
    return LLVMBuildLoad2(l->b, l->i32, LLVMBuildGEP2(l->b, l->i32, base, &at, 1, ""),
                          "");
}

static void
emit_scalar(Host *h, const Op *o)
{
    Lv x[4], r;
    for (int i = 0; i < o->n_args && i < (int)COUNT(x); i++)
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
        if (!is_ready(h, arg(o, i)))
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
host_flush(Host *h)
{
    Group *g = h->open;
    h->open = NULL;
    if (g)
        host_emit_group(h, g);
    int n = h->deferred.n;
    h->deferred.n = 0;
    for (int i = 0; i < n; i++) {
        const Op *o = h->deferred.at[i];
        if (!all_ready(h, o))
            unreachable(h->c);
        emit_scalar(h, o);
    }
}

/* ---- making ready ------------------------------------------------------------------------------- */

static void
keep(Host *h, const Val *v)
{
    Root r = {.kind = R_KEEP, .v = v, .pos = v->def ? host_pos(h, v->def) : 0};
    add_root(h, r, v->type, -1);
}

void
host_materialise(Host *h, const Val *v)
{
    if (state(h, v)->kind == V_INGROUP)
        host_flush(h);
    if (state(h, v)->kind == V_BUFFER)
        return;
    keep(h, v);
    host_flush(h);
}

void
host_materialise_to(Host *h, const Val *v, View dest, bool alone)
{
    if (alone || state(h, v)->kind == V_INGROUP)
        host_flush(h);
    Root r = {.kind = R_KEEP,
              .v = v,
              .dest = dest,
              .is_forced = true,
              .pos = v->def ? host_pos(h, v->def) : 0};
    add_root(h, r, v->type, -1);
    if (alone)
        host_flush(h);
}

void
host_convert_to(Host *h, const Val *v, View dest, Elem e)
{
    if (state(h, v)->kind == V_INGROUP)
        host_flush(h);
    Root r = {.kind = R_KEEP,
              .v = v,
              .dest = dest,
              .is_forced = true,
              .converts = true,
              .elem = e,
              .pos = v->def ? host_pos(h, v->def) : 0};
    add_root(h, r, v->type, -1);
}

/* Pending loads that something behind `writer` still wants happen now. */
static void
settle_loads(Host *h, const Op *writer)
{
    if (!h->loads.n)
        return;
    h->stamp++;
    for (int i = 0; h->open && i < h->open->roots.n; i++) {
        Root *r = &h->open->roots.at[i];
        if (r->kind == R_KEEP)
            host_stamp(h, r->v);
        for (int k = 0; r->o && k < r->o->n_args; k++)
            host_stamp(h, arg(r->o, k));
    }
    for (int i = 0; i < writer->n_args; i++)
        host_stamp(h, arg(writer, i));
    Vals force = {0};
    int n = 0;
    for (int i = 0; i < h->loads.n; i++) {
        const Val *v = result(h->loads.at[i], 0);
        if (state(h, v)->kind != V_LAZY)
            continue;
        h->loads.at[n++] = h->loads.at[i];
        if (state(h, v)->stamp != h->stamp && host_is_live(h, v))
            PUSH(h->c->arena, &force, v);
    }
    h->loads.n = n;
    for (int i = 0; i < force.n; i++)
        if (state(h, force.at[i])->kind == V_LAZY)
            keep(h, force.at[i]);
}

static bool
is_inside(const Val *v, const Op *o)
{
    for (const Block *b = v->block; b && b->owner; b = b->owner->block)
        if (b->owner == o)
            return true;
    return false;
}

static void
settle_value(Host *h, const Val *v)
{
    VState *s = state(h, v);
    if (s->kind == V_INGROUP || (s->kind == V_SCALAR && !s->lv)) {
        host_flush(h);
        return;
    }
    if (s->kind != V_LAZY || s->is_virtual)
        return;
    if (host_is_through(v->def) || v->def->op == OP_SPLAT)
        settle_value(h, arg(v->def, 0));
    else
        keep(h, v);
}

static bool
settle_block(Host *h, const Block *b, const Op *outer)
{
    bool has_writes = false;
    for (const Op *o = b->first; o; o = o->next) {
        has_writes |= op_has(o, OPF_WRITES);
        for (int i = 0; i < o->n_args; i++)
            if (!is_inside(arg(o, i), outer))
                settle_value(h, arg(o, i));
        for (int i = 0; i < o->n_regions; i++)
            if (o->regions[i])
                has_writes |= settle_block(h, o->regions[i], outer);
    }
    return has_writes;
}

void
host_settle_regions(Host *h, const Op *o)
{
    bool has_writes = false;
    for (int i = 0; i < o->n_regions; i++)
        if (o->regions[i])
            has_writes |= settle_block(h, o->regions[i], o);
    if (has_writes)
        settle_loads(h, o);
    host_flush(h);
}

/* ---- the walk ----------------------------------------------------------------------------------- */

static bool
is_cheap_op(const Op *o)
{
    return o->op == OP_CONST || o->op == OP_SPLAT || o->op == OP_ARANGE ||
           host_is_through(o) ||
           (op_has(o, OPF_ELEM) && !op_has(o, OPF_SLOW | OPF_HEAVY));
}

static void
lazy_op(Host *h, const Op *o)
{
    VState *s = state(h, result(o, 0));
    s->kind = V_LAZY;
    s->is_virtual = is_cheap_op(o);
    int n = 1;
    for (int i = 0; i < o->n_args && s->is_virtual; i++) {
        VState *a = state(h, arg(o, i));
        s->is_virtual = !arg(o, i)->type->rank || a->kind == V_CARRIED ||
                        (a->kind == V_LAZY && a->is_virtual);
        n += a->kind == V_LAZY;
    }
    if (o->op == OP_LOAD)
        PUSH(h->c->arena, &h->loads, o);
}

static bool
is_scalar_op(const Op *o)
{
    if (o->n_results != 1 || result(o, 0)->type->rank)
        return false;
    return o->op == OP_CONST || o->op == OP_PROGRAM_ID || o->op == OP_NUM_PROGRAMS ||
           op_has(o, OPF_ELEM);
}

static Lv
scalar_arg(Host *h, const Op *o, int i)
{
    return i < o->n_args ? host_scalar(h, arg(o, i)) : NULL;
}

/* A load, store or atomic of one element. */
static void
scalar_access(Host *h, const Op *o)
{
    bool is_load = o->op == OP_LOAD;
    if (!is_load) {
        settle_loads(h, o);
        host_flush(h);
    } else if (!all_ready(h, o) || (h->open && h->open->has_writes)) {
        host_flush(h);
    }
    const Type *t = ty_pointee(h->c, arg(o, 0)->type);
    Lv p = scalar_arg(h, o, 0), x = scalar_arg(h, o, 1), y = scalar_arg(h, o, 2);
    Lv r = NULL;
    host_guard(h, o, M_ROW, 0, p,
               o->op == OP_LOAD         ? x
               : o->op == OP_ATOMIC_CAS ? NULL
                                        : y);
    switch (o->op) {
    case OP_LOAD: r = host_read(h, t, M_ROW, 0, p, x, y); break;
    case OP_STORE: host_write(h, t, M_ROW, 0, p, x, y); break;
    case OP_ATOMIC_CAS: r = host_atomic(h, o, 0, p, x, y, scalar_arg(h, o, 3)); break;
    default: r = host_atomic(h, o, 0, p, x, NULL, y);
    }
    h->done[host_pos(h, o)] = true;
    if (r)
        *state(h, result(o, 0)) = (VState){.kind = V_SCALAR, .lv = r};
}

static void
access_op(Host *h, const Op *o)
{
    if (!arg(o, 0)->type->rank) {
        scalar_access(h, o);
        return;
    }
    settle_loads(h, o);
    Root r = {
        .kind = o->op == OP_STORE ? R_STORE : R_ATOMIC, .o = o, .pos = host_pos(h, o)};
    add_root(h, r, arg(o, 0)->type, -1);
}

static void
settle_outer(void *h, const Val *v)
{
    if (!is_ready(h, v))
        host_flush(h);
}

void
host_settle_outer(Host *h, const Op *o)
{
    ir_each_outer(o, settle_outer, h);
}

static void
reduce_op(Host *h, const Op *o)
{
    host_settle_outer(h, o);
    Root r = {.kind = R_REDUCE, .o = o, .pos = host_pos(h, o)};
    for (int i = 0; i < o->n_results; i++)
        if (!result(o, i)->type->rank)
            *state(h, result(o, i)) = (VState){.kind = V_SCALAR};
    add_root(h, r, arg(o, 0)->type, (int)ir_attr(o, ATTR_AXIS));
}

/* assert and print: scalars now, blocks as roots that keep their place among the writes. */
static void
debug_op(Host *h, const Op *o)
{
    bool is_print = o->op == OP_PRINT;
    settle_loads(h, o);
    host_flush(h);
    if (is_print && !o->n_args)
        host_print(h, o, -1, 0, NULL, NULL);
    for (int i = 0; i < (is_print ? o->n_args : 1); i++) {
        const Type *t = arg(o, i)->type;
        if (t->rank) {
            Root r = {.kind = is_print ? R_PRINT : R_CHECK,
                      .o = o,
                      .mode = i,
                      .pos = host_pos(h, o)};
            add_root(h, r, t, -1);
            host_flush(h);
        } else if (is_print) {
            host_print(h, o, i, 0, NULL, host_scalar(h, arg(o, i)));
        } else {
            host_check(h, o, 0, NULL, host_scalar(h, arg(o, 0)), scalar_arg(h, o, 1));
        }
    }
    h->done[host_pos(h, o)] = true;
}

static void
visit(Host *h, const Op *o)
{
    if (is_scalar_op(o)) {
        scalar_op(h, o);
        return;
    }
    if (host_is_lazy_op(o)) {
        lazy_op(h, o);
        return;
    }
    switch (o->op) {
    case OP_LOAD:
    case OP_STORE:
    case OP_ATOMIC_RMW:
    case OP_ATOMIC_CAS: access_op(h, o); return;
    case OP_REDUCE: reduce_op(h, o); return;
    case OP_ASSERT:
    case OP_PRINT: debug_op(h, o); return;
    case OP_DEBUG: err_at(h->c, o->loc, TARGET, info(o)->text, "the CPU");
    case OP_ASSUME: break;
    case OP_BARRIER:
        settle_loads(h, o);
        host_flush(h);
        break;
    case OP_SCAN: host_scan(h, o); break;
    case OP_DOT: host_dot(h, o); break;
    case OP_FOR: host_for(h, o); break;
    case OP_WHILE: host_while(h, o); break;
    case OP_IF: host_if(h, o); break;
    default: host_shape_op(h, o);
    }
    h->done[host_pos(h, o)] = true;
}

void
host_walk(Host *h, const Block *b)
{
    h->block = b;
    for (const Op *o = b->first; o && !op_has(o, OPF_TERM); o = o->next)
        visit(h, o);
}

void
host_region_open(Host *h, Region *r)
{
    *r = (Region){.block = h->block, .n_trail = h->trail.n};
    for (int i = 0; i < h->loads.n; i++)
        PUSH(h->c->arena, &r->loads, h->loads.at[i]);
    h->loads.n = 0;
}

void
host_region_close(Host *h, const Region *r)
{
    host_flush(h);
    while (h->trail.n > r->n_trail) {
        Undo u = h->trail.at[--h->trail.n];
        *state(h, u.v) = u.was;
    }
    h->block = r->block;
    h->loads.n = 0;
    for (int i = 0; i < r->loads.n; i++)
        PUSH(h->c->arena, &h->loads, r->loads.at[i]);
}

/* ---- the function ---------------------------------------------------------------------------------- */

static void
number(Host *h, const Block *b)
{
    for (const Op *o = b->first; o; o = o->next) {
        for (int i = 0; i < o->n_regions; i++)
            if (o->regions[i])
                number(h, o->regions[i]);
        map_put(&h->pos, o, 0, (void *)(intptr_t)++h->n_pos);
    }
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
    h->l->has_scalef = avx512;
    h->vec_bytes = avx512 ? 64 : has_feature(features, "avx2") ? 32 : 16;
    h->has_masks = avx512;
    h->has_gather = avx512 || has_feature(features, "avx2");
    h->has_scatter = avx512;
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
        Lv at = ll_i64(l, i);
        Lv p = LLVMBuildGEP2(l->b, l->i64, h->params, &at, 1, "");
        *state(h, v) = (VState){.kind = V_SCALAR,
                                .lv = host_read(h, v->type, M_ROW, 0, p, NULL, NULL)};
    }
}

/* Loops come out rotated and loads hoisted, so little is left to do: promote the stack
 * slots, merge what nodes at several levels have in common, hoist, and tidy up. */
static const char passes[] =
    "function(sroa,early-cse<memssa>,loop-mssa(licm),instcombine<max-iterations=1;"
    "no-verify-fixpoint>,early-cse,simplifycfg)";

void
cg_host(Func *f, Binary *out)
{
    Comp *c = f->c;
    Ll *l = ll_new(c, LL_HOST, f->name);
    Host *h = NEW(c->arena, Host);
    h->l = l, h->c = c, h->f = f;
    h->v = NEW_N(c->arena, VState, f->n_vals);
    h->pos.a = c->arena;
    number(h, f->body);
    h->done = NEW_N(c->arena, bool, h->n_pos + 1);
    h->facts = facts_new(f);
    look_at_cpu(h);
    h->written = written_new(f);
    const char *symbol = str_printf(c->arena, "tegula_%s", f->name);
    begin(h, symbol);
    host_look_for_streams(h);
    host_walk(h, f->body);
    host_flush(h);
    LLVMBuildBr(l->b, h->leave);
    ll_finish(l, passes, out);
    ll_emit(l, LLVMObjectFile, "obj", out);
    out->scratch = (int)h->high + 64;
    out->symbol = strdup(symbol);
    if (!out->symbol)
        err_at(c, NULL, MEMORY);
    ll_disassemble(l, out);
}
