/* foreign_math: what NVVM's intrinsics and CUDA's libdevice compute, on a host.
 *
 *     llvm.nvvm.fma.rn.f       an instruction, or an intrinsic of LLVM's
 *     llvm.nvvm.add.rz.f       a function of runtime/foreign_calls.c that sets the rounding
 *     llvm.nvvm.ex2.approx.f   codegen/math.c, as everywhere
 *     __nv_expf                the C library's
 *
 * A name is read from left to right: the operation, how it rounds, of what. Where a GPU
 * approximates, this is as good or better. `.ftz` flushes what is subnormal to zero.
 */
#include "codegen/library/foreign.h"

#include <stdlib.h>

enum { NEAREST, ZERO, DOWN, UP, N_ROUNDING }; /* as tegula_rounded knows them */

/* "rn", "rz", "rm", "rp", and libdevice's "rd", "ru"; -1: none. */
static int
rounding_of(const char *s)
{
    static const char *const names[] = {"rn", "rz", "rm", "rp", "rd", "ru"};
    static const int mode[] = {NEAREST, ZERO, DOWN, UP, DOWN, UP};
    for (size_t i = 0; i < COUNT(names); i++)
        if (!strncmp(s, names[i], 2) && (!s[2] || s[2] == '.'))
            return mode[i];
    return -1;
}

static Lv
unary(Ll *l, const char *intrinsic, Lv x)
{
    Lt t = LLVMTypeOf(x);
    return ll_intrinsic(l, intrinsic, &t, 1, &x, 1);
}

static Lv
binary(Ll *l, const char *intrinsic, Lv x, Lv y)
{
    Lt t = LLVMTypeOf(x);
    return ll_intrinsic(l, intrinsic, &t, 1, (Lv[]){x, y}, 2);
}

static bool
is_float(Ll *l, Lv x)
{
    Lt t = LLVMTypeOf(x);
    return t == l->f32 || t == l->f64;
}

/* x, and 0 of its sign where it is a subnormal float. */
static Lv
flushed(Ll *l, Lv x)
{
    if (LLVMTypeOf(x) != l->f32)
        return x;
    Lv zero = LLVMConstReal(l->f32, 0), least = LLVMConstReal(l->f32, 0x1p-126);
    Lv small = LLVMBuildFCmp(l->b, LLVMRealOLT, unary(l, "llvm.fabs", x), least, "");
    return LLVMBuildSelect(l->b, small, binary(l, "llvm.copysign", zero, x), x, "");
}

/* By a function of ours: tegula_rounded_f(op, mode, x, y, z), or _d. */
static Lv
rounded_call(Ll *l, char op, int mode, Lv *x, int n)
{
    bool is_double = LLVMTypeOf(x[0]) == l->f64;
    Lt t = is_double ? l->f64 : l->f32;
    Lv args[5] = {ll_i32(l, op), ll_i32(l, mode)};
    for (int i = 0; i < 3; i++)
        args[2 + i] = i < n ? x[i] : LLVMConstReal(t, 0);
    return ll_call_c(l, is_double ? "tegula_rounded_d" : "tegula_rounded_f", t, args,
                     5);
}

/* + - * / f(ma) s(qrt) r(eciprocal) */
static Lv
arithmetic(Ll *l, char op, int mode, Lv *x, int n)
{
    if (!is_float(l, x[0]))
        return NULL;
    if (mode != NEAREST)
        return rounded_call(l, op, mode, x, n);
    Lt t = LLVMTypeOf(x[0]);
    switch (op) {
    case '+': return LLVMBuildFAdd(l->b, x[0], x[1], "");
    case '-': return LLVMBuildFSub(l->b, x[0], x[1], "");
    case '*': return LLVMBuildFMul(l->b, x[0], x[1], "");
    case '/': return LLVMBuildFDiv(l->b, x[0], x[1], "");
    case 'f': return ll_intrinsic(l, "llvm.fma", &t, 1, x, 3);
    case 's': return unary(l, "llvm.sqrt", x[0]);
    case 'r': return LLVMBuildFDiv(l->b, LLVMConstReal(t, 1), x[0], "");
    default: return NULL;
    }
}

