/* emu: programs, fibers and what threads do together.
 *
 * A program's threads are fibers of one OS thread. Each runs until it waits: at a barrier
 * for the whole block, in a warp operation for the other 31 lanes. The last to arrive does
 * the work for all and runs on; the scheduler resumes the others in warp order, or in an
 * order shuffled by the seed, so a kernel that depends on the order shows it. When nobody
 * can run and somebody waits, a barrier was not reached by all.
 *
 * A fault abandons the program: its stacks are simply reset, for the code on them is the
 * kernel's and holds nothing of ours.
 */
#include "runtime/emu/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "ir/ir.h"

/* ---- faults ------------------------------------------------------------------------------ */

void
emu_fault(EmuThread *t, EmuFault fault, const EmuPlace *at, const char *fmt, ...)
{
    EmuBlock *b = t->b;
    EmuGrid *g = b->grid;
    pthread_mutex_lock(&g->lock);
    EmuReport *r = g->report;
    if (r->fault == EMU_OK) {
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(r->text, sizeof r->text, fmt, ap);
        va_end(ap);
        r->fault = fault;
        if (at) {
            r->file = at->file;
            r->func = at->func;
            r->line = at->line;
            r->col = at->col;
        }
        memcpy(r->pid, b->pid, sizeof r->pid);
        r->thread = t->id;
    }
    pthread_mutex_unlock(&g->lock);
    atomic_store(&g->stop, true);
    t->state = T_DONE;
    for (;;) /* the scheduler never resumes it */
        fiber_switch(&t->fiber, &b->scheduler);
}

/* ---- waiting ------------------------------------------------------------------------------- */

void
emu_wait(EmuThread *t, ThreadState state, const EmuPlace *at)
{
    t->state = state;
    t->at = at;
    fiber_switch(&t->fiber, &t->b->scheduler);
}

static const char *const warp_op_text[N_WARP_OP] = {
    [W_SYNC] = "warp_sync",    [W_XOR] = "shuffle_xor",   [W_IDX] = "shuffle_idx",
    [W_UP] = "shuffle_up",     [W_BALLOT] = "ballot",     [W_MMA] = "mma",
    [W_LDMATRIX] = "ldmatrix", [W_STMATRIX] = "stmatrix",
};

static void
do_warp_op(EmuThread *warp, WarpOp op)
{
    switch (op) {
    case W_SYNC:
        warp->b->warp_epoch[warp->id / LANES]++;
        emu_order_lanes(warp, UINT32_MAX);
        break;
    case W_XOR:
        for (int i = 0; i < LANES; i++)
            warp[i].out = warp[(i ^ warp[i].param) & (LANES - 1)].in;
        break;
    case W_IDX:
        for (int i = 0; i < LANES; i++)
            warp[i].out = warp[warp[i].param & (LANES - 1)].in;
        break;
    case W_UP:
        for (int i = 0; i < LANES; i++)
            warp[i].out = i < warp[i].param ? warp[i].in : warp[i - warp[i].param].in;
        break;
    case W_BALLOT: {
        uint32_t bits = 0;
        for (int i = 0; i < LANES; i++)
            bits |= (uint32_t)(warp[i].in & 1) << i;
        for (int i = 0; i < LANES; i++)
            warp[i].out = (int32_t)bits;
        break;
    }
    case W_MMA: emu_do_mma(warp); break;
    case W_LDMATRIX: emu_do_ldmatrix(warp); break;
    case W_STMATRIX: emu_do_stmatrix(warp); break;
    case N_WARP_OP: break;
    }
}

void
emu_warp_op(EmuThread *t, WarpOp op, const EmuPlace *at)
{
    EmuBlock *b = t->b;
    int w = t->id / LANES;
    EmuThread *warp = &b->threads[w * LANES];
    t->op = op;
    if (++b->arrived[w] < LANES) {
        emu_wait(t, T_WARP, at);
        return;
    }
    b->arrived[w] = 0;
    for (int i = 0; i < LANES; i++)
        if (warp[i].op != op)
            emu_fault(t, EMU_BARRIER, at, "lane %d is in %s while lane %d is in %s",
                      t->id % LANES, warp_op_text[op], i, warp_op_text[warp[i].op]);
    do_warp_op(warp, op);
    for (int i = 0; i < LANES; i++)
        if (warp[i].state == T_WARP)
            warp[i].state = T_READY;
}

