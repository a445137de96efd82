/* dot_fma: acc + a @ b by multiply-adds.
 *
 * Operands go through shared memory, transposed so that k is the slowest: a as [K][M], b as
 * [K][N]. Each thread walks k and reads a column of its rows and a row of its columns:
 *
 *     acc patch of a thread      n n n n          per k: 2 vector loads, 16 multiply-adds
 *                              m . . . .
 *                              m . . . .
 *
 * A warp that holds neighbours along k would store them a row apart: a conflict of banks. Where
 * that happens, bits of k are added (without carry) to bits of the column:
 *
 *     k = 0:  0 1 2 3 4 5 6 7        a row of the panel, in pieces as large as what is
 *     k = 1:  2 3 0 1 6 7 4 5        read at once, here 2
 *     k = 2:  4 5 6 7 0 1 2 3
 *
 * All lanes of a load read one row, and for that row the added bits are a constant.
 */
#include "codegen/simt/simt.h"

enum {
    MAX_VEC = 16,
    MAX_UNROLLED = 512, /* multiply-adds in a row */
};

/* One operand in shared memory, k slowest within a batch: [batch][k][mn]. When the whole of
 * it is too large it comes in chunks along k. */
typedef struct Panel {
    const Type *t;
    int mn, depth;  /* of the tensor */
    int k;          /* of a chunk */
    bool k_is_last; /* of the tensor's dims: a; else b */
    int base;       /* bytes */
    int n_regs;     /* elements a thread needs for one k */
    int log2_vec;
    Col moves[MAX_BITS];   /* offset of each register bit of the accumulator */
    int compact[MAX_BITS]; /* ... and its bit among the n_regs, or -1 */
    Lv thread;             /* element offset of this thread's first, at k = 0 */
    Col twist[MAX_BITS];   /* what each bit of k changes of the column */
    Col can_have;
} Panel;

static Panel
panel_shape(const Op *o, int which)
{
    const Type *t = arg(o, which)->type;
    int r = t->rank;
    Panel p = {.t = t, .k_is_last = which == 0};
    p.depth = t->shape[which ? r - 2 : r - 1];
    p.mn = t->shape[which ? r - 1 : r - 2];
    return p;
}

/* As dot_panels has cut both for the bytes there are. */
static void
open_panels(const Op *o, int bytes, Panel p[2])
{
    DotPanels cut = dot_panels(o, bytes);
    for (int i = 0; i < 2; i++) {
        p[i] = panel_shape(o, i);
        p[i].k = cut.k;
    }
    p[1].base = (int)cut.bytes[0];
}

static Col
k_of(const Panel *p, Col flat)
{
    return p->k_is_last ? flat % (Col)p->depth : flat / (Col)p->mn % (Col)p->depth;
}

static Col
twisted(const Panel *p, Col k)
{
    Col x = 0;
    for (int i = 0; i < MAX_BITS; i++)
        x ^= k >> i & 1 ? p->twist[i] : 0;
    return x;
}

/* Where the panel of its chunk has the tensor's flat index. */
static Col
panel_offset(const Panel *p, Col flat)
{
    Col k = k_of(p, flat) % (Col)p->k, batch = flat / (Col)(p->depth * p->mn);
    Col mn = p->k_is_last ? flat / (Col)p->depth % (Col)p->mn : flat % (Col)p->mn;
    return (batch * (Col)p->k + k) * (Col)p->mn + (mn ^ twisted(p, k));
}

/* The panel's offset (k = 0) that the accumulator at flat index needs. */
static Col
needed_offset(const Panel *p, const Type *acc, Col flat)
{
    Col cols = (Col)acc->shape[acc->rank - 1], rows = (Col)acc->shape[acc->rank - 2];
    Col mn = p->k_is_last ? flat / cols % rows : flat % cols;
    return flat / (cols * rows) * (Col)(p->k * p->mn) + mn;
}

/* What a linear map of flat indices is for this thread; *can_have: bits it can set. */
static Lv
thread_part(Sim *s, const Panel *p, const Layout *l,
            Col (*map)(const Panel *p, Col flat), Col *can_have)
{
    Col lane[LANE_BITS] = {0}, warp[WARP_BITS] = {0};
    *can_have = 0;
    for (int i = 0; i < l->n[IN_LANE]; i++)
        *can_have |= lane[i] = map(p, l->basis[IN_LANE][i]);
    for (int i = 0; i < l->n[IN_WARP]; i++)
        *can_have |= warp[i] = map(p, l->basis[IN_WARP][i]);
    return sim_linear(s, lane, LANE_BITS, warp, s->log2_warps);
}

