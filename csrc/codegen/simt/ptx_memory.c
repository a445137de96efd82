/* ptx_memory: global and shared memory, asynchronous copies between them.
 *
 * Plain accesses are LLVM loads and stores, so that their addresses fold. With a predicate
 * or a hint an access is one asm with constraint "b" for the predicate:
 *
 *     @$5 ld.global.v4.b32 {$0, $1, $2, $3}, [$4];      outputs tied to what a false
 *                                                       predicate gives
 */
#include "codegen/simt/ptx.h"

/* ---- global memory --------------------------------------------------------------- */

static const char *const cache_word[] = {"", ".ca", ".cg", ".cs", ".cv", ".wb", ".wt"};

static bool
has_priority(const Access *x)
{
    return x->cache == CACHE_NONE && x->evict != EVICT_NONE;
}

/* The cache and eviction words; a cache operator and a priority exclude each other. A
 * priority is one of both caches; the second takes it as a number (put_policy). */
static void
put_hints(Asm *a, const Access *x)
{
    static const char *const evict[] = {"", ".L1::evict_first", ".L1::evict_last"};
    asm_text(a, "%s", x->cache != CACHE_NONE ? cache_word[x->cache] : evict[x->evict]);
    if (has_priority(x) && ptx_sm_at_least(a->l, 80))
        asm_text(a, ".L2::cache_hint");
}

/* The last operand of an access with hints. The number is pure: one a kernel. */
static void
put_policy(Asm *a, const Access *x)
{
    if (!has_priority(x) || !ptx_sm_at_least(a->l, 80))
        return;
    const char *text = x->evict == EVICT_LAST
                           ? "createpolicy.fractional.L2::evict_last.b64 $0, 1.0;"
                           : "createpolicy.fractional.L2::evict_first.b64 $0, 1.0;";
    Lv policy = ll_asm(a->l, a->l->i64, text, "=l", NULL, 0, false);
    asm_text(a, ", $%d", asm_in(a, policy));
}

/* LLVM's own loads, of which it merges and moves what it can: around volatile ones as well. */
static bool
is_plain(const Access *a)
{
    return !a->pred && !a->is_volatile && a->cache == CACHE_NONE &&
           a->evict == EVICT_NONE;
}

static void
prefetch(Ll *l, const Access *x)
{
    Asm a = asm_new(l);
    asm_predicate(&a, x->pred);
    asm_text(&a, "prefetch.global.%s [$%d];", x->cache == CACHE_CA ? "L1" : "L2",
             asm_in(&a, x->ptr));
    asm_done(&a, false, true);
}

Lv
ptx_load(Ll *l, const Access *x, Lt type, Lv other)
{
    if (LLVMGetTypeKind(type) == LLVMVoidTypeKind) {
        prefetch(l, x);
        return NULL;
    }
    if (is_plain(x)) {
        Lv v = LLVMBuildLoad2(l->b, type, x->ptr, "");
        LLVMSetAlignment(v, (unsigned)x->align);
        return v;
    }
    Asm a = asm_new(l);
    Parts p = asm_parts(l, type);
    for (int i = 0; i < p.n; i++)
        asm_out(&a, p.type);
    asm_predicate(&a, x->pred);
    asm_text(&a, "ld%s.global", x->is_volatile ? ".volatile" : "");
    if (!x->is_volatile)
        put_hints(&a, x);
    asm_suffix(&a, &p);
    asm_list(&a, 0, p.n);
    asm_text(&a, ", [$%d]", asm_in(&a, x->ptr));
    if (!x->is_volatile)
        put_policy(&a, x);
    asm_text(&a, ";");
    if (x->pred)
        for (int i = 0; i < p.n; i++)
            asm_tie(&a, i, other ? asm_part(l, &p, other, i) : LLVMConstNull(p.type));
    return asm_done_packed(&a, &p, type);
}

