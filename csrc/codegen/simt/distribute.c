/* distribute: a block's elements over the threads; the walk over the ops.
 *
 *     setup:  tid, and what depends on it alone: indices of each layout, predicates
 *     body:   the ops in order; one LLVM value a register
 *
 * The flat index of a register's element is  (XOR of bases of the thread's bits) ^ (XOR of
 * bases of the register's bits). The first is computed once a layout, in setup, by
 * diagonals: all thread bits that move by the same distance at once,
 *
 *     lane [4 8 16 32 64] warp [128 256]      (tid & 127) << 2
 *
 * and the second is a constant, mostly added rather than XORed, so that it becomes the
 * immediate offset of an address.
 *
 * Rule 1: code is appended at the end of the current LLVM block; only setup (setup.c) is
 *         inserted into, before its branch.
 * Rule 2: registers with the same operands are computed once (a splat stays one value).
 */
#include "codegen/simt/pieces.h"
#include "codegen/simt/ptx.h"

/* ---- shape ops: other names for the same registers ------------------------------------------ */

typedef struct Renaming {
    const Op *o;
    Col map[MAX_BITS];
} Renaming;

static void
rename_reg(Sim *s, void *data, int r)
{
    const Renaming *k = data;
    const Val *v = result(k->o, 0);
    int from = (int)f2_mul(k->map, v->type->layout->n[IN_REG], (Col)r);
    s->vals[v->id][r] = sim_reg(s, arg(k->o, 0), from);
}

static void
rename_regs(Sim *s, const Op *o)
{
    const Val *v = result(o, 0);
    if (!v->type->layout) { /* one element, which every thread has in every register */
        sim_define(s, v)[0] = sim_val(s, arg(o, 0))[0];
        return;
    }
    Renaming *k = NEW(s->a, Renaming);
    k->o = o;
    sim_reg_map(s, o, k->map);
    sim_define_lazily(s, v, rename_reg, k);
    if (!s->lazy[arg(o, 0)->id])
        sim_val(s, v);
}

/* Register r of the side with the new dim is register r without the bit of the other. */
static int
without_bit(int r, int bit)
{
    int low = r & ((1 << bit) - 1);
    return low | (r >> (bit + 1) << bit);
}

static void
cat_blocks(Sim *s, const Op *o)
{
    const Val *v = result(o, 0);
    int bit = sim_half_bit(s, o);
    Lv *r = sim_define(s, v);
    for (int i = 0; i < sim_n_regs(v); i++)
        r[i] = sim_val(s, arg(o, i >> bit & 1))[without_bit(i, bit)];
}

static void
split(Sim *s, const Op *o)
{
    const Val *v = arg(o, 0);
    int bit = sim_half_bit(s, o);
    Lv *from = sim_val(s, v),
       *half[2] = {sim_define(s, result(o, 0)), sim_define(s, result(o, 1))};
    for (int i = 0; i < sim_n_regs(v); i++)
        half[i >> bit & 1][without_bit(i, bit)] = from[i];
}

/* ---- values out of nothing --------------------------------------------------------------------- */

static void
constant(Sim *s, const Op *o)
{
    const Type *t = result(o, 0)->type;
    Lv *r = sim_define(s, result(o, 0)), c;
    if (t->is_ptr)
        c = LLVMConstIntToPtr(ll_i64(s->l, (int64_t)o->bits), s->l->gptr);
    else
        c = ll_bits(s->l, t->elem, o->bits, 0);
    for (int i = 0; i < sim_n_regs(result(o, 0)); i++)
        r[i] = c;
}

static void
arange(Sim *s, const Op *o)
{
    const Val *v = result(o, 0);
    const Layout *l = v->type->layout;
    Lv *r = sim_define(s, v);
    int64_t start = ir_attr(o, ATTR_START);
    for (int i = 0; i < sim_n_regs(v); i++) {
        r[i] = sim_index(s, l, i);
        if (start)
            r[i] = LLVMBuildAdd(s->l->b, r[i], ll_i32(s->l, (int32_t)start), "");
    }
}

static void
splat(Sim *s, const Op *o)
{
    Lv *r = sim_define(s, result(o, 0)), x = sim_val(s, arg(o, 0))[0];
    for (int i = 0; i < sim_n_regs(result(o, 0)); i++)
        r[i] = x;
}

/* ---- elementwise ------------------------------------------------------------------------------- */

