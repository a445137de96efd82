/* loop: for and while, and how break, continue and return leave one.
 *
 * A loop that runs carries every variable that its body assigns and that had a value
 * before. What ends in continue has merged with what falls through before the body ends, so
 * continue costs nothing here. A break or a return makes a WHILE of the loop, with one more
 * carried i1 for each of them:
 *
 *     for i in range(a, b):        i, broke = a, false
 *         if c: break        =>    while !broke and i < b:
 *         rest                         if c: broke = true  else: rest
 *                                      i = i + 1
 *
 * The condition of a while is not evaluated again after a break: it may load.
 */
#include "frontend/fe.h"

/* What a loop carries: the locals its body assigns and that had a value before. */
typedef struct Carried {
    int n_slots, n_leaves;
    int *slot;
    Value *init;
    const Loc **set_at;    /* where init was assigned */
    Val *leaf[MAX_LEAVES]; /* initial values */
    const Type *type[MAX_LEAVES];
    int target; /* slot of the index of a for; -1: there is none */
    Val *index; /* what it was when the iteration began */
} Carried;

static bool
has_type(Value v, const Type *t)
{
    return v.kind == V_TENSOR && v.val->type == t;
}

/* index: of the type that the index of a for has, or NULL. The index is a variable like others:
 * where it had a value of that type before, it has its last one after the loop. */
static Carried *
carried(Fe *f, const Node *n, const Node *target, const Type *index)
{
    Carried *k = NEW(f->a, Carried);
    Frame *fr = f->frame;
    k->target = target ? target->slot : -1;
    k->slot = NEW_N(f->a, int, n->n_stored + 1);
    k->init = NEW_N(f->a, Value, n->n_stored + 1);
    k->set_at = NEW_N(f->a, const Loc *, n->n_stored + 1);
    for (int i = 0; i < n->n_stored; i++) {
        int s = n->stored[i];
        bool is_index = target && target->slot == s;
        if (is_absent(fr->local[s]))
            continue;
        if (is_index && !has_type(fr->local[s], index))
            continue;
        Value v = fe_decay(f, fr->local[s]);
        k->slot[k->n_slots] = s;
        k->set_at[k->n_slots] = fr->set_at[s];
        k->init[k->n_slots++] = v;
        k->n_leaves = v_flatten(f, v, k->leaf, MAX_LEAVES, k->n_leaves);
    }
    for (int i = 0; i < k->n_leaves; i++)
        k->type[i] = k->leaf[i]->type;
    return k;
}

/* Gives the carried locals the values in leaf. */
static void
set_carried(Fe *f, Carried *k, Val *const *leaf)
{
    int at = 0;
    for (int i = 0; i < k->n_slots; i++) {
        if (k->slot[i] == k->target)
            k->index = leaf[at];
        f->frame->local[k->slot[i]] = v_rebuild(f, k->init[i], leaf, &at);
    }
}

