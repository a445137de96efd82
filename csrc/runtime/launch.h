/* launch.h: one launch, from Python's arguments to a variant that runs.
 *
 *     Kernel      the decorated function: its parameters, its variants and the table that
 *                 finds them
 *     Call        the arguments of one launch as nodes, on the C stack
 *     Entry       the fine key of a launch and the variant it leads to
 *     Compiled    a variant: machine code and how to run it. A Python object.
 *     Launcher    kernel[grid]: what the builtin function it returns has as its self
 *
 * A node is one argument, or one element of a tuple argument:
 *     code    what it is (kind, element type) and which FACT_* hold
 *     bits    its value as a kernel parameter, or a small constant's
 *     value   the Python object, borrowed for the launch
 * Two launches with equal codes and equal constants run the same variant: that is the fine
 * key, and it is a promise. Tuples are written in preorder: a node that says how many
 * children follow, then the children. Leaves (all nodes but those) are the slots of
 * Func.facts and the leaves of ArgSpec, in this order.
 *
 * This is one file, as each struct here has a part in every launch, and each file of the folder reads
 * most of them.
 *
 * Everything here runs with the GIL held, which is also what guards the tables; it is let go
 * where code is generated and where a grid runs.
 */
#ifndef TEGULA_LAUNCH_H
#define TEGULA_LAUNCH_H

#include <Python.h>

#include <dlpack/dlpack.h>
#include <limits.h>

#include "compile.h"
#include "frontend/frontend.h"
#include "runtime/emu/emu.h"
#include "runtime/runtime.h"
#include "runtime/state.h"

typedef struct Kernel Kernel;
typedef struct Launcher Launcher;
typedef struct Compiled Compiled;

enum { MAX_ARGS = 256, MAX_NODES = 512, MAX_OPTIONS = 48 };
enum { MAX_DIMS = 64 }; /* of a tensor: NumPy has as many, torch too */

/* ---- nodes ----------------------------------------------------------------------------- */
/* code: truth in bits 0..9, elem in 10..17, children in 10..23 for tuples, kind from 24. */
typedef enum NodeKind {
    NODE_SCALAR,
    NODE_POINTER,
    NODE_NONE,      /* constants without a value of their own ... */
    NODE_CONST_INT, /* ... with the value in bits (int64, bool, double) ... */
    NODE_CONST_BOOL,
    NODE_CONST_FLOAT,
    NODE_CONST_OBJECT, /* ... and compared as Python objects */
    NODE_TUPLE,        /* value: the tuple; its type belongs to the key */
} NodeKind;
#define CODE(kind, elem, truth)                                                        \
    ((uint32_t)(kind) << 24 | (uint32_t)(elem) << 10 | (uint32_t)(truth))
static inline NodeKind
code_kind(uint32_t c)
{
    return (NodeKind)(c >> 24);
}
static inline Elem
code_elem(uint32_t c)
{
    return (Elem)(c >> 10 & 0xff);
}
static inline uint16_t
code_truth(uint32_t c)
{
    return c & 0x3ff;
}
static inline int
code_children(uint32_t c)
{
    return (int)(c >> 10 & 0x3fff);
}
/* NODE_READ_ONLY stands among the truths, but no compile asks for it: a launch that would
 * write such a tensor fails on its way to a variant, and so gets no entry in the table. */
enum {
    NODE_READ_ONLY = 0x200,
    TRUTH_BITS = 0x3ff,
    ALIGN_FACTS = FACT_DIV2 | FACT_DIV4 | FACT_DIV8 | FACT_DIV16,
    INT_FACTS = ALIGN_FACTS | FACT_EQ1 | FACT_GE0 | FACT_LARGE,
    SHARE_FACTS = FACT_SAME | FACT_OVERLAPS
};

/* FACT_DIV* that hold of an address or integer. */
static inline uint16_t
truth_of_bits(uint64_t v)
{
    return (uint16_t)((2u << __builtin_ctzll(v | 16)) - 2);
}

/* FACT_* but EQ1 that hold of an integer of 64 bits. */
static inline uint16_t
truth_of_int(uint64_t v, bool is_negative)
{
    int sizes = is_negative ? 0 : v < LARGE_INTEGER ? FACT_GE0 : FACT_GE0 | FACT_LARGE;
    return (uint16_t)(truth_of_bits(v) | sizes);
}

/* Options of a launch, small enough to be compared in one go. Never zero. */
enum {
    OPT_FUSION = 1,
    OPT_DEBUG = 2,
    OPT_SANITIZE = 4,
    OPT_PDL = 8,
    OPT_COOPERATIVE = 16,
    OPT_INTERPRET = 32, /* of the knob, not of a launch */
    OPT_BOUNDS = 64,    /* the same */
    OPT_LINES = 128     /* the same */
};
typedef struct OptWord {
    uint8_t num_warps, num_stages, num_ctas;
    uint8_t flags;     /* OPT_* */
    uint8_t maxnreg;   /* 0: no cap; to MAX_REGISTERS */
    uint8_t imprecise; /* Options.imprecise */
    uint16_t
        texts; /* options that are texts: which of State.option_texts, from 1; 0: none */
} OptWord;
_Static_assert(sizeof(OptWord) == 8, "OptWord is compared as one word");