/* Elements part and part + 1 of a word of 8-bit integers, as two of type `to`. Below a byte that makes
 * it 2^10 (f16) or 2^7 (bf16) an integer is that number more. bf16 has room for 7 bits: of the eighth it
 * becomes 2^8, and what is taken off again is 2^7 or 2^8, as the eighth bit says. So two take four
 * instructions at most, through f32 nine. NULL: there is no such way. */
static Lv
pair_of_bytes(Sim *s, Elem from, Elem to, Lv word, int part)
{
    Ll *l = s->l;
    const Target *t = &l->c->opt.target;
    bool is_half = to == E_F16, is_signed = elem_is_signed(from);
    if (t->kind != TARGET_CUDA ||
        (!is_half && (to != E_BF16 || !is_signed || t->sm < 90)))
        return NULL;
    if (is_half && is_signed)
        word = LLVMBuildXor(l->b, word, ll_i32(l, (int32_t)0x80808080), "");
    Lt half = is_half ? l->f16 : LLVMBFloatTypeInContext(l->cx),
       pair = LLVMVectorType(half, 2), bytes = LLVMVectorType(l->i8, 4);
    Lv above = ll_i32(l, is_half ? 0x64646464 : 0x43434343),
       from_bytes[] = {ll_i32(l, part), ll_i32(l, 4), ll_i32(l, part + 1),
                       ll_i32(l, 4)};
    Lv x = LLVMBuildShuffleVector(l->b, LLVMBuildBitCast(l->b, word, bytes, ""),
                                  LLVMConstBitCast(above, bytes),
                                  LLVMConstVector(from_bytes, 4), ""),
       less = ll_i32(l, is_signed ? 0x64806480 : 0x64006400);
    x = LLVMBuildBitCast(l->b, x, l->i32, "");
    if (!is_half) {
        less = LLVMBuildAnd(l->b, x, ll_i32(l, 0x43804380), "");
        x = LLVMBuildAnd(l->b, x, ll_i32(l, 0x437f437f), "");
    }
    x = LLVMBuildFSub(l->b, LLVMBuildBitCast(l->b, x, pair, ""),
                      LLVMBuildBitCast(l->b, less, pair, ""), "");
    return LLVMBuildBitCast(l->b, x, l->i32, "");
}

/* Registers i to i + 3 of a cast of f32 to float8, as a word of memory. Two halves that are moved into a word are what
 * the assembler lets the second conversion do. */
static bool
cast_to_f8_word(Sim *s, const Op *o, Lv *from, int i, Lv *r)
{
    enum { EACH = 4 };
    Ll *l = s->l;
    const Type *t = arg(o, 0)->type, *to = result(o, 0)->type;
    if (!s->m->f8_of_pair || !t->rank || !elem_is_f8(to->elem) || t->elem != E_F32 ||
        ir_attr(o, ATTR_ROUNDING) != ROUND_RTNE || i % EACH ||
        i + EACH > sim_n_regs(arg(o, 0)))
        return false;
    Lv halves = LLVMGetPoison(LLVMVectorType(l->i16, 2));
    for (int k = 0; k < 2; k++) {
        Lv half = s->m->f8_of_pair(l, to->elem, from[i + 2 * k], from[i + 2 * k + 1]);
        if (!half)
            return false;
        halves = LLVMBuildInsertElement(l->b, halves, half, ll_i32(l, k), "");
    }
    sim_unpack_word(s, to, LLVMBuildBitCast(l->b, halves, l->i32, ""), EACH, r + i);
    return true;
}

/* Byte `part` of a word as f32: below 0x4b0000 it is that number more than 2^23. One permutation puts it there. */
static Lv
float_of_byte(Sim *s, Elem from, Lv word, int part)
{
    Ll *l = s->l;
    bool is_signed = elem_is_signed(from);
    Lt bytes = LLVMVectorType(l->i8, 4);
    if (is_signed)
        word = LLVMBuildXor(l->b, word, ll_i32(l, (int32_t)0x80808080), "");
    Lv above = ll_i32(l, 0x4b000000),
       from_bytes[] = {ll_i32(l, part), ll_i32(l, 4), ll_i32(l, 4), ll_i32(l, 7)};
    Lv x = LLVMBuildShuffleVector(l->b, LLVMBuildBitCast(l->b, word, bytes, ""),
                                  LLVMConstBitCast(above, bytes),
                                  LLVMConstVector(from_bytes, 4), "");
    return LLVMBuildFSub(l->b, LLVMBuildBitCast(l->b, x, l->f32, ""),
                         LLVMConstReal(l->f32, 0x1p23 + (is_signed ? 0x1p7 : 0)), "");
}

