/* stmt: one function per kind of statement, and how values survive control flow.
 *
 * A suite is lowered straight into blocks; local variables live in an array by slot. An if
 * whose condition is known only at run time lowers both suites from the same variables and
 * then merges them: what differs becomes a result of the IF. A loop carries every variable
 * that its body assigns and that had a value before.
 *
 * Early return, without a jump: a suite tells whether it FALLS through, has RETURNED, or
 * MAYBE returned.
 *
 *     if c: return a        =>     r = if c { yield a }
 *     rest                              else { rest; yield its value }
 *
 * When exactly one side of an if returned, the rest of the suite moves into the other one.
 * When a nested if left it open (MAYBE), a hidden i1 local says whether it has returned, and
 * the rest runs under "if it has not". The value itself is a hidden local too.
 */
#include "frontend/fe.h"

enum { MAX_LEAVES = 512, MAX_STEPS = 400000 };

typedef Status Suite(Fe *f, void *data);
typedef struct Rest {
    Suite *run;
    void *data;
} Rest;

static Status
run_rest(Fe *f, Rest r)
{
    return r.run(f, r.data);
}

/* ---- blocks and merging ------------------------------------------------------------------------ */

/* The end of one region of an if, with the values it yields. */
typedef struct Side {
    Block *block;
    Value *local; /* the variables when the side ended */
    Status status;
    VEC(Val *) yield;
} Side;

static Value *
copy_locals(Fe *f)
{
    int n = f->frame->tree->n_locals + 2;
    Value *v = NEW_N(f->a, Value, n);
    memcpy(v, f->frame->local, (size_t)n * sizeof *v);
    return v;
}

static void
set_locals(Fe *f, const Value *v)
{
    memcpy(f->frame->local, v, ((size_t)f->frame->tree->n_locals + 2) * sizeof *v);
}

/* Ops go to the end of block until they go elsewhere. */
static void
build_in(Fe *f, Block *block)
{
    f->b.block = block;
    f->b.before = NULL;
}

static Val *
zero(Fe *f, const Type *t)
{
    return ir_const_bits(&f->b, t, 0);
}

/* A result of the if op that is v[0] or v[1]; NULL: that side returned, any value will do. */
static Val *
choose(Fe *f, Op *op, Side *side, Val *v0, Val *v1)
{
    if (v0 == v1)
        return v0;
    Val *v[2] = {v0, v1};
    const Type *t = v0 ? v0->type : v1->type;
    for (int k = 0; k < 2; k++) {
        if (!v[k]) {
            build_in(f, side[k].block);
            v[k] = zero(f, t);
        }
        PUSH(f->a, &side[k].yield, v[k]);
    }
    Val *r = ir_add_result(op, t);
    r->name = v0 ? v0->name : v1->name;
    return r;
}

/* Leaf by leaf; a or b may be NULL (the side returned). Types agree. */
static Value
choose_value(Fe *f, Op *op, Side *side, const Value *a, const Value *b)
{
    Val *la[MAX_LEAVES], *lb[MAX_LEAVES], *r[MAX_LEAVES];
    int n = v_flatten(f, a ? *a : *b, la, MAX_LEAVES, 0);
    if (a && b)
        v_flatten(f, *b, lb, MAX_LEAVES, 0);
    for (int i = 0; i < n; i++)
        r[i] = a && b ? choose(f, op, side, la[i], lb[i])
               : a    ? choose(f, op, side, la[i], NULL)
                      : choose(f, op, side, NULL, la[i]);
    int at = 0;
    return v_rebuild(f, a ? *a : *b, r, &at);
}

/* Same structure, same constants, same types of the leaves? */
static bool
same_types(Fe *f, Value a, Value b)
{
    Val *la[MAX_LEAVES], *lb[MAX_LEAVES];
    if (!v_same_shape(a, b))
        return false;
    int n = v_flatten(f, a, la, MAX_LEAVES, 0);
    v_flatten(f, b, lb, MAX_LEAVES, 0);
    for (int i = 0; i < n; i++)
        if (la[i]->type != lb[i]->type)
            return false;
    return true;
}

