/* pipeline_bounds: which iterations of a loop have another one some stages behind them.
 *
 * i + stage * step is compared with the end without being computed where it might wrap: a
 * constant step moves the end instead, any other is done in 64 bits.
 */
#include "passes/simt/pipeline.h"

/* ub - stage * step, but not below what the type holds. */
static Val *
constant_end(Build *b, const Op *loop, int64_t step, int stage)
{
    Val *ub = arg(loop, 1);
    const Type *t = ub->type;
    Elem e = t->elem;
    uint64_t top = (uint64_t)1 << (elem_info[e].bits - 1);
    int64_t least = elem_is_signed(e) ? elem_to_int(e, top) : 0, by = stage * step;
    if (!stage)
        return ub;
    Val *floor = ir_const_int(b, t, least + by), *d = ir_const_int(b, t, by);
    Val *is_low = ir_bin(b, OP_LT, ub, floor);
    return ir_select(b, is_low, ir_const_int(b, t, least), ir_bin(b, OP_SUB, ub, d));
}

static Val *
widened(Build *b, Val *v)
{
    return ir_cast(b, v, E_I64);
}

PipeBound
pipeline_bound(Build *b, const Op *loop, int64_t step, int stage)
{
    if (step)
        return (PipeBound){constant_end(b, loop, step, stage), NULL};
    Val *by = widened(b, arg(loop, 2)), *zero = ir_const_int(b, by->type, 0);
    Val *far = ir_bin(b, OP_MUL, by, ir_const_int(b, by->type, stage));
    Val *end = ir_bin(b, OP_SUB, widened(b, arg(loop, 1)), far);
    return (PipeBound){end, ir_bin(b, OP_GT, by, zero)};
}

/* i1: does the iteration `stage` behind that of iv exist? iv's does, or is the first. */
Val *
pipeline_is_inside(Build *b, const PipeBound *k, Val *iv)
{
    if (!k->is_up)
        return ir_bin(b, OP_LT, iv, k->end);
    iv = widened(b, iv);
    return ir_select(b, k->is_up, ir_bin(b, OP_LT, iv, k->end),
                     ir_bin(b, OP_GT, iv, k->end));
}

/* The induction variable `stage` iterations after iv; meant only where that is inside. */
Val *
pipeline_iv_after(Build *b, const Op *loop, int64_t step, Val *iv, int stage)
{
    if (!stage)
        return iv;
    Val *by = ir_const_int(b, iv->type, step ? stage * step : stage);
    if (!step)
        by = ir_bin(b, OP_MUL, arg(loop, 2), by);
    return ir_bin(b, OP_ADD, iv, by);
}

int
pipeline_trips(const Op *loop)
{
    int64_t lb, ub, step;
    if (!ir_const_as_int(arg(loop, 0), &lb) || !ir_const_as_int(arg(loop, 1), &ub) ||
        !ir_const_as_int(arg(loop, 2), &step) || step < 1 || ub <= lb)
        return MAX_SLOTS;
    uint64_t span = (uint64_t)ub - (uint64_t)lb - 1; /* of all of int64, too */
    return (int)MIN(span / (uint64_t)step + 1, (uint64_t)MAX_SLOTS);
}