/* Registers i and i + 1 of a cast from 8 bits, where few instructions convert both. */
static bool
cast_pair(Sim *s, const Op *o, Lv *from, int i, Lv *r)
{
    const Type *t = arg(o, 0)->type, *to = result(o, 0)->type;
    int part, next;
    if (!s->m->f8_pair || !t->rank || i + 1 >= sim_n_regs(arg(o, 0)) ||
        elem_info[t->elem].bits != 8 ||
        (to->elem != E_F16 && to->elem != E_BF16 && to->elem != E_F32))
        return false;
    Lv word = sim_word_of(s, from[i], &part);
    if (!word || sim_word_of(s, from[i + 1], &next) != word || part % 2 ||
        next != part + 1)
        return false;
    bool is_float = elem_is_float(t->elem);
    for (int k = 0; k < 2 && !is_float && to->elem == E_F32; k++)
        r[i + k] = float_of_byte(s, t->elem, word, part + k);
    if (!is_float && to->elem == E_F32)
        return true;
    Lv both = is_float ? s->m->f8_pair(s->l, t->elem, word, part / 2)
                       : pair_of_bytes(s, t->elem, to->elem, word, part);
    if (!both)
        return false;
    if (!is_float) {
        sim_unpack_word(s, to, both, 2, r + i);
        return true;
    }
    sim_unpack_word(s, ty_with_elem(s->c, t, E_F16), both, 2, r + i);
    for (int k = i; k < i + 2; k++)
        r[k] = cg_cast(s->l, E_F16, to->elem, r[k], ROUND_RTNE);
    return true;
}

/* Registers i and i + 1 of a sum, difference or product of 16-bit floats, by one instruction. Each
 * element is rounded as by itself, as through f32. */
static bool
arithmetic_pair(Sim *s, const Op *o, Lv **from, int i, Lv *r)
{
    Ll *l = s->l;
    const Type *t = result(o, 0)->type;
    const Target *target = &l->c->opt.target;
    if ((o->op != OP_ADD && o->op != OP_SUB && o->op != OP_MUL) || !t->rank || i % 2 ||
        i + 1 >= sim_n_regs(result(o, 0)) || target->kind != TARGET_CUDA ||
        (t->elem != E_F16 && (t->elem != E_BF16 || target->sm < 90)) ||
        (from[0][i] == from[0][i + 1] && from[1][i] == from[1][i + 1]))
        return false;
    Lt pair = LLVMVectorType(t->elem == E_F16 ? l->f16 : LLVMBFloatTypeInContext(l->cx),
                             2);
    Lv x[2];
    for (int k = 0; k < 2; k++)
        x[k] = LLVMBuildBitCast(l->b, sim_pack_word(s, t, from[k] + i, 2), pair, "");
    Lv y = o->op == OP_ADD   ? LLVMBuildFAdd(l->b, x[0], x[1], "")
           : o->op == OP_SUB ? LLVMBuildFSub(l->b, x[0], x[1], "")
                             : LLVMBuildFMul(l->b, x[0], x[1], "");
    sim_unpack_word(s, t, LLVMBuildBitCast(l->b, y, l->i32, ""), 2, r + i);
    return true;
}

/* Registers i to i + 3 of bits of bytes that came as one word, with a constant: at once. The parts of
 * bytes that weights of four bits are taken apart into stay a word until they are cast. */