static Lv
ours(Ll *l, OpCode op, Lv x)
{
    if (!is_float(l, x))
        return NULL;
    return l->ops->math(l, op, LLVMTypeOf(x) == l->f64 ? E_F64 : E_F32, &x);
}

/* ---- conversions ------------------------------------------------------------------------- */

static Lv
to_integral(Ll *l, int mode, Lv x)
{
    static const char *const how[N_ROUNDING] = {"llvm.roundeven", "llvm.trunc",
                                                "llvm.floor", "llvm.ceil"};
    return unary(l, how[mode], x);
}

/* Saturated; NaN gives 0. */
static Lv
float_to_int(Ll *l, int mode, bool is_signed, Lv x, Lt to)
{
    Lt types[] = {to, LLVMTypeOf(x)};
    Lv whole = to_integral(l, mode, x);
    return ll_intrinsic(l, is_signed ? "llvm.fptosi.sat" : "llvm.fptoui.sat", types, 2,
                        &whole, 1);
}

/* Of 64 bits to a float rounding matters, else doubles are exact and rounded from there. */
static Lv
int_to_float(Ll *l, int mode, bool is_signed, Lv x, Lt to)
{
    if (mode == NEAREST)
        return is_signed ? LLVMBuildSIToFP(l->b, x, to, "")
                         : LLVMBuildUIToFP(l->b, x, to, "");
    x = is_signed ? LLVMBuildSExtOrBitCast(l->b, x, l->i64, "")
                  : LLVMBuildZExtOrBitCast(l->b, x, l->i64, "");
    Lv args[] = {ll_i32(l, mode), ll_i32(l, is_signed), x};
    return ll_call_c(l, to == l->f64 ? "tegula_int_to_d" : "tegula_int_to_f", to, args,
                     3);
}

static Lv
narrowed(Ll *l, int mode, Lv x)
{
    if (mode == NEAREST)
        return LLVMBuildFPTrunc(l->b, x, l->f32, "");
    Lv args[] = {ll_i32(l, mode), x};
    return ll_call_c(l, "tegula_narrowed", l->f32, args, 2);
}

typedef struct NumberKind {
    const char *name, *long_name; /* of NVVM, of libdevice */
    char kind;                    /* f, i, u */
    int bits;
} NumberKind;

static const NumberKind kinds[] = {{"ull", "ull", 'u', 64}, {"ui", "uint", 'u', 32},
                                   {"ll", "ll", 'i', 64},   {"i", "int", 'i', 32},
                                   {"f", "float", 'f', 32}, {"d", "double", 'f', 64}};

/* The kind whose name s begins with; *end: behind it. */
static const NumberKind *
kind_of(const char *s, bool is_long, const char **end)
{
    for (size_t i = 0; i < COUNT(kinds); i++) {
        const char *name = is_long ? kinds[i].long_name : kinds[i].name;
        size_t n = strlen(name);
        if (strncmp(s, name, n) != 0)
            continue;
        *end = s + n;
        return &kinds[i];
    }
    return NULL;
}

static Lt
kind_type(Ll *l, const NumberKind *k)
{
    return k->kind == 'f' ? (k->bits == 64 ? l->f64 : l->f32)
                          : (k->bits == 64 ? l->i64 : l->i32);
}

/* "f2i.rz", "double2uint_rn": the value, or NULL; l NULL: is it one? 1. */
static Lv
conversion(Ll *l, const char *name, bool is_long, Lv x, bool *known)
{
    const char *at, *end;
    const NumberKind *from = kind_of(name, is_long, &at);
    const NumberKind *to = from && *at == '2' ? kind_of(at + 1, is_long, &end) : NULL;
    int mode = to && (*end == '.' || *end == '_') ? rounding_of(end + 1) : -1;
    *known = mode >= 0 && (from->kind == 'f' || to->kind == 'f') &&
             (from->kind != to->kind || from->bits == 64);
    if (!*known || !l)
        return NULL;
    if (LLVMTypeOf(x) != kind_type(l, from))
        return NULL;
    Lt t = kind_type(l, to);
    if (to->kind == 'f' && from->kind == 'f')
        return narrowed(l, mode, x);
    return to->kind == 'f' ? int_to_float(l, mode, from->kind == 'i', x, t)
                           : float_to_int(l, mode, to->kind == 'i', x, t);
}

