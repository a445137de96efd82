/* tiles: products by AMX, whose eight registers hold 16 rows of 64 bytes.
 *
 *     C 16 x 16 f32 or i32   +=   A 16 rows of 32 bf16 or 64 i8   x   B 16 groups of 16 columns
 *
 *              B0   B1          tiles 0..3: C    4, 5: A    6, 7: B
 *         A0   C00  C01         a step of K loads four tiles for four products, and a load takes
 *         A1   C10  C11         half the time of a product: 2 x 2 is enough to keep the unit busy
 *
 * A is row-major in scratch, B by panels (panels.c) of 32 columns, C in scratch.
 *
 * Rule 1: what the registers look like (palette, rows, bytes of a row) is a state of the thread.
 *         Each product sets it and lets go of it: whoever else uses AMX, oneDNN say, does the
 *         same, and a thread without it is switched sooner.
 * Rule 2: LLVM knows nothing of these registers in the form with numbers. It moves none of the
 *         calls, as each may do anything, and nothing may be called between them that uses AMX.
 * Rule 3: a process has to ask for the registers before its first tile: cpu_allows_tiles.
 *
 * tdpbf16ps rounds to nearest, takes numbers below 2^-126 for 0, and adds up the even and the odd
 * products of a step apart. tdpbssd takes both sides signed, and wraps.
 */
#include "codegen/host/dot.h"

enum { ROWS = 16, ROW_BYTES = 64, TILES = 8, TILE_C = 0, TILE_A = 4, TILE_B = 6 };

static int
last_of(const Type *t)
{
    return t->shape[t->rank - 1];
}

static int
rows_of(const Type *t)
{
    return t->shape[t->rank - 2];
}

bool
host_is_for_tiles(const Host *h, const Op *o)
{
    const Type *a = arg(o, 0)->type, *b = arg(o, 1)->type, *r = result(o, 0)->type;
    Elem e = a->elem;
    bool has = e == E_BF16 ? h->has_bf16_tiles : e == E_I8 && h->has_i8_tiles;
    Elem sum = e == E_BF16 ? E_F32 : E_I32;
    return has && b->elem == e && r->elem == sum && arg(o, 2)->type->elem == sum &&
           last_of(r) >= ROWS && last_of(a) * elem_info[e].bytes % 4 == 0;
}

int
host_tile_rows(const Op *o)
{
    return MIN(rows_of(result(o, 0)->type), 2 * ROWS);
}

int
host_tile_cols(const Op *o)
{
    return MIN(last_of(result(o, 0)->type), 2 * ROWS);
}

/* Bytes of K that a step takes. */
static int
step_bytes(const Product *p)
{
    return MIN(last_of(p->at) * elem_info[p->at->elem].bytes, ROW_BYTES);
}

static Lv
tile_number(Host *h, int tile)
{
    return LLVMConstInt(h->l->i8, (unsigned)tile, false);
}

static void
call(Host *h, const char *name, Lv *args, int n)
{
    ll_intrinsic(h->l, name, NULL, 0, args, n);
}

/* What ldtilecfg reads: the palette, and for each tile bytes of a row (16 bit) and rows. */
static void
configure(Host *h, const Product *p)
{
    enum { SIZE = 64, BYTES_AT = 16, ROWS_AT = 48 };
    Ll *l = h->l;
    uint8_t config[SIZE] = {1};
    for (int i = 0; i < TILES; i++) {
        bool is_a = i >= TILE_A && i < TILE_B, is_b = i >= TILE_B;
        config[BYTES_AT + 2 * i] = (uint8_t)(is_a ? step_bytes(p) : ROW_BYTES);
        config[ROWS_AT + i] =
            (uint8_t)(is_b ? step_bytes(p) / 4
                           : MIN(rows_of(result(p->o, 0)->type), ROWS));
    }
    Lv byte[SIZE];
    for (int i = 0; i < SIZE; i++)
        byte[i] = LLVMConstInt(l->i8, config[i], false);
    Lv all = LLVMConstVector(byte, SIZE), slot = host_slot(h, LLVMTypeOf(all));
    LLVMBuildStore(l->b, all, slot);
    call(h, "llvm.x86.ldtilecfg", &slot, 1);
}

/* Tile (i, j) of a matrix in scratch, of the step at (row, col). */
static Lv
address(Host *h, const Type *t, const View *w, Lv batch, Lv row, Lv col, int i, int j)
{
    Ll *l = h->l;
    row = LLVMBuildAdd(l->b, row, ll_i64(l, i * ROWS), "");
    col = LLVMBuildAdd(l->b, col, ll_i64(l, j * ROWS), "");
    return host_tile_address(h, t, w, batch, row, col);
}

