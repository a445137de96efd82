/* machine_ptx: the primitives as NVVM intrinsics and inline assembly.
 *
 * Here: the kernel's function, who a thread is, barriers, shuffles, clusters. The rest, by
 * concern: ptx_memory, ptx_atomics, ptx_mma, ptx_message, ptx_math; they write their assembly
 * with ptx_asm.
 *
 * Asm that orders memory has sideeffect, convergent and ~{memory}. Everything works
 * with LLVM 19 and newer; what a chip lacks is asked before it is built (has_mma,
 * has_async, ptx_sm_at_least), because LLVM ends the process over an instruction it cannot
 * select.
 */
#include "codegen/simt/ptx.h"

#include <ctype.h>

enum { PTX_KERNEL = 71 }; /* LLVM's calling convention */

/* ---- the kernel's function ------------------------------------------------------------------- */

static void
check_target(Ll *l, const Func *f)
{
    Target t = l->c->opt.target;
    const Chip *chip = chip_of(t.sm);
    if (chip->sm == t.sm && (chip->has_a || !t.accelerated))
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

static int
count_maps(const Func *f)
{
    int n = 0;
    for (const Op *o = f->body->first; o; o = o->next)
        n += o->op == OP_TENSOR_MAP;
    return n;
}

void
ptx_begin(Ll *l, const Func *f, Lv *params)
{
    int n = f->body->n_args, n_maps = count_maps(f),
        n_hidden = n_maps + (ir_blocks(f) ? GRID_PARAMS : 0);
    check_target(l, f);
    Lt *types = NEW_N(l->c->arena, Lt, n + n_hidden + 1);
    for (int i = 0; i < n_hidden; i++)
        types[n + i] = i < n_maps ? l->ptr : l->i32;
    for (int i = 0; i < n; i++) {
        const Type *t = f->body->args[i]->type;
        types[i] = t->is_ptr ? l->gptr : ll_mem(l, t->elem);
    }
    l->fn =
        LLVMAddFunction(l->m, ptx_name(l, f->name),
                        LLVMFunctionType(l->void_, types, (unsigned)(n + n_hidden), 0));
    LLVMSetFunctionCallConv(l->fn, PTX_KERNEL);
    char text[16];
    snprintf(text, sizeof text, "%d", 32 * block_warps(f));
    ll_fn_attr(l, l->fn, "no-jump-tables",
               "true"); /* brx takes more than a few compares */
    ll_fn_attr(l, l->fn, "nvvm.reqntid", text);
    if (l->c->opt.maxnreg) { /* warps that bring data may leave fewer */
        int most = CHIP_REGISTERS / (32 * block_warps(f)) / 8 * 8;
        snprintf(text, sizeof text, "%d", MIN(l->c->opt.maxnreg, most));
        ll_fn_attr(l, l->fn, "nvvm.maxnreg", text);
    } else if (f->min_blocks) {
        snprintf(text, sizeof text, "%d", f->min_blocks);
        ll_fn_attr(l, l->fn, "nvvm.minctasm", text);
    }
    l->machine_data = NEW(l->c->arena, PtxMachine);
    ptx_state(l)->first_map = n;
    ptx_state(l)->log2_cluster = log2_of(ir_num_ctas(f));
    if (ir_shares(f) > 1)
        ptx_share_program(l, ir_shares(f));
    ptx_state(l)->first_grid = n_hidden > n_maps ? n + n_maps : -1;
    for (int i = 0; i < n_maps; i++)
        ptx_map_param(l, n + i);
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

void
ptx_end(Ll *l)
{
    LLVMBuildRetVoid(l->b);
}

static Lv
special_register(Ll *l, const char *name)
{
    char text[64];
    snprintf(text, sizeof text, "llvm.nvvm.read.ptx.sreg.%s", name);
    return ll_intrinsic(l, text, NULL, 0, NULL, 0);
}

Lv
ptx_thread_id(Ll *l)
{
    Lv tid = special_register(l, "tid.x");
    if (!l->log2_ctas)
        return tid;
    Lv rank = special_register(l, "cluster.ctarank");
    /* LLVM does not know how far it goes, and so not which masks are off throughout */
    rank = LLVMBuildAnd(l->b, rank, ll_i32(l, (1 << l->log2_ctas) - 1), "");
    rank = LLVMBuildMul(l->b, rank, ll_i32(l, 32 * l->c->opt.num_warps), "");
    return LLVMBuildAdd(l->b, tid, rank, "");
}

Lv
ptx_program_id(Ll *l, int axis)
{
    static const char *const name[] = {"ctaid.x", "ctaid.y", "ctaid.z"};
    Lv v = special_register(l, name[axis]);
    return axis ? v : LLVMBuildLShr(l->b, v, ll_i32(l, ptx_state(l)->log2_cluster), "");
}

Lv
ptx_num_blocks(Ll *l)
{
    return special_register(l, "nctaid.x");
}

Lv
ptx_num_programs(Ll *l, int axis)
{
    static const char *const name[] = {"nctaid.x", "nctaid.y", "nctaid.z"};
    int grid = ptx_state(l)->first_grid;
    if (grid >= 0)
        return LLVMGetParam(l->fn, (unsigned)(grid + axis));
    Lv v = special_register(l, name[axis]);
    return axis ? v : LLVMBuildLShr(l->b, v, ll_i32(l, ptx_state(l)->log2_cluster), "");
}

void
ptx_barrier(Ll *l)
{
    /* Immediates: with a number in a register ptxas takes all 16 barriers. */
    asm_statement(l, l->team_threads ? "bar.sync 1, %d;" : "bar.sync 0;",
                  l->team_threads);
}

void
ptx_warp_sync(Ll *l)
{
    asm_statement(l, "bar.warp.sync 0xffffffff;");
}

static Lv
shuffle(Ll *l, const char *name, Lv word, Lv by)
{
    Lv args[] = {ll_i32(l, -1), word, by, ll_i32(l, 31)};
    return ll_intrinsic(l, name, NULL, 0, args, COUNT(args));
}

Lv
ptx_shuffle_xor(Ll *l, Lv word, int mask)
{
    return shuffle(l, "llvm.nvvm.shfl.sync.bfly.i32", word, ll_i32(l, mask));
}

Lv
ptx_shuffle_idx(Ll *l, Lv word, Lv lane)
{
    return shuffle(l, "llvm.nvvm.shfl.sync.idx.i32", word, lane);
}

/* ---- clusters ----
 * One mbarrier a site, armed for the bytes that come from all blocks, used once. Others may
 * send when every block has armed its barriers: that is the cluster barrier, whose wait is
 * put off to the first send, behind the loads. Nobody leaves early: a block waits for what
 * all others send, so what it sends itself has a place to land. */

static void
wait_for_cluster(Ll *l)
{
    PtxMachine *m = ptx_state(l);
    if (!m->is_cluster_ready)
        asm_statement(l, "barrier.cluster.wait.aligned;");
    m->is_cluster_ready = true;
}

/* A thread may not arrive twice: assembly that does finds the barrier free. */
void
ptx_cluster_open(Ll *l, int n_sites, const int *bytes, int shared_at, bool is_shared)
{
    PtxMachine *m = ptx_state(l);
    m->barriers_at = shared_at;
    char text[16];
    snprintf(text, sizeof text, "%d,1,1", 1 << l->log2_ctas);
    ll_fn_attr(l, l->fn, "nvvm.cluster_dim", text);
    Lv first = LLVMBuildICmp(l->b, LLVMIntEQ, special_register(l, "tid.x"),
                             ll_i32(l, 0), "");
    LLVMBasicBlockRef arm = ll_block(l, "arm"), go = ll_block(l, "go");
    ll_if(l, first, arm, go);
    for (int i = 0; i < n_sites; i++) {
        Lv at = ptx_shared_address(l, ll_i32(l, shared_at + 8 * i));
        ll_asm(l, l->void_, "mbarrier.init.shared::cta.b64 [$0], 1;", "r,~{memory}",
               &at, 1, true);
    }
    ptx_mbar_init_done(l);
    for (int i = 0; i < n_sites; i++) {
        Lv args[] = {ptx_shared_address(l, ll_i32(l, shared_at + 8 * i)),
                     ll_i32(l, bytes[i])};
        ll_asm(l, l->void_, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;",
               "r,r,~{memory}", args, 2, true);
    }
    ll_jump(l, go);
    asm_statement(l, "barrier.cluster.arrive.relaxed.aligned;");
    if (is_shared)
        wait_for_cluster(l);
}

void
ptx_cluster_send(Ll *l, int site, Lv offset, Lv word, Lv rank, Lv pred)
{
    PtxMachine *m = ptx_state(l);
    wait_for_cluster(l);
    Lv args[] = {pred, ptx_shared_address(l, offset),
                 ptx_shared_address(l, ll_i32(l, m->barriers_at + 8 * site)), rank,
                 word};
    ll_asm(l, l->void_,
           "{ .reg .b32 there, bar; mapa.shared::cluster.u32 there, $1, $3; "
           "mapa.shared::cluster.u32 bar, $2, $3; "
           "@$0 st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 "
           "[there], $4, [bar]; }",
           "b,r,r,r,r,~{memory}", args, COUNT(args), true);
}

void
ptx_cluster_wait(Ll *l, int site)
{
    PtxMachine *m = ptx_state(l);
    ptx_mbar_wait(l, ll_i32(l, m->barriers_at + 8 * site), ll_i32(l, 0), 0);
}