/* ---- integers ------------------------------------------------------------------------------ */

static Lv
high_half(Ll *l, bool is_signed, Lv x, Lv y)
{
    Lt t = LLVMTypeOf(x);
    if (LLVMGetTypeKind(t) != LLVMIntegerTypeKind)
        return NULL;
    unsigned bits = LLVMGetIntTypeWidth(t);
    Lt wide = LLVMIntTypeInContext(l->cx, 2 * bits);
    Lv a = is_signed ? LLVMBuildSExt(l->b, x, wide, "")
                     : LLVMBuildZExt(l->b, x, wide, ""),
       b = is_signed ? LLVMBuildSExt(l->b, y, wide, "")
                     : LLVMBuildZExt(l->b, y, wide, "");
    Lv p = LLVMBuildMul(l->b, a, b, "");
    p = LLVMBuildLShr(l->b, p, LLVMConstInt(wide, bits, false), "");
    return LLVMBuildTrunc(l->b, p, t, "");
}

/* The low 24 bits of each. */
static Lv
mul24(Ll *l, bool is_signed, Lv x, Lv y)
{
    if (LLVMTypeOf(x) != l->i32)
        return NULL;
    Lv eight = ll_i32(l, 8), v[2] = {x, y};
    for (int i = 0; i < 2; i++) {
        v[i] = LLVMBuildShl(l->b, v[i], eight, "");
        v[i] = is_signed ? LLVMBuildAShr(l->b, v[i], eight, "")
                         : LLVMBuildLShr(l->b, v[i], eight, "");
    }
    return LLVMBuildMul(l->b, v[0], v[1], "");
}

static Lv
extreme(Ll *l, bool is_signed, bool is_max, Lv x, Lv y)
{
    return binary(l,
                  is_signed ? (is_max ? "llvm.smax" : "llvm.smin")
                            : (is_max ? "llvm.umax" : "llvm.umin"),
                  x, y);
}

/* |x - y| + z */
static Lv
sad(Ll *l, bool is_signed, Lv *x)
{
    Lv far = LLVMBuildSub(l->b, extreme(l, is_signed, true, x[0], x[1]),
                          extreme(l, is_signed, false, x[0], x[1]), "");
    return LLVMBuildAdd(l->b, far, x[2], "");
}

/* (x + y + up) >> 1, as if it could not overflow. */
static Lv
halfway(Ll *l, bool is_signed, int up, Lv x, Lv y)
{
    if (LLVMTypeOf(x) != l->i32)
        return NULL;
    Lv a = is_signed ? LLVMBuildSExt(l->b, x, l->i64, "")
                     : LLVMBuildZExt(l->b, x, l->i64, ""),
       b = is_signed ? LLVMBuildSExt(l->b, y, l->i64, "")
                     : LLVMBuildZExt(l->b, y, l->i64, "");
    Lv sum = LLVMBuildAdd(l->b, LLVMBuildAdd(l->b, a, b, ""), ll_i64(l, up), "");
    return LLVMBuildTrunc(l->b, LLVMBuildAShr(l->b, sum, ll_i64(l, 1), ""), l->i32, "");
}

/* Bytes of y:x, picked by the nibbles of how; bit 3 of one spreads the byte's sign. */
static Lv
permute(Ll *l, Lv x, Lv y, Lv how)
{
    Lv both = LLVMBuildShl(l->b, LLVMBuildZExt(l->b, y, l->i64, ""), ll_i64(l, 32), "");
    both = LLVMBuildOr(l->b, both, LLVMBuildZExt(l->b, x, l->i64, ""), "");
    Lv r = ll_i32(l, 0);
    for (int i = 0; i < 4; i++) {
        Lv nibble = LLVMBuildLShr(l->b, how, ll_i32(l, 4 * i), "");
        Lv at = LLVMBuildAnd(l->b, nibble, ll_i32(l, 7), "");
        at = LLVMBuildZExt(l->b, LLVMBuildShl(l->b, at, ll_i32(l, 3), ""), l->i64, "");
        Lv byte = LLVMBuildTrunc(l->b, LLVMBuildLShr(l->b, both, at, ""), l->i8, "");
        Lv sign = LLVMBuildAShr(l->b, byte, LLVMConstInt(l->i8, 7, false), "");
        Lv bit = LLVMBuildAnd(l->b, nibble, ll_i32(l, 8), "");
        Lv spreads = LLVMBuildICmp(l->b, LLVMIntNE, bit, ll_i32(l, 0), "");
        byte = LLVMBuildZExt(l->b, LLVMBuildSelect(l->b, spreads, sign, byte, ""),
                             l->i32, "");
        r = LLVMBuildOr(l->b, r, LLVMBuildShl(l->b, byte, ll_i32(l, 8 * i), ""), "");
    }
    return r;
}

