/* fe.h: what the files of frontend/ share. frontend.h is what others see.
 *
 *     Fe       one run of fe_kernel: where ops go, caches of Python objects
 *     Node     our copy of a Python syntax tree node                       node.c
 *     Value    what an expression evaluates to                             value.c
 *     Frame    one function being lowered: its variables and its caller    call.c
 *
 * References: an err_at may leave any function. So a new reference is handed at once to
 * the arena (fe_own) and lives until the compile ends; what fe_own returns is borrowed for
 * that long. A Python exception is turned into ours by fe_raise, after every C frame of
 * Python has returned.
 */
#ifndef TEGULA_FE_H
#define TEGULA_FE_H

#include "frontend/frontend.h"

typedef struct Fe Fe;
typedef struct Node Node;
typedef struct TwoTypes {
    const char *of[2];
} TwoTypes;

typedef struct Frame Frame;
typedef struct Value Value;

/* ---- node.c ------------------------------------------------------------------------------- */
typedef enum NodeKind {
    AST_None,
#define NODE(name, fields, words) AST_##name,
#include "frontend/nodes.def"
#undef NODE
    N_AST
} NodeKind;
/* n is nothing that a kernel may contain: raises, with what to write instead. */
NORETURN void fe_no_such_syntax(Fe *f, const Node *n);

/* Operators, named as their classes in ast. The order of a row's inner ones is fixed. */
/* clang-format off */
typedef enum Operator {
    OPR_NONE, OPR_Add, OPR_Sub, OPR_Mult, OPR_Div, OPR_FloorDiv, OPR_Mod, OPR_Pow,
    OPR_MatMult, OPR_LShift, OPR_RShift, OPR_BitAnd, OPR_BitOr, OPR_BitXor, OPR_Invert,
    OPR_Not, OPR_UAdd, OPR_USub, OPR_And, OPR_Or, OPR_Eq, OPR_NotEq, OPR_Lt, OPR_LtE,
    OPR_Gt, OPR_GtE, OPR_Is, OPR_IsNot, OPR_In, OPR_NotIn, N_OPR
} Operator;
/* clang-format on */
extern const char *const opr_text[N_OPR]; /* "+", "is not" */

struct Node {
    uint8_t kind; /* NodeKind */
    uint8_t opr;  /* Operator */
    int line, col, end_line, end_col;
    Node *a, *b, *c;      /* see nodes.def */
    Node **list, **list2; /* entries may be NULL */
    int n_list, n_list2;
    uint8_t *oprs;    /* Compare: n_list of them */
    const char *name; /* interned */
    int slot;         /* Name: which local; -1: not assigned in this function */
    PyObject *value;  /* Constant; the tree owns it */
    int *stored;      /* For, While, If: locals assigned inside, each once */
    int n_stored;
};

/* A function as the frontend walks it. One per function and compile. */
typedef struct Tree {
    FeFunction *fn;
    const char *file, *name; /* interned */
    int line, end_line;      /* of def, and of its end */
    Node **body;
    int n_body;
    int n_params; /* they are locals 0.. ; *args follows when has_vararg */
    bool has_vararg, has_kwarg;
    bool is_library;    /* a function of tegula.language itself */
    const char *types;  /* "f32 f32, f64 f64": what @typed says it takes; or NULL */
    const char **local; /* names by slot */
    int n_locals;
} Tree;
Tree *fe_tree(Fe *f, FeFunction *fn); /* cached; raises */
/* "a=value n=attr": the fields of a kind, as nodes.def has them; "" where a kernel may have none;
 * and from one field to the next, in the end to "". */
const char *fe_node_spec(int kind);
const char *fe_next_field(const char *field);
/* The function that a def or lambda inside of the current one is; cached. */
FeFunction *fe_nested(Fe *f, const Node *n);

