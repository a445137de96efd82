/* memory: loads, stores, and the instructions that only speak of memory.
 *
 * Where an address leads is the owner's business (Owner in ptx.h): bytes that may be
 * touched, and for shared memory a state for every byte: one never written makes the loaded
 * register undefined.
 */
#include "ptx/lanes.h"

/* ---- addresses ------------------------------------------------------------------- */

Space
lanes_space(Space space, uint64_t *address)
{
    if (space != SPACE_GENERIC)
        return space;
    if (*address & GENERIC_SHARED) {
        *address &= ~GENERIC_SHARED;
        return SPACE_CLUSTER;
    }
    if (*address & GENERIC_LOCAL) {
        *address &= ~GENERIC_LOCAL;
        return SPACE_LOCAL;
    }
    if (*address & GENERIC_PARAM) {
        *address &= ~GENERIC_PARAM;
        return SPACE_PARAM;
    }
    return SPACE_GLOBAL;
}

void
lanes_addresses(Lanes *w, const Ins *i, uint32_t m, uint64_t out[LANES])
{
    lanes_want(w, i, i->in[0], m, "the address was never written");
    lanes_get(w, i->in[0], out);
    for (int l = 0; l < LANES; l++)
        out[l] += (uint64_t)i->imm;
}

/* ---- loads and stores ------------------------------------------------------------ */

static uint64_t
extended(Type t, uint64_t x)
{
    if (type_info[t].kind != 's' || t == T_S64)
        return x;
    int shift = 64 - 8 * type_info[t].bytes;
    return (uint64_t)((int64_t)(x << shift) >> shift);
}

/* flags: others must not see it earlier or later than what stands around it. */
enum { ORDERED = 1 };

