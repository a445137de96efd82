/* stmt: one function per kind of statement, and how values survive control flow.
 *
 * A suite is lowered straight into blocks; local variables live in an array by slot. An if
 * whose condition is known only at run time lowers both suites from the same variables and
 * then merges them: what differs becomes a result of the IF. Loops are in loop.c.
 *
 * return, break and continue, without a jump: lowering a suite tells how it may end, as a
 * set of FALLS, RETURNS, BREAKS and CONTINUES.
 *
 *     if c: return a        =>     r = if c { yield a }
 *     rest                              else { rest; yield its value }
 *
 * When exactly one side of an if never falls through, the rest of the suite moves into the
 * other one. When it is open whether it does, a hidden i1 local for each other way to end
 * says whether it was that one, and the rest runs under "if it was none of them". The
 * returned value is a hidden local too.
 */
#include "frontend/fe.h"

enum { MAX_STEPS = 400000 };

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

Value *
fe_copy_locals(Fe *f)
{
    int n = f->frame->tree->n_locals + N_HIDDEN;
    Value *v = NEW_N(f->a, Value, n);
    memcpy(v, f->frame->local, (size_t)n * sizeof *v);
    return v;
}

void
fe_set_locals(Fe *f, const Value *v)
{
    memcpy(f->frame->local, v,
           ((size_t)f->frame->tree->n_locals + N_HIDDEN) * sizeof *v);
}

static Val *
zero(Fe *f, const Type *t)
{
    return ir_const_bits(&f->b, t, 0);
}