/* Carried variable i has the value v after the body, of another type than before. */
static NORETURN void
loop_type_error(Fe *f, const Carried *k, int i, Value v)
{
    Frame *fr = f->frame;
    int s = k->slot[i];
    Value init = fe_read(f, k->init[i]);
    v = fe_read(f, v);
    const char *name = fr->tree->local[s];
    const char *line = k->set_at[i] ? str_printf(f->a, "line %d: ", k->set_at[i]->line)
                                    : "";
    if (init.kind == V_TENSOR && v.kind == V_TENSOR) {
        const Type *t = init.val->type, *u = v.val->type;
        uint64_t bits;
        if (ty_same_shape(t, u) && !t->is_ptr && !u->is_ptr && !t->rank &&
            elem_is_int(t->elem) && u->elem == E_F32 && ir_is_const(init.val, &bits))
            err_help(f->c, "%sstart with a float, %s = %lld.0, or assign %s.to(tl.%s)",
                     line, name, (long long)elem_to_int(t->elem, bits), name,
                     elem_info[t->elem].tl);
        else if (ty_same_shape(t, u) && !t->is_ptr && elem_is_int(t->elem) &&
                 v.val->def && v.val->def->op == OP_DIV)
            err_help(f->c, "'//' divides integers and gives an integer");
        else if (ty_same_shape(t, u) && !t->is_ptr && !u->is_ptr)
            err_help(f->c, "%sstart with tl.%s, or assign %s.to(tl.%s) in the loop",
                     line, elem_info[u->elem].tl, name, elem_info[t->elem].tl);
        else if (!u->is_ptr && u->rank)
            err_help(f->c, "%sstart with its final shape: %s = tl.zeros(%s, tl.%s)",
                     line, name, ty_shape_str(f->a, u), elem_info[u->elem].tl);
        else
            err_help(f->c, "%sgive it its final shape before the loop", line);
    } else if (fe_as_function(f, init) || fe_as_function(f, v))
        err_help(f->c, "which function is called is known when the kernel is compiled; "
                       "tl.static_range(..) unrolls a loop");
    else if (init.kind == V_TUPLE && v.kind == V_TUPLE)
        err_help(f->c, "%sa tuple keeps its length and its types in a loop that runs",
                 line);
    else
        err_help(f->c,
                 "%sa loop that runs may only change tensors, not constants: start "
                 "with a tensor of the final type",
                 line);
    err_at(f->c, fr->set_at[s] ? fr->set_at[s] : f->b.loc, LOOP_TYPE, name,
           v_short(f, init), v_short(f, v));
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
        bool is_same = fe_same_types(f, k->init[i], v);
        if (!is_same && s == k->target)
            v = v_val(k->index); /* made something else of: it keeps what it had */
        else if (!is_same)
            loop_type_error(f, k, i, v);
        n = v_flatten(f, v, leaf, MAX_LEAVES, n);
    }
}

/* After the loop: what was first assigned inside is gone. */
static void
leave_loop(Fe *f, const Node *n, const Value *before)
{
    fe_set_locals(f, before);
    for (int i = 0; i < n->n_stored; i++) {
        int s = n->stored[i];
        if (!is_absent(before[s]))
            continue;
        f->frame->two[s] = (TwoTypes){0};
        f->frame->lost[s] = str_printf(
            f->a,
            "'%s' gets its value inside the loop of line %d, which may run zero "
            "times; give it one before the loop",
            f->frame->tree->local[s], n->line);
    }
}

/* A bound of a range as an integer scalar. */
static Val *
bound(Fe *f, Value v, const char *what)
{
    v = fe_read(f, v);
    if (v.kind != V_TENSOR && !is_int_obj(v)) {
        if (v.kind == V_OBJ && PyFloat_Check(v.obj))
            err_help(f->c,
                     "count in integers and multiply: for q in range(10): x = q * 0.1");
        fail(f, TYPE, "%s must be an integer, not %s", what, v_describe(f, v));
    }
    Val *x = fe_tensor(f, v, what);
    if (x->type->rank || x->type->is_ptr || !elem_is_int(x->type->elem)) {
        if (x->type->rank)
            err_help(f->c, "a block is one value: arithmetic on it needs no loop");
        else if (x->type->is_ptr)
            err_help(f->c, "that is an address: tl.load(p) reads a number");
        else
            err_help(f->c, "'//' divides integers; x.to(tl.int32) converts");
        fail(f, TYPE, "%s must be an integer scalar, not %s", what,
             v_describe(f, v_val(x)));
    }
    return x;
}

/* One loop while it is lowered. The body's block hangs in the air until it is known which
 * op it needs. */
typedef struct Loop {
    Node *n;
    Value *before; /* the variables in front of it */
    Block *outer, *body;
    const Loc *loc;
    Carried *k;
    Status st;             /* of the body */
    Val **out;             /* of Carried, at the end of the body */
    Value ret;             /* when it may return: the value then */
    Val *broke, *returned; /* i1 at the end of the body, or NULL */
} Loop;

