/* frontend.h: Python AST -> tile IR. Phase A of a compile; holds the GIL throughout.
 *
 * A FeFunction is what we keep of one Python function: its AST, parameters and where its
 * names come from. fe_kernel walks the AST of one and inlines every function it calls.
 *
 * Raising: Python errors (a failing import, KeyboardInterrupt) are recorded, cleared of
 * C frames, and then raised as ours or re-raised; never jump across a Python frame.
 */
#ifndef TEGULA_FRONTEND_H
#define TEGULA_FRONTEND_H

#include <Python.h>

#include "ir/ir.h"

typedef struct FeEnv FeEnv;

/* ---- Python's objects ------------------------------------------------------------------- */
/* Drops a reference to each of its arguments, of which any may be NULL. */
#define DROP(...)                                                                      \
    fe_drop_all((PyObject *const[]){__VA_ARGS__},                                      \
                (int)COUNT(((PyObject *const[]){__VA_ARGS__})))
static inline void
fe_drop_all(PyObject *const *o, int n)
{
    for (int i = 0; i < n; i++)
        Py_XDECREF(o[i]);
}
/* The text of a string; NULL: o is none, or NULL, or has no UTF-8 (then an exception is set). */
static inline const char *
fe_utf8(PyObject *o)
{
    return o && PyUnicode_Check(o) ? PyUnicode_AsUTF8AndSize(o, NULL) : NULL;
}

/* ---- function.c, source.c ------------------------------------------------------------- */
typedef struct FeParam {
    PyObject *name;          /* str */
    PyObject *default_value; /* NULL: none */
    bool is_constexpr;       /* annotated tl.constexpr (or any text containing it) */
    bool is_const;           /* annotated tl.const: stores are rejected */
    bool no_specialize;      /* do_not_specialize: no ==1, no divisibility */
    bool no_align;           /* do_not_specialize_on_alignment */
    bool has_type;   /* a scalar annotation (int, tl.int64, "i32") forces elem */
    bool is_pointer; /* "*fp32", tl.pointer_type(..): elem is the pointee's */
    bool keyword_only;
    Elem elem;
} FeParam;

/* Parts of FeFunction.made. */
typedef enum FeMade {
    MADE_PARTS = 4, /* code, defaults, copies of keyword defaults and annotations */
    MADE_NAMES = MADE_PARTS,    /* of those */
    MADE_LIVE = 2 * MADE_PARTS, /* the two dicts that were copied, or None */
    MADE_IMAGE = MADE_LIVE +
                 2, /* the object's memory behind its head, as a bytearray */
    MADE_ALL,
} FeMade;

typedef struct FeFunction {
    PyObject *fn; /* the Python function, owned */
    /* ast.FunctionDef or Lambda, line numbers as in the file; owned; NULL until the first
     * compile needs it. */
    PyObject *ast;
    PyObject *globals; /* owned */
    PyObject *closure; /* dict name -> value of free variables; owned; may be NULL */
    PyObject *source;  /* str: the function's lines as written; owned */
    /* Bytes: its file as it was when it was decorated; or a list: its lines, as somebody had told
     * linecache by then; owned; NULL where there is neither, and once the source is parsed. */
    PyObject *text;
    char *
        packed; /* the tree as bytes: pack.c; malloc'ed; NULL: not made yet, or cannot be */
    size_t n_packed;
    char *file, *name; /* UTF-8, owned; a lambda's name is "lambda" */
    int first_line;    /* in the file, from 1: the first decorator's, or the def's */
    FeParam *params;
    int n_params;
    PyObject
        *made; /* what was read of fn when it was decorated: a tuple by FeMade; owned */
    PyObject *of;   /* the Kernel whose it is; borrowed; NULL: nobody's */
    bool is_judged; /* has a compile looked who holds fn? */
    bool is_open;   /* somebody else has fn, and may change it at any time */
} FeFunction;

/* new FeFunction, or NULL with a Python exception set. do_not_specialize and
 * do_not_specialize_on_alignment: sequences of names or indices, or NULL. Reads parameters
 * and annotations only: cheap, so decorating costs microseconds. */
FeFunction *fe_function_new(PyObject *fn, PyObject *do_not_specialize,
                            PyObject *do_not_specialize_on_alignment);
/* Keeps the text of f's file, or what linecache was told, as it is now, so that an edit before the first compile changes
 * nothing. *last, owned by the caller: what was read last, None at first; functions of one
 * file share it. 0, or -1 with an exception; a file that cannot be read is none. */
int fe_function_keep_text(FeFunction *f, PyObject **last);
void fe_function_free(FeFunction *f);
int fe_function_traverse(FeFunction *f, visitproc visit, void *arg);
/* Reads and parses the source now: 0, or -1 with an exception set (OSError-like ValueError
 * naming the function when there is no source). fe_kernel calls it. */
