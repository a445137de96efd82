/* pipeline_operand: what threads read of slots for a product of warpgroups, they read an iteration ahead.
 *
 * Where threads read a slot, convert it and multiply out of registers, the tensor cores wait for that in each
 * iteration, and all warps come to it at once, behind the barrier at the loop's head. Where warps of
 * their own bring the other operand, that barrier orders the threads' slots alone, so it may stand beside the product:
 *
 *     wait; barrier                        for (.., x):
 *     copies                                 a = cast x
 *     x = shared_load s[read]          =>    acc = dot a, b, acc
 *     a = cast x                             copies
 *     acc = dot a, b, acc                    wait; barrier
 *                                            x' = shared_load s[next]
 *
 * What the barrier promises stays, as in pipeline_steps.c: the next iteration's group has landed for all, and all
 * have read the slot that the next iteration's copies fill. The wait comes an iteration earlier. What is read is
 * converted behind the product's end (start_dots), as ptxas runs products one by one where it sees registers of the
 * next one written before.
 *
 * 2048^3 by 128x256x64 and 8 warps on an H100, us, without, with, and by Triton: left operand cast from float32 42.4,
 * 37.0, 36.4; scaled by columns 36.4, 31.7, 31.4.
 */
#include "passes/simt/layouts.h"
#include "passes/simt/pipeline.h"

enum { MAX_PRESSURE = 215 }; /* words of a thread */

/* Is the dot a sum that goes round, of registers and of what lies in a ring? */
static bool
is_of_registers(const Op *dot)
{
    return !arg(dot, 0)->type->slots && ring_of(arg(dot, 1)) &&
           is_running_sum(dot->block, dot);
}

static bool
reads_slot(const Pipelined *p, const Op *o)
{
    return o->op == OP_SHARED_LOAD && arg(o, 1) == p->read;
}

/* Of a thread, for all that the iteration reads; 0: it reads something behind the product. */
static int
read_words(const Pipelined *p, const Op *dot)
{
    int bits = 0;
    for (const Op *o = dot; o; o = o->next)
        if (reads_slot(p, o))
            return 0;
    for (const Op *o = dot; o; o = o->prev)
        if (reads_slot(p, o))
            bits += ty_bits(result(o, 0)->type)
                    << result(o, 0)->type->layout->n[IN_REG];
    return (bits + 31) / 32;
}

static Val *
read_from(Build *b, const Op *load, Val *slot)
{
    Map copy = {.a = b->f->c->arena};
    map_put(&copy, arg(load, 1), 0, slot);
    return result(ir_clone(b, load, &copy), 0);
}

static void
rewrite(const Pipelined *p, Op *dot)
{
    Block *body = p->loop->regions[0];
    Build out = ir_before(p->loop), end = ir_before(body->last);
    Map none = {.a = p->f->c->arena};
    ir_clone(&out, p->wait, &none);
    ir_clone(&out, p->barrier, &none);
    for (Op *o = body->first, *next; o != dot; o = next) {
        next = o->next;
        if (o->op == OP_ASYNC_COPY || o->op == OP_ASYNC_COMMIT)
            ir_move_before(o, body->last);
    }
    ir_move_before(p->wait, body->last);
    ir_move_before(p->barrier, body->last);
    for (Op *o = body->first, *next; o != dot; o = next) {
        next = o->next;
        if (!reads_slot(p, o))
            continue;
        Val *v = result(o, 0), *first = read_from(&out, o, p->first_slot),
            *later = read_from(&end, o, p->next_read);
        ir_replace(v, ir_carry(p->loop, first, v->name));
        ir_add_arg(body->last, later);
        ir_erase(o);
    }
}

bool
pipeline_operand(const Pipelined *p)
{
    Op *dot = pipeline_only_dot(p->loop->regions[0]);
    int words = dot && is_of_registers(dot) && p->ahead > 1 ? read_words(p, dot) : 0;
    if (!words || loop_pressure(p->loop) + words > MAX_PRESSURE)
        return false;
    ir_report(p->f, dot->loc, "left operand",
              "read an iteration ahead, beside the product");
    rewrite(p, dot);
    return true;
}
