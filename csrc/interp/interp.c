/* interp: what the ops mean, in the dullest C we can write. Slow on purpose.
 *
 * A value is an array of elements in row-major order, one uint64_t each, and has one
 * place for the whole run: a loop that computes it again writes over it. Programs of
 * the grid run one after another, x fastest; inside of one, everything happens in the
 * order of the text, and an op on blocks goes through the elements in order.
 *
 * What a target may do otherwise: the order of the sums in reduce and dot; the rounding
 * of dot in another precision than ieee (here f32 products are not cut to tf32); math
 * functions to their bound. Results the language leaves open are 0 here: a gather from
 * outside, a masked-off load without other.
 *
 * Sides are what the function says, powers of two or not: this is the reference for the
 * padding of other targets.
 *
 * The function must have passed ir_verify.
 */
#include "interp/impl.h"

#include <inttypes.h>

uint64_t *
interp_new_place(Interp *in, const Val *v)
{
    return in->val[v->id] = NEW_N(in->c->arena, uint64_t,
                                  numel(v) * MAX(v->type->slots, 1));
}

uint64_t *
interp_scratch(Interp *in, Scratch *s, int64_t n)
{
    if (n > s->cap) {
        s->at = NEW_N(in->c->arena, uint64_t, 2 * n);
        s->cap = 2 * n;
    }
    return s->at;
}

/* Operands of `from`, from `first` on, become the n values `to`, all at once: a loop
 * may yield its own arguments in another order. */
static void
move_values(Interp *in, const Op *from, int first, Val *const *to, int n)
{
    int64_t total = 0, at = 0;
    for (int i = 0; i < n; i++)
        total += numel(to[i]);
    uint64_t *moved = interp_scratch(in, &in->moved, total);
    for (int i = 0; i < n; at += numel(to[i++]))
        memcpy(moved + at, operand(in, from, first + i), (size_t)numel(to[i]) * 8);
    at = 0;
    for (int i = 0; i < n; at += numel(to[i++]))
        memcpy(place(in, to[i]), moved + at, (size_t)numel(to[i]) * 8);
}

void
interp_unflatten(const Type *t, int64_t flat, int32_t *at)
{
    for (int d = t->rank - 1; d >= 0; d--) {
        at[d] = (int32_t)(flat % t->shape[d]);
        flat /= t->shape[d];
    }
}

int64_t
interp_flatten(const Type *t, const int32_t *at)
{
    int64_t flat = 0;
    for (int d = 0; d < t->rank; d++)
        flat = flat * t->shape[d] + at[d];
    return flat;
}

const char *
interp_where(const Interp *in)
{
    return str_printf(in->c->arena, " in program (%d, %d, %d)", in->pid[0], in->pid[1],
                      in->pid[2]);
}

bool
interp_is_off(Interp *in, const Op *o, int k, int64_t i)
{
    return o->n_args > k && !operand(in, o, k)[i];
}

/* ---- elementwise ---------------------------------------------------------------- */

/* Is the sum, difference or product of signed numbers of 32 or 64 bits none of them? That of
 * an OP_ADDPTR is the second's with `bytes`. */
static bool
wraps(OpCode op, Elem e, int bytes, const uint64_t *x)
{
    int64_t a = elem_to_int(e, x[0]), b = elem_to_int(e, x[1]), r;
    bool is_over = op == OP_ADD   ? __builtin_add_overflow(a, b, &r)
                   : op == OP_SUB ? __builtin_sub_overflow(a, b, &r)
                   : op == OP_MUL ? __builtin_mul_overflow(a, b, &r)
                                  : __builtin_mul_overflow(b, bytes, &r);
    return is_over || (e == E_I32 && op != OP_ADDPTR && r != (int32_t)r);
}