static Col
chunk_of(const Panel *p, Col flat)
{
    return k_of(p, flat) / (Col)p->k;
}

/* How many neighbours of a column a thread can store at once, as a power of two; the bits
 * of its registers that lead to them. */
static int
stored_run(const Panel *p, const Type *t, int *bit)
{
    int dim = p->k_is_last ? t->rank - 2 : t->rank - 1, bytes = ty_bytes(p->t);
    return layout_run(t->layout, dim, __builtin_ctz(16u / (unsigned)bytes), bit);
}

/* x less what the n vectors of `span` can make of it; each has a highest bit of its own. */
static Col
reduced(Col x, const Col *span, int n)
{
    for (int i = 0; i < n; i++)
        x = MIN(x, x ^ span[i]);
    return x;
}

/* Choose p->twist so that the lanes of a store are in banks of their own, as far as pieces
 * of what is read at once allow. */
static void
twist_panel(Panel *p, const Type *t)
{
    int bit[MAX_BITS], bytes = ty_bytes(p->t), run = stored_run(p, t, bit);
    int lanes = LANE_BITS - MAX(0, __builtin_ctz((unsigned)bytes) + run - 2);
    int low = MAX(run, p->log2_vec); /* bits of a column that may change */
    Col banks = MIN((Col)128 / (Col)bytes, (Col)p->mn), span[LANE_BITS], met = 0;
    int n = 0;
    for (int i = 0; i < MIN(lanes, t->layout->n[IN_LANE]); i++) {
        Col flat = t->layout->basis[IN_LANE][i], k = k_of(p, flat) % (Col)p->k;
        Col own = reduced(panel_offset(p, flat) % banks, span, n);
        int b = k & ~met ? __builtin_ctz(k & ~met) : -1;
        for (int to = low; !own && b >= 0 && (Col)1 << to < banks; to++) {
            own = reduced((Col)1 << to, span, n);
            if (own)
                p->twist[b] ^= (Col)1 << to;
        }
        met |= k;
        if (own)
            span[n++] = own;
    }
}

static void
store_panel(Sim *s, const Panel *p, const Val *v, Col chunk)
{
    const Layout *l = v->type->layout;
    Col seen, chunks;
    Lv thread = thread_part(s, p, l, panel_offset, &seen);
    Lv mine = thread_part(s, p, l, chunk_of, &chunks);
    int bytes = ty_bytes(p->t), bit[MAX_BITS];
    int run = stored_run(p, v->type, bit);
    uint32_t inside = 0;
    for (int i = 0; i < run; i++)
        inside |= 1u << bit[i];
    for (int r = 0; r < sim_n_regs(v); r++) {
        Col flat = layout_at(l, (uint32_t)r, 0, 0, 0);
        Col want = chunk_of(p, flat) ^ chunk; /* the thread's part must supply this */
        if ((uint32_t)r & inside || want & ~chunks)
            continue;
        Lv elems[MAX_VEC], pred = sim_owner(s, l);
        for (int e = 0; e < 1 << run; e++) {
            int reg = r;
            for (int i = 0; i < run; i++)
                reg |= (e >> i & 1) << bit[i];
            elems[e] = sim_reg(s, v, reg);
        }
        if (chunks)
            pred = sim_and(s, pred,
                           LLVMBuildICmp(s->l->b, LLVMIntEQ, mine,
                                         ll_i32(s->l, (int32_t)want), ""));
        Lv at = sim_xor(s, thread, seen, panel_offset(p, flat));
        sim_shared_put(s, p->t, sim_shared_offset(s, at, bytes, p->base), elems,
                       1 << run, pred);
    }
}