void
emu_warp_sync(EmuThread *t, const EmuPlace *at)
{
    emu_warp_op(t, W_SYNC, at);
}

static int32_t
exchange(EmuThread *t, WarpOp op, int32_t v, int32_t param)
{
    t->in = v;
    t->param = param;
    emu_warp_op(t, op, NULL);
    return t->out;
}

int32_t
emu_shuffle_xor(EmuThread *t, int32_t v, int32_t mask)
{
    return exchange(t, W_XOR, v, mask);
}

int32_t
emu_shuffle_idx(EmuThread *t, int32_t v, int32_t lane)
{
    return exchange(t, W_IDX, v, lane);
}

int32_t
emu_shuffle_up(EmuThread *t, int32_t v, int32_t delta)
{
    return exchange(t, W_UP, v, delta);
}

int32_t
emu_ballot(EmuThread *t, int32_t bit)
{
    return exchange(t, W_BALLOT, bit, 0);
}

int32_t
emu_thread_id(EmuThread *t)
{
    return t->id;
}

int32_t
emu_program_id(EmuThread *t, int32_t axis)
{
    return t->b->pid[axis];
}

int32_t
emu_num_programs(EmuThread *t, int32_t axis)
{
    return t->b->grid->run->grid[axis];
}

/* ---- messages from the kernel ------------------------------------------------------------- */

void
emu_assert(EmuThread *t, const char *text, const EmuPlace *at)
{
    emu_fault(t, EMU_ASSERT, at, "%s", text);
}

void
emu_print(EmuThread *t, const EmuPrint *p, int32_t flat_index, uint64_t bits)
{
    EmuGrid *g = t->b->grid;
    FILE *out = g->run->out ? g->run->out : stdout;
    int32_t at[MAX_RANK], rest = flat_index;
    for (int d = p->rank - 1; d >= 0; d--) {
        at[d] = rest % p->shape[d];
        rest /= p->shape[d];
        if (at[d] >= p->sides[d])
            return;
    }
    pthread_mutex_lock(&g->lock);
    fprintf(out, "pid (%d, %d, %d) idx (", t->b->pid[0], t->b->pid[1], t->b->pid[2]);
    for (int d = 0; d < p->rank; d++) {
        int width = snprintf(NULL, 0, "%d", p->sides[d] - 1);
        fprintf(out, "%s%*d", d ? ", " : "", width, at[d]);
    }
    fprintf(out, ")%s", p->text);
    if (p->n_operands > 1)
        fprintf(out, "(operand %d) ", p->operand);
    Elem e = (Elem)p->elem;
    if (!p->n_operands)
        fputc('\n', out);
    else if (p->hex)
        fprintf(out, "0x%0*llx\n", (elem_info[e].bits + 3) / 4,
                (unsigned long long)bits);
    else if (elem_is_float(e))
        fprintf(out, "%f\n", elem_to_double(e, bits));
    else if (elem_is_signed(e))
        fprintf(out, "%lld\n", (long long)elem_to_int(e, bits));
    else
        fprintf(out, "%llu\n", (unsigned long long)bits);
    pthread_mutex_unlock(&g->lock);
}

/* ---- programs --------------------------------------------------------------------------------- */

static void
thread_main(void *data)
{
    EmuThread *t = data;
    const EmuRun *r = t->b->grid->run;
    r->kernel(t, r->params);
    emu_bulk_end(t);
    t->state = T_DONE;
    t->b->n_done++;
    for (;;)
        fiber_switch(&t->fiber, &t->b->scheduler);
}

static uint64_t
next_random(uint64_t *s) /* xorshift64*, Vigna 2016 */
{
    *s ^= *s >> 12;
    *s ^= *s << 25;
    *s ^= *s >> 27;
    return *s * 0x2545f4914f6cdd1dull;
}

