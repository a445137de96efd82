/* access: loads, stores and atomics of one vector of elements.
 *
 *     M_ROW      consecutive elements from one address
 *     M_GATHER   an address for every lane
 *
 * Where the CPU has the masked form (AVX-512 for rows; gathers of 4 and 8 bytes) it is one
 * instruction. Else a row whose mask is all true takes a plain load, and the tail of a row the
 * masked words of 4 and 8 bytes that AVX2 has. Everything else
 * goes through the stack, a loop over the lanes that are in: short code, for what is rare. LLVM's own
 * expansion would be a branch a lane.
 */
#include "codegen/host/calls.h"
#include "codegen/host/host.h"

#include <llvm/Config/llvm-config.h>
#include <stddef.h>

static Lv
null_of(Host *h, const Type *t, int lanes)
{
    return LLVMConstNull(ll_vec(host_mem_type(h, t), lanes));
}

static Lv
aligned(Lv access, const Type *t)
{
    LLVMSetAlignment(access, t->is_ptr ? 8 : elem_info[t->elem].bytes);
    return access;
}

/* Or absent. */
static bool
is_all_true(Lv mask)
{
    return !mask || mask == LLVMConstAllOnes(LLVMTypeOf(mask));
}

static bool
is_all_false(Lv mask)
{
    return mask && mask == LLVMConstNull(LLVMTypeOf(mask));
}

/* ---- lane by lane ------------------------------------------------------------------------ */

typedef struct Lanes {
    Loop loop;
    When when;
    Lv index,
        left; /* left: a bit for each lane that is in and has not been; NULL: all lanes are in */
} Lanes;

/* Of a mask only the lanes that are in have a turn: a tail of one element is one turn, not 32. */
static void
lanes_open(Host *h, Lanes *s, int lanes, Lv mask)
{
    Ll *l = h->l;
    s->left = NULL;
    if (!mask) {
        host_loop_open(h, &s->loop, lanes, 1);
        s->index = s->loop.index;
        return;
    }
    Lv none = ll_i64(l, 0), bits = host_bits(h, mask);
    host_when_open(h, &s->when, LLVMBuildICmp(l->b, LLVMIntNE, bits, none, ""));
    s->loop.before = LLVMGetInsertBlock(l->b);
    s->loop.head = ll_block(l, "lane");
    ll_jump(l, s->loop.head);
    s->left = ll_phi(l, bits, s->loop.before);
    s->index = ll_intrinsic(l, "llvm.cttz", &l->i64, 1,
                            (Lv[]){s->left, LLVMConstAllOnes(l->i1)}, 2);
}

static void
lanes_close(Host *h, Lanes *s)
{
    Ll *l = h->l;
    if (!s->left) {
        host_loop_close(h, &s->loop);
        return;
    }
    Lv less = LLVMBuildSub(l->b, s->left, ll_i64(l, 1), "");
    Lv left = LLVMBuildAnd(l->b, s->left, less, "");
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(l->b), after = ll_block(l, "lanes");
    LLVMAddIncoming(s->left, &left, &latch, 1);
    LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntNE, left, ll_i64(l, 0), ""),
                    s->loop.head, after);
    LLVMPositionBuilderAtEnd(l->b, after);
    host_when_close(h, &s->when);
}

static Lv
load_lanes(Host *h, const Type *t, Mode m, int lanes, Lv ptr, Lv mask, Lv other)
{
    Ll *l = h->l;
    Lt e = host_mem_type(h, t);
    Lv out = host_spill(h, other ? other : null_of(h, t, lanes));
    Lv p = m == M_GATHER ? host_spill(h, ptr) : ptr;
    Lanes s;
    lanes_open(h, &s, lanes, mask);
    Lv i = s.index;
    Lv from = m == M_GATHER ? ll_load_element(l, l->ptr, p, i) : ll_element(l, e, p, i);
    LLVMBuildStore(l->b, aligned(LLVMBuildLoad2(l->b, e, from, ""), t),
                   ll_element(l, e, out, i));
    lanes_close(h, &s);
    return LLVMBuildLoad2(l->b, ll_vec(e, lanes), out, "");
}

static void
store_lanes(Host *h, const Type *t, Mode m, int lanes, Lv ptr, Lv value, Lv mask)
{
    Ll *l = h->l;
    Lt e = host_mem_type(h, t);
    Lv v = host_spill(h, value), p = m == M_GATHER ? host_spill(h, ptr) : ptr;
    Lanes s;
    lanes_open(h, &s, lanes, mask);
    Lv i = s.index;
    Lv to = m == M_GATHER ? ll_load_element(l, l->ptr, p, i) : ll_element(l, e, p, i);
    Lv x = ll_load_element(l, e, v, i);
    aligned(LLVMBuildStore(l->b, x, to), t);
    lanes_close(h, &s);
}

