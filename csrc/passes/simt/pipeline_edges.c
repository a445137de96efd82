/* pipeline_edges: how much of a copy is inside, where a mask ends in the middle of it.
 *
 *     %in = and %rows, broadcast (lt %k, %K)         16 bytes a copy, K is no multiple of 8
 *     copy %p -> s[..], %in, broadcast (min (sub %K, %k), 16)
 *
 * Rows of a descriptor are padded to 16 bytes, but their length need not be, and may come
 * from memory (a grouped product reads the sizes of its matrices). The mask says by its
 * first element whether anything is copied, the number how many elements from there on; the
 * machine fills the rest with zeros. It is counted where the comparison is, of a row or a
 * column, and spread as the mask is.
 */
#include "passes/simt/pipeline.h"

enum { MOST = 16 }; /* elements of a copy */

static bool
is_edge(const MaskEdges *e, const Op *o)
{
    for (int i = 0; i < e->n; i++)
        if (e->op[i] == o)
            return true;
    return false;
}

/* Elements from each x on for which x < y, or x <= y, where that holds for x; i32. Unsigned
 * the difference is right for all x and y. */
static Val *
count_edge(Build *b, const Op *o, const Map *map)
{
    bool turned = o->op == OP_GT || o->op == OP_GE;
    bool touches = o->op == OP_LE || o->op == OP_GE;
    Val *x = ir_mapped(map, arg(o, turned)), *y = ir_mapped(map, arg(o, !turned));
    Elem e = elem_info[x->type->elem].bits == 64 ? E_U64 : E_U32;
    Val *n = ir_bin(b, OP_SUB, ir_cast(b, y, e), ir_cast(b, x, e));
    n = ir_bin(b, OP_MIN, n, ir_const_int(b, n->type, MOST));
    if (touches)
        n = ir_bin(b, OP_ADD, n, ir_const_int(b, n->type, 1));
    return ir_cast(b, n, E_I32);
}

Val *
pipeline_count(Build *b, const Val *mask, const MaskEdges *e, const Map *map)
{
    const Op *o = mask->def;
    if (!e->n || !o)
        return NULL;
    if (is_edge(e, o))
        return count_edge(b, o, map);
    if (o->op == OP_AND) {
        Val *x = pipeline_count(b, arg(o, 0), e, map),
            *y = pipeline_count(b, arg(o, 1), e, map);
        return x && y ? ir_bin(b, OP_MIN, x, y) : x ? x : y;
    }
    if (o->op != OP_EXPAND && o->op != OP_BROADCAST)
        return NULL;
    Val *x = pipeline_count(b, arg(o, 0), e, map);
    if (!x)
        return NULL;
    const Type *t = ty_with_elem(b->f->c, mask->type, E_I32);
    Op *n = ir_op(b, o->op, 1, &x, 1, &t);
    memcpy(n->attr, o->attr, sizeof n->attr);
    return result(n, 0);
}