static bool
bits_of_word(Sim *s, const Op *o, Lv **from, int i, Lv *r)
{
    enum { EACH = 4, BITS = 8, ONES = 0x01010101 };
    Ll *l = s->l;
    const Type *t = result(o, 0)->type;
    bool is_shift = o->op == OP_SHR || o->op == OP_SHL;
    if ((o->op != OP_AND && o->op != OP_OR && o->op != OP_XOR && !is_shift) ||
        !t->rank || elem_info[t->elem].bits != BITS || !elem_is_int(t->elem) ||
        (o->op == OP_SHR && elem_is_signed(t->elem)) || i % EACH ||
        i + EACH > sim_n_regs(result(o, 0)) || !LLVMIsAConstantInt(from[1][i]) ||
        l->c->opt.target.kind != TARGET_CUDA)
        return false;
    int part;
    Lv word = sim_word_of(s, from[0][i], &part);
    for (int k = 0; k < EACH; k++)
        if (!word || sim_word_of(s, from[0][i + k], &part) != word || part != k ||
            from[1][i + k] != from[1][i])
            return false;
    uint32_t c = (uint32_t)LLVMConstIntGetZExtValue(from[1][i]) & 0xff;
    if (is_shift && c >= BITS)
        return false;
    uint32_t each = o->op == OP_SHR ? 0xffu >> c % BITS : 0xffu << c % BITS & 0xff;
    Lv by = ll_i32(l, (int32_t)(is_shift ? c : c * ONES)),
       kept = ll_i32(l, (int32_t)(each * ONES));
    word = o->op == OP_AND   ? LLVMBuildAnd(l->b, word, by, "")
           : o->op == OP_OR  ? LLVMBuildOr(l->b, word, by, "")
           : o->op == OP_XOR ? LLVMBuildXor(l->b, word, by, "")
           : o->op == OP_SHR ? LLVMBuildLShr(l->b, word, by, "")
                             : LLVMBuildShl(l->b, word, by, "");
    sim_unpack_word(s, t, is_shift ? LLVMBuildAnd(l->b, word, kept, "") : word, EACH,
                    r + i);
    return true;
}

/* Register bits over which a comparison of rows is the same, as 16 divides where they begin and where they end. A
 * thread that holds eight rows of a tile compares each of them, and has seven predicates: the assembler loads some of
 * the rows when others are done with. Columns, which lie side by side, are accessed together by one mask. A launch is
 * asked for multiples of 16 alone, as which sizes that have a factor mostly come; products keep their masks, as it was
 * not measured there. */
static uint32_t
even_rows(Sim *s, const Op *o, int *step)
{
    enum { MOST = 4 }; /* log2 of what is ever known to divide an argument */
    const Val *v = result(o, 0);
    const Layout *y = v->type->layout;
    uint32_t mask = 0;
    for (int b = 0; b < y->n[IN_REG]; b++)
        if (!s->rows || y->basis[IN_REG][b] == 1)
            return 0;
    for (int d = 0; d < v->type->rank; d++) {
        int shift = layout_dim_shift(y, d), known = -1;
        for (int b = 0; b < y->n[IN_REG]; b++) {
            Col by = y->basis[IN_REG][b] >> shift;
            if (by << shift != y->basis[IN_REG][b] || by >> MIN(MOST, y->log2_shape[d]))
                continue;
            if (known < 0)
                known = facts_constancy(s->rows, v, d, MOST);
            if (!(by >> known)) {
                mask |= 1u << b;
                step[b] = 0;
            }
        }
    }
    return mask;
}

/* Register bits over which an integer quotient or comparison is the same, or a remainder counts: those of a run
 * that lies inside a multiple of the other operand, or over which nothing changes. step[b] is by how
 * much the result grows with bit b. Of eight masks more than there are predicates the assembler packs some into
 * a register and takes them out again: the means of rows by 2x128 and one warp had 27 such pairs. */
static uint32_t
runs_of(Sim *s, const Op *o, int *step)
{
    const Val *v = result(o, 0);
    const Layout *y = v->type->layout;
    uint32_t mask = 0;
    bool is_rem = o->op == OP_REM;
    if ((o->op != OP_DIV && o->op != OP_SHR && !is_rem && !op_is_order(o)) ||
        !elem_is_int(arg(o, 0)->type->elem) || !y)
        return 0;
    for (int d = 0; d < v->type->rank; d++) {
        int bit[MAX_BITS], run = layout_run(y, d, y->log2_shape[d], bit),
                           known = !run     ? 0
                                   : is_rem ? facts_contiguity(s->facts, v, d, run)
                                            : facts_constancy(s->facts, v, d, run);
        if (op_is_order(
                o)) /* as many as one access takes: the others' are no fewer predicates */
            run = MIN(run, 3);
        for (int i = 0; i < MIN(run, known); i++) {
            mask |= 1u << bit[i];
            step[bit[i]] = is_rem << i;
        }
    }
    return op_is_order(o) ? mask | even_rows(s, o, step) : mask;
}

/* Is one bit of all, of registers, lanes and warps, alone in moving along dim by this much? */
static bool
moves_alone(const Layout *l, int dim, Col by)
{
    int n = 0;
    for (int in = 0; in < N_IN; in++)
        for (int i = 0; i < l->n[in]; i++)
            n += (l->basis[in][i] >> layout_dim_shift(l, dim) & by) != 0;
    return n == 1;
}