/* Lowers the suite at the end of the body's block. */
static void
lower_body(Fe *f, Loop *l)
{
    l->st = fe_suite(f, l->n->list, l->n->n_list);
    f->b.loc = l->loc;
    Value *local = fe_copy_locals(f);
    if (l->st & BREAKS)
        l->broke = fe_ended(f, l->body, l->st, local, BREAKS);
    if (l->st & RETURNS) {
        l->returned = fe_ended(f, l->body, l->st, local, RETURNS);
        l->ret = local[slot_ret(f->frame)];
    }
    fe_build_in(f, l->body);
    if (l->n->kind == AST_For && !l->broke && !l->returned)
        fe_mark_line(f, l->n, true);
    if (l->st == RETURNS) /* the variables are dead: any values will do */
        memcpy(l->out, l->k->leaf, (size_t)l->k->n_leaves * sizeof *l->out);
    else
        get_carried(f, l->k, l->out);
}

/* A value the loop never changes need not be carried: values i of the loop, whose first is
 * argument `first` of its blocks and operand `arg_at` of op. */
static void
drop_unchanged(Carried *k, Op *op, int arg_at, int first, Val **out)
{
    Block *last = op->regions[op->n_regions - 1];
    Op *yield = last->last, *cond = op->n_regions == 2 ? op->regions[0]->last : NULL;
    int n_iv = op->op == OP_FOR ? 0 : first; /* values in front that are yielded, too */
    for (int i = k->n_leaves - 1; i >= 0; i--) {
        int y = n_iv + i;
        out[i] = result(op, y);
        if (arg(yield, y) != last->args[first + i] ||
            (cond && arg(cond, 1 + y) != op->regions[0]->args[first + i]))
            continue;
        for (int r = 0; r < op->n_regions; r++)
            ir_replace(op->regions[r]->args[first + i], k->leaf[i]);
        ir_drop_args(yield, y, 1);
        if (cond)
            ir_drop_args(cond, 1 + y, 1);
        for (int r = 0; r < op->n_regions; r++)
            ir_drop_block_arg(op->regions[r], first + i);
        ir_drop_args(op, arg_at + i, 1);
        ir_drop_result(op, y);
        out[i] = k->leaf[i];
    }
}

typedef VEC(Val *) Vals;

static void
push_all(Fe *f, Vals *to, Val *const *v, int n)
{
    for (int i = 0; i < n; i++)
        PUSH(f->a, to, v[i]);
}

/* What a loop carries that a break or a return may end, at the end of its body: stop; if it
 * may return, whether it did, and with what. Empty: nothing ends it but its condition. */
static Vals
ways_out(Fe *f, const Loop *l)
{
    Vals v = {0};
    Val *ret[MAX_LEAVES];
    int n_ret = is_absent(l->ret) ? 0 : v_flatten(f, l->ret, ret, MAX_LEAVES, 0);
    if (l->broke && l->returned)
        PUSH(f->a, &v, ir_bin(&f->b, OP_OR, l->broke, l->returned));
    else if (l->broke || l->returned)
        PUSH(f->a, &v, l->broke ? l->broke : l->returned);
    if (l->returned) {
        PUSH(f->a, &v, l->returned);
        push_all(f, &v, ret, n_ret);
    }
    return v;
}

/* A block with test's arguments in its place, which passed may have among it. */
static Block *
take_arguments(Fe *f, Block *test, Vals *passed)
{
    Block *b = ir_block(f->func, NULL);
    for (int i = 0; i < test->n_args; i++)
        ir_block_arg(b, test->args[i]->type, test->args[i]->name);
    for (int i = 0; i < test->n_args; i++) {
        ir_replace(test->args[i], b->args[i]);
        for (int k = 0; k < passed->n; k++)
            if (passed->at[k] == test->args[i])
                passed->at[k] = b->args[i];
    }
    while (test->n_args)
        ir_drop_block_arg(test, test->n_args - 1);
    return b;
}