/* ---- pack.c -------------------------------------------------------------------------------- */
/* fn->packed and fn->source from the disk, where they are kept of this text. */
void fe_pack_load(Fe *f, FeFunction *fn);
/* The tree from t->fn->packed; false: there is none. t has fn, and nothing else of it. */
bool fe_unpack(Fe *f, Tree *t);
/* t->fn->packed from the tree, kept on disk where text_b, the bytes of its file or NULL, has the
 * source in it; nothing where the tree cannot be packed. */
void fe_pack(Fe *f, const Tree *t, PyObject *text_b);

/* ---- value.c ------------------------------------------------------------------------------- */
typedef enum ValueKind {
    V_NONE, /* no value: an undefined local, an absent argument */
    V_OBJ, /* a Python object known now: numbers are weak, also None, types, functions */
    V_TENSOR, /* known when the kernel runs */
    V_TUPLE,
    V_METHOD,    /* a builtin or jit function bound to a value */
    V_BLOCK_PTR, /* of make_block_ptr, or of make_tensor_descriptor */
    V_PARAM,     /* an integer parameter nobody has read: 1 becomes V_OBJ then */
    V_RANGE,     /* what a for iterates over */
    V_CLOSURE,   /* a def or lambda inside of a function */
} ValueKind;

typedef struct TupleValue TupleValue;
typedef struct MethodValue MethodValue;
typedef struct BlockPtr BlockPtr;
typedef struct LazyParam LazyParam;
typedef struct Range Range;
typedef struct Closure Closure;
struct Value {
    ValueKind kind;
    bool
        is_bare; /* V_OBJ: came by no tl.constexpr, so .value is an attribute of obj's */
    union {
        PyObject *obj;
        Val *val;
        TupleValue *tuple;
        MethodValue *method;
        BlockPtr *bp;
        LazyParam *param;
        Range *range;
        Closure *closure;
    };
};
struct TupleValue {
    int n;
    int64_t n_leaves; /* values, all the way down, as it was made */
    Value *at;
    PyObject *type; /* a namedtuple class or an aggregate, or NULL */
    bool is_aggregate;
    const char *const *keys; /* of **kwargs or a dict display: interned; else NULL */
    const Block *open_in; /* where an aggregate's __init__ runs, and may set fields */
};
struct Closure {
    FeFunction *fn;
    Frame *frame;    /* whose variables it sees: as they are when it is called */
    Value *defaults; /* by parameter; V_NONE: it has none */
};
typedef struct Builtin Builtin;
struct MethodValue {
    const Builtin *builtin; /* or NULL */
    FeFunction *fn;         /* or NULL */
    PyObject *obj;          /* what fn stands for, of an aggregate's class; or NULL */
    Value self;
    bool is_constant; /* a @constexpr_function of an aggregate: so is what it returns */
};
struct BlockPtr {
    Val *base; /* scalar pointer */
    int rank;
    Val *shape[MAX_RANK], *strides[MAX_RANK]; /* i64 scalars */
    Val *offsets[MAX_RANK]; /* i32 or i64 scalars; none of a descriptor */
    int32_t block[MAX_RANK];
    bool is_desc;     /* a descriptor: each load says where */
    bool nan_pad;     /* a descriptor: what is outside reads as NaN */
    bool rounds_tf32; /* the same: float32 that is read becomes the nearest tf32 */
};
struct Range {
    Value start, stop, step;   /* ints known now, or integer scalars */
    bool is_static;            /* tl.static_range: unrolled */
    int stages, unroll, flags; /* attributes of FOR; 0: not given */
};
struct LazyParam {
    Val *val;
    Value now; /* V_NONE until it is read */
};