int fe_function_parse(FeFunction *f);
/* Refreshes f->closure. 0, or -1 with an exception. */
int fe_function_read_closure(FeFunction *f);
/* Is f->text what f's lines are: UTF-8, and nobody has told linecache another text? */
bool fe_text_is_plain(const FeFunction *f);
/* The function is what `text` says from now on; its parameters stay. text begins with the def,
 * without indentation, and is line 1 of `file` in messages. 0, or -1 with an exception and
 * nothing changed. */
int fe_function_set_source(FeFunction *f, PyObject *text, PyObject *file);
/* Is the exception that is set one that no look-up may swallow: lost memory, Ctrl-C? */
bool fe_is_grave(void);
/* Clears the exception, if any. The class of the first grave one is kept in *lost, which
 * starts as NULL and is owned by the caller, who raises it at the end. */
void fe_clear(PyObject **lost);
/* Is there an attribute of that name? Clears as fe_clear. */
bool fe_has(PyObject *o, const char *name, PyObject **lost);
/* Is o.__module__ that package, or of it? Clears as fe_clear. */
bool fe_is_from(PyObject *o, const char *package, PyObject **lost);
long fe_get_long(PyObject *o, const char *name); /* o.name; -1 with an exception set */
char *fe_copy_utf8(PyObject *s);                 /* malloc'ed; NULL with an exception */

/* ---- capture.c, watch.c ---------------------------------------------------------------- */
typedef enum FeWatch {
    WATCH_DICT, /* home[name] is value; value NULL: there is none */
    WATCH_CELL, /* the same of a variable of an enclosing function */
    WATCH_ATTR, /* getattr(home, name) is value */
    WATCH_MAP,  /* home, a dict, has the items of value and no other, in this order */
    WATCH_PART, /* home, a dict of name items (an int), has the items of value */
    WATCH_LIST, /* home, a list, has the elements of the tuple value */
    WATCH_CODE, /* home, a function, has the code and defaults of the tuple value */
    WATCH_MADE, /* home, of the kernel `name` or of NULL, is what the tuple value says: `made` */
    WATCH_SET,   /* home, a set, has the elements of the tuple name; value is a copy */
    WATCH_BYTES, /* home, a buffer, has these bytes */
    WATCH_CLASS, /* the class of home is value, its own dict is name (NULL: it has none) */
    WATCH_CALL, /* home(*name[0], **name[1]) is value; name[1] may be None */
    /* With another, until the compile ends: a call whose answer follows from what else is noted,
     * or a place that calls change each time. */
    WATCH_IDLE = 32,
} FeWatch;
/* Something that a compile read and that a program may change. */
typedef struct FeCapture {
    FeWatch kind;
    PyObject *home;  /* where it stands: a module's dict, a cell, ..; owned */
    PyObject *name;  /* str, or the key of a dict, or NULL; owned */
    PyObject *value; /* what it was; owned */
    PyObject *label; /* what messages call it; NULL: its name; owned */
} FeCapture;
typedef struct FeCaptures {
    FeCapture *at; /* malloc'ed */
    int n, cap;
    int *
        index; /* malloc'ed: slots of a hash table of places, each a number of at, or -1 */
    int n_slots;       /* a power of two; 0: to be made when a place is looked for */
    bool is_of_call;   /* what is noted now, a call in Python may read */
    bool has_met_idle; /* and other calls change it each time */
} FeCaptures;
/* Notes one, unless it is noted; takes copies of the references. 0, or -1 with an exception. */
int fe_capture(FeCaptures *c, FeCapture x);
/* Notes those of more as well, but for idle ones; 0 or -1. */
int fe_captures_add(FeCaptures *c, const FeCaptures *more);
/* 1: all are as they were. 0: a function or class among them is another one, so compile
 * anew. -1 with RuntimeError: a constant has changed. kernel: whose they are. */
int fe_captures_check(const FeEnv *env, FeCaptures *c, const FeFunction *kernel);
/* Something that those of FeEnv.quiet are about was changed, or handed to somebody who may do so: checks
 * them as fe_captures_check, and notes in c those that launches have to look at from now on. */
int fe_captures_wake(const FeEnv *env, FeCaptures *c, FeCaptures *quiet,
                     const FeFunction *kernel);
/* A call in Python ended, which changed what it reads, or what was noted before it: those from number
 * `from` on are its own. Forgets what changed; is_last: notes that it does each time. Earlier calls
 * that may have read it are asked at launches. 1: something changed, 0, or -1 with an exception. */
int fe_captures_settle(FeCaptures *c, int from, bool is_last);
void fe_captures_free(FeCaptures *c);
int fe_captures_traverse(const FeCaptures *c, visitproc visit, void *arg);
/* Each notes in env->captures what may change of what is read; 0, or -1 with an exception. */
/* A name that was looked up: home is a dict, or a cell. */
int fe_watch_name(const FeEnv *env, PyObject *home, PyObject *name, PyObject *value,
                  bool is_cell);
