/* analysis.h: only looks: nothing here changes the IR. What takes a const Func * asks nothing of its
 * arguments, either; what takes a Func * may, and notes that it did (ir_ask).
 *
 * Facts about a value, per dim where it is a block (powers of two as log2):
 *     contiguity   runs of x, x+1, x+2, .. this long start at every multiple of this length
 *     divisibility the first element of every such run is divisible by this (bytes for
 *                  pointers), wherever it stands along the other dims; for scalars: the value is
 *     constancy    runs of equal elements of this length
 * and for integers a range lo..hi of every element (INT64_MIN/MAX: unknown).
 *
 * Facts of arguments come from ir_ask, which records the question, so a pass that looks at
 * a fact makes the variant depend on it: ask late and only where it pays. facts_of asks for
 * everything, facts_access_log2 only for what the access needs, facts_range for nothing.
 */
#ifndef TEGULA_ANALYSIS_H
#define TEGULA_ANALYSIS_H

#include "ir/ir.h"
#include "layout/mma.h"

enum { MAX_LOG2 = 30 }; /* "any power of two", as for 0 */

typedef struct Facts {
    uint8_t contiguity[MAX_RANK], divisibility[MAX_RANK],
        constancy[MAX_RANK]; /* log2 */
    uint8_t scalar_div;      /* log2; rank 0 only */
    int64_t lo, hi;          /* of integer elements, as their type reads them */
} Facts;

/* ---- facts.c, range.c ----------------------------------------------------------------- */
typedef struct FactTable FactTable;
/* A lazy table: facts are computed on demand by walking definitions, so arguments nobody's
 * access depends on are never asked about. Facts are about values, so they survive rewrites
 * that keep the values; a pass that gives a value another meaning needs a new table. */
FactTable *facts_new(Func *f);
/* Believe what users say of runs only so far. Kernels say it of a whole block of i % n, and
 * mean the 16 bytes that a GPU reads at once: the block may wrap in its middle. */
void facts_trust_hints(FactTable *t, int log2_run);
/* Ask of arguments whether 16 divides them and nothing else: an answer less is of no use, and costs a variant. */
void facts_ask_16(FactTable *t);
const Facts *facts_of(FactTable *t, const Val *v);

/* log2 of the aligned runs along dim over which v counts up by one, as far as want. */
int facts_contiguity(FactTable *t, const Val *v, int dim, int want);
/* log2 of the aligned runs along dim over which v is the same, as far as want. */
int facts_constancy(FactTable *t, const Val *v, int dim, int want);
/* log2 of what divides a scalar, as far as want. */
int facts_divisibility(FactTable *t, const Val *v, int want);
/* The range of an integer value's elements. Asks nothing. */
void facts_range(FactTable *t, const Val *v, int64_t *lo, int64_t *hi);

/* The widest vector a load/store/atomic may use along `dim`: log2 of elements, from
 * contiguity, alignment of the pointer and constancy of the mask; at most max_bytes. */
int facts_access_log2(FactTable *t, const Op *access, int dim, int max_bytes);
/* ... where the mask may also end inside of a vector: what is on is its first elements.
 * *e: the comparisons of which that is true, and of no others. */
enum { MAX_MASK_EDGES = 4, MASK_BUDGET = 64 };
typedef struct MaskEdges {
    const Op
        *op[MAX_MASK_EDGES]; /* x < y, x <= y, y > x, y >= x; x counts up along dim */
    int n;
} MaskEdges;
int facts_ragged_log2(FactTable *t, const Op *access, int dim, int max_bytes,
                      MaskEdges *e);
/* ... as far as the pointers allow, whatever the mask is. */
int facts_pointer_log2(FactTable *t, const Op *access, int dim, int max_bytes);
/* The dim with the longest contiguous run of the access's pointers, as far as 16 bytes; where
 * there is none, that along which neighbours seem to lie nearest; the last one on ties. */