/* The test of a loop whose argument `stop` ends it:
 *
 *     if stop: false, what there is; else: what the condition says
 *
 * passed: what test says and passes on, the condition first. */
static Block *
guarded(Fe *f, Block *test, int stop, Vals *passed)
{
    const Type *i1 = ty_scalar(f->c, E_I1);
    Block *guard = take_arguments(f, test, passed);
    fe_build_in(f, guard);
    Op *choice = ir_op(&f->b, OP_IF, 1, &guard->args[stop], 0, NULL);
    Block *stopped = ir_block(f->func, choice);
    ir_set_region(choice, 1, test);
    Vals now = {0}, then = {0}, chosen = {0};
    fe_build_in(f, stopped);
    PUSH(f->a, &now, ir_const_int(&f->b, i1, 0));
    PUSH(f->a, &then, passed->at[0]);
    PUSH(f->a, &chosen, ir_add_result(choice, i1));
    for (int i = 0; i < guard->n_args; i++) {
        Val *x = guard->args[i], *p = passed->at[1 + i];
        if (p != x) {
            PUSH(f->a, &now, x);
            PUSH(f->a, &then, p);
        }
        PUSH(f->a, &chosen, p == x ? x : ir_add_result(choice, x->type));
    }
    ir_op(&f->b, OP_YIELD, now.n, now.at, 0, NULL);
    fe_build_in(f, test);
    ir_op(&f->b, OP_YIELD, then.n, then.at, 0, NULL);
    fe_build_in(f, guard);
    ir_op(&f->b, OP_CONDITION, chosen.n, chosen.at, 0, NULL);
    return guard;
}

/* A while whose region 0 is test, with what a break or a return carries behind the n values
 * of init. cond: at the end of test, of those n; next: what the body yields. */
static Op *
build_while(Fe *f, Loop *l, Block *test, Val *cond, int n, Val **init, Val **pass,
            Val **next)
{
    Vals yields = {0}, first = {0}, passed = {0};
    fe_build_in(f, l->body);
    Vals more = ways_out(f, l);
    push_all(f, &yields, next, n);
    push_all(f, &yields, more.at, more.n);
    ir_op(&f->b, OP_YIELD, yields.n, yields.at, 0, NULL);
    fe_build_in(f, l->outer);
    push_all(f, &first, init, n);
    for (int i = 0; i < more.n; i++)
        PUSH(f->a, &first, ir_const_bits(&f->b, more.at[i]->type, 0));
    const Type **types = NEW_N(f->a, const Type *, first.n + 1);
    for (int i = 0; i < first.n; i++)
        types[i] = first.at[i]->type;
    Op *op = ir_op(&f->b, OP_WHILE, first.n, first.at, first.n, types);
    PUSH(f->a, &passed, cond);
    push_all(f, &passed, pass, n);
    for (int i = n; i < first.n; i++) {
        ir_block_arg(l->body, types[i], NULL);
        PUSH(f->a, &passed, ir_block_arg(test, types[i], NULL));
    }
    if (more.n) {
        test = guarded(f, test, n, &passed);
    } else {
        fe_build_in(f, test);
        ir_op(&f->b, OP_CONDITION, passed.n, passed.at, 0, NULL);
    }
    ir_set_region(op, 0, test);
    ir_set_region(op, 1, l->body);
    fe_build_in(f, l->outer);
    return op;
}

/* After the loop: its variables, and how the suite goes on. at: the first result behind the
 * carried ones. */
