/* machine_emu: the primitives as calls into runtime/emu.
 *
 * A kernel becomes a host function run once for each thread of a program, on a fiber of its
 * own; params are 8-byte slots. Warp operations and shared memory are calls; a global access
 * is a checked address and then a plain load or store. A predicate is a branch, so a lane
 * that is off touches nothing.
 */
#include "codegen/simt/machine.h"
#include "ptx/asm.h"
#include "runtime/emu/emu.h"

enum { SCRATCH = 64 };

typedef struct EmuMachine {
    Lv thread, params;     /* the arguments of the function */
    Map places, elsewhere; /* Loc -> EmuPlace constant; of pointers of no argument */
    Lv scratch[3]; /* 64 bytes of stack each: operands and results that travel by
                               pointer live there for the time of one call */
} EmuMachine;

static EmuMachine *
emu(Ll *l)
{
    return l->machine_data;
}

/* ---- constants in the object code ------------------------------------------------------------ */

static Lv
constant(Ll *l, Lv init)
{
    Lv g = LLVMAddGlobal(l->m, LLVMTypeOf(init), "");
    LLVMSetInitializer(g, init);
    LLVMSetGlobalConstant(g, 1);
    LLVMSetLinkage(g, LLVMPrivateLinkage);
    LLVMSetUnnamedAddress(g, LLVMGlobalUnnamedAddr);
    return g;
}

static Lv
text_of(Ll *l, const char *s)
{
    return constant(l, LLVMConstStringInContext2(l->cx, s, strlen(s), 0));
}

static Lv
new_place(Ll *l, Map *made, const Loc *loc, bool is_elsewhere)
{
    Lv g = map_get(made, loc, 0);
    if (!g) {
        Lv field[] = {text_of(l, loc->file), text_of(l, loc->func ? loc->func : ""),
                      ll_i32(l, loc->line), ll_i32(l, loc->col),
                      ll_i32(l, is_elsewhere)};
        g = constant(l, LLVMConstStructInContext(l->cx, field, COUNT(field), 0));
        map_put(made, loc, 0, g);
    }
    return g;
}

static Lv
place_of(Ll *l, const Loc *loc)
{
    return loc ? new_place(l, &emu(l)->places, loc, false) : LLVMConstNull(l->ptr);
}

static Lv
access_place(Ll *l, const Access *a)
{
    static const Loc nowhere = {.file = ""};
    return a->is_elsewhere
               ? new_place(l, &emu(l)->elsewhere, a->loc ? a->loc : &nowhere, true)
               : place_of(l, a->loc);
}

static Lv
call(Ll *l, const char *symbol, Lt ret, Lv *more, int n)
{
    enum { MAX_ARGS = 10 };
    Lv args[MAX_ARGS] = {emu(l)->thread};
    for (int i = 0; i < n; i++)
        args[i + 1] = more[i];
    return ll_call_c(l, symbol, ret, args, n + 1);
}

/* Opens "if (pred)"; close_if ends it. pred NULL: no branch. */
typedef struct If {
    LLVMBasicBlockRef before, then, after;
} If;

static If
open_if(Ll *l, Lv pred)
{
    If i = {LLVMGetInsertBlock(l->b), NULL, NULL};
    if (!pred)
        return i;
    i.then = ll_block(l, "on");
    i.after = ll_block(l, "off");
    LLVMBuildCondBr(l->b, pred, i.then, i.after);
    LLVMPositionBuilderAtEnd(l->b, i.then);
    return i;
}

