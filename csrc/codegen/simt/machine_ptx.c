/* machine_ptx: the primitives as NVVM intrinsics and inline assembly.
 *
 * Plain accesses are LLVM loads and stores, so that their addresses fold. With a predicate
 * or a hint an access is one asm with constraint "b" for the predicate:
 *
 *     @$5 ld.global.v4.b32 {$0, $1, $2, $3}, [$4];      outputs tied to what a false
 *                                                       predicate gives
 *
 * Asm that orders memory has sideeffect, convergent and ~{memory}. Everything here works
 * with LLVM 19 and newer; what a chip lacks is asked before it is built (has_mma,
 * has_async, sm_at_least), because LLVM ends the process over an instruction it cannot
 * select.
 *
 * Ordering of atomics is written out in asm: LLVM's atomicrmw drops it.
 *
 * Long, and one table: a function for each row of machine.h, and little between them.
 */
#include "codegen/simt/machine.h"

#include <ctype.h>

enum { MAX_OPERANDS = 16, MAX_TEXT = 256 };
enum { PTX_KERNEL = 71 }; /* LLVM's calling convention */
enum { AS_GLOBAL = 1, AS_SHARED = 3 };

typedef struct PtxMachine {
    Lv smem;               /* the kernel's dynamic shared memory; NULL until used */
    int barriers_at;       /* of a cluster's exchanges, in shared memory */
    bool is_cluster_ready; /* somewhere above all blocks were waited for */
} PtxMachine;

static PtxMachine *
ptx(Ll *l)
{
    return l->machine_data;
}

static bool
sm_at_least(const Ll *l, int sm)
{
    return l->c->opt.target.sm >= sm;
}

/* ---- an asm under construction ------------------------------------------------------------- */

typedef struct Asm {
    Ll *l;
    char text[MAX_TEXT], constraints[MAX_TEXT];
    int n_out, n_in;
    Lt out[MAX_OPERANDS];
    Lv in[MAX_OPERANDS];
} Asm;

static void
put_constraint(Asm *a, const char *s)
{
    size_t n = strlen(a->constraints);
    snprintf(a->constraints + n, sizeof a->constraints - n, "%s%s", n ? "," : "", s);
}