static inline Value
v_obj(PyObject *o)
{
    return (Value){.kind = V_OBJ, .obj = o};
}
static inline Value
v_val(Val *v)
{
    return (Value){.kind = V_TENSOR, .val = v};
}
static inline bool
is_absent(Value v)
{
    return v.kind == V_NONE;
}
static inline bool
is_py_none(Value v)
{
    return v.kind == V_OBJ && v.obj == Py_None;
}
Value v_int(Fe *f, int64_t i);
Value v_bool(bool b);
Value v_tuple(Fe *f, int n, const Value *at);   /* copies at */
Value v_tuple_like(Fe *f, const TupleValue *t); /* a copy of t, with its names */
Value v_dtype(Fe *f, Elem e);                   /* the Python object tl.float32 .. */
bool is_number(Value v);                        /* V_OBJ int, bool or float */
bool is_int_obj(Value v);                       /* V_OBJ int or bool */
Value v_from_py(Fe *f, PyObject *o); /* unwraps constexpr, spreads tuples; borrows */
/* The Python object of a value known now; raises, naming what is asked for, when it is not. */
PyObject *v_to_py(Fe *f, Value v, const char *what);
int v_flatten(Fe *f, Value v, Val **leaf, int cap, int n); /* number of leaves so far */
Value v_rebuild(Fe *f, Value like, Val *const *leaf, int *at);
bool v_same_shape(Value a, Value b); /* structure and constants, not tensor types */
bool v_identical(Value a, Value b);
bool fe_is_instance(Fe *f, PyObject *o, PyObject *cls);
/* The Python object of t's element: a dtype, or a pointer type. */
PyObject *fe_dtype_object(Fe *f, const Type *t, bool is_const);
/* pointer_type(element, const=..), as kernels compare with. */
PyObject *fe_pointer_object(Fe *f, PyObject *element, bool is_const);
/* block_type(element, shape), as Python knows it. */
PyObject *fe_block_object(Fe *f, PyObject *element, int rank, const int32_t *shape);
void fe_watch(Fe *f, PyObject *o, const char *name); /* o.name was read: watch.c */
void fe_watch_operand(Fe *f, Value v); /* Python works on it, if it is an object */

/* ---- describe.c ------------------------------------------------------------------------ */
const char *v_describe(Fe *f, Value v); /* "a block f32[64]", "the constant int 3" */
const char *v_short(Fe *f, Value v);    /* f32[64], 3, (f32, i32) */

/* ---- constant.c ------------------------------------------------------------------------ */
/* Compile-time arguments of builtins; what names the parameter in messages. */
int64_t v_const_int(Fe *f, Value v, const char *what);
bool v_const_bool(Fe *f, Value v, const char *what);
const char *v_const_str(Fe *f, Value v, const char *what);
Elem v_elem(Fe *f, Value v, const char *what); /* a dtype */
/* o is no dtype of ours: "float16", torch.float16, numpy.float16, float .. */
void fe_help_dtype(Fe *f, PyObject *o);
/* A block shape: a tuple of sides of 1 and more; returns the rank. */
int v_shape(Fe *f, Value v, int32_t *shape, const char *what);
void fe_check_shape(Fe *f, int rank, const int32_t *shape);
/* Integers of a tuple, or of one int; returns how many. */
int v_int_list(Fe *f, Value v, int64_t *out, int cap, const char *what);
/* The constant elements of something iterated over now: a tuple or a constant range. */
Value fe_elements(Fe *f, Value v, const char *of);
bool fe_truth(Fe *f, Value v, const char *of); /* of a constant that an if may test */

/* ---- the run --------------------------------------------------------------------------------- */
struct Frame {
    Frame *caller;
    Frame *outer; /* of a closure: whose variables it sees; or NULL */
    Tree *tree;
    const Loc *call;    /* where it was called; NULL for the kernel */
    Value *local;       /* n_locals + N_HIDDEN */
    const Loc **set_at; /* by local: the last assignment */
    const char **lost;  /* by local: why it has no value any more, for help; or NULL */
    TwoTypes *two; /* by local: its types where two branches differ and it is lost */
    bool
        *is_declared; /* by local: what is assigned stays a constant, "x: tl.constexpr";
                         * NULL: none is */
    int depth;
};
enum {
    FE_STACK = 20 << 10
}; /* where so little is left, a kernel is nested too deeply */
/* How a suite may end, as a set. */
typedef enum Status {
    FALLS = 1, /* the next statement follows */
    RETURNS = 2,
    BREAKS = 4,
    CONTINUES = 8,
} Status;
/* The hidden locals: the value returned, and for each way to leave a suite an i1 that says
 * whether it was taken. A flag has a value only when it is open which way it was. */