static void
shuffle_order(EmuBlock *b)
{
    for (int i = b->n - 1; i > 0; i--) {
        int j = (int)(next_random(&b->rng) % (unsigned)(i + 1));
        uint16_t x = b->order[i];
        b->order[i] = b->order[j];
        b->order[j] = x;
    }
}

/* What a thread waits for, and who has come. */
static void
say_stuck(const EmuThread *t, char *text, size_t n)
{
    const EmuBlock *b = t->b;
    const EmuThread *warp = &b->threads[t->id / LANES * LANES];
    int here = 0, expected = 0;
    switch (t->state) {
    case T_CLUSTER:
        snprintf(text, n, "exchange %d of a cluster lacks %lld bytes", t->site,
                 (long long)t->cta->to_come[t->site]);
        break;
    case T_CLUSTER_BARRIER:
        snprintf(text, n, "the cluster's barrier reached by %d of %d threads",
                 b->n_at_cluster, b->n);
        break;
    case T_GATHER:
    case T_BARRIER:
        here = emu_at_barrier(t, &expected);
        if (t->arrival->id)
            snprintf(text, n, "barrier %d reached by %d of %d threads", t->arrival->id,
                     here, expected);
        else
            snprintf(text, n, "barrier reached by %d of %d threads", here, expected);
        break;
    case T_MEET: {
        PtxStop stop = ptx_stop(t->assembly);
        for (int l = 0; l < LANES; l++)
            here += warp[l].state == T_MEET && warp[l].members == t->members &&
                    ptx_stop(warp[l].assembly).ins == stop.ins;
        snprintf(text, n, "assembly reached by %d of %d threads: %s in line %d of it",
                 here, __builtin_popcount(t->members), stop.words, stop.line);
        break;
    }
    default:
        snprintf(text, n, "%s reached by %d of %d threads", warp_op_text[t->op],
                 b->arrived[t->id / LANES], LANES);
    }
}

/* Nobody can run: name one who waits and say what for. */
static void
report_stuck(EmuBlock *b)
{
    EmuGrid *g = b->grid;
    EmuThread *t = NULL;
    for (int i = 0; i < b->n && !t; i++)
        if (b->threads[i].state != T_DONE)
            t = &b->threads[i];
    pthread_mutex_lock(&g->lock);
    EmuReport *r = g->report;
    if (t && r->fault == EMU_OK) {
        r->fault = EMU_BARRIER;
        say_stuck(t, r->text, sizeof r->text);
        if (t->at) {
            r->file = t->at->file;
            r->func = t->at->func;
            r->line = t->at->line;
            r->col = t->at->col;
        }
        memcpy(r->pid, b->pid, sizeof r->pid);
        r->thread = t->id;
    }
    pthread_mutex_unlock(&g->lock);
    atomic_store(&g->stop, true);
}

/* On the stack of the scheduler: Python runs on no other. */
static void
look(EmuBlock *b)
{
    if (!attend(b->attendant, &b->pace))
        atomic_store(&b->grid->stop, true);
}

void
emu_poll(EmuThread *t)
{
    if (--t->b->pace.left >= 0)
        return;
    t->b->is_polled = true;
    fiber_switch(&t->fiber, &t->b->scheduler);
}

/* Until it waits. false: the run is to end. */
static bool
run_thread(EmuBlock *b, EmuThread *t)
{
    do {
        b->is_polled = false;
        fiber_switch(&b->scheduler, &t->fiber);
        if (b->is_polled || --b->pace.left < 0)
            look(b);
        if (atomic_load_explicit(&b->grid->stop, memory_order_relaxed))
            return false;
    } while (b->is_polled);
    return true;
}