static Lv
stride(Host *h, const Type *t, const View *w)
{
    return ll_i64(h->l, w->stride[t->rank - 2] * elem_info[t->elem].bytes);
}

typedef struct Step {
    Lv batch, row, col;
    int n_i, n_j; /* tiles down and across: 1 or 2 */
} Step;

static void
load_sums(Host *h, const Product *p, const Step *s)
{
    const Type *t = arg(p->o, 2)->type;
    for (int i = 0; i < s->n_i; i++)
        for (int j = 0; j < s->n_j; j++) {
            Lv tile = tile_number(h, TILE_C + 2 * i + j);
            if (!p->acc.buf) {
                call(h, "llvm.x86.tilezero", &tile, 1);
                continue;
            }
            Lv at = address(h, t, &p->acc, s->batch, s->row, s->col, i, j);
            call(h, "llvm.x86.tileloadd64", (Lv[]){tile, at, stride(h, t, &p->acc)}, 3);
        }
}

static void
store_sums(Host *h, const Product *p, const Step *s)
{
    const Type *t = result(p->o, 0)->type;
    for (int i = 0; i < s->n_i; i++)
        for (int j = 0; j < s->n_j; j++) {
            Lv at = address(h, t, &p->out, s->batch, s->row, s->col, i, j);
            call(h, "llvm.x86.tilestored64",
                 (Lv[]){tile_number(h, TILE_C + 2 * i + j), at, stride(h, t, &p->out)},
                 3);
        }
}

/* c += a[.., k ..] * b[k .., ..] */
static void
add_step(Host *h, const Product *p, const Step *s, Lv k)
{
    bool is_float = p->at->elem == E_BF16;
    for (int j = 0; j < s->n_j; j++) {
        Lv at = address(h, p->bt, &p->b, s->batch, k, s->col, 0, j);
        call(h, "llvm.x86.tileloadd64",
             (Lv[]){tile_number(h, TILE_B + j), at, ll_i64(h->l, p->b.width * 4)}, 3);
    }
    for (int i = 0; i < s->n_i; i++) {
        Lv at = address(h, p->at, &p->a, s->batch, s->row, k, i, 0);
        call(h, "llvm.x86.tileloadd64",
             (Lv[]){tile_number(h, TILE_A + i), at, stride(h, p->at, &p->a)}, 3);
        for (int j = 0; j < s->n_j; j++)
            call(h, is_float ? "llvm.x86.tdpbf16ps" : "llvm.x86.tdpbssd",
                 (Lv[]){tile_number(h, TILE_C + 2 * i + j), tile_number(h, TILE_A + i),
                        tile_number(h, TILE_B + j)},
                 3);
    }
}

void
host_multiply_tiles(Host *h, const Product *product)
{
    Product own = *product, *p = &own;
    const Type *rt = result(p->o, 0)->type;
    DotSides sides = dot_sides(p->o);
    int rows = host_tile_rows(p->o), cols = host_tile_cols(p->o),
        step = step_bytes(p) / elem_info[p->at->elem].bytes;
    Step s = {.n_i = (rows + ROWS - 1) / ROWS, .n_j = cols / ROWS};
    configure(h, p);
    Loop batch, row, col, turn, k;
    host_loop_open(h, &batch, rt->rank == 3 ? rt->shape[0] : 1, 1);
    host_steps_open(h, &col, sides.n, cols, p->n);
    host_steps_open(h, &row, sides.m, rows, p->m);
    s.batch = batch.index, s.row = row.index, s.col = col.index;
    load_sums(h, p, &s);
    if (p->late.turns > 1)
        host_loop_open_to(h, &turn, p->late.waiting), host_take_late(h, p, turn.index);
    host_steps_open(h, &k, sides.k, step, p->k);
    add_step(h, p, &s, k.index);
    host_loop_close(h, &k);
    if (p->late.turns > 1)
        host_loop_close(h, &turn);
    store_sums(h, p, &s);
    host_loop_close(h, &row);
    host_loop_close(h, &col);
    host_loop_close(h, &batch);
    call(h, "llvm.x86.tilerelease", NULL, 0);
}

Lv
host_tile_address(Host *h, const Type *t, const View *w, Lv batch, Lv row, Lv col)
{
    Lv index[3] = {batch, row, col};
    return host_address(h, t, w, t->rank == 3 ? index : index + 1);
}
