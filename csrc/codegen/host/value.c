/* value: states of values, who still needs them, and the scratch arena.
 *
 * Positions number the ops in program order; a control op has the number of its end. A
 * lazy op has no position of its own that matters: it is computed where a root wants it,
 * so a value is needed until the last root that it reaches through lazy ops.
 *
 *     scratch:  [ header 64 | buf | buf | free | buf ... ]     first fit, 64-byte steps
 *
 * The header's first 8 bytes are the run's (runtime/host_calls.c), the next 8 are 0 when a thread begins
 * (kept.c); a program never moves what it has put into scratch.
 */
#include "codegen/host/host.h"

enum { HEADER = 64 };

int
host_pos(Host *h, const Op *o)
{
    return (int)(intptr_t)map_get(&h->pos, o, 0);
}

/* ---- who needs what ------------------------------------------------------------------- */

int
host_last_use(Host *h, const Val *v)
{
    VState *s = state(h, v);
    if (s->last_use)
        return s->last_use;
    int last = v->def ? host_pos(h, v->def) : 1;
    for (const Use *u = v->uses; u; u = u->next) {
        const Op *w = ir_op_in(v->block, u->user);
        int p = host_pos(h, w);
        if (w == u->user && (op_is_lazy(w) || w->op == OP_RESHAPE || w->op == OP_SPLIT))
            for (int i = 0; i < w->n_results; i++)
                p = MAX(p, host_last_use(h, result(w, i)));
        last = MAX(last, p);
    }
    return s->last_use = last;
}

/* Has the reshape's result the scratch of its operand? */
static bool
is_in_place(Host *h, const Op *o)
{
    if (o->op != OP_RESHAPE)
        return false;
    const VState *from = state(h, arg(o, 0)), *to = state(h, result(o, 0));
    return from->kind == V_BUFFER && to->kind == V_BUFFER &&
           from->view.buf == to->view.buf;
}

bool
host_is_read_behind(Host *h, const Val *v, const Op *o)
{
    while (v->def && is_in_place(h, v->def))
        v = arg(v->def, 0);
    return host_last_use(h, v) > host_pos(h, o);
}

/* ---- scratch ---------------------------------------------------------------------------- */

Buf *
host_own_buf(Host *h, int64_t bytes, int free_at)
{
    Buf *b = NEW(h->c->arena, Buf);
    bytes = (bytes + 63) & ~(int64_t)63;
    *b = (Buf){.offset = h->high + HEADER,
               .bytes = bytes,
               .free_at = free_at,
               .is_used = true};
    h->high += bytes;
    PUSH(h->c->arena, &h->bufs, b);
    return b;
}

Buf *
host_buf(Host *h, int64_t bytes, int free_at)
{
    bytes = (bytes + 63) & ~(int64_t)63;
    Buf *best = NULL;
    for (int i = 0; i < h->bufs.n; i++) {
        Buf *b = h->bufs.at[i];
        if (!b->is_used && b->bytes >= bytes && (!best || b->bytes < best->bytes))
            best = b;
    }
    if (!best || best->bytes > 2 * bytes)
        return host_own_buf(h, bytes, free_at);
    best->is_used = true;
    best->free_at = free_at;
    return best;
}

void
host_free_before(Host *h, int pos)
{
    for (int i = 0; i < h->bufs.n; i++)
        if (h->bufs.at[i]->free_at < pos)
            h->bufs.at[i]->is_used = false;
}

View
host_view(const Type *t, Buf *b)
{
    View w = {.buf = b};
    int64_t n = 1;
    for (int d = t->rank - 1; d >= 0; d--) {
        w.stride[d] = t->shape[d] == 1 ? 0 : n;
        n *= t->shape[d];
    }
    return w;
}

View
host_new_view(Host *h, const Val *v)
{
    int64_t bytes = ty_numel(v->type) * ty_bytes(v->type);
    return host_view(v->type, host_buf(h, bytes, host_last_use(h, v)));
}

Lt
host_mem_type(Host *h, const Type *t)
{
    return t->is_ptr ? h->l->ptr : ll_mem(h->l, t->elem);
}

Lv
host_to_mem(Host *h, const Type *t, Lv x)
{
    return t->is_ptr ? x : cg_to_memory(h->l, t->elem, x);
}

Lv
host_from_mem(Host *h, const Type *t, Lv x)
{
    return t->is_ptr ? x : cg_from_memory(h->l, t->elem, x);
}

/* Of a matrix by panels (panels.c). */
static Lv
panel_address(Host *h, const Type *t, const View *w, const Lv *index)
{
    Ll *l = h->l;
    int r = t->rank;
    Lv rows = ll_i64(l, t->shape[r - 2] / w->group), width = ll_i64(l, w->width),
       group = ll_i64(l, w->group);
    Lv row = LLVMBuildAdd(
        l->b,
        LLVMBuildMul(l->b, LLVMBuildUDiv(l->b, index[r - 1], width, ""), rows, ""),
        LLVMBuildUDiv(l->b, index[r - 2], group, ""), "");
    Lv at = LLVMBuildAdd(l->b, LLVMBuildMul(l->b, row, width, ""),
                         LLVMBuildURem(l->b, index[r - 1], width, ""), "");
    at = LLVMBuildMul(l->b, at, group, "");
    if (r == 3 && index[0])
        at = LLVMBuildAdd(
            l->b, at, LLVMBuildMul(l->b, index[0], ll_i64(l, w->stride[0]), ""), "");
    View flat = {.buf = w->buf, .offset = w->offset, .stride = {1}};
    return host_address(h, ty_with_shape(h->c, t, 1, t->shape), &flat, &at);
}

Lv
host_address(Host *h, const Type *t, const View *w, const Lv *index)
{
    Ll *l = h->l;
    int64_t bytes = ty_bytes(t);
    if (!w->buf)
        unreachable(h->c);
    if (w->width)
        return panel_address(h, t, w, index);
    Lv at = ll_i64(l, w->buf->offset + w->offset * bytes);
    Lv p = ll_byte_at(l, w->buf->at ? w->buf->at : h->scratch, at);
    for (int d = 0; index && d < t->rank; d++) {
        if (!w->stride[d] || !index[d])
            continue;
        Lv off = LLVMBuildMul(l->b, index[d], ll_i64(l, w->stride[d]), "");
        p = ll_element(l, host_mem_type(h, t), p, off);
    }
    return p;
}

/* ---- scalars -------------------------------------------------------------------------------- */

Lv
host_const(Host *h, const Type *t, uint64_t bits, int lanes)
{
    Ll *l = h->l;
    if (!t->is_ptr)
        return ll_bits(l, t->elem, bits, lanes);
    Lv p = LLVMConstIntToPtr(ll_i64(l, (int64_t)bits), l->ptr);
    return ll_splat(l, bits ? p : LLVMConstNull(l->ptr), lanes);
}

Lv
host_scalar(Host *h, const Val *v)
{
    VState *s = state(h, v);
    if (s->kind != V_SCALAR || !s->lv)
        unreachable(h->c); /* the walk makes scalars before anyone asks */
    return s->lv;
}

bool
host_is_ready(Host *h, const Val *v)
{
    return state(h, v)->kind == V_SCALAR && state(h, v)->lv;
}