/* The value of "pred ? then : otherwise" after the if; then NULL: no value. */
static Lv
close_if(Ll *l, const If *i, Lv then, Lv otherwise)
{
    if (!i->after)
        return then;
    LLVMBasicBlockRef end = LLVMGetInsertBlock(l->b);
    LLVMBuildBr(l->b, i->after);
    LLVMPositionBuilderAtEnd(l->b, i->after);
    if (!then)
        return NULL;
    Lv phi = LLVMBuildPhi(l->b, LLVMTypeOf(then), "");
    LLVMAddIncoming(
        phi, (Lv[]){then, otherwise ? otherwise : LLVMConstNull(LLVMTypeOf(then))},
        (LLVMBasicBlockRef[]){end, i->before}, 2);
    return phi;
}

/* ---- the kernel's function ---------------------------------------------------------------------- */

static void
emu_begin(Ll *l, const Func *f, Lv *params)
{
    Lt args[] = {l->ptr, l->ptr};
    l->fn = LLVMAddFunction(l->m, f->name, LLVMFunctionType(l->void_, args, 2, 0));
    LLVMPositionBuilderAtEnd(l->b, ll_block(l, "entry"));
    EmuMachine *m = l->machine_data = NEW(l->c->arena, EmuMachine);
    m->places.a = m->elsewhere.a = l->c->arena;
    m->thread = LLVMGetParam(l->fn, 0);
    m->params = LLVMGetParam(l->fn, 1);
    for (int i = 0; i < (int)COUNT(m->scratch); i++) {
        m->scratch[i] = LLVMBuildAlloca(l->b, LLVMArrayType2(l->i8, SCRATCH), "");
        LLVMSetAlignment(m->scratch[i], SCRATCH);
    }
    for (int i = 0; i < f->body->n_args; i++) {
        const Type *t = f->body->args[i]->type;
        Lv at = LLVMBuildGEP2(l->b, l->i64, m->params, (Lv[]){ll_i32(l, i)}, 1, "");
        Lt type = t->is_ptr ? l->gptr : ll_mem(l, t->elem);
        Lv v = LLVMBuildLoad2(l->b, type, at, "");
        params[i] = t->is_ptr ? v : cg_from_memory(l, t->elem, v);
    }
}

static void
emu_end(Ll *l, const Func *f, int shared_bytes)
{
    (void)f;
    (void)shared_bytes; /* the launcher gives the buffer its size */
    LLVMBuildRetVoid(l->b);
}

static Lv
emu_tid(Ll *l)
{
    return call(l, "emu_thread_id", l->i32, NULL, 0);
}

static Lv
emu_pid(Ll *l, int axis)
{
    return call(l, "emu_program_id", l->i32, (Lv[]){ll_i32(l, axis)}, 1);
}

static Lv
emu_npid(Ll *l, int axis)
{
    return call(l, "emu_num_programs", l->i32, (Lv[]){ll_i32(l, axis)}, 1);
}

static void
emu_block_barrier(Ll *l, const Loc *loc)
{
    call(l, "emu_barrier", l->void_, (Lv[]){place_of(l, loc)}, 1);
}

static void
emu_sync_warp(Ll *l, const Loc *loc)
{
    call(l, "emu_warp_sync", l->void_, (Lv[]){place_of(l, loc)}, 1);
}

static Lv
emu_xor(Ll *l, Lv word, int mask)
{
    return call(l, "emu_shuffle_xor", l->i32, (Lv[]){word, ll_i32(l, mask)}, 2);
}

static Lv
emu_idx(Ll *l, Lv word, Lv lane)
{
    return call(l, "emu_shuffle_idx", l->i32, (Lv[]){word, lane}, 2);
}

static Lv
emu_up(Ll *l, Lv word, int delta)
{
    return call(l, "emu_shuffle_up", l->i32, (Lv[]){word, ll_i32(l, delta)}, 2);
}

static Lv
emu_vote(Ll *l, Lv bit)
{
    Lv word = LLVMBuildZExt(l->b, bit, l->i32, "");
    return call(l, "emu_ballot", l->i32, &word, 1);
}

/* ---- assembly ------------------------------------------------------------------------ */

