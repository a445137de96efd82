/* ptx_atomics: order and scope are written out in asm, because LLVM's atomicrmw drops them.
 */
#include "codegen/simt/ptx.h"

static const char *const sem_word[] = {"acq_rel", "acquire", "release", "relaxed"};
static const char *const scope_word[] = {"gpu", "cta", "sys"};

/* One atomic: which, where and when. */
typedef struct Atom {
    const char *what; /* "add.f32", behind the scope and the space */
    Lv ptr, pred;
    int sem, scope;
    bool
        is_used; /* else it may be a red, which has no acquire and brings nothing back */
} Atom;

/* "@p atom.sem.scope.global.<what> $0, [ptr], values;" with the result tied to 0. Values
 * are integers or floats of the register class that <what> needs; packed ones (ll_vec)
 * travel as { .. }. */
static Lv
atom(Ll *l, const Atom *k, Lv *values, int n, Lv otherwise)
{
    Asm a = asm_new(l);
    Lt t = LLVMTypeOf(values[0]);
    Parts p = asm_parts(l, t);
    bool is_red = !k->is_used && (k->sem == SEM_RELAXED || k->sem == SEM_RELEASE);
    for (int i = 0; i < p.n && !is_red; i++)
        asm_out(&a, p.type);
    asm_predicate(&a, k->pred);
    asm_text(&a, "%s.%s.%s.global.%s ", is_red ? "red" : "atom", sem_word[k->sem],
             scope_word[k->scope], k->what);
    if (!is_red) {
        asm_list(&a, 0, p.n);
        asm_text(&a, ", ");
    }
    asm_text(&a, "[$%d]", asm_in(&a, k->ptr));
    for (int i = 0; i < n; i++) {
        asm_text(&a, ", ");
        asm_packed(&a, &p, values[i]);
    }
    asm_text(&a, ";");
    if (!otherwise)
        otherwise = LLVMConstNull(t);
    for (int i = 0; i < p.n && k->pred && !is_red; i++)
        asm_tie(&a, i, asm_part(l, &p, otherwise, i));
    if (!is_red)
        return asm_done_packed(&a, &p, t);
    asm_done(&a, true, true);
    return LLVMConstNull(t);
}

/* "ld.acquire.gpu.global.b32 $0, [ptr];" and st's; bytes travel in words. An acquire of which nobody
 * uses the value is a fence behind the load: ptxas drops the load, and then its predicate. */
static Lv
one_way(Ll *l, const Atom *k, Elem e, bool is_load, Lv value)
{
    Asm a = asm_new(l);
    Lt t = LLVMTypeOf(value);
    int bits = elem_info[e].bytes * 8;
    bool is_fence = is_load && k->pred && !k->is_used && k->sem == SEM_ACQUIRE;
    Lt reg = bits == 8 ? l->i32 : LLVMTypeOf(ptx_as_bits(l, e, value));
    if (is_load)
        asm_out(&a, reg);
    asm_predicate(&a, k->pred);
    asm_text(&a, "%s.%s.%s.global.b%d ", is_load ? "ld" : "st",
             sem_word[is_fence ? SEM_RELAXED : k->sem], scope_word[k->scope], bits);
    if (is_load)
        asm_text(&a, "$0, ");
    asm_text(&a, "[$%d]", asm_in(&a, k->ptr));
    if (!is_load) {
        Lv v = ptx_as_bits(l, e, value);
        asm_text(&a, ", $%d",
                 asm_in(&a, bits == 8 ? LLVMBuildZExt(l->b, v, reg, "") : v));
    }
    asm_text(&a, ";");
    if (is_fence)
        asm_text(&a, " fence.acq_rel.%s;", scope_word[k->scope]);
    if (is_load && k->pred)
        asm_tie(&a, 0, LLVMConstNull(reg));
    Lv r = asm_done(&a, true, true);
    if (!is_load)
        return LLVMConstNull(t);
    r = bits == 8 ? LLVMBuildTrunc(l->b, r, l->i8, "") : r;
    return LLVMBuildBitCast(l->b, r, t, "");
}