static Lv
low_word(Ll *l, Lv x, int shift)
{
    x = LLVMBuildBitCast(l->b, x, l->i64, "");
    return LLVMBuildTrunc(l->b, LLVMBuildLShr(l->b, x, ll_i64(l, shift), ""), l->i32,
                          "");
}

static Lv
of_words(Ll *l, Lv low, Lv high)
{
    Lv x = LLVMBuildShl(l->b, LLVMBuildZExt(l->b, high, l->i64, ""), ll_i64(l, 32), "");
    x = LLVMBuildOr(l->b, x, LLVMBuildZExt(l->b, low, l->i64, ""), "");
    return LLVMBuildBitCast(l->b, x, l->f64, "");
}

static Lv
count(Ll *l, const char *intrinsic, Lv x)
{
    Lt t = LLVMTypeOf(x);
    Lv args[] = {x, LLVMConstInt(l->i1, 0, false)};
    bool has_flag = strcmp(intrinsic, "llvm.ctpop") != 0;
    Lv r = ll_intrinsic(l, intrinsic, &t, 1, args, 1 + has_flag);
    return t == l->i64 ? LLVMBuildTrunc(l->b, r, l->i32, "") : r;
}

/* Min(max(x, 0), 1), NaN: 0. */
static Lv
saturated(Ll *l, Lv x)
{
    Lt t = LLVMTypeOf(x);
    x = binary(l, "llvm.maxnum", x, LLVMConstReal(t, 0));
    return binary(l, "llvm.minnum", x, LLVMConstReal(t, 1));
}

/* ---- NVVM ---------------------------------------------------------------------------------- */

typedef struct Word { /* a name's first word: what it computes */
    const char *word;
    int n; /* operands */
    Lv (*make)(Ll *l, const char *rest, Lv *x);
} Word;

static Lv
by_mode(Ll *l, const char *rest, char op, Lv *x, int n)
{
    int mode = rounding_of(rest);
    if (!strncmp(rest, "approx", 6) || !strncmp(rest, "full", 4) ||
        (!strcmp(rest, "f") && op == 's'))
        mode = NEAREST;
    return mode < 0 ? NULL : arithmetic(l, op, mode, x, n);
}

#define BY_MODE(name, op, n)                                                           \
    static Lv name(Ll *l, const char *rest, Lv *x)                                     \
    {                                                                                  \
        return by_mode(l, rest, op, x, n);                                             \
    }
BY_MODE(make_add, '+', 2)
BY_MODE(make_mul, '*', 2)
BY_MODE(make_div, '/', 2)
BY_MODE(make_fma, 'f', 3)
BY_MODE(make_sqrt, 's', 1)
BY_MODE(make_rcp, 'r', 1)

#define PLAIN(name, value)                                                             \
    static Lv name(Ll *l, const char *rest, Lv *x)                                     \
    {                                                                                  \
        (void)rest, (void)x;                                                           \
        return value;                                                                  \
    }
PLAIN(make_fabs, unary(l, "llvm.fabs", x[0]))
PLAIN(make_floor, unary(l, "llvm.floor", x[0]))
PLAIN(make_ceil, unary(l, "llvm.ceil", x[0]))
PLAIN(make_trunc, unary(l, "llvm.trunc", x[0]))
PLAIN(make_round, unary(l, "llvm.roundeven", x[0]))
PLAIN(make_saturate, saturated(l, x[0]))
PLAIN(make_ex2, ours(l, OP_EXP2, x[0]))
PLAIN(make_lg2, ours(l, OP_LOG2, x[0]))
PLAIN(make_sin, ours(l, OP_SIN, x[0]))
PLAIN(make_cos, ours(l, OP_COS, x[0]))
PLAIN(make_tanh, ours(l, OP_TANH, x[0]))
PLAIN(make_rsqrt, is_float(l, x[0]) ? arithmetic(l, 'r', NEAREST,
                                                 (Lv[]){unary(l, "llvm.sqrt", x[0])}, 1)
                                    : NULL)