static Lv
entry_slot(Ll *l, Lt t)
{
    LLVMBasicBlockRef here = LLVMGetInsertBlock(l->b);
    LLVMPositionBuilderBefore(l->b,
                              LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(l->fn)));
    Lv p = LLVMBuildAlloca(l->b, t, "");
    LLVMPositionBuilderAtEnd(l->b, here);
    return p;
}

static Lv
nth(Ll *l, Lt t, Lv p, int i)
{
    return LLVMBuildGEP2(l->b, t, p, (Lv[]){ll_i64(l, i)}, 1, "");
}

static void
emu_run_assembly(Ll *l, const Op *o, int n, Lv *const *from, Lv *mask, Lv **to)
{
    int sm = l->c->opt.target.sm | PTX_THREADS, n_in = ir_n_values(o),
        n_out = o->n_results, n_data = n_in + n_out + (mask != NULL);
    cg_asm_check(l, o, sm);
    Lv data = entry_slot(l, LLVMArrayType2(l->ptr, (uint64_t)n_data)),
       *room = NEW_N(l->c->arena, Lv, n_data);
    Lt *t = NEW_N(l->c->arena, Lt, n_data);
    for (int i = 0; i < n_data; i++) {
        int bits = 8;
        if (i < n_in + n_out)
            bits = cg_asm_bits((i < n_in ? arg(o, i) : result(o, i - n_in))->type);
        t[i] = LLVMIntTypeInContext(l->cx, (unsigned)bits);
        room[i] = entry_slot(l, LLVMArrayType2(t[i], (uint64_t)n));
        for (int e = 0; i < n_in && e < n; e++)
            LLVMBuildStore(l->b, from[i][e], nth(l, t[i], room[i], e));
        for (int e = 0; i == n_in + n_out && e < n; e++)
            LLVMBuildStore(l->b, LLVMBuildZExt(l->b, mask[e], t[i], ""),
                           nth(l, t[i], room[i], e));
        LLVMBuildStore(l->b, room[i], nth(l, l->ptr, data, i));
    }
    call(l, "emu_assembly", l->void_,
         (Lv[]){cg_asm_site(l, o, n, sm, mask != NULL, true), data}, 2);
    for (int i = 0; i < n_out; i++)
        for (int e = 0; e < n; e++)
            to[i][e] = LLVMBuildLoad2(l->b, t[n_in + i],
                                      nth(l, t[n_in + i], room[n_in + i], e), "");
}

/* ---- clusters ------------------------------------------------------------------------ */

static void
emu_open(Ll *l, int n_sites, const int *bytes, int shared_at, bool is_shared)
{
    (void)is_shared;
    (void)shared_at; /* the emulator keeps its barriers elsewhere */
    for (int i = 0; i < n_sites; i++)
        call(l, "emu_cluster_open", l->void_, (Lv[]){ll_i32(l, i), ll_i32(l, bytes[i])},
             2);
}

static void
emu_send(Ll *l, int site, Lv offset, Lv word, Lv rank, Lv pred, const Loc *loc)
{
    If i = open_if(l, pred);
    Lv args[] = {ll_i32(l, site), offset, word, rank, place_of(l, loc)};
    call(l, "emu_cluster_send", l->void_, args, COUNT(args));
    close_if(l, &i, NULL, NULL);
}

static void
emu_wait_site(Ll *l, int site, const Loc *loc)
{
    call(l, "emu_cluster_wait", l->void_, (Lv[]){ll_i32(l, site), place_of(l, loc)}, 2);
}

/* ---- memory ------------------------------------------------------------------------------------------ */

static Lv
global_address(Ll *l, const Access *a, bool is_write)
{
    Lv bits = LLVMBuildPtrToInt(l->b, a->ptr, l->i64, "");
    Lv args[] = {bits, ll_i32(l, a->bytes), ll_i32(l, MIN(a->align, a->bytes)),
                 ll_i32(l, is_write), access_place(l, a)};
    return call(l, "emu_global", l->ptr, args, COUNT(args));
}

