/* interp.h: the reference interpreter: what the ops mean, in the dullest C. */
#ifndef TEGULA_INTERP_H
#define TEGULA_INTERP_H

#include "ir/ir.h"

typedef struct Interp Interp; /* one run */
/* What stopped a run, beside the error that was raised. */
typedef struct InterpFault {
    const char *kind; /* "BOUNDS", "ASSERT"; NULL: something else, or nothing did */
    const Op *op;
    uint64_t address; /* BOUNDS */
    int bytes;
    bool is_write;
} InterpFault;
typedef struct InterpRun {
    const uint64_t *args; /* bits of each parameter; pointers are addresses */
    int32_t grid[3];
    /* NULL, or called for every element read or written; false stops with ERR_VALUE. */
    bool (*access)(void *data, uint64_t address, int bytes, bool is_write, const Op *o);
    void (*begin)(void *data, Interp *in); /* NULL, or called before each program */
    bool *
        wraps; /* NULL, or set where signed numbers of 32 or 64 bits, or addresses, do */
    /* NULL, or called for the op `debug`; false stops the run, with an error that says
     * nothing: data knows. */
    bool (*debug)(void *data, const Op *o);
    /* The functions of libraries that f calls: the one of the op that ir_extern_index names, on
     * n elements; data[i] is where operand i's are, 8 bytes each, behind them the result's.
     * NULL: they are refused. */
    void (*externs)(int32_t index, int64_t n, void *const *data);
    void *data, *debug_data;
    FILE *out;          /* of print; stdout when NULL */
    InterpFault *fault; /* NULL: nobody asks */
} InterpRun;
/* All programs, x fastest; raises. */
void ir_interpret(const Func *f, const InterpRun *r);
/* For InterpRun.debug: the elements of a value that has been computed, row-major, one
 * uint64_t each; what is written there is what the program goes on with. */
uint64_t *interp_value(Interp *in, const Val *v);
const int32_t *interp_program(const Interp *in); /* [3] */

#endif