static Value
merge_local(Fe *f, Op *op, Side *side, int s, Value before, bool live0, bool live1)
{
    Value a = side[0].local[s], b = side[1].local[s];
    Frame *fr = f->frame;
    if (!live0 || !live1) {
        Value v = live0 ? a : b;
        if (v_identical(v, before) || is_absent(v))
            return v;
        return choose_value(f, op, side, live0 ? &v : NULL, live0 ? NULL : &v);
    }
    if (v_identical(a, b))
        return a;
    if (is_absent(a) || is_absent(b)) {
        fr->branch_only[s] = true;
        return (Value){0};
    }
    for (int k = 0; k < 2; k++) {
        Value *mine = k ? &b : &a, other = k ? a : b;
        if (is_number(*mine) && !v_same_shape(*mine, other)) {
            build_in(f, side[k].block);
            *mine = fe_decay(f, *mine);
        }
    }
    if (!same_types(f, a, b)) {
        fr->branch_only[s] = true;
        if (is_absent(before))
            return before;
        err_at(f->c, fr->set_at[s], BRANCH_TYPE, fr->tree->local[s], v_short(f, a),
               v_short(f, b));
    }
    return choose_value(f, op, side, &a, &b);
}

static void
merge_return(Fe *f, Op *op, Side *side)
{
    int s = slot_ret(f->frame);
    Value *a = side[0].status != FALLS ? &side[0].local[s] : NULL;
    Value *b = side[1].status != FALLS ? &side[1].local[s] : NULL;
    Value r = {0};
    if (a && b && v_identical(*a, *b))
        r = *a;
    else if (a && b && !same_types(f, *a, *b)) {
        err_help(f->c,
                 "every return of a function gives the same type; a function that "
                 "ends without one returns None");
        err_at(f->c, f->frame->set_at[s], RETURN,
               str_printf(f->a, "%s() returns %s here and %s elsewhere",
                          f->frame->tree->name, v_short(f, *b), v_short(f, *a)));
    } else if (a || b)
        r = choose_value(f, op, side, a, b);
    f->frame->local[s] = r;
}

static Val *
returned_flag(Fe *f, Side *side)
{
    if (side->status == MAYBE)
        return side->local[slot_flag(f->frame)].val;
    build_in(f, side->block);
    return ir_const_int(&f->b, ty_scalar(f->c, E_I1), side->status == RETURNED);
}

static Status after_maybe(Fe *f, Rest rest);

/* if cond: then else: other. When one of them returned and the other did not, rest (when
 * there is one) is lowered at the end of the latter, and *used says so. */
static Status
branch(Fe *f, Val *cond, Rest then, Rest other, Rest *rest, bool *used)
{
    Frame *fr = f->frame;
    Block *outer = f->b.block;
    const Loc *loc = f->b.loc;
    Value *before = copy_locals(f);
    Op *op = ir_op(&f->b, OP_IF, 1, &cond, 0, NULL);
    Side side[2] = {0};
    for (int k = 0; k < 2; k++) {
        side[k].block = ir_block(f->func, op);
        ir_set_region(op, k, side[k].block);
        build_in(f, side[k].block);
        set_locals(f, before);
        side[k].status = run_rest(f, k ? other : then);
        side[k].local = copy_locals(f);
    }
    if (rest && (side[0].status == RETURNED) != (side[1].status == RETURNED)) {
        Side *s = &side[side[0].status == RETURNED];
        build_in(f, s->block);
        set_locals(f, s->local);
        s->status = s->status == MAYBE ? after_maybe(f, *rest) : run_rest(f, *rest);
        s->local = copy_locals(f);
        *used = true;
    }
    bool live0 = side[0].status != RETURNED, live1 = side[1].status != RETURNED;
    f->b.loc = loc;
    set_locals(f, before);
    for (int s = 0; s < fr->tree->n_locals && (live0 || live1); s++)
        fr->local[s] = merge_local(f, op, side, s, before[s], live0, live1);
    merge_return(f, op, side);
    Status st = side[0].status == side[1].status ? side[0].status : MAYBE;
    if (st == MAYBE) {
        Val *a = returned_flag(f, &side[0]), *b = returned_flag(f, &side[1]);
        fr->local[slot_flag(fr)] = v_val(choose(f, op, side, a, b));
    }
    for (int k = 0; k < 2; k++) {
        build_in(f, side[k].block);
        ir_op(&f->b, OP_YIELD, side[k].yield.n, side[k].yield.at, 0, NULL);
    }
    build_in(f, outer);
    return st;
}

