/* passes.h: changes the IR. One pass is one file and one word; the table is passes.def,
 * the order is order.c. */
#ifndef TEGULA_PASSES_H
#define TEGULA_PASSES_H

#include "analysis/analysis.h"

#define PASS(name, level, doc) void pass_##name(Func *f);
#include "passes/passes.def"
#undef PASS

typedef enum PassLevel { LEVEL_TILE, LEVEL_SIMT } PassLevel;
typedef struct PassInfo {
    const char *name;
    void (*run)(Func *f);
    PassLevel level;
    const char *doc;
} PassInfo;

/* ---- order.c: one array per target and level; NULL ends it ------------------------------ */
extern const char *const order_tile[]; /* every target */
extern const char *const order_host[]; /* CPUs, then */
extern const char *const order_simt[]; /* CUDA and the emulator, then */

/* ---- dce.c ------------------------------------------------------------------------------- */
/* Drops of block b all but the ops that are to be kept, for which `keeps` looks into regions,
 * too, and what those need. */
void dce_but(Func *f, Block *b, bool (*keeps)(const Op *o));

/* ---- group.c ----------------------------------------------------------------------------- */
/* Does the text say which ops share a loop nest? Code for CPUs is made of one that does. */
bool has_nests(const Func *f);

/* ---- late_stores.c ----------------------------------------------------------------------- */
/* Shared memory for the pieces of a MAP_STORE that are on their way, in front of an op. */
Val *alloc_stage(Op *store, Op *before);
/* May what the team's programs give be stored late? */
bool may_store_late(Func *f, const Block *team);
/* Stores the pieces from .. end - 1. what: coordinates, then the block. */
void store_pieces(Build *b, const Op *store, Val *const *what, Val *stage, Val *from,
                  Val *end);

/* ---- pad_combine.c ----------------------------------------------------------------------- */
/* What result i of a REDUCE or SCAN does not notice, when the region computes it by one op from
 * arguments i and n + i; false: there is no such thing. */
bool neutral_value(const Op *o, int i, uint64_t *bits);

/* ---- pipeline_steps.c -------------------------------------------------------------------- */
/* A thread's registers for the addresses of copies, 64 bits for each 16 bytes. */
int address_words(const Block *body);

/* ---- persist.c --------------------------------------------------------------------------- */
/* Maps every op of f's body to itself that maps of tensors, rings and tests of a launch are made of,
 * and those: whatever is made of the body, they stay in front. */
void stay_in_front(const Func *f, Map *front);

/* ---- rings.c ----------------------------------------------------------------------------- */
/* Is it the work of whoever fills a ring? */
bool ring_is_filled_by(const Op *o);
bool is_of_ring(const Op *o); /* it waits for slots, fills or releases them */

/* ---- run.c: the driver: verifies, dumps, stops ------------------------------------------- */
/* Runs the passes by name; after each: ir_verify in debug builds, TEGULA_DUMP, TEGULA_STOP.
 * Returns false when TEGULA_STOP ended the pipeline here. */
bool passes_run(Func *f, const char *const *names);
const PassInfo *pass_by_name(const char *name); /* NULL: no such pass */
/* Writes a stage's text to TEGULA_DUMP_DIR (NN-stage.ext) and to TEGULA_DUMP's stream. */
void dump_stage(Comp *c, const char *stage, const char *ext, const char *text,
                size_t n);

/* ---- start_dots.c ------------------------------------------------------------------------ */
/* The ring that the slot of v, an operand of a product, is of; NULL: of none. */
const Op *ring_of(const Val *v);

#endif