/* Where the tensors of a launch live; also a DLDevice. type 0: there are no tensors. */
typedef struct Place {
    int32_t type; /* kDLCPU .. */
    int32_t index;
} Place;

typedef struct Grid {
    int32_t dim[3];
} Grid;

/* The arguments of one launch. Nothing here is zeroed but the scalars. */
typedef struct Call {
    Kernel *k;
    const Target *want; /* the target asked for; NULL: the place decides */
    OptWord opt;
    Place place;
    /* Of the tensor that set place: asked for the stream. */
    const DLPackExchangeAPI *api;
    PyObject *tensor; /* that tensor, borrowed; NULL: none */
    uint64_t target;  /* word of the target: call_note_target */
    uint64_t
        hash; /* of all that is in the fine key, once the table was asked; else 0 */
    bool types_only;  /* warmup: dtypes may stand for tensors */
    PyObject *stream; /* the caller's, an integer, borrowed; NULL: the framework's */
    /* The capsules that __dlpack__ gave, a list, owned: the memory may be theirs. NULL:
     * no tensor is of kind SET_DLPACK. call_done lets go of it. */
    PyObject *held;
    /* Python code has run behind nodes, or may have: a list, owned, of what the first n_pinned of
     * them borrow. Their addresses are compared again before the launch. NULL: none has. */
    PyObject *pinned;
    int n_pinned;
    bool has_left; /* it was not the reading of arguments alone */
    Grid grid; /* has_grid: of the launch, as a miss computes it before it compiles */
    bool has_grid;
    unsigned grid_facts;  /* GRID_* that hold; none: not known */
    int n;                /* nodes */
    PyObject *const *arg; /* by parameter; borrowed: the caller's own array, or bound */
    PyObject *bound[MAX_ARGS]; /* defaults filled in */
    uint32_t code[MAX_NODES];
    uint64_t bits[MAX_NODES];
    PyObject *value[MAX_NODES]; /* borrowed; NULL for scalars from a signature */
    Span span[MAX_NODES];       /* of pointers: the memory of the tensor */
} Call;

/* What is kept of a Call's key. One allocation. */
typedef struct Key {
    uint64_t hash, target;
    OptWord opt;
    int n, first_constant; /* nodes; those ahead of it are scalars and pointers */
    uint32_t *code;
    uint64_t *bits;   /* 0 where the value is no part of the key */
    PyObject **value; /* owned constants and types of tuples, or NULL */
} Key;

typedef struct Entry {
    Key *key;
    Compiled *variant; /* owned */
} Entry;

/* Open addressing over entries; full enough tables are replaced, the old ones kept until the
 * kernel goes, because a reader may stand in one while it compares constants. */
typedef struct Table {
    struct Table *older;
    bool is_retired; /* by cache_retire: owns its entries, which no newer one has */
    size_t mask, n_used;
    Entry slot[];
} Table;

/* A compile under way, so that a second thread waits for it: cache.c. */
typedef struct Pending Pending;

/* What a parameter was given last that cannot change, and its node. */
typedef struct Seen {
    PyObject *x; /* a number, a string or None; owned; NULL: none yet */
    uint64_t bits;
    uint32_t code;
    struct SeenDescriptor *descriptor; /* owned; NULL: none yet: descriptors.c */
} Seen;

/* The options behind a call's parameters in their order, as they were last: integers. */
typedef struct SeenOptions {
    PyObject *value[4]; /* owned, NULL behind the last */
    Py_ssize_t n;       /* options in Kernel.ordered, maybe more than have room */
    OptWord to;         /* Call.opt with them */
    uint64_t n_configs; /* State.n_configs when they made it; 0: they were not kept */
} SeenOptions;

struct Kernel {
    PyObject_HEAD State *st; /* the type keeps the module alive */
    FeFunction *f;           /* owned */
    PyObject **names;        /* of the parameters, interned; owned by f */
    uint16_t *truth_mask; /* FACT_* a launch may tell the compiler, by parameter; just
                                       TRUTH_BITS: it takes what it is given as it is */
    Seen *seen;           /* by parameter */
    PyObject *ordered;    /* keywords of a call that had the parameters in their order,
                                       n_ordered by position ahead of them; owned; NULL: no keywords */
    Py_ssize_t n_ordered; /* -1: there was no such call */
    SeenOptions options;  /* of such a call */
    PyObject *hooks;      /* list of pre-run hooks; NULL: none yet */
    PyObject *last;       /* what kernel[sides] gave last: given again for the same
                                       sides, as it cannot change; owned or NULL */
    Launcher *last_launcher; /* inside of last */
    PyObject *last_sides;    /* the integer, or tuple of integers, that it was made for;
                                       owned or NULL */
    bool debug;              /* @jit(debug=True) */
    bool interpret;          /* @jit(interpret=True) */
    bool has_warned;         /* of a stray load: trial.c */
    bool has_warned_strides; /* strides.c */
    Table *table;            /* NULL before the first launch */
    Entry recent;        /* the one of the launch before, of table; key NULL: none */
    Compiled **variants; /* owned, in the order of their making */
    int n_variants, cap_variants;
    int first_variant; /* those before it are of code that was redefined since; kept, as
                                       another thread may look at one */
    FeCaptures captures; /* globals that the variants have inside */
    FeCaptures quiet;    /* what they have inside that is changed where we see it */
    uint64_t n_edits;    /* State.n_edits when these were looked at last */
    Pending *pending;
};

