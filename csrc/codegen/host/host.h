/* host.h: inside the CPU target. README.md has the idea; cg_host is in host.c.
 *
 *     host.c      the walk over ops: what is lazy, what is a root
 *     roots.c     roots of one nest come together
 *     value.c     states of values, who still needs them, the scratch arena
 *     nodes.c     what a group computes, how wide
 *     runs.c      steps in which quotients stay the same and remainders count up
 *     nest.c      one group -> one loop nest over register-sized vectors
 *     loops.c     loops, branches, slots on the stack
 *     access.c    loads, stores, atomics of one vector
 *     cost.c      what each became, for the report
 *     bounds.c    accesses against the tensors, where asked for
 *     debug.c     assert and print
 *     reduce.c    accumulators inside a nest; scans
 *     shape.c     reshape, join, split, cat, gather, histogram
 *     sort.c      the first elements of each row in order
 *     dot.c       the register-tiled product (dot.h), tiles.c its form for AMX
 *     panels.c    the order of its second operand in scratch
 *     turn.c      blocks turned in registers on their way there
 *     late.c      several turns' products at once
 *     ends.c      rows, columns and K that masks drop
 *     kept.c      operands that later programs of a thread find there
 *     ahead.c     its next turn's operands come into the cache meanwhile
 *     control.c   for, while, if
 *     whole.c     inline assembly, library functions with effects: over a whole block
 */
#ifndef TEGULA_HOST_H
#define TEGULA_HOST_H

#include "codegen/codegen.h"

typedef struct Host Host;
typedef struct Group Group;
typedef struct Node Node;
typedef struct Root Root;
typedef struct Ahead Ahead;

/* A piece of the scratch arena. */
typedef struct Buf {
    int64_t offset, bytes; /* from the start of scratch; a multiple of 64 */
    int free_at;           /* position of the last root that reads it */
    bool is_used;
    Lv at; /* its address, where the code chooses that (kept.c, late.c); NULL: offset has it */
    bool is_kept;  /* kept.c */
    bool is_fixed; /* what is there stays until the end of the loop: kept.c, late.c */
} Buf;

/* Elements in scratch: at buf + (offset + sum of index[d] * stride[d]) elements. Those of a
 * matrix by panels (panels.c) are elsewhere in their last two dims. */
typedef struct View {
    Buf *buf;
    int64_t offset;
    int64_t stride[MAX_RANK];
    int width, group; /* of a panel: columns, rows side by side; width 0: no panels */
} View;

typedef enum ValKind {
    V_NONE,   /* not visited yet */
    V_SCALAR, /* rank 0: in lv; NULL while it waits for a nest */
    V_LAZY,   /* a block that is computed by the loops that want it */
    V_BUFFER, /* a block in scratch */
} ValKind;

typedef struct VState {
    uint8_t kind;
    bool is_virtual; /* V_LAZY: cheap to compute again, from scalars alone */
    int last_use;    /* position of the last root that needs it; 0: not known yet */
    int stamp;       /* the walk over operands that saw it last */
    Lv lv;
    View view;
} VState;

/* Roots of one number. */
typedef struct Nest {
    Group *g; /* NULL: none was visited yet */
    int n_left;
} Nest;

/* What an access became: cost.c. */
typedef struct Note {
    const Op *op;
    const char *text;
} Note;

struct Host {
    Ll *l;
    Comp *c;
    Func *f;
    VState *v; /* by value id */
    Map pos;   /* Op -> position in program order, from 1; control ops: of their end */
    Map nests; /* ATTR_NEST -> Nest */
    VEC(Group *) begun; /* of these, those of which some roots were visited */
    int n_pos;
    FactTable *facts;
    Lv params, pid, grid, scratch;
    LLVMBasicBlockRef leave;      /* returns */
    int vec_bytes;                /* of a register */
    bool has_masks;               /* masked loads and stores of every width (AVX-512) */
    bool has_word_masks;          /* of elements of 4 and 8 bytes alone (AVX2) */
    bool has_gather, has_scatter; /* of 4 and 8 bytes */
    bool has_bf16_pairs, has_vnni;     /* AVX512-BF16, AVX512-VNNI: dot.c */
    bool has_bf16_tiles, has_i8_tiles; /* AMX, which this process may use: tiles.c */
    bool
        takes_steps; /* floats become integers or float8 somewhere: quotients are exact */
    const Written *written;
    Lv streams; /* i1: fresh stores of this launch go past the caches; NULL: it has none */
    VEC(Buf *) bufs;
    int64_t high; /* bytes of scratch */
    int64_t kept; /* of these, of operands that outlive a program: kept.c */
    LLVMBasicBlockRef
        forget;  /* what a thread's first program runs first; NULL: nothing */
    Group *open; /* of roots without a number, or NULL */
    VEC(const Op *) deferred; /* scalar ops that wait for a nest */
    Map notes;                /* of Note, by place and text: for the report */
    VEC(Ahead *) ahead;       /* of the product that is being emitted: ahead.c */
    Lv turns_left;            /* i64: of the innermost `for`, this one counted */
    int stamp;
    LLVMBasicBlockRef entry; /* of stack slots; ends in a branch from the start */
    Lv pace; /* slot of a Pace, of all loops that look up; NULL: there was none yet */
};

