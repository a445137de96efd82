/* count: what a launch did, instruction by instruction.
 *
 *     ptxsim_profile(1);          from now on launches are counted, which makes them slower
 *     ..
 *     const char *json = ptxsim_profiled();       all launches since then; they are forgotten
 *
 * A launch is
 *     {"kernel": "softmax", "grid": [8, 1, 1], "block": [256, 1, 1], "warps": 64,
 *      "rows": [{"line": 71, "src": 12, "op": "ld.global.v4.b32", "class": "ld.global",
 *                "run": 64, "lanes": 2048, "requests": 64, "width": 16,
 *                "bytes": 32768, "sectors": 1024, "phases": 0, "wavefronts": 0}, ..]}
 *
 * with a row for each instruction of the text that ran. run: how many times a warp issued
 * it, also when its guard let no lane through. requests: accesses with at least one lane.
 * bytes: different ones, summed over requests. sectors (of 32 bytes) count global memory,
 * phases and wavefronts shared memory; cost.c says what they are. cp.async has both.
 * An instruction of PTX is not one of the machine: ptxas makes none, one or several of it.
 */
#include <stdarg.h>

#include "tools/ptxsim/cost.h"
#include "tools/ptxsim/ptxsim.h"

typedef struct InsCount {
    uint64_t n_run, n_lanes;
    uint64_t n_requests, n_bytes, n_sectors; /* of global memory */
    uint64_t n_phases, n_wavefronts;         /* of shared memory */
    int width;                               /* bytes a lane; the widest */
} InsCount;

struct Counts {
    const Func *f;
    InsCount *of; /* an instruction of f->code each */
};

/* The text of ptxsim_profiled(), and whether launches are counted: the process's, as a
 * driver's state is. Launches run one at a time (driver.c has a lock). */
static struct {
    bool is_on;
    char *text;
    size_t n, cap;
} state;

/* clang-format off */
static const struct ClassOf {
    const char *prefix, *name; /* the first that fits */
} class_of[] = {
    {"mma.",        "mma"},       {"wgmma.",        "mma"},
    {"ldmatrix.",   "ld.shared"}, {"stmatrix.",     "st.shared"},
    {"cp.async.ca", "cp.async"},  {"cp.async.cg",   "cp.async"},  {"cp.async", "async"},
    {"ld.global",   "ld.global"}, {"st.global",     "st.global"},
    {"ld.shared",   "ld.shared"}, {"st.shared",     "st.shared"},
    {"ld.param",    "param"},     {"ld.const",      "param"},
    {"ld.",         "ld.other"},  {"st.",           "st.other"},
    {"atom.",       "atomic"},    {"red.",          "atomic"},
    {"bar.",        "bar"},       {"barrier.",      "bar"},       {"mbarrier.", "bar"},
    {"fence.",      "bar"},       {"membar.",       "bar"},
    {"shfl.",       "shfl"},      {"redux.",        "shfl"},      {"vote.", "shfl"},
    {"match.",      "shfl"},      {"activemask",    "shfl"},
    {"bra",         "branch"},    {"brx.",          "branch"},    {"ret", "branch"},
    {"exit",        "branch"},    {"call",          "branch"},    {"trap", "branch"},
    {"fma.",        "fma"},       {"add.f",         "fma"},       {"sub.f", "fma"},
    {"mul.f",       "fma"},       {"add.rn.f",      "fma"},       {"sub.rn.f", "fma"},
    {"mul.rn.f",    "fma"},       {"add.rn.b",      "fma"},       {"mul.rn.b", "fma"},
    {"add.ftz",     "fma"},       {"mul.ftz",       "fma"},       {"sub.ftz", "fma"},
    {"add.rn.ftz",  "fma"},       {"mul.rn.ftz",    "fma"},       {"sub.rn.ftz", "fma"},
    {"add.bf16",    "fma"},       {"mul.bf16",      "fma"},       {"sub.bf16", "fma"},
    {"ex2.",        "sfu"},       {"lg2.",          "sfu"},       {"rcp.", "sfu"},
    {"rsqrt.",      "sfu"},       {"sqrt.",         "sfu"},       {"sin.", "sfu"},
    {"cos.",        "sfu"},       {"tanh.",         "sfu"},       {"div.full", "sfu"},
    {"div.approx",  "sfu"},
    {"cvt.",        "cvt"},       {"mov.",          "mov"},
    {"",            "alu"},
};
/* clang-format on */

static const char *
class_name(const char *op)
{
    const struct ClassOf *c = class_of;
    while (strncmp(op, c->prefix, strlen(c->prefix)) != 0)
        c++;
    return c->name;
}

Counts *
count_begin(const Launch *l)
{
    if (!state.is_on)
        return NULL;
    Counts *c = calloc(1, sizeof *c);
    InsCount *of = calloc((size_t)l->f->n_code, sizeof *of);
    if (!c || !of) {
        free(c);
        free(of);
        return NULL; /* a launch that is missing in the text */
    }
    *c = (Counts){.f = l->f, .of = of};
    return c;
}

static InsCount *
row_of(Counts *c, const Ins *i)
{
    return &c->of[i - c->f->code];
}

