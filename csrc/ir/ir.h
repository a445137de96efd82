/* ir.h: tile IR, the language between stages. Read this first.
 *
 *     Func    a kernel: parameters and a body
 *     Block   a straight list of ops, with arguments; a loop's body is a block, no phis
 *     Op      one operation; its results are Vals, its operands Uses of Vals
 *     Val     never moves; dense id; a pass keeps its facts in a side array by id
 *     Type    element type, pointer or not, shape, layout. Interned: equality is ==
 *
 *     func @add(%x: ptr<f32>, %n: i32) {
 *       %0 = program_id {axis=0} : i32
 *       %1 = arange {start=0, end=128} : i32[128]
 *       %2 = splat %x : ptr<f32>[128]
 *       %3 = addptr %2, %1 : ptr<f32>[128]
 *       %4 = load %3 : f32[128]
 *       ...
 *       return
 *     }
 */
#ifndef TEGULA_IR_H
#define TEGULA_IR_H

#include "base/base.h"
#include "layout/layout.h"

typedef struct Func Func;
typedef struct Block Block;
typedef struct Op Op;
typedef struct Val Val;
typedef struct Use Use;
typedef struct Type Type;

/* ---- element types: types.def --------------------------------------------------- */
typedef enum Elem {
#define ELEM(name, text, tl, sig, kind, bits, bytes, dlc, dlb) E_##name,
#include "ir/types.def"
#undef ELEM
    N_ELEM
} Elem;
typedef enum ElemKind { KIND_U, KIND_S, KIND_F } ElemKind;
typedef struct ElemInfo {
    const char *text, *tl, *sig;
    ElemKind kind;
    uint8_t bits, bytes, dl_code, dl_bits;
} ElemInfo;
extern const ElemInfo elem_info[N_ELEM];

/* How the bits of a float type are divided, and how numbers are rounded to it: eval.c. */
typedef struct FloatForm {
    int mant, bias;    /* explicit mantissa bits; exponent bias */
    bool has_inf;      /* else the largest exponent holds numbers too */
    bool saturates;    /* too large becomes max, infinity as well (one_zero: NaN) */
    uint64_t max, nan; /* the largest that rounding gives; what a NaN becomes */
    bool one_zero;     /* no -0.0: its bits are the one NaN */
    bool no_nan;
    bool ties_away; /* to nearest, halves away from zero, whatever rounding was asked */
} FloatForm;
extern const FloatForm float_form[N_ELEM];

static inline bool
elem_is_float(Elem e)
{
    return elem_info[e].kind == KIND_F;
}
static inline bool
elem_is_int(Elem e)
{
    return elem_info[e].kind != KIND_F;
}
static inline bool
elem_is_f8(Elem e)
{
    return elem_is_float(e) && elem_info[e].bits == 8;
}
static inline bool
elem_is_narrow_float(Elem e)
{
    return elem_is_float(e) && elem_info[e].bits < 32;
}
static inline bool
elem_is_signed(Elem e)
{
    return elem_info[e].kind == KIND_S;
}

/* ---- type.c --------------------------------------------------------------------- */
enum {
    MAX_NUMEL = 1 << 20,
    MAX_SLOTS = 64,
    MAX_SHARES =
        8, /* blocks that share a program: what every chip with clusters takes */
    MAX_SLICES = 1 << 10,
    MAX_ARRIVALS = 32,
    MAX_TMAP_RANK = 5
};
enum { WARPGROUP = 4 }; /* warps */

struct Type {
    Elem elem; /* the element, or what the pointer points to */
    bool is_ptr;
    bool is_const; /* pointer that must not be stored through */
    uint8_t rank;  /* 0: a scalar */
    int32_t shape[MAX_RANK];
    const Layout *layout; /* NULL before layouts appear, and for scalars */
    uint16_t slots;       /* > 0: shared memory, that many blocks; then layout has only
                               register bits: those of an element's offset in its slot */
    bool
        is_local; /* slots of each thread's own memory, whose layout is that of registers */
    bool
        is_async; /* an accumulator in flight: tensor cores may still be adding to it */
    bool
        is_tmap; /* a tensor map: how a tensor lies in memory, for copies of its tiles */
    uint8_t mbars; /* > 0: so many mbarriers, which lie in shared memory; a scalar */
};