static inline VState *
state(Host *h, const Val *v)
{
    return &h->v[v->id];
}

/* ---- value.c ------------------------------------------------------------------------- */
int host_pos(Host *h, const Op *o);
int host_last_use(Host *h, const Val *v);
/* Does anything behind o need v, or what lies where it does? */
bool host_is_read_behind(Host *h, const Val *v, const Op *o);
Buf *host_buf(Host *h, int64_t bytes, int free_at);
/* The same where nothing else has been: what is there outlives a turn of a loop, or a program. */
Buf *host_own_buf(Host *h, int64_t bytes, int free_at);
void host_free_before(Host *h,
                      int pos);        /* buffers whose last reader stands before pos */
View host_view(const Type *t, Buf *b); /* dense, row-major */
View host_new_view(Host *h, const Val *v);
/* Of a matrix whose columns, not rows, are consecutive. */
static inline bool
host_is_turned(const Type *t, const View *w)
{
    return w->buf && !w->width && t->rank > 1 && w->stride[t->rank - 2] == 1 &&
           w->stride[t->rank - 1] > 1;
}
Lv host_scalar(Host *h, const Val *v);
Lv host_const(Host *h, const Type *t, uint64_t bits, int lanes);
Lt host_mem_type(Host *h, const Type *t);
Lv host_to_mem(Host *h, const Type *t, Lv x);
Lv host_from_mem(Host *h, const Type *t, Lv x);
Lv host_address(Host *h, const Type *t, const View *w,
                const Lv *index);          /* index NULL: 0 */
bool host_is_ready(Host *h, const Val *v); /* a scalar that has been emitted */

/* ---- host.c ----------------------------------------------------------------------------- */
void host_walk(Host *h, const Block *b); /* all ops but the terminator */
void host_flush(Host *h);                /* emits the group of roots without a number */
void host_emit_deferred(Host *h);        /* scalars whose operands are there by now */