void
count_run(Counts *c, const Ins *i, uint32_t m)
{
    InsCount *n = row_of(c, i);
    n->n_run++;
    n->n_lanes += (uint64_t)__builtin_popcount(m);
}

static bool
is_async(const Ins *i)
{
    return !strncmp(i->words, "cp.async", 8);
}

static void
add_shared(InsCount *n, const Ins *i, uint32_t m, const uint64_t address[LANES],
           int bytes)
{
    bool is_atomic = !strncmp(i->words, "atom.", 5) || !strncmp(i->words, "red.", 4);
    SharedCost s = (is_atomic ? cost_shared_atomic : cost_shared)(m, address, bytes);
    n->n_phases += (uint64_t)s.phases;
    n->n_wavefronts += (uint64_t)s.wavefronts;
    if (!is_async(i)) /* the same bytes as of global memory */
        n->n_bytes += (uint64_t)s.bytes;
}

/* Each block of the cluster has banks of its own. */
static void
add_cluster(InsCount *n, const Ins *i, uint32_t m, const uint64_t address[LANES],
            int bytes)
{
    while (m) {
        uint64_t rank = address[__builtin_ctz(m)] >> CLUSTER_SHIFT;
        uint32_t there = 0;
        for (int l = 0; l < LANES; l++)
            if (m >> l & 1 && address[l] >> CLUSTER_SHIFT == rank)
                there |= 1u << l;
        add_shared(n, i, there, address, bytes);
        m &= ~there;
    }
}

void
count_access(Counts *c, const Ins *i, uint32_t m, Space space,
             const uint64_t address[LANES], int bytes)
{
    if (!m)
        return;
    InsCount *n = row_of(c, i);
    if (space == SPACE_GENERIC)
        space = address[__builtin_ctz(m)] & GENERIC_SHARED ? SPACE_SHARED
                                                           : SPACE_GLOBAL;
    if (space == SPACE_SHARED)
        add_shared(n, i, m, address, bytes);
    else if (space == SPACE_CLUSTER)
        add_cluster(n, i, m, address, bytes);
    else if (space == SPACE_GLOBAL) {
        GlobalCost g = cost_global(m, address, bytes);
        n->n_sectors += (uint64_t)g.sectors;
        n->n_bytes += (uint64_t)g.bytes;
    }
    bool is_second = space == SPACE_SHARED && is_async(i); /* of cp.async: the store */
    n->n_requests += !is_second;
    if (bytes > n->width)
        n->width = bytes;
}

static void PTX_PRINTF(1, 2) say(const char *fmt, ...)
{
    va_list ap;
    if (state.cap - state.n < 512) {
        size_t cap = state.cap * 2 + 4096;
        char *text = realloc(state.text, cap);
        if (!text)
            return;
        state.text = text;
        state.cap = cap;
    }
    va_start(ap, fmt);
    int n = vsnprintf(state.text + state.n, state.cap - state.n, fmt, ap);
    va_end(ap);
    size_t room = state.cap - state.n;
    state.n += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

static uint64_t
product(const int v[3])
{
    return (uint64_t)v[0] * (uint64_t)v[1] * (uint64_t)v[2];
}

void
count_end(Counts *c, const Launch *l)
{
    if (!c)
        return;
    say("%s\n{\"kernel\": \"%.200s\", \"grid\": [%d, %d, %d], \"block\": [%d, %d, %d], "
        "\"warps\": %llu, \"rows\": [",
        state.n ? "," : "[", l->f->name, l->grid[0], l->grid[1], l->grid[2],
        l->block[0], l->block[1], l->block[2],
        (unsigned long long)(product(l->grid) * ((product(l->block) + 31) / 32)));
    bool is_first = true;
    for (int i = 0; i < c->f->n_code; i++) {
        const InsCount *n = &c->of[i];
        const Ins *ins = &c->f->code[i];
        if (!n->n_run)
            continue;
#define U(x) ((unsigned long long)(x))
        say("%s\n  {\"line\": %d, \"src\": %d, \"op\": \"%.80s\", \"class\": \"%s\", "
            "\"run\": %llu, \"lanes\": %llu, \"requests\": %llu, \"width\": %d, "
            "\"bytes\": %llu, \"sectors\": %llu, \"phases\": %llu, \"wavefronts\": %llu}",
            is_first ? "" : ",", ins->line, ins->src, ins->words,
            class_name(ins->words), U(n->n_run), U(n->n_lanes), U(n->n_requests),
            n->width, U(n->n_bytes), U(n->n_sectors), U(n->n_phases),
            U(n->n_wavefronts));
#undef U
        is_first = false;
    }
    say("]}");
    free(c->of);
    free(c);
}

SIM_EXPORT void ptxsim_profile(int is_on);
SIM_EXPORT const char *ptxsim_profiled(void);

void
ptxsim_profile(int is_on)
{
    state.is_on = is_on;
}

/* Valid until the next launch. */
const char *
ptxsim_profiled(void)
{
    if (!state.n)
        return "[]";
    say("]");
    state.n = 0;
    return state.text;
}