PLAIN(make_mulhi, high_half(l, rest[0] != 'u', x[0], x[1]))
PLAIN(make_mul24, mul24(l, rest[0] != 'u', x[0], x[1]))
PLAIN(make_sad, sad(l, rest[0] != 'u', x))
PLAIN(make_prmt, *rest ? NULL : permute(l, x[0], x[1], x[2]))
PLAIN(make_words, of_words(l, x[0], x[1]))
PLAIN(make_fmin,
      binary(l, !strncmp(rest, "nan", 3) ? "llvm.minimum" : "llvm.minnum", x[0], x[1]))
PLAIN(make_fmax,
      binary(l, !strncmp(rest, "nan", 3) ? "llvm.maximum" : "llvm.maxnum", x[0], x[1]))
PLAIN(make_isspacep, LLVMConstInt(l->i1, !strncmp(rest, "global", 6), false))
PLAIN(make_fence,
      LLVMBuildFence(l->b, LLVMAtomicOrderingSequentiallyConsistent, false, ""))

static Lv
make_d2i(Ll *l, const char *rest, Lv *x)
{
    return !strcmp(rest, "lo")   ? low_word(l, x[0], 0)
           : !strcmp(rest, "hi") ? low_word(l, x[0], 32)
                                 : NULL;
}

static Lv
make_f2h(Ll *l, const char *rest, Lv *x)
{
    if (strcmp(rest, "rn") != 0 || LLVMTypeOf(x[0]) != l->f32)
        return NULL;
    return LLVMBuildBitCast(l->b, LLVMBuildFPTrunc(l->b, x[0], l->f16, ""), l->i16, "");
}

static Lv
make_read(Ll *l, const char *rest, Lv *x)
{
    (void)x;
    return !strcmp(rest, "ptx.sreg.warpsize") ? ll_i32(l, 32) : NULL;
}

static const Word words[] = {
    {"add", 2, make_add},           {"mul", 2, make_mul},      {"div", 2, make_div},
    {"fma", 3, make_fma},           {"sqrt", 1, make_sqrt},    {"rcp", 1, make_rcp},
    {"rsqrt", 1, make_rsqrt},       {"fabs", 1, make_fabs},    {"floor", 1, make_floor},
    {"ceil", 1, make_ceil},         {"trunc", 1, make_trunc},  {"round", 1, make_round},
    {"saturate", 1, make_saturate}, {"ex2", 1, make_ex2},      {"lg2", 1, make_lg2},
    {"sin", 1, make_sin},           {"cos", 1, make_cos},      {"tanh", 1, make_tanh},
    {"fmin", 2, make_fmin},         {"fmax", 2, make_fmax},    {"mulhi", 2, make_mulhi},
    {"mul24", 2, make_mul24},       {"sad", 3, make_sad},      {"prmt", 3, make_prmt},
    {"lohi", 2, make_words},        {"d2i", 1, make_d2i},      {"f2h", 1, make_f2h},
    {"isspacep", 1, make_isspacep}, {"membar", 0, make_fence}, {"read", 0, make_read}};

/* name without ".ftz"; *ftz: it was there. */
static const char *
without_ftz(Ll *l, const char *name, bool *ftz)
{
    const char *at = strstr(name, ".ftz");
    *ftz = at != NULL;
    return at ? str_printf(l->c->arena, "%.*s%s", (int)(at - name), name, at + 4)
              : name;
}