enum { FARTHEST = 1 << 22 }; /* bytes, of which an access adds twice as many */

/* By how many elements pointers of v grow with each index of dim, up to `by` of them; 0: that varies, or is far. */
static int64_t
stride_of(Sim *s, const Val *v, const Affine *a, int dim, Col by)
{
    int64_t stride;
    if (a && affine_const_stride(a, dim, &stride))
        return stride > -FARTHEST && stride < FARTHEST ? stride : 0;
    int k = __builtin_ctz((unsigned)by) + 1;
    return facts_contiguity(s->facts, v, dim, k) >= k;
}

/* Register bits by which pointers grow by as many bytes as step[b], wherever the thread is: an access has room for a
 * constant, and the registers of a tile of 64 rows by two warps take 16 addresses otherwise. */
static uint32_t
pointer_runs(Sim *s, const Op *o, int *step)
{
    const Val *v = result(o, 0);
    const Layout *y = v->type->layout;
    uint32_t mask = 0;
    Affine a;
    if (o->op != OP_ADDPTR || !y)
        return 0;
    bool is_affine = affine_of(s->f, v, &a);
    for (int b = 0; b < y->n[IN_REG]; b++)
        for (int d = 0; d < v->type->rank; d++) {
            int shift = layout_dim_shift(y, d);
            Col all = ((Col)1 << y->log2_shape[d]) - 1,
                by = y->basis[IN_REG][b] >> shift & all;
            if (!by || by & (by - 1) || by << shift != y->basis[IN_REG][b] ||
                !moves_alone(y, d, by))
                continue;
            int64_t bytes = stride_of(s, v, is_affine ? &a : NULL, d, by) *
                            (int64_t)by * elem_info[v->type->elem].bytes;
            if (bytes && bytes > -FARTHEST && bytes < FARTHEST) {
                mask |= 1u << b;
                step[b] = (int)bytes;
            }
        }
    return mask;
}

/* Register i of a division by the first one of its run. */
static Lv
in_run(Sim *s, const Op *o, int i, uint32_t run, const int *step, Lv first)
{
    int n = 0;
    for (uint32_t left = (uint32_t)i & run; left; left &= left - 1)
        n += step[__builtin_ctz(left)];
    if (!n)
        return first;
    if (o->op == OP_ADDPTR)
        return ll_byte_at(s->l, first, ll_i32(s->l, n));
    Lv by = LLVMConstInt(LLVMTypeOf(first), (unsigned)n, false);
    return elem_is_signed(result(o, 0)->type->elem)
               ? LLVMBuildNSWAdd(s->l->b, first, by, "")
               : LLVMBuildNUWAdd(s->l->b, first, by, "");
}

/* v's elements, out of words that the optimiser knows nothing of. */
static Lv *
hidden(Sim *s, const Val *v)
{
    Lv *x = sim_val(s, v), *y = NEW_N(s->a, Lv, sim_n_regs(v));
    int each = MAX(4 / ty_bytes(v->type), 1);
    if (!s->m->opaque)
        return x;
    for (int i = 0; i < sim_n_regs(v); i += each) {
        int n = MIN(each, sim_n_regs(v) - i);
        Lv word = s->m->opaque(s->l, sim_pack_word(s, v->type, x + i, n));
        sim_unpack_word(s, v->type, word, n, y + i);
    }
    return y;
}