/* o.name, which was read. */
int fe_watch_attribute(const FeEnv *env, PyObject *o, PyObject *name);
/* o, which is fn or an autotuner that has it, was called. */
int fe_watch_wrapper(const FeEnv *env, PyObject *o, const FeFunction *fn);
/* What was read of a decorated function, which the compile enters; RuntimeError where it is
 * another one by now. */
int fe_watch_function(const FeEnv *env, FeFunction *fn);
/* o[key] */
int fe_watch_item(const FeEnv *env, PyObject *o, PyObject *key);
/* The value of a parameter was read: the default that fn has, or (NULL) what a launch gave. */
int fe_watch_parameter(const FeEnv *env, const FeFunction *fn, PyObject *name,
                       PyObject *value);
/* What a call of o in Python may read. is_opaque: gets true where not all of it is known; NULL:
 * nobody asks. */
int fe_watch_call(const FeEnv *env, PyObject *o, bool *is_opaque);
/* What Python code that is given o may read. */
int fe_watch_value(const FeEnv *env, PyObject *o, bool *is_opaque);
/* That o(*pos, **named) gave that result, unless it gives another one at once. is_known: it follows from
 * what is noted. named: or NULL. */
int fe_watch_result(const FeEnv *env, PyObject *o, PyObject *pos, PyObject *named,
                    PyObject *result, PyObject *name, bool is_known);
/* Is the object's class one of this package's? */
bool fe_has_class_of_ours(PyObject *o);
/* Equal as constants of a kernel: of one type all the way down, 0.0 is not -0.0, and also what
 * their == does not look at is equal. 1, 0, or -1 with an exception. */
int fe_same_constant(PyObject *a, PyObject *b);
/* The same, and objects of a class without == are equal where their state is. */
int fe_same_value(PyObject *a, PyObject *b);
/* The bytes of an object that is a buffer; a function's code, defaults and keyword defaults.
 * New references, or NULL with an exception. */
PyObject *fe_bytes_of(PyObject *o);
PyObject *fe_code_of(PyObject *fn);
/* What `made` is of fn: new reference, or NULL with an exception. */
PyObject *fe_made_of(PyObject *fn);
/* 1: fn is what `made` says; -1 with a RuntimeError that says what is another thing. */
int fe_is_made(const FeEnv *env, const FeFunction *fn);
/* May a kernel read the global o? (Python's own functions and classes: fe_builtin_of.) */
bool fe_may_read(const FeEnv *env, PyObject *o, PyObject **lost); /* see fe_clear */

/* ---- tracing.c ------------------------------------------------------------------------- */
/* While they do not balance, nothing of the thread's is traced: what debuggers are not to
 * step into. */
void tracing_pause(void);
void tracing_resume(void);
/* Does somebody trace Python code, or might so? */
bool tracing_is_on(void);

/* ---- what a launch gives the compiler --------------------------------------------------- */
typedef enum ArgKind { ARG_CONSTEXPR, ARG_SCALAR, ARG_POINTER, ARG_TUPLE } ArgKind;
typedef struct ArgSpec {
    ArgKind kind;
    PyObject *value; /* CONSTEXPR: the value, borrowed for the call. TUPLE: its type */
    Elem elem;       /* SCALAR: its type; POINTER: the pointee's */
    bool is_const;   /* POINTER: stores are rejected */
    uint16_t truth;  /* FACT_* that hold in this launch */
    struct ArgSpec *child; /* TUPLE */
    int n_child;
} ArgSpec;

/* ---- suggest.c ------------------------------------------------------------------------- */
/* "Did you mean": the closest of words to name, or NULL. words end with NULL. */
const char *fe_closest(const char *name, const char *const *words);

/* What the frontend asks of the module that embeds it. */
enum { TREE_NAME = 17 }; /* 16 digits */
struct FeEnv {
    /* The FeFunction inside a @jit object (also of its wrappers: autotuner, heuristics), or
     * NULL without an exception when obj is none. Borrowed. */
    FeFunction *(*as_function)(void *data, PyObject *obj);
    void *data;
    PyObject *language; /* the module tegula.language */
    bool has_places;    /* what is compiled names its lines */
    /* Trees that outlive the process: the bytes that were stored under a name, malloc'ed, or
     * NULL: there is none, or an exception. load_tree NULL: none are kept. */
    char *(*load_tree)(void *data, const char *name, size_t *n);
    void (*store_tree)(void *data, const char *name, const char *bytes, size_t n);
    FeCaptures
        *captures; /* gets what the compile reads of the program; NULL: nobody asks */
    FeCaptures
        *quiet; /* the same where its change is noticed (State.n_edits): launches need
                          not look; NULL where captures is */
    bool is_language_open; /* somebody has the dict of a module of the language */
};

/* Builds f's IR for these arguments (one ArgSpec a parameter, defaults filled in). Raises
 * through comp_run. Slots of Func.facts are the leaves of args in order. An unannotated
 * integer argument whose FACT_EQ1 holds (asked when its name is first read) is the
 * constexpr 1. */
Func *fe_kernel(Comp *c, const FeEnv *env, FeFunction *f, const ArgSpec *args,
                int n_args);

#endif