Lv
foreign_nvvm(Ll *l, const char *full, Lt ret, Lv *x, int n)
{
    bool ftz, known;
    const char *name = without_ftz(l, full, &ftz);
    size_t len = strcspn(name, ".");
    Lv r = NULL;
    if (strstr(name, ".xorsign") || strstr(name, ".relu") || strstr(name, ".sat"))
        return NULL;
    for (int i = 0; ftz && i < n; i++)
        x[i] = flushed(l, x[i]);
    for (size_t i = 0; i < COUNT(words) && !r; i++)
        if (strlen(words[i].word) == len && !strncmp(name, words[i].word, len) &&
            words[i].n == n)
            r = words[i].make(l, name + len + (name[len] == '.'), x);
    if (!r && n == 1)
        r = conversion(l, name, false, x[0], &known);
    if (!r && n == 1 && !strncmp(name, "bitcast.", 8))
        r = LLVMBuildBitCast(l->b, x[0], ret, "");
    return r && ftz ? flushed(l, r) : r;
}

/* ---- libdevice ------------------------------------------------------------------------------- */

/* "fadd_rn", "fmaf_rz", "drcp_ru", "fsqrt_rd", "frsqrt_rn": op and mode. */
static bool
is_rounded(const char *name, char *op, int *mode, int *n)
{
    static const struct {
        const char *name;
        char op;
        int n;
    } all[] = {{"fadd", '+', 2},  {"fsub", '-', 2},  {"fmul", '*', 2},
               {"fdiv", '/', 2},  {"dadd", '+', 2},  {"dsub", '-', 2},
               {"dmul", '*', 2},  {"ddiv", '/', 2},  {"fmaf", 'f', 3},
               {"fma", 'f', 3},   {"frcp", 'r', 1},  {"drcp", 'r', 1},
               {"fsqrt", 's', 1}, {"dsqrt", 's', 1}, {"frsqrt", 'q', 1}};
    for (size_t i = 0; i < COUNT(all); i++) {
        size_t len = strlen(all[i].name);
        if (strncmp(name, all[i].name, len) != 0 || name[len] != '_')
            continue;
        *op = all[i].op;
        *n = all[i].n;
        *mode = rounding_of(name + len + 1);
        return *mode >= 0;
    }
    return false;
}

typedef enum Plain {
    P_ABS,
    P_MIN,
    P_UMIN,
    P_MAX,
    P_UMAX,
    P_BREV,
    P_CLZ,
    P_POPC,
    P_FFS,
    P_MULHI,
    P_UMULHI,
    P_MUL24,
    P_UMUL24,
    P_SAD,
    P_USAD,
    P_HADD,
    P_UHADD,
    P_RHADD,
    P_URHADD,
    P_PERM,
    P_BITS,
    P_LOW,
    P_HIGH,
    P_WORDS,
    P_ISNAN,
    P_ISINF,
    P_FINITE,
    P_SIGN,
    P_SATURATE,
    P_TO_HALF,
    P_FROM_HALF,
    P_DIVIDE
} Plain;

static const struct {
    const char *name;
    Plain what;
    int n;
} plain[] = {{"abs", P_ABS, 1},
             {"llabs", P_ABS, 1},
             {"min", P_MIN, 2},
             {"umin", P_UMIN, 2},
             {"max", P_MAX, 2},
             {"umax", P_UMAX, 2},
             {"llmin", P_MIN, 2},
             {"ullmin", P_UMIN, 2},
             {"llmax", P_MAX, 2},
             {"ullmax", P_UMAX, 2},
             {"brev", P_BREV, 1},
             {"brevll", P_BREV, 1},
             {"clz", P_CLZ, 1},
             {"clzll", P_CLZ, 1},
             {"popc", P_POPC, 1},
             {"popcll", P_POPC, 1},
             {"ffs", P_FFS, 1},
             {"ffsll", P_FFS, 1},
             {"mulhi", P_MULHI, 2},
             {"umulhi", P_UMULHI, 2},
             {"mul64hi", P_MULHI, 2},
             {"umul64hi", P_UMULHI, 2},
             {"mul24", P_MUL24, 2},
             {"umul24", P_UMUL24, 2},
             {"sad", P_SAD, 3},
             {"usad", P_USAD, 3},
             {"hadd", P_HADD, 2},
             {"uhadd", P_UHADD, 2},
             {"rhadd", P_RHADD, 2},
             {"urhadd", P_URHADD, 2},
             {"byte_perm", P_PERM, 3},
             {"float_as_int", P_BITS, 1},
             {"int_as_float", P_BITS, 1},
             {"float_as_uint", P_BITS, 1},
             {"uint_as_float", P_BITS, 1},
             {"double_as_longlong", P_BITS, 1},
             {"longlong_as_double", P_BITS, 1},
             {"double2loint", P_LOW, 1},
             {"double2hiint", P_HIGH, 1},
             {"hiloint2double", P_WORDS, 2},
             {"isnanf", P_ISNAN, 1},
             {"isnand", P_ISNAN, 1},
             {"isinff", P_ISINF, 1},
             {"isinfd", P_ISINF, 1},
             {"finitef", P_FINITE, 1},
             {"isfinited", P_FINITE, 1},
             {"signbitf", P_SIGN, 1},
             {"signbitd", P_SIGN, 1},
             {"saturatef", P_SATURATE, 1},
             {"float2half_rn", P_TO_HALF, 1},
             {"half2float", P_FROM_HALF, 1},
             {"fast_fdividef", P_DIVIDE, 2},
             {"fdividef", P_DIVIDE, 2}};