const Type *ty_scalar(Comp *c, Elem e);
const Type *ty_ptr(Comp *c, Elem e, bool is_const);
const Type *ty_block(Comp *c, const Type *elem, int rank, const int32_t *shape);
/* Same shape and layout, not a pointer. */
const Type *ty_with_elem(Comp *c, const Type *t, Elem e);
/* Drops the layout. */
const Type *ty_with_shape(Comp *c, const Type *t, int rank, const int32_t *shape);
/* The same, where one side is another, or is not there: a scalar, of one side. */
const Type *ty_with_side(Comp *c, const Type *t, int dim, int32_t side);
const Type *ty_without(Comp *c, const Type *t, int dim);
const Type *ty_with_layout(Comp *c, const Type *t, const Layout *l);
const Type *ty_smem(Comp *c, const Type *block, int slots, const Layout *offsets);
const Type *ty_local(Comp *c, const Type *block, int slots);
/* One of the parts of t, of a layout, that those bits of a flat index number; NULL: they are not of registers alone. */
const Type *ty_part(Comp *c, const Type *t, Col bits);
/* A block of it in registers. */
const Type *ty_slot(Comp *c, const Type *smem, const Layout *l);
const Type *ty_mbar(Comp *c, int n);
const Type *ty_tmap(Comp *c);
/* The same block, in flight or not. */
const Type *ty_with_async(Comp *c, const Type *t, bool is_async);
/* The scalar type of a block. */
const Type *ty_element(Comp *c, const Type *t);
/* What loading gives: same shape and layout. */
const Type *ty_pointee(Comp *c, const Type *t);
/* Is it a place in shared or local memory, or a map: what ops name and nobody computes with? */
static inline bool
ty_is_named(const Type *t)
{
    return t->slots || t->mbars || t->is_tmap;
}
/* Scalars and blocks of numbers. */
static inline bool
ty_is_int(const Type *t)
{
    return !t->is_ptr && elem_is_int(t->elem);
}
static inline bool
ty_is_float(const Type *t)
{
    return !t->is_ptr && elem_is_float(t->elem);
}
/* The element type that eval.c wants to hear. */
static inline Elem
ty_evaluated(const Type *t)
{
    return t->is_ptr ? E_U64 : t->elem;
}
int64_t ty_numel(const Type *t);
/* Of one element; 64 for pointers. */
int ty_bits(const Type *t);
int ty_bytes(const Type *t); /* in memory; 8 for pointers */
bool ty_same_shape(const Type *a, const Type *b);
/* The power of two at or above n, which is 1 .. 2^30. */
int32_t ty_padded_side(int32_t n);
/* t with every side padded; a type of powers of two is itself. */
const Type *ty_padded(Comp *c, const Type *t);
/* The sides of t, from the padded type: bits of side - 1, dim 0 lowest, as many as the
 * padded side has. 0 when t needs no padding, and 0 unpacks to the padded shape. */
int64_t ty_pack_sides(const Type *t);
void ty_unpack_sides(const Type *padded, int64_t packed, int32_t *sides);
void ty_log2_shape(const Type *t, uint8_t *log2);
/* F32[64, 32], ptr<f32>[64]. */
char *ty_str(Arena *a, const Type *t);
char *ty_shape_str(Arena *a, const Type *t); /* [64, 32]; "scalar" */

enum {
    MAX_HINT_RANK = 8
}; /* more dims than that have no hints: bytes of an attribute */

/* ---- ops: ops.def, attrs.def ---------------------------------------------------- */
typedef enum OpCode {
#define OP(name, text, args, res, reg, flags, check, attrs, doc) OP_##name,
#include "ir/ops.def"
#undef OP
} OpCode;
enum {
    OP_END = 0
#define OP(name, text, args, res, reg, flags, check, attrs, doc) +1
#include "ir/ops.def"
#undef OP
};
#define N_OP (OP_END + 0) /* none of the enum's: switches would have to name it */
/* Ops of one kind, for `case OPS(OPS_MATH, OP_MIN, OP_MAX):`. Each is a range of rows. Switches of
 * analysis/ and passes/ name every op (-Wswitch-enum); whoever adds a row to a group says with it
 * that the op is like the others there. */
