/* words: elements <-> the words that memory, shuffles and tensor cores deal in.
 *
 *     4 x f16 in registers: half half half half   <->   <2 x i32> in memory
 *
 * A load of 16-bit elements is a load of 32-bit words, taken apart by shift and truncation:
 * LLVM folds those into the conversions that follow (bf16 -> f32 is one shift or one mask).
 * Where an element came from is remembered, so that packing the same elements again (a load
 * that goes straight to shared memory, or from there into a matrix instruction) is the word
 * itself. On GPUs bf16 is packed as LLVM's bfloat, not as an integer: two conversions of
 * floats then become one cvt.rn.bf16x2.
 */
#include "codegen/simt/simt.h"

typedef struct Word {
    Lv word;
    int part; /* from the low end */
} Word;

Lt
sim_packed_type(Sim *s, const Type *t, int n)
{
    int bytes = n * ty_bytes(t);
    Ll *l = s->l;
    if (ty_bytes(t) == 8)
        return ll_vec(l->i64, n);
    if (bytes >= 4)
        return ll_vec(l->i32, bytes / 4);
    return bytes == 2 ? l->i16 : l->i8;
}

Lv
sim_to_int(Ll *l, const Type *t, Lv x)
{
    Lt to = LLVMIntTypeInContext(l->cx, ty_bytes(t) * 8u);
    if (t->is_ptr)
        return LLVMBuildPtrToInt(l->b, x, to, "");
    return LLVMBuildBitCast(l->b, cg_to_memory(l, t->elem, x), to, "");
}

Lv
sim_from_int(Ll *l, const Type *t, Lv x)
{
    if (t->is_ptr)
        return LLVMBuildIntToPtr(l->b, x, l->gptr, "");
    return cg_from_memory(l, t->elem,
                          LLVMBuildBitCast(l->b, x, ll_mem(l, t->elem), ""));
}

/* ---- one 32-bit word of narrow elements --------------------------------------------------- */

/* The word that n elements are; of four, also what one permutation of bytes makes of two words. NULL:
 * they are no parts of words, or of more. */
static Lv
whole_word(Sim *s, Lv *elems, int n)
{
    enum { BYTES = 4 };
    Ll *l = s->l;
    Lv word[2] = {NULL}, at[BYTES];
    bool is_whole = true;
    for (int i = 0; i < n; i++) {
        const Word *w = map_get(&s->word_of, elems[i], 0);
        if (!w)
            return NULL;
        int k = word[0] && word[0] != w->word;
        if (word[k] && word[k] != w->word)
            return NULL;
        word[k] = w->word;
        at[i] = ll_i32(l, k * n + w->part);
        is_whole &= !k && w->part == i;
    }
    if (is_whole || n != BYTES)
        return is_whole ? word[0] : NULL;
    Lt bytes = ll_vec(l->i8, BYTES);
    for (int k = 0; k < 2; k++)
        word[k] = word[k] ? LLVMBuildBitCast(l->b, word[k], bytes, "")
                          : LLVMGetPoison(bytes);
    Lv x = LLVMBuildShuffleVector(l->b, word[0], word[1], LLVMConstVector(at, BYTES),
                                  "");
    return LLVMBuildBitCast(l->b, x, l->i32, "");
}

Lv
sim_word_of(Sim *s, Lv x, int *part)
{
    const Word *w = map_get(&s->word_of, x, 0);
    if (!w)
        return NULL;
    *part = w->part;
    return w->word;
}

/* The type in which narrow elements are put side by side. */
static Lt
side_by_side(Sim *s, const Type *t)
{
    if (t->elem == E_F16)
        return s->l->f16;
    /* x86 moves vectors of bfloat by an instruction that rounds, and flushes subnormals. */
    bool on_gpu = s->l->gptr != s->l->ptr;
    if (t->elem == E_BF16 && on_gpu)
        return LLVMBFloatTypeInContext(s->l->cx);
    return LLVMIntTypeInContext(s->l->cx, elem_info[t->elem].bytes * 8u);
}

/* n narrow elements as one integer of n * bytes: 16 or 32 bits. */
static Lv
pack_narrow(Sim *s, const Type *t, Lv *elems, int n)
{
    Ll *l = s->l;
    int bytes = ty_bytes(t);
    if (n == 1)
        return sim_to_int(s->l, t, elems[0]);
    Lv word = n * bytes == 4 ? whole_word(s, elems, n) : NULL;
    if (word)
        return word;
    Lt part = side_by_side(s, t);
    Lv v = LLVMGetPoison(ll_vec(part, n));
    for (int i = 0; i < n; i++) {
        Lv x = cg_to_memory(l, t->elem, elems[i]);
        x = LLVMBuildBitCast(l->b, x, part, "");
        v = LLVMBuildInsertElement(l->b, v, x, ll_i32(l, i), "");
    }
    return LLVMBuildBitCast(l->b, v,
                            LLVMIntTypeInContext(l->cx, (unsigned)(n * bytes * 8)), "");
}

