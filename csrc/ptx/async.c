/* async: copies that land later, and stores that tell an mbarrier of them. Those of many bytes
 * are bulk.c's.
 *
 * When a copy of cp.async lands is late.c's: here it is only read what is to be copied.
 */
#include "ptx/async.h"
#include "ptx/engine.h"

/* ---- cp.async -------------------------------------------------------------------- */

enum { BY_SIZE = 1, BY_PREDICATE = 2 }; /* flags: what the fourth operand is */

void
lanes_want_operands(Lanes *w, const Ins *i, uint32_t m)
{
    for (int k = 1; k < i->n_in; k++)
        lanes_want(w, i, i->in[k], m, "an operand was never written");
}

static uint64_t
second_offset(const Ins *i)
{
    return (uint64_t)*(const int64_t *)i->more;
}

static void
cp_async(Lanes *w, const Ins *i, uint32_t m)
{
    uint64_t to[LANES], from[LANES], size[LANES] = {0};
    lanes_addresses(w, i, m, to);
    lanes_get(w, i->in[1], from);
    if (i->n_in > 2)
        lanes_get(w, i->in[2], size);
    lanes_want_operands(w, i, m);
    uint32_t reads = 0;
    EACH_LANE_OF(l, m) {
        uint32_t n = i->flags == BY_SIZE        ? (uint32_t)size[l]
                     : i->flags == BY_PREDICATE ? (size[l] ? 0 : i->bytes)
                                                : i->bytes;
        if (n > i->bytes)
            lanes_fault(w, i, l, "src-size is %u", n);
        from[l] += second_offset(i);
        reads |= (uint32_t)(n != 0) << l;
        if (n && from[l] & (i->bytes - 1u))
            lanes_fault(w, i, l, "misaligned: a copy of %u bytes from %#llx", i->bytes,
                        (unsigned long long)from[l]);
        late_copy(w, i, l, to[l], from[l], n);
    }
    lanes_access(w, i, reads, SPACE_GLOBAL, from, i->bytes, false);
    lanes_access(w, i, m, SPACE_SHARED, to, i->bytes, true);
}

int64_t
dec_offset(Dec *d, int k)
{
    int64_t first = d->ins->imm;
    d->ins->imm = 0;
    dec_address(d, k);
    int64_t offset = d->ins->imm;
    d->ins->imm = first;
    return offset;
}

/* A second address, whose offset is in more. */
static void
dec_second_address(Dec *d, int k)
{
    int64_t *more = dec_more(d, sizeof *more);
    *more = dec_offset(d, k);
}

static void
dec_copy(Dec *d)
{
    Ins *i = d->ins;
    int64_t bytes;
    bool is_cg = dec_has(d, "cg");
    if (!is_cg && !dec_has(d, "ca"))
        dec_unknown(d, "this copy is not simulated");
    dec_refuse(d, (!dec_has(d, "shared") && !dec_has(d, "shared::cta")) ||
                      !dec_has(d, "global"));
    dec_take_hints(d);
    bool policy = dec_has(d, "L2::cache_hint");
    if (!dec_literal(d, 2, &bytes) ||
        (bytes != 16 && (is_cg || (bytes != 4 && bytes != 8))))
        dec_fail(d, "a copy of that many bytes");
    i->bytes = (uint8_t)bytes;
    i->space = SPACE_SHARED;
    dec_address(d, 0);
    dec_second_address(d, 1);
    if (d->n_opds - policy > 3) {
        Opd *o = &d->opd[3];
        Sym *s = o->kind == OPD_NAME ? dec_sym(d, o->name) : NULL;
        bool is_pred = s && s->type == T_PRED;
        i->flags = is_pred ? BY_PREDICATE : BY_SIZE;
        dec_in_opd(d, o, is_pred ? 1 : 4);
    }
    if (d->n_opds > 4 + policy)
        dec_fail(d, "%d operands", d->n_opds);
    i->run = cp_async;
}