int facts_fastest_dim(FactTable *t, const Op *access);
/* The register bits of the elements that one instruction of an atomic takes together. A pair of
 * halves whose masks may differ is one atomic where both are on and two where one is: alone, a half
 * is a loop around a compare-and-swap. */
typedef struct AtomicRun {
    int log2, bit[MAX_BITS];
    bool is_split; /* they are such a pair */
} AtomicRun;
AtomicRun facts_atomic_run(FactTable *t, const Op *atomic);
/* nearest.c: how far apart v's neighbours along dim mostly lie, log2 of elements, by guess. t NULL: no
 * argument is asked about. */
enum { SCATTERED = 32 };
int facts_distance(FactTable *t, const Val *v, int dim);

/* ---- affine.c --------------------------------------------------------------------------- */
/* A sum of scalars: c + the terms factor * a * b, where b may be NULL. Terms are merged,
 * their factors are not 0, and they are ordered by the ids of a and b. */
enum { MAX_TERMS = 6, MAX_AFFINE_RANK = 8 }; /* of more dims nothing is said */
typedef struct AffTerm {
    int64_t factor;
    const Val *a, *b; /* integer scalars; ids a <= b; b NULL: factor * a */
} AffTerm;
typedef struct AffSum {
    int64_t c;
    int n;
    AffTerm term[MAX_TERMS];
} AffSum;

/* A value as   pointer + origin[0, .., 0] + base + sum over dims of stride[d] * index[d],
 * counted in elements of the pointee when it is a pointer. Exact as integers; index
 * arithmetic is taken not to wrap inside a block. */
typedef struct Affine {
    const Val *pointer; /* a scalar pointer; NULL: none (integers, or see origin) */
    const Val *origin; /* a block out of a loop or an if whose strides never change: the
                               sums count from its first element; NULL: none */
    AffSum base;
    AffSum stride[MAX_AFFINE_RANK];
} Affine;
bool affine_of(const Func *f, const Val *v, Affine *out); /* false: not of that form */
/* The same, where scalars that are sums and products of others are taken apart as well, as if
 * nothing wrapped in them, and x % n of a block counts as x, as do min(x, n - 1) and
 * select(x < n, x, constant): wraps gets the op. */
enum { MAX_WRAPS = 4 };
typedef struct AffineWraps {
    const Op *at[MAX_WRAPS];
    int n;
} AffineWraps;
bool affine_deep(const Val *v, Affine *out, AffineWraps *wraps);
/* n and x of an op that affine_deep noted. */
AffSum aff_modulus(const Op *o);
const Val *aff_wrapped(const Op *o);
/* What a loop carries from its start on is a sum of the loop's counter: the origin of *a, of a form that
 * affine_deep gave; false: it is none. And scalars of *sum that begin with a constant. */
bool affine_unroll(Affine *a, AffineWraps *wraps);
void aff_unroll(AffSum *sum, AffineWraps *wraps);
bool aff_is_zero(const AffSum *s);
/* s += k * x; s += x * y; s /= n, a constant; false where that is no such sum. */
bool aff_add(AffSum *s, const AffSum *x, int64_t k);
bool aff_add_product(AffSum *s, const AffSum *x, const AffSum *y);
bool aff_divide(AffSum *s, int64_t n);
bool aff_is_same(const AffSum *x, const AffSum *y);
/* The stride along dim is the constant *c. */
bool affine_const_stride(const Affine *a, int dim, int64_t *c);
/* Elements from the first of a block of type t to its last; false: not a constant. */
bool affine_span(const Affine *a, const Type *t, int64_t *span);
/* The least of base.c + what the strides add, of a block that has an affine_span. */
int64_t affine_low(const Affine *a, const Type *t);
/* Do x and y start a constant apart, y->base.c - x->base.c? */
bool affine_is_beside(const Affine *x, const Affine *y);
/* Do x and y, of blocks of type t, go through the same elements in the same order? */
bool affine_is_same(const Affine *x, const Affine *y, const Type *t);