static void
elementwise(Sim *s, const Op *o)
{
    Lv **from = NEW_N(s->a, Lv *, o->n_args + 1), *x = NEW_N(s->a, Lv, o->n_args + 1),
       *r = sim_define(s, result(o, 0));
    for (int k = 0; k < o->n_args; k++) {
        if (arg(o, k)->type->layout != result(o, 0)->type->layout)
            sim_bad_layout(s, o);
        from[k] = o->op == OP_CAST && ir_attr(o, ATTR_AGAIN) ? hidden(s, arg(o, k))
                                                             : sim_val(s, arg(o, k));
    }
    int step[MAX_BITS];
    uint32_t run = o->op == OP_ADDPTR ? pointer_runs(s, o, step) : runs_of(s, o, step);
    for (int i = 0; i < sim_n_regs(result(o, 0)); i++) {
        if (o->op == OP_CAST && cast_pair(s, o, from[0], i, r)) {
            i++;
            continue;
        }
        if (o->op == OP_CAST && cast_to_f8_word(s, o, from[0], i, r)) {
            i += 3;
            continue;
        }
        if (arithmetic_pair(s, o, from, i, r)) {
            i++;
            continue;
        }
        if (bits_of_word(s, o, from, i, r)) {
            i += 3;
            continue;
        }
        if ((uint32_t)i & run) { /* the first of its run has been computed */
            r[i] = in_run(s, o, i, run, step, r[(uint32_t)i & ~run]);
            continue;
        }
        bool is_first = i == 0, is_last = i > 0; /* the same operands as there? */
        for (int k = 0; k < o->n_args; k++) {
            x[k] = from[k][i];
            is_first = i && x[k] == from[k][0] && (k == 0 || is_first);
            is_last = i && is_last && x[k] == from[k][i - 1];
        }
        r[i] = is_first ? r[0] : is_last ? r[i - 1] : cg_elementwise(s->l, o, x);
    }
}

/* ---- debugging ----------------------------------------------------------------------------------- */

static void
assertion(Sim *s, const Op *o)
{
    if (!s->c->opt.debug)
        return;
    Ll *l = s->l;
    Lv *cond = sim_val(s, arg(o, 0)),
       *mask = o->n_args > 1 ? sim_val(s, arg(o, 1)) : NULL;
    Lv bad = NULL;
    for (int i = 0; i < sim_n_regs(arg(o, 0)); i++) {
        Lv x = LLVMBuildNot(l->b, cond[i], "");
        if (mask)
            x = LLVMBuildAnd(l->b, x, mask[i], "");
        bad = bad ? LLVMBuildOr(l->b, bad, x, "") : x;
    }
    s->m->trap_if(l, bad, o->text, o->loc);
}

static void
print(Sim *s, const Op *o)
{
    Ll *l = s->l;
    if (!o->n_args)
        s->m->print(l, o, -1, ll_i32(l, 0), NULL, sim_owner(s, NULL));
    bool masked = ir_attr(o, ATTR_MASKED) != 0;
    for (int k = 0; k < ir_n_values(o); k++) {
        const Val *v = arg(o, k);
        Lv owner = sim_owner(s, v->type->layout);
        Pieces p = sim_pieces(s, v, masked ? arg(o, 1) : NULL, 0);
        Lv *x = sim_piece(s, &p, v),
           *mask = masked ? sim_piece(s, &p, arg(o, 1)) : NULL;
        for (int i = 0; i < sim_n_regs(v); i++) {
            if (!sim_in_piece(&p, i))
                continue;
            Lv at = v->type->rank ? sim_piece_index(s, &p, v->type->layout, i)
                                  : ll_i32(l, 0);
            Lv on = mask ? mask[i] : NULL;
            if (on && owner)
                on = LLVMBuildAnd(l->b, on, owner, "");
            s->m->print(l, o, k, at, x[i], on ? on : owner);
        }
        sim_pieces_end(s, &p);
    }
}

static void
assume(Sim *s, const Op *o)
{
    ll_intrinsic(s->l, "llvm.assume", NULL, 0, sim_val(s, arg(o, 0)), 1);
}

/* ---- the walk -------------------------------------------------------------------------------------- */

