/* run: blocks of elements through assembly, 32 packs at a time.
 *
 *     elements  0 1 2 3 | 4 5 6 7 | ..       pack 4 of i8: $1 of lane 0 is 3:2:1:0
 *     lane         0         1
 *
 * Lanes that part at a branch wait for those with a lower pc, as ptxsim's do. Assembly whose
 * threads would meet does not run. What a loop may take is bounded.
 */
#include "ptx/run.h"

#include <sched.h>

enum { SMALL = 8192 }; /* bytes of registers that are kept on the stack */
static const int64_t most_instructions = INT64_C(1) << 28;

typedef struct PtxThread Exec;

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
copy_places(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step,
            int bytes, int n)
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
        copy_places(LANE(uint8_t, &x->lanes, reg.at), reg.bytes, from,
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
        copy_places(to, (int64_t)r->pack * b->stride, LANE(uint8_t, &x->lanes, reg.at),
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

static void
run_lanes(Exec *x, const Func *f, uint32_t all)
{
    Turns t = {.mask = all, .wait_pc = INT32_MAX};
    for (;;) {
        if (t.pc >= t.wait_pc)
            turns_choose(&t, all);
        if (t.pc >= f->n_code)
            return;
        const Ins *i = &f->code[t.pc];
        uint32_t m = t.mask;
        if (--x->n_left < 0)
            lanes_fault(&x->lanes, i, 0, "no end in sight");
        if (i->has_guard) {
            uint32_t p = lanes_true(&x->lanes, i->guard);
            m &= i->guard_not ? ~p : p;
        }
        if (i->flow == FLOW_BRA) {
            turns_branch(&t, i->target, m);
            continue;
        }
        if (m && i->run)
            /* Beyond the lanes that are there lies memory of the file: full loops are fast. */
            i->run(&x->lanes, i, m);
        else if (m && i->flow == FLOW_YIELD)
            sched_yield();
        t.pc++;
    }
}

static void
run_all(Exec *x, const PtxAsm *a, const uint8_t *image)
{
    const Func *f = a->func;
    PtxRun *r = x->r;
    int64_t n_packs = (r->n + r->pack - 1) / r->pack;
    for (int64_t first = 0; first < n_packs; first += LANES) {
        int n = n_packs - first < LANES ? (int)(n_packs - first) : LANES;
        uint32_t on = lanes_on(x, first, n);
        memcpy(x->lanes.file, image, f->file_bytes);
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
           masks = (1 + PARTS) * (f->n_regs + 1) * sizeof(uint32_t),
           size = 64 + 2 * file + masks;
    void *volatile heap = NULL;
    int bits[PTX_MAX_OPERANDS];
    *err = 0;
    r->refused = (PtxAccess){0};
    if (a->meets) {
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
    Exec x = {.lanes = {.file = at, .alive = 1, .owner = &ptx_owner},
              .r = r,
              .err = err,
              .stop = &stop};
    x.n_left = r->most ? r->most : most_instructions;
    x.lanes.undef = (uint32_t *)(void *)(at + 2 * file);
    x.lanes.has = (uint32_t (*)[PARTS])(x.lanes.undef + f->n_regs + 1);
    memset(x.lanes.undef, 0, masks);
    if (f->n_specials) {
        Lanes lanes = {.file = at + file};
        memcpy(lanes.file, a->image, f->file_bytes);
        for (int k = 0; k < f->n_specials; k++) {
            uint64_t v[LANES], one = ptx_special(r, f->specials[k].which);
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