/* ---- loads ------------------------------------------------------------------------------------ */

static Lv
load_scalar(Host *h, const Type *t, Lv ptr, Lv mask, Lv other)
{
    Ll *l = h->l;
    Lt e = host_mem_type(h, t);
    if (is_all_true(mask))
        return aligned(LLVMBuildLoad2(l->b, e, ptr, ""), t);
    if (!other)
        other = LLVMConstNull(e);
    When w;
    host_when_open(h, &w, mask);
    Lv x = aligned(LLVMBuildLoad2(l->b, e, ptr, ""), t);
    host_when_close(h, &w);
    return ll_join(l, x, w.then, other, w.before);
}

/* bytes: what the address is a multiple of. */
static Lv
masked_load(Host *h, const Type *t, int lanes, int bytes, Lv ptr, Lv mask, Lv other)
{
    Ll *l = h->l;
    Lt vt = ll_vec(host_mem_type(h, t), lanes);
    Lv align = ll_i32(l, bytes);
    if (!other)
        other = LLVMConstNull(vt);
#if LLVM_VERSION_MAJOR >= 22
    Lv x = ll_intrinsic(l, "llvm.masked.load", (Lt[]){vt, l->ptr}, 2,
                        (Lv[]){ptr, mask, other}, 3);
    LLVMAddCallSiteAttribute(
        x, 1,
        LLVMCreateEnumAttribute(l->cx, LLVMGetEnumAttributeKindForName("align", 5),
                                (uint64_t)bytes));
    (void)align;
    return x;
#else
    return ll_intrinsic(l, "llvm.masked.load", (Lt[]){vt, l->ptr}, 2,
                        (Lv[]){ptr, align, mask, other}, 4);
#endif
}

static Lv
gather_lanes(Host *h, const Type *t, int lanes, Lv ptr, Lv mask, Lv other)
{
    Ll *l = h->l;
    Lt vt = ll_vec(host_mem_type(h, t), lanes);
    Lt types[] = {vt, LLVMTypeOf(ptr)};
    if (!mask)
        mask = LLVMConstAllOnes(ll_vec(l->i1, lanes));
    if (!other)
        other = LLVMConstNull(vt);
#if LLVM_VERSION_MAJOR >= 22
    return ll_intrinsic(l, "llvm.masked.gather", types, 2, (Lv[]){ptr, mask, other}, 3);
#else
    Lv align = ll_i32(l, ty_bytes(t));
    return ll_intrinsic(l, "llvm.masked.gather", types, 2,
                        (Lv[]){ptr, align, mask, other}, 4);
#endif
}

/* Elements of 1 or 2 bytes, out of the aligned words of 4 that they are in: those lie on the same page. */
static Lv
gather_parts(Host *h, const Type *t, int lanes, Lv ptr, Lv mask, Lv other)
{
    Ll *l = h->l;
    LLVMBuilderRef b = l->b;
    Lt words = ll_vec(l->i32, lanes), vt = ll_vec(host_mem_type(h, t), lanes);
    Lt addresses = ll_vec(l->i64, lanes);
    Lv at = LLVMBuildPtrToInt(b, ptr, addresses, "");
    Lv low = ll_splat(l, ll_i64(l, 3), lanes);
    Lv word = LLVMBuildAnd(b, at, LLVMBuildNot(b, low, ""), "");
    Lv x = gather_lanes(h, ty_scalar(h->c, E_I32), lanes,
                        LLVMBuildIntToPtr(b, word, LLVMTypeOf(ptr), ""), mask, NULL);
    Lv off = LLVMBuildTrunc(b, LLVMBuildAnd(b, at, low, ""), words, "");
    off = LLVMBuildShl(b, off, ll_splat(l, ll_i32(l, 3), lanes), "");
    x = LLVMBuildTrunc(b, LLVMBuildLShr(b, x, off, ""),
                       ll_vec(ty_bytes(t) == 1 ? l->i8 : l->i16, lanes), "");
    x = LLVMBuildBitCast(b, x, vt, "");
    if (is_all_true(mask))
        return x;
    return LLVMBuildSelect(b, mask, x, other ? other : LLVMConstNull(vt), "");
}

/* May a row be one masked instruction? Not eight bytes: LLVM 22 gives them 16 lanes, whose upper half is
 * masked out by a KMOVB, and where that spills it is reloaded as if it were a copy, 16 bits of the mask
 * that it was made from. Then eight bytes behind the row are written, too. */