/* ---- dot.c ---------------------------------------------------------------------------------- */
typedef struct DotPlan {
    bool is_mma;     /* false: multiply-adds, and the rest means nothing but operand */
    Elem operand[2]; /* what they are cast to first */
    MmaKind kind;
    int kw; /* elements along k side by side in a lane: the instruction's, or more */
    int n_terms; /* 3: f32 as the sum of two tf32, three products */
    int log2_warps_m, log2_warps_n;
    bool is_wgmma;  /* by warpgroups; then the low warp bits are M's */
    bool is_a_regs; /* of wgmma: A comes out of registers; else out of shared memory */
    /* It is read out of that word by word, for it runs along M there; rows are dealt so. */
    bool is_a_words;
} DotPlan;
void dot_plan(Func *f, const Op *dot, DotPlan *p);
/* M, N and K without padding: what is behind them need not be computed, and along k it is
 * zero in both operands. */
typedef struct DotSides {
    int m, n, k;
} DotSides;
DotSides dot_sides(const Op *dot);
void dot_set_sides(Op *dot, DotSides s);

/* Is a product's operand computed from another product, as in attention? */
/* Does v come from a dot, through elementwise ops? *budget: how many ops may be looked at. */
bool comes_from_dot(const Val *v, int *budget);
bool has_chained_dot(const Block *b);

/* Does the product in the body of a loop add to what it gave an iteration ago, which nobody looks at
 * in between? */
bool only_goes_round(const Block *body, const Op *dot);
/* The same of a warpgroup's product, which reads its right side in shared memory. */
bool is_running_sum(const Block *body, const Op *o);

/* ---- neighbours.c --------------------------------------------------------------------------- */
/* May what is asked for differ from one program to the next? */
typedef struct Same {
    Map seen;      /* empty, with an arena */
    unsigned axes; /* 1 << axis of those along which it may differ */
    bool differs;
} Same;
/* v; arguments, and the counters of loops whose bounds are asked for themselves, do not. */
void need_same(Same *s, const Val *v);
/* What decides how often the ops of block b run. */
void need_same_around(Same *s, const Block *b);
/* Do all programs load the same, as weights of a norm? One that came before has brought it to L2, mostly to L1. */
bool is_common_load(const Op *o);
/* Are the rows of a map's tensor not known to begin at lines of L2? Of a launch's numbers a factor
 * of 16 is the most that is ever known, and sizes that have it mostly have more. */
bool map_splits_lines(FactTable *facts, const Op *map);
/* The first op behind a program's products. NULL: others can see what it does before. */
Op *after_products(const Block *program);
/* Has each program a neighbour, at least a spare block? The launch is asked. */
bool all_have_neighbours(Func *f, const Block *program);

/* ---- hopper.c ------------------------------------------------------------------------------- */
/* How far the function goes with what sm_90a alone has. */
typedef struct HopperPlan {
    int level; /* 1: nothing of it; 2: wgmma */
    int behind; /* groups of products that may be open across iterations of a loop: 0, 1 */
    bool is_forced;      /* the user says how many, whatever it costs */
    bool has_maps;       /* copies of tensors may be made (level 3) */
    bool is_asked;       /* for them, so that what no roles bring is copied, too */
    bool has_all_maps;   /* also of what products read from plain pointers: for tests */
    int slots;           /* of each ring, as the user says; 0: rings.c says */
    const char *no_maps; /* why there are none, on a chip that has them */
    bool is_plain;       /* who launches it knows the kernel's own parameters alone */
    const char *why_not; /* level 2, on a chip that has it */
} HopperPlan;
HopperPlan hopper_plan(const Func *f);
/* Fills in how `dot` is done by warpgroups: NULL. Else why it is not; "": another chip. */
const char *hopper_dot(Func *f, const Op *dot, DotPlan *p);
/* Does who launches it know the kernel's own parameters alone (abi=plain), so that no launch is asked? */
bool launcher_is_plain(const Comp *c);
/* Is the launch's grid so, GRID_*? It was asked then: launches whose answer is another get other
 * code. */