/* Integer order is float order for numbers without a sign, and the other way round,
 * unsigned, for those with one. So one of two instructions, by the operand's sign. */
static Lv
float_extreme(Ll *l, Atom k, Elem e, int rmw, Lv value)
{
    int bits = elem_info[e].bits;
    bool is_max = rmw == RMW_MAX;
    char up[16], down[16];
    snprintf(up, sizeof up, "%s.s%d", is_max ? "max" : "min", bits);
    snprintf(down, sizeof down, "%s.u%d", is_max ? "min" : "max", bits);
    Lv v = ptx_as_bits(l, e, value), always = k.pred;
    Lv is_neg = LLVMBuildICmp(l->b, LLVMIntSLT, v, LLVMConstNull(LLVMTypeOf(v)), "");
    Lv is_pos = LLVMBuildNot(l->b, is_neg, "");
    k.what = up;
    k.pred = always ? LLVMBuildAnd(l->b, is_pos, always, "") : is_pos;
    Lv old = atom(l, &k, &v, 1, NULL);
    k.what = down;
    k.pred = always ? LLVMBuildAnd(l->b, is_neg, always, "") : is_neg;
    old = atom(l, &k, &v, 1, old);
    return LLVMBuildBitCast(l->b, old, ll_elem(l, e), "");
}

/* Half i of a word, as a float. */
static Lv
half_of(Ll *l, Elem e, Lv word, int i)
{
    if (LLVMTypeOf(word) != l->i16) {
        word = LLVMBuildLShr(l->b, word, ll_i32(l, 16 * i), "");
        word = LLVMBuildTrunc(l->b, word, l->i16, "");
    }
    Lv x = LLVMBuildBitCast(l->b, word, ll_elem(l, e), "");
    return cg_cast(l, e, E_F32, x, ROUND_RTNE);
}

/* What no instruction does with one half, or with a word of two: additions of bf16 before
 * sm_90, extremes. Compare and swap until nobody came between. */
static Lv
half_by_cas(Ll *l, Atom k, Elem e, int rmw, Lv value)
{
    LLVMBasicBlockRef before = LLVMGetInsertBlock(l->b), start = ll_block(l, "rmw"),
                      loop = ll_block(l, "retry"), after = ll_block(l, "swapped");
    Lv pred = k.pred ? k.pred : LLVMConstInt(l->i1, 1, false);
    bool is_pair = LLVMTypeOf(value) == l->i32;
    Lt word = is_pair ? l->i32 : l->i16;
    ll_if(l, pred, start, after);
    Lv seen = LLVMBuildLoad2(l->b, word, k.ptr, "");
    LLVMSetVolatile(seen, 1);
    ll_jump(l, loop);
    Lv old = ll_phi(l, seen, start), new = LLVMConstNull(word);
    for (int i = 0; i < 1 + is_pair; i++) {
        Lv x[2] = {half_of(l, e, old, i), half_of(l, e, value, i)};
        Lv now = rmw == RMW_ADD
                     ? LLVMBuildFAdd(l->b, x[0], x[1], "")
                     : ll_intrinsic(l, rmw == RMW_MAX ? "llvm.maxnum" : "llvm.minnum",
                                    &l->f32, 1, x, 2);
        Lv bits = ptx_as_bits(l, e, cg_cast(l, E_F32, e, now, ROUND_RTNE));
        bits = LLVMBuildZExt(l->b, bits, word, "");
        if (i)
            bits = LLVMBuildShl(l->b, bits, ll_i32(l, 16), "");
        new = LLVMBuildOr(l->b, new, bits, "");
    }
    k.what = is_pair ? "cas.b32" : "cas.b16";
    k.pred = NULL;
    k.is_used = true;
    Lv got = atom(l, &k, (Lv[]){old, new}, 2, NULL);
    Lv same = LLVMBuildICmp(l->b, LLVMIntEQ, got, old, "");
    LLVMBasicBlockRef end = LLVMGetInsertBlock(l->b);
    LLVMAddIncoming(old, &got, &end, 1);
    ll_if(l, same, after, loop);
    Lv r = ll_join(l, LLVMConstNull(word), before, got, end);
    return is_pair ? r : LLVMBuildBitCast(l->b, r, ll_elem(l, e), "");
}