static bool
has_masks(const Host *h, const Type *t, int lanes)
{
    return h->has_masks && (lanes != 8 || ty_bytes(t) > 1);
}

/* The words of 4 bytes whose elements of 1 or 2 bytes are all in, where the CPU masks words alone; *rest: the lanes that
 * are in words of which some are not. A tail has less than a word of those. */
static Lv
whole_words(Host *h, const Type *t, int lanes, Lv mask, Lv *rest)
{
    Ll *l = h->l;
    int bytes = ty_bytes(t), n = lanes * bytes / 4;
    Lt parts = ll_vec(bytes == 1 ? l->i8 : l->i16, lanes), words = ll_vec(l->i32, n);
    Lv all = LLVMBuildBitCast(l->b, LLVMBuildSExt(l->b, mask, parts, ""), words, "");
    Lv whole = LLVMBuildICmp(l->b, LLVMIntEQ, all, LLVMConstAllOnes(words), "");
    Lv in = LLVMBuildBitCast(l->b, LLVMBuildSExt(l->b, whole, words, ""), parts, "");
    in = LLVMBuildICmp(l->b, LLVMIntNE, in, LLVMConstNull(parts), "");
    *rest = LLVMBuildAnd(l->b, mask, LLVMBuildNot(l->b, in, ""), "");
    return whole;
}

/* May words of 4 or 8 bytes be masked, and what is shorter as far as it makes words? */
static bool
has_words(const Host *h, const Type *t, int lanes)
{
    return h->has_word_masks && !t->is_ptr && lanes * ty_bytes(t) >= 16;
}

/* x with the lanes of a row that rest has loaded: few, so they are put into the register. Through the stack a load of all
 * lanes would wait until a store of one is done. */
static Lv
load_rest(Host *h, const Type *t, int lanes, Lv ptr, Lv rest, Lv x)
{
    Ll *l = h->l;
    Lt e = host_mem_type(h, t), number = ty_bytes(t) == 1 ? l->i8 : l->i16;
    Lv all[64], out = host_spill(h, x);
    for (int i = 0; i < lanes; i++)
        all[i] = LLVMConstInt(number, (uint64_t)i, false);
    Lanes s;
    lanes_open(h, &s, lanes, rest);
    Lv one = aligned(ll_load_element(l, e, ptr, s.index), t);
    Lv at = ll_splat(l, LLVMBuildTrunc(l->b, s.index, number, ""), lanes);
    Lv is_it = LLVMBuildICmp(l->b, LLVMIntEQ, at, LLVMConstVector(all, (unsigned)lanes),
                             "");
    Lv old = LLVMBuildLoad2(l->b, LLVMTypeOf(x), out, "");
    LLVMBuildStore(l->b, LLVMBuildSelect(l->b, is_it, ll_splat(l, one, lanes), old, ""),
                   out);
    lanes_close(h, &s);
    return LLVMBuildLoad2(l->b, LLVMTypeOf(x), out, "");
}

/* Of elements of 1 or 2 bytes. */
static Lv
load_by_words(Host *h, const Type *t, int lanes, Lv ptr, Lv mask, Lv other)
{
    Ll *l = h->l;
    const Type *word = ty_scalar(h->c, E_I32);
    int n = lanes * ty_bytes(t) / 4;
    Lv rest, whole = whole_words(h, t, lanes, mask, &rest);
    if (other)
        other = LLVMBuildBitCast(l->b, other, ll_vec(l->i32, n), "");
    Lv x = masked_load(h, word, n, ty_bytes(t), ptr, whole, other);
    x = LLVMBuildBitCast(l->b, x, ll_vec(host_mem_type(h, t), lanes), "");
    return load_rest(h, t, lanes, ptr, rest, x);
}

static Lv
load_row(Host *h, const Type *t, int lanes, Lv ptr, Lv mask, Lv other)
{
    Ll *l = h->l;
    Lt vt = ll_vec(host_mem_type(h, t), lanes);
    if (is_all_true(mask))
        return aligned(LLVMBuildLoad2(l->b, vt, ptr, ""), t);
    bool words = has_words(h, t, lanes);
    if (has_masks(h, t, lanes) || (words && ty_bytes(t) >= 4))
        return masked_load(h, t, lanes, ty_bytes(t), ptr, mask, other);
    LLVMBasicBlockRef fast = ll_block(l, "all"), slow = ll_block(l, "some"),
                      after = ll_block(l, "after");
    ll_if(l, host_all(h, mask), fast, slow);
    Lv x = aligned(LLVMBuildLoad2(l->b, vt, ptr, ""), t);
    LLVMBuildBr(l->b, after);
    LLVMPositionBuilderAtEnd(l->b, slow);
    Lv y = words ? load_by_words(h, t, lanes, ptr, mask, other)
                 : load_lanes(h, t, M_ROW, lanes, ptr, mask, other);
    slow = LLVMGetInsertBlock(l->b);
    ll_jump(l, after);
    return ll_join(l, x, fast, y, slow);
}

