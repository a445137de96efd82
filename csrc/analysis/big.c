/* big: blocks of more registers than a thread should hold at once. Where a kernel has many
 * such (pass chunk decides it), they lie in local memory, and ops take slices of them. A gather and a print
 * take what no slices are made of: code reads its registers from where the block lies, piece by piece.
 */
#include "analysis/analysis.h"

enum { BIG_REGS = 64 };

bool
is_in_registers(const Val *v)
{
    return v->type->rank && v->type->layout && !v->type->slots;
}

bool
has_many_registers(const Val *v)
{
    return is_in_registers(v) && 1 << v->type->layout->n[IN_REG] > BIG_REGS;
}

/* ---- piece by piece ---- */

bool
is_streamed(const Op *o)
{
    return o->op == OP_GATHER || o->op == OP_PRINT;
}

/* v's only user, if nothing from v's op to it writes a place or, unless it is read there, reads one. */
static const Op *
next_user(const Val *v, bool may_load)
{
    const Op *user = v->uses && !v->uses->next ? v->uses->user : NULL;
    for (const Op *o = v->def; user && o->next && o->next != user; o = o->next)
        if (op_has(o->next, OPF_CONTROL) || o->next->op == OP_LOCAL_STORE ||
            (o->next->op == OP_LOCAL_LOAD && !may_load))
            return NULL;
    return user && user->block == v->def->block ? user : NULL;
}

static const Val *
place_of_whole(const Op *local)
{
    bool is_whole = !ir_attr(local, ATTR_PART) && arg(local, 0)->type->slots == 1;
    return is_whole ? arg(local, 0) : NULL;
}

const Val *
streamed_from(const Val *v)
{
    if (!v->def || v->def->op != OP_LOCAL_LOAD || !has_many_registers(v))
        return NULL;
    const Op *user = next_user(v, true);
    return user && is_streamed(user) ? place_of_whole(v->def) : NULL;
}

const Val *
streamed_to(const Val *v)
{
    if (!v->def || v->def->op != OP_GATHER || !has_many_registers(v))
        return NULL;
    const Op *user = next_user(v, false);
    return user && user->op == OP_LOCAL_STORE ? place_of_whole(user) : NULL;
}

int64_t
slices_bytes(const Type *t)
{
    return (int64_t)ty_bytes(t) * t->slots << t->layout->n[IN_REG];
}

static int64_t
end_of_locals(const Block *b)
{
    int64_t end = 0;
    EACH_OP(o, b)
        if (o->op == OP_LOCAL_ALLOC)
            end = MAX(end, ir_attr(o, ATTR_AT) + slices_bytes(result(o, 0)->type));
    return end;
}

int64_t
local_bytes(const Func *f)
{
    return end_of_locals(f->body);
}