static Status
already_returned(Fe *f, void *data)
{
    (void)f;
    (void)data;
    return RETURNED;
}

/* The suite may have returned: the rest runs when it has not. */
static Status
after_maybe(Fe *f, Rest rest)
{
    Val *flag = f->frame->local[slot_flag(f->frame)].val;
    return branch(f, flag, (Rest){already_returned, NULL}, rest, NULL, NULL);
}

/* ---- suites ---------------------------------------------------------------------------------- */

/* The statements from i on; is_top: the end of the function follows. */
typedef struct List {
    Node **at;
    int i, n;
    bool is_top;
} List;

static Status stmt(Fe *f, Node *n, Rest *rest, bool *used);

static Status
run_list(Fe *f, void *data)
{
    List l = *(List *)data;
    for (; l.i < l.n; l.i++) {
        List next = {l.at, l.i + 1, l.n, l.is_top};
        Rest rest = {run_list, &next};
        bool used = false;
        Status st = stmt(f, l.at[l.i], &rest, &used);
        if (used || st == RETURNED)
            return st;
        if (st == MAYBE)
            return after_maybe(f, rest);
    }
    if (!l.is_top)
        return FALLS;
    f->frame->local[slot_ret(f->frame)] = v_obj(Py_None);
    f->frame->set_at[slot_ret(f->frame)] = f->b.loc;
    return RETURNED;
}

Value
fe_body(Fe *f)
{
    Tree *t = f->frame->tree;
    List l = {t->body, 0, t->n_body, true};
    Block *outer = f->b.block;
    run_list(f, &l);
    build_in(f, outer);
    return f->frame->local[slot_ret(f->frame)];
}

static Status
stmt_If(Fe *f, Node *n, Rest *rest, bool *used)
{
    Value c = fe_read(f, fe_expr(f, n->a));
    f->b.loc = fe_loc(f, n->a);
    List then = {n->list, 0, n->n_list, false},
         other = {n->list2, 0, n->n_list2, false};
    if (c.kind != V_TENSOR) {
        if (!is_py_none(c) && !is_int_obj(c)) {
            err_help(f->c, "compare it with something: the result is then a bool");
            err_at(f->c, f->b.loc, CONDITION,
                   str_printf(f->a,
                              "the condition of an if must be a bool, an int, None or "
                              "a scalar, not %s",
                              v_describe(f, c)));
        }
        return run_list(f, fe_truth(f, c, "the condition") ? &then : &other);
    }
    Val *cond = fe_condition(f, c, "the condition of an if");
    return branch(f, cond, (Rest){run_list, &then}, (Rest){run_list, &other}, rest,
                  used);
}

Value
fe_ternary(Fe *f, Node *n, Val *cond)
{
    Node *part[2] = {n->b, n->c};
    Value v[2];
    Side side[2] = {0};
    Block *outer = f->b.block;
    Op *op = ir_op(&f->b, OP_IF, 1, &cond, 0, NULL);
    for (int k = 0; k < 2; k++) {
        side[k].block = ir_block(f->func, op);
        ir_set_region(op, k, side[k].block);
        build_in(f, side[k].block);
        v[k] = fe_decay(f, fe_expr(f, part[k]));
    }
    f->b.loc = fe_loc(f, n);
    if (!same_types(f, v[0], v[1])) {
        err_help(f->c,
                 "both sides need one type, also of literals: 0.0 beside f32; or use "
                 "tl.where, which promotes");
        fail(f, TYPE, "the two sides of 'a if c else b' have the types %s and %s",
             v_short(f, v[0]), v_short(f, v[1]));
    }
    Value r = choose_value(f, op, side, &v[0], &v[1]);
    for (int k = 0; k < 2; k++) {
        build_in(f, side[k].block);
        ir_op(&f->b, OP_YIELD, side[k].yield.n, side[k].yield.at, 0, NULL);
    }
    build_in(f, outer);
    return r;
}

