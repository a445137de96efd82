/* occupancy: how many thread blocks a multiprocessor is to hold, for the assembler.
 *
 *     func @column_sum(..) {            =>      func @column_sum(..) blocks 4 {
 *
 * ptxas weighs registers against resident blocks by itself, and decides badly in two cases.
 * A loop that adds up what it loads gets 44 registers and one load in flight, because each
 * load is sunk to its use; told that four blocks are enough, the same PTX keeps all loads of
 * an iteration in flight and is unrolled. A kernel that needs more registers than there are
 * may be given 32 and spill the rest. Measured on an H200 beside Triton with the same
 * configuration: 133 configurations with such loops run at 1.23 of Triton's speed instead
 * of 1.04 (benchmarks/configurations.py).
 *
 * A loop needs room for its live words as the assembler schedules them, once more for what it
 * loads, since the next iteration's loads are in flight beside them, and for addresses. More
 * threads than ROOMY_THREADS gain nothing then. A divergence by blocks of 8192 and 8 warps on
 * an H100: 168 registers 2441 GB/s, 128 2817, 80 2606. Where those threads have fewer bytes in
 * flight than hide the latency, and an iteration has more to do than to add, or stores, others take the
 * place of the next iteration's loads, as many as fit without spills: a loop of Welford's loads
 * 16 bytes a thread, and by 8 warps runs at 1637 GB/s with 76 registers, 1798 with 61, 1945
 * with 39; the loop that stores a norm of 8192 by 512 and 8 warps keeps the kernel at 160 us with 40 registers, 147
 * with 32. A loop that only adds is unrolled by ptxas, and its grid may be small: sums of
 * columns and squares by 32x32 and 4 warps run at 2154 GB/s with 60 registers, 1008 with 32.
 * Few threads are not alone: SwiGLU's backward pass by 8 warps runs at 2359 GB/s as one block
 * with 139 registers and at 2881 as two with 121.
 *
 * Blocks that the launch has not cost nothing: where its programs have no more than MANY_THREADS on a
 * multiprocessor, registers are dealt for that many (at_most_grid asks the launch). Mamba's recurrence by
 * 64 and 2 warps, 512 programs on an H100: 194 GB/s with 64 registers, 286 with 87.
 *
 * Where each iteration waits for all warps of a block, as in an online softmax, nothing of it is in flight meanwhile, so
 * others have its registers: 32000 columns by blocks of 16384 and 32 warps on an H100 take 48 us with 44 registers, of one
 * block, and 37 with 32; a divergence by 4096 and 8 warps 74 with 68, and 64 with 64 or 40. The same holds where a
 * load waits for another one, which says where it is: means of rows that an index names, 256 bf16 by 4 warps, take 103
 * us with 40 registers and 90 with 32, by 8 warps 181 and 148.
 *
 * One block may be too few for another reason: while it sums across threads between two loops,
 * or starts or ends, no load of it is in flight. A function of several loops by many threads
 * has one block more than loops, where nothing spills for it. RMS norm (a loop that sums, a
 * loop that stores) by 16 warps, microseconds on an H200 with 2, 3 and 4 blocks: rows of 12288
 * 69, 58 and 58 (Triton 59), of 32768 144, 151 and 186 (155), whose second loop then no longer
 * finds them in L2.
 *
 * Rule 1: straight code keeps the assembler's choice: its loads stand at its top, and with room
 *         for more registers it holds fewer blocks, which was slower. Three kinds do not: the
 *         assembler moves a load behind a reduction that does not want it (a norm's backward
 *         pass, 0.89; weights, which all programs load, it may: with them in flight Liger's layer
 *         norm of 2560 by 4 warps has 112 registers and not 91), and it does not know that shared
 *         memory leaves room for few blocks (it spilled in a transpose of 128x128 by 4 warps, 0.89), and where elementwise ops load
 *         MANY_LOADED it uses some before it asks for the last, or takes a register too many
 *         for one block more: Adam by 1024 and 4 warps runs at 2645 GB/s with 42 registers, at
 *         2848 with 56, Lion by 4096 and 4 warps at 2741 with 136, at 2928 with 128 (H100).
 * Rule 2: products keep it, too: accumulators decide there, and no number changed them. Of chained products
 *         passes/simt/rings.c has decided: dk and dv of attention by 32x128, D = 64, 8 warps on an H100 took 367 us with
 *         161 registers and 290 with 128, of two blocks.
 * Rule 3: the user's maxnreg wins.
 * Rule 4: roles that deal out registers are one block's: setmaxnreg is for a known number.
 */
#include "passes/passes.h"