static Lv
emu_load(Ll *l, const Access *a, Lt type, Lv other)
{
    If i = open_if(l, a->pred);
    Lv v = LLVMBuildLoad2(l->b, type, global_address(l, a, false), "");
    LLVMSetAlignment(v, (unsigned)MAX(a->align, 1));
    LLVMSetVolatile(v, a->is_volatile);
    return close_if(l, &i, v, other);
}

static void
emu_store(Ll *l, const Access *a, Lv value)
{
    If i = open_if(l, a->pred);
    Lv s = LLVMBuildStore(l->b, value, global_address(l, a, true));
    LLVMSetAlignment(s, (unsigned)MAX(a->align, 1));
    close_if(l, &i, NULL, NULL);
}

/* value in scratch i, so that any type travels as a pointer. */
static Lv
spill(Ll *l, Lv value, int i)
{
    LLVMBuildStore(l->b, value, emu(l)->scratch[i]);
    return emu(l)->scratch[i];
}

/* The emulator's atomics are sequentially consistent. */
static void
emu_fence(Ll *l, int scope)
{
    (void)l;
    (void)scope;
}

static Lv
emu_rmw(Ll *l, const Access *a, Elem e, int rmw, int sem, int scope, Lv value,
        bool is_used)
{
    (void)sem;
    (void)scope;
    (void)is_used;
    Lv in = spill(l, value, 0), old = emu(l)->scratch[1];
    If i = open_if(l, a->pred);
    Lv args[] = {ll_i32(l, rmw),
                 ll_i32(l, (int)e),
                 ll_i32(l, MAX(a->bytes / elem_info[e].bytes, 1)),
                 LLVMBuildPtrToInt(l->b, a->ptr, l->i64, ""),
                 in,
                 old,
                 access_place(l, a)};
    call(l, "emu_atomic", l->void_, args, COUNT(args));
    Lv v = LLVMBuildLoad2(l->b, LLVMTypeOf(value), old, "");
    return close_if(l, &i, v, NULL);
}

static Lv
emu_compare_swap(Ll *l, const Access *a, Elem e, int sem, int scope, Lv compare,
                 Lv value)
{
    (void)sem;
    (void)scope;
    Lv in = spill(l, value, 0), cmp = spill(l, compare, 1), old = emu(l)->scratch[2];
    If i = open_if(l, a->pred);
    Lv args[] = {
        ll_i32(l, (int)e), LLVMBuildPtrToInt(l->b, a->ptr, l->i64, ""), cmp, in, old,
        access_place(l, a)};
    call(l, "emu_cas", l->void_, args, COUNT(args));
    Lv v = LLVMBuildLoad2(l->b, LLVMTypeOf(value), old, "");
    return close_if(l, &i, v, NULL);
}

static int
bytes_of(Ll *l, Lt type)
{
    return (int)LLVMABISizeOfType(LLVMGetModuleDataLayout(l->m), type);
}

static Lv
emu_load_shared(Ll *l, Lv offset, Lt type, int align, const Loc *loc)
{
    Lv s = emu(l)->scratch[0];
    Lv args[] = {offset, ll_i32(l, bytes_of(l, type)), ll_i32(l, align), s,
                 place_of(l, loc)};
    call(l, "emu_shared_load", l->void_, args, COUNT(args));
    return LLVMBuildLoad2(l->b, type, s, "");
}

static void
emu_store_shared(Ll *l, Lv offset, Lv value, int align, Lv pred, const Loc *loc)
{
    Lv s = spill(l, value, 0);
    If i = open_if(l, pred);
    Lv args[] = {offset, ll_i32(l, bytes_of(l, LLVMTypeOf(value))), ll_i32(l, align), s,
                 place_of(l, loc)};
    call(l, "emu_shared_store", l->void_, args, COUNT(args));
    close_if(l, &i, NULL, NULL);
}