static void
run_elementwise(Interp *in, const Op *o)
{
    const Type *rt = result(o, 0)->type;
    uint64_t *r = place(in, result(o, 0));
    const uint64_t *a[3] = {0};
    for (int k = 0; k < o->n_args; k++)
        a[k] = operand(in, o, k);
    Elem ie = ty_evaluated(arg(o, 0)->type), oe = ty_evaluated(rt);
    if (o->op == OP_ADDPTR) {
        ie = arg(o, 1)->type->elem;
        oe = rt->elem;
    }
    bool may_wrap = in->run->wraps && (ie == E_I32 || ie == E_I64) &&
                    (o->op == OP_ADD || o->op == OP_SUB || o->op == OP_MUL ||
                     o->op == OP_ADDPTR);
    int64_t n = ty_numel(rt);
    for (int64_t i = 0; i < n; i++) {
        uint64_t x[3] = {0};
        for (int k = 0; k < o->n_args; k++)
            x[k] = a[k][i];
        if (may_wrap && wraps(o->op, ie, elem_info[oe].bytes, x))
            *in->run->wraps = true;
        if (o->op == OP_CAST)
            r[i] = elem_cast(ie, oe, x[0], (int)ir_attr(o, ATTR_ROUNDING));
        else if (!ir_eval(o->op, ie, oe, x, o->n_args, &r[i]))
            r[i] = 0;
    }
}

/* ---- shapes --------------------------------------------------------------------- */

/* r[..] = x[..] for every element of the result: one more along dim d is stride[d] further in
 * x. */
static void
pick(const Type *rt, uint64_t *r, const uint64_t *x, const int64_t *stride)
{
    int32_t to[MAX_RANK] = {0};
    int64_t n = ty_numel(rt), from = 0;
    for (int64_t i = 0; i < n; i++) {
        r[i] = x[from];
        for (int d = rt->rank - 1; d >= 0; d--) {
            from += stride[d];
            if (++to[d] < rt->shape[d])
                break;
            from -= stride[d] * rt->shape[d];
            to[d] = 0;
        }
    }
}

static void
run_pick(Interp *in, const Op *o)
{
    const Type *rt = result(o, 0)->type, *xt = arg(o, 0)->type;
    int perm[MAX_RANK] = {0};
    if (o->op == OP_TRANS)
        ir_perm(o, perm);
    int64_t of_x[MAX_RANK], stride[MAX_RANK] = {0}, step = 1;
    for (int d = xt->rank - 1; d >= 0; step *= xt->shape[d--])
        of_x[d] = step;
    for (int d = 0; d < rt->rank; d++)
        if (o->op == OP_TRANS)
            stride[d] = of_x[perm[d]];
        else
            stride[d] = xt->shape[d] == 1 ? 0 : of_x[d];
    pick(rt, place(in, result(o, 0)), operand(in, o, 0), stride);
}

static void
run_gather(Interp *in, const Op *o)
{
    const Type *rt = result(o, 0)->type, *xt = arg(o, 0)->type;
    uint64_t *r = place(in, result(o, 0));
    const uint64_t *x = operand(in, o, 0), *index = operand(in, o, 1);
    int64_t n = ty_numel(rt), axis = ir_attr(o, ATTR_AXIS);
    for (int64_t i = 0; i < n; i++) {
        int32_t from[MAX_RANK] = {0};
        int64_t at = elem_to_int(arg(o, 1)->type->elem, index[i]);
        bool is_inside = at >= 0 && at < xt->shape[axis];
        interp_unflatten(rt, i, from);
        from[axis] = (int32_t)at;
        r[i] = is_inside ? x[interp_flatten(xt, from)] : 0;
    }
}