struct Launcher {
    PyObject_HEAD Kernel *kernel; /* owned */
    PyObject *stream; /* borrowed; compiled[grid](.., stream=): a copy's on the stack */
    PyObject *fn;     /* callable grid, owned; NULL: dims stand in grid */
    Grid grid;
    Compiled *fixed;    /* compiled[grid]: run this variant; owned or NULL */
    bool any_constants; /* compiled.run: what was constant is not looked at */
};

struct Compiled {
    PyObject_HEAD State *st;
    Kernel *kernel;  /* owned */
    Key *key;        /* of the launch it was compiled for; owned */
    uint16_t *asked; /* FACT_* by node: another launch must agree on these */
    uint16_t *node;  /* node that feeds runtime parameter i */
    bool in_order;   /* that is node i */
    /* The latest launch, for the report: no sides, none yet. Owned, a word a parameter. */
    Grid last_grid;
    uint64_t *last_params;
    Binary bin;
    bool from_disk;
    char hash[65]; /* DiskKey.hash */
    char *symbol;  /* what @jit(repr=) calls it, malloc'ed; NULL: the function's name */
    PyObject *asm_;      /* dict of the stages, once asked for; owned or NULL */
    struct Trial *trial; /* trial.c; NULL: no launch is tried any more */
    bool
        has_passed; /* with a Trial: only smaller tensors than Binary.tried's are tried */
    bool was_tried; /* the code that checks was loaded: the unload hook is told */
    char *loads,
        *stores; /* of host code: the lines of its accesses: lines.c; malloc'ed or NULL */
    JitCode *jit; /* host code; NULL until the first launch */
    /* of the interpreter: InterpRun.externs, out of that code */
    void (*externs)(int32_t index, int64_t n, void *const *data);
    HostKernel *host;
    int64_t program_ns; /* pool.c: what a program took last time; 0: never run */
    int64_t locked_ns;  /* pool.c: the same of one thread among many; 0: not known */
    bool has_atomics;   /* host code: once it is linked */
    signed char prints; /* host code: 1: it does; -1: it does not; 0: not known */
    EmuCode *emu;       /* NULL until the first launch */
    void *library, *cu_kernel; /* CUDA; NULL until the first launch */
    uint64_t prepared;         /* bit d: attributes are set on device d */
    int resident; /* blocks that a multiprocessor holds, where they are BLOCKS_IN_TURN */
    KeptMaps *maps; /* of the latest launch that had some; owned; the GIL guards them */
    /* For launches whose arguments fit no tensor map (maps.c), or with another grid
     * (Binary.asked): the first of a list; owned. */
    Compiled *otherwise;
    bool no_maps; /* it was compiled to have none */
};

/* ---- setters.c, dlpack.c: any tensor -> address, type, place ------------------------------ */
typedef enum SetterKind {
    SET_NEW, /* slot of the table is free */
    SET_INT,
    SET_FLOAT,
    SET_BOOL,
    SET_NONE,
    SET_TUPLE,
    SET_DESCRIPTOR,      /* tools.tensor_descriptor.TensorDescriptor */
    SET_INDEX,           /* has __index__: numpy integers */
    SET_REAL,            /* numpy floats and bools: .item() */
    SET_CONSTEXPR,       /* tl.constexpr(v): v */
    SET_OBJECT,          /* a constant as it is: dtypes, kernels */
    SET_EXCHANGE,        /* __dlpack_c_exchange_api__ */
    SET_NUMPY,           /* struct of abi.h */
    SET_CUDA_INTERFACE,  /* __cuda_array_interface__ */
    SET_DATA_PTR,        /* data_ptr() and dtype */
    SET_DLPACK,          /* __dlpack__ */
    SET_ARRAY_INTERFACE, /* __array_interface__ */
    SET_TORCH_DTYPE,     /* warmup only */
    SET_UNKNOWN,         /* no argument */
} SetterKind;
/* What torch's numbers mean of tensors of one type, as far as some were seen: torch.c. */
typedef struct TorchType {
    uint16_t
        handle_at;    /* the byte of the object where the at::Tensor is; 0: not known */
    uint8_t elem[48]; /* 1 + Elem by torch's ScalarType; 0: not seen */
    uint8_t place[24]; /* DLDeviceType by torch's DeviceType; 0: not seen */
} TorchType;
/* How objects of one Python type become arguments. */
struct Setter {
    PyTypeObject *type; /* owned */
    SetterKind kind;
    bool is_plain; /* numbers, strings and None of Python's own: they cannot change */
    bool has_negation;   /* torch: views may turn the sign of what memory holds */
    bool is_immutable;   /* of a library whose arrays never change: JAX */
    bool is_unversioned; /* DLPACK: its __dlpack__ knows no max_version */
    bool is_quick; /* EXCHANGE, by a function that gives nothing to be deleted, and */
    DLDataType dtype;             /* of one tensor the type, */
    Elem elem;                    /* and what it is here */
    const DLPackExchangeAPI *api; /* static data of the framework */
    TorchType torch;
    uint16_t
        field_at[6]; /* DESCRIPTOR: bytes of the object, as descriptors.c has them; 0:
                              its class has no such slots */
};