enum { N_HIDDEN = 4 };
static inline int
slot_ret(const Frame *fr)
{
    return fr->tree->n_locals;
}
static inline int
slot_flag(const Frame *fr, Status way)
{
    return fr->tree->n_locals + (way == RETURNS ? 1 : way == BREAKS ? 2 : 3);
}

/* The operands of the builtin or operator that runs: blame.c. */
typedef struct CallArgs {
    const Frame *frame; /* where it stands */
    int n;
    const Value *v;
    const Node *const *at; /* as written; NULL: not known */
    const Node *call;      /* all of it, also what *shape caught; or NULL */
} CallArgs;

/* A value that a kernel may compute but nothing may use: fe_check_refused. */
typedef struct Refused {
    const Val *v;
    const Loc *loc;
    const char *what;
} Refused;

/* What rooms below the walk know of it: how it calls what a user wrote. */
typedef struct Walk {
    Value (*call)(Fe *f, Value fn, int n, const Value *args);
    Value (*attribute)(Fe *f, Value v, const char *name);
} Walk;

struct Fe {
    Comp *c;
    Arena *a;
    const FeEnv *env;
    const Walk *walk;
    Func *func;
    Build b;
    Frame *frame;
    const char *callee;   /* the builtin being lowered, for messages */
    const Node *assigned; /* right of the = that is being done, for messages */
    int which;            /* of those that share its function: BI_OF */
    const CallArgs *args; /* its operands, or an operator's; may be NULL */
    const Node *call;     /* what fe_call is about to call, for carets; or NULL */
    const Node *dropped;  /* an expression that is a statement: nobody uses its value */
    bool is_method;       /* it was written x.callee(..) */
    bool no_overflow_checks; /* tl.add(.., sanitize_overflow=False) */
    bool has_assert;         /* a device_assert, compiled or not */
    Map trees;               /* FeFunction * -> Tree * */
    Map nested;              /* Node * of a def -> FeFunction * */
    Map builtins;            /* PyObject * -> BuiltinName * */
    Map methods;             /* Python function * -> FeFunction *, of aggregates */
    int n_silent; /* > 0: in a function of elements, whose statements are not marked */
    int n_pairs;  /* > 0: but they are in this one, which combines single elements */
    Map warned;   /* "file:line text" of warnings that were given */
    int depth;    /* of C recursion; see also FE_STACK */
    VEC(Refused) refused; /* arithmetic of float8, wrong only where it is used */
    int64_t n_steps; /* statements lowered: unrolled loops are finite but not small */
    PyObject *cls_constexpr, *cls_dtype, *cls_pointer, *cls_block, *cls_tensor,
        *cls_tuple, *cls_slice;
    PyObject *builtins_mod, *core;
    PyObject *dtype[N_ELEM]; /* filled on demand */
    PyObject *attr_builtin;  /* interned str: the mark on a stub */
    PyObject *loc_attr[4];   /* lineno col_offset end_lineno end_col_offset */
    struct Converter *conv;
};