/* ---- roots.c ---------------------------------------------------------------------------- */
typedef enum RootKind {
    R_STORE,
    R_ATOMIC,
    R_REDUCE,
    R_KEEP,
    R_CHECK,
    R_PRINT
} RootKind;
struct Root {
    RootKind kind;
    const Op *o;   /* NULL: a KEEP that no op says, whose dest is the caller's */
    const Val *v;  /* KEEP */
    View dest;     /* KEEP */
    bool converts; /* KEEP without an op: to element type `elem` on the way */
    Elem elem;
    bool is_down; /* STORE: columns are consecutive in memory */
    Lv end; /* KEEP: i64, at least 1: of dim end_dim, nobody wants what is behind; NULL: all is wanted */
    int end_dim;
    int side;   /* KEEP: turned in squares of so many rows (turn.c); 0: it is not */
    int pos;    /* of o, or of the op that makes v: host_pos */
    Node **in;  /* by operand; NULL: absent */
    int mode;   /* STORE, ATOMIC: Mode of the access; PRINT: the operand */
    int by;     /* STORE: lanes stand so many elements apart, where M_STRIDE says so */
    int fields; /* STORE of M_STRIDE: `by` where this and the roots before fill whole rows, -1 of those before */
    Lv *acc; /* REDUCE: a stack slot an operand; KEEP by panels: one a row of a group, turned: one */
};
/* What r is made of, one after the other; behind the last one: NULL. */
static inline const Val *
root_value(const Root *r, int i)
{
    if (r->kind == R_KEEP)
        return i ? NULL : r->v;
    return i < r->o->n_args ? arg(r->o, i) : NULL;
}
static inline bool
host_is_access(const Root *r)
{
    return r->kind == R_STORE || r->kind == R_ATOMIC;
}
/* A division of what counts up by what all lanes share, or the lesser or greater of the two: runs.c. */
typedef struct Split {
    Elem elem;
    OpCode op;        /* DIV, MIN, MAX */
    Node *first, *by; /* the first lane's operands */
} Split;
struct Group {
    int rank;
    int32_t shape[MAX_RANK];
    int axis; /* of its reductions; -1: none */
    VEC(Root) roots;
    bool
        is_turned; /* its one root is a matrix whose columns are consecutive: it goes along them */
    Lv end; /* of the one root that has one, or of all: behind.c */
    int end_dim;
    int side; /* so many vectors at a time are turned (turn.c); 0: none are */
    Group *
        runs; /* the same roots, for steps in which all splits run on; NULL: none are */
    bool in_runs; /* this is such a group, and these are they */
    VEC(Split) splits;
    int n_rows; /* a root by panels wants so many rows at a time: of the last dim but one */
    /* while it is emitted: */
    int order[MAX_RANK]; /* loops from outside in: dims of shape */
    int vec;             /* dim that runs in steps of lanes */
    int lanes;
    Map nodes;
    VEC(Node *) list;
    Lv index[MAX_RANK]; /* i64, of the first lane */
    int row;            /* of n_rows, that is emitted */
    Lv column;          /* i64, of side, that is emitted */
};
/* A root without a number: into the open group, or into a new one of t's shape. */
void host_add_root(Host *h, Root r, const Type *t);
/* A root with one, whose last one emits the nest; axis: along which r reduces, or -1. */
void host_add_to_nest(Host *h, Root r, const Type *t, int axis);
/* v into scratch at dest. */
void host_materialise_to(Host *h, const Val *v, View dest);
/* The same converted to elem e: for dot. end: i64, of its dim `dim`; NULL: all of it. */
void host_convert_to(Host *h, const Val *v, View dest, Elem e, int dim, Lv end);

/* ---- nest.c ------------------------------------------------------------------------------- */

typedef enum NodeKind {
    N_SCALAR,
    N_CONST,
    N_ARANGE,
    N_OP_NODE,
    N_LOAD,
    N_BUFFER,
    N_QUOTIENT, /* of a split, and its remainder */
    N_REST,
} NodeKind;
typedef enum Mode {
    M_NONE,
    M_ROW,
    M_GATHER,
    M_STRIDE,
    M_SAME
} Mode; /* STRIDE: strides.c; SAME: one element for all lanes */
struct Node {
    const Val *v;
    DimMap map;
    uint8_t kind;
    bool lane0;   /* wanted for the first lane only */
    uint8_t mode; /* LOAD: Mode */
    int8_t by;    /* LOAD: lanes stand so many elements apart, where STRIDE says so */
    int32_t
        run; /* REST, BUFFER: not 0: from the first lane on it counts up by so much */
    bool is_early; /* its place is before the masks are looked at */
    bool by_ends;  /* a mask of which the ends tell whether all lanes are in */
    bool want_vec; /* somebody needs it as a vector */
    unsigned dims; /* bit d: changes along the group's dim d */
    int level;     /* computed inside of this many loops */
    int pos;
    int n_in;
    Node **in;
    Node *first; /* lane 0 of the operand that counts up, of a comparison by_ends */
    Lv x, vec;   /* the value; splat when x is a scalar and want_vec */
};

/* Of an access: the pointer of the first lane tells all. */
static inline bool
host_is_by_first(const Root *r)
{
    return host_is_access(r) && (r->mode == M_ROW || r->mode == M_STRIDE);
}

void host_emit_group(Host *h, Group *g);

/* ---- runs.c ------------------------------------------------------------------------------- */
/* Does v go by *step from lane to lane where quotients run on, and not because it always does? */
bool host_steps_in_runs(Host *h, Group *g, const Val *v, DimMap map, int64_t *step);
/* Are v's elements consecutive along dim where quotients run on, and along no other one? */
bool host_runs_along(const Host *h, const Val *v, int dim);
static inline bool
host_is_bound(const Op *o)
{
    return o->op == OP_MIN || o->op == OP_MAX;
}
/* Is o, of a value that does, a split? */
bool host_is_split(const Host *h, const Group *g, const Op *o, DimMap map);
/* Of the first lane; gives an i1: does the quotient stay the same? */
Lv host_divide_in_run(Host *h, const Split *s, int lanes, Lv *quotient, Lv *rest);
/* The same of all splits, whose operands are there. */
Lv host_is_run(Host *h, const Group *g);
bool host_gains_by_runs(const Group *g, const Group *runs);