/* ---- loops ------------------------------------------------------------------------------------ */

/* What a loop carries: the locals its body assigns and that had a value before. */
typedef struct Carried {
    int n_slots, n_leaves;
    int *slot;
    Value *init;
    Val *leaf[MAX_LEAVES]; /* initial values */
    const Type *type[MAX_LEAVES];
} Carried;

static Carried *
carried(Fe *f, const Node *n, const Node *target)
{
    Carried *k = NEW(f->a, Carried);
    Frame *fr = f->frame;
    k->slot = NEW_N(f->a, int, n->n_stored + 1);
    k->init = NEW_N(f->a, Value, n->n_stored + 1);
    for (int i = 0; i < n->n_stored; i++) {
        int s = n->stored[i];
        if (is_absent(fr->local[s]) || (target && target->slot == s))
            continue;
        Value v = fe_decay(f, fr->local[s]);
        k->slot[k->n_slots] = s;
        k->init[k->n_slots++] = v;
        k->n_leaves = v_flatten(f, v, k->leaf, MAX_LEAVES, k->n_leaves);
    }
    for (int i = 0; i < k->n_leaves; i++)
        k->type[i] = k->leaf[i]->type;
    return k;
}

/* Gives the carried locals the values in leaf. */
static void
set_carried(Fe *f, const Carried *k, Val *const *leaf)
{
    int at = 0;
    for (int i = 0; i < k->n_slots; i++)
        f->frame->local[k->slot[i]] = v_rebuild(f, k->init[i], leaf, &at);
}

/* Their values at the end of the body, of the types they began with. */
static void
get_carried(Fe *f, const Carried *k, Val **leaf)
{
    Frame *fr = f->frame;
    int n = 0;
    for (int i = 0; i < k->n_slots; i++) {
        int s = k->slot[i];
        Value v = fe_decay(f, fr->local[s]);
        if (!same_types(f, k->init[i], v)) {
            Val *a[MAX_LEAVES], *b[MAX_LEAVES];
            if (k->init[i].kind == V_TENSOR && v.kind == V_TENSOR) {
                v_flatten(f, k->init[i], a, MAX_LEAVES, 0);
                v_flatten(f, v, b, MAX_LEAVES, 0);
                if (ty_same_shape(a[0]->type, b[0]->type) && !b[0]->type->is_ptr)
                    err_help(f->c, "start with tl.%s, or assign %s.to(tl.%s)",
                             elem_info[b[0]->type->elem].tl, fr->tree->local[s],
                             elem_info[a[0]->type->elem].tl);
                else
                    err_help(f->c,
                             "give it its final shape before the loop: tl.zeros(..)");
            } else
                err_help(f->c,
                         "a loop that runs may only change tensors, not constants");
            err_at(f->c, fr->set_at[s] ? fr->set_at[s] : f->b.loc, LOOP_TYPE,
                   fr->tree->local[s], v_short(f, k->init[i]), v_short(f, v));
        }
        n = v_flatten(f, v, leaf, MAX_LEAVES, n);
    }
}

/* After the loop: what was first assigned inside is gone. */
static void
leave_loop(Fe *f, const Node *n, const Value *before)
{
    set_locals(f, before);
    for (int i = 0; i < n->n_stored; i++)
        if (is_absent(before[n->stored[i]]))
            f->frame->loop_only[n->stored[i]] = true;
}

/* A bound of a range as an integer scalar. */
static Val *
bound(Fe *f, Value v, const char *what)
{
    v = fe_read(f, v);
    if (v.kind != V_TENSOR && !is_int_obj(v))
        fail(f, TYPE, "%s must be an integer, not %s", what, v_describe(f, v));
    Val *x = fe_tensor(f, v, what);
    if (x->type->rank || x->type->is_ptr || !elem_is_int(x->type->elem))
        fail(f, TYPE, "%s must be an integer scalar, not %s", what,
             ty_str(f->a, x->type));
    return x;
}