static void
unpack_narrow(Sim *s, const Type *t, Lv word, int n, Lv *elems)
{
    Ll *l = s->l;
    int bits = ty_bytes(t) * 8;
    Lt part = LLVMIntTypeInContext(l->cx, (unsigned)bits), whole = LLVMTypeOf(word);
    for (int i = 0; i < n; i++) {
        Lv x = word;
        if (i)
            x = LLVMBuildLShr(l->b, x, LLVMConstInt(whole, (unsigned)(i * bits), false),
                              "");
        if (n > 1)
            x = LLVMBuildTrunc(l->b, x, part, "");
        elems[i] = sim_from_int(s->l, t, x);
        if (n * bits != 32 || LLVMIsConstant(elems[i]))
            continue;
        Word *w = NEW(s->a, Word);
        *w = (Word){word, i};
        map_put(&s->word_of, elems[i], 0, w);
    }
}

Lv
sim_pack_word(Sim *s, const Type *t, Lv *elems, int n)
{
    if (ty_bytes(t) == 4)
        return sim_to_int(s->l, t, elems[0]);
    return LLVMBuildZExt(s->l->b, pack_narrow(s, t, elems, n), s->l->i32, "");
}

void
sim_unpack_word(Sim *s, const Type *t, Lv word, int n, Lv *elems)
{
    int bits = n * ty_bytes(t) * 8;
    if (ty_bytes(t) == 4) {
        elems[0] = sim_from_int(s->l, t, word);
        return;
    }
    if (bits < 32)
        word = LLVMBuildTrunc(s->l->b, word,
                              LLVMIntTypeInContext(s->l->cx, (unsigned)bits), "");
    unpack_narrow(s, t, word, n, elems);
}

/* ---- what one access moves ------------------------------------------------------------------ */

Lv
sim_pack(Sim *s, const Type *t, Lv *elems, int n)
{
    Ll *l = s->l;
    int bytes = ty_bytes(t), per_word = bytes < 4 ? 4 / bytes : 1;
    if (n <= per_word)
        return bytes < 4 ? pack_narrow(s, t, elems, n) : sim_to_int(s->l, t, elems[0]);
    Lv v = LLVMGetPoison(sim_packed_type(s, t, n));
    for (int i = 0; i < n; i += per_word) {
        Lv w = bytes < 4 ? pack_narrow(s, t, elems + i, per_word)
                         : sim_to_int(s->l, t, elems[i]);
        v = LLVMBuildInsertElement(l->b, v, w, ll_i32(l, i / per_word), "");
    }
    return v;
}

void
sim_unpack(Sim *s, const Type *t, Lv packed, int n, Lv *elems)
{
    Ll *l = s->l;
    int bytes = ty_bytes(t), per_word = bytes < 4 ? 4 / bytes : 1;
    for (int i = 0; i < n; i += per_word) {
        Lv w = packed;
        if (n > per_word)
            w = LLVMBuildExtractElement(l->b, packed, ll_i32(l, i / per_word), "");
        if (bytes < 4)
            unpack_narrow(s, t, w, MIN(n, per_word), elems + i);
        else
            elems[i] = sim_from_int(s->l, t, w);
    }
}

void
sim_shared_get(Sim *s, const Type *t, Lv offset, int n, Lv *elems)
{
    Lt type = sim_packed_type(s, t, n);
    sim_unpack(s, t, s->m->shared_load(s->l, offset, type, n * ty_bytes(t)), n, elems);
}

void
sim_shared_put(Sim *s, const Type *t, Lv offset, Lv *elems, int n, Lv pred)
{
    s->m->shared_store(s->l, offset, sim_pack(s, t, elems, n), n * ty_bytes(t), pred);
}

/* ---- shuffles --------------------------------------------------------------------------------- */

int
sim_to_words(Sim *s, const Type *t, Lv x, Lv word[2])
{
    Ll *l = s->l;
    x = sim_to_int(s->l, t, x);
    if (ty_bytes(t) < 8) {
        word[0] = LLVMBuildZExt(l->b, x, l->i32, "");
        return 1;
    }
    word[0] = LLVMBuildTrunc(l->b, x, l->i32, "");
    word[1] = LLVMBuildTrunc(l->b, LLVMBuildLShr(l->b, x, ll_i64(l, 32), ""), l->i32,
                             "");
    return 2;
}

Lv
sim_from_words(Sim *s, const Type *t, Lv word[2])
{
    Ll *l = s->l;
    if (ty_bytes(t) < 8) {
        Lt type = LLVMIntTypeInContext(l->cx, (unsigned)ty_bytes(t) * 8);
        return sim_from_int(s->l, t, LLVMBuildTrunc(l->b, word[0], type, ""));
    }
    Lv low = LLVMBuildZExt(l->b, word[0], l->i64, "");
    Lv high = LLVMBuildZExt(l->b, word[1], l->i64, "");
    high = LLVMBuildShl(l->b, high, ll_i64(l, 32), "");
    return sim_from_int(s->l, t, LLVMBuildOr(l->b, low, high, ""));
}

Lv
sim_shuffle_xor(Sim *s, const Type *t, Lv x, int mask)
{
    Lv w[2];
    int n = sim_to_words(s, t, x, w);
    for (int i = 0; i < n; i++)
        w[i] = s->m->shuffle_xor(s->l, w[i], mask);
    return sim_from_words(s, t, w);
}

Lv
sim_shuffle_idx(Sim *s, const Type *t, Lv x, Lv lane)
{
    Lv w[2];
    int n = sim_to_words(s, t, x, w);
    for (int i = 0; i < n; i++)
        w[i] = s->m->shuffle_idx(s->l, w[i], lane);
    return sim_from_words(s, t, w);
}