/* What an addition of `bytes` bytes of e is called. */
static void
add_word(char *what, size_t size, Elem e, int bytes)
{
    bool is_float = elem_is_float(e), is_half = elem_info[e].bits == 16;
    bool is_pair = is_half && bytes > 2;
    int n = bytes / MAX(is_pair ? 4 : elem_info[e].bytes, 1);
    char many[16] = "";
    if (n > 1)
        snprintf(many, sizeof many, "v%d.", n);
    if (is_half)
        snprintf(what, size, "add.noftz.%s%s%s", many, e == E_F16 ? "f16" : "bf16",
                 is_pair ? "x2" : "");
    else
        snprintf(what, size, "add.%s%c%d", many, is_float ? 'f' : 'u',
                 elem_info[e].bits);
}

Lv
ptx_atomic_rmw(Ll *l, const Access *x, Elem e, int rmw, int sem, int scope, Lv value,
               bool is_used)
{
    int bits = elem_info[e].bits;
    bool is_one = x->bytes == elem_info[e].bytes;
    char what[32];
    Atom k = {what, x->ptr, x->pred, sem, scope, is_used};
    Lv v = value;
    switch (rmw) {
    case RMW_ADD:
        if (bits == 16 && is_one)
            v = ptx_as_bits(l, e, value);
        if (e == E_BF16 && !ptx_sm_at_least(l, 90))
            return half_by_cas(l, k, e, rmw, v);
        add_word(what, sizeof what, e, x->bytes);
        break;
    case RMW_MAX:
    case RMW_MIN:
        if (bits == 16)
            return half_by_cas(l, k, e, rmw, is_one ? ptx_as_bits(l, e, value) : value);
        if (elem_is_float(e))
            return float_extreme(l, k, e, rmw, value);
        snprintf(what, sizeof what, "%s.%c%d", rmw == RMW_MAX ? "max" : "min",
                 elem_is_signed(e) ? 's' : 'u', bits);
        break;
    case RMW_AND: snprintf(what, sizeof what, "and.b%d", bits); break;
    case RMW_OR: snprintf(what, sizeof what, "or.b%d", bits); break;
    case RMW_XOR: snprintf(what, sizeof what, "xor.b%d", bits); break;
    case RMW_XCHG:
        snprintf(what, sizeof what, "exch.b%d", bits);
        v = ptx_as_bits(l, e, value);
        k.is_used = true; /* there is no red.exch */
        break;
    case RMW_LOAD:
    case RMW_STORE: return one_way(l, &k, e, rmw == RMW_LOAD, value);
    default: unreachable(l->c);
    }
    Lv old = atom(l, &k, &v, 1, NULL);
    return LLVMBuildBitCast(l->b, old, LLVMTypeOf(value), "");
}

Lv
ptx_atomic_cas(Ll *l, const Access *x, Elem e, int sem, int scope, Lv compare, Lv value)
{
    char what[16];
    Atom k = {what, x->ptr, x->pred, sem, scope, true};
    snprintf(what, sizeof what, "cas.b%d", elem_info[e].bits);
    Lv v[] = {ptx_as_bits(l, e, compare), ptx_as_bits(l, e, value)};
    Lv old = atom(l, &k, v, 2, NULL);
    return LLVMBuildBitCast(l->b, old, LLVMTypeOf(value), "");
}

void
ptx_fence(Ll *l, int scope)
{
    asm_statement(l, "fence.acq_rel.%s;", scope_word[scope]);
}