#define OPS_VALUES OP_CONST... OP_EXPAND - 1
#define OPS_GRID OP_PROGRAM_ID... OP_CLUSTER_RANK
#define OPS_SHAPE OP_EXPAND... OP_ADD - 1
#define OPS_INDEX OP_EXPAND... OP_TRANS /* the same elements under other indices */
#define OPS_ARITH OP_ADD... OP_EXP - 1
#define OPS_MOVED OP_CONVERT... OP_KEEP /* the same block elsewhere */
#define OPS_ELEM OP_ADD... OP_HINT
#define OPS_COMPARE OP_EQ... OP_GE
#define OPS_MATH OP_EXP... OP_HINT - 1
#define OPS_ACCESS OP_LOAD... OP_TILE_LOAD - 1
#define OPS_RARE_ACCESS OP_STORE + 1 ... OP_TILE_LOAD - 1 /* neither load nor store */
#define OPS_TENSOR OP_TILE_LOAD... OP_REDUCE - 1
#define OPS_ACROSS OP_REDUCE... OP_INLINE_ASM - 1
#define OPS_FOREIGN OP_INLINE_ASM... OP_FOR - 1
#define OPS_FLOW OP_FOR... OP_RETURN
#define OPS_ENDS OP_YIELD... OP_RETURN
#define OPS_NOTES OP_ASSUME... OP_DEBUG
#define OPS_THREADS OP_BARRIER... OP_MMA_WAIT
#define OPS_SLOTS OP_SHARED_LOAD... OP_FENCE_ASYNC
#define OPS_RINGS OP_MBAR_WAIT... OP_MMA_WAIT
#define OPS_OTHER OP_LOAD... OP_MMA_WAIT /* than values, shapes and elements */
#define OPS(...) OPS_16(OPS_16(OPS_NEXT(__VA_ARGS__)))
#define OPS_16(...) OPS_4(OPS_4(OPS_4(OPS_4(__VA_ARGS__))))
#define OPS_4(...) OPS_1(OPS_1(OPS_1(OPS_1(__VA_ARGS__))))
#define OPS_1(...) __VA_ARGS__
#define OPS_NEXT(op, ...) op __VA_OPT__( : case OPS_AGAIN OPS_NONE(__VA_ARGS__))
#define OPS_AGAIN() OPS_NEXT
#define OPS_NONE ()
typedef enum Attr {
#define ATTR(name, text, words) ATTR_##name,
#include "ir/attrs.def"
#undef ATTR
    N_ATTR
} Attr;
enum { MAX_ATTR = 5, MAX_REGION = 2 };
/* clang-format off */
enum {
    OPF_PURE = 1 << 0,     OPF_ELEM = 1 << 1,     OPF_COMM = 1 << 2,     OPF_READS = 1 << 3,
    OPF_WRITES = 1 << 4,   OPF_TERM = 1 << 5,     OPF_SYNC = 1 << 6,     OPF_CONTROL = 1 << 7,
    OPF_SHARED = 1 << 8,   OPF_VIEW = 1 << 9,     OPF_SLOW = 1 << 10,    OPF_HEAVY = 1 << 11,
    OPF_SCRATCH = 1 << 12, OPF_STEPS = 1 << 13,   OPF_MAPS = 1 << 14,    OPF_STAYS = 1 << 15,
    OPF_TRAPS = 1 << 16,
    OPF_MASK_AT = 17, /* two bits: which operand may be the mask; 0: none */
    OPF_FREE = 1 << 19,    OPF_SPECIAL = 1 << 20,
};
/* clang-format on */
typedef struct OpInfo {
    const char *text;
    int8_t n_args, n_results, n_regions; /* -1: varies */
    uint32_t flags;                      /* OPF_* */
    uint8_t n_attrs;
    uint8_t attrs[MAX_ATTR];           /* Attr */
    const char *(*check)(const Op *o); /* check.h: NULL, or what is wrong */
    const char *doc;
} OpInfo;
extern const OpInfo op_info[N_OP];
typedef struct AttrInfo {
    const char *text, *words;
} AttrInfo;
extern const AttrInfo attr_info[N_ATTR];

/* Values of the enum attributes, in the order of their words. */
enum { CACHE_NONE, CACHE_CA, CACHE_CG, CACHE_CS, CACHE_CV, CACHE_WB, CACHE_WT };
enum { EVICT_NONE, EVICT_FIRST, EVICT_LAST };
enum {
    RMW_ADD,
    RMW_MAX,
    RMW_MIN,
    RMW_AND,
    RMW_OR,
    RMW_XOR,
    RMW_XCHG,
    RMW_LOAD,  /* writes nothing; the value is not looked at */
    RMW_STORE, /* reads nothing; the result is 0 */
};
enum { SEM_ACQ_REL, SEM_ACQUIRE, SEM_RELEASE, SEM_RELAXED };
enum { SCOPE_GPU, SCOPE_CTA, SCOPE_SYS };
enum { PREC_TF32, PREC_TF32X3, PREC_IEEE, PREC_BF16X3, PREC_BF16X6 };
enum { ROUND_RTNE, ROUND_RTZ };
enum { PAD_ZERO, PAD_NAN, PAD_BEHIND };
enum {
    LOOP_FLATTEN = 1,
    LOOP_WARP_SPECIALIZE = 2,
    LOOP_NO_LICM = 4,
    LOOP_NO_MULTI_BUFFER = 8,
    LOOP_MMA_BEHIND =
        16, /* its slots are free for copies two iterations later, not one */
    LOOP_MMA_ROUND = 32, /* products that are only yielded are waited for at its top */
    LOOP_STRIPS = 64 /* times how many strips the tile has of which it multiplies one */
};