static void
op(Sim *s, const Op *o)
{
    switch (o->op) {
    case OP_CONST: constant(s, o); return;
    case OP_ARANGE: arange(s, o); return;
    case OP_SPLAT: splat(s, o); return;
    case OP_PROGRAM_ID:
        sim_define(s, result(o, 0))[0] = s->m->program_id(s->l,
                                                          (int)ir_attr(o, ATTR_AXIS));
        return;
    case OP_NUM_PROGRAMS:
        sim_define(s, result(o, 0))[0] = s->m->num_programs(s->l,
                                                            (int)ir_attr(o, ATTR_AXIS));
        return;
    case OP_BLOCK_ID:
        sim_define(s, result(o, 0))[0] = s->m->program_id(s->l, 0);
        return;
    case OP_NUM_BLOCKS: sim_define(s, result(o, 0))[0] = s->m->num_blocks(s->l); return;
    case OP_CLUSTER_RANK:
        sim_define(s, result(o, 0))[0] = s->m->cluster_rank(s->l);
        return;
    case OPS_INDEX: rename_regs(s, o); return;
    case OP_JOIN:
    case OP_CAT: cat_blocks(s, o); return;
    case OP_SPLIT: split(s, o); return;
    case OP_CONVERT: sim_convert(s, o); return;
    case OP_LOAD: sim_load(s, o); return;
    case OP_STORE: sim_store(s, o); return;
    case OP_ATOMIC_RMW:
    case OP_ATOMIC_CAS: sim_atomic(s, o); return;
    case OP_PREFETCH: sim_prefetch(s, o); return;
    case OP_REDUCE: sim_reduce(s, o); return;
    case OP_SCAN: sim_scan(s, o); return;
    case OP_DOT: sim_dot(s, o); return;
    case OP_GATHER: sim_gather(s, o); return;
    case OP_HISTOGRAM: sim_histogram(s, o); return;
    case OP_FOR: sim_for(s, o); return;
    case OP_WHILE: sim_while(s, o); return;
    case OP_IF: sim_if(s, o); return;
    case OP_ASSUME: assume(s, o); return;
    case OP_LAUNCH_TEST: return;
    case OP_ASSERT: assertion(s, o); return;
    case OP_PRINT: print(s, o); return;
    case OP_BARRIER: sim_barrier(s); return;
    case OP_SHARED_ALLOC: sim_shared_alloc(s, o); return;
    case OP_SHARED_LOAD: sim_shared_load(s, o); return;
    case OP_SHARED_STORE: sim_shared_store(s, o); return;
    case OP_SHARED_VIEW: sim_shared_view(s, o); return;
    case OP_LOCAL_ALLOC: return; /* its bytes are in the text */
    case OP_LOCAL_LOAD: sim_slice_load(s, o); return;
    case OP_LOCAL_STORE: sim_slice_store(s, o); return;
    case OP_RING_ALLOC: sim_ring_alloc(s, o); return;
    case OP_MBAR_WAIT: sim_mbar_wait(s, o); return;
    case OP_MBAR_ARRIVE: sim_mbar_arrive(s, o); return;
    case OP_TURN: sim_turn(s, o); return;
    case OP_TMA_LOAD: sim_tma_load(s, o); return;
    case OP_ROLES: sim_roles(s, o); return;
    case OP_REDUCE_SCATTER: sim_reduce_scatter(s, o); return;
    case OP_TENSOR_MAP: sim_tensor_map(s, o); return;
    case OP_MAP_LOAD: sim_map_load(s, o); return;
    case OP_MAP_STORE: sim_map_store(s, o); return;
    case OP_FENCE_ASYNC: s->m->fence_async(s->l); return;
    case OP_MMA_START: sim_mma_start(s, o); return;
    case OP_MMA_OPEN: sim_mma_open(s, o); return;
    case OP_MMA_WAIT: sim_mma_wait(s, o); return;
    case OP_ASYNC_COPY: sim_async_copy(s, o); return;
    case OP_ASYNC_COMMIT: s->m->async_commit(s->l); return;
    case OP_ASYNC_WAIT: s->m->async_wait(s->l, (int)ir_attr(o, ATTR_PENDING)); return;
    case OP_INLINE_ASM:
    case OP_INLINE_ASM_IO: sim_inline_asm(s, o); return;
    case OP_EXTERN_IO: sim_extern(s, o); return;
    case OPS_ENDS: return; /* whose region it is knows what to do */
    default:
        if (!op_has(o, OPF_ELEM))
            err_at(s->c, o->loc, TARGET, info(o)->text, s->m->name);
        elementwise(s, o);
    }
}

/* Only the emulator looks at where an access goes. */
static bool
is_elsewhere(const Sim *s, const Op *o)
{
    return s->c->opt.target.kind == TARGET_EMU && ir_reaches_elsewhere(o);
}

void
sim_block(Sim *s, const Block *b)
{
    Setup *around = s->setup;
    for (const Op *o = b->first; o; o = o->next) {
        sim_costs_enter(s->l, o);
        ll_lines_at(s->l, o->loc, is_elsewhere(s, o));
        op(s, o);
    }
    s->setup = around;
}

/* ---- the function ------------------------------------------------------------------------------------ */

/* Few passes are enough: what they would look for, the passes over tile IR have done. */
static const char passes[] =
    "function(early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg),"
    "function(loop-mssa(licm)),function(early-cse)";