enum {
    ROOMY_THREADS = 1024, /* of a multiprocessor, with the next iteration's loads */
    MANY_THREADS = 512,   /* of a block, which may be alone */
    MOST_BLOCKS = 32,
    SPARE_WORDS = 14,      /* with which ptxas starts all loads before it uses any */
    FEW_ADDRESS_WORDS = 8, /* the least with which nothing spills */
    MOST_PHASES = 4,
    MANY_LOADED = 96, /* bytes a thread, of which ptxas holds some back */
    MANY_WORDS = 192, /* of a thread, from which on ptxas may give up and spill */
};

static bool
is_block_load(const Op *o)
{
    return o->op == OP_LOAD && result(o, 0)->type->rank;
}

static bool
is_block_store(const Op *o)
{
    return o->op == OP_STORE && arg(o, 0)->type->rank;
}

static bool
is_dot(const Op *o)
{
    return o->op == OP_DOT || o->op == OP_MMA_START;
}

/* Across warps, which wait for each other. */
static bool
is_exchange(const Op *o)
{
    return o->place && o->place->bytes;
}

/* Is it what a loop that loads an iteration ahead begins with? */
static bool
is_first_of_loop(const Op *load)
{
    for (const Use *u = result(load, 0)->uses; u; u = u->next)
        if (u->user->op != OP_FOR || u->user->block != load->block)
            return false;
    return result(load, 0)->uses != NULL;
}

/* In no loop within: a loop round a loop of loads is none more. Statistics of a batch norm by 4096 and 16 warps take
 * 87 us as three blocks, as many as two loops have, and 66 as four. */
static bool
has_own_load(const Block *b)
{
    for (const Op *o = b->first; o; o = o->next) {
        if (is_block_load(o) && !is_first_of_loop(o))
            return true;
        for (int r = 0; o->op == OP_IF && r < o->n_regions; r++)
            if (has_own_load(o->regions[r]))
                return true;
    }
    return false;
}

static bool
is_loop_of_loads(const Op *o)
{
    if ((o->op != OP_FOR && o->op != OP_WHILE) || ir_attr(o, ATTR_UNROLL) == 1)
        return false; /* or the rest of one */
    for (int r = 0; r < o->n_regions; r++)
        if (has_own_load(o->regions[r]))
            return true;
    return false;
}

/* Does it wait for other threads in each iteration, while none of its loads is in flight? */
static bool
is_loop_of_sums(const Op *o)
{
    return is_loop_of_loads(o) && ir_holds(o->regions[o->n_regions - 1], is_exchange);
}

/* Do roles? Then the assembler must know how many each thread begins with. */
static bool
deals_registers(const Func *f)
{
    for (const Op *o = f->body->first; o; o = o->next)
        if (o->op == OP_ROLES && ir_attr(o, ATTR_REGS))
            return true;
    return false;
}

static int
count_loops_of_loads(const Block *b)
{
    int n = 0;
    EACH_OP(o, b)
        n += is_loop_of_loads(o);
    return n;
}

/* Is there a load in front of the first reduction that this one does not want? */
static bool
has_waiting_load(const Func *f)
{
    const Op *o = f->body->first;
    while (o && o->op != OP_REDUCE)
        o = o->next;
    Map wanted = {.a = f->c->arena};
    for (bool is_wanted = true; o; o = o->prev, is_wanted = false) {
        if (op_has(o, OPF_CONTROL))
            return false;
        for (int i = 0; i < o->n_results; i++)
            is_wanted |= map_get(&wanted, result(o, i), 0) != NULL;
        if (!is_wanted && is_block_load(o) && !is_common_load(o))
            return true;
        for (int i = 0; i < o->n_args && is_wanted; i++)
            map_put(&wanted, arg(o, i), 0, arg(o, i));
    }
    return false;
}

/* words: with which nothing spills; 0 where threads hold nothing, as where copies feed products and store. */
static int64_t
most_blocks(const Chip *chip, int64_t threads, int64_t words)
{
    return MIN(chip_blocks_by_registers((int)threads, MAX(words, 1)),
               chip->threads / threads);
}

/* Does o take all of a block at once? */
static bool
is_together(const Op *o)
{
    return op_has(o, OPF_SCRATCH) || op_has(o, OPF_CONTROL);
}

/* Does an element cost more than an instruction, or do threads wait for each other? */
static bool
is_heavy(const Op *o)
{
    return op_has(o, OPF_SCRATCH) ||
           (op_has(o, OPF_ELEM) && o->n_results && result(o, 0)->type->rank &&
            gpu_element_cost(o) > 1);
}

/* Does a load wait for another one of the block, which says where it is? */
static bool
has_loaded_place(const Func *f, const Block *body)
{
    Map loaded = {.a = f->c->arena};
    for (const Op *o = body->first; o; o = o->next) {
        bool is_made = o->op == OP_LOAD;
        for (int i = 0; i < o->n_args; i++) {
            bool is_of_load = map_get(&loaded, arg(o, i), 0) != NULL;
            if (is_of_load && i == 0 && is_block_load(o))
                return true;
            is_made |= is_of_load;
        }
        for (int i = 0; i < o->n_results && is_made; i++)
            map_put(&loaded, result(o, i), 0, result(o, i));
    }
    return false;
}