bool hopper_grid_is(Func *f, unsigned what);
/* Is v what a load gave, under whatever indices? */
bool comes_from_load(const Val *v);
/* Words of a thread that all accumulators of one block's products have, the most there are. */
int64_t acc_words(const Block *b);
/* Words of a thread in the sums that threads, not products, add to in loops: acc += a @ b * scale. */
int64_t own_sum_words(const Func *f);
/* Beside those sums and the product's ptxas makes do with so many registers, if it is told to: float8 with scales by
 * 64x128x128 and four warps takes 168, of which none spills, and 197 otherwise. */
enum { OTHERS_OF_SUMS = 40, OTHERS_OF_LOOPS = 56 };
/* About how many blocks of so many warps are resident together that keep so many words in a thread's
 * registers through their loop, and so many bytes of shared memory. */
int hopper_blocks(const Func *f, int warps, int words, int64_t shared);
/* The same of so many registers in all. */
int hopper_blocks_of(const Func *f, int warps, int words, int64_t shared);
/* Would a multiprocessor hold fewer of the launch's programs with room for `few` blocks than with room for
 * `more`? Where that depends on the launch it is asked, in powers of two. */
bool hopper_holds_fewer(Func *f, int few, int more);
/* Clocks that a multiprocessor's tensor cores take for the products of block b, at least 1. */
int64_t product_clocks(const Block *b);

/* ---- tiles.c ------------------------------------------------------------------------------- */
/* How copies move a block between a tensor and shared memory. */
typedef struct TileForm {
    const Type *smem; /* one slot: where its elements are there */
    int rank, lead, n_boxes,
        box_bytes;          /* rank: the tensor's, lead more than the block's */
    int box[MAX_TMAP_RANK]; /* sides; boxes lie one behind the other */
    int swizzle;            /* bytes, as ATTR_SWIZZLE */
} TileForm;
enum { MAX_BOXES = 64 };
/* Of a MAP_LOAD or MAP_STORE, a TILE_LOAD or TILE_STORE. */
TileForm tile_form(const Op *o);
int64_t tile_form_box(const TileForm *t); /* ATTR_BOX */
/* Where box i begins in the block: an index for each dim of the tensor. */
void tile_form_at(const TileForm *t, int i, int32_t *at);
/* How a MAP_STORE beside warps that bring tiles goes through its stage: piece by
 * piece, so that one is written while the other is sent. */
typedef struct StoreStage {
    int pieces, boxes; /* of the block; of a piece */
    int held;   /* pieces that the stage has room for: 1, or 2, written in turn */
    int groups; /* of warps that write and send boxes of their own: 2 of 4 warps, or 1 */
    int64_t bytes;
} StoreStage;
StoreStage store_stage(const Op *store);
/* Stores whose pieces the same threads send share a stage, in which none begins where the one before may still be on
 * its way:
 *
 *     held 2    | pieces 0, 2, .. | pieces 1, 3, .. |
 *     held 1                      | the only piece        |
 *
 * A store sends its last piece when all others have been read, and one of held 1 begins to write then, too
 * (codegen/simt/tensor.c). So between stores all that is on its way lies behind the middle. */
typedef struct SharedStage {
    int64_t bytes, at; /* of all; where the store's places begin */
} SharedStage;
SharedStage shared_stage(const Op *store);
/* Do stores of its run of the block alone come between it and one that waits until all before are in memory, and
 * none to the same elements? */
bool is_behind_others(const Op *store);
bool share_stage(const Op *a, const Op *b);
/* May a MAP_LOAD work where stores have their stage? Not where a loop does it again and again between them. */
bool may_lie_in_stage(const Op *o);
/* Does it? Then stores of so many groups may still send what is there; 0: it does not. */
int sent_from_place(const Op *load);
/* Is it such a MAP_STORE; would it be one in roles? */
bool has_stage(const Op *o);
bool may_have_stage(const Op *o);
/* Why a TILE_LOAD or a TILE_STORE is not made by such copies; NULL: it is. Asks facts. instead: the
 * access that it takes the place of, or NULL. */