/* How the accumulator's registers map to the panel's. */
static void
aim_panel(Sim *s, const Type *acc, Panel *p)
{
    const Layout *l = acc->layout;
    Col lane[LANE_BITS] = {0}, warp[WARP_BITS] = {0};
    for (int i = 0; i < l->n[IN_LANE]; i++)
        p->can_have |= lane[i] = needed_offset(p, acc, l->basis[IN_LANE][i]);
    for (int i = 0; i < l->n[IN_WARP]; i++)
        p->can_have |= warp[i] = needed_offset(p, acc, l->basis[IN_WARP][i]);
    p->thread = sim_linear(s, lane, LANE_BITS, warp, s->log2_warps);
    int n = 0, most = __builtin_ctz(16u / (unsigned)ty_bytes(p->t));
    for (int i = 0; i < l->n[IN_REG]; i++) {
        p->moves[i] = needed_offset(p, acc, l->basis[IN_REG][i]);
        p->compact[i] = -1;
    }
    /* Neighbours first: they are one vector. */
    for (bool found = true; found && n < most;) {
        found = false;
        for (int i = 0; i < l->n[IN_REG]; i++)
            if (p->moves[i] == (Col)1 << n && p->compact[i] < 0 &&
                !(p->can_have & (Col)1 << n)) {
                p->compact[i] = n++;
                found = true;
                break;
            }
    }
    p->log2_vec = n;
    for (int i = 0; i < l->n[IN_REG]; i++)
        if (p->moves[i] && p->compact[i] < 0)
            p->compact[i] = n++;
    p->n_regs = 1 << n;
}

/* The panel's registers for one k, as the accumulator's kind of number. `at`: bytes of the
 * thread's element where k is 0. */
static void
load_panel(Sim *s, const Panel *p, const Layout *acc, Lv at, int k, Elem work, Lv *out)
{
    int more = k * p->mn * ty_bytes(p->t);
    int bytes = ty_bytes(p->t), vec = 1 << p->log2_vec;
    for (int q = 0; q < p->n_regs; q += vec) {
        Col by = twisted(p, (Col)k);
        for (int i = 0; i < acc->n[IN_REG]; i++)
            if (p->compact[i] >= 0 && q >> p->compact[i] & 1)
                by ^= p->moves[i];
        /* Apart, as few numbers differ by more than the address's constant. */
        Lv offset = sim_xor(s, at, p->can_have * (Col)bytes,
                            (by & p->can_have) * (Col)bytes);
        offset = sim_xor(s, offset, 0, (by & ~p->can_have) * (Col)bytes);
        if (more + p->base)
            offset = LLVMBuildAdd(s->l->b, offset, ll_i32(s->l, more + p->base), "");
        sim_shared_get(s, p->t, offset, vec, out + q);
    }
    for (int q = 0; q < p->n_regs; q++)
        out[q] = cg_cast(s->l, p->t->elem, work, out[q], ROUND_RTNE);
}

static int
panel_register(const Panel *p, const Layout *acc, int r)
{
    int q = 0;
    for (int i = 0; i < acc->n[IN_REG]; i++)
        if (r >> i & 1 && p->compact[i] >= 0)
            q |= 1 << p->compact[i];
    return q;
}

static Lv
multiply_add(Sim *s, Elem work, Lv a, Lv b, Lv acc)
{
    Ll *l = s->l;
    if (!elem_is_float(work))
        return LLVMBuildAdd(l->b, acc, LLVMBuildMul(l->b, a, b, ""), "");
    Lt t = LLVMTypeOf(acc);
    return ll_intrinsic(l, "llvm.fma", &t, 1, (Lv[]){a, b, acc}, 3);
}

/* Is register r's element, wherever the thread stands, perhaps no padding? */
static bool
is_wanted(const Op *o, const DotSides *sides, int r)
{
    const Type *t = result(o, 0)->type;
    int rows = t->shape[t->rank - 2], cols = t->shape[t->rank - 1];
    int flat = (int)layout_at(t->layout, (uint32_t)r, 0, 0, 0);
    return flat / cols % rows < sides->m && flat % cols < sides->n;
}

static void
fma_steps(Sim *s, const Op *o, Panel *p, Lv *at, int n_steps, Lv *acc)
{
    const Val *v = result(o, 0);
    const Layout *l = v->type->layout;
    Elem work = sim_work_elem(v->type->elem);
    Lv *x = NEW_N(s->a, Lv, p[0].n_regs), *y = NEW_N(s->a, Lv, p[1].n_regs);
    DotSides sides = dot_sides(o);
    for (int k = 0; k < n_steps; k++) {
        load_panel(s, &p[0], l, at[0], k, work, x);
        load_panel(s, &p[1], l, at[1], k, work, y);
        for (int r = 0; r < sim_n_regs(v); r++)
            if (is_wanted(o, &sides, r))
                acc[r] = multiply_add(s, work, x[panel_register(&p[0], l, r)],
                                      y[panel_register(&p[1], l, r)], acc[r]);
    }
}

