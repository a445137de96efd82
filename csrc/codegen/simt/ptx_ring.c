/* ptx_ring: mbarriers, copies of tiles by one thread, and what roles need.
 *
 * ptxas makes different code of spellings that PTX gives one meaning: an arrive that names its
 * scope becomes a fence of the whole chip, an acquire of a cluster invalidates the cache. The plain
 * forms order the block, and rings need no more. A wait is a loop in LLVM IR, because LLVM may copy
 * assembly, and a label in it would then be defined twice.
 */
#include "codegen/simt/ptx.h"

void
ptx_mbar_init(Ll *l, int at, int n, int arrivals)
{
    for (int i = 0; i < n; i++) {
        Lv args[] = {ptx_shared_address(l, ll_i32(l, at + 8 * i)), ll_i32(l, arrivals)};
        ll_asm(l, l->void_, "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}",
               args, 2, true);
    }
}

void
ptx_mbar_init_done(Ll *l)
{
    asm_statement(l, "fence.mbarrier_init.release.cluster;");
}

static void
spin_on(Ll *l, const char *try, const char *constraints, Lv at, Lv phase)
{
    Lv args[] = {ptx_shared_address(l, at), phase};
    LLVMBasicBlockRef spin = ll_block(l, "spin"), done = ll_block(l, "came");
    ll_jump(l, spin);
    Lv ok = ll_asm(l, l->i1, try, constraints, args, 2, true);
    ll_if(l, ok, done, spin);
}

/* Looks at the phase so many times at most. The first look stands in front of the loop, so that
 * ptxas moves it up and what stands there hides its latency. */
static void
look_at(Ll *l, Lv at, Lv phase, int looks)
{
    static const char text[] =
        "mbarrier.test_wait.parity.shared::cta.b64 $0, [$1], $2;";
    Lv args[] = {ptx_shared_address(l, at), phase}, one = ll_i32(l, 1);
    LLVMBasicBlockRef again = ll_block(l, "again"), done = ll_block(l, "looked");
    Lv ok = ll_asm(l, l->i1, text, "=b,r,r,~{memory}", args, 2, true);
    LLVMBasicBlockRef from = LLVMGetInsertBlock(l->b);
    LLVMBuildCondBr(l->b, ok, done, again);
    LLVMPositionBuilderAtEnd(l->b, again);
    Lv n = LLVMBuildPhi(l->b, l->i32, "");
    ok = ll_asm(l, l->i1, text, "=b,r,r,~{memory}", args, 2, true);
    Lv next = LLVMBuildAdd(l->b, n, one, "");
    Lv last = LLVMBuildICmp(l->b, LLVMIntEQ, next, ll_i32(l, looks), "");
    LLVMAddIncoming(n, (Lv[]){one, next}, (LLVMBasicBlockRef[]){from, again}, 2);
    ll_if(l, LLVMBuildOr(l->b, ok, last, ""), done, again);
}

void
ptx_mbar_wait(Ll *l, Lv at, Lv phase, int looks)
{
    if (looks) {
        look_at(l, at, phase, looks);
        return;
    }
    spin_on(l, "mbarrier.try_wait.parity.shared::cta.b64 $0, [$1], $2;",
            "=b,r,r,~{memory}", at, phase);
}

void
ptx_mbar_await(Ll *l, Lv at, Lv token)
{
    spin_on(l, "mbarrier.try_wait.shared::cta.b64 $0, [$1], $2;", "=b,r,l,~{memory}",
            at, token);
}

void
ptx_mbar_arrive(Ll *l, Lv at, int bytes, Lv pred)
{
    Asm x = asm_new(l);
    asm_predicate(&x, pred);
    asm_text(&x, "mbarrier.arrive%s.shared::cta.b64 _, [$%d]",
             bytes ? ".expect_tx" : "", asm_in(&x, ptx_shared_address(l, at)));
    if (bytes)
        asm_text(&x, ", %d", bytes);
    asm_text(&x, ";");
    asm_done(&x, true, true);
}

