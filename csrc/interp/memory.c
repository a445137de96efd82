/* memory: loads, stores and atomics; shared memory; what a kernel's assembly reaches.
 *
 * InterpRun.access is called before every access and may refuse it. Programs run one after another,
 * so an atomic is a load and a store, and an asynchronous copy is complete when it is issued.
 */
#include "interp/impl.h"

#include <inttypes.h>
#include <math.h>

static bool
is_allowed(Interp *in, const Op *o, uint64_t address, int bytes, bool is_write)
{
    const InterpRun *r = in->run;
    return r->access ? r->access(r->data, address, bytes, is_write, o)
                     : address >= 4096; /* a null pointer and its neighbours */
}

static void
check_access(Interp *in, const Op *o, uint64_t address, int bytes, bool is_write)
{
    if (is_allowed(in, o, address, bytes, is_write))
        return;
    if (in->run->fault)
        *in->run->fault = (InterpFault){"BOUNDS", o, address, bytes, is_write};
    err_say(in->c, o->loc, VALUE, "invalid %s of %d bytes at 0x%" PRIx64 "%s",
            is_write ? "write" : "read", bytes, address, interp_where(in));
}

static uint64_t
read_elem(Interp *in, const Op *o, Elem e, uint64_t address)
{
    uint64_t bits = 0;
    int n = elem_info[e].bytes;
    check_access(in, o, address, n, false);
    memcpy(&bits, (const void *)(uintptr_t)address, (size_t)n); /* little endian */
    return e == E_I1 ? bits != 0 : bits;
}

static void
write_elem(Interp *in, const Op *o, Elem e, uint64_t address, uint64_t bits)
{
    int n = elem_info[e].bytes;
    check_access(in, o, address, n, true);
    memcpy((void *)(uintptr_t)address, &bits, (size_t)n);
}

static uint64_t
updated(const Op *o, Elem e, uint64_t old, uint64_t v)
{
    static const OpCode op[] = {
        [RMW_ADD] = OP_ADD, [RMW_MAX] = OP_MAX, [RMW_MIN] = OP_MIN,
        [RMW_AND] = OP_AND, [RMW_OR] = OP_OR,   [RMW_XOR] = OP_XOR,
    };
    int64_t rmw = ir_attr(o, ATTR_RMW);
    uint64_t r = v;
    if (rmw != RMW_XCHG && rmw != RMW_STORE)
        ir_eval(op[rmw], e, e, (uint64_t[]){old, v}, 2, &r);
    return r;
}

void
interp_memory(Interp *in, const Op *o)
{
    const Type *pt = arg(o, 0)->type;
    const uint64_t *p = operand(in, o, 0);
    uint64_t *r = o->n_results ? place(in, result(o, 0)) : NULL;
    Elem e = pt->elem;
    int64_t n = ty_numel(pt);
    for (int64_t i = 0; i < n; i++) {
        switch (o->op) {
        case OP_LOAD:
            if (interp_is_off(in, o, 1, i))
                r[i] = o->n_args > 2 ? operand(in, o, 2)[i] : 0;
            else
                r[i] = read_elem(in, o, e, p[i]);
            break;
        case OP_STORE:
            if (!interp_is_off(in, o, 2, i))
                write_elem(in, o, e, p[i], operand(in, o, 1)[i]);
            break;
        case OP_ATOMIC_RMW:
            r[i] = 0;
            if (interp_is_off(in, o, 2, i))
                break;
            if (ir_attr(o, ATTR_RMW) != RMW_STORE)
                r[i] = read_elem(in, o, e, p[i]);
            if (ir_attr(o, ATTR_RMW) != RMW_LOAD)
                write_elem(in, o, e, p[i], updated(o, e, r[i], operand(in, o, 1)[i]));
            break;
        case OP_ATOMIC_CAS:
            r[i] = 0;
            if (interp_is_off(in, o, 3, i))
                break;
            r[i] = read_elem(in, o, e, p[i]);
            if (r[i] == operand(in, o, 1)[i])
                write_elem(in, o, e, p[i], operand(in, o, 2)[i]);
            break;
        case OP_PREFETCH: break; /* memory stays as it is */
        default: unreachable(in->c);
        }
    }
}

/* ---- tiles ------------------------------------------------------------------------ */