static Lv
emu_add_shared(Ll *l, Lv offset, Lv value, Lv pred, const Loc *loc)
{
    If i = open_if(l, pred);
    Lv v = call(l, "emu_shared_add", l->i32, (Lv[]){offset, value, place_of(l, loc)},
                3);
    return close_if(l, &i, v, NULL);
}

/* ---- asynchronous copies ------------------------------------------------------------ */

static bool
emu_has_async(Ll *l)
{
    return l->c->opt.target.sm >= 80;
}

static void
emu_copy_async(Ll *l, Lv offset, const Access *a)
{
    Lv read = a->count ? a->count : ll_i32(l, a->bytes);
    if (a->pred)
        read = LLVMBuildSelect(l->b, a->pred, read, ll_i32(l, 0), "");
    Lv args[] = {offset, LLVMBuildPtrToInt(l->b, a->ptr, l->i64, ""),
                 ll_i32(l, a->bytes), read, access_place(l, a)};
    call(l, "emu_async_copy", l->void_, args, COUNT(args));
}

static void
emu_commit_async(Ll *l)
{
    call(l, "emu_async_commit", l->void_, NULL, 0);
}

static void
emu_wait_async(Ll *l, int pending)
{
    call(l, "emu_async_wait", l->void_, (Lv[]){ll_i32(l, pending)}, 1);
}

/* ---- tensor cores --------------------------------------------------------------------------------------- */

static bool
emu_has_mma(Ll *l, MmaKind k)
{
    int sm = l->c->opt.target.sm;
    return sm >= mma_shape[k].min_sm;
}

static Lv
word_slot(Ll *l, Lt type, Lv words, int i)
{
    return LLVMBuildGEP2(l->b, type, words, (Lv[]){ll_i32(l, i)}, 1, "");
}

/* Words (i32, f32 or f64) into scratch i. */
static Lv
spill_words(Ll *l, Lv *v, int n, int scratch)
{
    Lv s = emu(l)->scratch[scratch];
    for (int i = 0; i < n; i++)
        LLVMBuildStore(l->b, v[i], word_slot(l, LLVMTypeOf(v[i]), s, i));
    return s;
}

static void
emu_mma_warp(Ll *l, MmaKind k, Lv *d, Lv *a, Lv *b)
{
    const MmaShape *s = &mma_shape[k];
    Lt acc = LLVMTypeOf(d[0]);
    Lv sd = spill_words(l, d, s->d_regs, 0), sa = spill_words(l, a, s->a_regs, 1),
       sb = spill_words(l, b, s->b_regs, 2);
    call(l, "emu_mma", l->void_, (Lv[]){ll_i32(l, (int)k), sd, sa, sb}, 4);
    for (int i = 0; i < s->d_regs; i++)
        d[i] = LLVMBuildLoad2(l->b, acc, word_slot(l, acc, sd, i), "");
}

static void
emu_load_matrix(Ll *l, Lv offset, int n, bool trans, Lv *out, const Loc *loc)
{
    Lv s = emu(l)->scratch[0];
    Lv args[] = {offset, ll_i32(l, n), ll_i32(l, trans), s, place_of(l, loc)};
    call(l, "emu_ldmatrix", l->void_, args, COUNT(args));
    for (int i = 0; i < n; i++)
        out[i] = LLVMBuildLoad2(l->b, l->i32, word_slot(l, l->i32, s, i), "");
}

static void
emu_store_matrix(Ll *l, Lv offset, int n, bool trans, Lv *words, const Loc *loc)
{
    Lv args[] = {offset, ll_i32(l, n), ll_i32(l, trans), spill_words(l, words, n, 0),
                 place_of(l, loc)};
    call(l, "emu_stmatrix", l->void_, args, COUNT(args));
}

/* ---- messages --------------------------------------------------------------------------------------------- */