/* A value the loop never changes need not be carried. */
static void
drop_unchanged(Carried *k, Op *op, Block *body, Val **out)
{
    Op *yield = body->last;
    for (int i = k->n_leaves - 1; i >= 0; i--) {
        out[i] = result(op, i);
        if (arg(yield, i) != body->args[1 + i])
            continue;
        ir_replace(body->args[1 + i], k->leaf[i]);
        ir_drop_args(yield, i, 1);
        ir_drop_block_arg(body, 1 + i);
        ir_drop_args(op, 3 + i, 1);
        ir_drop_result(op, i);
        out[i] = k->leaf[i];
    }
}

static void
run_time_for(Fe *f, Node *n, const Range *r)
{
    Frame *fr = f->frame;
    if (n->n_list2)
        err_at(f->c, fe_loc(f, n), SYNTAX, "'else' of a loop that is not unrolled");
    if (n->b->kind != AST_Name)
        err_at(f->c, fe_loc(f, n->b), SYNTAX, "unpacking in 'for'");
    /* range(a, b, -s) runs as k = 0, s, .. below a - b with the index a - k. */
    Value step_v = fe_read(f, r->step);
    bool down = is_int_obj(step_v) && v_const_int(f, step_v, "the step") < 0;
    if (is_int_obj(step_v) && v_const_int(f, step_v, "the step") == 0)
        fail(f, VALUE, "the step of a range must not be 0");
    if (down)
        step_v = v_int(f, -v_const_int(f, step_v, "the step"));
    Val *lb = bound(f, r->start, "the start of a range");
    Val *ub = bound(f, r->stop, "the end of a range");
    Val *step = bound(f, step_v, "the step of a range");
    Elem e = fe_promote_elems(
        f, fe_promote_elems(f, lb->type->elem, ub->type->elem, false, "range"),
        step->type->elem, false, "range");
    if (elem_info[e].bits < 32)
        e = E_I32;
    lb = fe_cast(f, lb, e, ROUND_RTNE);
    ub = fe_cast(f, ub, e, ROUND_RTNE);
    step = fe_cast(f, step, e, ROUND_RTNE);
    Val *from = lb;
    if (down) {
        ub = ir_bin(&f->b, OP_SUB, lb, ub);
        lb = fe_const_int(f, lb->type, 0);
    }
    Carried *k = carried(f, n, n->b);
    Value *before = copy_locals(f);
    Block *outer = f->b.block;
    const Loc *loc = f->b.loc;
    Val **args = NEW_N(f->a, Val *, 3 + k->n_leaves);
    args[0] = lb;
    args[1] = ub;
    args[2] = step;
    memcpy(args + 3, k->leaf, (size_t)k->n_leaves * sizeof *args);
    Op *op = ir_op(&f->b, OP_FOR, 3 + k->n_leaves, args, k->n_leaves, k->type);
    ir_set_attr(op, ATTR_STAGES, r->stages);
    ir_set_attr(op, ATTR_UNROLL, r->unroll);
    ir_set_attr(op, ATTR_LOOP, r->flags);
    Block *body = ir_block(f->func, op);
    ir_set_region(op, 0, body);
    Val *iv = ir_block_arg(body, lb->type, down ? NULL : n->b->name);
    Val **in = NEW_N(f->a, Val *, k->n_leaves + 1);
    for (int i = 0; i < k->n_leaves; i++)
        in[i] = ir_block_arg(body, k->type[i], k->leaf[i]->name);
    build_in(f, body);
    set_carried(f, k, in);
    if (down)
        iv = ir_bin(&f->b, OP_SUB, from, iv);
    fe_assign(f, n->b, v_val(iv));
    fr->n_runtime_loops++;
    List l = {n->list, 0, n->n_list, false};
    run_list(f, &l);
    fr->n_runtime_loops--;
    Val **out = NEW_N(f->a, Val *, k->n_leaves + 1);
    build_in(f, body);
    f->b.loc = loc;
    get_carried(f, k, out);
    ir_op(&f->b, OP_YIELD, k->n_leaves, out, 0, NULL);
    build_in(f, outer);
    drop_unchanged(k, op, body, out);
    leave_loop(f, n, before);
    set_carried(f, k, out);
}

