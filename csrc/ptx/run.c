/* run: blocks of elements through assembly, 32 packs at a time.
 *
 *     elements  0 1 2 3 | 4 5 6 7 | ..       pack 4 of i8: $1 of lane 0 is 3:2:1:0
 *     lane         0         1
 *
 * Lanes that part at a branch wait for those with a lower pc, as ptxsim's do; there is no
 * instruction in which they would have to meet. What a loop may take is bounded.
 */
#include "ptx/run.h"
#include "ptx/specials.h"

#include <inttypes.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

enum {
    SMALL = 8192,   /* bytes of registers that are kept on the stack */
    POLL = 256,     /* instructions that letting others run counts as */
    MEETING = 4096, /* that meeting them does */
    MOST_THREADS = 1024
};
static const int64_t most_instructions = INT64_C(1) << 28;

typedef struct PtxThread Exec;
struct PtxThread {
    Lanes lanes; /* first */
    PtxRun *r;
    const Func *f;
    const Ins *at; /* where it meets others */
    char *err;
    int64_t n_left; /* instructions */
    /* Under a mask: of each lane's pack, the first element that is on. */
    int64_t first_on[LANES];
    jmp_buf *stop;
};

/* ---- what lanes ask for ---------------------------------------------------------- */

static __attribute__((noreturn)) void
fault(Lanes *w, const Ins *i, int lane, const char *text)
{
    Exec *x = (Exec *)(void *)w;
    (void)lane;
    snprintf(x->err, PTX_ERROR, "%s; %s in line %d of the assembly", text, i->words,
             i->line);
    longjmp(*x->stop, 1);
}

/* An address of shared memory as a piece of it: the block's rank stands above. */
static PtxShared
piece_of(Space space, uint64_t address, uint32_t n)
{
    PtxShared s = {-1, address - SHARED_BASE, n};
    if (space == SPACE_CLUSTER && address >> CLUSTER_SHIFT) {
        uint64_t rank = (address >> CLUSTER_SHIFT) - 1;
        s.rank = rank < INT32_MAX ? (int)rank : INT32_MAX;
        s.offset = (address & ((1u << CLUSTER_SHIFT) - 1)) - SHARED_BASE;
    }
    return s;
}

static uint8_t *
shared_at(Lanes *w, const Ins *i, int lane, const PtxShared *s)
{
    const Exec *x = (Exec *)(void *)w;
    void *at = NULL;
    const char *why = x->r->team->shared(x->r, s, &at);
    if (why)
        fault(w, i, lane, why);
    if (s->offset & (s->n - 1))
        fault(w, i, lane, "misaligned, in shared memory");
    return at;
}

/* Ends the run where the memory may not be touched. */
static void
ask(Lanes *w, uint64_t address, uint32_t n, bool is_store)
{
    Exec *x = (Exec *)(void *)w;
    PtxAccess a = {address, (int)n, is_store};
    if (x->r->may && !x->r->may(x->r, &a)) {
        x->r->refused = a;
        *x->err = 0;
        longjmp(*x->stop, 1);
    }
}

static uint8_t *
bytes_at(Lanes *w, const Ins *i, int lane, Space space, uint64_t address, uint32_t n,
         bool is_store)
{
    const Exec *x = (Exec *)(void *)w;
    char text[128];
    space = lanes_space(space, &address);
    if ((space == SPACE_SHARED || space == SPACE_CLUSTER) && x->r->team) {
        PtxShared s = piece_of(space, address, n);
        return shared_at(w, i, lane, &s);
    }
    if (space != SPACE_GLOBAL)
        fault(w, i, lane, "only global memory is there");
    ask(w, address, n, is_store);
    if (address & (n - 1)) {
        snprintf(text, sizeof text, "misaligned: a %s of %u bytes at %#" PRIx64,
                 is_store ? "store" : "load", n, address);
        fault(w, i, lane, text);
    }
    return (uint8_t *)(uintptr_t)address;
}

/* ---- copies, and the block's number: of a thread among others -------------------- */

static void
copy_later(Lanes *w, const Ins *i, int lane, uint64_t to, uint64_t from, uint32_t n)
{
    const Exec *x = (Exec *)(void *)w;
    PtxShared s = piece_of(SPACE_SHARED, to, i->bytes);
    shared_at(w, i, lane, &s);
    if (n == i->bytes)
        ask(w, from, n, false);
    for (uint32_t k = 0; n < i->bytes && k < n; k++)
        ask(w, from + k, 1, false); /* a part of it has any length */
    x->r->team->copy(x->r, &s, from, (int)n);
}