bool
host_gathers(const Host *h, const Type *t)
{
    return h->has_gather && ty_bytes(t) >= 4 && !t->is_ptr;
}

Lv
host_read(Host *h, const Type *t, Mode m, int lanes, Lv ptr, Lv mask, Lv other)
{
    if (other)
        other = host_to_mem(h, t, other);
    Lv x;
    if (is_all_false(mask))
        x = other ? other : LLVMConstNull(ll_vec(host_mem_type(h, t), lanes));
    else if (lanes < 2)
        x = load_scalar(h, t, ptr, mask, other);
    else if (m == M_ROW)
        x = load_row(h, t, lanes, ptr, mask, other);
    else if (host_gathers(h, t))
        x = gather_lanes(h, t, lanes, ptr, mask, other);
    else if (h->has_gather && !t->is_ptr)
        x = gather_parts(h, t, lanes, ptr, mask, other);
    else
        x = load_lanes(h, t, m, lanes, ptr, is_all_true(mask) ? NULL : mask, other);
    return host_from_mem(h, t, x);
}

/* ---- stores ------------------------------------------------------------------------------------- */

static void
masked_store(Host *h, int bytes, bool scatter, Lv ptr, Lv value, Lv mask)
{
    Ll *l = h->l;
    const char *name = scatter ? "llvm.masked.scatter" : "llvm.masked.store";
    Lt types[] = {LLVMTypeOf(value), LLVMTypeOf(ptr)};
#if LLVM_VERSION_MAJOR >= 22
    Lv call = ll_intrinsic(l, name, types, 2, (Lv[]){value, ptr, mask}, 3);
    if (!scatter)
        LLVMAddCallSiteAttribute(
            call, 2,
            LLVMCreateEnumAttribute(l->cx, LLVMGetEnumAttributeKindForName("align", 5),
                                    (uint64_t)bytes));
#else
    Lv align = ll_i32(l, bytes);
    ll_intrinsic(l, name, types, 2, (Lv[]){value, ptr, align, mask}, 4);
#endif
}

/* A register of words; bytes: what the address is a multiple of. A masked store to one takes AMD's CPUs without AVX-512 some 20 cycles, so the one where a row ends is the
 * only one that is masked. */
static void
store_register(Host *h, int bytes, Lv ptr, Lv value, Lv mask)
{
    Ll *l = h->l;
    LLVMBasicBlockRef full = ll_block(l, "full"), rest = ll_block(l, "rest"),
                      part = ll_block(l, "part"), after = ll_block(l, "after");
    ll_if(l, host_all(h, mask), full, rest);
    LLVMSetAlignment(LLVMBuildStore(l->b, value, ptr), (unsigned)bytes);
    LLVMBuildBr(l->b, after);
    LLVMPositionBuilderAtEnd(l->b, rest);
    ll_if(l, host_any(h, mask), part, after);
    masked_store(h, bytes, false, ptr, value, mask);
    ll_jump(l, after);
}

static void
store_words(Host *h, int bytes, int size, int lanes, Lv ptr, Lv value, Lv mask)
{
    Ll *l = h->l;
    int n = MIN(h->vec_bytes / size, lanes);
    for (int i = 0; i < lanes; i += n) {
        store_register(h, bytes, ll_byte_at(l, ptr, ll_i64(l, i * size)),
                       ll_some_lanes(l, value, NULL, i, 1, n),
                       ll_some_lanes(l, mask, NULL, i, 1, n));
    }
}

static void
store_by_words(Host *h, const Type *t, int lanes, Lv ptr, Lv value, Lv mask)
{
    Ll *l = h->l;
    int bytes = ty_bytes(t), n = lanes * bytes / 4;
    if (bytes >= 4) {
        store_words(h, bytes, bytes, lanes, ptr, value, mask);
        return;
    }
    Lv rest, whole = whole_words(h, t, lanes, mask, &rest);
    store_words(h, bytes, 4, n, ptr,
                LLVMBuildBitCast(l->b, value, ll_vec(l->i32, n), ""), whole);
    store_lanes(h, t, M_ROW, lanes, ptr, value, rest);
}