static void put_text(Asm *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void
put_text(Asm *a, const char *fmt, ...)
{
    size_t n = strlen(a->text);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(a->text + n, sizeof a->text - n, fmt, ap);
    va_end(ap);
}

/* The letter of PTX's register class for an LLVM type. */
static char
letter(Ll *l, Lt t)
{
    if (t == l->i1)
        return 'b';
    if (t == l->i16 || t == l->f16)
        return 'h';
    if (t == l->i64 || LLVMGetTypeKind(t) == LLVMPointerTypeKind)
        return 'l';
    return t == l->f32 ? 'f' : t == l->f64 ? 'd' : 'r';
}

/* Outputs come before inputs; both return the operand's number. */
static int
asm_out(Asm *a, Lt t)
{
    put_constraint(a, (char[]){'=', letter(a->l, t), 0});
    a->out[a->n_out] = t;
    return a->n_out++;
}

static int
asm_in(Asm *a, Lv x)
{
    put_constraint(a, (char[]){letter(a->l, LLVMTypeOf(x)), 0});
    a->in[a->n_in] = x;
    return a->n_out + a->n_in++;
}

/* x is what output `out` holds before. */
static void
asm_tie(Asm *a, int out, Lv x)
{
    char s[12];
    snprintf(s, sizeof s, "%d", out);
    put_constraint(a, s);
    a->in[a->n_in++] = x;
}

/* "{$first, .., $last}" */
static void
put_vector(Asm *a, int first, int n)
{
    put_text(a, "{");
    for (int i = 0; i < n; i++)
        put_text(a, "%s$%d", i ? ", " : "", first + i);
    put_text(a, "}");
}

/* The same, or "$first" when there is one. */
static void
put_list(Asm *a, int first, int n)
{
    if (n > 1)
        put_vector(a, first, n);
    else
        put_text(a, "$%d", first);
}

static Lv
asm_done(Asm *a, bool touches_memory, bool effects)
{
    Ll *l = a->l;
    if (touches_memory)
        put_constraint(a, "~{memory}");
    Lt t = a->n_out == 0 ? l->void_
           : a->n_out == 1
               ? a->out[0]
               : LLVMStructTypeInContext(l->cx, a->out, (unsigned)a->n_out, 0);
    return ll_asm(l, t, a->text, a->constraints, a->in, a->n_in, effects);
}

static Lv
asm_result(Asm *a, Lv call, int i)
{
    return a->n_out == 1 ? call : LLVMBuildExtractValue(a->l->b, call, (unsigned)i, "");
}

static void
put_predicate(Asm *a, Lv pred)
{
    if (pred)
        put_text(a, "@$%d ", asm_in(a, pred));
}

/* ---- the kernel's function ------------------------------------------------------------------- */

static const struct {
    int sm;
    bool has_a;
} known_targets[] = {
    {75, false}, {80, false}, {86, false}, {87, false}, {88, false}, {89, false},
    {90, true},  {100, true}, {103, true}, {110, true}, {120, true}, {121, true},
};

static void
check_target(Ll *l, const Func *f)
{
    Target t = l->c->opt.target;
    for (size_t i = 0; i < COUNT(known_targets); i++)
        if (known_targets[i].sm == t.sm && (known_targets[i].has_a || !t.accelerated))
            return;
    char name[32];
    snprintf(name, sizeof name, "sm_%d%s", t.sm, t.accelerated ? "a" : "");
    err_at(l->c, f->loc, TARGET, "code generation", name);
}

/* A name PTX takes: what is not a letter, digit or _ becomes _. */
static const char *
ptx_name(Ll *l, const char *name)
{
    char *s = str_printf(l->c->arena, "%s", name);
    for (char *p = s; *p; p++)
        if (!isalnum((unsigned char)*p) || (unsigned char)*p >= 128)
            *p = '_';
    return isdigit((unsigned char)*s) ? str_printf(l->c->arena, "_%s", s) : s;
}

/* The alignment of a pointer that this variant was compiled for. */
static int
known_align(const Func *f, int param)
{
    const ArgFacts *k = &f->facts[f->slot[param]];
    for (int bytes = 16; bytes > 1; bytes /= 2) {
        static const unsigned fact[] = {
            [2] = FACT_DIV2, [4] = FACT_DIV4, [8] = FACT_DIV8, [16] = FACT_DIV16};
        if (k->asked & k->truth & fact[bytes])
            return bytes;
    }
    return 1;
}

static void
ptx_begin(Ll *l, const Func *f, Lv *params)
{
    int n = f->body->n_args;
    check_target(l, f);
    Lt *types = NEW_N(l->c->arena, Lt, n + 1);
    for (int i = 0; i < n; i++) {
        const Type *t = f->body->args[i]->type;
        types[i] = t->is_ptr ? l->gptr : ll_mem(l, t->elem);
    }
    l->fn = LLVMAddFunction(l->m, ptx_name(l, f->name),
                            LLVMFunctionType(l->void_, types, (unsigned)n, 0));
    LLVMSetFunctionCallConv(l->fn, PTX_KERNEL);
    char text[16];
    snprintf(text, sizeof text, "%d", 32 * l->c->opt.num_warps);
    ll_fn_attr(l, l->fn, "nvvm.reqntid", text);
    if (l->c->opt.maxnreg) {
        snprintf(text, sizeof text, "%d", l->c->opt.maxnreg);
        ll_fn_attr(l, l->fn, "nvvm.maxnreg", text);
    }
    l->machine_data = NEW(l->c->arena, PtxMachine);
    LLVMPositionBuilderAtEnd(l->b, ll_block(l, "entry"));
    for (int i = 0; i < n; i++) {
        const Type *t = f->body->args[i]->type;
        params[i] = LLVMGetParam(l->fn, (unsigned)i);
        if (!t->is_ptr)
            params[i] = cg_from_memory(l, t->elem, params[i]);
        else if (known_align(f, i) > 1)
            ll_param_attr(l, l->fn, i, "align", (uint64_t)known_align(f, i));
    }
}

static void
ptx_end(Ll *l, const Func *f, int shared_bytes)
{
    (void)f;
    (void)shared_bytes; /* the launch gives the buffer its size */
    LLVMBuildRetVoid(l->b);
}

static Lv
special_register(Ll *l, const char *name)
{
    char text[64];
    snprintf(text, sizeof text, "llvm.nvvm.read.ptx.sreg.%s", name);
    return ll_intrinsic(l, text, NULL, 0, NULL, 0);
}

static Lv
ptx_thread_id(Ll *l)
{
    Lv tid = special_register(l, "tid.x");
    if (!l->log2_ctas)
        return tid;
    Lv rank = special_register(l, "cluster.ctarank");
    rank = LLVMBuildMul(l->b, rank, ll_i32(l, 32 * l->c->opt.num_warps), "");
    return LLVMBuildAdd(l->b, tid, rank, "");
}

static Lv
ptx_program_id(Ll *l, int axis)
{
    static const char *const name[] = {"ctaid.x", "ctaid.y", "ctaid.z"};
    Lv v = special_register(l, name[axis]);
    return axis ? v : LLVMBuildLShr(l->b, v, ll_i32(l, l->log2_ctas), "");
}

static Lv
ptx_num_programs(Ll *l, int axis)
{
    static const char *const name[] = {"nctaid.x", "nctaid.y", "nctaid.z"};
    Lv v = special_register(l, name[axis]);
    return axis ? v : LLVMBuildLShr(l->b, v, ll_i32(l, l->log2_ctas), "");
}

static void
ptx_barrier(Ll *l, const Loc *loc)
{
    (void)loc;
    ll_asm(l, l->void_, "bar.sync 0;", "~{memory}", NULL, 0, true);
}

static void
ptx_warp_sync(Ll *l, const Loc *loc)
{
    (void)loc;
    ll_asm(l, l->void_, "bar.warp.sync 0xffffffff;", "~{memory}", NULL, 0, true);
}

static Lv
shuffle(Ll *l, const char *name, Lv word, Lv by, int clamp)
{
    Lv args[] = {ll_i32(l, -1), word, by, ll_i32(l, clamp)};
    return ll_intrinsic(l, name, NULL, 0, args, COUNT(args));
}

static Lv
ptx_shuffle_xor(Ll *l, Lv word, int mask)
{
    return shuffle(l, "llvm.nvvm.shfl.sync.bfly.i32", word, ll_i32(l, mask), 31);
}

static Lv
ptx_shuffle_idx(Ll *l, Lv word, Lv lane)
{
    return shuffle(l, "llvm.nvvm.shfl.sync.idx.i32", word, lane, 31);
}

static Lv
ptx_shuffle_up(Ll *l, Lv word, int delta)
{
    return shuffle(l, "llvm.nvvm.shfl.sync.up.i32", word, ll_i32(l, delta), 0);
}

static Lv
ptx_ballot(Ll *l, Lv bit)
{
    return ll_intrinsic(l, "llvm.nvvm.vote.ballot.sync", NULL, 0,
                        (Lv[]){ll_i32(l, -1), bit}, 2);
}

/* ---- global memory ------------------------------------------------------------------------------ */

/* How a packed value travels through asm: its registers and the suffix of the access. */
typedef struct Parts {
    int n;
    Lt type; /* of one register: i16, i32 or i64; bytes travel in i32 */
    bool is_byte;
} Parts;

static Parts
parts_of(Ll *l, Lt t)
{
    Parts p = {1, t, t == l->i8};
    if (LLVMGetTypeKind(t) == LLVMVectorTypeKind) {
        p.n = (int)LLVMGetVectorSize(t);
        p.type = LLVMGetElementType(t);
    }
    if (p.is_byte)
        p.type = l->i32;
    return p;
}

static void
put_suffix(Asm *a, const Parts *p)
{
    if (p->n > 1)
        put_text(a, ".v%d", p->n);
    put_text(a, p->is_byte ? ".u8 " : ".b%u ", LLVMGetIntTypeWidth(p->type));
}

static Lv
part(Ll *l, const Parts *p, Lv value, int i)
{
    if (p->is_byte)
        return LLVMBuildZExt(l->b, value, l->i32, "");
    return p->n > 1 ? LLVMBuildExtractElement(l->b, value, ll_i32(l, i), "") : value;
}

static const char *const cache_word[] = {"", ".ca", ".cg", ".cs", ".cv", ".wb", ".wt"};

/* The cache and eviction words; a cache operator and a priority exclude each other. */
static void
put_hints(Asm *a, const Access *x)
{
    static const char *const evict[] = {"", ".L1::evict_first", ".L1::evict_last"};
    put_text(a, "%s", x->cache != CACHE_NONE ? cache_word[x->cache] : evict[x->evict]);
}

static bool
is_plain(const Access *a)
{
    return !a->pred && a->cache == CACHE_NONE && a->evict == EVICT_NONE;
}

static Lv
ptx_load(Ll *l, const Access *x, Lt type, Lv other)
{
    if (is_plain(x)) {
        Lv v = LLVMBuildLoad2(l->b, type, x->ptr, "");
        LLVMSetAlignment(v, (unsigned)x->align);
        LLVMSetVolatile(v, x->is_volatile);
        return v;
    }
    Asm a = {.l = l};
    Parts p = parts_of(l, type);
    for (int i = 0; i < p.n; i++)
        asm_out(&a, p.type);
    put_predicate(&a, x->pred);
    put_text(&a, "ld%s.global", x->is_volatile ? ".volatile" : "");
    if (!x->is_volatile)
        put_hints(&a, x);
    put_suffix(&a, &p);
    put_list(&a, 0, p.n);
    put_text(&a, ", [$%d];", asm_in(&a, x->ptr));
    if (x->pred)
        for (int i = 0; i < p.n; i++)
            asm_tie(&a, i, other ? part(l, &p, other, i) : LLVMConstNull(p.type));
    Lv call = asm_done(&a, true, true);
    if (p.is_byte)
        return LLVMBuildTrunc(l->b, call, l->i8, "");
    if (p.n == 1)
        return call;
    Lv v = LLVMGetPoison(type);
    for (int i = 0; i < p.n; i++)
        v = LLVMBuildInsertElement(l->b, v, asm_result(&a, call, i), ll_i32(l, i), "");
    return v;
}

static void
ptx_store(Ll *l, const Access *x, Lv value)
{
    if (is_plain(x)) {
        Lv v = LLVMBuildStore(l->b, value, x->ptr);
        LLVMSetAlignment(v, (unsigned)x->align);
        return;
    }
    Asm a = {.l = l};
    Parts p = parts_of(l, LLVMTypeOf(value));
    put_predicate(&a, x->pred);
    put_text(&a, "st.global");
    put_hints(&a, x);
    put_suffix(&a, &p);
    put_text(&a, "[$%d], ", asm_in(&a, x->ptr));
    int first = a.n_in;
    for (int i = 0; i < p.n; i++)
        asm_in(&a, part(l, &p, value, i));
    put_list(&a, first, p.n);
    put_text(&a, ";");
    asm_done(&a, true, true);
}

/* ---- atomics -------------------------------------------------------------------------------------- */

static const char *const sem_word[] = {"acq_rel", "acquire", "release", "relaxed"};
static const char *const scope_word[] = {"gpu", "cta", "sys"};

/* "@p atom.sem.scope.global.<what> $0, [ptr], values;" with the result tied to 0. `first`
 * and its like are integers or floats of the register class that <what> needs. */
static Lv
atom(Ll *l, Lv ptr, Lv pred, int sem, int scope, const char *what, Lv *values, int n,
     Lv otherwise)
{
    Asm a = {.l = l};
    Lt t = LLVMTypeOf(values[0]);
    asm_out(&a, t);
    put_predicate(&a, pred);
    put_text(&a, "atom.%s.%s.global.%s $0, [$%d]", sem_word[sem], scope_word[scope],
             what, asm_in(&a, ptr));
    for (int i = 0; i < n; i++)
        put_text(&a, ", $%d", asm_in(&a, values[i]));
    put_text(&a, ";");
    if (pred)
        asm_tie(&a, 0, otherwise ? otherwise : LLVMConstNull(t));
    return asm_done(&a, true, true);
}

/* An element as an integer register. */
static Lv
as_bits(Ll *l, Elem e, Lv x)
{
    return LLVMBuildBitCast(l->b, x, LLVMIntTypeInContext(l->cx, elem_info[e].bits),
                            "");
}

/* Integer order is float order for numbers without a sign, and the other way round,
 * unsigned, for those with one. So one of two instructions, by the operand's sign. */
static Lv
float_extreme(Ll *l, const Access *x, Elem e, int rmw, int sem, int scope, Lv value)
{
    int bits = elem_info[e].bits;
    bool is_max = rmw == RMW_MAX;
    char up[16], down[16];
    snprintf(up, sizeof up, "%s.s%d", is_max ? "max" : "min", bits);
    snprintf(down, sizeof down, "%s.u%d", is_max ? "min" : "max", bits);
    Lv v = as_bits(l, e, value);
    Lv is_neg = LLVMBuildICmp(l->b, LLVMIntSLT, v, LLVMConstNull(LLVMTypeOf(v)), "");
    Lv is_pos = LLVMBuildNot(l->b, is_neg, "");
    if (x->pred) {
        is_neg = LLVMBuildAnd(l->b, is_neg, x->pred, "");
        is_pos = LLVMBuildAnd(l->b, is_pos, x->pred, "");
    }
    Lv old = atom(l, x->ptr, is_pos, sem, scope, up, &v, 1, NULL);
    old = atom(l, x->ptr, is_neg, sem, scope, down, &v, 1, old);
    return LLVMBuildBitCast(l->b, old, ll_elem(l, e), "");
}

/* bf16 addition before sm_90: compare and swap until nobody came between. */
static Lv
add_by_cas(Ll *l, const Access *x, Elem e, int sem, int scope, Lv value)
{
    LLVMBasicBlockRef before = LLVMGetInsertBlock(l->b), start = ll_block(l, "rmw"),
                      loop = ll_block(l, "retry"), after = ll_block(l, "added");
    Lv pred = x->pred ? x->pred : LLVMConstInt(l->i1, 1, false);
    LLVMBuildCondBr(l->b, pred, start, after);
    LLVMPositionBuilderAtEnd(l->b, start);
    Lv seen = LLVMBuildLoad2(l->b, l->i16, x->ptr, "");
    LLVMSetVolatile(seen, 1);
    LLVMBuildBr(l->b, loop);
    LLVMPositionBuilderAtEnd(l->b, loop);
    Lv old = LLVMBuildPhi(l->b, l->i16, "");
    LLVMAddIncoming(old, &seen, &start, 1);
    Lv sum = LLVMBuildFAdd(l->b,
                           cg_cast(l, e, E_F32,
                                   LLVMBuildBitCast(l->b, old, ll_elem(l, e), ""),
                                   ROUND_RTNE),
                           cg_cast(l, e, E_F32, value, ROUND_RTNE), "");
    Lv new = as_bits(l, e, cg_cast(l, E_F32, e, sum, ROUND_RTNE));
    Lv got = atom(l, x->ptr, NULL, sem, scope, "cas.b16", (Lv[]){old, new}, 2, NULL);
    Lv same = LLVMBuildICmp(l->b, LLVMIntEQ, got, old, "");
    LLVMBasicBlockRef end = LLVMGetInsertBlock(l->b);
    LLVMAddIncoming(old, &got, &end, 1);
    LLVMBuildCondBr(l->b, same, after, loop);
    LLVMPositionBuilderAtEnd(l->b, after);
    Lv r = LLVMBuildPhi(l->b, l->i16, "");
    LLVMAddIncoming(r, (Lv[]){LLVMConstNull(l->i16), got},
                    (LLVMBasicBlockRef[]){before, end}, 2);
    return LLVMBuildBitCast(l->b, r, ll_elem(l, e), "");
}

static Lv
ptx_atomic_rmw(Ll *l, const Access *x, Elem e, int rmw, int sem, int scope, Lv value)
{
    int bits = elem_info[e].bits;
    char what[24];
    Lv v = value;
    switch (rmw) {
    case RMW_ADD:
        if (e == E_BF16 && !sm_at_least(l, 90))
            return add_by_cas(l, x, e, sem, scope, value);
        if (elem_info[e].bits == 16)
            snprintf(what, sizeof what, "add.noftz.%s", e == E_F16 ? "f16" : "bf16");
        else
            snprintf(what, sizeof what, "add.%c%d", elem_is_float(e) ? 'f' : 'u', bits);
        if (bits == 16)
            v = as_bits(l, e, value);
        break;
    case RMW_MAX:
    case RMW_MIN:
        if (elem_is_float(e))
            return float_extreme(l, x, e, rmw, sem, scope, value);
        snprintf(what, sizeof what, "%s.%c%d", rmw == RMW_MAX ? "max" : "min",
                 elem_is_signed(e) ? 's' : 'u', bits);
        break;
    case RMW_AND: snprintf(what, sizeof what, "and.b%d", bits); break;
    case RMW_OR: snprintf(what, sizeof what, "or.b%d", bits); break;
    case RMW_XOR: snprintf(what, sizeof what, "xor.b%d", bits); break;
    case RMW_XCHG:
        snprintf(what, sizeof what, "exch.b%d", bits);
        v = as_bits(l, e, value);
        break;
    default: unreachable(l->c);
    }
    Lv old = atom(l, x->ptr, x->pred, sem, scope, what, &v, 1, NULL);
    return LLVMBuildBitCast(l->b, old, LLVMTypeOf(value), "");
}

static Lv
ptx_atomic_cas(Ll *l, const Access *x, Elem e, int sem, int scope, Lv compare, Lv value)
{
    char what[16];
    snprintf(what, sizeof what, "cas.b%d", elem_info[e].bits);
    Lv v[] = {as_bits(l, e, compare), as_bits(l, e, value)};
    Lv old = atom(l, x->ptr, x->pred, sem, scope, what, v, 2, NULL);
    return LLVMBuildBitCast(l->b, old, LLVMTypeOf(value), "");
}

/* ---- shared memory ----------------------------------------------------------------------------------- */

static Lv
shared_buffer(Ll *l)
{
    PtxMachine *m = ptx(l);
    if (!m->smem) {
        m->smem = LLVMAddGlobalInAddressSpace(l->m, LLVMArrayType2(l->i8, 0), "smem",
                                              AS_SHARED);
        LLVMSetLinkage(m->smem, LLVMExternalLinkage);
        LLVMSetAlignment(m->smem, 1024);
    }
    return m->smem;
}

static Lv
shared_pointer(Ll *l, Lv offset)
{
    return LLVMBuildGEP2(l->b, l->i8, shared_buffer(l), &offset, 1, "");
}

/* As the 32-bit address that asm takes. */
static Lv
shared_address(Ll *l, Lv offset)
{
    Lv base = LLVMConstPtrToInt(shared_buffer(l), l->i32);
    return LLVMBuildAdd(l->b, base, offset, "");
}

/* ---- clusters ----
 * One mbarrier a site, armed for the bytes that come from all blocks, used once. Others may
 * send when every block has armed its barriers: that is the cluster barrier, whose wait is
 * put off to the first send, behind the loads. Nobody leaves early: a block waits for what
 * all others send, so what it sends itself has a place to land. */

static void
ptx_cluster_open(Ll *l, int n_sites, const int *bytes, int shared_at)
{
    PtxMachine *m = ptx(l);
    m->barriers_at = shared_at;
    char text[16];
    snprintf(text, sizeof text, "%d,1,1", 1 << l->log2_ctas);
    ll_fn_attr(l, l->fn, "nvvm.cluster_dim", text);
    Lv first = LLVMBuildICmp(l->b, LLVMIntEQ, special_register(l, "tid.x"),
                             ll_i32(l, 0), "");
    LLVMBasicBlockRef arm = ll_block(l, "arm"), go = ll_block(l, "go");
    LLVMBuildCondBr(l->b, first, arm, go);
    LLVMPositionBuilderAtEnd(l->b, arm);
    for (int i = 0; i < n_sites; i++) {
        Lv at = shared_address(l, ll_i32(l, shared_at + 8 * i));
        ll_asm(l, l->void_, "mbarrier.init.shared::cta.b64 [$0], 1;", "r,~{memory}",
               &at, 1, true);
    }
    ll_asm(l, l->void_, "fence.mbarrier_init.release.cluster;", "~{memory}", NULL, 0,
           true);
    for (int i = 0; i < n_sites; i++) {
        Lv args[] = {shared_address(l, ll_i32(l, shared_at + 8 * i)),
                     ll_i32(l, bytes[i])};
        ll_asm(l, l->void_, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;",
               "r,r,~{memory}", args, 2, true);
    }
    LLVMBuildBr(l->b, go);
    LLVMPositionBuilderAtEnd(l->b, go);
    ll_asm(l, l->void_, "barrier.cluster.arrive.relaxed.aligned;", "~{memory}", NULL, 0,
           true);
}

static void
ptx_cluster_send(Ll *l, int site, Lv offset, Lv word, Lv rank, Lv pred, const Loc *loc)
{
    (void)loc;
    PtxMachine *m = ptx(l);
    if (!m->is_cluster_ready)
        ll_asm(l, l->void_, "barrier.cluster.wait.aligned;", "~{memory}", NULL, 0,
               true);
    m->is_cluster_ready = true;
    Lv args[] = {pred, shared_address(l, offset),
                 shared_address(l, ll_i32(l, m->barriers_at + 8 * site)), rank, word};
    ll_asm(l, l->void_,
           "{ .reg .b32 there, bar; mapa.shared::cluster.u32 there, $1, $3; "
           "mapa.shared::cluster.u32 bar, $2, $3; "
           "@$0 st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 "
           "[there], $4, [bar]; }",
           "b,r,r,r,r,~{memory}", args, COUNT(args), true);
}

static void
ptx_cluster_wait(Ll *l, int site, const Loc *loc)
{
    (void)loc;
    PtxMachine *m = ptx(l);
    Lv at = shared_address(l, ll_i32(l, m->barriers_at + 8 * site));
    LLVMBasicBlockRef spin = ll_block(l, "spin"), done = ll_block(l, "came");
    LLVMBuildBr(l->b, spin);
    LLVMPositionBuilderAtEnd(l->b, spin);
    Lv ok = ll_asm(l, l->i1, "mbarrier.try_wait.parity.shared::cta.b64 $0, [$1], 0;",
                   "=b,r,~{memory}", &at, 1, true);
    LLVMBuildCondBr(l->b, ok, done, spin);
    LLVMPositionBuilderAtEnd(l->b, done);
}

static Lv
ptx_shared_load(Ll *l, Lv offset, Lt type, int align, const Loc *loc)
{
    (void)loc;
    Lv v = LLVMBuildLoad2(l->b, type, shared_pointer(l, offset), "");
    LLVMSetAlignment(v, (unsigned)align);
    return v;
}

static void
ptx_shared_store(Ll *l, Lv offset, Lv value, int align, Lv pred, const Loc *loc)
{
    (void)loc;
    if (!pred) {
        Lv v = LLVMBuildStore(l->b, value, shared_pointer(l, offset));
        LLVMSetAlignment(v, (unsigned)align);
        return;
    }
    Asm a = {.l = l};
    Parts p = parts_of(l, LLVMTypeOf(value));
    put_predicate(&a, pred);
    put_text(&a, "st.shared");
    put_suffix(&a, &p);
    put_text(&a, "[$%d], ", asm_in(&a, shared_address(l, offset)));
    int first = a.n_in;
    for (int i = 0; i < p.n; i++)
        asm_in(&a, part(l, &p, value, i));
    put_list(&a, first, p.n);
    put_text(&a, ";");
    asm_done(&a, true, true);
}

static Lv
ptx_shared_atomic_add(Ll *l, Lv offset, Lv value, Lv pred, const Loc *loc)
{
    (void)loc;
    Asm a = {.l = l};
    asm_out(&a, l->i32);
    put_predicate(&a, pred);
    int at = asm_in(&a, shared_address(l, offset));
    put_text(&a, "atom.shared.add.u32 $0, [$%d], $%d;", at, asm_in(&a, value));
    if (pred)
        asm_tie(&a, 0, ll_i32(l, 0));
    return asm_done(&a, true, true);
}

/* ---- asynchronous copies -------------------------------------------------------------------------------- */

static bool
ptx_has_async(Ll *l)
{
    return sm_at_least(l, 80);
}

static void
ptx_async_copy(Ll *l, Lv offset, const Access *x)
{
    Asm a = {.l = l};
    int to = asm_in(&a, shared_address(l, offset)), from = asm_in(&a, x->ptr);
    put_text(&a, "cp.async.%s.shared.global [$%d], [$%d], %d",
             x->bytes == 16 ? "cg" : "ca", to, from, x->bytes);
    if (x->pred) /* where this holds the source is ignored and zeros are written */
        put_text(&a, ", $%d", asm_in(&a, LLVMBuildNot(l->b, x->pred, "")));
    put_text(&a, ";");
    asm_done(&a, true, true);
}

static void
ptx_async_commit(Ll *l)
{
    ll_asm(l, l->void_, "cp.async.commit_group;", "~{memory}", NULL, 0, true);
}

static void
ptx_async_wait(Ll *l, int pending)
{
    char text[40];
    snprintf(text, sizeof text, "cp.async.wait_group %d;", pending);
    ll_asm(l, l->void_, text, "~{memory}", NULL, 0, true);
}

/* ---- tensor cores ------------------------------------------------------------------------------------------ */

static bool
ptx_has_mma(Ll *l, MmaKind k)
{
    return sm_at_least(l, mma_shape[k].min_sm);
}

static void
ptx_mma(Ll *l, MmaKind k, Lv *d, Lv *a, Lv *b)
{
    static const char *const types[N_MMA] = {
        [MMA_F16_M16N8K16] = "f32.f16.f16.f32",
        [MMA_BF16_M16N8K16] = "f32.bf16.bf16.f32",
        [MMA_TF32_M16N8K8] = "f32.tf32.tf32.f32",
        [MMA_S8_M16N8K32] = "s32.s8.s8.s32",
        [MMA_F16_M16N8K8] = "f32.f16.f16.f32",
        [MMA_E4M3_M16N8K32] = "f32.e4m3.e4m3.f32",
        [MMA_E5M2_M16N8K32] = "f32.e5m2.e5m2.f32",
    };
    const MmaShape *s = &mma_shape[k];
    Asm x = {.l = l};
    for (int i = 0; i < 4; i++)
        asm_out(&x, LLVMTypeOf(d[i]));
    put_text(&x, "mma.sync.aligned.m16n8k%d.row.col.%s ", s->k, types[k]);
    put_vector(&x, 0, 4);
    put_text(&x, ", ");
    for (int i = 0; i < s->a_regs; i++)
        asm_in(&x, a[i]);
    put_vector(&x, 4, s->a_regs);
    put_text(&x, ", ");
    for (int i = 0; i < s->b_regs; i++)
        asm_in(&x, b[i]);
    put_vector(&x, 4 + s->a_regs, s->b_regs);
    put_text(&x, ", ");
    put_vector(&x, 0, 4);
    put_text(&x, ";");
    for (int i = 0; i < 4; i++)
        asm_tie(&x, i, d[i]);
    Lv call = asm_done(&x, false, true);
    for (int i = 0; i < 4; i++)
        d[i] = asm_result(&x, call, i);
}

static Lv
ptx_round_tf32(Ll *l, Lv x)
{
    if (!sm_at_least(l, 80))
        unreachable(l->c);
    Lv w = ll_asm(l, l->i32, "cvt.rna.tf32.f32 $0, $1;", "=r,f", &x, 1, false);
    return LLVMBuildBitCast(l->b, w, l->f32, "");
}

static void
ptx_ldmatrix(Ll *l, Lv offset, int n, bool trans, Lv *out, const Loc *loc)
{
    (void)loc;
    Asm a = {.l = l};
    for (int i = 0; i < n; i++)
        asm_out(&a, l->i32);
    put_text(&a, "ldmatrix.sync.aligned.m8n8.x%d%s.shared.b16 ", n,
             trans ? ".trans" : "");
    put_vector(&a, 0, n);
    put_text(&a, ", [$%d];", asm_in(&a, shared_address(l, offset)));
    Lv call = asm_done(&a, true, true);
    for (int i = 0; i < n; i++)
        out[i] = asm_result(&a, call, i);
}

/* ---- messages ---------------------------------------------------------------------------------------------- */

static Lv
text_constant(Ll *l, const char *s)
{
    Lv init = LLVMConstStringInContext2(l->cx, s, strlen(s), 0);
    Lv g = LLVMAddGlobalInAddressSpace(l->m, LLVMTypeOf(init), "text", AS_GLOBAL);
    LLVMSetInitializer(g, init);
    LLVMSetGlobalConstant(g, 1);
    LLVMSetLinkage(g, LLVMPrivateLinkage);
    return LLVMBuildAddrSpaceCast(l->b, g, l->ptr, "");
}

typedef struct Skip {
    LLVMBasicBlockRef then, after;
} Skip;

static Skip
open_if(Ll *l, Lv pred)
{
    Skip k = {ll_block(l, "on"), ll_block(l, "off")};
    LLVMBuildCondBr(l->b, pred ? pred : LLVMConstInt(l->i1, 1, false), k.then, k.after);
    LLVMPositionBuilderAtEnd(l->b, k.then);
    return k;
}

static void
close_if(Ll *l, const Skip *k)
{
    LLVMBuildBr(l->b, k->after);
    LLVMPositionBuilderAtEnd(l->b, k->after);
}

/* The driver's own assert: prints to stderr and stops the kernel with
 * CUDA_ERROR_ASSERT, which the launcher reports. */
static void
ptx_trap_if(Ll *l, Lv cond, const char *text, const Loc *loc)
{
    Skip k = open_if(l, cond);
    Lv args[] = {text_constant(l, text),
                 text_constant(l, loc && loc->file ? loc->file : "?"),
                 ll_i32(l, loc ? loc->line : 0),
                 text_constant(l, loc && loc->func ? loc->func : "?"), ll_i64(l, 1)};
    ll_call_c(l, "__assertfail", l->void_, args, COUNT(args));
    close_if(l, &k);
}

/* vprintf's buffer: each argument at its natural alignment. */
static Lv
print_buffer(Ll *l, Lv *v, int n)
{
    Lt *types = NEW_N(l->c->arena, Lt, n + 1);
    for (int i = 0; i < n; i++)
        types[i] = LLVMTypeOf(v[i]);
    Lt all = LLVMStructTypeInContext(l->cx, types, (unsigned)n, 0);
    LLVMBasicBlockRef here = LLVMGetInsertBlock(l->b);
    LLVMPositionBuilderBefore(l->b,
                              LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(l->fn)));
    Lv at = LLVMBuildAlloca(l->b, all, "");
    LLVMPositionBuilderAtEnd(l->b, here);
    for (int i = 0; i < n; i++)
        LLVMBuildStore(l->b, v[i], LLVMBuildStructGEP2(l->b, all, at, (unsigned)i, ""));
    return at;
}