/* A result of the if op that is v[0] or v[1]; NULL: that side returned, any value will do. */
static Val *
choose_side(Fe *f, Op *op, Side *side, Val *v0, Val *v1)
{
    if (v0 == v1)
        return v0;
    Val *v[2] = {v0, v1};
    const Type *t = v0 ? v0->type : v1->type;
    for (int k = 0; k < 2; k++) {
        if (!v[k]) {
            fe_build_in(f, side[k].block);
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
        r[i] = a && b ? choose_side(f, op, side, la[i], lb[i])
               : a    ? choose_side(f, op, side, la[i], NULL)
                      : choose_side(f, op, side, NULL, la[i]);
    int at = 0;
    return v_rebuild(f, a ? *a : *b, r, &at);
}

/* Same structure, same constants, same types of the leaves? */
bool
fe_same_types(Fe *f, Value a, Value b)
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

/* Is it a constant i32 beside a float32 number? Then its value is in *k. */
static bool
is_int_beside_float(Value v, Value other, int64_t *k)
{
    return v.val->type->elem == E_I32 && other.val->type->elem == E_F32 &&
           ir_const_as_int(v.val, k) && !other.val->type->rank;
}

/* The variable in slot s has types that no branch of an if can choose between. */
static NORETURN void
refuse_types(Fe *f, int s, Value a, Value b)
{
    const Frame *fr = f->frame;
    const char *name = fr->tree->local[s];
    int64_t k;
    if (fe_as_function(f, a) || fe_as_function(f, b))
        err_help(f->c, "which function is called is known when the kernel is "
                       "compiled; choose between results");
    else if (a.kind != V_TENSOR || b.kind != V_TENSOR)
        err_help(f->c, "start with a tensor: None and other constants cannot change "
                       "when the kernel runs");
    else if (is_int_beside_float(a, b, &k) || is_int_beside_float(b, a, &k))
        err_help(f->c, "write %s = %lld.0 in place of %lld", name, (long long)k,
                 (long long)k);
    else if (ty_same_shape(a.val->type, b.val->type) && !b.val->type->is_ptr)
        err_help(f->c, "convert one: x.to(tl.%s)", elem_info[b.val->type->elem].tl);
    else
        err_help(f->c, "give both one shape: tl.full(shape, value, dtype)");
    err_at(f->c, fr->set_at[s], BRANCH_TYPE, name, v_short(f, a), v_short(f, b));
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
        fr->two[s] = (TwoTypes){0};
        fr->lost[s] =
            str_printf(f->a,
                       "'%s' has a value in one branch of the if of line %d "
                       "alone; give it one in the other too, or before the if",
                       fr->tree->local[s], f->b.loc->line);
        return (Value){0};
    }
    for (int k = 0; k < 2; k++) {
        Value *mine = k ? &b : &a, other = k ? a : b;
        if (is_number(*mine) && !v_same_shape(*mine, other)) {
            fe_build_in(f, side[k].block);
            *mine = fe_decay(f, *mine);
        }
    }
    if (!fe_same_types(f, a, b)) {
        if (is_absent(before)) { /* an error where it is used */
            fr->lost[s] = str_printf(
                f->a, "the if of line %d: give it one type in both", f->b.loc->line);
            fr->two[s].of[0] = v_short(f, a);
            fr->two[s].of[1] = v_short(f, b);
            return before;
        }
        refuse_types(f, s, a, b);
    }
    return choose_value(f, op, side, &a, &b);
}

static void
merge_return(Fe *f, Op *op, Side *side)
{
    int s = slot_ret(f->frame);
    Value *a = side[0].status & RETURNS ? &side[0].local[s] : NULL;
    Value *b = side[1].status & RETURNS ? &side[1].local[s] : NULL;
    Value r = {0};
    /* The end of the function was reached without a return: any value will do. */
    bool a_ends = a && is_absent(*a), b_ends = b && is_absent(*b);
    if ((a_ends && b && !b_ends) || (b_ends && a && !a_ends)) {
        const Value *given = a_ends ? b : a;
        if (!is_py_none(*given))
            fe_warn(
                f, PyExc_UserWarning,
                "%s() returns %s here, and may also end without a return: its value "
                "is 0 then, and undefined in Triton",
                f->frame->tree->name, v_short(f, *given));
    }
    a = a_ends ? NULL : a;
    b = b_ends ? NULL : b;
    if (a && b && v_identical(*a, *b))
        r = *a;
    else if (a && b && !fe_same_types(f, *a, *b)) {
        err_help(f->c, "every return of a function gives the same type; one without a "
                       "value gives None");
        err_at(f->c, f->frame->set_at[s], RETURN,
               str_printf(f->a, "%s() returns %s here and %s elsewhere",
                          f->frame->tree->name, v_short(f, *b), v_short(f, *a)));
    } else if (a || b)
        r = choose_value(f, op, side, a, b);
    f->frame->local[s] = r;
}

/* Did the suite end that way? An i1 at the end of block, when its locals are set. */
Val *
fe_ended(Fe *f, Block *block, Status st, Value *local, Status way)
{
    if ((st & way) && st != way)
        return local[slot_flag(f->frame, way)].val;
    fe_build_in(f, block);
    return ir_const_int(&f->b, ty_scalar(f->c, E_I1), st == way);
}

/* if cond: then else: other. When one of them never falls through and the other may, rest
 * (when there is one) is lowered at the end of the latter, and *used says so. */
static Status
branch(Fe *f, Val *cond, Rest then, Rest other, Rest *rest, bool *used)
{
    Frame *fr = f->frame;
    Block *outer = f->b.block;
    const Loc *loc = f->b.loc;
    Value *before = fe_copy_locals(f);
    Op *op = ir_op(&f->b, OP_IF, 1, &cond, 0, NULL);
    Side side[2] = {0};
    for (int k = 0; k < 2; k++) {
        side[k].block = ir_block(f->func, op);
        fe_build_in(f, side[k].block);
        fe_set_locals(f, before);
        side[k].status = run_rest(f, k ? other : then);
        side[k].local = fe_copy_locals(f);
    }
    if (rest && !(side[0].status & FALLS) != !(side[1].status & FALLS)) {
        Side *s = &side[!(side[0].status & FALLS)];
        fe_build_in(f, s->block);
        fe_set_locals(f, s->local);
        s->status = s->status == FALLS ? run_rest(f, *rest)
                                       : fe_unless_left(f, s->status, *rest);
        s->local = fe_copy_locals(f);
        *used = true;
    }
    bool live0 = side[0].status != RETURNS, live1 = side[1].status != RETURNS;
    f->b.loc = loc;
    fe_set_locals(f, before);
    for (int s = 0; s < fr->tree->n_locals && (live0 || live1); s++)
        fr->local[s] = merge_local(f, op, side, s, before[s], live0, live1);
    merge_return(f, op, side);
    Status st = side[0].status | side[1].status;
    for (Status way = RETURNS; way <= CONTINUES && st != FALLS; way <<= 1) {
        if (!(st & way) || st == way)
            continue;
        Val *v[2];
        for (int k = 0; k < 2; k++)
            v[k] = fe_ended(f, side[k].block, side[k].status, side[k].local, way);
        fr->local[slot_flag(fr, way)] = v_val(choose_side(f, op, side, v[0], v[1]));
    }
    for (int k = 0; k < 2; k++) {
        fe_build_in(f, side[k].block);
        ir_op(&f->b, OP_YIELD, side[k].yield.n, side[k].yield.at, 0, NULL);
    }
    fe_build_in(f, outer);
    return st;
}

static Status
already_left(Fe *f, void *data)
{
    (void)f;
    return *(Status *)data;
}

Status
fe_unless_left(Fe *f, Status st, Rest rest)
{
    Status left = st & ~FALLS;
    Val *cond = NULL;
    for (Status way = RETURNS; way <= CONTINUES; way <<= 1) {
        if (!(left & way))
            continue;
        Val *flag = f->frame->local[slot_flag(f->frame, way)].val;
        cond = cond ? ir_bin(&f->b, OP_OR, cond, flag) : flag;
    }
    return branch(f, cond, (Rest){already_left, &left}, rest, NULL, NULL);
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
        if (used || !(st & FALLS))
            return st;
        if (st != FALLS)
            return fe_unless_left(f, st, rest);
    }
    if (!l.is_top)
        return FALLS;
    f->frame->local[slot_ret(f->frame)] = (Value){0}; /* None, if nobody returns more */
    return RETURNS;
}