static void
store_row(Host *h, const Type *t, int lanes, Lv ptr, Lv value, Lv mask)
{
    Ll *l = h->l;
    if (is_all_true(mask)) {
        aligned(LLVMBuildStore(l->b, value, ptr), t);
        return;
    }
    if (has_masks(h, t, lanes)) {
        masked_store(h, ty_bytes(t), false, ptr, value, mask);
        return;
    }
    LLVMBasicBlockRef fast = ll_block(l, "all"), slow = ll_block(l, "some"),
                      after = ll_block(l, "after");
    ll_if(l, host_all(h, mask), fast, slow);
    aligned(LLVMBuildStore(l->b, value, ptr), t);
    LLVMBuildBr(l->b, after);
    LLVMPositionBuilderAtEnd(l->b, slow);
    if (has_words(h, t, lanes))
        store_by_words(h, t, lanes, ptr, value, mask);
    else
        store_lanes(h, t, M_ROW, lanes, ptr, value, mask);
    ll_jump(l, after);
}

void
host_write(Host *h, const Type *t, Mode m, int lanes, Lv ptr, Lv value, Lv mask)
{
    Ll *l = h->l;
    if (is_all_false(mask))
        return;
    value = host_to_mem(h, t, value);
    if (lanes < 2) {
        When w;
        if (!is_all_true(mask))
            host_when_open(h, &w, mask);
        aligned(LLVMBuildStore(l->b, value, ptr), t);
        if (!is_all_true(mask))
            host_when_close(h, &w);
        return;
    }
    if (m == M_ROW) {
        store_row(h, t, lanes, ptr, value, mask);
    } else if (ty_bytes(t) >= 4 && h->has_scatter && !t->is_ptr) {
        if (!mask)
            mask = LLVMConstAllOnes(ll_vec(l->i1, lanes));
        masked_store(h, ty_bytes(t), true, ptr, value, mask);
    } else {
        store_lanes(h, t, m, lanes, ptr, value, is_all_true(mask) ? NULL : mask);
    }
}

/* ---- atomics ----------------------------------------------------------------------------------------
 *
 * An atomic instruction takes some 20 cycles, and there is none for a vector. Where the launch runs alone
 * (runtime/pool.c: on one thread, and no other thread has ever launched) nobody can come between a load
 * and a store, so those do, and a row of elements takes vectors. `scope="sys"` says that others than
 * kernels take part: those keep the instruction. */

/* i1: the launch runs alone, at this moment. A look at signals (host_look) may end that, so nobody keeps the
 * answer in a register over one. */
static Lv
is_alone(Host *h)
{
    Ll *l = h->l;
    Lv run = LLVMBuildLoad2(l->b, l->ptr, h->scratch, "");
    Lv at = ll_byte_at(l, run, ll_i64(l, (int64_t)offsetof(HostRun, is_alone)));
    Lv is = LLVMBuildLoad2(l->b, l->i32, at, "");
    return LLVMBuildICmp(l->b, LLVMIntNE, is, ll_i32(l, 0), "alone");
}

static LLVMAtomicOrdering
ordering_of(int sem)
{
    switch (sem) {
    case SEM_ACQUIRE: return LLVMAtomicOrderingAcquire;
    case SEM_RELEASE: return LLVMAtomicOrderingRelease;
    case SEM_RELAXED: return LLVMAtomicOrderingMonotonic;
    default: return LLVMAtomicOrderingAcquireRelease;
    }
}

/* What atomic_rmw stores, from the old value and the operand: the op it is named after. */
static Lv
rmw_combine(Host *h, Elem e, int rmw, Lv old, Lv x)
{
    Ll *l = h->l;
    Elem wide = e == E_F64 ? E_F64 : E_F32;
    if (rmw == RMW_XCHG)
        return x;
    old = cg_cast(l, e, wide, old, ROUND_RTNE);
    x = cg_cast(l, e, wide, x, ROUND_RTNE);
    switch (rmw) {
    case RMW_ADD: old = LLVMBuildFAdd(l->b, old, x, ""); break;
    case RMW_MAX: old = cg_extreme(l, OP_MAX, old, x); break;
    case RMW_MIN: old = cg_extreme(l, OP_MIN, old, x); break;
    default: unreachable(h->c);
    }
    return cg_cast(l, wide, e, old, ROUND_RTNE);
}

static Lt
int_like(Host *h, const Type *t)
{
    return LLVMIntTypeInContext(h->l->cx, (unsigned)ty_bytes(t) * 8);
}