/* ---- ends.c ------------------------------------------------------------------------------- */
/* min(max(end, 1), n), at this place; NULL where a part of it cannot be known. One is computed at least. */
Lv host_count_of(Host *h, const AffSum *end, const Block *scope, int n);

/* ---- behind.c ----------------------------------------------------------------------------- */
/* g->end, where nobody sees what the innermost loop does behind it; NULL: it goes through all of its block. */
void host_find_end(Host *h, Group *g);

/* ---- ahead.c ------------------------------------------------------------------------------ */
/* A vector of a load begins at p, maybe one whose next block is fetched. */
void host_note_row(Host *h, const Group *g, const Node *n, Lv p);

/* ---- panels.c ----------------------------------------------------------------------------- */
/* Of a [.., K, N] by panels of `width` columns, `group` rows of which stand side by side. */
View host_panels(const Type *t, Buf *b, int width, int group);
/* One row of a group more; with the last one, the group is written. index: of the first row. */
void host_keep_row(Host *h, const Type *t, Root *r, int row, Lv x, const Lv *index);

/* ---- turn.c ------------------------------------------------------------------------------- */
/* A store without a number, and what it stores turned where memory wants that. */
void host_store_alone(Host *h, Root r);
/* Rows of the squares in which the block that r, a KEEP, puts into scratch is turned; 0: it lies as
 * scratch wants it, or has no such squares. */
int host_side(Host *h, const Root *r);
/* Is r turned in the squares of its group? */
bool host_fills_square(const Group *g, const Root *r);
/* The dim of a square that runs in no vectors. */
static inline int
host_other_dim(const Group *g)
{
    return 2 * g->rank - 3 - g->vec;
}
/* One column of a square; when all are there, the square is written. g->index: its first element. */
void host_keep_column(Host *h, const Type *t, Root *r, const Group *g, Lv x);
void host_keep_square(Host *h, const Type *t, const Root *r, const Group *g);

/* ---- nodes.c ------------------------------------------------------------------------------ */
/* Along which dim what v is loaded or read from is consecutive, n elements at least: all blocks of it. */
typedef enum Runs {
    RUNS_MIXED,
    RUNS_ACROSS,
    RUNS_DOWN
} Runs; /* the last dim; the last but one */
Runs host_runs(Host *h, const Val *v, int n);
/* The same of what pointers point to, a register of bytes at least. */
Runs host_runs_of_pointers(Host *h, const Val *v);
Node *host_node(Host *h, Group *g, const Val *v, DimMap map, bool lane0);
/* Chooses lanes, makes the nodes of all roots, sorts both by position. */
void host_build_nodes(Host *h, Group *g);
/* Does the node differ from lane to lane? */
static inline bool
is_vector(const Group *g, const Node *n)
{
    return g->lanes > 1 && !n->lane0 && (n->dims >> g->vec & 1);
}
/* Is v computed on demand, and met for the first time in this walk (h->stamp)? */
bool host_visits(Host *h, const Val *v);
/* ---- loops.c --------------------------------------------------------------------------------- */
/* for (i = 0; i < n; i += step): opens a loop; *index is i (i64). */
typedef struct Loop {
    LLVMBasicBlockRef head, before;
    Lv index;
    Lv end; /* i64, at least 1, where the code knows how often; NULL: n has it */
    int64_t n, step;
} Loop;
void host_loop_open(Host *h, Loop *p, int64_t n, int64_t step);
void host_loop_open_to(Host *h, Loop *p, Lv end);
/* for (i = 0; i < n; i += step), or to end, from 1 to n; NULL: n. */
void host_steps_open(Host *h, Loop *p, int64_t n, int64_t step, Lv end);
void host_loop_close(Host *h, Loop *p); /* leaves the builder behind the loop */
/* if (cond) { .. } around what is built between; cond is an i1 scalar */
typedef struct When {
    LLVMBasicBlockRef before, then, after;
} When;
void host_when_open(Host *h, When *w, Lv cond);
void host_when_close(Host *h, When *w);
/* A slot on the stack, made once, in the entry block. */
Lv host_slot(Host *h, Lt t);
Lv host_spill(Host *h, Lv x);   /* a slot with x in it; truths are bytes there */
Lv host_bits(Host *h, Lv mask); /* i64: a bit a lane */
Lv host_all(Host *h, Lv mask);  /* i1: of every lane */
Lv host_any(Host *h, Lv mask);  /* i1 */