const char *tile_refusal(Func *f, FactTable *t, const Op *o, const Op *instead);
/* Does a LOAD give the same before all that the function writes and waits for? */
bool may_load_early(const Func *f, const Op *load);

/* ---- roles.c ------------------------------------------------------------------------------- */
/* Why no warps beside the program's bring what its products read; NULL: they do. */
const char *roles_refusal(Func *f);
/* How many do, and registers of a thread once roles are dealt; 0: as launched. */
enum { LEAST_SLOTS = 2 }; /* of a ring: one on its way while one is read */

/* How many blocks share a multiprocessor, with warps that bring tiles and without. */
typedef struct RolesBlocks {
    int with, without;
} RolesBlocks;
RolesBlocks roles_blocks(Func *f);
/* Do rings with the slots that they need (passes/simt/rings.c), fewer of large tiles, leave room in shared memory for a
 * second block? */
bool roles_leave_room(Func *f);
/* Are two blocks of two warpgroups, without such warps, a matter of registers that a thread may spare? */
bool roles_pair(Func *f);

typedef struct RolesPlan {
    int producers, regs, producer_regs;
} RolesPlan;
RolesPlan roles_plan(Func *f);
/* Do all uses of v, under whatever indices, read it as products of warpgroups do? */
bool is_read_by_groups(Func *f, const Val *v);
/* Is this a MAP_LOAD of what products of warpgroups read where it comes to lie? */
bool roles_bring(Func *f, const Op *o);
/* Bytes of what such a load brings: of its place in a slot. */
int64_t tile_bytes(const Op *load);
/* Do threads make an operand of a loop's product of what they load? */
bool has_made_operand(Func *f);

/* ---- tensors.c ----------------------------------------------------------------------------- */
/* What plain pointers and their mask access, as a block of a tensor: dims of the tensor from the
 * outermost in, the last of stride 1. */
typedef struct TensorDim {
    AffSum stride, coord; /* elements; stride is of the launch's values alone */
    AffSum size;          /* the same */
    bool is_bounded;      /* else size means nothing */
    int block_dim;        /* of the block; -1: it goes through one index here */
    AffSum modulus;     /* an index wraps there: the block's sides divide it; 0: none */
    bool is_from_front; /* indices count from TENSOR_FRONT of them in front */
} TensorDim;
enum { TENSOR_FRONT = 1 << 30 };
typedef struct TensorBlock {
    const Val *pointer; /* of the launch */
    AffSum offset; /* elements from there to the tensor; of the launch's values alone */
    int rank;
    TensorDim dim[MAX_TMAP_RANK];
    /* What the launch must see to be true: of its values alone, and none is negative. */
    AffSum not_negative[MAX_TERMS];
    int n_not_negative;
} TensorBlock;
/* NULL: it is one. Else why not. */
const char *tensor_block(const Func *f, const Op *access, TensorBlock *out);
/* Does the mask let through of dim, among others, only r + coord < size? size is the launch's. */
bool mask_bound(const Func *f, const Val *mask, int dim, AffSum *coord, AffSum *size);
/* ---- rows.c -------------------------------------------------------------------------------- */
/* May the rows (indices of dim) r of v for which r + coord < size is not so be anything? */
bool rows_are_dropped(const Func *f, const Val *v, int dim, const AffSum *coord,
                      const AffSum *size);
/* Does the mask let through of dim, among others, only indices below end? */
bool mask_end(const Func *f, const Val *mask, int dim, AffSum *end);
/* Are indices of v's dim from end on nothing that anybody sees? The terms of end have their meaning where v is
 * computed, if they stand in scope or around it. */
bool rows_end(const Func *f, const Val *v, int dim, AffSum *end, const Block **scope);

/* ---- cluster.c ------------------------------------------------------------------------------- */
/* Thread blocks that share one program, as log2. */
int cluster_log2_ctas(
    const Func *f); /* thread blocks that share one program, as log2 */

