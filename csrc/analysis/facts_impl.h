/* facts_impl.h: what facts.c, rules.c, range.c and nearest.c share; nobody else but a test includes it. A second
 * header in this folder because the table below is nobody's business outside. */
#ifndef TEGULA_FACTS_IMPL_H
#define TEGULA_FACTS_IMPL_H

#include "analysis/analysis.h"

/* What is asked about a value. All but RANGE are log2 counts. */
typedef enum FactKind { ASK_RUN, ASK_CON, ASK_DIV, ASK_RANGE } FactKind;

/* The answer: lo alone for the log2 kinds; lo..hi for RANGE. */
typedef struct Answer {
    int64_t lo, hi;
} Answer;

typedef struct Entry Entry;
struct FactTable {
    Func *f;
    Map memo;       /* packed question -> Entry */
    Map whole;      /* Val -> Facts, of facts_of */
    unsigned epoch; /* tentative entries of another epoch are void */
    int depth;      /* of the recursion, against MAX_DEPTH */
    bool asks_16;   /* arguments are asked for a factor of 16 and for no less */
    int max_hint;   /* log2 of the longest run that a hint is believed for */
    uint64_t
        n_asked; /* for a test: questions so far, those that the memo answered too */
    VEC(Entry *) assumed; /* loop-carried questions whose answer is being sought */
    VEC(Entry *) trail;   /* tentative entries of this epoch */
};

/* ---- facts.c: memo and fixpoint ---- */
Answer fact_ask(FactTable *t, FactKind kind, const Val *v, int dim, int run, int want);
const Val *fact_same_as(
    const Val *v);                   /* results of loops: the value they always equal */
int fact_log2(int64_t n);            /* of a power of two */
int fact_trailing_zeros(uint64_t n); /* at most MAX_LOG2, which is that of 0 */
static inline int
fact_run(FactTable *t, const Val *v, int dim, int want)
{
    return (int)fact_ask(t, ASK_RUN, v, dim, 0, want).lo;
}
static inline int
fact_div(FactTable *t, const Val *v, int dim, int run, int want)
{
    return (int)fact_ask(t, ASK_DIV, v, dim, run, want).lo;
}
static inline const Val *
fact_yielded(const Op *o, int region, int i)
{
    return arg(o->regions[region]->last, i);
}

/* ---- rules.c, range.c: one step, for values that are not loop-carried ---- */
int rule_run(FactTable *t, const Val *v, int dim, int want);
int rule_con(FactTable *t, const Val *v, int dim, int want);
int rule_div(FactTable *t, const Val *v, int dim, int run, int want);
int rule_ragged(FactTable *t, const Val *mask, int dim, int want, MaskEdges *e,
                int *budget);
/* The dim of o's arg 0 along which its elements along dim come; < 0: see rules.c. */
int fact_source_dim(const Op *o, int dim, bool *is_known);
Answer rule_range(FactTable *t, const Val *v);
Answer range_of_type(const Type *t); /* all the type holds */

#endif