static inline Value
fe_call_value(Fe *f, Value fn, int n, const Value *args) /* positional */
{
    return f->walk->call(f, fn, n, args);
}
static inline Value
fe_attribute(Fe *f, Value v, const char *name) /* V_NONE: it has none */
{
    return f->walk->attribute(f, v, name);
}
static inline void
fe_build_in(Fe *f, Block *block) /* ops go to its end until they go elsewhere */
{
    f->b.block = block;
    f->b.before = NULL;
}
/* Owns a new reference for the rest of the compile; NULL: raises the Python exception. */
PyObject *fe_own(Fe *f, PyObject *o);
void fe_drop_ref(void *o); /* a reference, for arena_defer */
/* tegula.knobs.<group>.<name>, borrowed for the compile. */
PyObject *fe_knob(Fe *f, const char *group, const char *name);
/* The Python exception that is set becomes an error at loc. KeyboardInterrupt, SystemExit
 * and MemoryError stay set, for the module to let through. */
NORETURN void fe_raise(Fe *f, const Loc *loc);
/* The exception that is set, if any, says that there is no such thing: it is cleared, but
 * for those that fe_raise lets stand. May jump: own what you hold first. */
void fe_forget(Fe *f);
bool fe_has_attr(Fe *f, PyObject *o, const char *name); /* forgets as fe_forget */
/* A @jit function, or what a closure runs; NULL: it is none. */
FeFunction *fe_as_function(Fe *f, Value v);
bool fe_is_ours(Fe *f, PyObject *o); /* of a module of tegula; forgets as fe_forget */
/* An error where the current expression stands; for the rows of errors.def that are "%s". */
#define fail(f, code, ...) err_say((f)->c, (f)->b.loc, code, __VA_ARGS__)
const Loc *fe_loc(Fe *f, const Node *n);
/* What is built from here on is of n. */
static inline void
fe_at(Fe *f, const Node *n)
{
    f->b.loc = fe_loc(f, n);
}

/* ---- blame.c ------------------------------------------------------------------------ */
/* The error that follows is about v: points at it when it is an operand of what runs. */
void fe_blame(Fe *f, Value v);
#define fail_of(f, v, ...) (fe_blame(f, v), fail(f, __VA_ARGS__))
/* The node of element i of the operand v, when that is written as a tuple; or NULL. */
const Node *fe_element_node(Fe *f, Value v, int i);
/* Is o there for more than what it gives? */
bool fe_does_more(const Op *o);
/* Says how a kernel may come to call the function o of Python's. */
void fe_help_function(Fe *f, PyObject *o);
const char *fe_text(Fe *f, const Node *n); /* as written, when short; else NULL */
const char *fe_written(Fe *f, Value v);    /* the operand v as written; or NULL */
const char *fe_who(Fe *f, Value v);        /* 'x' (a block f32[64]) */
/* The help of what follows, which is about the tensor v and wants floats; and the caret. */
void fe_help_float(Fe *f, Value v);
void fe_warn_row(Fe *f, const Val *block, const Val *row);
/* A warning of Python's, at the line that runs; once a line and compile. category: an
 * exception class. Functions of the language itself warn of nothing. */
