/* lower_desc: what descriptors read and write becomes pointers and masks.
 *
 *     %x = tile_load %p, %m, %n, %s, %i, %j {padding=nan} : f32[16, 32]
 * =>
 *     %q = addptr ..                 %p + (%i + arange) * %s + (%j + arange)
 *     %k = and ..                    0 <= %i + arange < %m, and so on
 *     %x = load %q, %k, splat(nan)
 *
 * So does what a tensor map was to bring to a product, where no warps bring it beside the others:
 * copies of all threads run ahead of a loop (pipeline), and copies of tensors would not.
 */
#include "passes/passes.h"

#include <math.h>

static Val *
padding(Build *b, const Op *o)
{
    const Op *says = o->op == OP_MAP_LOAD ? arg(o, 0)->def : o;
    if (ir_attr(says, ATTR_PADDING) != PAD_NAN)
        return NULL;
    return ir_const_float(b, result(o, 0)->type, NAN);
}

/* Does a product read it, as it is or converted? */
static bool
feeds_dot(const Val *v)
{
    for (const Use *u = v->uses; u; u = u->next) {
        const Op *o = u->user;
        bool passes_on = op_has(o, OPF_VIEW) || (op_has(o, OPF_ELEM) && o->n_args == 1);
        if (o->op == OP_DOT || (passes_on && feeds_dot(result(o, 0))))
            return true;
    }
    return false;
}

/* has_roles: there are warps that bring tiles. */
static bool
is_to_lower(Func *f, const Op *o, bool has_roles)
{
    if (o->op != OP_MAP_LOAD)
        return op_is_tile(o);
    return !hopper_plan(f).has_all_maps && feeds_dot(result(o, 0)) &&
           !(has_roles && roles_bring(f, o));
}

static void
lower(Op *o)
{
    Build b = ir_before(o);
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

void
pass_lower_desc(Func *f)
{
    const char *why_not = ir_has_op(f->body, OP_TENSOR_MAP) ? roles_refusal(f) : NULL;
    if (why_not)
        ir_report(f, f->loc, "roles", str_printf(f->c->arena, "none: %s", why_not));
    EACH_OP_INSIDE_OUT(o, f->body)
        if (is_to_lower(f, o, !why_not))
            lower(o);
}