/* The iterations from i on of a loop that is unrolled. */
typedef struct Unroll {
    Node *n;
    TupleValue *items;
    int i;
} Unroll;

static Status
run_unrolled(Fe *f, void *data)
{
    Unroll u = *(Unroll *)data;
    for (; u.i < u.items->n; u.i++) {
        List body = {u.n->list, 0, u.n->n_list, false};
        f->b.loc = fe_loc(f, u.n);
        fe_assign(f, u.n->b, u.items->at[u.i]);
        Status st = run_list(f, &body);
        if (st == RETURNED)
            return st;
        if (st == MAYBE) {
            Unroll next = {u.n, u.items, u.i + 1};
            return after_maybe(f, (Rest){run_unrolled, &next});
        }
    }
    List l = {u.n->list2, 0, u.n->n_list2, false};
    return run_list(f, &l);
}

static Status
stmt_For(Fe *f, Node *n)
{
    Value v = fe_read(f, fe_expr(f, n->a));
    f->b.loc = fe_loc(f, n->a);
    if (v.kind != V_RANGE && v.kind != V_TUPLE) {
        err_help(f->c, "write range(..), tl.range(..) or tl.static_range(..)");
        fail(f, TYPE, "'for' runs over a range or a tuple, not over %s",
             v_describe(f, v));
    }
    if (v.kind == V_RANGE && !v.range->is_static) {
        run_time_for(f, n, v.range);
        return FALLS;
    }
    Unroll u = {n, fe_elements(f, v, "what is looped over").tuple, 0};
    return run_unrolled(f, &u);
}

static void
stmt_While(Fe *f, Node *n)
{
    Frame *fr = f->frame;
    if (n->n_list2)
        err_at(f->c, fe_loc(f, n), SYNTAX, "'else' of a while");
    f->b.loc = fe_loc(f, n->a);
    Carried *k = carried(f, n, NULL);
    Value *before = copy_locals(f);
    Block *outer = f->b.block, *test, *body;
    const Loc *loc = f->b.loc;
    Op *op = ir_op(&f->b, OP_WHILE, k->n_leaves, k->leaf, k->n_leaves, k->type);
    Val **in = NEW_N(f->a, Val *, k->n_leaves + 1);
    Val **out = NEW_N(f->a, Val *, k->n_leaves + 1);
    test = ir_block(f->func, op);
    ir_set_region(op, 0, test);
    for (int i = 0; i < k->n_leaves; i++)
        in[i] = ir_block_arg(test, k->type[i], k->leaf[i]->name);
    build_in(f, test);
    set_carried(f, k, in);
    fr->n_runtime_loops++;
    Value c = fe_read(f, fe_expr(f, n->a));
    f->b.loc = loc;
    if (c.kind != V_TENSOR) {
        if (fe_truth(f, c, "the condition of a while")) {
            err_help(f->c,
                     "the condition never changes; compare a variable that the body "
                     "assigns");
            fail(f, CONDITION, "this while never ends");
        }
        fr->n_runtime_loops--;
        build_in(f, outer);
        set_locals(f, before);
        ir_erase(op);
        return;
    }
    Val *cond = fe_condition(f, c, "the condition of a while");
    get_carried(f, k, out);
    Val **args = NEW_N(f->a, Val *, k->n_leaves + 1);
    args[0] = cond;
    memcpy(args + 1, out, (size_t)k->n_leaves * sizeof *args);
    ir_op(&f->b, OP_CONDITION, k->n_leaves + 1, args, 0, NULL);
    body = ir_block(f->func, op);
    ir_set_region(op, 1, body);
    for (int i = 0; i < k->n_leaves; i++)
        in[i] = ir_block_arg(body, k->type[i], k->leaf[i]->name);
    build_in(f, body);
    set_carried(f, k, in);
    List l = {n->list, 0, n->n_list, false};
    run_list(f, &l);
    fr->n_runtime_loops--;
    build_in(f, body);
    f->b.loc = loc;
    get_carried(f, k, out);
    ir_op(&f->b, OP_YIELD, k->n_leaves, out, 0, NULL);
    build_in(f, outer);
    for (int i = 0; i < k->n_leaves; i++)
        out[i] = result(op, i);
    leave_loop(f, n, before);
    set_carried(f, k, out);
}