/* The element as vprintf takes it, and its conversion. */
static Lv
printable(Ll *l, const Type *t, bool hex, Lv x, Sb *format)
{
    if (t->is_ptr) {
        sb_put(format, hex ? "0x%016llx" : "%llu");
        return LLVMBuildPtrToInt(l->b, x, l->i64, "");
    }
    Elem e = t->elem;
    if (hex) {
        sb_printf(format, "0x%%0%dllx", (elem_info[e].bits + 3) / 4);
        return LLVMBuildZExt(l->b, as_bits(l, e, x), l->i64, "");
    }
    if (elem_is_float(e)) {
        sb_put(format, "%f");
        return cg_cast(l, e, E_F64, x, ROUND_RTNE);
    }
    sb_put(format, elem_is_signed(e) ? "%lld" : "%llu");
    return cg_cast(l, e, elem_is_signed(e) ? E_I64 : E_U64, x, ROUND_RTNE);
}

static void
put_escaped(Sb *sb, const char *s)
{
    for (; *s; s++)
        sb_put(sb, *s == '%' ? "%%" : (char[]){*s, 0});
}

/* "pid (0, 0, 0) idx ( 3, 17)text: value", as the emulator prints it. */
static void
ptx_print(Ll *l, const Op *o, int operand, Lv flat_index, Lv value, Lv pred)
{
    enum { PIDS = 3 };
    const Type *t = operand < 0 ? NULL : arg(o, operand)->type;
    Lv v[PIDS + MAX_RANK + 1];
    int n = 0, rank = t ? t->rank : 0;
    Sb format = {.a = l->c->arena};
    Skip k = open_if(l, pred);
    for (int axis = 0; axis < PIDS; axis++)
        v[n++] = ptx_program_id(l, axis);
    sb_put(&format, "pid (%d, %d, %d) idx (");
    for (int d = 0, stride = 1 << 30; d < rank; d++) {
        stride = 1;
        for (int i = d + 1; i < rank; i++)
            stride *= t->shape[i];
        Lv at = LLVMBuildUDiv(l->b, flat_index, ll_i32(l, stride), "");
        v[n++] = LLVMBuildURem(l->b, at, ll_i32(l, t->shape[d]), "");
        sb_printf(&format, "%s%%%dd", d ? ", " : "",
                  snprintf(NULL, 0, "%d", t->shape[d] - 1));
    }
    sb_put(&format, ")");
    put_escaped(&format, o->text);
    if (o->n_args > 1)
        sb_printf(&format, "(operand %d) ", operand);
    if (t)
        v[n] = printable(l, t, ir_attr(o, ATTR_HEX) != 0, value, &format), n++;
    sb_put(&format, "\n");
    ll_call_c(l, "vprintf", l->i32,
              (Lv[]){text_constant(l, format.at), print_buffer(l, v, n)}, 2);
    close_if(l, &k);
}