/* The thread's start in row k, a multiple of `each`; p->can_have is what it can be now. */
static Lv
twist_start(Sim *s, Panel *p, Lv start, Lv k, int each)
{
    LLVMBuilderRef b = s->l->b;
    Lv x = start;
    for (int i = __builtin_ctz((unsigned)each); i < MAX_BITS; i++) {
        Col by = p->twist[i];
        if (!by)
            continue;
        Lv is_set = LLVMBuildAnd(b, LLVMBuildLShr(b, k, ll_i32(s->l, i), ""),
                                 ll_i32(s->l, 1), "");
        Lv bytes = ll_i32(s->l, (int32_t)by * ty_bytes(p->t));
        x = LLVMBuildXor(b, x, LLVMBuildMul(b, is_set, bytes, ""), "");
        p->can_have |= by;
    }
    return x;
}

/* for k below n_k in steps of `each`: phis of the accumulator around fma_steps. */
static void
fma_loop(Sim *s, const Op *o, Panel *p, Lv *start, int n_k, int each, Lv *acc)
{
    Ll *l = s->l;
    int n = sim_n_regs(result(o, 0));
    LLVMBasicBlockRef before = LLVMGetInsertBlock(l->b), body = ll_block(l, "k");
    ll_jump(l, body);
    Lv k = ll_phi(l, ll_i32(l, 0), before);
    Lv *phi = NEW_N(s->a, Lv, n), at[2];
    for (int r = 0; r < n; r++) {
        phi[r] = ll_phi(l, acc[r], before);
        acc[r] = phi[r];
    }
    for (int i = 0; i < 2; i++) {
        int bytes = p[i].mn * ty_bytes(p[i].t);
        Lv moved = LLVMBuildMul(l->b, k, ll_i32(l, bytes), "");
        at[i] = LLVMBuildAdd(l->b, twist_start(s, &p[i], start[i], k, each), moved, "");
    }
    fma_steps(s, o, p, at, each, acc);
    Lv next = LLVMBuildAdd(l->b, k, ll_i32(l, each), "");
    Lv more = LLVMBuildICmp(l->b, LLVMIntSLT, next, ll_i32(l, n_k), "");
    LLVMBasicBlockRef end = LLVMGetInsertBlock(l->b), after = ll_block(l, "dotted");
    LLVMBuildCondBr(l->b, more, body, after);
    LLVMAddIncoming(k, &next, &end, 1);
    for (int r = 0; r < n; r++)
        LLVMAddIncoming(phi[r], &acc[r], &end, 1);
    LLVMPositionBuilderAtEnd(l->b, after);
}

/* The first n_k of a chunk. */
static void
fma_chunk(Sim *s, const Op *o, Panel *p, Lv *start, int n_k, Lv *acc)
{
    int each = p[0].k, n = sim_n_regs(result(o, 0));
    while (each > 1 && each * n > MAX_UNROLLED)
        each /= 2;
    if (n_k <= each)
        fma_steps(s, o, p, start, n_k, acc);
    else
        fma_loop(s, o, p, start, n_k, each, acc); /* zeros behind the end do no harm */
}

void
sim_fma_dot(Sim *s, const Op *o)
{
    int at = sim_scratch(s, o);
    Panel p[2];
    Lv start[2], *acc = sim_open_acc(s, o);
    open_panels(o, o->place->bytes, p);
    for (int i = 0; i < 2; i++) {
        p[i].base += at;
        aim_panel(s, result(o, 0)->type, &p[i]);
        twist_panel(&p[i], arg(o, i)->type);
        start[i] = sim_shared_offset(s, p[i].thread, ty_bytes(p[i].t), 0);
    }
    int left = dot_sides(o).k; /* behind it, both are zero */
    for (int chunk = 0; left > 0; chunk++, left -= p[0].k) {
        if (chunk)
            sim_wait(s, o, WAIT_READ);
        for (int i = 0; i < 2; i++)
            store_panel(s, &p[i], arg(o, i), (Col)chunk);
        sim_wait(s, o, WAIT_WRITTEN);
        fma_chunk(s, o, p, start, MIN(left, p[0].k), acc);
    }
    sim_close_acc(s, o, acc);
}