/* ---- the rest --------------------------------------------------------------------------------- */

static Status
stmt_Return(Fe *f, Node *n)
{
    Frame *fr = f->frame;
    Value v = n->a ? fe_decay(f, fe_read(f, fe_expr(f, n->a))) : v_obj(Py_None);
    f->b.loc = fe_loc(f, n);
    if (!fr->call && !is_py_none(v)) {
        err_help(f->c, "a kernel gives its results by tl.store");
        err_at(f->c, f->b.loc, RETURN, "a kernel returns no value");
    }
    if (fr->n_runtime_loops) {
        err_help(f->c, "set a variable in the loop and return after it");
        err_at(f->c, f->b.loc, SYNTAX, "'return' inside a loop that is not unrolled");
    }
    fe_set(f, slot_ret(fr), v);
    return RETURNED;
}

static void
stmt_Assert(Fe *f, Node *n)
{
    PyObject *fn = fe_own(f, PyObject_GetAttrString(f->core, "device_assert"));
    Value args[2] = {fe_expr(f, n->a)};
    int n_args = 1;
    if (n->b)
        args[n_args++] = fe_expr(f, n->b);
    f->b.loc = fe_loc(f, n);
    fe_call_value(f, v_obj(fn), n_args, args);
}

static bool
is_block_ptr(Value v)
{
    return v.kind == V_BLOCK_PTR && !v.bp->is_desc;
}

static Status
stmt_any(Fe *f, Node *n, Rest *rest, bool *used)
{
    switch (n->kind) {
    case AST_Assign: {
        Value v = fe_decay(f, fe_expr(f, n->a));
        f->b.loc = fe_loc(f, n);
        for (int i = 0; i < n->n_list; i++)
            fe_assign(f, n->list[i], v);
        return FALLS;
    }
    case AST_AnnAssign: fe_ann_assign(f, n); return FALLS;
    case AST_AugAssign: fe_aug_assign(f, n); return FALLS;
    case AST_If: return stmt_If(f, n, rest, used);
    case AST_For: return stmt_For(f, n);
    case AST_While: stmt_While(f, n); return FALLS;
    case AST_Return: return stmt_Return(f, n);
    case AST_Assert: stmt_Assert(f, n); return FALLS;
    case AST_Pass: return FALLS;
    case AST_Expr:
        if (n->a->kind != AST_Constant && is_block_ptr(fe_expr(f, n->a))) {
            err_help(f->c, "write p = tl.advance(p, ..)");
            f->b.loc = fe_loc(f, n);
            fail(f, VALUE, "The result of advance is not being used");
        }
        return FALLS;
    case AST_Break:
    case AST_Continue:
        err_help(f->c, "%s",
                 n->kind == AST_Break ? "make it part of a while's condition"
                                      : "put the rest of the body into an if");
        err_at(f->c, fe_loc(f, n), SYNTAX, node_words[n->kind]);
    default:
        err_at(f->c, fe_loc(f, n), SYNTAX,
               node_words[n->kind] ? node_words[n->kind] : "this statement");
    }
}

static Status
stmt(Fe *f, Node *n, Rest *rest, bool *used)
{
    fe_enter(f, n);
    if (++f->n_steps > MAX_STEPS)
        err_at(f->c, fe_loc(f, n), LIMIT,
               "the kernel has too many statements after inlining and unrolling");
    Status st = stmt_any(f, n, rest, used);
    fe_leave(f);
    return st;
}