static void
run_program(EmuBlock *b, long long linear)
{
    const EmuRun *r = b->grid->run;
    b->pid[0] = (int32_t)(linear % r->grid[0]);
    b->pid[1] = (int32_t)(linear / r->grid[0] % r->grid[1]);
    b->pid[2] = (int32_t)(linear / r->grid[0] / r->grid[1]);
    b->n_done = 0;
    b->n_areas = 0;
    emu_bulk_clear(b);
    emu_races_end(b);
    b->n_at_cluster = 0;
    memset(b->arrived, 0, sizeof b->arrived);
    memset(b->at_barrier, 0, sizeof b->at_barrier);
    for (int i = 0; i < b->n_ctas; i++)
        b->first_epoch = MAX(b->first_epoch, b->ctas[i].epoch + 1);
    for (int i = 0; i < b->n_ctas; i++) {
        EmuCta *cta = &b->ctas[i];
        memset(cta->barrier, 0, sizeof cta->barrier);
        cta->epoch = b->first_epoch;
        cta->opened = 0;
        memset(cta->to_come, 0, sizeof cta->to_come);
        /* Poison: all ones is NaN in every float type and -1 in every integer one. */
        memset(cta->shared, 0xff, (size_t)r->shared_bytes);
    }
    for (int i = 0; i < b->n; i++) {
        b->threads[i].state = T_READY;
        b->threads[i].n_copies = 0;
        b->threads[i].n_landed = 0;
        b->threads[i].group = 0;
        b->threads[i].bulk_group = 0;
        b->threads[i].sites_seen = 0;
        b->threads[i].has_arrived = false;
        fiber_reset(&b->threads[i].fiber, thread_main, &b->threads[i]);
    }
    while (b->n_done < b->n) {
        bool progress = false;
        if (r->seed)
            shuffle_order(b);
        for (int i = 0; i < b->n; i++) {
            EmuThread *t = &b->threads[b->order[i]];
            if (t->state != T_READY)
                continue;
            progress = true;
            if (!run_thread(b, t))
                return;
        }
        if (!progress && !emu_meet_few(b)) {
            report_stuck(b);
            return;
        }
    }
}

static void
block_free(EmuBlock *b)
{
    for (int i = 0; b->threads && i < b->n; i++) {
        fiber_free(&b->threads[i].fiber);
        free(b->threads[i].copies);
    }
    free(b->threads);
    free(b->order);
    free(b->areas);
    emu_bulk_clear(b);
    free(b->bulk);
    emu_races_end(b);
    for (int i = 0; b->ctas && i < b->n_ctas; i++) {
        free(b->ctas[i].shared);
        free(b->ctas[i].shadow);
        free(b->ctas[i].asm_shared);
        free(b->ctas[i].asm_state);
        free(b->ctas[i].asm_bytes);
    }
    free(b->ctas);
}

static bool
block_init(EmuBlock *b, EmuGrid *g, uint64_t rng)
{
    const EmuRun *r = g->run;
    memset(b, 0, sizeof *b);
    b->grid = g;
    b->n_ctas = MAX(r->num_ctas, 1);
    b->n = r->num_warps * LANES * b->n_ctas;
    b->rng = rng;
    size_t shared = (size_t)MAX(r->shared_bytes, 1);
    b->threads = calloc((size_t)b->n, sizeof *b->threads);
    b->order = calloc((size_t)b->n, sizeof *b->order);
    b->ctas = calloc((size_t)b->n_ctas, sizeof *b->ctas);
    if (!b->threads || !b->order || !b->ctas)
        return false;
    for (int i = 0; i < b->n_ctas; i++) {
        b->ctas[i].shared = aligned_alloc(1024, (shared + 1023) / 1024 * 1024);
        b->ctas[i].shadow = calloc(shared, sizeof *b->ctas[i].shadow);
        if (!b->ctas[i].shared || !b->ctas[i].shadow)
            return false;
    }
    /* Unoptimised code keeps every register of a wide block on the stack. */
    size_t stack = b->n <= 256 ? (size_t)4 << 20 : (size_t)1 << 20;
    for (int i = 0; i < b->n; i++) {
        b->threads[i].b = b;
        b->threads[i].id = i;
        b->threads[i].cta = &b->ctas[i / (b->n / b->n_ctas)];
        b->order[i] = (uint16_t)i;
        if (!fiber_alloc(&b->threads[i].fiber, stack))
            return false;
    }
    return true;
}