Status
fe_suite(Fe *f, Node **at, int n)
{
    List l = {at, 0, n, false};
    return run_list(f, &l);
}

Value
fe_body(Fe *f)
{
    Tree *t = f->frame->tree;
    List l = {t->body, 0, t->n_body, true};
    Block *outer = f->b.block;
    run_list(f, &l);
    fe_build_in(f, outer);
    Value r = f->frame->local[slot_ret(f->frame)];
    return is_absent(r) ? v_obj(Py_None) : r;
}

static Status
stmt_If(Fe *f, Node *n, Rest *rest, bool *used)
{
    Value c = fe_read(f, fe_expr(f, n->a));
    fe_at(f, n->a);
    List then = {n->list, 0, n->n_list, false},
         other = {n->list2, 0, n->n_list2, false};
    if (c.kind != V_TENSOR) {
        if (!is_py_none(c) && !is_int_obj(c)) {
            if (c.kind == V_OBJ && PyUnicode_Check(c.obj))
                err_help(f->c, "compare it: == %s", v_short(f, c));
            else if (c.kind == V_OBJ && PyFloat_Check(c.obj))
                err_help(f->c, "compare it: != 0");
            else
                err_help(f->c, "compare it with something: the result is then a bool");
            err_at(f->c, f->b.loc, CONDITION,
                   str_printf(f->a,
                              "the condition of an if must be a bool, an int, None or "
                              "a scalar, not %s",
                              v_describe(f, c)));
        }
        bool yes = fe_truth(f, c, "the condition");
        Status st = run_list(f, yes ? &then : &other);
        Frame *fr = f->frame;
        for (int i = 0; i < n->n_stored; i++) {
            int s = n->stored[i];
            if (is_absent(fr->local[s]) && !fr->lost[s])
                fr->lost[s] = str_printf(
                    f->a, "'%s' gets its value where the condition of line %d is %s",
                    fr->tree->local[s], n->line, yes ? "false" : "true");
        }
        return st;
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
        fe_build_in(f, side[k].block);
        v[k] = fe_decay(f, fe_expr(f, part[k]));
    }
    fe_at(f, n);
    if (!fe_same_types(f, v[0], v[1])) {
        err_help(f->c,
                 "both sides need one type, also of literals: 0.0 beside f32; or use "
                 "tl.where, which promotes");
        fail(f, TYPE, "the two sides of 'a if c else b' have the types %s and %s",
             v_short(f, v[0]), v_short(f, v[1]));
    }
    Value r = choose_value(f, op, side, &v[0], &v[1]);
    for (int k = 0; k < 2; k++) {
        fe_build_in(f, side[k].block);
        ir_op(&f->b, OP_YIELD, side[k].yield.n, side[k].yield.at, 0, NULL);
    }
    fe_build_in(f, outer);
    return r;
}

/* ---- the rest --------------------------------------------------------------------------------- */

static Status
stmt_Return(Fe *f, Node *n)
{
    Frame *fr = f->frame;
    Value v = n->a ? fe_read(f, fe_expr(f, n->a)) : v_obj(Py_None);
    fe_at(f, n->a ? n->a : n);
    v = fe_decay(f, v);
    fe_at(f, n);
    if (!fr->call && !is_py_none(v)) {
        err_help(f->c, "a kernel gives its results by tl.store");
        err_at(f->c, f->b.loc, RETURN, "a kernel returns no value");
    }
    fe_set(f, slot_ret(fr), v);
    return RETURNS;
}

static void
stmt_Assert(Fe *f, Node *n)
{
    PyObject *fn = fe_own(f, PyObject_GetAttrString(f->core, "device_assert"));
    Value args[2] = {fe_expr(f, n->a)};
    int n_args = 1;
    if (n->b)
        args[n_args++] = fe_expr(f, n->b);
    fe_at(f, n);
    fe_call_value(f, v_obj(fn), n_args, args);
}