typedef struct Tensor {
    uint64_t address;
    Elem elem;
    Place place;
    bool read_only;    /* its framework says so */
    Span span;         /* of its elements; of the first alone where nobody says */
    PyObject *capsule; /* of __dlpack__, owned by who asked; else NULL */
} Tensor;

/* The slot of a type is its home or one of the next, so that types with one home stay. */
static inline size_t
setter_home(const PyTypeObject *t)
{
    return (uintptr_t)t / 64 % N_SETTERS;
}
Setter *setter_find(State *st, PyObject *x);  /* NULL with an exception */
Setter *setter_known(State *st, PyObject *x); /* NULL: its type was not seen */
/* The one that stands in its home; NULL: setter_find knows. */
static inline Setter *
setter_seen(State *st, PyObject *x)
{
    PyTypeObject *t = Py_TYPE(x);
    Setter *s = &st->setters[setter_home(t)];
    return s->type == t ? s : NULL;
}
static inline Setter *
setter_of(State *st, PyObject *x)
{
    Setter *s = setter_seen(st, x);
    return s ? s : setter_find(st, x);
}
/* The table of the framework that a type is of, or NULL without an exception. */
const DLPackExchangeAPI *exchange_api(PyTypeObject *t);
/* The memory of an ordinary tensor, of elements that are one number: few sides, none backwards or
 * empty, all small enough that no sum overflows. False: is_possible (dlpack.c) has to look. */
static inline bool
span_quickly(const DLTensor *t, Span *out)
{
    enum { SIDES = 4, SIDE_BITS = 27, ADDRESS_BITS = 61 };
    if ((unsigned)t->ndim > SIDES || !t->strides || !t->data)
        return false;
    uint64_t data = (uint64_t)(uintptr_t)t->data, low = data + t->byte_offset,
             item = (t->dtype.bits + 7u) / 8, reach = 1, sides = 0;
    for (int i = 0; i < t->ndim; i++) {
        uint64_t last = (uint64_t)t->shape[i] - 1, stride = (uint64_t)t->strides[i];
        sides |= last | stride;
        reach += last * stride;
    }
    *out = (Span){low, low + reach * item};
    return !(sides >> SIDE_BITS | (data | t->byte_offset) >> ADDRESS_BITS);
}

/* 0, or -1 with an exception. x's type is the setter's. */
int tensor_read(State *st, const Setter *s, PyObject *x, Tensor *out);
/* The same of what the exchange function of x's framework gave. */
int tensor_from_dl(State *st, const Setter *s, PyObject *x, const DLTensor *t,
                   Tensor *out);
/* torch.c: the node of a tensor that has memory, if it is in the place of those before, sooner than by the exchange
 * API. False, without an exception: that API is to be asked. torch_learn: what it said of x is what torch's numbers of
 * x mean. */
bool torch_node(Call *c, const Setter *s, PyObject *x, bool *may_be_negated);
void torch_learn(State *st, PyObject *x, const Tensor *t);
/* x.__dlpack__(), a new reference, and the tensor in such a capsule with its
 * DLPACK_FLAG_*; both NULL with an exception. */
PyObject *tensor_capsule(State *st, PyObject *x);
const DLTensor *capsule_tensor(PyObject *capsule, uint64_t *flags);
void capsule_drop(
    PyObject *capsule); /* or a list of them, or NULL. Destructors may be Python */
/* Has the type a base class of this name? By name: nothing is imported. */
bool type_derives_from(PyTypeObject *t, const char *module, const char *name);
/* torch: TypeError where the memory of x holds the values with their signs turned. 0, or -1. */
int tensor_check_negation(State *st, PyObject *x);
/* The library of a type whose tensors never change, though they cannot say so; or NULL. */
const char *immutable_library(PyTypeObject *t);
/* numpy.ma's, or of a class that derives from it? */
bool is_masked_array(PyTypeObject *t);
/* The element type that a framework's dtype object names. 0, or -1 with TypeError. */
int dtype_elem(PyObject *dtype, Elem *out);
/* Room for the types seen; 0 or -1. */
int setters_new(State *st);
void setters_free(State *st);
int setters_traverse(State *st, visitproc visit, void *arg);
/* The bytes a tensor spans, from its shape and strides; of a torch tensor, those of its
 * storage. 1: known; 0: unknown; -1: error. */
int tensor_extent(State *st, PyObject *x, uint64_t *start, uint64_t *bytes,
                  bool *read_only);
/* From what tensor_extent said of x to all of the memory that it is a view of. */
void tensor_widen(State *st, PyObject *x, uint64_t *start, uint64_t *bytes);
/* How many elements x has; -1: unknown. */
int64_t tensor_count(State *st, PyObject *x);
/* The stream the tensors' frameworks work on: *out is a CUstream. 0, or -1 with an
 * exception. */