void fe_warn(Fe *f, PyObject *category, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* \"N is 24, K is 3\": the constants that n names; or NULL */
const char *fe_values(Fe *f, const Node *n);
void fe_help_values(Fe *f); /* the same of all operands, as the help of what follows */
NORETURN void fe_cannot_broadcast(Fe *f, const Type *x, const Type *y);
/* "what: 'x' (f32[64]) and 'y' (f32[32])" */
NORETURN void fe_bad_shapes(Fe *f, const char *what, const Type *x, const Type *y);
void fe_enter(Fe *f, const Node *n); /* C recursion: raises when too deep */
static inline void
fe_leave(Fe *f)
{
    f->depth--;
}

/* The i-th argument of a call as written, self of a method being its 0th; or NULL. */
const Node *fe_positional_node(const Node *call, int i, bool is_method);
const Node *fe_keyword_node(const Node *call, int k);
void fe_point(Fe *f, const Node *node); /* at node, if it is known */
/* ---- suggest.c ----------------------------------------------------------------------- */
/* What is called so in NumPy, torch, CUDA or Python, as it is written here; or NULL. */
const char *fe_other_name(const char *name);
const char *fe_listed(Fe *f, const char *const *words); /* 'a', 'b' */
NORETURN void fe_no_attribute(Fe *f, Value v, const char *name);
NORETURN void fe_unknown_keyword(Fe *f, const char *fn, const char *kw,
                                 const char *const *words);

/* ---- scope.c -------------------------------------------------------------------------------- */
Value fe_name(Fe *f, const Node *n);
Value fe_read(Fe *f, Value v); /* resolves V_PARAM */
void fe_set(Fe *f, int slot, Value v);
/* A row of builtins.def, as far as whoever looks a name up needs it. */
typedef struct BuiltinName {
    const char *name;
    int flags;     /* BI_* */
    bool has_code; /* else a jit function of the language has this name */
} BuiltinName;
extern const BuiltinName fe_builtin_names[];
extern const int n_fe_builtins;
/* Of tegula.language, or of Python's own; NULL: there is none of that name. */
const BuiltinName *fe_builtin_named(const char *name, bool py);
const BuiltinName *fe_builtin_name_of(Fe *f, PyObject *o); /* NULL: o is no builtin */

/* ---- convert.c ------------------------------------------------------------------------------- */
Elem fe_literal_elem(Fe *f, PyObject *o); /* of a number that must become a tensor */
/* The number o as a constant of t; raises when it is out of the range of an integer t. */
Val *fe_number(Fe *f, PyObject *o, const Type *t);
Val *fe_tensor(Fe *f, Value v, const char *what); /* a number as a constant */
Value fe_decay(Fe *f, Value v); /* what an assignment does to constants */
Val *fe_const_int(Fe *f, const Type *t, int64_t v);
Val *fe_cast(Fe *f, Val *v, Elem e, int rounding);
Value fe_cast_value(Fe *f, Value v, Value dtype, Value rounding, bool bitcast);
Val *fe_splat_to(Fe *f, Val *v, int rank,
                 const int32_t *shape); /* scalar, or equal rank */
void fe_broadcast_pair(Fe *f, Val **x, Val **y);
Val *fe_broadcast_like(Fe *f, Val *v, const Type *shape); /* v to exactly that shape */
Val *fe_reshape(Fe *f, Val *v, int rank, const int32_t *shape);
Val *fe_trans(Fe *f, Val *v, const int *perm);
/* v with the sides of shape: cut, or with `fill` (NULL: 0) behind its elements. */
Val *fe_resize(Fe *f, Val *v, const int32_t *shape, Val *fill);
/* ---- semantic.c ------------------------------------------------------------------------------ */
/* Promotes and broadcasts; is_div: / // %. Numbers are weak. */
void fe_promote(Fe *f, Value a, Value b, bool is_div, bool allow_ptr, Val **x, Val **y,
                const char *op);
Elem fe_promote_elems(Fe *f, Elem a, Elem b, bool is_div, const char *op);
Value fe_binary(Fe *f, Operator o, Value a, Value b);
/* At a kernel's end: raises for the first of Fe.refused that something uses. */
void fe_check_refused(Fe *f);
Value fe_unary(Fe *f, Operator o, Value a);
Value fe_compare(Fe *f, Operator o, Value a, Value b);
Val *fe_logical(Fe *f, Operator o, Val *x, Val *y);
Val *fe_condition(Fe *f, Value v, const char *of); /* a scalar i1 */

/* ---- expr.c, subscript.c, attr.c, call.c ------------------------------------------------------------------ */
Value fe_expr(Fe *f, Node *n);
Value fe_subscript(Fe *f, Node *n);                      /* subscript.c */
Value fe_attribute_of(Fe *f, Value v, const char *name); /* Walk.attribute */
/* A method of a text, before its call (result NULL) and after it: neither an argument nor the
 * result is larger than a constant may be. */
void fe_check_text_method(Fe *f, PyObject *o, PyObject *pos, PyObject *result);
/* What a function of constants may ask a value that is none for: its types and sides. */
bool fe_has_stand_in(Value v);
PyObject *fe_stand_in(Fe *f, Value v);
Value fe_call(Fe *f, Node *n);
Value fe_run_value(Fe *f, Value fn, int n, const Value *args); /* Walk.call */
/* ---- inline.c ---------------------------------------------------------------------- */
Value fe_closure(Fe *f, const Node *n); /* of a def or lambda */
Value fe_call_closure(Fe *f, const Closure *k, int n, const Value *args, int n_kw,
                      const char *const *kw, const Value *kw_args);
Value fe_inline(Fe *f, FeFunction *fn, int n, const Value *args, int n_kw,
                const char *const *kw, const Value *kw_args);
/* ---- widen.c ------------------------------------------------------------------------ */
/* The ops of plan, which are about scalars, here: for all elements of args, blocks of one
 * shape and plan's arguments. active: the elements that there are, or NULL: all. out: what
 * plan ends with, blocks. what: "a function of f", for messages. */
void fe_widen(Fe *f, const Block *plan, const char *what, Val *active, Val *const *args,
              Val **out);

/* ---- aggregate.c ------------------------------------------------------------------- */
bool fe_is_aggregate(PyObject *cls);
Value fe_make_aggregate(Fe *f, PyObject *cls, int n, const Value *args, int n_kw,
                        const char *const *kw, const Value *kw_args);
/* aggregate_replace(instance, field=..): another one of its class. */
Value fe_replace_fields(Fe *f, int n, const Value *args, int n_kw,
                        const char *const *kw, const Value *kw_args);
void fe_set_field(Fe *f, Value v, const char *name, Value to);
FeFunction *fe_method_of(Fe *f, PyObject *o); /* of a class of values; NULL: none */

/* ---- assign.c ------------------------------------------------------------------ */
void fe_assign(Fe *f, Node *target, Value v); /* to a name or a pattern; no decay */
/* v as a constant where it is one at compile time, else the tensor that it is. */
Value fe_constexpr(Fe *f, Value v);
void fe_ann_assign(Fe *f, Node *n);
bool fe_is_declared(Fe *f, const Node *target); /* by "x: tl.constexpr" */
void fe_aug_assign(Fe *f, Node *n);

/* ---- stmt.c ---------------------------------------------------------------------------------- */
Value fe_body(Fe *f); /* of the current frame: what it returns */
Status fe_suite(Fe *f, Node **at, int n);
/* What is lowered later, when it is known where. */
typedef struct Rest {
    Status (*run)(Fe *f, void *data);
    void *data;
} Rest;
/* A suite may have been left, as st and the flags say: rest runs when it was not. */
Status fe_unless_left(Fe *f, Status st, Rest rest);
Val *fe_ended(Fe *f, Block *block, Status st, Value *local, Status way);
Value *fe_copy_locals(Fe *f);
void fe_set_locals(Fe *f, const Value *v);
enum { MAX_LEAVES = 512 };
/* Same structure, same constants, same types of the leaves? */
bool fe_same_types(Fe *f, Value a, Value b);
/* One of two values, chosen when the kernel runs: cond ? a() : b(). */
Value fe_ternary(Fe *f, Node *n, Val *cond);

/* ---- loop.c ---------------------------------------------------------------------------------- */
Status fe_for(Fe *f, Node *n);
Status fe_while(Fe *f, Node *n);

/* ---- builtins.def, builtins_*.c ---------------------------------------------------------------- */
enum { MAX_PARAM = 12 };
enum { BI_FREE = 0, BI_MEMBER = 1, BI_PY = 2 };
#define BI_OF(x) ((x) << 8) /* an op, an operator .., the row's own: Fe.which */
typedef Value BuiltinFn(Fe *f, Value *a);
struct Builtin {
    const char *name; /* in tegula.language; of Python's own when BI_PY */
    const char *sig;  /* "x, *shape, other=": = may be left out, * takes the rest */
    BuiltinFn *fn;    /* NULL: a jit function of the language with this name */
    int flags;        /* BI_* */
    const char *doc;  /* one line */
};
#define BUILTIN(name, sig, fn, flags, doc) BuiltinFn fn;
#define JIT_MEMBER(name)
#include "frontend/builtins.def"
#undef BUILTIN
#undef JIT_MEMBER
const Builtin *fe_builtin_of(Fe *f, PyObject *o); /* NULL: not one */
/* Binds arguments to the signature and runs it. */
Value fe_call_builtin(Fe *f, const Builtin *bi, int n, const Value *args, int n_kw,
                      const char *const *kw, const Value *kw_args);
const Builtin *fe_member(const char *name); /* NULL: tensors have no such method */
/* dunder.c: x.__add__ and the like; NULL: no operator's method */
const Builtin *fe_operator_method(const char *name);
/* Is an operand (b is absent of one with one operand) an aggregate whose class defines o?
 * Then *out is what it gives. One that defines no such operator is an error, but for
 * comparisons. */
bool fe_aggregate_operator(Fe *f, Operator o, Value a, Value b, Value *out);
bool fe_aggregate_element(Fe *f, Value v, Value key, Value *out); /* v[key] */
bool fe_is_given(Value v); /* neither absent nor None */
/* descriptor.c: a method, bound to p; V_NONE: there is none of that name. */
Value fe_descriptor_attribute(Fe *f, Value p, const char *name);
/* builtins_reduce.c: a row along axis, as a block of t's shape. */
Val *fe_along(Fe *f, Val *row, int axis, const Type *t);
/* builtins_memory.c: a is pointers, values, mask, sem, scope; a descriptor's atomics have the
 * extremes of halves besides. */
/* The pointer v, through which bools are bytes. */
Val *fe_byte_pointer(Fe *f, Value v, bool writes);
/* v as what goes to memory of elements e. */
Val *fe_stored_value(Fe *f, Value v, Elem e);
Value fe_atomic(Fe *f, int rmw, const Value *a, bool is_desc);
/* blockptr.c: the index along dim d, and the pointers of a window. checked: which dims may
 * be outside, which *mask then tells (NULL: none is). */
Val *fe_window(Fe *f, const BlockPtr *p, const bool *checked, Val **mask);
BlockPtr *fe_new_window(Fe *f, Value base, Value shape, Value strides, Value block);
/* builtins_stop.c: print(..) of a kernel that is interpreted, and the marks of one that a
 * debugger follows. Compiled targets get no marks. */
void fe_print_values(Fe *f, int n, const Value *args);
/* The statement n is next. is_again: a loop's, at the end of an iteration. */
void fe_mark_line(Fe *f, const Node *n, bool is_again);
void fe_mark_call(Fe *f); /* the current frame begins; its parameters have values */
void fe_mark_return(Fe *f, Value v);
bool fe_is_mark(const Op *o); /* of a line, a call, a return, a breakpoint() */
void fe_drop_marks(Block *b); /* but those of breakpoint() */
/* v for the variable `name`: a copy, where it is another variable's, too. */
Value fe_own_value(Fe *f, Value v, const char *name);
/* builtins_extern.c: the operands of a foreign function, one or a tuple, as blocks of one
 * shape: how many. */
int fe_operands(Fe *f, Value args, Val **x);
/* typed.c: all promoted to one type, numbers weakly; false: one is a pointer. */
bool fe_promote_all(Fe *f, int n, const Value *given, Val **out, const char *op);
/* typed.c: brings the arguments of t to types it takes, and to one shape. */
void fe_typed_args(Fe *f, const Tree *t, Value *local);
Val *fe_index_scalar(Fe *f, Value tuple, int i, Elem e, const char *what);
Value fe_block_ptr_load(Fe *f, Value *a);
Value fe_block_ptr_store(Fe *f, Value *a);

#endif