static int
plain_row(const char *name)
{
    for (size_t i = 0; i < COUNT(plain); i++)
        if (!strcmp(name, plain[i].name))
            return (int)i;
    return -1;
}

static Lv
as_flag(Ll *l, Lv x)
{
    return LLVMBuildZExt(l->b, x, l->i32, "");
}

/* |x| compared with infinity; both are ordered unless x is NaN. */
static Lv
against_infinity(Ll *l, LLVMRealPredicate how, Lv x)
{
    double infinity = strtod("inf", NULL);
    return as_flag(l, LLVMBuildFCmp(l->b, how, unary(l, "llvm.fabs", x),
                                    LLVMConstReal(LLVMTypeOf(x), infinity), ""));
}

static Lv
make_plain(Ll *l, Plain what, Lt ret, Lv *x)
{
    Lt t = LLVMTypeOf(x[0]);
    bool is_int = LLVMGetTypeKind(t) == LLVMIntegerTypeKind;
    if (what < P_BITS && !is_int)
        return NULL;
    if (what >= P_ISNAN && what <= P_SATURATE && !is_float(l, x[0]))
        return NULL;
    switch (what) {
    case P_ABS:
        return ll_intrinsic(l, "llvm.abs", &t, 1,
                            (Lv[]){x[0], LLVMConstInt(l->i1, 0, false)}, 2);
    case P_MIN:
    case P_MAX: return extreme(l, true, what == P_MAX, x[0], x[1]);
    case P_UMIN:
    case P_UMAX: return extreme(l, false, what == P_UMAX, x[0], x[1]);
    case P_BREV: return unary(l, "llvm.bitreverse", x[0]);
    case P_CLZ: return count(l, "llvm.ctlz", x[0]);
    case P_POPC: return count(l, "llvm.ctpop", x[0]);
    case P_FFS: { /* the first bit counts as 1; none is 0 */
        Lv at = LLVMBuildAdd(l->b, count(l, "llvm.cttz", x[0]), ll_i32(l, 1), "");
        Lv none = LLVMBuildICmp(l->b, LLVMIntEQ, x[0], LLVMConstNull(t), "");
        return LLVMBuildSelect(l->b, none, ll_i32(l, 0), at, "");
    }
    case P_MULHI: return high_half(l, true, x[0], x[1]);
    case P_UMULHI: return high_half(l, false, x[0], x[1]);
    case P_MUL24: return mul24(l, true, x[0], x[1]);
    case P_UMUL24: return mul24(l, false, x[0], x[1]);
    case P_SAD: return sad(l, true, x);
    case P_USAD: return sad(l, false, x);
    case P_HADD: return halfway(l, true, 0, x[0], x[1]);
    case P_UHADD: return halfway(l, false, 0, x[0], x[1]);
    case P_RHADD: return halfway(l, true, 1, x[0], x[1]);
    case P_URHADD: return halfway(l, false, 1, x[0], x[1]);
    case P_PERM: /* of each nibble three bits */
        if (t != l->i32)
            return NULL;
        return permute(l, x[0], x[1], LLVMBuildAnd(l->b, x[2], ll_i32(l, 0x7777), ""));
    case P_BITS: return LLVMBuildBitCast(l->b, x[0], ret, "");
    case P_LOW: return t == l->f64 ? low_word(l, x[0], 0) : NULL;
    case P_HIGH: return t == l->f64 ? low_word(l, x[0], 32) : NULL;
    case P_WORDS: return t == l->i32 ? of_words(l, x[1], x[0]) : NULL;
    case P_ISNAN: return as_flag(l, LLVMBuildFCmp(l->b, LLVMRealUNO, x[0], x[0], ""));
    case P_ISINF: return against_infinity(l, LLVMRealOEQ, x[0]);
    case P_FINITE: return against_infinity(l, LLVMRealOLT, x[0]);
    case P_SIGN: {
        Lt as_int = t == l->f64 ? l->i64 : l->i32;
        Lv bits = LLVMBuildBitCast(l->b, x[0], as_int, "");
        return as_flag(l, LLVMBuildICmp(l->b, LLVMIntSLT, bits, LLVMConstNull(as_int),
                                        ""));
    }
    case P_SATURATE: return saturated(l, x[0]);
    case P_TO_HALF: return make_f2h(l, "rn", x);
    case P_FROM_HALF:
        return t == l->i16
                   ? LLVMBuildFPExt(l->b, LLVMBuildBitCast(l->b, x[0], l->f16, ""),
                                    l->f32, "")
                   : NULL;
    case P_DIVIDE: return LLVMBuildFDiv(l->b, x[0], x[1], "");
    }
    return NULL;
}