/* Shared memory that is an op's alone from its first write until the last read of what it
 * wrote, as the passes place_shared and barriers settle it. An op works in phases, and
 * between them threads wait for each other:
 *
 *     WAIT_FREE      before its first write: others may still read what was there
 *     WAIT_WRITTEN   behind its writes, before anybody reads them
 *     WAIT_COMBINED  behind what some threads made of that, before all read it
 *     WAIT_READ      where it goes round again: behind the reads, before the next writes
 */
enum { WAIT_FREE = 1, WAIT_WRITTEN = 2, WAIT_COMBINED = 4, WAIT_READ = 8 };
typedef struct SharedPlace {
    int at, bytes;
    int mbar;     /* of the mbarrier of an exchange in a cluster; -1: none */
    int waits;    /* WAIT_* */
    bool by_warp; /* only the threads of a warp wait for each other */
} SharedPlace;

/* One operand slot: links the Val to its user. */
struct Use {
    Val *v;
    Op *user;
    Use *next, **prev; /* the Val's list of uses */
};

struct Val {
    const Type *type;
    Op *def;      /* NULL: an argument of block */
    Block *block; /* where it is an argument, or where def stands */
    int index;    /* which result or argument */
    int id;       /* dense in its Func */
    Use *uses;
    const char *name; /* the user's name for it, for dumps; may be NULL */
};

struct Op {
    OpCode op;
    const Loc *loc;
    Block *block; /* NULL while detached */
    Op *next, *prev;
    int n_args, n_results, n_regions; /* regions that are there: IF may have only one */
    Use *args;                        /* read with arg(o, i) */
    Val **results;
    Block *regions[MAX_REGION];
    int64_t attr[MAX_ATTR]; /* in the order of op_info[op].attrs; read with ir_attr */
    uint64_t bits;          /* CONST: the element's bit pattern */
    const char *text;       /* ASSERT, PRINT: the message */
    SharedPlace *place;     /* of ops with OPF_SCRATCH; NULL: none, or none yet */
};

struct Block {
    Func *func;
    Op *owner; /* the op whose region this is; NULL for a body */
    Op *first, *last;
    int n_args;
    Val **args;
};

/* What a launch knows of one argument, as bits; a compile asks for some of them. A
 * variant is valid for every launch whose truths agree with its own on the bits
 * asked. */
enum {
    FACT_EQ1 = 1, /* an integer equal to 1 */
    FACT_DIV2 = 2,
    FACT_DIV4 = 4,
    FACT_DIV8 = 8,
    FACT_DIV16 = 16, /* value, or address in bytes */
    /* A tensor: another argument's memory starts at the same address .. */
    FACT_SAME = 32,
    FACT_OVERLAPS = 64, /* .. or starts elsewhere, and the two overlap */
    FACT_GE0 = 128,     /* an integer that is not negative */
    FACT_LARGE = 256,   /* one of LARGE_INTEGER at least */
    LARGE_INTEGER = 2048,
};
typedef struct ArgFacts {
    uint16_t truth; /* FACT_* that hold in this launch */
    uint16_t asked; /* FACT_* the compile has asked about */
} ArgFacts;

struct Func {
    Comp *c;
    const char *name;
    const Loc *loc;
    Block *body; /* its arguments are the parameters; ends in return */
    int n_vals;  /* ids are below this */
    int *slot;   /* parameter i is slot[i] of facts */
    int n_facts;
    int team_warps; /* that compute together: layouts, dots, reductions and barriers see
                       these. Others of the thread block only bring data: block_warps */
    int log2_ctas;  /* thread blocks (of a cluster) that share a program; set with the
                               layouts, whose warps are then those of all of them */
    int min_blocks; /* a multiprocessor is to hold at least so many; 0: not said */
    ArgFacts *facts; /* by slot; slots without a parameter are constexpr */
    Sb report;       /* what passes did that costs more than it looks: a line each */
};