static Status
leave_for(Fe *f, Loop *l, Op *op, int at)
{
    leave_loop(f, l->n, l->before);
    set_carried(f, l->k, l->out);
    if (!l->returned)
        return FALLS;
    Frame *fr = f->frame;
    at++; /* stop */
    fr->local[slot_flag(fr, RETURNS)] = v_val(result(op, at++));
    fr->local[slot_ret(fr)] = v_rebuild(f, l->ret, op->results, &at);
    return FALLS | RETURNS;
}

/* ---- for ---------------------------------------------------------------------------------- */

static void
check_head(Fe *f, const Node *n)
{
    if (n->n_list2) {
        err_help(f->c, "set a flag before the break and test it after the loop; "
                       "tl.static_range(..) may have an 'else'");
        err_at(f->c, fe_loc(f, n->list2[0]), SYNTAX,
               "'else' of a loop that is not unrolled");
    }
    if (n->b->kind != AST_Name) {
        err_help(f->c,
                 "a range gives one integer: write 'for i in range(..)', and take "
                 "it apart by // and %%");
        err_at(f->c, fe_loc(f, n->b), SYNTAX, "unpacking in 'for' over a range");
    }
}

/* A range as it runs: range(a, b, -s) as k = 0, s, .. below a - b with the index a - k. */
typedef struct Counting {
    Val *lb, *ub, *step;
    Val *from; /* a; NULL: the index is k */
} Counting;

static Counting
counting(Fe *f, const Range *r)
{
    Counting c = {0};
    Value step = fe_read(f, r->step);
    int64_t by = is_int_obj(step) ? v_const_int(f, step, "the step") : 1;
    if (!by)
        fail(f, VALUE, "the step of a range must not be 0");
    if (by == INT64_MIN)
        fail(f, VALUE, "the step of a range must not be below -2**63 + 1");
    if (by < 0)
        step = v_int(f, -by);
    c.lb = bound(f, r->start, "the start of a range");
    c.ub = bound(f, r->stop, "the end of a range");
    c.step = bound(f, step, "the step of a range");
    Elem e = fe_promote_elems(
        f, fe_promote_elems(f, c.lb->type->elem, c.ub->type->elem, false, "range"),
        c.step->type->elem, false, "range");
    if (elem_info[e].bits < 32)
        e = E_I32;
    c.lb = fe_cast(f, c.lb, e, ROUND_RTNE);
    c.ub = fe_cast(f, c.ub, e, ROUND_RTNE);
    c.step = fe_cast(f, c.step, e, ROUND_RTNE);
    if (by < 0) {
        c.from = c.lb;
        c.ub = ir_bin(&f->b, OP_SUB, c.lb, c.ub);
        c.lb = fe_const_int(f, c.lb->type, 0);
    }
    return c;
}

/* The body: a block of the counter and what is carried. */
static void
lower_for_body(Fe *f, Loop *l, const Counting *c)
{
    const Carried *k = l->k;
    l->body = ir_block(f->func, NULL);
    Val *iv = ir_block_arg(l->body, c->lb->type, c->from ? NULL : l->n->b->name);
    Val **in = NEW_N(f->a, Val *, k->n_leaves + 1);
    for (int i = 0; i < k->n_leaves; i++)
        in[i] = ir_block_arg(l->body, k->type[i], k->leaf[i]->name);
    fe_build_in(f, l->body);
    set_carried(f, l->k, in);
    fe_assign(f, l->n->b, v_val(c->from ? ir_bin(&f->b, OP_SUB, c->from, iv) : iv));
    lower_body(f, l);
}

