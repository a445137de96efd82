/* lower_desc: what descriptors read and write becomes pointers and masks.
 *
 *     %x = tile_load %p, %m, %n, %s, %i, %j {padding=nan} : f32[16, 32]
 * =>
 *     %q = addptr ..                 %p + (%i + arange) * %s + (%j + arange)
 *     %k = and ..                    0 <= %i + arange < %m, and so on
 *     %x = load %q, %k, splat(nan)
 */
#include "passes/passes.h"

#include <math.h>

static Val *
padding(Build *b, const Op *o)
{
    if (ir_attr(o, ATTR_PADDING) == PAD_ZERO)
        return NULL;
    return ir_const_float(b, result(o, 0)->type, NAN);
}

static void
lower(Func *f, Op *o)
{
    Build b = {.f = f, .block = o->block, .before = o, .loc = o->loc};
    Window w = ir_tile(o);
    bool all[MAX_RANK];
    memset(all, true, sizeof all);
    Val *mask, *pointers = ir_window(&b, &w, all, &mask);
    if (o->op == OP_TILE_STORE) {
        ir_store(&b, pointers, arg(o, o->n_args - 1), mask);
    } else {
        Val *v = ir_load(&b, pointers, mask, padding(&b, o));
        v->name = result(o, 0)->name;
        ir_replace(result(o, 0), v);
    }
    ir_erase(o);
}

static void
lower_block(Func *f, Block *b)
{
    for (Op *o = b->first, *next; o; o = next) {
        next = o->next;
        for (int i = 0; i < o->n_regions; i++)
            lower_block(f, o->regions[i]);
        if (op_is_tile(o))
            lower(f, o);
    }
}

void
pass_lower_desc(Func *f)
{
    lower_block(f, f->body);
}