static Lv
to_bits(Host *h, const Type *t, Lv x)
{
    Ll *l = h->l;
    Lt it = int_like(h, t);
    if (t->is_ptr)
        return LLVMBuildPtrToInt(l->b, x, it, "");
    return LLVMTypeOf(x) == it ? x : LLVMBuildBitCast(l->b, x, it, "");
}

static Lv
from_bits(Host *h, const Type *t, Lv x)
{
    Ll *l = h->l;
    Lt e = host_mem_type(h, t);
    if (t->is_ptr)
        return LLVMBuildIntToPtr(l->b, x, e, "");
    return LLVMTypeOf(x) == e ? x : LLVMBuildBitCast(l->b, x, e, "");
}

static Lv
cmpxchg(Host *h, const Type *t, Lv ptr, Lv compare, Lv value, LLVMAtomicOrdering order,
        Lv *ok)
{
    Ll *l = h->l;
    LLVMAtomicOrdering failure = order == LLVMAtomicOrderingAcquireRelease
                                     ? LLVMAtomicOrderingAcquire
                                 : order == LLVMAtomicOrderingRelease
                                     ? LLVMAtomicOrderingMonotonic
                                     : order;
    Lv pair = LLVMBuildAtomicCmpXchg(l->b, ptr, to_bits(h, t, compare),
                                     to_bits(h, t, value), order, failure, false);
    if (ok)
        *ok = LLVMBuildExtractValue(l->b, pair, 1, "");
    return from_bits(h, t, LLVMBuildExtractValue(l->b, pair, 0, ""));
}

/* A loop around compare-and-swap, for what the CPU has no instruction for. */
static Lv
rmw_loop(Host *h, const Type *t, int rmw, Lv ptr, Lv x, LLVMAtomicOrdering order)
{
    Ll *l = h->l;
    Lt e = host_mem_type(h, t);
    Lv first = aligned(LLVMBuildLoad2(l->b, e, ptr, ""), t);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(l->b), again = ll_block(l, "again"),
                      after = ll_block(l, "after");
    ll_jump(l, again);
    Lv old = LLVMBuildPhi(l->b, e, "");
    Lv ok, seen = cmpxchg(h, t, ptr, old, rmw_combine(h, t->elem, rmw, old, x), order,
                          &ok);
    LLVMBasicBlockRef end = LLVMGetInsertBlock(l->b);
    LLVMAddIncoming(old, (Lv[]){first, seen}, (LLVMBasicBlockRef[]){before, end}, 2);
    ll_if(l, ok, after, again);
    return old;
}

static Lv
atomic_one(Host *h, const Op *o, Lv ptr, Lv a, Lv b)
{
    Ll *l = h->l;
    const Type *t = ty_element(h->c, ty_pointee(h->c, arg(o, 0)->type));
    LLVMAtomicOrdering order = ordering_of((int)ir_attr(o, ATTR_SEM));
    if (o->op == OP_ATOMIC_CAS)
        return cmpxchg(h, t, ptr, a, b, order, NULL);
    int rmw = (int)ir_attr(o, ATTR_RMW);
    if (rmw == RMW_LOAD || rmw == RMW_STORE) {
        Lv r = rmw == RMW_LOAD ? LLVMBuildLoad2(l->b, int_like(h, t), ptr, "")
                               : LLVMBuildStore(l->b, to_bits(h, t, a), ptr);
        LLVMSetOrdering(r, order);
        LLVMSetAlignment(r, (unsigned)ty_bytes(t));
        return rmw == RMW_LOAD ? from_bits(h, t, r)
                               : LLVMConstNull(host_mem_type(h, t));
    }
    bool is_int = elem_is_int(t->elem) && !t->is_ptr;
    if (!is_int && rmw != RMW_XCHG)
        return rmw_loop(h, t, rmw, ptr, a, order);
    bool is_signed = elem_is_signed(t->elem);
    LLVMAtomicRMWBinOp op;
    switch (rmw) {
    case RMW_ADD: op = LLVMAtomicRMWBinOpAdd; break;
    case RMW_MAX:
        op = is_signed ? LLVMAtomicRMWBinOpMax : LLVMAtomicRMWBinOpUMax;
        break;
    case RMW_MIN:
        op = is_signed ? LLVMAtomicRMWBinOpMin : LLVMAtomicRMWBinOpUMin;
        break;
    case RMW_AND: op = LLVMAtomicRMWBinOpAnd; break;
    case RMW_OR: op = LLVMAtomicRMWBinOpOr; break;
    case RMW_XOR: op = LLVMAtomicRMWBinOpXor; break;
    case RMW_XCHG: op = LLVMAtomicRMWBinOpXchg; break;
    default: unreachable(h->c);
    }
    Lv old = LLVMBuildAtomicRMW(l->b, op, ptr, to_bits(h, t, a), order, false);
    return from_bits(h, t, old);
}