void
ptx_store(Ll *l, const Access *x, Lv value)
{
    if (is_plain(x)) {
        Lv v = LLVMBuildStore(l->b, value, x->ptr);
        LLVMSetAlignment(v, (unsigned)x->align);
        return;
    }
    Asm a = asm_new(l);
    Parts p = asm_parts(l, LLVMTypeOf(value));
    asm_predicate(&a, x->pred);
    asm_text(&a, "st.global");
    put_hints(&a, x);
    asm_suffix(&a, &p);
    asm_text(&a, "[$%d], ", asm_in(&a, x->ptr));
    asm_packed(&a, &p, value);
    put_policy(&a, x);
    asm_text(&a, ";");
    asm_done(&a, true, true);
}

/* ---- shared memory ----------------------------------------------------------------------------------- */

static Lv
shared_buffer(Ll *l)
{
    PtxMachine *m = ptx_state(l);
    if (!m->smem) {
        m->smem = LLVMAddGlobalInAddressSpace(l->m, LLVMArrayType2(l->i8, 0), "smem",
                                              AS_SHARED);
        LLVMSetLinkage(m->smem, LLVMExternalLinkage);
        LLVMSetAlignment(m->smem, 1024);
    }
    return m->smem;
}

static Lv
ptx_shared_pointer(Ll *l, Lv offset)
{
    return ll_byte_at(l, shared_buffer(l), offset);
}

/* As the 32-bit address that asm takes. */
Lv
ptx_shared_address(Ll *l, Lv offset)
{
    Lv base = LLVMConstPtrToInt(shared_buffer(l), l->i32);
    return LLVMBuildAdd(l->b, base, offset, "");
}

Lv
ptx_shared_load(Ll *l, Lv offset, Lt type, int align)
{
    Lv v = LLVMBuildLoad2(l->b, type, ptx_shared_pointer(l, offset), "");
    LLVMSetAlignment(v, (unsigned)align);
    return v;
}

void
ptx_shared_store(Ll *l, Lv offset, Lv value, int align, Lv pred)
{
    if (!pred) {
        Lv v = LLVMBuildStore(l->b, value, ptx_shared_pointer(l, offset));
        LLVMSetAlignment(v, (unsigned)align);
        return;
    }
    Asm a = asm_new(l);
    Parts p = asm_parts(l, LLVMTypeOf(value));
    asm_predicate(&a, pred);
    asm_text(&a, "st.shared");
    asm_suffix(&a, &p);
    asm_text(&a, "[$%d], ", asm_in(&a, ptx_shared_address(l, offset)));
    asm_packed(&a, &p, value);
    asm_text(&a, ";");
    asm_done(&a, true, true);
}

Lv
ptx_shared_atomic_add(Ll *l, Lv offset, Lv value, Lv pred)
{
    Asm a = asm_new(l);
    asm_out(&a, l->i32);
    asm_predicate(&a, pred);
    int at = asm_in(&a, ptx_shared_address(l, offset));
    asm_text(&a, "atom.shared.add.u32 $0, [$%d], $%d;", at, asm_in(&a, value));
    if (pred)
        asm_tie(&a, 0, ll_i32(l, 0));
    return asm_done(&a, true, true);
}

/* ---- asynchronous copies -------------------------------------------------------------------------------- */

bool
ptx_has_async(Ll *l)
{
    return ptx_sm_at_least(l, 80);
}

void
ptx_async_copy(Ll *l, Lv offset, const Access *x)
{
    Asm a = asm_new(l);
    asm_predicate(&a, x->owner);
    int to = asm_in(&a, ptx_shared_address(l, offset)), from = asm_in(&a, x->ptr);
    asm_text(&a, "cp.async.%s.shared.global [$%d], [$%d], %d",
             x->bytes == 16 ? "cg" : "ca", to, from, x->bytes);
    if (x->count) {
        Lv n = x->count;
        if (x->pred)
            n = LLVMBuildSelect(l->b, x->pred, n, ll_i32(l, 0), "");
        asm_text(&a, ", $%d", asm_in(&a, n));
    } else if (
        x->pred) /* where this holds the source is ignored and zeros are written */
        asm_text(&a, ", $%d", asm_in(&a, LLVMBuildNot(l->b, x->pred, "")));
    asm_text(&a, ";");
    asm_done(&a, true, true);
}

void
ptx_async_commit(Ll *l)
{
    asm_statement(l, "cp.async.commit_group;");
}

void
ptx_async_wait(Ll *l, int pending)
{
    asm_statement(l, "cp.async.wait_group %d;", pending);
}