void
ptx_pair_open(Ll *l)
{
    ptx_share_program(l, 2);
}

void
ptx_pair_arrive(Ll *l, Lv at, Lv pred)
{
    at = ptx_shared_address(l, at);
    for (int rank = 0; rank < 2; rank++) {
        Asm x = asm_new(l);
        asm_text(&x, "{ .reg .b32 there; mapa.shared::cluster.u32 there, $%d, %d; ",
                 asm_in(&x, at), rank);
        asm_predicate(&x, pred);
        asm_text(&x, "mbarrier.arrive.shared::cluster.b64 _, [there]; }");
        asm_done(&x, true, true);
    }
}

/* The begin orders what was done to mbarriers, which mbar_init_done made visible already. */
void
ptx_pair_meet(Ll *l, bool is_begin)
{
    asm_statement(l, "barrier.cluster.arrive.relaxed%s;", is_begin ? ".aligned" : "");
    asm_statement(l, "barrier.cluster.wait%s;", is_begin ? ".acquire.aligned" : "");
}

/* Of the kernel, before other code names shared memory. */
void
ptx_share_program(Ll *l, int blocks)
{
    char text[16];
    snprintf(text, sizeof text, "%d,1,1", blocks);
    ptx_state(l)->is_pair = true;
    ll_fn_attr(l, l->fn, "nvvm.cluster_dim", text);
}

Lv
ptx_cluster_rank(Ll *l)
{
    int blocks = 1 << ptx_state(l)->log2_cluster;
    Lv rank = ll_intrinsic(l, "llvm.nvvm.read.ptx.sreg.cluster.ctarank", NULL, 0, NULL,
                           0);
    return LLVMBuildAnd(l->b, rank, ll_i32(l, blocks - 1), "");
}

/* Warps that bring tiles are through, or have left, and nobody waits for who has left. An arrival releases, so that
 * what a block has read of its slots is read before another writes there. */
void
ptx_cluster_meet(Ll *l)
{
    asm_statement(l, "barrier.cluster.arrive.aligned;");
    asm_statement(l, "barrier.cluster.wait.aligned;");
}

Lv
ptx_cluster_place(Ll *l, int rank, Lv offset)
{
    Lv args[] = {ptx_shared_address(l, offset), ll_i32(l, rank)};
    return ll_asm(l, l->i32, "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r", args, 2,
                  false);
}

void
ptx_cluster_push(Ll *l, Lv place, int behind, Lv words[4], Lv mbar)
{
    Asm x = asm_new(l);
    asm_text(&x,
             "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 "
             "[$%d+%d], ",
             asm_in(&x, place), behind);
    asm_inputs(&x, words, 4);
    asm_text(&x, ", [$%d];", asm_in(&x, mbar));
    asm_done(&x, true, true);
}

/* Immediates, as in ptx_barrier; that of the team is 1. */
void
ptx_group_barrier(Ll *l, Lv is_first)
{
    for (int group = 0; group < 2; group++) {
        Asm x = asm_new(l);
        asm_predicate(&x, group ? LLVMBuildNot(l->b, is_first, "") : is_first);
        asm_text(&x, "bar.sync %d, %d;", 2 + group, 32 * WARPGROUP);
        asm_done(&x, true, true);
    }
}

/* The second group does nothing for so many clocks. */
void
ptx_begin_late(Ll *l, int clocks, Lv is_first)
{
    static const char text[] = "mov.u32 $0, %clock;";
    LLVMBasicBlockRef second = ll_block(l, "second"), spin = ll_block(l, "early"),
                      done = ll_block(l, "late");
    ll_if(l, is_first, done, second);
    LLVMPositionBuilderAtEnd(l->b, second);
    Lv begun = ll_asm(l, l->i32, text, "=r,~{memory}", NULL, 0, true);
    ll_jump(l, spin);
    Lv now = ll_asm(l, l->i32, text, "=r,~{memory}", NULL, 0, true),
       past = LLVMBuildSub(l->b, now, begun, "");
    ll_if(l, LLVMBuildICmp(l->b, LLVMIntUGE, past, ll_i32(l, clocks), ""), done, spin);
}