/* ---- target.c ------------------------------------------------------------------------------- */
int block_warps(const Func *f);           /* of a thread block, as launched */
int shared_memory_limit(const Target *t); /* bytes a program can have */
bool has_stmatrix(const Target *t);
int atomic_log2(const Target *t, Elem e,
                int rmw); /* elements that one atomic takes at most */

/* ---- pressure.c ----------------------------------------------------------------------------- */
/* Instructions that one element of an elementwise op takes, about: what it costs to compute
 * it again. A store and a load of it are worth COST_HEAVY. */
enum { COST_SLOW = 8, COST_HEAVY = 16 };
int element_cost(const Op *o);
int gpu_element_cost(const Op *o); /* the same on a GPU */
/* 32-bit registers of a FOR's big values, a thread. */
int loop_pressure(const Op *loop);
/* ... of all blocks that live at one time, anywhere in the function. */
int64_t most_live_words(const Func *f);
/* ... of what products gave, and of what is computed of that: before there are layouts. */
int64_t most_sum_words(const Func *f);
/* ... of all, where elementwise ops are computed piece by piece, as the assembler has them;
 * inside of one loop (NULL: anywhere). */
int64_t scheduled_words(const Func *f, const Op *loop);
/* ... anywhere, where loads wait for their pieces, too. */
int64_t least_words(const Func *f);
/* Registers of a thread for what the block and the regions in it load, and *bytes in flight; words for the
 * addresses of what they access, with which nothing spills. */
int64_t loaded_words(const Block *b, int64_t *bytes);
/* Bytes of a multiprocessor that have to be on their way while memory is busy. */
int64_t bytes_in_flight(const Chip *chip);
int64_t access_words(const Block *b);
/* About how many instructions of one thread the block becomes. A value has at most so many
 * registers that each are code of their own: what goes beyond is in loops. */
int64_t code_size(Func *f, const Block *b, int most);

/* ---- lazy.c ---------------------------------------------------------------------------------- */
bool op_is_through(const Op *o); /* only renames indices: expand, broadcast, trans .. */
bool op_is_cheap(const Op *o);   /* ... or arithmetic of few instructions */
bool op_is_lazy(
    const Op *o); /* pure per element, or a load: computed on demand on CPUs */
bool is_kept_index(const Val *v); /* the result of a KEEP of integers or pointers */
bool op_is_scalar(const Op *o);   /* ... and is rank 0: computed where it stands */
/* A value's dim d is dim at[d] of the loops that compute it; NO_DIM: index 0. Places behind the rank are 0. */
enum { NO_DIM = 0xff };
typedef struct DimMap {
    uint8_t at[MAX_RANK];
} DimMap;
/* Of an operand of a through op, from its result's. */
DimMap op_through_map(const Op *o, DimMap map);

/* ---- quotients.c ----------------------------------------------------------------------------- */
typedef struct Quotient {
    const Op *o; /* a division, its remainder, or a bound: a minimum, a maximum */
    DimMap map;  /* of its result */
    int up;      /* the operand that counts up by 1 */
} Quotient;
typedef VEC(Quotient) Quotients;
/* Does v, computed by loops as map says, go by *step along dim `along` of them where quotients stay the same, and not
 * because it always does? A divisor known to be below `least` makes no such quotient. all, where not NULL, gets them. */
bool steps_by_quotients(const Val *v, DimMap map, int along, int least, int64_t *step,
                        Arena *a, Quotients *all);
/* Are v's elements consecutive along its dim there, and along no other one? */
bool runs_by_quotients(const Val *v, int dim, int least);

/* ---- big.c ----------------------------------------------------------------------------------- */
/* More code than LLVM and ptxas get through in minutes. The limit is where libraries are: a
 * top-k of 2048 by one warp, written out as a sorting network, counts for 350,000 (three
 * seconds here, a minute in ptxas). */