static void
dec_cp(Dec *d)
{
    bool is_reduction = dec_has(d, "reduce");
    if (!dec_has(d, "async"))
        dec_unknown(d, "this copy is not simulated");
    d->ins->is_threads_own = true;
    if (is_reduction || dec_has(d, "bulk")) {
        dec_bulk(d);
        return;
    }
    dec_since(d, 80);
    if (dec_has(d, "mbarrier")) {
        dec_arrive_later(d);
        return;
    }
    int n_opds = 0;
    if (dec_has(d, "commit_group")) {
        d->ins->run = late_commit;
    } else if (dec_has(d, "wait_all")) {
        d->ins->imm = -1;
        d->ins->run = late_wait;
    } else if (dec_has(d, "wait_group")) {
        if (!dec_literal(d, 0, &d->ins->imm) || d->ins->imm < 0)
            dec_fail(d, "a number of groups");
        n_opds = 1;
        d->ins->run = late_wait;
    } else {
        dec_copy(d);
        return;
    }
    dec_operands(d, n_opds);
}

/* ---- st.async, red.async --------------------------------------------------------- */

/* An H200 has what follows in clusters alone. */
static void
want_cluster(Lanes *w, const Ins *i, uint32_t m)
{
    if (warp_of(w)->cta->cluster->n_ctas < 2)
        lanes_fault(w, i, __builtin_ctz(m),
                    "outside of a cluster this is an illegal instruction on an H200");
}

/* Stores or combines, and tells the mbarrier how many bytes came. */
static void
write_async(Lanes *w, const Ins *i, uint32_t m)
{
    uint64_t address[LANES], bar[LANES], v[4][LANES];
    bool is_red = i->words[0] == 'r';
    lanes_addresses(w, i, m, address);
    lanes_get(w, i->in[1], bar);
    lanes_want_operands(w, i, m);
    want_cluster(w, i, m);
    for (int k = 0; k < i->n; k++)
        lanes_get(w, i->in[2 + k], v[k]);
    uint32_t n = (uint32_t)i->n * i->bytes;
    lanes_access(w, i, m, SPACE_CLUSTER, address, (int)n, true);
    EACH_LANE_OF(l, m) {
        w->how = is_red ? HOW_ATOMIC : HOW_PLAIN;
        uint8_t *p = w->owner->bytes(w, i, l, SPACE_CLUSTER, address[l], n, true);
        w->how = HOW_PLAIN;
        uint8_t *state = is_red ? NULL : lanes_states(w, SPACE_CLUSTER, address[l]);
        for (int k = 0; k < i->n; k++) {
            uint64_t x = 0;
            memcpy(&x, p + k * i->bytes, i->bytes);
            x = is_red ? atomic_combined(i->op, (Type)i->type, x, v[k][l]) : v[k][l];
            memcpy(p + k * i->bytes, &x, i->bytes);
        }
        if (state)
            memset(state, BYTE_DEFINED, n);
        mbarrier_update(w, i, l, SPACE_CLUSTER, bar[l] + second_offset(i), 0,
                        -(int64_t)n);
    }
}

static void
dec_write_async(Dec *d)
{
    Ins *i = d->ins;
    bool is_red = d->op[0] == 'r';
    dec_take_hints(d);
    dec_since(d, 90);
    if (dec_space(d) != SPACE_CLUSTER || !dec_has(d, "mbarrier::complete_tx::bytes"))
        dec_unknown(d, "this form is not simulated");
    i->space = SPACE_CLUSTER;
    i->is_threads_own = true;
    int op = is_red ? dec_atomic_op(d) : 0, n = is_red ? 1 : dec_vector_size(d);
    i->op = (uint8_t)op;
    i->n = (uint8_t)n;
    i->type = (uint8_t)dec_type(d);
    i->bytes = type_info[i->type].bytes;
    dec_refuse(d, (i->bytes != 4 && i->bytes != 8) || d->n_opds != 3 || op < 0 ||
                      n > 4 || (is_red && type_info[i->type].kind == 'f'));
    dec_address(d, 0);
    dec_second_address(d, 2);
    dec_vector(d, 1, i->n, i->bytes, dec_in_opd);
    i->run = write_async;
}

static void
dec_write(Dec *d)
{
    if (dec_has(d, "async"))
        dec_write_async(d);
    else if (d->op[0] == 'r')
        dec_atomic(d);
    else
        dec_st(d);
}

/* Found before memory.c's st and atomic.c's red. */
const OpRow async_ops[] = {
    {"cp", dec_cp}, {"st", dec_write}, {"red", dec_write}, {NULL, NULL}};