/* The C library's name of the function, or ours; NULL: it has none. */
static const char *
c_name(const char *name)
{
    static const char *const others[][2] = {
        {"fast_sinf", "sinf"},   {"fast_cosf", "cosf"},     {"fast_tanf", "tanf"},
        {"fast_expf", "expf"},   {"fast_exp10f", "exp10f"}, {"fast_logf", "logf"},
        {"fast_log2f", "log2f"}, {"fast_powf", "powf"},     {"fast_log10f", "log10f"}};
    for (size_t i = 0; i < COUNT(others); i++)
        if (!strcmp(name, others[i][0]))
            return others[i][1];
    char real;
    return foreign_types(name, &real) ? name : NULL;
}

static bool
is_of(Ll *l, Lt t, char kind, char real)
{
    switch (kind) {
    case 'T': return t == (real == 'f' ? l->f32 : l->f64);
    case 'i': return t == l->i32;
    case 'l': return t == l->i64;
    case 'p': return LLVMGetTypeKind(t) == LLVMPointerTypeKind;
    default: return t == l->void_;
    }
}

bool
foreign_fits(Ll *l, const char *name, Lt ret, Lv *x, int n)
{
    char real;
    const char *types = foreign_types(name, &real);
    if (!types || (int)strlen(types) != n + 1 || !is_of(l, ret, types[0], real))
        return false;
    for (int i = 0; i < n; i++)
        if (!is_of(l, LLVMTypeOf(x[i]), types[1 + i], real))
            return false;
    return true;
}

bool
foreign_has_libdevice(const char *name)
{
    char op;
    int mode, n;
    bool known;
    if (strncmp(name, "__nv_", 5) != 0)
        return false;
    name += 5;
    conversion(NULL, name, true, NULL, &known);
    return known || is_rounded(name, &op, &mode, &n) || plain_row(name) >= 0 ||
           c_name(name);
}

Lv
foreign_libdevice(Ll *l, const char *full, Lt ret, Lv *x, int n)
{
    char op;
    int mode, want;
    bool known = false;
    const char *name = full + 5;
    if (strncmp(full, "__nv_", 5) != 0)
        return NULL;
    if (is_rounded(name, &op, &mode, &want)) {
        if (n != want)
            return NULL;
        if (op == 'q')
            return make_rsqrt(l, "", x);
        return arithmetic(l, op, mode, x, n);
    }
    int row = plain_row(name);
    if (row >= 0)
        return n == plain[row].n ? make_plain(l, plain[row].what, ret, x) : NULL;
    Lv r = n == 1 ? conversion(l, name, true, x[0], &known) : NULL;
    if (known)
        return r;
    const char *c = c_name(name);
    return c && foreign_fits(l, c, ret, x, n) ? ll_call_c(l, c, ret, x, n) : NULL;
}
