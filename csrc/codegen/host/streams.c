/* streams: stores past the caches.
 *
 * An ordinary store reads the line it is about to overwrite, and drops another one from the
 * cache for it. Where a launch writes more than the caches hold and reads none of it, that is
 * a third of the traffic of an add for nothing. Only the launch knows how large its grid is:
 *
 *     streams = programs * (bytes one program stores) >= stream_bytes of the launch
 *     every step:  streams and the address is a multiple of 16  ?  movnt..  :  plain store
 *
 * In pieces of 16 bytes, for NumPy's arrays start 16 bytes behind a page; the CPU's buffers
 * gather them to lines. These stores are not ordered with others: the pool has a fence at the
 * end of a thread's share, and kernels with atomics or barriers have none of this. */
#include "codegen/host/host.h"

enum { PIECE = 16 };

/* Is the store one that h->streams is about, if there is one? */
static bool
may_stream(const Host *h, const Op *store)
{
    for (const Block *b = store->block; b->owner; b = b->owner->block)
        if (b->owner->op != OP_FOR)
            return false; /* it may not run at all */
    return arg(store, 0)->type->rank > 0 && written_is_fresh(h->written, store);
}

static int64_t
fresh_bytes(const Host *h, const Block *b)
{
    int64_t n = 0;
    EACH_OP(o, b)
        if (o->op == OP_STORE && may_stream(h, o))
            n += ty_numel(arg(o, 0)->type) * elem_info[arg(o, 0)->type->elem].bytes;
    return n;
}

void
host_look_for_streams(Host *h)
{
#ifdef __x86_64__
    Ll *l = h->l;
    int64_t bytes = fresh_bytes(h, h->f->body);
    if (!bytes)
        return; /* then nest.c finds no fresh store */
    Lv run = LLVMBuildLoad2(l->b, l->ptr, h->scratch, "");
    Lv least = LLVMBuildLoad2(l->b, l->i64, run, "");
    Lv n = ll_i64(l, 1);
    for (int i = 0; i < 3; i++) {
        Lv side = ll_load_element(l, l->i32, h->grid, ll_i64(l, i));
        n = LLVMBuildMul(l->b, n, LLVMBuildZExt(l->b, side, l->i64, ""), "");
    }
    least = LLVMBuildUDiv(l->b, least, ll_i64(l, bytes), "");
    h->streams = LLVMBuildICmp(l->b, LLVMIntUGE, n, least, "streams");
#else
    (void)fresh_bytes; /* other CPUs' hints have other rules */
#endif
}

bool
host_is_fresh(const Host *h, const Op *store)
{
    return h->streams && may_stream(h, store);
}

void
host_write_past(Host *h, const Type *t, int lanes, Lv ptr, Lv value)
{
    Ll *l = h->l;
    int bytes = lanes * ty_bytes(t);
    if (bytes % PIECE || t->is_ptr) {
        host_write(h, t, M_ROW, lanes, ptr, value, NULL);
        return;
    }
    Lv low = LLVMBuildAnd(l->b, LLVMBuildPtrToInt(l->b, ptr, l->i64, ""),
                          ll_i64(l, PIECE - 1), "");
    Lv past = LLVMBuildAnd(l->b, h->streams,
                           LLVMBuildICmp(l->b, LLVMIntEQ, low, ll_i64(l, 0), ""), "");
    LLVMBasicBlockRef fast = ll_block(l, "past"), plain = ll_block(l, "plain"),
                      after = ll_block(l, "stored");
    LLVMBuildCondBr(l->b, past, fast, plain);
    LLVMPositionBuilderAtEnd(l->b, plain);
    host_write(h, t, M_ROW, lanes, ptr, value, NULL);
    LLVMBuildBr(l->b, after);
    LLVMPositionBuilderAtEnd(l->b, fast);
    enum { WORDS = PIECE / 4 };
    value = LLVMBuildBitCast(l->b, host_to_mem(h, t, value), ll_vec(l->i32, bytes / 4),
                             "");
    unsigned kind = LLVMGetMDKindIDInContext(l->cx, "nontemporal", 11);
    LLVMMetadataRef one = LLVMValueAsMetadata(ll_i32(l, 1));
    Lv hint = LLVMMetadataAsValue(l->cx, LLVMMDNodeInContext2(l->cx, &one, 1));
    for (int i = 0; i < bytes / PIECE; i++) {
        Lv piece = ll_some_lanes(l, value, NULL, i * WORDS, 1, WORDS);
        Lv at = ll_byte_at(l, ptr, ll_i64(l, i * PIECE));
        Lv store = LLVMBuildStore(l->b, piece, at);
        LLVMSetAlignment(store, PIECE);
        LLVMSetMetadata(store, kind, hint);
    }
    ll_jump(l, after);
}