static void
emu_trap_if(Ll *l, Lv cond, const char *text, const Loc *loc)
{
    If i = open_if(l, cond);
    call(l, "emu_assert", l->void_, (Lv[]){text_of(l, text), place_of(l, loc)}, 2);
    close_if(l, &i, NULL, NULL);
}

static void
emu_print_one(Ll *l, const Op *o, int operand, Lv flat_index, Lv value, Lv pred)
{
    const Type *t = operand < 0 ? NULL
                                : arg(o, operand)->type; /* NULL: the text alone */
    bool is_ptr = t && t->is_ptr;
    Elem e = !t || is_ptr ? E_U64 : t->elem;
    int rank = t ? t->rank : 0;
    Lv shape[MAX_RANK], sides[MAX_RANK];
    int32_t side[MAX_RANK];
    if (t)
        ty_unpack_sides(t, ir_attr(o, ATTR_SIDES), side);
    for (int d = 0; d < MAX_RANK; d++) {
        shape[d] = ll_i32(l, d < rank ? t->shape[d] : 1);
        sides[d] = ll_i32(l, d < rank ? side[d] : 1);
    }
    Lv field[] = {text_of(l, o->text),
                  ll_i32(l, operand),
                  ll_i32(l, ir_n_values(o)),
                  ll_i32(l, (int)e),
                  ll_i32(l, is_ptr || ir_attr(o, ATTR_HEX)),
                  ll_i32(l, rank),
                  LLVMConstArray2(l->i32, shape, MAX_RANK),
                  LLVMConstArray2(l->i32, sides, MAX_RANK)};
    Lv what = constant(l, LLVMConstStructInContext(l->cx, field, COUNT(field), 0));
    If i = open_if(l, pred);
    Lv bits = ll_i64(l, 0);
    if (is_ptr) {
        bits = LLVMBuildPtrToInt(l->b, value, l->i64, "");
    } else if (t) {
        Lt as_int = LLVMIntTypeInContext(l->cx, elem_info[e].bits);
        bits = LLVMBuildZExt(l->b, LLVMBuildBitCast(l->b, value, as_int, ""), l->i64,
                             "");
    }
    call(l, "emu_print", l->void_, (Lv[]){what, flat_index, bits}, 3);
    close_if(l, &i, NULL, NULL);
}

static void
emu_poll_once(Ll *l)
{
    call(l, "emu_poll", l->void_, NULL, 0);
}

const Machine machine_emu = {
    .name = "emu",
    .max_vec_bytes = 16,
    .begin = emu_begin,
    .end = emu_end,
    .thread_id = emu_tid,
    .program_id = emu_pid,
    .num_programs = emu_npid,
    .cluster_open = emu_open,
    .cluster_send = emu_send,
    .cluster_wait = emu_wait_site,
    .barrier = emu_block_barrier,
    .warp_sync = emu_sync_warp,
    .shuffle_xor = emu_xor,
    .shuffle_idx = emu_idx,
    .shuffle_up = emu_up,
    .ballot = emu_vote,
    .load = emu_load,
    .store = emu_store,
    .atomic_log2 = simt_atomic_log2,
    .atomic_rmw = emu_rmw,
    .fence = emu_fence,
    .atomic_cas = emu_compare_swap,
    .shared_load = emu_load_shared,
    .shared_store = emu_store_shared,
    .shared_atomic_add = emu_add_shared,
    .has_async = emu_has_async,
    .async_copy = emu_copy_async,
    .async_commit = emu_commit_async,
    .async_wait = emu_wait_async,
    .has_mma = emu_has_mma,
    .mma = emu_mma_warp,
    .ldmatrix = emu_load_matrix,
    .stmatrix = emu_store_matrix,
    .poll = emu_poll_once,
    .trap_if = emu_trap_if,
    .print = emu_print_one,
    .assembly = emu_run_assembly,
    .ops = &scalar_ops_host,
};