/* Of an integer: what rmw_combine is for floats. */
static Lv
rmw_integers(Host *h, const Type *t, int rmw, Lv old, Lv x)
{
    LLVMBuilderRef b = h->l->b;
    bool is_signed = elem_is_signed(t->elem);
    LLVMIntPredicate p = rmw == RMW_MAX ? (is_signed ? LLVMIntSGT : LLVMIntUGT)
                                        : (is_signed ? LLVMIntSLT : LLVMIntULT);
    switch (rmw) {
    case RMW_ADD: return LLVMBuildAdd(b, old, x, "");
    case RMW_AND: return LLVMBuildAnd(b, old, x, "");
    case RMW_OR: return LLVMBuildOr(b, old, x, "");
    case RMW_XOR: return LLVMBuildXor(b, old, x, "");
    case RMW_MAX:
    case RMW_MIN:
        return LLVMBuildSelect(b, LLVMBuildICmp(b, p, old, x, ""), old, x, "");
    default: unreachable(h->c);
    }
}

/* What atomic_one does, of one element or of a row, by a load and a store. */
static Lv
plain_rmw(Host *h, const Op *o, int lanes, Lv ptr, Lv x, Lv mask)
{
    const Type *t = ty_element(h->c, ty_pointee(h->c, arg(o, 0)->type));
    int rmw = (int)ir_attr(o, ATTR_RMW);
    Lv old = host_to_mem(h, t, host_read(h, t, M_ROW, lanes, ptr, mask, NULL));
    Lv y = rmw == RMW_XCHG                      ? x
           : elem_is_int(t->elem) && !t->is_ptr ? rmw_integers(h, t, rmw, old, x)
                                                : rmw_combine(h, t->elem, rmw, old, x);
    host_write(h, t, M_ROW, lanes, ptr, host_from_mem(h, t, y), mask);
    return old;
}

/* Element after element; plain: by a load and a store each. */
static Lv
atomic_lanes(Host *h, const Op *o, Mode m, int lanes, Lv ptr, Lv a, Lv b, Lv mask,
             bool is_plain)
{
    Ll *l = h->l;
    const Type *t = ty_element(h->c, ty_pointee(h->c, arg(o, 0)->type));
    Lt e = host_mem_type(h, t);
    Lv out = result(o, 0)->uses ? host_spill(h, null_of(h, t, lanes)) : NULL;
    Lv p = m == M_ROW ? ptr : host_spill(h, ptr), x = host_spill(h, a),
       y = b ? host_spill(h, b) : NULL;
    Lanes s;
    lanes_open(h, &s, lanes, is_all_true(mask) ? NULL : mask);
    Lv i = s.index;
    Lv at = m == M_ROW ? ll_element(l, e, p, i) : ll_load_element(l, l->ptr, p, i);
    x = ll_load_element(l, e, x, i);
    y = y ? ll_load_element(l, e, y, i) : NULL;
    Lv old = is_plain ? plain_rmw(h, o, 0, at, x, NULL) : atomic_one(h, o, at, x, y);
    if (out)
        LLVMBuildStore(l->b, old, ll_element(l, e, out, i));
    lanes_close(h, &s);
    return out ? LLVMBuildLoad2(l->b, ll_vec(e, lanes), out, "") : null_of(h, t, lanes);
}

/* The same of lanes that are all in: straight code, where pointers alone go through the stack. A Zen 4 takes a load
 * through a pointer that an instruction has moved out of a vector for a load of what was last stored through that
 * register, and counts took 3.5 ns an element instead of 0.6. The loads are volatile, or LLVM moves lanes again. */
static Lv
plain_lanes(Host *h, const Op *o, int lanes, Lv ptr, Lv a)
{
    Ll *l = h->l;
    Lv out = LLVMConstNull(LLVMTypeOf(a)), from = host_spill(h, ptr);
    for (int i = 0; i < lanes; i++) {
        Lv at = ll_i32(l, i);
        Lv p = ll_load_element(l, l->ptr, from, at);
        LLVMSetVolatile(p, true);
        Lv old = plain_rmw(h, o, 0, p, LLVMBuildExtractElement(l->b, a, at, ""), NULL);
        if (result(o, 0)->uses)
            out = LLVMBuildInsertElement(l->b, out, old, at, "");
    }
    return out;
}