static void
commit_copies(Lanes *w, uint32_t m)
{
    const Exec *x = (Exec *)(void *)w;
    (void)m; /* a thread is one lane */
    x->r->team->commit(x->r);
}

static void
wait_for_copies(Lanes *w, const Ins *i, uint32_t m, int64_t pending)
{
    const Exec *x = (Exec *)(void *)w;
    (void)i, (void)m;
    x->r->team->wait(x->r, pending > INT32_MAX ? INT32_MAX : (int)pending);
}

static int
own_rank(const Lanes *w)
{
    return ((const Exec *)(const void *)w)->r->rank;
}

/* Nanoseconds. */
static uint64_t
now(Lanes *w)
{
    struct timespec t;
    (void)w;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static const Owner owner = {.bytes = bytes_at,
                            .clock = now,
                            .copy = copy_later,
                            .commit = commit_copies,
                            .wait = wait_for_copies,
                            .rank = own_rank,
                            .fault = fault};

/* The program is a warp of one lane on the emulator's terms, and a thread alone on a CPU. */
static uint64_t
special(const PtxRun *r, int which)
{
    int lane = r->thread % LANES;
    uint32_t bit = 1u << lane;
    uint64_t n_ranks = r->n_ranks > 1 ? (uint64_t)r->n_ranks : 1,
             rank = (uint64_t)r->rank;
    switch (which) {
    case S_TID_X: return (uint64_t)r->thread;
    case S_NTID_X: return (uint64_t)r->n_threads;
    case S_NTID_Y:
    case S_NTID_Z:
    case S_CLUSTER_NCTAID_Y:
    case S_CLUSTER_NCTAID_Z: return 1;
    case S_CLUSTER_NCTAID_X:
    case S_CLUSTER_NCTARANK: return n_ranks;
    case S_CLUSTER_CTAID_X:
    case S_CLUSTER_CTARANK: return rank;
    case S_CTAID_X: return (uint64_t)r->pid[0] * n_ranks + rank;
    case S_CTAID_Y:
    case S_CTAID_Z: return (uint64_t)r->pid[which - S_CTAID_X];
    case S_NCTAID_X: return (uint64_t)r->grid[0] * n_ranks;
    case S_NCTAID_Y:
    case S_NCTAID_Z: return (uint64_t)r->grid[which - S_NCTAID_X];
    case S_CLUSTERID_X:
    case S_CLUSTERID_Y:
    case S_CLUSTERID_Z: return (uint64_t)r->pid[which - S_CLUSTERID_X];
    case S_NCLUSTERID_X:
    case S_NCLUSTERID_Y:
    case S_NCLUSTERID_Z: return (uint64_t)r->grid[which - S_NCLUSTERID_X];
    case S_LANEID: return (uint64_t)lane;
    case S_WARPID: return (uint64_t)(r->thread / LANES);
    case S_NWARPID: return (uint64_t)((r->n_threads + LANES - 1) / LANES);
    case S_SMID: {
        int cpu = sched_getcpu();
        return cpu < 0 ? 0 : (uint64_t)cpu;
    }
    case S_NSMID: return (uint64_t)sysconf(_SC_NPROCESSORS_CONF);
    case S_GRIDID: return 1;
    case S_LANEMASK_EQ: return bit;
    case S_LANEMASK_LE: return bit | (bit - 1);
    case S_LANEMASK_LT: return bit - 1;
    case S_LANEMASK_GE: return (uint32_t)~(bit - 1);
    case S_LANEMASK_GT: return (uint32_t)~(bit | (bit - 1));
    default: return 0; /* no shared memory; clocks are read when they are asked */
    }
}

/* ---- elements <-> registers ------------------------------------------------------ */

static int
width(const PtxBlock *b)
{
    return b->bits < 8 ? 8 : b->bits;
}

static uint64_t
get_element(const PtxBlock *b, int64_t at)
{
    uint64_t v = 0; /* little-endian, as every target there is */
    memcpy(&v, (const char *)b->data + at * b->stride, (size_t)width(b) / 8);
    return v;
}

/* What lies above the element in its place becomes 0. */
static void
put_element(const PtxBlock *b, int64_t at, uint64_t v)
{
    if (width(b) < 64)
        v &= (UINT64_C(1) << width(b)) - 1;
    v = b->bits == 1 ? v != 0 : v;
    memcpy((char *)b->data + at * b->stride, &v, (size_t)b->stride);
}

/* n places of `bytes` each, so far apart, to others. */
static void
copy(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step, int bytes,
     int n)
{
    if (to_step == bytes && from_step == bytes) {
        memcpy(to, from, (size_t)(n * bytes));
        return;
    }
    for (int l = 0; l < n; l++, to += to_step, from += from_step)
        switch (bytes) {
        case 1: *to = *from; break;
        case 2: memcpy(to, from, 2); break;
        case 4: memcpy(to, from, 4); break;
        default: memcpy(to, from, 8);
        }
}

/* Register k of a pack has elements from k * each on. Are these, in the memory of all lanes
 * from pack `first` on, what the register has? Then *at is the first lane's. */
static bool
is_plain(const PtxRun *r, Reg reg, const PtxBlock *b, int k, int64_t first, int n_lanes,
         uint8_t **at)
{
    int each = ptx_per_register(width(b), r->pack);
    if (b->bits < 8 || (first + n_lanes) * r->pack > r->n || (k + 1) * each > r->pack ||
        each * width(b) != 8 * reg.bytes || (each > 1 && b->stride * 8 != width(b)))
        return false;
    *at = (uint8_t *)b->data + (first * r->pack + k * each) * b->stride;
    return true;
}

static bool
is_on(const PtxRun *r, int64_t at)
{
    return !r->mask.data || get_element(&r->mask, at) & 1;
}

/* The lanes whose packs run; first_on of these. */
static uint32_t
lanes_on(Exec *x, int64_t first, int n_lanes)
{
    const PtxRun *r = x->r;
    uint32_t on = n_lanes == LANES ? (uint32_t)FULL : (1u << n_lanes) - 1;
    for (int l = 0; r->mask.data && l < n_lanes; l++) {
        int64_t at = (first + l) * r->pack, end = at + r->pack;
        end = end < r->n ? end : r->n;
        while (at < end && !is_on(r, at))
            at++;
        x->first_on[l] = at;
        on &= ~((uint32_t)(at == end) << l);
    }
    return on;
}

/* A pack that is not full repeats the last element, one that is not all on its first that is.
 * Lanes that are off get anything. */
static void
load_register(Exec *x, Reg reg, const PtxBlock *b, int k, int64_t first, int n_lanes)
{
    const PtxRun *r = x->r;
    int each = ptx_per_register(width(b), r->pack);
    uint8_t *from;
    if ((!r->mask.data || r->pack == 1) &&
        is_plain(r, reg, b, k, first, n_lanes, &from)) {
        copy(LANE(uint8_t, &x->lanes, reg.at), reg.bytes, from,
             (int64_t)r->pack * b->stride, reg.bytes, n_lanes);
        return;
    }
    uint64_t v[LANES] = {0};
    for (int l = 0; l < n_lanes; l++)
        for (int e = 0; e < each && k * each + e < r->pack; e++) {
            int64_t at = (first + l) * r->pack + k * each + e;
            at = at < r->n ? at : r->n - 1;
            if (!is_on(r, at) && x->first_on[l] < r->n)
                at = x->first_on[l];
            v[l] |= get_element(b, at) << e * (width(b) & 63);
        }
    if (reg.bytes == 1)
        for (int l = 0; l < n_lanes; l++)
            v[l] &= 1;
    lanes_put(&x->lanes, reg, (uint32_t)FULL, v);
}

static void
store_register(Exec *x, Reg reg, const PtxBlock *b, int k, int64_t first, int n_lanes)
{
    const PtxRun *r = x->r;
    int each = ptx_per_register(width(b), r->pack);
    uint8_t *to;
    if (!r->mask.data && b->stride * 8 == width(b) &&
        is_plain(r, reg, b, k, first, n_lanes, &to)) {
        copy(to, (int64_t)r->pack * b->stride, LANE(uint8_t, &x->lanes, reg.at),
             reg.bytes, reg.bytes, n_lanes);
        return;
    }
    uint64_t v[LANES];
    lanes_get(&x->lanes, reg, v);
    for (int l = 0; l < n_lanes; l++)
        for (int e = 0; e < each && k * each + e < r->pack; e++) {
            int64_t at = (first + l) * r->pack + k * each + e;
            if (at < r->n)
                put_element(b, at, is_on(r, at) ? v[l] >> e * (width(b) & 63) : 0);
        }
}

/* ---- instructions ---------------------------------------------------------------- */

/* The lanes that take turns: those with the lowest pc run. */
typedef struct Turns {
    uint32_t alive, mask; /* all lanes; those that run now */
    int pc, wait_pc; /* theirs; the lowest of the others, INT32_MAX: there are none */
    int lane_pc[LANES]; /* of the others */
} Turns;

static void
regroup(Turns *t)
{
    int low = INT32_MAX, after = INT32_MAX;
    uint32_t m = 0;
    for (int l = 0; l < LANES; l++) {
        if (t->mask >> l & 1)
            t->lane_pc[l] = t->pc;
        if (!(t->alive >> l & 1))
            continue;
        int pc = t->lane_pc[l];
        if (pc < low)
            after = low, low = pc, m = 0;
        else if (pc > low && pc < after)
            after = pc;
        m |= (uint32_t)(pc == low) << l;
    }
    t->pc = low;
    t->mask = m;
    t->wait_pc = after;
}

static void
branch(Turns *t, int target, uint32_t m)
{
    if (m == t->mask) {
        t->pc = target;
        return;
    }
    t->pc++;
    for (int l = 0; l < LANES; l++)
        if (m >> l & 1)
            t->lane_pc[l] = target;
    t->mask &= ~m;
    if (m && target < t->wait_pc)
        t->wait_pc = target;
}

static uint32_t
number(const Exec *x, Reg r)
{
    return *LANE(uint32_t, &x->lanes, r.at);
}

static void
wait_at_barrier(Exec *x, const Ins *i)
{
    static const char reds[] = "pao"; /* as decoded: popc, and, or */
    bool red = i->flags & BAR_RED;
    uint32_t id = number(x, i->in[0]), n = i->n_in > 1 + red ? number(x, i->in[1]) : 0;
    if (id >= N_BARRIERS)
        lanes_fault(&x->lanes, i, 0, "barrier %u: there are %d", id, N_BARRIERS);
    if (i->n_in > 1 + red && (!n || n % LANES || n > MOST_THREADS))
        lanes_fault(&x->lanes, i, 0, "a barrier of %u threads", n);
    PtxBarrier b = {.id = (int)id,
                    .n_threads = (int)n,
                    .arrives = i->flags & BAR_ARRIVE,
                    .red = red ? reds[i->op] : 0};
    if (red)
        b.holds = (lanes_true(&x->lanes, i->in[i->n_in - 1]) & 1) != (i->imm != 0);
    x->r->team->barrier(x->r, x, &b);
    uint64_t v[LANES] = {b.result};
    if (red)
        lanes_put(&x->lanes, i->out[0], 1, v);
}

/* A thread at an instruction that is not its alone. */
static void
with_others(Exec *x, const Ins *i)
{
    const PtxTeam *team = x->r->team;
    uint32_t mask = (uint32_t)FULL;
    const char *why;
    x->at = i;
    x->n_left -= i->flow == FLOW_YIELD ? POLL : MEETING;
    switch (i->flow) {
    case FLOW_BARRIER: wait_at_barrier(x, i); break;
    case FLOW_CLUSTER:
        if ((why = team->cluster(x->r, x, i->flags & BAR_ARRIVE)))
            fault(&x->lanes, i, 0, why);
        break;
    case FLOW_YIELD:
        if (i->run)
            i->run(&x->lanes, i, 1);
        team->yield(x->r);
        break;
    default:
        if (i->members)
            mask = number(x, i->in[i->members - 1]);
        if (!(mask >> x->r->thread % LANES & 1))
            lanes_fault(&x->lanes, i, 0, "the lane is not in its own mask %#x", mask);
        team->meet(x->r, x, mask);
    }
}

PtxStop
ptx_stop(const PtxThread *t)
{
    return (PtxStop){t->at, t->at->words, t->at->line, t->at->is_loose};
}

/* A register of each thread's lane 0 <-> lanes of one file. */
static void
gather(Exec *const all[LANES], uint32_t m, uint8_t *file, Reg r, bool is_back)
{
    for (int l = 0; l < LANES; l++) {
        if (!(m >> l & 1))
            continue;
        uint8_t *own = LANE(uint8_t, &all[l]->lanes, r.at),
                *here = file + r.at + (size_t)l * r.bytes;
        memcpy(is_back ? own : here, is_back ? here : own, r.bytes);
    }
}

/* What came from a lane of no mask is as memory that nobody wrote: ones. */
static void
poison(Lanes *w, Reg r)
{
    uint64_t ones[LANES];
    memset(ones, r.bytes == 1 ? 1 : 0xff, sizeof ones);
    lanes_put(w, r, w->undef[r.id], ones);
    w->undef[r.id] = 0;
}

void
ptx_together(PtxThread *const all[LANES], uint32_t mask, int by)
{
    Exec *me = all[by], both = *me;
    const Ins *i = me->at;
    both.lanes.file = NULL;
    both.lanes.alive = mask;
    if (posix_memalign((void **)&both.lanes.file, 64, me->f->file_bytes + 64))
        fault(&me->lanes, i, 0, "out of memory");
    uint8_t *volatile file = both.lanes.file;
    jmp_buf stop;
    both.stop = &stop;
    if (setjmp(stop)) {
        free(file);
        longjmp(*me->stop, 1);
    }
    memset(file, 0, me->f->file_bytes);
    for (int k = 0; k < i->n_in; k++)
        gather(all, mask, file, i->in[k], false);
    for (int k = 0; k < i->n_out; k++)
        gather(all, mask, file, i->out[k], false);
    i->run(&both.lanes, i, mask);
    for (int k = 0; k < i->n_out; k++) {
        poison(&both.lanes, i->out[k]);
        gather(all, mask, file, i->out[k], true);
    }
    free(file);
}

static void
run_lanes(Exec *x, const Func *f, uint32_t all)
{
    Turns t = {.alive = all, .mask = all, .wait_pc = INT32_MAX};
    for (;;) {
        if (t.pc >= t.wait_pc)
            regroup(&t);
        if (t.pc >= f->n_code)
            return;
        const Ins *i = &f->code[t.pc];
        uint32_t m = t.mask;
        if (--x->n_left < 0)
            fault(&x->lanes, i, 0, "no end in sight");
        if (i->has_guard) {
            uint32_t p = lanes_true(&x->lanes, i->guard);
            m &= i->guard_not ? ~p : p;
        }
        if (i->flow == FLOW_BRA) {
            branch(&t, i->target, m);
            continue;
        }
        if (m && x->r->team && (i->meets || i->flow != FLOW_NEXT))
            with_others(x, i);
        else if (m && i->run)
            /* Beyond the lanes that are there lies memory of the file: full loops are fast. */
            i->run(&x->lanes, i, m);
        else if (m && i->flow == FLOW_YIELD)
            sched_yield();
        t.pc++;
    }
}

/* Each pack has variables of its own, as each copy of the text has on a GPU. */
static void
place_variables(Exec *x, const Func *f, uint64_t base)
{
    for (int k = 0; k < f->n_consts; k++) {
        const Const *c = &f->consts[k];
        uint64_t v[LANES];
        for (int l = 0; l < LANES && c->sym; l++)
            v[l] = c->value + c->sym->offset + base;
        if (c->sym)
            lanes_put(&x->lanes, c->reg, (uint32_t)FULL, v);
    }
}

static void
run_all(Exec *x, const PtxAsm *a, const uint8_t *image)
{
    const Func *f = a->func;
    PtxRun *r = x->r;
    int64_t n_packs = (r->n + r->pack - 1) / r->pack;
    int step = a->meets ? 1 : LANES;
    uint32_t shared = (f->mod->shared_bytes + 15) & ~15u;
    int64_t base = 0;
    if (shared && f->n_code &&
        (base = r->team->place(r, (uint64_t)n_packs * shared)) < 0)
        fault(&x->lanes, &f->code[0], 0, "out of shared memory");
    for (int64_t first = 0; first < n_packs; first += step) {
        int n = n_packs - first < step ? (int)(n_packs - first) : step;
        uint32_t on = lanes_on(x, first, n);
        memcpy(x->lanes.file, image, f->file_bytes);
        if (shared)
            place_variables(x, f, (uint64_t)(base + first * shared));
        x->lanes.carry = 0;
        int at = a->form.n_out;
        for (int i = 0; i < r->n_in; i++)
            for (int k = 0; k < ptx_registers(width(&r->in[i]), r->pack); k++)
                load_register(x, a->reg[at++], &r->in[i], k, first, n);
        if (on)
            run_lanes(x, f, on);
        at = 0;
        for (int i = 0; i < r->n_out; i++)
            for (int k = 0; k < ptx_registers(width(&r->out[i]), r->pack); k++)
                store_register(x, a->reg[at++], &r->out[i], k, first, n);
    }
}

bool
ptx_asm_run(const PtxAsm *a, PtxRun *r, char err[PTX_ERROR])
{
    const Func *f = a->func;
    uint64_t small[SMALL / 8];
    size_t file = (f->file_bytes + 63) & ~(size_t)63,
           masks = 5 * (f->n_regs + 1) * sizeof(uint32_t), size = 64 + 2 * file + masks;
    void *volatile heap = NULL;
    int bits[PTX_MAX_OPERANDS];
    *err = 0;
    r->refused = (PtxAccess){0};
    if (a->meets && !r->team) {
        snprintf(err, PTX_ERROR, "there are no threads to meet");
        return false;
    }
    if (r->n_in > PTX_MAX_OPERANDS || r->n_out > PTX_MAX_OPERANDS - r->n_in) {
        snprintf(err, PTX_ERROR, "more than %d operands", PTX_MAX_OPERANDS);
        return false;
    }
    for (int i = 0; i < r->n_in + r->n_out; i++)
        bits[i] = width(i < r->n_in ? &r->in[i] : &r->out[i - r->n_in]);
    if (!ptx_form_fits(&a->form, r->n_in, r->n_out, bits, r->pack, err))
        return false;
    if (size > sizeof small && !(heap = malloc(size))) {
        snprintf(err, PTX_ERROR, "out of memory");
        return false;
    }
    uint8_t *at = heap ? heap : (void *)small, *image = a->image;
    at += -(uintptr_t)at & 63;
    jmp_buf stop;
    Exec x = {.lanes = {.file = at, .alive = 1, .owner = &owner},
              .r = r,
              .f = f,
              .err = err,
              .stop = &stop};
    x.n_left = r->most ? r->most : most_instructions;
    x.lanes.undef = (uint32_t *)(void *)(at + 2 * file);
    for (uint32_t k = 0; k < 4; k++)
        x.lanes.has[k] = x.lanes.undef + (k + 1) * (f->n_regs + 1);
    memset(x.lanes.undef, 0, masks);
    if (f->n_specials) {
        Lanes lanes = {.file = at + file};
        memcpy(lanes.file, a->image, f->file_bytes);
        for (int k = 0; k < f->n_specials; k++) {
            uint64_t v[LANES], one = special(r, f->specials[k].which);
            for (int l = 0; l < LANES; l++)
                v[l] = one;
            lanes_put(&lanes, f->specials[k].reg, (uint32_t)FULL, v);
        }
        image = lanes.file;
    }
    bool ok = !setjmp(stop);
    if (ok)
        run_all(&x, a, image);
    free(heap);
    return ok;
}

/* ---- cache ----------------------------------------------------------------------- */

struct PtxCached {
    struct PtxCached *next;
    const char *text; /* by its address */
    PtxAsm *a;
};

const PtxAsm *
ptx_cache_get(PtxCache *c, const char *text, int sm, char err[PTX_ERROR])
{
    struct PtxCached *first = __atomic_load_n(&c->first, __ATOMIC_ACQUIRE);
    for (struct PtxCached *k = first; k; k = k->next)
        if (k->text == text)
            return k->a;
    struct PtxCached *mine = calloc(1, sizeof *mine);
    PtxAsm *a = NULL;
    PtxStatus s = mine ? ptx_asm_new(text, sm, &a, err) : PTX_NO_MEMORY;
    if (s != PTX_OK) {
        if (s == PTX_NO_MEMORY)
            snprintf(err, PTX_ERROR, "out of memory");
        free(mine);
        return NULL;
    }
    /* Two threads may both read the text; both results stay, the first found is used. */
    *mine = (struct PtxCached){first, text, a};
    while (!__atomic_compare_exchange_n(&c->first, &mine->next, mine, false,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
    return a;
}

void
ptx_cache_clear(PtxCache *c)
{
    for (struct PtxCached *k = c->first, *next; k; k = next) {
        next = k->next;
        ptx_asm_free(k->a);
        free(k);
    }
    c->first = NULL;
    free(c->fault);
    c->fault = NULL;
}

static PtxBlock
dense(void *data, int bits)
{
    return (PtxBlock){data, bits, bits < 8 ? 1 : bits / 8};
}

void
ptx_site_run(const PtxSite *s, void *const *data, PtxBlock block[PTX_MAX_OPERANDS],
             PtxRun *out)
{
    int n = s->n_in + s->n_out;
    for (int i = 0; i < n && i < PTX_MAX_OPERANDS; i++)
        block[i] = dense(data[i], s->bits[i]);
    *out = (PtxRun){.n = s->n,
                    .pack = s->pack,
                    .n_in = s->n_in,
                    .n_out = s->n_out,
                    .in = block,
                    .out = block + s->n_in,
                    .mask = s->is_masked ? dense(data[n], 1) : (PtxBlock){0}};
}