/* Nothing ends it early. */
static Status
close_for(Fe *f, Loop *l, const Counting *c, const Range *r)
{
    Carried *k = l->k;
    ir_op(&f->b, OP_YIELD, k->n_leaves, l->out, 0, NULL);
    fe_build_in(f, l->outer);
    Val **args = NEW_N(f->a, Val *, 3 + k->n_leaves);
    args[0] = c->lb;
    args[1] = c->ub;
    args[2] = c->step;
    memcpy(args + 3, k->leaf, (size_t)k->n_leaves * sizeof *args);
    Op *op = ir_op(&f->b, OP_FOR, 3 + k->n_leaves, args, k->n_leaves, k->type);
    ir_set_attr(op, ATTR_STAGES, r->stages);
    ir_set_attr(op, ATTR_UNROLL, r->unroll);
    ir_set_attr(op, ATTR_LOOP, r->flags);
    ir_set_region(op, 0, l->body);
    drop_unchanged(k, op, 3, 1, l->out);
    return leave_for(f, l, op, k->n_leaves);
}

/* A break or a return may end it: a while, whose first value is the counter. */
static Status
close_as_while(Fe *f, Loop *l, const Counting *c)
{
    Carried *k = l->k;
    int n = 1 + k->n_leaves;
    Val **init = NEW_N(f->a, Val *, n), **next = NEW_N(f->a, Val *, n);
    init[0] = c->lb;
    next[0] = ir_bin(&f->b, OP_ADD, l->body->args[0], c->step);
    memcpy(init + 1, k->leaf, (size_t)k->n_leaves * sizeof *init);
    memcpy(next + 1, l->out, (size_t)k->n_leaves * sizeof *next);
    Block *test = ir_block(f->func, NULL);
    for (int i = 0; i < n; i++)
        ir_block_arg(test, init[i]->type, init[i]->name);
    Val **pass = NEW_N(f->a, Val *, n);
    memcpy(pass, test->args, (size_t)n * sizeof *pass);
    fe_build_in(f, test);
    fe_set_locals(f, l->before);
    set_carried(f, k, pass + 1);
    fe_mark_line(f, l->n, true);
    Val *cond = ir_bin(&f->b, OP_LT, pass[0], c->ub);
    Op *op = build_while(f, l, test, cond, n, init, pass, next);
    int n_before = op->n_results;
    drop_unchanged(k, op, 1, 1, l->out);
    return leave_for(f, l, op, n - (n_before - op->n_results));
}

static Status
run_time_for(Fe *f, Node *n, const Range *r)
{
    check_head(f, n);
    Counting c = counting(f, r);
    Loop l = {.n = n, .outer = f->b.block, .loc = f->b.loc};
    l.k = carried(f, n, n->b, c.lb->type);
    l.before = fe_copy_locals(f);
    l.out = NEW_N(f->a, Val *, l.k->n_leaves + 1);
    lower_for_body(f, &l, &c);
    return l.broke || l.returned ? close_as_while(f, &l, &c) : close_for(f, &l, &c, r);
}

/* Turns of an unrolled loop that are worth a warning. */
enum { MANY_TURNS = 500 };

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
        fe_at(f, u.n);
        if (u.i)
            fe_mark_line(f, u.n, true);
        fe_assign(f, u.n->b, u.items->at[u.i]);
        Status st = fe_suite(f, u.n->list, u.n->n_list);
        if (st & CONTINUES)
            st = (st & ~CONTINUES) | FALLS;
        if (!(st & FALLS))
            return st;
        if (st != FALLS) {
            Unroll next = {u.n, u.items, u.i + 1};
            return fe_unless_left(f, st, (Rest){run_unrolled, &next});
        }
    }
    if (u.i)
        fe_mark_line(f, u.n, true);
    return fe_suite(f, u.n->list2, u.n->n_list2);
}

/* What .items(), .keys() and .values() give. */
static bool
is_dict_view(Value v)
{
    return v.kind == V_OBJ && (PyDictViewSet_Check(v.obj) || PyDictValues_Check(v.obj));
}