/* ---- report.c --------------------------------------------------------------------- */
/* Adds a line to f->report: where, what ("padding"), and what there is to say of it. */
void ir_report(Func *f, const Loc *at, const char *what, const char *text);

/* ---- build.c: the only writer of the lists -------------------------------------- */
static inline Val *
arg(const Op *o, int i)
{
    return o->args[i].v;
}
static inline Val *
result(const Op *o, int i)
{
    return o->results[i];
}
static inline const OpInfo *
info(const Op *o)
{
    return &op_info[o->op];
}
static inline bool
op_has(const Op *o, unsigned flag)
{
    return (op_info[o->op].flags & flag) != 0;
}
/* The operand that is the mask of an op, where it has so many; 0: it can have none there (PRINT
 * and what ir_n_values is about have it behind the others). */
static inline int
op_mask_at(const Op *o)
{
    return (int)(op_info[o->op].flags >> OPF_MASK_AT & 3);
}
static inline Val *
op_mask(const Op *o) /* NULL: it has none */
{
    int at = op_mask_at(o);
    return at && at < o->n_args ? arg(o, at) : NULL;
}
static inline bool
op_is_assembly(const Op *o)
{
    return o->op == OP_INLINE_ASM || o->op == OP_INLINE_ASM_IO;
}
static inline bool
op_is_extern(const Op *o)
{
    return o->op == OP_EXTERN || o->op == OP_EXTERN_IO;
}
static inline bool
op_is_order(const Op *o) /* <, <=, >, >= */
{
    return o->op >= OP_LT && o->op <= OP_GE;
}
/* Is it about the user's memory that pointers, operand 0, point to? */
static inline bool
op_has_pointers(const Op *o)
{
    return o->op >= OP_LOAD && o->op < OP_TILE_LOAD;
}
/* Does it read or write it? */
static inline bool
op_is_access(const Op *o)
{
    return op_has_pointers(o) && op_has(o, OPF_READS | OPF_WRITES);
}

/* Is it the loop over programs that a block of threads runs in turn (passes/tile/persist.c)? */
static inline bool
op_is_programs_loop(const Op *o)
{
    return o->op == OP_FOR && arg(o, 0)->def && arg(o, 0)->def->op == OP_BLOCK_ID;
}

/* Is v the number of the program whose turn it is? */
static inline bool
is_programs_number(const Val *v)
{
    return !v->def && !v->index && v->block->owner &&
           op_is_programs_loop(v->block->owner);
}

static inline bool
op_is_atomic(const Op *o)
{
    return o->op == OP_ATOMIC_RMW || o->op == OP_ATOMIC_CAS;
}

/* The side of a TENSOR_MAP's box along dim d. A tensor has at most MAX_MAP_SIDE indices along one,
 * so that a block which begins there is outside, may begin there (copies do at 16 bytes), and has
 * no index beyond 32 bits. */
enum {
    BOX_BITS = 12,
    MAX_BOX_SIDE = 256,
    MAX_MAPS = 16,
    MAX_MAP_SIDE = INT32_MAX - (MAX_BOX_SIDE - 1)
};
static inline int
box_side(int64_t box, int d)
{
    return (int)(box >> (BOX_BITS * d) & ((1 << BOX_BITS) - 1));
}

static inline bool
op_is_tile(const Op *o)
{
    return o->op == OP_TILE_LOAD || o->op == OP_TILE_STORE;
}

/* Operands of a PRINT, an INLINE_ASM_IO or an EXTERN: all but the mask. */
int ir_n_values(const Op *o);
/* How many EXTERNs of the function stand before o: a name for it that survives print and
 * parse. */
int ir_extern_index(const Op *o);

/* Where new ops go and what they say about themselves. */
typedef struct Build {
    Func *f;
    Block *block;
    Op *before; /* NULL: at the end of block */
    const Loc *loc;
} Build;

/* What is built stands right in front of o, or behind it, and is of o's line. */
static inline Build
ir_before(Op *o)
{
    return (Build){o->block->func, o->block, o, o->loc};
}
static inline Build
ir_behind(Op *o)
{
    return (Build){o->block->func, o->block, o->next, o->loc};
}

Func *ir_func(Comp *c, const char *name, const Loc *loc);
Val *ir_param(Func *f, const Type *t, const char *name, int slot);
/* owner: the new block becomes its next region if one is missing. NULL: see
 * ir_set_region. */
Block *ir_block(Func *f, Op *owner);
Val *ir_block_arg(Block *b, const Type *t, const char *name);
/* Creates and inserts an op with room for its results; the types are given. */
Op *ir_op(Build *b, OpCode op, int n_args, Val *const *args, int n_results,
          const Type *const *types);