static void
order(const Ins *i)
{
    if (i->flags & ORDERED)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static uint64_t
number_at(const uint8_t *p, int bytes)
{
    uint16_t half;
    uint32_t word;
    uint64_t x;
    switch (bytes) {
    case 1: return *p;
    case 2: return memcpy(&half, p, 2), half;
    case 4: return memcpy(&word, p, 4), word;
    default: return memcpy(&x, p, 8), x;
    }
}

/* Those of lane l, and of how many lanes from there on: more than one where they lie side by side. A row
 * that has been refused is not asked for again before *singly. */
static uint8_t *
bytes_from(Lanes *w, const Ins *i, uint32_t m, int l, const uint64_t address[LANES],
           bool is_store, int *singly, int *n_lanes)
{
    uint32_t n = (uint32_t)i->n * i->bytes;
    int end = l + 1;
    while (w->owner->row && l >= *singly && end < LANES && m >> end & 1 &&
           address[end] == address[end - 1] + n)
        end++;
    *n_lanes = end - l;
    if (end > l + 1) {
        uint8_t *row = w->owner->row(w, i, l, end - l, (Space)i->space, address[l], n,
                                     is_store);
        if (row)
            return row;
        *singly = end;
        *n_lanes = 1;
    }
    return w->owner->bytes(w, i, l, (Space)i->space, address[l], n, is_store);
}

/* A bit for each undefined byte of element k. */
static uint8_t
undef_at(const Ins *i, const uint8_t *state, int k)
{
    uint32_t bits = 0;
    for (int b = 0; b < i->bytes; b++)
        bits |= (uint32_t)(state[k * i->bytes + b] == BYTE_UNDEF) << b;
    return (uint8_t)(bits ? bits | 0xffu << i->bytes
                          : 0); /* the sign, in a register that is wider */
}

/* Element k of each lane to a register that is as wide. */
#define TAKE(T)                                                                        \
    {                                                                                  \
        T *to = LANE(T, w, r.at);                                                      \
        EACH_LANE(m, memcpy(&to[l], p[l] + k * sizeof(T), sizeof(T)))                  \
        break;                                                                         \
    }

static void
take(Lanes *w, const Ins *i, uint32_t m, int k, const uint8_t *const p[LANES])
{
    Reg r = i->out[k];
    uint64_t v[LANES];
    switch (r.bytes == i->bytes ? i->bytes : 0) {
    case 1: TAKE(uint8_t)
    case 2: TAKE(uint16_t)
    case 4: TAKE(uint32_t)
    case 8: TAKE(uint64_t)
    default:
        EACH_LANE_OF(l, m)
            v[l] = extended((Type)i->type, number_at(p[l] + k * i->bytes, i->bytes));
        lanes_put(w, r, m, v);
    }
}

static void
load(Lanes *w, const Ins *i, uint32_t m)
{
    uint64_t address[LANES];
    const uint8_t *p[LANES];
    uint8_t undef[8][LANES]; /* bytes */
    uint32_t open = 0;       /* lanes with such */
    uint32_t n_bytes = (uint32_t)i->n * i->bytes;
    bool is_plain = i->space == SPACE_GLOBAL || i->space == SPACE_PARAM;
    order(i);
    lanes_addresses(w, i, m, address);
    lanes_access(w, i, m, (Space)i->space, address, (int)n_bytes, false);
    w->how = i->is_strong ? HOW_STRONG : HOW_PLAIN;
    for (int l = 0, n = 1, singly = 0; l < LANES; l += n) {
        n = 1;
        if (!(m >> l & 1))
            continue;
        p[l] = bytes_from(w, i, m, l, address, false, &singly, &n);
        for (int k = 1; k < n; k++)
            p[l + k] = p[l] + (uint32_t)k * n_bytes;
        const uint8_t *s = is_plain || n > 1
                               ? NULL
                               : lanes_states(w, (Space)i->space, address[l]);
        if (!s || is_defined(s, n_bytes))
            continue;
        if (!open)
            memset(undef, 0, sizeof undef);
        open |= 1u << l;
        for (int k = 0; k < i->n; k++)
            undef[k][l] = undef_at(i, s, k);
    }
    w->how = HOW_PLAIN;
    for (int k = 0; k < i->n; k++) {
        take(w, i, m, k, p);
        if (open)
            lanes_set_undef_bytes(w, i->out[k], m, undef[k]);
        else
            lanes_set_undef(w, i->out[k], m, 0);
    }
    order(i);
}

/* The elements' states, of registers that are not wholly defined. */
static void
store_undef(Lanes *w, const Ins *i, int lane, uint64_t address, uint8_t *state)
{
    bool is_local = i->space == SPACE_LOCAL ||
                    (i->space == SPACE_GENERIC && address & GENERIC_LOCAL);
    for (int k = 0; k < i->n; k++) {
        uint32_t undef = lanes_undef_bytes(w, i->in[1 + k], lane) &
                         ((1u << i->bytes) - 1);
        for (int b = 0; state && b < i->bytes; b++)
            if (undef >> b & 1)
                state[k * i->bytes + b] = BYTE_UNDEF;
        if (!state && undef && !is_local)
            lanes_fault(w, i, lane, "stores a register that was never written");
    }
}

static void
put_number(uint8_t *p, int bytes, uint64_t x)
{
    switch (bytes) {
    case 1: memcpy(p, &x, 1); break;
    case 2: memcpy(p, &x, 2); break;
    case 4: memcpy(p, &x, 4); break;
    default: memcpy(p, &x, 8);
    }
}

static void
store(Lanes *w, const Ins *i, uint32_t m)
{
    uint64_t address[LANES], v[8][LANES];
    uint32_t n_bytes = (uint32_t)i->n * i->bytes, open = 0;
    order(i);
    lanes_addresses(w, i, m, address);
    lanes_access(w, i, m, (Space)i->space, address, (int)n_bytes, true);
    for (int k = 0; k < i->n; k++) {
        lanes_get(w, i->in[1 + k], v[k]);
        open |= w->undef[i->in[1 + k].id];
    }
    w->how = i->is_strong ? HOW_STRONG : HOW_PLAIN;
    for (int l = 0, n = 1, singly = 0; l < LANES; l += n) {
        n = 1;
        if (!(m >> l & 1))
            continue;
        uint8_t *p = bytes_from(w, i, m, l, address, true, &singly, &n);
        for (int e = l; e < l + n; e++, p += n_bytes) {
            bool is_plain = i->space == SPACE_GLOBAL || (n > 1 && !(open >> e & 1));
            uint8_t *s = is_plain ? NULL : lanes_states(w, (Space)i->space, address[e]);
            for (int k = 0; k < i->n; k++)
                put_number(p + k * i->bytes, i->bytes, v[k][e]);
            if (s)
                memset(s, BYTE_DEFINED, n_bytes);
            if (open >> e & 1)
                store_undef(w, i, e, address[e], s);
        }
    }
    w->how = HOW_PLAIN;
    order(i);
}

/* ---- other instructions ---------------------------------------------------------- */

static uint64_t
generic_bit(Space s)
{
    return s == SPACE_SHARED || s == SPACE_CLUSTER ? GENERIC_SHARED
           : s == SPACE_LOCAL                      ? GENERIC_LOCAL
           : s == SPACE_PARAM                      ? GENERIC_PARAM
                                                   : 0;
}
BY_WORD(cvta,
        i->flags ? x & ~generic_bit((Space)i->space) : x | generic_bit((Space)i->space))

static bool
is_in_space(uint64_t address, Space asked)
{
    Space s = lanes_space(SPACE_GENERIC, &address);
    bool own = s == SPACE_CLUSTER && address >> CLUSTER_SHIFT == 0;
    return asked == SPACE_SHARED ? own : asked == s;
}
BY_WORD(isspacep, is_in_space(x, (Space)i->space))

static void
fence(Lanes *w, const Ins *i, uint32_t m)
{
    (void)i;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (w->owner->fence)
        w->owner->fence(w, m);
}

static void
zero(Lanes *w, const Ins *i, uint32_t m)
{
    static const uint64_t zeros[LANES];
    lanes_put(w, i->out[0], m, zeros);
}

/* ---- rows ------------------------------------------------------------------------ */

Space
dec_space(Dec *d)
{
    static const struct {
        const char *word;
        Space space;
    } rows[] = {{"global", SPACE_GLOBAL},      {"shared", SPACE_SHARED},
                {"shared::cta", SPACE_SHARED}, {"shared::cluster", SPACE_CLUSTER},
                {"local", SPACE_LOCAL},        {"param", SPACE_PARAM},
                {"param::entry", SPACE_PARAM}, {"param::func", SPACE_PARAM},
                {"const", SPACE_CONST}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (dec_has(d, rows[k].word))
            return rows[k].space;
    return SPACE_GENERIC;
}

/* Words that say where data should stay, in which order others see it: here there is one
 * order and no cache. */
void
dec_take_hints(Dec *d)
{
    for (int k = 0; k < d->n_mods; k++)
        d->used[k] = d->used[k] ||
                     is_one_word("ca|cg|cs|cv|lu|wb|wt|nc|weak|relaxed|acquire|release|"
                                 "acq_rel|mmio|cta|cluster|gpu|sys|L1::evict_normal|"
                                 "L1::evict_unchanged|L1::evict_first|L1::evict_last|"
                                 "L1::no_allocate|L2::evict_first|L2::evict_last|"
                                 "L2::evict_normal|L2::64B|L2::128B|L2::256B",
                                 d->mod[k]);
}

int
dec_vector_size(Dec *d)
{
    static const char *const words[] = {"v2", "v4", "v8", NULL};
    int k = dec_one(d, words);
    return k < 0 ? 1 : 2 << k;
}

/* What ld and st share: space, hints, vector, type; the address is in[0]. */
static void
dec_access(Dec *d, int address)
{
    Ins *i = d->ins;
    static const char *const ordered[] = {"acquire", "release", "mmio", NULL};
    i->is_volatile = dec_has(d, "volatile");
    i->flags = i->is_volatile || dec_one(d, ordered) >= 0 ? ORDERED : 0;
    i->space = (uint8_t)dec_space(d);
    i->is_strong = i->flags == ORDERED || dec_has(d, "relaxed");
    i->is_of_system = i->is_volatile || dec_has(d, "sys");
    dec_take_hints(d);
    bool policy = dec_has(d, "L2::cache_hint");
    i->n = (uint8_t)dec_vector_size(d);
    i->type = (uint8_t)dec_type(d);
    i->bytes = type_info[i->type].bytes;
    dec_refuse(d, i->type == T_PRED || i->bytes > 8 || i->n * i->bytes > 32);
    if (i->n * i->bytes > 16 && dec_sm(d) < 100)
        dec_fail(d, "32 bytes at once from sm_100 on");
    const Sym *sym = dec_address(d, address);
    if (sym && sym->space == SPACE_LOCAL)
        i->space = SPACE_LOCAL; /* a parameter of a call */
    i->undef = UNDEF_TRACKED;
    dec_operands(d, 2 + policy);
}

static void
dec_ld(Dec *d)
{
    dec_access(d, 1);
    dec_vector(d, 0, d->ins->n, d->ins->bytes, dec_out_wide);
    d->ins->run = load;
}

void
dec_st(Dec *d)
{
    dec_access(d, 0);
    dec_vector(d, 1, d->ins->n, d->ins->bytes, dec_in_wide);
    d->ins->run = store;
}

static void
dec_cvta(Dec *d)
{
    d->ins->flags = dec_has(d, "to");
    d->ins->space = (uint8_t)dec_space(d);
    int bytes = type_info[dec_type(d)].bytes;
    dec_refuse(d, bytes != 8);
    dec_out(d, 0, bytes);
    dec_in(d, 1, bytes);
    d->ins->run = cvta;
}

static void
dec_isspacep(Dec *d)
{
    d->ins->space = (uint8_t)dec_space(d);
    dec_out(d, 0, 1);
    dec_in(d, 1, 8);
    d->ins->run = isspacep;
}

static void
fence_async(Lanes *w, const Ins *i, uint32_t m)
{
    (void)i;
    if (w->owner->fence_async)
        w->owner->fence_async(w, m);
}

/* Other threads are this process's. */
static void
dec_fence(Dec *d)
{
    bool is_async = (dec_has(d, "proxy") && dec_has(d, "async")) ||
                    dec_has(d, "mbarrier_init");
    dec_take_all(d);
    d->ins->run = is_async ? fence_async : fence;
}

/* Only a wish: prefetch, discard, priorities; launches that may begin before this ends. */
static void
dec_nothing(Dec *d)
{
    dec_take_all(d);
    d->ins->run = run_nothing;
}

static void
dec_createpolicy(Dec *d)
{
    dec_take_all(d);
    dec_out(d, 0, 8);
    d->ins->run = zero;
}

const OpRow memory_ops[] = {
    {"ld", dec_ld},
    {"ldu", dec_ld},
    {"st", dec_st},
    {"cvta", dec_cvta},
    {"isspacep", dec_isspacep},
    {"fence", dec_fence},
    {"membar", dec_fence},
    {"discard", dec_nothing},
    {"prefetch", dec_nothing},
    {"prefetchu", dec_nothing},
    {"applypriority", dec_nothing},
    {"griddepcontrol", dec_nothing},
    {"pmevent", dec_nothing},
    {"createpolicy", dec_createpolicy},
    {NULL, NULL},
};