/* ---- cost.c ---------------------------------------------------------------------------------- */
void host_note(Host *h, const Op *o, Mode m, int lanes);
void host_note_text(Host *h, const Op *o, const char *text);
void host_tell(Host *h); /* into f->report */

/* ---- access.c -------------------------------------------------------------------------------- */
/* lanes 0: scalars. ptr: one pointer for M_ROW and scalars, else a vector. mask, other: may be
 * NULL. t is the pointee. All values in register form. */
Lv host_read(Host *h, const Type *t, Mode m, int lanes, Lv ptr, Lv mask, Lv other);
void host_write(Host *h, const Type *t, Mode m, int lanes, Lv ptr, Lv value, Lv mask);
/* Is a gather of elements t one instruction? Where a scatter is, a gather is, too. */
bool host_gathers(const Host *h, const Type *t);
void host_store_bytes(Host *h, Lv x,
                      Lv p); /* a vector of bytes to scratch, as they are */
/* o, no load, on lanes (below 2: on one element): what an atomic gives. x: operands; of M_ROW the
 * first is one pointer. */
Lv host_act(Host *h, const Op *o, Mode m, int lanes, Lv *x);

/* ---- strides.c ------------------------------------------------------------------------------- */
/* Are lanes that stand `by` elements apart shuffled out of rows? */
bool host_is_stride(const Host *h, const Type *t, int lanes, int64_t by);
/* host_read and host_write of those; p: of the first lane. */
Lv host_read_stride(Host *h, const Type *t, int by, int lanes, Lv p, Lv mask, Lv other);
void host_write_stride(Host *h, const Type *t, int by, int lanes, Lv p, Lv x, Lv mask);
/* Finds stores of a nest that lie side by side in turn, when its roots are sorted. */
void host_find_fields(Host *h, Group *g);
/* x[0] at p, x[1] an element behind it, .., of `by` values, in rows. */
void host_write_fields(Host *h, const Type *t, int by, int lanes, Lv p, Lv *x, Lv mask);
/* At most so many elements are from lane to lane. */
enum { MOST_STRIDE = 4 };

/* ---- streams.c ------------------------------------------------------------------------------- */
/* Makes h->streams. */
void host_look_for_streams(Host *h);
/* Is the store one that h->streams is about? */
bool host_is_fresh(const Host *h, const Op *store);
/* host_write of consecutive elements, past the caches where h->streams says so. */
void host_write_past(Host *h, const Type *t, int lanes, Lv ptr, Lv value);

/* ---- bounds.c ----------------------------------------------------------------------------------- */
/* A constant HostAccess; of what is no access, its place alone counts. */
Lv host_access_of(Host *h, const Op *o, int bytes, int lanes);
/* Before an access of o in memory: leaves the program where it lies outside of the tensors.
 * Arguments as of host_read; nothing unless the options ask for it. */
void host_guard(Host *h, const Op *o, Mode m, int lanes, Lv ptr, Lv mask);

/* ---- debug.c ----------------------------------------------------------------------------------- */
/* flat: row-major index of the first lane (i64); NULL for scalars. */
void host_check(Host *h, const Op *o, int lanes, Lv flat, Lv cond, Lv mask);
void host_print(Host *h, const Op *o, int operand, int lanes, Lv flat, Lv value,
                Lv mask);

/* ---- reduce.c ---------------------------------------------------------------------------------- */
void host_reduce_begin(Host *h, Group *g, Root *r);
void host_reduce_step(Host *h, Group *g, Root *r, Lv *in);
void host_reduce_end(Host *h, Group *g, Root *r);
void host_scan(Host *h, const Op *o);

/* ---- shape.c, dot.c, control.c ------------------------------------------------------------------ */
void host_shape_op(Host *h, const Op *o);
/* ---- sort.c ---------------------------------------------------------------------------------- */
void host_sort(Host *h, const Op *o);
void host_dot(Host *h, const Op *o);
void host_assembly(Host *h, const Op *o); /* whole.c, as is the next */
void host_extern(Host *h, const Op *o);
/* How computing v reads buf: 0 not, 1 at v's own index, 2 otherwise. */
int host_reads(Host *h, const Val *v, const Buf *buf);
void host_for(Host *h, const Op *o);
void host_while(Host *h, const Op *o);
void host_if(Host *h, const Op *o);

#endif