static void
run_shape(Interp *in, const Op *o)
{
    uint64_t *r = place(in, result(o, 0));
    int64_t n = numel(result(o, 0));
    const uint64_t *x = o->n_args > 0 ? operand(in, o, 0) : NULL;
    switch (o->op) {
    case OP_CONST:
    case OP_SPLAT:
        for (int64_t i = 0; i < n; i++)
            r[i] = o->op == OP_CONST ? o->bits : x[0];
        break;
    case OP_ARANGE:
        for (int64_t i = 0; i < n; i++)
            r[i] = elem_from_int(E_I32, ir_attr(o, ATTR_START) + i);
        break;
    case OPS(OP_EXPAND, OP_RESHAPE, OPS_MOVED): memcpy(r, x, (size_t)n * 8); break;
    case OP_JOIN: {
        const uint64_t *y = operand(in, o, 1);
        for (int64_t i = 0; i < n; i++)
            r[i] = i & 1 ? y[i / 2] : x[i / 2];
        break;
    }
    case OP_SPLIT: {
        uint64_t *s = place(in, result(o, 1));
        for (int64_t i = 0; i < n; i++) {
            r[i] = x[2 * i];
            s[i] = x[2 * i + 1];
        }
        break;
    }
    case OP_CAT:
        memcpy(r, x, (size_t)n / 2 * 8);
        memcpy(r + n / 2, operand(in, o, 1), (size_t)n / 2 * 8);
        break;
    case OP_RESIZE: {
        const Type *xt = arg(o, 0)->type, *rt = result(o, 0)->type;
        for (int64_t i = 0; i < n; i++) {
            int32_t at[MAX_RANK] = {0};
            bool is_inside = true;
            interp_unflatten(rt, i, at);
            for (int d = 0; d < rt->rank; d++)
                is_inside = is_inside && at[d] < xt->shape[d];
            r[i] = is_inside ? x[interp_flatten(xt, at)] : operand(in, o, 1)[0];
        }
        break;
    }
    default: unreachable(in->c);
    }
}

/* ---- control -------------------------------------------------------------------- */

/* How often the loop runs; by signedness, without overflow at the ends of the type. */
static uint64_t
trip_count(Interp *in, const Op *o, Elem e)
{
    uint64_t lb = operand(in, o, 0)[0], ub = operand(in, o, 1)[0],
             step = operand(in, o, 2)[0];
    if (!step)
        err_say(in->c, o->loc, VALUE, "the step of a loop is 0%s", interp_where(in));
    if (!elem_is_signed(e))
        return lb < ub ? (ub - lb - 1) / step + 1 : 0;
    int64_t l = elem_to_int(e, lb), u = elem_to_int(e, ub), s = elem_to_int(e, step);
    if (s > 0)
        return l < u ? ((uint64_t)u - (uint64_t)l - 1) / (uint64_t)s + 1 : 0;
    return l > u ? ((uint64_t)l - (uint64_t)u - 1) / (0 - (uint64_t)s) + 1 : 0;
}

static void
run_for(Interp *in, const Op *o)
{
    const Block *b = o->regions[0];
    Elem e = arg(o, 0)->type->elem;
    uint64_t n = trip_count(in, o, e), iv = operand(in, o, 0)[0],
             step = operand(in, o, 2)[0];
    int n_carried = o->n_args - 3;
    const Op *last = o; /* who gives the carried values, from operand `first` on */
    int first = 3;
    for (uint64_t i = 0; i < n; i++, iv += step) {
        move_values(in, last, first, b->args + 1, n_carried);
        place(in, b->args[0])[0] = elem_from_int(e, (int64_t)iv);
        last = interp_block(in, b);
        first = 0;
    }
    move_values(in, last, first, o->results, n_carried);
}

static void
run_while(Interp *in, const Op *o)
{
    const Block *before = o->regions[0], *body = o->regions[1];
    move_values(in, o, 0, before->args, before->n_args);
    for (;;) {
        const Op *cond = interp_block(in, before);
        if (!operand(in, cond, 0)[0]) {
            move_values(in, cond, 1, o->results, o->n_results);
            return;
        }
        move_values(in, cond, 1, body->args, body->n_args);
        move_values(in, interp_block(in, body), 0, before->args, before->n_args);
    }
}

static void
run_if(Interp *in, const Op *o)
{
    int i = operand(in, o, 0)[0] ? 0 : 1;
    if (i < o->n_regions)
        move_values(in, interp_block(in, o->regions[i]), 0, o->results, o->n_results);
}

/* ---- assert and print ----------------------------------------------------------- */

/* "3, 14" of element i; NULL where it is padding. */
static const char *
index_text(Interp *in, const Op *o, const Type *t, int64_t i)
{
    Sb sb = {.a = in->c->arena};
    int32_t at[MAX_RANK], sides[MAX_RANK];
    interp_unflatten(t, i, at);
    ty_unpack_sides(t, ir_attr(o, ATTR_SIDES), sides);
    sb_put(&sb, "");
    for (int d = 0; d < t->rank; d++) {
        int width = snprintf(NULL, 0, "%d", sides[d] - 1);
        if (at[d] >= sides[d])
            return NULL;
        sb_printf(&sb, "%s%*d", d ? ", " : "", width, at[d]);
    }
    return sb.at;
}