int tensor_stream(State *st, const Call *c, void **out);
/* Has what produces tensors by __dlpack__ make the stream wait for them. 0 or -1. */
int tensors_wait(State *st, const Call *c, void *stream);

/* ---- share.c: arguments in the same memory ---------------------------------------------------------- */
/* SHARE_FACTS of a call. */
void call_note_sharing(Call *c);

/* The byte of x from which on the word stands, if it does at one place; 0; -1 with an exception. */
int object_find(PyObject *x, const void *word);

/* ---- bind.c, nodes.c, key.c: arguments -> nodes -> key --------------------------------------------------- */
/* Starts a call of k: its target is what TEGULA_TARGET asks for. */
static inline void
call_begin(Call *c, Kernel *k, bool types_only)
{
    c->k = k;
    c->want = k->st->config.has_target ? &k->st->config.target : NULL;
    c->types_only = types_only;
    c->place = (Place){0, 0};
    c->api = NULL;
    c->tensor = NULL;
    c->stream = NULL;
    c->held = c->pinned = NULL;
    c->n_pinned = 0;
    c->has_left = false;
    c->has_grid = false;
    c->grid_facts = 0;
    c->n = 0;
}
/* Ends a call: its capsules go. With an exception set or without. */
static inline void
call_done(Call *c)
{
    if (c->held)
        capsule_drop(c->held);
    if (c->pinned)
        capsule_drop(c->pinned);
    c->held = c->pinned = NULL;
}
/* Fills c->arg and c->opt. kwnames may be NULL. 0, or -1 with an exception. */
int call_bind_names(Call *c, PyObject *const *args, Py_ssize_t n_args,
                    PyObject *kwnames);
/* The same where the call is written as one before it was, and what its options stand on is as
 * it was; else false, and nothing is done. */
static inline bool
call_bind_again(Call *c, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    const Kernel *k = c->k;
    const SeenOptions *o = &k->options;
    if (kwnames != k->ordered || n_args != k->n_ordered ||
        o->n_configs != k->st->n_configs)
        return false;
    for (Py_ssize_t i = 0; i < o->n; i++)
        if (o->value[i] != args[k->f->n_params + i])
            return false;
    c->arg = args;
    c->opt = o->to;
    return true;
}
void options_forget(Kernel *k);
/* Then the nodes: of all of c->arg; of parameter i, in order. 0, or -1 with an exception. */
int call_nodes(Call *c);
int call_classify(Call *c, int i);
/* 0, or -1 with an exception: the memory of a tensor is not its value. On the way to a variant,
 * and where a launch is watched. */
int call_check_values(const Call *c);
/* Python code is about to run behind the nodes there are: hooks, a compile, warnings. 0, or -1 with
 * an exception. */
int call_leave(Call *c);
/* 0, or -1 with an exception: such code has moved or shrunk the memory of a tensor. */
int call_check_places(const Call *c);
static inline int
call_has_moved(const Call *c)
{
    return c->pinned ? call_check_places(c) : 0;
}
/* The meta-parameters a grid function gets: new dict of parameter name -> argument. */
PyObject *call_meta(const Call *c);
/* After binding. The target as it was asked for: which GPU that is follows from the place. */
static inline void
call_note_target(Call *c)
{
    const Target *want = c->want;
    c->target = (uint64_t)(uint32_t)(c->place.type << 8 | (c->place.index & 0xff));
    if (want)
        c->target |= (uint64_t)(1 + want->kind) << 32 | (uint64_t)want->sm << 40 |
                     (uint64_t)want->accelerated << 60;
    c->hash = 0;
}
void call_hash(Call *c); /* after that: cache_find does */
/* 1: the same fine key; 0: another; -1: comparing constants raised. */
int call_equals(const Call *c, const Key *key);
/* The same by identity alone. False: call_equals knows. */
static inline bool
call_is(const Call *c, const Key *key)
{
    if (key->n != c->n || key->target != c->target ||
        memcmp(&key->opt, &c->opt, sizeof c->opt) != 0 ||
        (c->n && memcmp(c->code, key->code, (size_t)c->n * sizeof *c->code) != 0))
        return false;
    for (int i = key->first_constant; i < c->n; i++)
        if (c->code[i] >= CODE(NODE_CONST_INT, 0, 0) &&
            (c->bits[i] != key->bits[i] ||
             (c->code[i] >= CODE(NODE_CONST_OBJECT, 0, 0) &&
              c->value[i] != key->value[i])))
            return false;
    return true;
}
/* 1: a variant made for key and asked (by node) serves this call, on its target, as far as
 * those of its questions tell that are among facts; 0, -1 as above. */
int call_agrees(const Call *c, const Key *key, const uint16_t *asked, unsigned facts);
Key *key_new(const Call *c); /* NULL with an exception */
void key_free(Key *key);
int key_traverse(Key *key, visitproc visit, void *arg);
/* The frontend's view of a call; out has room for call->n specs, the first n_params of which
 * are the parameters. Borrows from call. */
void call_specs(const Call *c, ArgSpec *out);
/* Adds the nodes of x, for parameter p or inside of it; and that of a tuple, whose elements
 * the caller adds. 0, or -1 with an exception. */