/* By registers; *enough: the threads of a multiprocessor beyond which nothing is gained. While blocks wait for
 * threads of their own in each iteration, or for the place of what they load, others load. */
static int64_t
blocks_of_loop(const Chip *chip, const Func *f, const Op *loop, int64_t threads,
               int64_t *enough)
{
    const Block *body = loop->regions[loop->n_regions - 1];
    int64_t bytes,
        loaded = loaded_words(body, &bytes),
        words = scheduled_words(f, loop) + access_words(body),
        n = chip_blocks_by_registers((int)threads, words + loaded + SPARE_WORDS);
    bool has_place = has_loaded_place(f, body);
    if (!has_place && !ir_holds(body, is_heavy) && !ir_holds(body, is_block_store))
        return n;
    bool waits = has_place || ir_holds(f->body, is_loop_of_sums);
    if (waits || bytes * ROOMY_THREADS < bytes_in_flight(chip))
        *enough = chip->threads;
    if (waits || bytes * MIN(n * threads, *enough) < bytes_in_flight(chip))
        n = MAX(n, most_blocks(chip, threads, words));
    return n;
}

/* Does the launch have programs for more blocks of a multiprocessor than those which `bytes` in flight are for? */
static bool
has_more_than(Func *f, int64_t bytes, int64_t of_block)
{
    int n = (int)MAX(bytes / of_block, 1);
    return hopper_holds_fewer(f, n, n + 1);
}

/* The assembler unrolls a loop that only adds, as far as registers allow. Where the blocks of a multiprocessor
 * load enough by one iteration each, more of them make memory jump between more rows: sums down columns of 64
 * bytes by 512 threads and two blocks on an H100 run at 2286 GB/s with four iterations' loads on their way, at 2584
 * with one's; of 16 bytes by 128 threads at 993 and 1254. A loop that computes longer than it loads, such as counts of
 * 16 bins of each element, is left alone. */
static void
keep_rolled(const Chip *chip, Func *f, Op *loop, int64_t threads)
{
    enum { FEW_OPS = 16, MOST = 256 };
    const Block *body = loop->regions[loop->n_regions - 1];
    int64_t bytes, enough = bytes_in_flight(chip), loaded = loaded_words(body, &bytes);
    if (loop->op == OP_FOR && bytes * ROOMY_THREADS >= enough &&
        !ir_holds(body, is_heavy) && code_size(f, body, MOST) <= FEW_OPS * loaded &&
        has_more_than(f, enough, bytes * threads))
        ir_set_attr(loop, ATTR_UNROLL, 1);
}

/* Do loads of the loop bring pieces of rows narrower than what memory gives at once? */
static bool
is_of_narrow_rows(Func *f, const Block *body)
{
    enum { BURST = 64 };
    FactTable *facts = facts_new(f);
    for (const Op *o = body->first; o; o = o->next) {
        if (!is_block_load(o))
            continue;
        const Type *t = result(o, 0)->type;
        int dim = facts_fastest_dim(facts, o);
        if (t->rank > 1 && t->shape[dim] * ty_bytes(t) < BURST)
            return true;
    }
    return false;
}

/* What is next in such a row another program brings, and finds it in L2 as long as both are at the same rows. By twice
 * the bytes that fill the queue they are not: sums of 8 columns of f32 by 256 rows and 4 warps, 8 blocks on an H100, run
 * at 1735 GB/s with 53 registers and all loads of an iteration on their way, at 2271 with the assembler's 40. */
static bool
wants_few_in_flight(const Chip *chip, Func *f, const Op *loop, int64_t threads)
{
    const Block *body = loop->regions[loop->n_regions - 1];
    int64_t bytes, most = 2 * bytes_in_flight(chip);
    loaded_words(body, &bytes);
    return bytes * ROOMY_THREADS >= most && !ir_holds(body, is_heavy) &&
           is_of_narrow_rows(f, body) && has_more_than(f, most, bytes * threads);
}

/* n, or fewer where the launch has no more programs for a multiprocessor than would have
 * MANY_THREADS together. */
static int64_t
at_most_grid(Func *f, int64_t n, int64_t threads)
{
    int64_t k = MANY_THREADS / threads;
    return k < 2 || hopper_holds_fewer(f, (int)k, (int)n) ? n : MIN(n, k);
}

/* n, or as many as all programs of the launch are for a multiprocessor, where those that n leave over would have a round
 * of their own: a layer norm's backward pass by 512 programs of 8 warps on an H100 runs in 57 us as 3 blocks. */