/* ---- arithmetic -------------------------------------------------------------------------------------------- */

static Lv
f32_call(Ll *l, const char *name, Lv x)
{
    return ll_intrinsic(l, name, NULL, 0, &x, 1);
}

static Lv
ex2(Ll *l, Lv x)
{
    return ll_asm(l, l->f32, "ex2.approx.ftz.f32 $0, $1;", "=f,f", &x, 1, false);
}

/* The approximations Triton's functions are, where PTX has one that is good enough: one
 * instruction, subnormals flushed. The rest is shared with the CPU. */
static Lv
ptx_math(Ll *l, OpCode op, Elem e, Lv *x)
{
    if (e == E_F32) {
        switch (op) {
        case OP_EXP2: return ex2(l, x[0]);
        case OP_EXP: {
            Lv scaled = LLVMBuildFMul(l->b, x[0], LLVMConstReal(l->f32, 0x1.715476p+0),
                                      "");
            return ex2(l, scaled);
        }
        case OP_DIV:
            return ll_asm(l, l->f32, "div.full.f32 $0, $1, $2;", "=f,f,f", x, 2, false);
        case OP_RSQRT: return f32_call(l, "llvm.nvvm.rsqrt.approx.ftz.f", x[0]);
        case OP_SQRT:
            return ll_asm(l, l->f32, "sqrt.approx.f32 $0, $1;", "=f,f", x, 1, false);
        default: break;
        }
    }
    return scalar_ops_host.math(l, op, e, x);
}

