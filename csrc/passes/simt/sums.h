/* sums.h: what strips and split_k ask of a program that stores the sums of one loop. Private to them. */
#ifndef TEGULA_SUMS_H
#define TEGULA_SUMS_H

#include "passes/passes.h"

/* The one op of that kind; NULL: there is none, or another. */
Op *only_op(const Block *b, OpCode op);
/* Where the sums of a loop are waited for behind it, or NULL; *last: the last op there that has to do with slots. */
Op *wait_for_sums(const Op *loop, Op **last);
/* Is something else of use behind that, which the loop or an op behind it gives? */
bool is_used_behind_sums(Op *loop, const Op *wait, const Op *last);
/* Is v computed of what `wait` gives, element by element, and of numbers? */
bool is_of_sums(const Op *wait, const Val *v, int depth);
/* Is the store all that v comes to? */
bool is_stored_alone(const Op *store, const Val *v, int depth);
/* Does the role nothing else that anybody could see? */
bool is_all_that_is_seen(const Op *store, const Block *role);
/* Do both compute the same, of numbers that are there in front of the loop? */
bool computes_same(const Val *x, const Val *y, int depth);

#endif
