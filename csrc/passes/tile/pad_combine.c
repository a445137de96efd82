/* pad_combine: reductions and scans of padded blocks.
 *
 * Along a padded axis padding must not be seen. Where every result of the region is one op on
 * its two arguments, padding gets what that op does not notice:
 *
 *     add -0.0 or 0   mul 1   or, xor 0   and -1   min, max of ints: the extreme
 *     min, max of floats: NaN, which loses       minnan, maxnan: an infinity
 *
 * Any other region is told by one more i1 which elements are there, and chooses:
 *
 *     ^(a.., has_a, b.., has_b) {        r.. = the region of (a.., b..)
 *         a if not has_b, else b if not has_a, else r        has_a | has_b
 *     }
 *
 * A forward scan meets padding last: nothing to do. A reduction over all of a block that was
 * flattened for it reads the block itself: padding between the elements is as good as behind
 * them, and nothing moves.
 */
#include "passes/tile/pad.h"

bool
neutral_value(const Op *o, int i, uint64_t *bits)
{
    const Block *r = o->regions[0];
    const Op *k = arg(r->last, i)->def;
    const Val *a = r->args[i], *b = r->args[o->n_args + i];
    bool fits = k && k->block == r && k->n_args == 2 &&
                ((arg(k, 0) == a && arg(k, 1) == b) ||
                 (arg(k, 0) == b && arg(k, 1) == a));
    /* f8 has no infinity that every target rounds alike, and nothing reduces it. */
    return fits &&
           elem_info[a->type->elem].bits >= (elem_is_float(a->type->elem) ? 16 : 1) &&
           ir_neutral(k->op, a->type->elem, bits);
}

/* The blocks with neutral values along axis, into out; false: some have none. */
static bool
neutralise(Pad *p, Build *b, const Op *o, unsigned dims, Val *const *in, Val **out)
{
    uint64_t bits, there;
    for (int i = 0; i < o->n_args; i++)
        if (!neutral_value(o, i, &bits))
            return false;
    for (int i = 0; i < o->n_args; i++) {
        Val *v = out[i] = in[i];
        unsigned left = dims;
        neutral_value(o, i, &bits);
        for (int d = 0; d < v->type->rank; d++)
            if (pad_fill(v, d, pad_type(p, v)->shape[d], &there) && there == bits)
                left &= ~(1u << d);
        Val *in_v = pad_valid(p, b, v, left);
        if (in_v)
            out[i] = ir_select(b, in_v, v, ir_const_bits(b, v->type, bits));
    }
    return true;
}

/* o with `valid` as one more operand, and a region that minds it; the results of o become
 * those of the new op. */
static Op *
flagged(Pad *p, Build *b, Op *o, Val *const *in, Val *valid)
{
    Arena *a = p->c->arena;
    int n = o->n_args;
    Val **args = NEW_N(a, Val *, n + 1), **out = NEW_N(a, Val *, n + 1);
    const Type **types = NEW_N(a, const Type *, n + 1);
    for (int i = 0; i < n; i++) {
        args[i] = in[i];
        types[i] = result(o, i)->type;
    }
    args[n] = valid;
    types[n] = ty_with_elem(p->c, types[0], E_I1);
    Op *w = ir_op(b, o->op, n + 1, args, n + 1, types);
    memcpy(w->attr, o->attr, sizeof w->attr);
    const Block *from = o->regions[0];
    Block *to = ir_block(p->f, w);
    Map map = {.a = a};
    Val *has[2];
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < n; i++) {
            Val *x = from->args[side * n + i];
            map_put(&map, x, 0, ir_block_arg(to, x->type, x->name));
        }
        has[side] = ir_block_arg(to, ty_scalar(p->c, E_I1), NULL);
    }
    Build r = {.f = p->f, .block = to, .loc = o->loc};
    for (const Op *k = from->first; k != from->last; k = k->next)
        ir_clone(&r, k, &map);
    for (int i = 0; i < n; i++) {
        Val *y = arg(from->last, i), *both = map_get(&map, y, 0);
        Val *left = to->args[i], *right = to->args[n + 1 + i];
        both = ir_select(&r, has[0], both ? both : y, right);
        out[i] = ir_select(&r, has[1], both, left);
    }
    out[n] = ir_bin(&r, OP_OR, has[0], has[1]);
    ir_op(&r, OP_YIELD, n + 1, out, 0, NULL);
    for (int i = 0; i < n; i++)
        pad_replace(p, result(o, i), result(w, i));
    ir_erase(o);
    return w;
}

/* The blocks that the operands of a reduction were flattened from, all of one shape. */
static bool
whole_blocks(Pad *p, const Op *o, Val **whole)
{
    for (int i = 0; i < o->n_args; i++) {
        whole[i] = o->op == OP_REDUCE ? map_get(&p->whole, arg(o, i), 0) : NULL;
        if (!whole[i] || !ty_same_shape(pad_type(p, whole[i]), pad_type(p, whole[0])))
            return false;
    }
    return true;
}

static Val *
flat(Build *b, Val *v)
{
    int32_t n = (int32_t)ty_numel(v->type);
    const Type *t = ty_with_shape(b->f->c, v->type, 1, &n);
    return t == v->type ? v : ir_op1(b, OP_RESHAPE, 1, &v, t);
}

void
pad_combine(Pad *p, Op *o)
{
    int n = o->n_args, axis = (int)ir_attr(o, ATTR_AXIS);
    const Type *t = pad_type(p, arg(o, 0));
    Val **in = NEW_N(p->c->arena, Val *, n), **out = NEW_N(p->c->arena, Val *, n);
    if (t == arg(o, 0)->type)
        return;
    Build b = ir_before(o);
    bool is_whole = whole_blocks(p, o, in);
    unsigned dims = is_whole ? ~0u : 1u << axis;
    for (int i = 0; i < n && !is_whole; i++)
        in[i] = arg(o, i);
    bool is_seen = o->op == OP_REDUCE || ir_attr(o, ATTR_REVERSE);
    Val *valid = NULL;
    if (is_seen && !neutralise(p, &b, o, dims, in, out))
        valid = pad_valid(p, &b, in[0], dims);
    else if (is_seen)
        memcpy(in, out, (size_t)n * sizeof *in);
    for (int i = 0; i < n && is_whole; i++)
        in[i] = flat(&b, in[i]);
    if (valid) {
        flagged(p, &b, o, in, is_whole ? flat(&b, valid) : valid);
        return;
    }
    for (int i = 0; i < n; i++)
        if (in[i] != arg(o, i))
            ir_set_arg(o, i, in[i]);
}