int call_argument(Call *c, const FeParam *p, PyObject *x);
int call_tuple(Call *c, PyObject *x);
int call_int(Call *c, const FeParam *p, PyObject *x); /* of an integer */
static inline void
call_add(Call *c, uint32_t code, uint64_t bits, PyObject *value)
{
    int i = c->n++;
    c->code[i] = code;
    c->bits[i] = bits;
    c->value[i] = value;
}
/* The node of a tensor, if it is in the place of those before, or is the first. */
static inline bool
pointer_node(Call *c, PyObject *x, Elem elem, Place place, uint64_t address,
             const Span *span, const DLPackExchangeAPI *api)
{
    bool is_first = !c->place.type &&
                    (place.type == kDLCUDA || (place.type == kDLCPU && !place.index));
    if (is_first)
        c->place = place, c->api = api, c->tensor = x;
    else if (memcmp(&place, &c->place, sizeof place) != 0)
        return false;
    c->span[c->n] = *span;
    call_add(c, CODE(NODE_POINTER, elem, truth_of_bits(address)), address, x);
    return true;
}
int call_too_many(void); /* sets the exception: always -1 */
/* Adds the node of a constant (borrowed). 0, or -1 with an exception. */
int constant_node(Call *c, PyObject *value);

/* ---- descriptors.c: TensorDescriptor ----------------------------------------------------------------- */
/* Adds its nodes; seen: the parameter's, or NULL. 0, or -1 with an exception. */
int call_descriptor(Call *c, const FeParam *p, PyObject *x, const Setter *s,
                    Seen *seen);
/* Where x's class keeps its fields. 0, or -1 with an exception: of Ctrl-C. */
int descriptor_slots(const State *st, PyObject *x, uint16_t at[6]);
int seen_traverse(const Seen *seen, visitproc visit, void *arg);
void seen_clear(Seen *seen);

/* ---- options.c ------------------------------------------------------------------------------- */
const char *const *option_list(void); /* the names of options.def, then NULL */
/* Option number id of that list into c->opt. 0, or -1 with an exception. */
int call_set_option(Call *c, int id, PyObject *value);
/* The options that are texts, as Comp.option_texts has them; NULL: none. */
const char *call_option_texts(const Call *c);
int option_names_new(State *st); /* interns options.def; 0 or -1 */
void option_names_free(State *st);

/* ---- signature.c ----------------------------------------------------------------------------- */
/* Fills c from a signature instead of from arguments: items in args by position, in kwargs by
 * name; options too. Objects made on the way go to the list keep. 0, or -1. */
int call_from_signature(Call *c, PyObject *args, PyObject *kwargs, PyObject *keep);

/* ---- target.c -------------------------------------------------------------------------------- */
/* "cpu", "cuda:sm_90a", "emu:sm_80"; "cuda" has sm 0: the device's. 0, or -1 with an exception. */
int parse_target(PyObject *value, Target *out);
/* "sm80", "sm_90a": sm and accelerated of *out. 0, or -1 with ValueError. */
int parse_arch(const char *text, Target *out);
enum { TARGET_TEXT = 32 };
char *target_text(Target t, char buf[TARGET_TEXT]);

/* ---- override.c ------------------------------------------------------------------------------ */
enum { MAX_OVERRIDES = 8 };
typedef struct Overrides {
    Override at[MAX_OVERRIDES];
    int n;
} Overrides;
/* The files that replace stages of this compile of a kernel of that name. 0, or -1 with an
 * exception; to be freed in either case. */
int overrides_read(const Call *c, Target t, const char *kernel, const char *hash,
                   Overrides *all);
void overrides_free(Overrides *all);

/* ---- pending.c: one thread compiles, the others wait ------------------------------------------------- */
/* Notes that this thread compiles what the call wants; NULL with an exception. */
Pending *pending_begin(Call *c);
void pending_end(Kernel *k, Pending *p);
/* The compile of the same key by another thread; NULL: none, or an exception. */
Pending *pending_find(const Call *c);
/* Waits until p is done, looking up now and then for Ctrl-C. 0, or -1 with an exception. */
int pending_wait(Pending *p);

/* ---- cache.c: variants in memory -------------------------------------------------------------- */
/* What a variant was compiled with. */
Options cache_options(const Compiled *v);
/* The parameter whose argument a node is, or is an element of. */
int cache_param_of_node(const Call *c, int node);
/* The variant for this launch; borrowed from the kernel. NULL with an exception, or without
 * one when a hook forbade the compile. */
Compiled *cache_get(Call *c);
/* The variant that this launch had before; NULL: none yet, or an exception. */
Compiled *cache_find(Call *c);
/* Forgets all variants, without freeing any: a reader may stand in the table, or look at
 * one of them. 0, or -1 with an exception. */
int cache_retire(Kernel *k);
/* The same kernel for the launch's c->grid_facts, or without tensor maps, borrowed; NULL with an exception,
 * or because a hook forbade it. */
Compiled *cache_otherwise(Compiled *v, Call *c, bool no_maps);
/* 0, or -1 with an exception: v would write a tensor that is read-only. */
int cache_check_writes(const Call *c, const Compiled *v);
/* The frontend's tile IR for this call, malloc'ed; NULL with an exception. */
char *cache_lower(Call *c);
void cache_clear(Kernel *k);
int cache_traverse(Kernel *k, visitproc visit, void *arg);