static void
check_size(Sim *s)
{
    int64_t code = code_size(s->f, s->f->body, INT32_MAX);
    if (code > MAX_CODE)
        err_at(s->c, s->f->loc, RESOURCES, "instructions", (long long)code,
               (long long)MAX_CODE);
}

/* Does assembly speak of clusters? */
static bool
names_cluster(const Block *b)
{
    EACH_OP(o, b) {
        bool is_asm = o->op == OP_INLINE_ASM || o->op == OP_INLINE_ASM_IO;
        if (is_asm && strstr(o->text, "cluster"))
            return true;
    }
    return false;
}

/* The exchanges are numbered in the order of their mbarriers, which lie side by side. */
static void
open_cluster(Sim *s)
{
    int n = 0;
    s->first_mbar = INT32_MAX;
    for (const Op *o = s->f->body->first; o; o = o->next)
        if (o->place && o->place->mbar >= 0) {
            s->first_mbar = MIN(s->first_mbar, o->place->mbar);
            n++;
        }
    int *bytes = NEW_N(s->a, int, MAX(n, 1));
    for (const Op *o = s->f->body->first; o; o = o->next)
        if (o->place && o->place->mbar >= 0) {
            int site = sim_site(s, o);
            if (site >= n || bytes[site])
                err_at(s->c, o->loc, VALUE, "mbarriers of exchanges lie side by side");
            bytes[site] = o->place->bytes;
        }
    s->m->cluster_open(s->l, n, bytes, n ? s->first_mbar : 0,
                       names_cluster(s->f->body));
}

/* NULL: a function with products. */
static FactTable *
facts_of_rows(Func *f)
{
    EACH_OP(o, f->body)
        if (o->op == OP_DOT || o->op == OP_MMA_START)
            return NULL;
    FactTable *facts = facts_new(f);
    facts_ask_16(facts);
    return facts;
}

/* Have threads fewer registers than live at one time in the order of the text? */
static bool
is_too_much(const Func *f)
{
    enum { MOST_REGS = 255 };
    return most_live_words(f) >= MIN(MOST_REGS, CHIP_REGISTERS / (32 * block_warps(f)));
}

void
cg_simt(Func *f, Binary *out)
{
    Comp *c = f->c;
    Arena *a = c->arena;
    Sim s = {.c = c, .a = a, .f = f, .m = &machine_ptx, .word_of.a = a};
    s.log2_warps = __builtin_ctz((unsigned)f->team_warps) + f->log2_ctas;
    check_threads(f);
    check_size(&s);
    s.facts = facts_new(f);
    s.rows = facts_of_rows(f);
    s.vals = NEW_N(a, Lv *, f->n_vals);
    s.lazy = NEW_N(a, struct Lazy *, f->n_vals);
    s.shared_bytes = ir_shared_bytes(f);
    sim_check_places(&s);

    Ll *l = s.l = ll_new(c, LL_NVPTX, f->name);
    l->machine = s.m;
    s.m = sim_costs_open(l, a);
    l->ops = s.m->ops;
    l->call_extern = ll_call_extern;
    l->log2_ctas = f->log2_ctas;
    Lv *params = NEW_N(a, Lv, f->body->n_args);
    s.m->begin(l, f, params);
    if (c->opt.line_info || c->opt.target.kind == TARGET_EMU)
        ll_lines_open(l, f->loc);
    for (int i = 0; i < f->body->n_args; i++)
        sim_define(&s, f->body->args[i])[0] = params[i];
    sim_open_setup(&s);
    if (f->log2_ctas)
        open_cluster(&s);
    sim_map_open(&s);
    sim_end_setup(&s, "kernel");
    sim_block(&s, f->body);
    s.m->end(l);
    ll_lines_close(l);
    sim_costs_report(l, f);
    ll_finish(l, ll_link(l, passes), out);
    ll_note_libraries(l, out);
    ptx_avoid_faults(l);
    c->piecewise = s.rows && c->opt.target.kind == TARGET_CUDA && is_too_much(f)
                       ? ll_emit_piecewise(l)
                       : NULL;
    ll_emit(l, LLVMAssemblyFile, "ptx", out);
    out->shared = s.shared_bytes;
    out->num_warps = f->team_warps;
    out->block_warps = block_warps(f);
    out->num_ctas = ir_num_ctas(f);
    size_t n;
    out->symbol = strdup(LLVMGetValueName2(l->fn, &n));
    if (!out->symbol)
        err_at(c, f->loc, MEMORY);
}