static Lv
ptx_to_float(Ll *l, Elem e, Lv x)
{
    if ((e != E_F8E4M3 && e != E_F8E5M2) || !sm_at_least(l, 89))
        return NULL;
    const char *text = e == E_F8E4M3 ? "cvt.rn.f16x2.e4m3x2 $0, $1;"
                                     : "cvt.rn.f16x2.e5m2x2 $0, $1;";
    Lv pair = LLVMBuildZExt(l->b, x, l->i16, "");
    Lv both = ll_asm(l, l->i32, text, "=r,h", &pair, 1, false);
    Lv half = LLVMBuildTrunc(l->b, both, l->i16, "");
    return LLVMBuildFPExt(l->b, LLVMBuildBitCast(l->b, half, l->f16, ""), l->f32, "");
}

static Lv
ptx_from_float(Ll *l, Elem e, Lv x, int rounding)
{
    if (rounding != ROUND_RTNE)
        return NULL;
    if (e == E_BF16 && sm_at_least(l, 80)) {
        Lt bf16 = LLVMBFloatTypeInContext(l->cx);
        return LLVMBuildBitCast(l->b, LLVMBuildFPTrunc(l->b, x, bf16, ""), l->i16, "");
    }
    if ((e == E_F8E4M3 || e == E_F8E5M2) && sm_at_least(l, 89)) {
        const char *text = e == E_F8E4M3 ? "cvt.rn.satfinite.e4m3x2.f32 $0, $1, $2;"
                                         : "cvt.rn.satfinite.e5m2x2.f32 $0, $1, $2;";
        Lv in[] = {LLVMConstReal(l->f32, 0), x}; /* high, low */
        Lv pair = ll_asm(l, l->i16, text, "=h,f,f", in, 2, false);
        return LLVMBuildTrunc(l->b, pair, l->i8, "");
    }
    return NULL;
}