enum { MAX_CODE = 1 << 19, MAX_CHUNK_BITS = 5 }; /* registers of a chunk, as log2 */
bool is_in_registers(const Val *v); /* a block, and none in shared memory */
bool has_many_registers(const Val *v);
bool is_streamed(const Op *o); /* may o read and write blocks piece by piece? */
/* The place that v lies in as a whole when its only user reads it, piece by piece: nobody loads it. Or NULL. */
const Val *streamed_from(const Val *v);
/* The place that v is written to, piece by piece, by the op that gives it: nobody stores it. Or NULL. */
const Val *streamed_to(const Val *v);
/* Bytes of a thread's memory that LOCAL_ALLOCs take; of one of them. */
int64_t local_bytes(const Func *f);
int64_t slices_bytes(const Type *local);

/* ---- axis.c ---------------------------------------------------------------------------------- */
typedef struct AxisStep {
    InDim in;
    int bit;   /* of that input */
    Col basis; /* its distance in the flat index */
    int part; /* 0, or a register bit, as a mask: of two lanes each takes half of the results */
} AxisStep;

/* The bits along the axis of a REDUCE or SCAN, which lie in registers, lanes and warps. */
typedef struct Axis {
    const Op *o;
    const Layout *l;     /* of all operands */
    int n, n_regs;       /* operands; registers of each */
    bool is_commutative; /* the region is one commutative op */
    bool
        is_for_one; /* only thread 0 wants the results: they are numbers to be stored */
    uint32_t
        reg_left; /* register bits not combined yet: live registers have only those */
    uint32_t lane_axis,
        warp_axis; /* masks of the bits along the axis whose results are the same */
    AxisStep step[MAX_BITS];
    int n_steps;
} Axis;
/* The layout of what a reduction of l along axis gives, if lanes that would have the same results part them:
 *
 *     lane 0   a b c d      a0 + a1, b0 + b1      a        A step hands over half of what is left: V results
 *     lane 1   a b c d      c0 + c1, d0 + d1      c        of 32 lanes take V - 1 shuffles, and 5 V otherwise.
 *
 * Registers' highest bits become lanes', which go on by the axis' lowest ones. NULL: there is nothing to part. */
const Layout *axis_parted(Comp *c, const Layout *l, int axis);
/* Steps from the axis' lowest bit up or, if by_kind, registers, then lanes, then warps. */
Axis axis_open(const Op *o);
Axis axis_open_in(const Op *o, const Layout *l); /* as if o's operands lay so */
void axis_sort(Axis *k, bool by_kind);

/* Where partial results lie, the index of a slot from its highest bits down:
 *     [which] [warp]                    each lane holds the same: a thread reads all warps'
 *                                       partials as vectors
 *     [which] [warp] [outer] [which]    lanes or warps off the axis (outer) hold others: up
 *                                       to 16 bytes of live registers (the lower bits of
 *                                       which) are a vector, and lanes lie side by side,
 *                                       in banks of their own */
typedef struct AxisSlots {
    int log2_warps; /* along the axis */
    int log2_outer, log2_which;
    int log2_vec;                         /* lower bits of which */
    int warp_at;                          /* bit of the warp's number in the index */
    Col lane[LANE_BITS], warp[WARP_BITS]; /* index of a thread's slot */
} AxisSlots;
AxisSlots axis_slots(const Axis *k); /* of the registers that are left */
int64_t axis_bytes(const Axis *k, const AxisSlots *t);
/* Bytes of operand i's slots; they lie one behind the other. */
int axis_operand_bytes(const Axis *k, const AxisSlots *t, int i);
/* Each lane reads one warp's partial, lane bit lane_bit[i] is bit i of the warp's number. */
bool axis_by_lanes(const Axis *k, const AxisSlots *t, int *lane_bit);
/* The first warp combines alone what thread 0 stores. */
bool axis_by_first(const Axis *k, const AxisSlots *t);
/* Each result is combined by one thread: all alike would do too much work. */
bool axis_is_dealt(const Axis *k, const AxisSlots *t);