/* The result of such an op that has one. */
Val *ir_op1(Build *b, OpCode op, int n_args, Val *const *args, const Type *t);
void ir_set_region(Op *o, int i, Block *b);
void ir_set_attr(Op *o, Attr a, int64_t v);
/* 0 when the op has no such attribute. */
int64_t ir_attr(const Op *o, Attr a);
void ir_add_arg(Op *o, Val *v); /* appends an operand */
Val *ir_add_result(Op *o, const Type *t);
void ir_set_arg(Op *o, int i, Val *v);
void ir_drop_args(Op *o, int first, int count);
void ir_drop_result(Op *o, int i);       /* must be unused */
void ir_drop_block_arg(Block *b, int i); /* must be unused */
void ir_replace(Val *old, Val *with);    /* all uses */
/* Results must be unused; erases regions. */
void ir_erase(Op *o);
void ir_move_before(Op *o, Op *before);
/* Copies o (with regions) at b; operands are looked up in map (Val * -> Val *),
 * which gains the new results. */
Op *ir_clone(Build *b, const Op *o, Map *map);
void ir_clone_region(Func *f, Op *to, const Op *from, int r, Map *map);
Val *ir_mapped(const Map *map, Val *v);         /* v itself where map has none */
bool ir_is_inside(const Op *o, const Block *b); /* at any depth */
void ir_yield(Block *b, const Loc *loc);        /* ends a region that gives nothing */
/* The thread blocks of a launch. All but AS_PROGRAMS get the user's grid as parameters. */
enum {
    BLOCKS_AS_PROGRAMS, /* one each */
    BLOCKS_IN_TURN,     /* as many as the chip holds, which run programs in turn */
    BLOCKS_EVEN, /* one each along the first axis, and a spare one where they are odd */
    BLOCKS_IN_STRIPS, /* one each, of the last programs as many as a tile has strips */
};
int ir_blocks(const Func *f);
/* How many blocks, a cluster, share a program and its iterations (passes/simt/split_k.c); mostly 1. */
int ir_shares(const Func *f);
/* Blocks of a cluster, of those and of programs whose rows are shared (log2_ctas). */
int ir_num_ctas(const Func *f);
/* How many strips the tile has of which the loop multiplies one; 0: it is another loop. */
int ir_strips(const Op *loop);
/* The same of the function's loops; 0: none is of a strip. */
int ir_all_strips(const Func *f);
/* BLOCK_ID and NUM_BLOCKS where each program has a block of its own, as when it is interpreted. */
uint32_t ir_block_number(const int32_t pid[3], const int32_t grid[3]);
uint32_t ir_block_count(const int32_t grid[3]);

/* Typed shorthands; the result type is inferred. Operands must already agree. */
/* Also splat, pointers, floats. */
Val *ir_const_int(Build *b, const Type *t, int64_t v);
Val *ir_const_float(Build *b, const Type *t, double v);
Val *ir_const_bits(Build *b, const Type *t, uint64_t bits);
Val *ir_un(Build *b, OpCode op, Val *x);
Val *ir_bin(Build *b, OpCode op, Val *x, Val *y); /* compares give i1 */
Val *ir_select(Build *b, Val *cond, Val *x, Val *y);
Val *ir_cast(Build *b, Val *x, Elem e); /* identity when equal */
Val *ir_bitcast(Build *b, Val *x, const Type *t);
Val *ir_splat(Build *b, Val *x, int rank, const int32_t *shape);
Val *ir_arange(Build *b, int64_t start, int64_t end);
Val *ir_expand(Build *b, Val *x, int axis);
/* The row x as dim `dim` of `rank`; the others are 1. */
Val *ir_as_dim(Build *b, Val *x, int dim, int rank);
Val *ir_const_i32(Build *b, int64_t n);
/* Another value that a loop carries, as an argument of its body; the next one is given later. */
Val *ir_carry(Op *loop, Val *init, const char *name);
Val *ir_broadcast(Build *b, Val *x, int rank, const int32_t *shape);
/* x, a scalar or of dims that are 1 or the shape's, as a block of that shape. */
Val *ir_stretch(Build *b, Val *x, int rank, const int32_t *shape);
/* The elements of v along dim that index names: i32 of one dim, in range. */
Val *ir_pick(Build *b, Val *v, int dim, Val *index);
Val *ir_addptr(Build *b, Val *p, Val *i);
Val *ir_load(Build *b, Val *p, Val *mask, Val *other); /* NULL: absent */
Op *ir_store(Build *b, Val *p, Val *v, Val *mask);
/* Op.text of PRINT for the prefix a user wrote: " prefix: " in front of values. All printers
 * put Op.text behind "idx (..)" as it is. */