static void
run_assert(Interp *in, const Op *o)
{
    const Type *t = arg(o, 0)->type;
    int64_t n = ty_numel(t);
    for (int64_t i = 0; i < n; i++)
        if (!operand(in, o, 0)[i] && !interp_is_off(in, o, 1, i)) {
            if (in->run->fault)
                *in->run->fault = (InterpFault){.kind = "ASSERT", .op = o};
            err_say(in->c, o->loc, VALUE, "assertion failed: %s%s%s%s", o->text,
                    interp_where(in), t->rank ? ", element " : "",
                    index_text(in, o, t, i));
        }
}

static void
print_value(FILE *out, const Type *t, uint64_t bits, bool hex)
{
    if (hex || t->is_ptr)
        fprintf(out, "0x%0*" PRIx64, MAX(ty_bits(t) / 4, 1), bits);
    else if (elem_is_float(t->elem))
        fprintf(out, "%f", elem_to_double(t->elem, bits));
    else if (elem_is_signed(t->elem))
        fprintf(out, "%" PRId64, elem_to_int(t->elem, bits));
    else
        fprintf(out, "%" PRIu64, bits);
}

static void
run_print(Interp *in, const Op *o)
{
    FILE *out = in->run->out ? in->run->out : stdout;
    const int32_t *pid = in->pid;
    int n = ir_n_values(o);
    if (!n)
        fprintf(out, "pid (%d, %d, %d) idx ()%s\n", pid[0], pid[1], pid[2], o->text);
    for (int k = 0; k < n; k++) {
        const Type *t = arg(o, k)->type;
        for (int64_t i = 0; i < ty_numel(t); i++) {
            const char *index = index_text(in, o, t, i);
            if (!index || interp_is_off(in, o, n, i))
                continue;
            fprintf(out, "pid (%d, %d, %d) idx (%s)%s", pid[0], pid[1], pid[2], index,
                    o->text);
            if (n > 1)
                fprintf(out, "(operand %d) ", k);
            print_value(out, t, operand(in, o, k)[i], ir_attr(o, ATTR_HEX));
            fputc('\n', out);
        }
    }
}

static void
run_debug(Interp *in, const Op *o)
{
    const InterpRun *r = in->run;
    if (!r->debug)
        return;
    if (!r->debug(r->debug_data, o))
        err_at(in->c, o->loc, VALUE, "stopped");
}

/* ---- functions of libraries ----------------------------------------------------- */

static void
run_extern(Interp *in, const Op *o)
{
    if (!in->run->externs)
        err_at(in->c, o->loc, TARGET, "a function of a library",
               "the interpreter of tile IR alone");
    void **data = (void **)interp_scratch(in, &in->passed, o->n_args + 1);
    for (int i = 0; i < o->n_args; i++)
        data[i] = place(in, arg(o, i));
    data[o->n_args] = place(in, result(o, 0));
    in->run->externs(ir_extern_index(o), numel(result(o, 0)), data);
}

/* ---- blocks --------------------------------------------------------------------- */