static int64_t
in_one_round(Func *f, int64_t n, int64_t most)
{
    int64_t all = 1;
    while (all < n)
        all *= 2;
    bool is_all = all > n && all <= most &&
                  hopper_holds_fewer(f, (int)all / 2, (int)all) &&
                  !hopper_holds_fewer(f, (int)all, (int)all + 1);
    return is_all ? all : n;
}

static int64_t
blocks_of_loops(const Chip *chip, Func *f, int64_t threads)
{
    int n_loops = count_loops_of_loads(f->body);
    int64_t enough = ROOMY_THREADS, n = MOST_BLOCKS,
            most = most_blocks(chip, threads,
                               scheduled_words(f, NULL) + FEW_ADDRESS_WORDS);
    if (n_loops > 1 && threads >= MANY_THREADS)
        return MAX(MIN(most, MIN(n_loops + 1, MOST_PHASES)), 1);
    EACH_OP(o, f->body)
        if (is_loop_of_loads(o)) {
            n = MIN(n, blocks_of_loop(chip, f, o, threads, &enough));
            keep_rolled(chip, f, o, threads);
            if (n_loops == 1 && wants_few_in_flight(chip, f, o, threads))
                return 0;
        }
    n = MAX(n, threads < MANY_THREADS ? 2 : 1);
    n = MAX(MIN(n, MIN(most, enough / threads)), 1);
    return at_most_grid(f, in_one_round(f, n, most), threads);
}

/* 0: the assembler's choice. */
static int64_t
blocks_of_straight_code(const Chip *chip, const Func *f, int64_t threads)
{
    int64_t shared = chip_blocks_by_shared(chip, ir_shared_bytes(f)), bytes,
            loaded = loaded_words(f->body, &bytes), words = scheduled_words(f, NULL);
    if (shared * threads < chip->threads / 2)
        return MAX(MIN(shared, most_blocks(chip, threads, words)), 1);
    if (!ir_holds(f->body, is_together) && bytes >= MANY_LOADED)
        return most_blocks(chip, threads, loaded + access_words(f->body) + SPARE_WORDS);
    if (f->log2_ctas || !has_waiting_load(f))
        return 0;
    int64_t fit = most_blocks(chip, threads, words + access_words(f->body));
    bool is_enough = fit * threads >= chip->threads / 2 ||
                     bytes * fit * threads >= bytes_in_flight(chip);
    return is_enough ? MIN(fit, MOST_BLOCKS) : 0;
}

/* Where threads add a product to a sum of their own it is waited for, and tensor cores work for another block
 * meanwhile: as many as have room, if sums leave each thread what addresses take. ptxas knows of no other
 * block, and gave vLLM's product of float8 by 64x128x128 and four warps 214 registers, with which one fits;
 * of 199 none spills. Where that is too few, as beside rows that are gathered, compile.c asks for fewer blocks. */
static int64_t
blocks_of_sums(const Func *f)
{
    int64_t sums = own_sum_words(f);
    int64_t words = acc_words(f->body) + sums + OTHERS_OF_SUMS;
    if (!sums)
        return 1;
    HopperTrial *h = &f->c->hopper;
    int fit = hopper_blocks_of(f, block_warps(f), (int)words, ir_shared_bytes(f));
    return h->n_blocks = h->most_blocks ? MIN(fit, h->most_blocks) : fit;
}

/* 0: the assembler's choice. */
static int
blocks_wanted(Func *f)
{
    int64_t words = MAX(most_live_words(f), 1), threads = 32LL * f->team_warps;
    if (f->c->opt.maxnreg)
        return 0;
    if (deals_registers(f))
        return 1;
    const Chip *chip = chip_of(f->c->opt.target.sm);
    bool has_dot = ir_holds(f->body, is_dot);
    if (!has_dot && count_loops_of_loads(f->body))
        return (int)blocks_of_loops(chip, f, threads);
    if (words > MANY_WORDS)
        return (int)blocks_of_sums(f);
    return has_dot ? 0 : (int)blocks_of_straight_code(chip, f, threads);
}

void
pass_occupancy(Func *f)
{
    if (f->min_blocks) /* rings has left room for them */
        return;
    bool *has_pair = &f->c->hopper.has_pair;
    const Chip *chip = chip_of(f->c->opt.target.sm);
    *has_pair = *has_pair && chip_blocks_by_shared(chip, ir_shared_bytes(f)) > 1;
    f->min_blocks = *has_pair ? 2 : blocks_wanted(f);
    if (f->min_blocks && !deals_registers(f))
        ir_report(f, f->loc, "occupancy",
                  str_printf(f->c->arena,
                             "registers are dealt for %d block%s on a "
                             "multiprocessor, so that loads stay in flight",
                             f->min_blocks, f->min_blocks > 1 ? "s" : ""));
}