static int64_t
index_of(Interp *in, const Val *v)
{
    return elem_to_int(v->type->elem, place(in, v)[0]);
}

/* The element at[] of the window's block; false: it is outside. */
static bool
find_element(Interp *in, const Window *w, const int32_t *at, uint64_t *address)
{
    uint64_t sum = 0;
    for (int d = 0; d < w->rank; d++) {
        uint64_t stride = w->strides[d] ? place(in, w->strides[d])[0] : 1;
        int64_t i = index_of(in, w->offsets[d]);
        if (d >= w->lead)
            i = (int64_t)((uint64_t)i + (uint64_t)at[d - w->lead]);
        if (i < 0 || i >= index_of(in, w->shape[d]))
            return false;
        sum += (uint64_t)i * stride;
    }
    uint64_t bytes = (uint64_t)elem_info[w->base->type->elem].bytes;
    *address = place(in, w->base)[0] + sum * bytes;
    return true;
}

/* A copy of a tensor begins at 16 bytes of a row, and one to memory not in front of the
 * tensor: others are illegal instructions. */
static void
check_copy(Interp *in, const Op *o, const Window *w)
{
    int64_t at = index_of(in, w->offsets[w->rank - 1]);
    if (at * elem_info[w->base->type->elem].bytes % 16)
        err_say(in->c, o->loc, VALUE, "a copy begins at element %" PRId64 " of a row%s",
                at, interp_where(in));
    for (int d = 0; d < w->rank && o->op == OP_MAP_STORE; d++)
        if (index_of(in, w->offsets[d]) < 0)
            err_say(in->c, o->loc, VALUE, "a copy begins in front of a tensor%s",
                    interp_where(in));
}

void
interp_tile(Interp *in, const Op *o)
{
    Window w = ir_tile(o);
    if (!op_is_tile(o))
        check_copy(in, o, &w);
    bool is_load = o->n_results;
    const Op *says = op_is_tile(o) ? o : arg(o, 0)->def;
    const Val *block = is_load ? result(o, 0) : arg(o, o->n_args - 1);
    Elem e = block->type->elem;
    uint64_t *x = place(in, block), address;
    uint64_t pad = ir_attr(says, ATTR_PADDING) == PAD_NAN ? elem_from_double(e, NAN)
                                                          : 0;
    for (int64_t i = 0; i < numel(block); i++) {
        int32_t at[MAX_RANK];
        interp_unflatten(block->type, i, at);
        if (!find_element(in, &w, at, &address)) {
            if (is_load)
                x[i] = pad;
        } else if (is_load) {
            x[i] = read_elem(in, o, e, address);
        } else {
            write_elem(in, o, e, address, x[i]);
        }
    }
}

/* ---- shared memory: here a copy lands at once ------------------------------------ */

/* The elements of the slot that operands i and i + 1 name. */
static uint64_t *
slot_of(Interp *in, const Op *o, int i)
{
    int64_t slot = elem_to_int(E_I32, operand(in, o, i + 1)[0]);
    const Val *smem = arg(o, i);
    int64_t unit = (int64_t)1 << ir_attr(smem->def, ATTR_UNIT);
    if (slot < 0 || slot >= smem->type->slots * unit || slot % unit)
        err_say(in->c, o->loc, VALUE, "slot %" PRId64 " of %" PRId64, slot,
                smem->type->slots * unit);
    return place(in, smem) + slot / unit * numel(smem);
}

/* Slice or part i of the threads' own memory. */
static void
move_local(Interp *in, const Op *o)
{
    uint32_t part = (uint32_t)ir_attr(o, ATTR_PART);
    uint64_t n = (uint64_t)elem_to_int(E_I32, operand(in, o, 1)[0]);
    uint64_t *slot = part ? place(in, arg(o, 0)) : slot_of(in, o, 0);
    for (int64_t i = 0; i < numel(arg(o, 0)) >> __builtin_popcount(part); i++) {
        uint64_t from[] = {(uint64_t)i, n}, at = 0;
        for (int b = 0; b < 32; b++) {
            uint64_t *x = &from[part >> b & 1];
            at |= (*x & 1) << b;
            *x >>= 1;
        }
        if (o->op == OP_LOCAL_LOAD)
            place(in, result(o, 0))[i] = slot[at];
        else
            slot[at] = operand(in, o, 2)[i];
    }
}