static void
run_op(Interp *in, const Op *o)
{
    if (op_is_assembly(o)) {
        interp_assembly(in, o);
        return;
    }
    if (op_is_extern(o)) {
        run_extern(in, o);
        return;
    }
    if (op_has(o, OPF_ELEM)) {
        run_elementwise(in, o);
        return;
    }
    switch (o->op) {
    case OP_PROGRAM_ID:
    case OP_NUM_PROGRAMS: {
        const int32_t *from = o->op == OP_PROGRAM_ID ? in->pid : in->run->grid;
        place(in, result(o, 0))[0] = elem_from_int(E_I32, from[ir_attr(o, ATTR_AXIS)]);
        break;
    }
    case OP_BLOCK_ID:
        place(in, result(o, 0))[0] = ir_block_number(in->pid, in->run->grid);
        break;
    case OP_CLUSTER_RANK: place(in, result(o, 0))[0] = 0; break;
    case OP_NUM_BLOCKS:
        place(in, result(o, 0))[0] = ir_block_count(in->run->grid);
        break;
    case OP_BROADCAST:
    case OP_TRANS: run_pick(in, o); break;
    case OP_GATHER: run_gather(in, o); break;
    case OPS_ACCESS: interp_memory(in, o); break;
    case OP_LAUNCH_TEST:
        if (!operand(in, o, 0)[0])
            err_at(in->c, o->loc, VALUE, "this is no code for such a launch");
        break;
    case OP_TENSOR_MAP: break; /* who uses it looks at its operands */
    case OPS(OP_TILE_LOAD, OP_TILE_STORE, OP_MAP_LOAD, OP_MAP_STORE):
        interp_tile(in, o);
        break;
    case OP_REDUCE:
    case OP_SCAN: interp_combine(in, o); break;
    case OP_DOT:
    case OP_MMA_START: interp_dot(in, o); break;
    case OP_HISTOGRAM: interp_histogram(in, o); break;
    case OP_SORT: interp_sort(in, o); break;
    case OP_FOR: run_for(in, o); break;
    case OP_WHILE: run_while(in, o); break;
    case OP_IF: run_if(in, o); break;
    case OP_ASSERT: run_assert(in, o); break;
    case OP_PRINT: run_print(in, o); break;
    case OP_DEBUG: run_debug(in, o); break;
    case OP_ASSUME:
        if (!operand(in, o, 0)[0])
            err_say(in->c, o->loc, VALUE, "what tl.assume says is not true%s",
                    interp_where(in));
        break;
    case OPS(OP_BARRIER, OP_ASYNC_COMMIT, OP_ASYNC_WAIT, OP_FENCE_ASYNC): break;
    case OPS(OP_RING_ALLOC, OP_MBAR_WAIT, OP_MBAR_ARRIVE, OP_TMA_LOAD, OP_ROLES,
             OP_TURN, OP_REDUCE_SCATTER): /* a program is one thread here */
        err_at(in->c, o->loc, TARGET, info(o)->text, "the interpreter");
    case OPS(OP_TO_SHARED, OP_MMA_OPEN, OP_MMA_WAIT):
        for (int i = 0; i < o->n_results; i++)
            memcpy(place(in, result(o, i)), operand(in, o, i),
                   (size_t)numel(result(o, i)) * 8);
        break;
    case OPS(OP_SHARED_ALLOC, OP_SHARED_LOAD, OP_SHARED_STORE, OP_SHARED_VIEW,
             OP_LOCAL_ALLOC, OP_LOCAL_LOAD, OP_LOCAL_STORE, OP_ASYNC_COPY):
        interp_shared(in, o);
        break;
    default: run_shape(in, o);
    }
}

/* Returns the terminator; its operands are what leaves the block. */
const Op *
interp_block(Interp *in, const Block *b)
{
    const Op *o = b->first;
    for (; !op_has(o, OPF_TERM); o = o->next)
        run_op(in, o);
    return o;
}

uint64_t *
interp_value(Interp *in, const Val *v)
{
    return place(in, v);
}

const int32_t *
interp_program(const Interp *in)
{
    return in->pid;
}

static void
forget_assembly(void *cache)
{
    ptx_cache_clear(cache);
}

/* What is said of an error looks at the program behind this call (s->in), so the arena has it. */
void
ir_interpret(const Func *f, const InterpRun *r)
{
    Interp *in = NEW(f->c->arena, Interp);
    *in = (Interp){
        .c = f->c, .run = r, .val = NEW_N(f->c->arena, uint64_t *, MAX(f->n_vals, 1))};
    in->assembly = NEW(f->c->arena, PtxCache);
    arena_defer(f->c->arena, forget_assembly, in->assembly);
    for (in->pid[2] = 0; in->pid[2] < r->grid[2]; in->pid[2]++)
        for (in->pid[1] = 0; in->pid[1] < r->grid[1]; in->pid[1]++)
            for (in->pid[0] = 0; in->pid[0] < r->grid[0]; in->pid[0]++) {
                for (int i = 0; i < f->body->n_args; i++) /* a debugger may set them */
                    place(in, f->body->args[i])[0] = r->args[i];
                if (r->begin)
                    r->begin(r->data, in);
                interp_block(in, f->body);
            }
}