static Lv
locked(Host *h, const Op *o, Mode m, int lanes, Lv ptr, Lv a, Lv b, Lv mask)
{
    Ll *l = h->l;
    if (lanes > 1)
        return atomic_lanes(h, o, m, lanes, ptr, a, b, mask, false);
    if (is_all_true(mask))
        return atomic_one(h, o, ptr, a, b);
    When w;
    host_when_open(h, &w, mask);
    Lv old = atomic_one(h, o, ptr, a, b);
    host_when_close(h, &w);
    return ll_join(l, old, w.then, LLVMConstNull(LLVMTypeOf(old)), w.before);
}

static Lv
atomic(Host *h, const Op *o, Mode m, int lanes, Lv ptr, Lv a, Lv b, Lv mask)
{
    Ll *l = h->l;
    const Type *t = ty_element(h->c, ty_pointee(h->c, arg(o, 0)->type));
    a = host_to_mem(h, t, a);
    b = b ? host_to_mem(h, t, b) : NULL;
    int rmw = o->op == OP_ATOMIC_RMW ? (int)ir_attr(o, ATTR_RMW) : RMW_LOAD;
    if (rmw == RMW_LOAD || rmw == RMW_STORE || ir_attr(o, ATTR_SCOPE) == SCOPE_SYS)
        return host_from_mem(h, t, locked(h, o, m, lanes, ptr, a, b, mask));
    LLVMBasicBlockRef plain = ll_block(l, "plain"), shared = ll_block(l, "shared"),
                      after = ll_block(l, "done");
    ll_if(l, is_alone(h), plain, shared);
    Lv x = lanes < 2 || m == M_ROW ? plain_rmw(h, o, lanes, ptr, a, mask)
           : is_all_true(mask) ? plain_lanes(h, o, lanes, ptr, a)
                               : atomic_lanes(h, o, m, lanes, ptr, a, NULL, mask, true);
    plain = LLVMGetInsertBlock(l->b);
    LLVMBuildBr(l->b, after);
    LLVMPositionBuilderAtEnd(l->b, shared);
    Lv y = locked(h, o, m, lanes, ptr, a, b, mask);
    shared = LLVMGetInsertBlock(l->b);
    ll_jump(l, after);
    return host_from_mem(h, t, ll_join(l, x, plain, y, shared));
}

/* A hint, which no address and no mask makes wrong: a row's lines, or each lane's. */
static void
prefetch(Host *h, const Op *o, Mode m, int lanes, Lv ptr)
{
    enum { FOR_READING, SECOND_CACHE = 2, FIRST_CACHE = 3, DATA = 1, LINE = 64 };
    Ll *l = h->l;
    int level = ir_attr(o, ATTR_CACHE) == CACHE_CA ? FIRST_CACHE : SECOND_CACHE;
    bool is_each = m == M_GATHER && lanes > 1;
    int bytes = ty_bytes(ty_pointee(h->c, arg(o, 0)->type)) * MAX(lanes, 1);
    int n = is_each ? lanes : (bytes + LINE - 1) / LINE;
    for (int i = 0; i < n; i++) {
        Lv at = is_each ? LLVMBuildExtractElement(l->b, ptr, ll_i32(l, i), "")
                        : ll_byte_at(l, ptr, ll_i64(l, i * LINE));
        ll_intrinsic(
            l, "llvm.prefetch", &l->ptr, 1,
            (Lv[]){at, ll_i32(l, FOR_READING), ll_i32(l, level), ll_i32(l, DATA)}, 4);
    }
}

Lv
host_act(Host *h, const Op *o, Mode m, int lanes, Lv *x)
{
    const Type *t = ty_pointee(h->c, arg(o, 0)->type);
    Lv mask = op_mask(o) ? x[op_mask_at(o)] : NULL;
    if (o->op == OP_PREFETCH) {
        prefetch(h, o, m, lanes, x[0]);
        return NULL;
    }
    host_guard(h, o, m, lanes, x[0], mask);
    if (op_is_atomic(o))
        return atomic(h, o, m, lanes, x[0], x[1], o->op == OP_ATOMIC_CAS ? x[2] : NULL,
                      mask);
    if (m == M_ROW && lanes > 1 && is_all_true(mask) && host_is_fresh(h, o))
        host_write_past(h, t, lanes, x[0], x[1]);
    else
        host_write(h, t, m, lanes, x[0], x[1], mask);
    return NULL;
}

void
host_store_bytes(Host *h, Lv x, Lv p)
{
    LLVMSetAlignment(LLVMBuildStore(h->l->b, x, p), 1);
}