void
interp_shared(Interp *in, const Op *o)
{
    if (o->op == OP_LOCAL_LOAD || o->op == OP_LOCAL_STORE) {
        move_local(in, o);
        return;
    }
    if (o->op == OP_SHARED_ALLOC ||
        o->op == OP_LOCAL_ALLOC) { /* nothing is in it: NaN, or a number that shows */
        const Val *v = result(o, 0);
        uint64_t nothing = UINT64_MAX >> (64 - ty_bits(v->type));
        for (int64_t i = 0; i < numel(v) * v->type->slots; i++)
            place(in, v)[i] = nothing;
        return;
    }
    int smem = o->op == OP_ASYNC_COPY;
    uint64_t *slot = slot_of(in, o, smem);
    int64_t n = numel(arg(o, smem));
    switch (o->op) {
    case OP_SHARED_LOAD: {
        const Type *whole = arg(o, 0)->type, *t = result(o, 0)->type;
        for (int64_t i = 0; i < ty_numel(t); i++) {
            int32_t at[MAX_RANK] = {0};
            interp_unflatten(t, i, at);
            at[ir_attr(o, ATTR_AXIS)] += (int32_t)ir_attr(o, ATTR_START);
            place(in, result(o, 0))[i] = slot[interp_flatten(whole, at)];
        }
        break;
    }
    case OP_SHARED_VIEW: { /* as it is now: who writes there waits for who reads it */
        const Type *whole = arg(o, 0)->type, *t = result(o, 0)->type;
        int perm[MAX_RANK];
        ir_perm(o, perm);
        for (int64_t i = 0; i < n; i++) {
            int32_t at[MAX_RANK] = {0}, from[MAX_RANK] = {0};
            interp_unflatten(t, i, at);
            for (int d = 0; d < t->rank; d++)
                from[perm[d]] = at[d];
            place(in, result(o, 0))[i] = slot[interp_flatten(whole, from)];
        }
        break;
    }
    case OP_SHARED_STORE: memcpy(slot, operand(in, o, 2), (size_t)n * 8); break;
    case OP_ASYNC_COPY:
        for (int64_t i = 0; i < n; i++)
            slot[i] = interp_is_off(in, o, 3, i)
                          ? 0
                          : read_elem(in, o, arg(o, 0)->type->elem,
                                      operand(in, o, 0)[i]);
        break;
    default: unreachable(in->c);
    }
}

/* ---- assembly ------------------------------------------------------------------- */

typedef struct Assembly {
    Interp *in;
    const Op *o;
} Assembly;

static bool
may_access(const PtxRun *r, const PtxAccess *a)
{
    const Assembly *x = r->data;
    return is_allowed(x->in, x->o, a->address, a->bytes, a->is_store);
}

static PtxBlock
block_of(Interp *in, const Val *v)
{
    return (PtxBlock){place(in, v), ty_bits(v->type), sizeof(uint64_t)};
}

void
interp_assembly(Interp *in, const Op *o)
{
    char err[PTX_ERROR];
    const PtxAsm *a = ptx_cache_get(in->assembly, o->text, PTX_NEWEST, err);
    PtxBlock b[PTX_MAX_OPERANDS];
    int n_in = ir_n_values(o), n_out = o->n_results;
    for (int i = 0; i < n_in + n_out && i < PTX_MAX_OPERANDS; i++)
        b[i] = block_of(in, i < n_in ? arg(o, i) : result(o, i - n_in));
    Assembly data = {in, o};
    PtxRun r = {.n = numel(result(o, 0)),
                .pack = (int)ir_attr(o, ATTR_PACK),
                .n_in = n_in,
                .n_out = n_out,
                .in = b,
                .out = b + MIN(n_in, PTX_MAX_OPERANDS),
                .pid = in->pid,
                .grid = in->run->grid,
                .may = may_access,
                .data = &data};
    if (n_in < o->n_args)
        r.mask = block_of(in, arg(o, n_in));
    if (a && ptx_asm_run(a, &r, err))
        return;
    if (r.refused.bytes)
        check_access(in, o, r.refused.address, r.refused.bytes, r.refused.is_store);
    err_say(in->c, o->loc, VALUE, "in the assembly, %s,%s", err, interp_where(in));
}