/* What E("..") says, where that is known while compiling; else NULL. */
static const char *
raised_text(Fe *f, Node *e)
{
    if (!e || e->kind != AST_Call || e->n_list != 1)
        return NULL;
    Node *msg = e->list[0];
    if (msg->kind == AST_JoinedStr)
        for (int i = 0; i < msg->n_list; i++) {
            const Node *part = msg->list[i], *of = part->a;
            if (part->kind == AST_FormattedValue &&
                (of->kind != AST_Name || of->slot < 0 || part->b ||
                 fe_read(f, f->frame->local[of->slot]).kind != V_OBJ))
                return NULL;
        }
    else if (msg->kind != AST_Constant)
        return NULL;
    Value v = fe_expr(f, msg);
    return v.kind == V_OBJ && PyUnicode_Check(v.obj) ? v_const_str(f, v, "a message")
                                                     : NULL;
}

/* Libraries write it where no value of a constexpr gets to; so what it says is of use. */
NORETURN static void
stmt_Raise(Fe *f, Node *n)
{
    const char *says = raised_text(f, n->a);
    const char *what = says ? fe_text(f, n->a->a) : NULL;
    err_help(f->c,
             "%s%s%s%stl.static_assert fails while compiling, tl.device_assert "
             "while running",
             what ? what : "", what ? ": " : "", says ? says : "", says ? "; " : "");
    err_at(f->c, fe_loc(f, n), SYNTAX, "'raise'");
}

static Value
call_method(Fe *f, Value of, const char *name, int n, const Value *args)
{
    Value m = fe_attribute(f, of, name);
    if (is_absent(m)) {
        err_help(f->c, "a class of values with jit methods __enter__(self) and "
                       "__exit__(self, type, value, traceback) has both");
        fail(f, TYPE, "'with' needs an object with %s(), not %s", name,
             v_describe(f, of));
    }
    return fe_call_value(f, m, n, args);
}

/* with a as x, b: ..: __enter__ before the suite, __exit__ behind it, however it ends:
 * nothing raises in a kernel, and what leaves the suite early has merged there. */
static Status
stmt_With(Fe *f, Node *n, int i)
{
    if (i == n->n_list)
        return fe_suite(f, n->list2, n->n_list2);
    Node *item = n->list[i];
    const Loc *loc = fe_loc(f, item->a);
    Value of = fe_read(f, fe_expr(f, item->a));
    f->b.loc = loc;
    Value v = call_method(f, of, "__enter__", 0, NULL);
    if (item->b)
        fe_assign(f, item->b, v);
    Status st = stmt_With(f, n, i + 1);
    f->b.loc = loc;
    const Value none[3] = {v_obj(Py_None), v_obj(Py_None), v_obj(Py_None)};
    call_method(f, of, "__exit__", 3, none);
    return st;
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
        Value v = fe_read(f, fe_expr(f, n->a));
        fe_at(f, n->a);
        Value decayed = fe_decay(f, v);
        fe_at(f, n);
        f->assigned = n->a;
        for (int i = 0; i < n->n_list; i++) {
            Node *t = n->list[i]; /* a field knows whether it is constant */
            bool keeps = t->kind == AST_Attribute || fe_is_declared(f, t);
            fe_assign(f, t,
                      !keeps                ? decayed
                      : t->kind == AST_Name ? fe_constexpr(f, v)
                                            : v);
        }
        f->assigned = NULL;
        return FALLS;
    }
    case AST_AnnAssign: fe_ann_assign(f, n); return FALLS;
    case AST_AugAssign: fe_aug_assign(f, n); return FALLS;
    case AST_If: return stmt_If(f, n, rest, used);
    case AST_For: return fe_for(f, n);
    case AST_While: return fe_while(f, n);
    case AST_Return: return stmt_Return(f, n);
    case AST_Assert: stmt_Assert(f, n); return FALLS;
    case AST_Raise: stmt_Raise(f, n);
    case AST_Pass: return FALLS;
    case AST_With: return stmt_With(f, n, 0);
    case AST_FunctionDef: fe_set(f, n->slot, fe_closure(f, n)); return FALLS;
    case AST_Expr:
        f->dropped = n->a;
        if (n->a->kind != AST_Constant && is_block_ptr(fe_expr(f, n->a))) {
            err_help(f->c, "write p = tl.advance(p, ..)");
            fe_at(f, n);
            fail(f, VALUE, "The result of advance is not being used");
        }
        return FALLS;
    case AST_Break: return BREAKS;
    case AST_Continue: return CONTINUES;
    default: fe_no_such_syntax(f, n);
    }
}

static Status
stmt(Fe *f, Node *n, Rest *rest, bool *used)
{
    fe_enter(f, n);
    if (++f->n_steps > MAX_STEPS)
        err_at(f->c, fe_loc(f, n), LIMIT,
               "the kernel has too many statements after inlining and unrolling");
    bool says_nothing = n->kind == AST_Expr && n->a->kind == AST_Constant &&
                        f->frame->tree->n_body > 1;
    if (n->kind != AST_While && !says_nothing) /* loop.c marks where it asks */
        fe_mark_line(f, n, false);
    Status st = stmt_any(f, n, rest, used);
    fe_leave(f);
    return st;
}