/* ---- fixed.c: launches of a variant ------------------------------------------------------------ */
/* l->fixed, which c becomes a call of; NULL with an exception: it is none. */
Compiled *fixed_variant(const Launcher *l, Call *c);

/* Arguments of v without those for constexpr parameters -> all[], new references, with the
 * constants that v was compiled with. 0, or -1 with an exception. */
int fixed_complete(const Compiled *v, PyObject *const *args, PyObject *all[MAX_ARGS]);

/* ---- launch.c ------------------------------------------------------------------------------------ */
/* kernel[grid](..): new reference to the variant, or NULL. */
PyObject *launch(Kernel *k, const Launcher *l, PyObject *const *args, Py_ssize_t n_args,
                 PyObject *kwnames, bool warmup);
void launch_note_stack(State *st);
/* Fills *g from an integer, a tuple or a list. 0, or -1 with an exception. */
int grid_from(PyObject *obj, Grid *g);

/* ---- hooks.c: calls into Python, all off the hot path ---------------------------------------- */
/* Calls the hooks of add_pre_run_hook, in order. 0, or -1 with an exception. */
int hooks_pre_run(Kernel *k, PyObject *const *args, Py_ssize_t n_args,
                  PyObject *kwnames);
/* Before a launch, if st->launch_hook is not None: what hooks_exit calls after it, a new
 * reference; NULL with an exception. */
PyObject *hooks_enter(Compiled *v, const Call *c, const Grid *g);
int hooks_exit(PyObject *after); /* takes the reference; 0 or -1 */
/* Before a compile (v NULL) and after it. 1: go on; 0: forbidden; -1 with an exception. */
int hooks_compile(const Call *c, Target target, const char *key, const Compiled *v);
/* What @jit(repr=) calls the variant for this call, malloc'ed, with letters, digits and _ only;
 * *out is NULL when there is no repr. 0, or -1 with an exception. */
int hooks_symbol(const Call *c, char **out);
/* knobs.compilation.dump_ir: v's stages into its folder of files. 0, or -1 with an exception. */
int hooks_dump(Compiled *v);
/* Before v's code is loaded, and after. 0, or -1 with an exception. */
int hooks_load(Compiled *v, bool is_done);
/* Reads the knobs' variables again (knobs.py). 1: a knob of C's changed; 0; -1: exception. */
int hooks_read_environment(void);
/* Before v's code goes, which nobody refers to any more. Errors are shown, not raised. */
void hooks_unload(const Compiled *v);

enum { BUILD_ID_BYTES = 20 };
typedef struct DiskKey {
    unsigned char sha[32], build[BUILD_ID_BYTES];
    char hash[65]; /* sha in hex: of all but the answers that passes ask for */
    char *dir;     /* of the variants with this hash; malloc'ed; NULL: no disk */
} DiskKey;

/* ---- trial.c: the first launch of new code on a CPU ------------------------------------------------- */
#define TRIAL_STAGE "trial" /* of a Binary that may be tried: the frontend's IR */
/* Is new code of these options to be tried? */
bool trial_is_due(const Config *config, const Options *o);
/* Gives v its Trial where its binary has the stage. 1, or -1 with an exception. */
int trial_begin(Compiled *v, const DiskKey *disk);
/* Is this launch to be tried? */
static inline bool
trial_is_on(const Compiled *v, const Call *c)
{
    if (!v->trial || !v->has_passed)
        return v->trial;
    const Tried *t = v->bin.tried, *end = t + v->bin.n_tried;
    for (; t < end; t++) {
        const Span *s = &c->span[t->node];
        if (s->high - s->low < t->bytes && (s->high > s->low || !t->is_empty))
            return !c->held;
    }
    return false;
}
int trial_launch(Compiled *v, Call *c, const uint64_t *params, const Grid *g);
void trial_free(Compiled *v);

/* ---- strides.c ---------------------------------------------------------------------------------------- */
/* Warns, once a kernel, of a tensor whose strides it cannot know. 0, or -1 with an exception. */
int strides_check(const Compiled *v, const Call *c);

/* ---- host_launch.c: CPU and emulator ---------------------------------------------------------------- */
int host_load(Compiled *v); /* 0, or -1 with an exception */
int host_launch(Compiled *v, Call *c, const uint64_t *params, const Grid *g);
/* Code of v: its own, or what checks bounds in its first launch. */
typedef struct HostCode {
    JitCode *jit;
    HostKernel *host;
    int scratch, stack; /* Binary's */
} HostCode;
/* Runs it; stray: of code that checks bounds, else NULL. 0, or -1 with an exception. */
int host_run(Compiled *v, Call *c, const HostCode *code, const uint64_t *params,
             const Grid *g, struct HostStray *stray);
/* "load of element 1000 of 'x' (float32, 1000 elements)" into text, for an access at that
 * address, nearest to parameter `param`, whose memory has so many bytes. */
void bounds_text(const Compiled *v, const Call *c, const char *did, int param,
                 uint64_t bytes, uint64_t address, char *text, size_t size);
