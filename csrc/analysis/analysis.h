/* analysis.h: only looks. const Func * in, facts out; nothing here changes the IR.
 *
 * Facts about a value, per dim where it is a block (powers of two as log2, gpu-codegen 4.1):
 *     contiguity   runs of x, x+1, x+2, .. this long start at every multiple of this length
 *     divisibility the first element of every such run is divisible by this (bytes for
 *                  pointers); for scalars: the value is
 *     constancy    runs of equal elements of this length
 * and for integers a range lo..hi of every element (INT64_MIN/MAX: unknown).
 *
 * Facts of arguments come from ir_ask, which records the question, so a pass that looks at
 * a fact makes the variant depend on it: ask late and only where it pays.
 */
#ifndef TEGULA_ANALYSIS_H
#define TEGULA_ANALYSIS_H

#include "ir/ir.h"

enum { MAX_LOG2 = 30 };     /* "any power of two", as for 0 */

typedef struct Facts {
    uint8_t contiguity[MAX_RANK], divisibility[MAX_RANK], constancy[MAX_RANK]; /* log2 */
    uint8_t scalar_div;     /* log2; rank 0 only */
    int64_t lo, hi;         /* of integer elements, as their type reads them */
} Facts;

/* ---- facts.c -------------------------------------------------------------------------- */
typedef struct FactTable FactTable;
/* A lazy table: facts are computed on demand by walking definitions, so arguments nobody's
 * access depends on are never asked about. Invalid once the IR changes. */
FactTable *facts_new(const Func *f);
const Facts *facts_of(FactTable *t, const Val *v);

/* The widest vector a load/store/atomic may use along `dim`: log2 of elements, from
 * contiguity, alignment of the pointer and constancy of the mask; at most max_bytes. */
int facts_access_log2(FactTable *t, const Op *access, int dim, int max_bytes);
/* The dim with the longest contiguous run of the access's pointers (the last on ties). */
int facts_fastest_dim(FactTable *t, const Op *access);

/* ---- affine.c --------------------------------------------------------------------------- */
/* A block of integers or pointers as base + sum over dims of stride[d] * index[d], where
 * base and strides are scalars (stride NULL: 0 along the dim). Also through loop-carried
 * values when init and step are affine with the same strides. false: not of that form. */
typedef struct Affine {
    Val *base;              /* scalar (pointer or integer); NULL: 0 */
    int64_t base_const;     /* added to base (elements) */
    struct { Val *val; int64_t factor; } stride[MAX_RANK]; /* factor * val; val NULL: factor alone */
    bool exact;             /* false: base needs code (sum of several scalars): see terms */
    VEC(struct { Val *val; int64_t factor; }) terms;    /* further scalars in the base */
} Affine;
bool affine_of(const Func *f, const Val *v, Affine *out);

/* ---- uses.c, live.c ---------------------------------------------------------------------- */
/* May a store (or atomic, or barrier) in region `within` change what load reads? Distinct
 * pointer arguments are NOT assumed distinct in memory. */
bool may_be_clobbered(const Func *f, const Op *load, const Block *within);
bool has_side_effects(const Op *o);     /* regions included */
/* Is the value the same for all threads of a program? Scalars always are. */
bool is_defined_outside(const Val *v, const Block *b);

#endif