static const ScalarOps ptx_ops = {ptx_math, ptx_to_float, ptx_from_float};

const Machine machine_ptx = {
    .name = "cuda",
    .max_vec_bytes = 16,
    .begin = ptx_begin,
    .end = ptx_end,
    .thread_id = ptx_thread_id,
    .program_id = ptx_program_id,
    .num_programs = ptx_num_programs,
    .cluster_open = ptx_cluster_open,
    .cluster_send = ptx_cluster_send,
    .cluster_wait = ptx_cluster_wait,
    .barrier = ptx_barrier,
    .warp_sync = ptx_warp_sync,
    .shuffle_xor = ptx_shuffle_xor,
    .shuffle_idx = ptx_shuffle_idx,
    .shuffle_up = ptx_shuffle_up,
    .ballot = ptx_ballot,
    .load = ptx_load,
    .store = ptx_store,
    .atomic_rmw = ptx_atomic_rmw,
    .atomic_cas = ptx_atomic_cas,
    .shared_load = ptx_shared_load,
    .shared_store = ptx_shared_store,
    .shared_atomic_add = ptx_shared_atomic_add,
    .has_async = ptx_has_async,
    .async_copy = ptx_async_copy,
    .async_commit = ptx_async_commit,
    .async_wait = ptx_async_wait,
    .has_mma = ptx_has_mma,
    .mma = ptx_mma,
    .round_tf32 = ptx_round_tf32,
    .ldmatrix = ptx_ldmatrix,
    .trap_if = ptx_trap_if,
    .print = ptx_print,
    .ops = &ptx_ops,
};
