/* dot.h: a product on its way into code: dot.c, tiles.c, panels.c. */
#ifndef TEGULA_DOT_H
#define TEGULA_DOT_H

#include "codegen/host/host.h"

enum { GROUP_LANES = 16, MAX_GROUP = 4 }; /* sums of a register; 4 bytes for each */

typedef struct Tile {
    int mr, nv, lanes; /* rows; vectors across; elements of a vector */
    Elem e;            /* of the arithmetic */
} Tile;

/* Operands of several turns of a loop wait until they are multiplied together. */
typedef struct Late {
    int turns;  /* at most; 1: none waits */
    Lv waiting; /* i64: how many do, before this turn */
    Lv slot;    /* of that number */
    Buf *
        list; /* of their addresses: first operands, second ones, then Product.k of each */
    When when;
} Late;

typedef struct Product {
    const Op *o;
    Tile t;
    View a, b, acc, out;
    const Type *at, *bt; /* of the operands in scratch */
    int rows;            /* of the tiles between which the next operands are fetched */
    int group;           /* elements along k that go together; 1: each for itself */
    bool has_tiles;      /* the CPU multiplies matrices: tiles.c */
    Late late;           /* late.c */
    Lv m, n,
        k; /* i64: so many rows, columns, products are computed; NULL: all (ends.c) */
    View sums; /* of a group of i8: i32, 128 times the sum of each column of b */
} Product;

/* ---- dot.c --------------------------------------------------------------------------- */
/* The least multiple of step from n on. */
static inline int
in_steps(int n, int step)
{
    return (n + step - 1) / step * step;
}

/* ---- ends.c -------------------------------------------------------------------------- */
/* p->m, n and k. */
void host_find_ends(Host *h, Product *p);

/* ---- kept.c -------------------------------------------------------------------------- */
/* v, which operand i of the product is or shows turned, in scratch as w says, which has no buf yet, with
 * t's elements. dim: v's, which is the product's rows or columns. */
View host_put_operand(Host *h, const Product *p, int i, const Val *v, int dim,
                      const Type *t, View w);

/* ---- late.c -------------------------------------------------------------------------- */
/* Before the operands are put into scratch: how many turns may wait, and where the list is. */
void host_plan_late(Host *h, Product *p);
/* Bytes for an operand of each turn that waits; where this turn's one goes. */
Buf *host_late_buf(Host *h, const Product *p, int64_t bytes);
/* The offset of this turn's one, of as many. */
Lv host_late_offset(Host *h, const Product *p, int64_t bytes);
/* Around the code that multiplies: it runs in turns that nobody waits behind. */
void host_late_open(Host *h, Product *p);
void host_late_close(Host *h, Product *p);
/* p's operands are those of turn `turn`. */
void host_take_late(Host *h, Product *p, Lv turn);

/* ---- ahead.c ------------------------------------------------------------------------- */
/* One load whose next block is fetched. */
struct Ahead {
    const Op *load;
    Buf *rows; /* of addresses of the last vector of each row, or column */
    Lv step;   /* of a turn: bytes */
    Lv next;   /* slot: the line that is next */
    Lv is_there; /* i1: this turn loaded nothing (kept.c), so the next one will not; NULL: it did */
    int64_t n_rows, row_bytes, behind; /* bytes from a row's first vector to its last */
    bool is_noted;
};
/* Before the operands are put into scratch. */
void host_look_ahead(Host *h, const Op *dot);
/* Lines of the largest operand that is fetched. */
int64_t host_ahead_lines(const Host *h);
/* Before the first tile; then one of so many visits a turn, for as many turns as are multiplied. */
void host_start_ahead(Host *h);
void host_fetch_ahead(Host *h, int64_t visits, int turns);

/* ---- tiles.c ------------------------------------------------------------------------- */
/* Of an element of [batch, M, N] or [M, N] in w. */
Lv host_tile_address(Host *h, const Type *t, const View *w, Lv batch, Lv row, Lv col);
/* Is the product one for AMX? */
bool host_is_for_tiles(const Host *h, const Op *o);
/* Rows and columns of a step. */
int host_tile_rows(const Op *o);
int host_tile_cols(const Op *o);
void host_multiply_tiles(Host *h, const Product *p);

#endif