/* ---- convert.c ------------------------------------------------------------------------------- */
typedef struct ConvWay {
    const ConvPlan *plan; /* between the rows where there are such */
    MatrixRows from, to;  /* stmatrix; ldmatrix: n 0 without */
} ConvWay;
ConvWay convert_way(const Func *f, const Op *o);
const ConvPlan *convert_plan(Comp *c, const Op *o); /* without matrices */

/* ---- scratch.c ------------------------------------------------------------------------------- */
typedef struct Scratch {
    int64_t bytes; /* 0: none */
    int align;
    int waits;        /* WAIT_* inside of the op */
    bool by_warp;     /* they are a warp's own */
    bool is_dealt;    /* of a reduce: ATTR_DEALT */
    bool is_exchange; /* between the blocks of a cluster, by an mbarrier */
    bool meets;       /* its threads do, at the mbarrier of all such ops */
} Scratch;
enum { SHARED_ALIGN = 1024 }; /* of a shared_alloc: rows of swizzled chunks repeat */
/* room: bytes there are, for ops that can do with less. */
Scratch scratch_of(Func *f, const Op *o, int room);
/* Of a scan whose operands lie as l. */
int64_t scratch_of_scan(const Op *o, const Layout *l);
/* Both operands of a dot by multiply-adds, k deep, in at most so many bytes. */
typedef struct DotPanels {
    int k;
    int64_t bytes[2];
} DotPanels;
DotPanels dot_panels(const Op *o, int room);
/* Bytes of a RING_ALLOC in front of its result i, which n_results may be. */
int64_t ring_bytes(const Op *o, int i);
int64_t shared_result_bytes(const Val *v); /* 0: nobody else holds it, or reads it */
bool asm_by_owners(const Op *o);           /* its copies of an element do not run */

/* ---- layouts.c ------------------------------------------------------------------------------- */
/* Raises where a block has no layout, or one of other threads than the kernel's. Text may say
 * anything; behind this, lanes and warps are those of the launch. */
void check_threads(const Func *f);

/* ---- effects.c ----------------------------------------------------------------------------- */
/* Stores, atomics, barriers and volatile loads: not of regions. */
bool may_change_memory(const Op *o);
bool has_side_effects(const Op *o); /* anything that must stay; regions included */
bool is_defined_outside(const Val *v,
                        const Block *b); /* neither in b nor in its regions */
/* Does one of these ops, the keys of a map, use a result of o? */
bool has_user_in(const Op *o, const Map *ops);
/* The argument of f that the pointers are made of; NULL: not known. */
const Val *pointer_root(const Func *f, const Val *v);

/* ---- traffic.c ----------------------------------------------------------------------------- */
typedef struct Traffic {
    double loaded, stored, atomic; /* bytes, as often as the kernel asks for them */
    double
        touched; /* bytes that memory must move if caches answer what is asked again */
    double dot_flops, flops; /* of products; of other float arithmetic */
    bool is_bound; /* something depends on what is in memory: it may be less, or more */
} Traffic;
/* Of a launch of f, a function of tile IR, with these parameters. All sides of the grid are
 * above 0. */
void traffic_of(const Func *f, const uint64_t *params, const int32_t grid[3],
                Traffic *out);

/* ---- written.c ----------------------------------------------------------------------------- */
/* Which parameters the pointers of a function may come from; in its arena. */
typedef struct Written Written;
Written *written_new(const Func *f);
/* Can nothing in the function read what this store writes, nor wait for it? */
bool written_is_fresh(const Written *w, const Op *store);
/* Can no program of a launch write what is read through ptr, as far as parameters are different
 * memory, nor wait for another one? */
bool written_is_constant(const Written *w, const Val *ptr);
/* The first parameter that ptr may come from; 0 where none is known. */
int written_origin(const Written *w, const Val *ptr);
/* Fills written[i] and before[i], one for each parameter: may the function store through it, and
 * read what was there before the launch? */
void written_params(const Func *f, bool *written, bool *before);

#endif