const char *ir_print_prefix(Comp *c, const char *text, bool has_values);
/* A CONST, scalar or block. */
bool ir_is_const(const Val *v, uint64_t *bits);
bool ir_is_zero(const Val *v); /* a constant whose bits are 0 */
/* The one op by which o, a REDUCE or SCAN of one block, combines its region's two
 * arguments; else NULL. */
const Op *ir_combine_op(const Op *o);
bool ir_const_as_int(const Val *v, int64_t *i); /* sign- or zero-extended */

/* ---- walk.c ----------------------------------------------------------------------- */
/* The op behind o in the text of top: of its regions, then of its block, then of blocks around
 * it; NULL: o was the last. ir_next_control passes over regions that are no control flow. */
Op *ir_next_op(const Op *o, const Block *top);
Op *ir_next_control(const Op *o, const Block *top);
/* Every op of a block and of the regions in it, each before its regions. */
#define EACH_OP(o, top) for (Op *o = (top)->first; o; o = ir_next_op(o, top))
#define EACH_CONTROL_OP(o, top)                                                        \
    for (Op *o = (top)->first; o; o = ir_next_control(o, top))
/* The same with the regions of each before itself, which may be erased or moved meanwhile. */
Op *ir_first_inside(const Block *top);
Op *ir_next_inside(const Op *o, const Block *top);
#define EACH_OP_INSIDE_OUT(o, top)                                                     \
    for (Op *o = ir_first_inside(top), *o##_next;                                      \
         o && (o##_next = ir_next_inside(o, top), true); o = o##_next)
/* Every value that a block and the regions in it define, in the order of the text: arguments, then
 * results. EACH_CONTROL_VAL passes over regions that are no control flow. */
Val *ir_first_val(const Block *top, bool is_control);
Val *ir_next_val(const Val *v, const Block *top, bool is_control);
#define EACH_VAL(v, top)                                                               \
    for (Val *v = ir_first_val(top, false); v; v = ir_next_val(v, top, false))
#define EACH_CONTROL_VAL(v, top)                                                       \
    for (Val *v = ir_first_val(top, true); v; v = ir_next_val(v, top, true))
/* Where it was written: its op, or the op or function whose argument it is. */
const Loc *ir_loc_of(const Val *v);
bool ir_has_op(const Block *b, OpCode op); /* in itself, not in regions of its ops */
/* Does b, or a region in it, hold an op for which `is` holds? */
bool ir_holds(const Block *b, bool (*is)(const Op *));
/* Does it hold for o, or for an op of its regions? */
bool ir_is_or_holds(const Op *o, bool (*is)(const Op *));
bool ir_is_unused(const Op *o); /* nobody reads a result */
static inline bool
ir_has_one_use(const Val *v)
{
    return v->uses && !v->uses->next;
}
/* Is b the block, or inside of one of its regions? */
bool ir_encloses(const Block *outer, const Block *b);
/* The op of block b that holds o in a region, or o itself. */
Op *ir_op_in(const Block *b, Op *o);
/* Drops pure ops that are unused, and loads; backwards, so that one walk takes whole chains. */
void ir_drop_unused(Block *b, bool loads);
/* Calls see(data, v) for each value from outside that the regions of o read. */
void ir_each_outer(const Op *o, void (*see)(void *data, const Val *v), void *data);

/* ---- perm.c: dim i of the result is dim perm[i] of the operand ------------------ */
int64_t perm_pack(int rank, const int *perm); /* -1: it does not permute rank dims */
bool perm_unpack(int rank, int64_t code, int *perm); /* false: no such code */
void ir_perm(const Op *o, int *perm);                /* of a TRANS; MAX_RANK places */

/* ---- window.c: a block of a tensor in memory, spelled out ------------------------ */
typedef struct Window {
    Val *base; /* a scalar pointer */
    int rank;  /* the tensor's */
    int lead;  /* dims in front of the block's, of which it has one index each */
    Val *shape[MAX_RANK],
        *strides[MAX_RANK]; /* i64 scalars; strides in elements, NULL: 1 */
    Val *offsets[MAX_RANK]; /* i32 or i64 scalars */
    int32_t block[MAX_RANK];
} Window;
/* The pointers of its block; *mask: which lie in the dims that are checked, NULL: all. */
Val *ir_window(Build *b, const Window *w, const bool *is_checked, Val **mask);
/* The stage of a MAP_STORE of one piece, whose number comes behind it; NULL: it stores all. */
Val *ir_store_stage(const Op *o);
/* What a TILE_LOAD or a TILE_STORE, a MAP_LOAD or a MAP_STORE reads or writes. */
Window ir_tile(const Op *o);

/* ---- host.c: scalars that a launch computes from its parameters ------------------ */
typedef enum HostKind {
    HOST_PARAM,  /* parameter `value` */
    HOST_NUMBER, /* the bits `value` */
    HOST_GRID,   /* programs along axis `value` */
    HOST_OP,     /* an elementwise op of the last n_args values */
} HostKind;
typedef struct HostOp {
    uint8_t kind, op, n_args;
    uint8_t in, out; /* Elem of the operands and of the result, as ir_eval takes them */
    int64_t value;
} HostOp;
enum { MAX_HOST_OPS = 24 };
/* v in postfix order: how many ops; 0: it is no such value, or takes more of them. */
int ir_host_ops(const Func *f, const Val *v, HostOp ops[MAX_HOST_OPS]);
/* Its bits, of ops that ir_host_ops gave. params: 8 bytes each. */
uint64_t ir_host_value(const HostOp *ops, int n, const uint64_t *params,
                       const int32_t grid[3]);

/* ---- facts of arguments --------------------------------------------------------- */
/* Is `fact` true of the parameter? Records that it was asked. */
bool ir_ask(Func *f, const Val *param, unsigned fact);
/* Of x and y; y is asked where it is true of x. */
bool ir_ask_both(Func *f, const Val *x, const Val *y, unsigned fact);

/* ---- eval.c: what elementwise ops mean on one element --------------------------- */
/* Bits of element type e; narrower values in the low bits, the rest 0. Used by fold,
 * by the interpreter and by tests, so constants and run-time agree. */
double elem_to_double(Elem e, uint64_t bits);
uint64_t elem_from_double(Elem e, double v); /* to nearest; fp8 saturates */
/* Integer types, sign- or zero-extended. */
int64_t elem_to_int(Elem e, uint64_t bits);
uint64_t elem_from_int(Elem e, int64_t v); /* any type; ints wrap */
uint64_t elem_cast(Elem from, Elem to, uint64_t bits, int rounding);
/* One element of an OPF_ELEM op with operand element type `in` and result `out`;
 * false for an integer division by zero (which gives 0) or when op is not such an op.
 * Pointers go as E_U64; SELECT: args[0] is the i1; ADDPTR: in is the index's type,
 * out what the pointer points to; a CAST with another rounding than RTNE goes to
 * elem_cast. */
bool ir_eval(OpCode op, Elem in, Elem out, const uint64_t *args, int n_args,
             uint64_t *res);
/* What op does not notice beside any element e: op(x, bits) is x. False: there is none. */
bool ir_neutral(OpCode op, Elem e, uint64_t *bits);

/* ---- print.c, parse.c: two directions of one grammar ---------------------------- */
char *ir_print(const Func *f, bool with_locs); /* in the Comp's arena */
Func *ir_parse(Comp *c, const char *text);     /* raises PARSE_IR */
/* The same, of a file of that name: errors show its lines. */
Func *ir_parse_file(Comp *c, const char *text, const char *file);
/* One constant of a scalar type, as const prints and reads it: 1.0, -inf, true,
 * 0x7fc00001. What is printed reads back as the same bits. elem_parse: false, not a
 * constant of t. */
char *elem_str(Arena *a, const Type *t, uint64_t bits);
bool elem_parse(const Type *t, const char *s, uint64_t *bits);

/* ---- place.c -------------------------------------------------------------------- */
SharedPlace *ir_place(Op *o, int at, int bytes); /* o's, new and without waits */
void place_print(Sb *sb,
                 const SharedPlace *k); /* shared(at=0, bytes=64, wait=written) */
int ir_shared_bytes(const Func *f);     /* behind the last place */

/* ---- verify.c ------------------------------------------------------------------- */
/* Raises VERIFY, naming the pass it follows; NULL: a user wrote it, raises PARSE_IR. */
void ir_verify(const Func *f, const char *after);

/* ---- origin.c: where pointers come from ------------------------------------------ */
/* The parameter of the function that a pointer was computed from; -1: it was loaded, or there
 * is more than one way it may have come. */
int ir_origin(const Val *pointer);
/* May an access, or assembly, go where no argument leads: through a pointer that was loaded,
 * or is a number? */
bool ir_reaches_elsewhere(const Op *o);

#endif