static void
run_programs(EmuGrid *g, Attendant *attendant)
{
    EmuBlock b;
    if (!block_init(&b, g, g->run->seed)) {
        pthread_mutex_lock(&g->lock);
        if (g->report->fault == EMU_OK) {
            g->report->fault = EMU_NO_MEMORY;
            snprintf(g->report->text, sizeof g->report->text,
                     "no memory for %d emulated threads", b.n);
        }
        pthread_mutex_unlock(&g->lock);
        atomic_store(&g->stop, true);
        block_free(&b);
        return;
    }
    b.attendant = attendant;
    fiber_here(&b.scheduler);
    for (;;) {
        long long i = atomic_fetch_add(&g->next, 1);
        if (i >= g->n_programs || atomic_load(&g->stop))
            break;
        if (g->run->seed) /* the order of a program depends on the program alone */
            b.rng = (g->run->seed + 1) * 0x9e3779b97f4a7c15ull ^ (uint64_t)(i + 1);
        run_program(&b, i);
    }
    block_free(&b);
}

static void *
worker(void *data)
{
    run_programs(data, NULL);
    return NULL;
}

static bool
is_orphan(const EmuRun *r)
{
    return r->attendant && r->attendant->last == ATTEND_FORKED;
}

/* For a helper, with signals looked after. */
static void
join(EmuGrid *g, pthread_t helper)
{
    Pace pace = {0};
    for (;;) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += ATTEND_MS / 2 * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (pthread_timedjoin_np(helper, NULL, &until) != ETIMEDOUT)
            return;
        if (!attend(g->run->attendant, &pace))
            atomic_store(&g->stop, true);
        if (is_orphan(g->run))
            return;
    }
}

bool
emu_run(const EmuRun *r, EmuReport *report)
{
    EmuGrid g = {.run = r, .report = report};
    memset(report, 0, sizeof *report);
    g.n_programs = (long long)r->grid[0] * r->grid[1] * r->grid[2];
    pthread_mutex_init(&g.lock, NULL);
    enum { MAX_WORKERS = 64 };
    pthread_t tid[MAX_WORKERS];
    int n = (int)MIN((long long)MIN(MAX(r->n_host_threads, 1), MAX_WORKERS),
                     g.n_programs);
    int started = 0;
    for (; started < n - 1; started++)
        if (pthread_create(&tid[started], NULL, worker, &g))
            break; /* fewer workers do the same work */
    run_programs(&g, r->attendant);
    for (int i = 0; i < started && !is_orphan(r); i++)
        join(&g, tid[i]);
    if (!is_orphan(r))
        pthread_mutex_destroy(&g.lock);
    return report->fault == EMU_OK;
}

/* ---- symbols ------------------------------------------------------------------------------------ */

#define SYMBOL(f) {#f, (void *)(uintptr_t)f}
const EmuSymbol emu_symbols[] = {
    SYMBOL(emu_thread_id),    SYMBOL(emu_program_id),   SYMBOL(emu_num_programs),
    SYMBOL(emu_barrier),      SYMBOL(emu_warp_sync),    SYMBOL(emu_shuffle_xor),
    SYMBOL(emu_shuffle_idx),  SYMBOL(emu_shuffle_up),   SYMBOL(emu_ballot),
    SYMBOL(emu_global),       SYMBOL(emu_shared_load),  SYMBOL(emu_shared_store),
    SYMBOL(emu_shared_add),   SYMBOL(emu_mma),          SYMBOL(emu_ldmatrix),
    SYMBOL(emu_stmatrix),     SYMBOL(emu_atomic),       SYMBOL(emu_cas),
    SYMBOL(emu_poll),         SYMBOL(emu_assert),       SYMBOL(emu_print),
    SYMBOL(emu_async_copy),   SYMBOL(emu_async_commit), SYMBOL(emu_async_wait),
    SYMBOL(emu_cluster_open), SYMBOL(emu_cluster_send), SYMBOL(emu_cluster_wait),
    SYMBOL(emu_assembly),
};
const int n_emu_symbols = COUNT(emu_symbols);