Status
fe_for(Fe *f, Node *n)
{
    Value v = fe_read(f, fe_expr(f, n->a));
    fe_at(f, n->a);
    if (v.kind != V_RANGE && v.kind != V_TUPLE) {
        err_help(f->c,
                 v.kind == V_TENSOR && v.val->type->rank
                     ? "arithmetic on a block is on all its elements, without a loop"
                 : is_dict_view(v)
                     ? "write the keys: for k in ('a', 'b'): v = d[k]"
                     : "write range(..), tl.range(..) or tl.static_range(..)");
        fail(f, TYPE, "'for' runs over a range or a tuple, not over %s",
             v_describe(f, v));
    }
    if (v.kind == V_RANGE && !v.range->is_static)
        return run_time_for(f, n, v.range);
    Unroll u = {n, fe_elements(f, v, "what is looped over").tuple, 0};
    if (v.kind == V_RANGE && u.items->n > MANY_TURNS)
        fe_warn(
            f, PyExc_UserWarning,
            "tl.static_range repeats the code of this loop %d times, which takes long "
            "to compile: a range compiles it once",
            u.items->n);
    Status st = run_unrolled(f, &u);
    return st & BREAKS ? (st & ~BREAKS) | FALLS : st;
}

Status
fe_while(Fe *f, Node *n)
{
    if (n->n_list2) {
        err_help(f->c, "set a flag before the break and test it after the loop");
        err_at(f->c, fe_loc(f, n->list2[0]), SYNTAX, "'else' of a while");
    }
    fe_at(f, n->a);
    Loop l = {.n = n, .outer = f->b.block, .loc = f->b.loc};
    Carried *k = l.k = carried(f, n, NULL, NULL);
    l.before = fe_copy_locals(f);
    l.out = NEW_N(f->a, Val *, k->n_leaves + 1);
    Val **in = NEW_N(f->a, Val *, k->n_leaves + 1);
    Val **pass = NEW_N(f->a, Val *, k->n_leaves + 1);
    Block *test = ir_block(f->func, NULL);
    for (int i = 0; i < k->n_leaves; i++)
        in[i] = ir_block_arg(test, k->type[i], k->leaf[i]->name);
    fe_build_in(f, test);
    set_carried(f, k, in);
    fe_mark_line(f, n, false);
    Value c = fe_read(f, fe_expr(f, n->a));
    const Value *tested = fe_copy_locals(f);
    f->b.loc = l.loc;
    bool forever = false;
    if (c.kind != V_TENSOR) {
        forever = fe_truth(f, c, "the condition of a while");
        if (!forever) {
            while (test->last)
                ir_erase(test->last);
            fe_build_in(f, l.outer);
            fe_set_locals(f, l.before);
            fe_mark_line(f, n, false);
            return FALLS;
        }
        c = v_bool(true);
    }
    Val *cond = forever ? ir_const_int(&f->b, ty_scalar(f->c, E_I1), 1)
                        : fe_condition(f, c, "the condition of a while");
    get_carried(f, k, pass);
    l.body = ir_block(f->func, NULL);
    for (int i = 0; i < k->n_leaves; i++)
        in[i] = ir_block_arg(l.body, k->type[i], k->leaf[i]->name);
    fe_build_in(f, l.body);
    set_carried(f, k, in);
    lower_body(f, &l);
    if (forever && !l.broke && !l.returned) {
        err_help(f->c, "the condition never changes; compare a variable that the body "
                       "assigns, or break");
        fail(f, CONDITION, "this while never ends");
    }
    Op *op = build_while(f, &l, test, cond, k->n_leaves, k->leaf, pass, l.out);
    int n_before = op->n_results;
    drop_unchanged(k, op, 0, 0, l.out);
    Status st = leave_for(f, &l, op, k->n_leaves - (n_before - op->n_results));
    for (int i = 0; i < n->n_stored; i++) {
        int s = n->stored[i];
        if (is_absent(l.before[s]) && !is_absent(tested[s]))
            f->frame->lost[s] = str_printf(
                f->a,
                "'%s' gets its value in the condition of the while of line %d, and "
                "ends with it; give it one before the loop too",
                f->frame->tree->local[s], n->line);
    }
    return st;
}