/* No program has the number -1. */
void
ptx_keep_open(Ll *l, int at)
{
    Lv place = ptx_shared_address(l, ll_i32(l, at));
    ll_asm(l, l->void_, "st.volatile.shared.v2.b32 [$0], {-1, 0};", "r,~{memory}",
           &place, 1, true);
}

/* One word has the number and the clock, so nobody reads one without the other. */
void
ptx_keep_late(Ll *l, int clocks, Lv is_first, Lv is_one, Lv at, Lv turn)
{
    Lv place = ptx_shared_address(l, at);
    Asm x = asm_new(l);
    asm_text(&x, "{ .reg .b32 now; .reg .b64 both; mov.u32 now, %%clock; ");
    asm_text(&x, "mov.b64 both, {$%d, now}; ", asm_in(&x, turn));
    asm_predicate(&x, is_one);
    asm_text(&x, "st.volatile.shared.b64 [$%d], both; }", asm_in(&x, place));
    asm_done(&x, true, true);
    LLVMBasicBlockRef second = ll_block(l, "second"), done = ll_block(l, "late");
    ll_if(l, is_first, done, second);
    LLVMPositionBuilderAtEnd(l->b, second);
    Lv both = ll_asm(l, l->i64, "ld.volatile.shared.b64 $0, [$1];", "=l,r,~{memory}",
                     &place, 1, true),
       now = ll_asm(l, l->i32, "mov.u32 $0, %clock;", "=r,~{memory}", NULL, 0, true),
       begun = LLVMBuildTrunc(
           l->b, LLVMBuildLShr(l->b, both, LLVMConstInt(l->i64, 32, 0), ""), l->i32,
           ""),
       number = LLVMBuildTrunc(l->b, both, l->i32, ""),
       is_later = LLVMBuildICmp(l->b, LLVMIntSGT, number, turn, ""),
       is_same = LLVMBuildICmp(l->b, LLVMIntEQ, number, turn, ""),
       is_past = LLVMBuildICmp(l->b, LLVMIntUGE, LLVMBuildSub(l->b, now, begun, ""),
                               ll_i32(l, clocks), "");
    Lv is_time = LLVMBuildOr(l->b, is_later, LLVMBuildAnd(l->b, is_same, is_past, ""),
                             "");
    ll_if(l, is_time, done, second);
}

void
ptx_tma_load(Ll *l, Lv map, Lv to, Lv bar, Lv *coords, int n, bool is_pair)
{
    enum { BOTH = 3 };
    Asm x = asm_new(l);
    asm_text(&x,
             "cp.async.bulk.tensor.%dd.shared::cluster.global.tile"
             ".mbarrier::complete_tx::bytes%s ",
             n, is_pair ? ".multicast::cluster" : "");
    asm_text(&x, "[$%d], ", asm_in(&x, ptx_shared_address(l, to)));
    asm_text(&x, "[$%d, ", asm_in(&x, map));
    asm_inputs(&x, coords, n);
    asm_text(&x, "], [$%d]", asm_in(&x, ptx_shared_address(l, bar)));
    if (is_pair)
        asm_text(&x, ", $%d", asm_in(&x, LLVMConstInt(l->i16, BOTH, 0)));
    asm_text(&x, ";");
    asm_done(&x, true, true);
}

void
ptx_set_registers(Ll *l, int n, bool more)
{
    asm_statement(l, "setmaxnreg.%s.sync.aligned.u32 %d;", more ? "inc" : "dec", n);
}

Lv
ptx_elect(Ll *l)
{
    return ll_asm(l, l->i1, "elect.sync _|$0, 0xffffffff;", "=b,~{memory}", NULL, 0,
                  true);
}
