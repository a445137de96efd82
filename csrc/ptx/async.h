/* async.h: what asynchronous copies share: operands, mbarriers told of bytes. */
#ifndef TEGULA_PTX_ASYNC_H
#define TEGULA_PTX_ASYNC_H

#include "ptx/asm.h"
#include "ptx/ptx.h"

/* ---- async.c --------------------------------------------------------------------- */
/* All operands but the address, whose check is lanes_addresses'. */
void lanes_want_operands(Lanes *w, const Ins *i, uint32_t m);
/* Operand k as a further address: its base is a row of in[]; the offset. */
int64_t dec_offset(Dec *d, int k);

/* ---- mbarrier.c ------------------------------------------------------------------ */
/* Where an mbarrier is that was initialised. */
uint8_t *mbarrier_at(Lanes *w, const Ins *i, int lane, Space space, uint64_t address);
void mbarrier_expect_one(uint8_t *bar); /* more, in this phase */
/* NULL: done; else what is wrong. */
const char *mbarrier_count(uint8_t *bar, uint64_t arrivals, int64_t tx);

/* ---- atomic.c -------------------------------------------------------------------- */
/* One of add, min, max, inc, dec, and, or, xor; -1: none. */
int dec_atomic_op(Dec *d);
void dec_atomic(Dec *d); /* atom, red */
uint64_t atomic_combined(int op, Type t, uint64_t old, uint64_t b);

/* ---- bulk.c ---------------------------------------------------------------------- */
void dec_bulk(Dec *d);         /* cp.async.bulk, cp.reduce.async.bulk */
void dec_arrive_later(Dec *d); /* cp.async.mbarrier.arrive */
/* The next of the two spaces in a copy's name. */
Space bulk_space(Dec *d);
/* The async proxy accesses n bytes; of other spaces than shared memory nothing is noted. bar: who is
 * told; NULL: who waits for the lane's group. */
void bulk_async(Lanes *w, const Ins *i, int lane, Space space, uint64_t address,
                uint32_t n, bool is_store, const void *bar);
/* The bytes behind an address, for the async proxy. */
uint8_t *bulk_bytes(Lanes *w, const Ins *i, int lane, Space space, uint64_t address,
                    uint32_t n, bool is_store);
/* The same byte in another block of the cluster. */
uint64_t bulk_in_block(uint64_t address, int rank);

/* ---- tmap.c ---------------------------------------------------------------------- */
void dec_tensor_copy(Dec *d, bool is_reduction);

#endif