int emu_launch(Compiled *v, Call *c, const uint64_t *params, const Grid *g);
/* The memory the tensors of the launch span. A pointer whose extent is unknown (an address
 * passed as an integer) switches the check off: *n = 0. 0, or -1 with an exception. */
int launch_regions(const Compiled *v, const Call *c, EmuRegion *out, int *n);

/* ---- printed.c: device_print ------------------------------------------------------------------------- */
typedef struct Printed {
    FILE *out; /* what a kernel's lines are written to: C's stdout, or text */
    char *text;
    size_t size;
} Printed;
/* With the GIL, as the next two. is_live: the lines may go to C's stdout. 0, or -1 with an exception. */
int printed_begin(Printed *p, bool is_live);
/* What was printed so far is handed on. 0, or -1 with an exception. */
int printed_more(Printed *p);
/* The same at the end of a launch that failed (-1 with an exception, which stays) or not (0). */
int printed_end(Printed *p, int failed);

/* ---- interp_launch.c: TEGULA_INTERPRET -------------------------------------------------------------- */
int interp_launch(Compiled *v, Call *c, const uint64_t *params, const Grid *g);

/* ---- cuda_launch.c ------------------------------------------------------------------------------------ */
int cuda_load(Compiled *v, int device); /* 0, or -1 with an exception */
int cuda_launch(Compiled *v, Call *c, const uint64_t *params, const Grid *g);
void cuda_unload(Compiled *v);
/* The driver, opened when first needed. NULL with an exception. */
Cuda *cuda_of(State *st);
Cuda *cuda_if_any(State *st); /* NULL, without an exception: this machine has none */
/* The target of a CUDA device. 0, or -1 with an exception. */
int cuda_target(State *st, int device, Target *out);
/* The GRID_* that hold of it on the device. */
unsigned cuda_grid_facts(Cuda *cu, int device, const Grid *g);
/* v, whose code is for some grids (Binary.asked), or the same kernel for the grid's;
 * borrowed. NULL with an exception, or because a hook forbade its compile. */
Compiled *cuda_for_grid(Compiled *v, Call *c, const Grid *g);
/* Where a launch without tensors runs: on the current GPU where tegula.driver.active is CUDA's,
 * else type 0, no matter where. 0, or -1 with an exception. */
int cuda_default_place(State *st, Place *out);

/* ---- libraries.c: the users' libraries that a variant has inside ------------------------------------- */
/* Are the files of stage linked as they were? Sets no exception. */
bool libraries_unchanged(State *st, const Binary *bin);

/* ---- lines.c: where a kernel goes to memory --------------------------------------------------------- */
/* "k.py:12 or 15", malloc'ed: the lines of the loads, or of what else goes to the user's memory;
 * NULL: there is none, or no memory. */
char *lines_text(const Func *f, bool stores);
#define PLACES_STAGE                                                                   \
    "places" /* of a Binary: lines_places() of what it was compiled from */
/* Where each op of the frontend's IR stands; malloc'ed, NULL: no memory. */
char *lines_places(const Func *f);
/* The report with its rows where ops stand now, which stood at was; malloc'ed, NULL: no memory. */
char *lines_moved(const char *report, const char *was, const char *now);

/* ---- wheels.c: NVIDIA's Python packages ------------------------------------------------------------- */
/* Where a file like bin/ptxas of one of them is; false: nowhere. Sets no exception. */
bool wheels_find(const char *name, char found[PATH_MAX]);

/* ---- disk.c: variants on disk ------------------------------------------------------------------------- */
/* The key of what the frontend made. 0, or -1 with an exception. *key needs disk_key_done. */
int disk_key(const Config *config, const Comp *c, const Lowered *lowered, DiskKey *key);
void disk_key_done(DiskKey *key);
/* The linker's hash of this library; false: it has none, and nothing is kept. */
bool disk_build_id(unsigned char out[BUILD_ID_BYTES]);
/* A variant whose answers are this call's, into *out. Any trouble is a miss. */
bool disk_load(const DiskKey *key, const Call *c, Binary *out);
void disk_store(const Config *config, const DiskKey *key, const char *kernel,
                const Binary *bin);
/* A file of key->dir that is key's: its bytes, malloc'ed, or NULL; and its writing, which is_synced
 * makes outlive a crash of the machine. False: there is no such directory that is ours. */
char *disk_read(State *st, const DiskKey *key, const char *name, size_t *n);
bool disk_write(const DiskKey *key, const char *name, const char *data, size_t n,
                bool is_synced);
/* Drops the files unused for longest while there are more than max_bytes; bytes freed. */
int64_t disk_prune(const char *cache_dir, int64_t max_bytes);

/* ---- trees.c: FeEnv's load_tree and store_tree -------------------------------------------------------- */
char *trees_load(void *state, const char *name, size_t *n);
void trees_store(void *state, const char *name, const char *bytes, size_t n);

/* ---- state.c ---------------------------------------------------------------------------------- */
Compiled *compiled_new(Kernel *k); /* NULL with an exception */
/* What the frontend asks of us; valid while st is. False with an exception set. */
bool kernel_env(State *st, FeEnv *env);

#endif
