/* launch.h: one launch, from Python's arguments to a variant that runs.
 *
 *     Kernel      the decorated function: its parameters and its variants
 *     Call        the arguments of one launch as nodes, on the C stack
 *     Node        one argument, or one element of a tuple argument:
 *                     code    what it is (kind, element type) and which FACT_* hold
 *                     bits    its value as a kernel parameter, or a small constant's
 *                     value   the Python object, borrowed for the launch
 *
 * Two launches with equal codes and equal constants run the same variant; that is the fine
 * key, and it is a promise. Tuples are written in preorder: a node that says how many
 * children follow, then the children. Leaves (all nodes but those) are the slots of
 * Func.facts and ArgSpec's leaves, in this order.
 */
#ifndef TEGULA_LAUNCH_H
#define TEGULA_LAUNCH_H

#include <Python.h>

#include "frontend/frontend.h"
#include "module/state.h"
#include "runtime/runtime.h"

enum { MAX_ARGS = 256, MAX_NODES = 512 };

/* code: truth in bits 0..7, elem in 8..15, children in 8..23 for tuples, kind from 24. */
typedef enum NodeKind {
    NODE_SCALAR,
    NODE_POINTER,
    NODE_NONE,          /* constants without a value of their own ... */
    NODE_CONST_INT,     /* ... with the value in bits (int64, bool, double) ... */
    NODE_CONST_BOOL,
    NODE_CONST_FLOAT,
    NODE_CONST_OBJECT,  /* ... and compared as Python objects */
    NODE_TUPLE,         /* value: the tuple; its type belongs to the key */
} NodeKind;
#define CODE(kind, elem, truth)                                                        \
    ((uint32_t)(kind) << 24 | (uint32_t)(elem) << 8 | (uint32_t)(truth))
static inline NodeKind code_kind(uint32_t c) { return (NodeKind)(c >> 24); }
static inline Elem code_elem(uint32_t c) { return (Elem)(c >> 8 & 0xff); }
static inline uint16_t code_truth(uint32_t c) { return c & 0xff; }
static inline int code_children(uint32_t c) { return (int)(c >> 8 & 0xffff); }

/* Plain data but for the arrays' used parts: nothing here is zeroed for a launch. */
typedef struct Call {
    int n;                          /* nodes */
    uint32_t code[MAX_NODES];
    uint64_t bits[MAX_NODES];
    PyObject *value[MAX_NODES];     /* borrowed; NULL for scalars from a signature */
} Call;

typedef struct Kernel {
    PyObject_HEAD
    State *st;                      /* the type keeps the module alive */
    FeFunction *f;                  /* owned */
    bool debug;                     /* @jit(debug=True) */
} Kernel;

/* ---- key.c ------------------------------------------------------------------------------- */
/* FACT_DIV* that hold of an address or integer. */
static inline uint16_t
truth_of_bits(uint64_t v)
{
    return (uint16_t)((2u << __builtin_ctzll(v | 16)) - 2);
}
/* The frontend's view of a call; out has room for call->n specs, the first n_params of which
 * are the parameters. Borrows from call. */
void call_specs(const Call *call, const FeFunction *f, ArgSpec *out);

/* ---- signature.c --------------------------------------------------------------------------- */
/* Adds the node of one item of a signature: "*fp32", "*fp32:16", "i32", "i32:16", "i32:1",
 * "1", or any object for a constexpr. Objects made on the way go to the list keep, which
 * must outlive the call. 0, or -1 with an exception. */
int signature_node(Call *call, const FeParam *p, PyObject *item, PyObject *keep);
/* Adds the node of a constant (borrowed). 0, or -1 with an exception. */
int constant_node(Call *call, PyObject *value);

/* ---- module/kernel.c ------------------------------------------------------------------------- */
/* What the frontend asks of us; valid while st is. False with an exception set. */
bool kernel_env(State *st, FeEnv *env);

#endif
