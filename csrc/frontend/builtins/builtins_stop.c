/* builtins_stop: what a debugger may see of a kernel that runs in the interpreter.
 *
 * Everything becomes the op `debug`: its operands are every tensor that is to be seen, and its
 * text says what they are, as literals of Python that tegula/debugger.py reads. Each statement
 * of the user's is marked, and each function of theirs at its begin and end:
 *
 *     call    7 9 scaled a.py {"v": ("v", 0)}    the function of lines 7 to 9 begins: its parameters
 *     line    8 {"v": ("v", 0), "B": ("c", 64)}  the statement of line 8 is next
 *     again   8 {..}                             a loop's line, unless we come from there
 *     return  ("v", 0)                           the function ends
 *     stop                                       breakpoint()
 *     print   ["x is", ("v", 0)]                 print()
 *
 *     ("v", i)       operand i                 ("c", constant)
 *     ("t", [..])    a tuple                   ("x", "inf")       a float without a literal
 *     ("o", "block_ptr", {"base": ..})         an object with fields
 *     ("n", "text")  anything else, in words
 *
 * A mark changes nothing and computes nothing; compiled targets have none. The functions of the
 * language have none either, nor those of map_elementwise and combine functions that run for
 * whole blocks (widen.c): a debugger steps over them. A combine function that computes alone
 * is marked, and entered for each pair.
 */
#include "frontend/fe.h"

typedef struct Seen {
    Fe *f;
    Sb sb;
    VEC(Val *) operand;
} Seen;

static void
put_str(Seen *s, PyObject *o)
{
    PyObject *text = fe_own(s->f, PyObject_ASCII(o));
    sb_put(&s->sb, v_const_str(s->f, v_obj(text), "a text"));
}

static void
put_c_str(Seen *s, const char *text)
{
    put_str(s, fe_own(s->f, PyUnicode_FromString(text)));
}

static void
put_operand(Seen *s, Val *v)
{
    sb_printf(&s->sb, "('v', %d)", s->operand.n);
    PUSH(s->f->a, &s->operand, v);
}

static bool
is_literal(PyObject *o)
{
    if (PyFloat_Check(o)) { /* inf and nan are no literals */
        double v = PyFloat_AsDouble(o);
        return v - v == 0;
    }
    return o == Py_None || PyBool_Check(o) || PyUnicode_CheckExact(o) ||
           PyLong_CheckExact(o);
}

static void put_value(Seen *s, Value v);

/* The names of the fields of a named tuple or an aggregate: a tuple; or NULL. */
static PyObject *
fields_of(Seen *s, const TupleValue *t)
{
    PyObject *o = t->type ? PyObject_GetAttrString(t->type, "_fields") : NULL;
    PyErr_Clear();
    if (!o || !PyTuple_Check(fe_own(s->f, o)) || PyTuple_Size(o) != t->n)
        return NULL;
    return o;
}

static void
put_tuple(Seen *s, const TupleValue *t)
{
    PyObject *fields = t->keys ? NULL : fields_of(s, t);
    if (fields || t->keys) {
        PyObject *name = t->type ? fe_own(s->f, PyType_GetName((PyTypeObject *)t->type))
                                 : NULL;
        sb_put(&s->sb, "('o', ");
        if (name)
            put_str(s, name);
        else
            put_c_str(s, "dict");
        sb_put(&s->sb, ", {");
    } else
        sb_put(&s->sb, "('t', [");
    for (int i = 0; i < t->n; i++) {
        if (fields)
            put_str(s, PyTuple_GetItem(fields, i));
        else if (t->keys)
            put_c_str(s, t->keys[i]);
        if (fields || t->keys)
            sb_put(&s->sb, ": ");
        put_value(s, t->at[i]);
        sb_put(&s->sb, ", ");
    }
    sb_put(&s->sb, fields || t->keys ? "})" : "])");
}

static void
put_vals(Seen *s, const char *name, Val *const *v, int n)
{
    put_c_str(s, name);
    sb_put(&s->sb, ": ('t', [");
    for (int i = 0; i < n; i++) {
        put_operand(s, v[i]);
        sb_put(&s->sb, ", ");
    }
    sb_put(&s->sb, "]), ");
}

/* A block pointer or a descriptor. */
static void
put_window(Seen *s, const BlockPtr *p)
{
    sb_put(&s->sb, p->is_desc ? "('o', 'tensor_descriptor', {'base': "
                              : "('o', 'block_ptr', {'base': ");
    put_operand(s, p->base);
    sb_put(&s->sb, ", ");
    put_vals(s, "shape", p->shape, p->rank);
    put_vals(s, "strides", p->strides, p->rank);
    if (!p->is_desc)
        put_vals(s, "offsets", p->offsets, p->rank);
    sb_put(&s->sb, "'block_shape': ('t', [");
    for (int i = 0; i < p->rank; i++)
        sb_printf(&s->sb, "('c', %d), ", (int)p->block[i]);
    sb_put(&s->sb, "])})");
}

static void
put_value(Seen *s, Value v)
{
    switch (v.kind) {
    case V_NONE: sb_put(&s->sb, "('n', 'not set')"); break; /* a field, in __init__ */
    case V_TENSOR: put_operand(s, v.val); break;
    case V_PARAM: /* looking must not ask whether it is 1 */
        if (is_absent(v.param->now))
            put_operand(s, v.param->val);
        else
            put_value(s, v.param->now);
        break;
    case V_OBJ:
        if (is_literal(v.obj)) {
            sb_put(&s->sb, "('c', ");
            put_str(s, v.obj);
        } else if (PyFloat_Check(v.obj)) {
            sb_put(&s->sb, "('x', ");
            put_c_str(s, v_short(s->f, v));
        } else {
            sb_put(&s->sb, "('n', ");
            put_c_str(s, v_short(s->f, v));
        }
        sb_put(&s->sb, ")");
        break;
    case V_TUPLE: put_tuple(s, v.tuple); break;
    case V_BLOCK_PTR: put_window(s, v.bp); break;
    default:
        sb_put(&s->sb, "('n', ");
        put_c_str(s, v_describe(s->f, v));
        sb_put(&s->sb, ")");
    }
}

/* The variables of fr that have a value; of a closure those around it, too. */
static void
put_variables(Seen *s, const Frame *fr)
{
    sb_put(&s->sb, "{");
    for (const Frame *o = fr; o; o = o->outer)
        for (int i = 0; i < o->tree->n_locals; i++) {
            if (is_absent(o->local[i]))
                continue;
            put_c_str(s, o->tree->local[i]);
            sb_put(&s->sb, ": ");
            put_value(s, o->local[i]);
            sb_put(&s->sb, ", ");
        }
    sb_put(&s->sb, "}");
}

static void
emit(Seen *s)
{
    Fe *f = s->f;
    Op *o = ir_op(&f->b, OP_DEBUG, s->operand.n, s->operand.at, 0, NULL);
    o->text = str_intern(f->c, s->sb.at);
}

/* ---- marks ----------------------------------------------------------------------- */

static bool
is_in_sight(const Fe *f)
{
    return f->c->opt.interpret && f->n_silent == f->n_pairs;
}

static bool
is_marked(const Fe *f)
{
    return is_in_sight(f) && !f->frame->tree->is_library;
}

bool
fe_is_mark(const Op *o)
{
    return o->op == OP_DEBUG && *o->text != 'p';
}

void
fe_drop_marks(Block *b)
{
    EACH_OP_INSIDE_OUT(o, b)
        if (fe_is_mark(o) && *o->text != 's')
            ir_erase(o);
}

void
fe_mark_line(Fe *f, const Node *n, bool is_again)
{
    if (!is_marked(f))
        return;
    Seen s = {.f = f, .sb = {.a = f->a}};
    const Loc *outer = f->b.loc;
    fe_at(f, n);
    sb_printf(&s.sb, "%s\n%d\n", is_again ? "again" : "line", n->line);
    put_variables(&s, f->frame);
    emit(&s);
    f->b.loc = outer;
}

void
fe_mark_call(Fe *f)
{
    if (!is_marked(f))
        return;
    Seen s = {.f = f, .sb = {.a = f->a}};
    const Tree *t = f->frame->tree;
    sb_printf(&s.sb, "call\n%d\n%d\n%s\n%s\n", t->line, t->end_line, t->name, t->file);
    put_variables(&s, f->frame);
    emit(&s);
}

void
fe_mark_return(Fe *f, Value v)
{
    if (!is_marked(f))
        return;
    Seen s = {.f = f, .sb = {.a = f->a}};
    sb_put(&s.sb, "return\n");
    put_value(&s, is_absent(v) ? v_obj(Py_None) : v);
    emit(&s);
}

/* ---- a value for each variable ----------------------------------------------------- */

/* What a person assigns to a variable in a debugger is written over its value, which must then
 * be nobody else's: of y = x the one may change without the other. */
Value
fe_own_value(Fe *f, Value v, const char *name)
{
    if (!is_in_sight(f))
        return v;
    if (v.kind == V_TUPLE && !v.tuple->is_aggregate) {
        Value t = v_tuple_like(f, v.tuple);
        for (int i = 0; i < t.tuple->n; i++)
            t.tuple->at[i] = fe_own_value(f, t.tuple->at[i], name);
        return t;
    }
    if (v.kind != V_TENSOR)
        return v;
    uint64_t bits;
    if (v.val->name && ir_is_const(v.val, &bits))
        v = v_val(ir_const_bits(&f->b, v.val->type, bits));
    else if (v.val->name)
        v = v_val(ir_op1(&f->b, OP_BITCAST, 1, &v.val, v.val->type));
    v.val->name = name;
    return v;
}

/* ---- breakpoint() and print() ----------------------------------------------------- */

Value
bi_breakpoint(Fe *f, Value *a)
{
    (void)a;
    if (!f->c->opt.interpret) {
        err_help(f->c, "@tegula.jit(interpret=True), or TEGULA_INTERPRET=1, runs the "
                       "kernel where it can be stopped");
        err_at(f->c, f->b.loc, TARGET, "breakpoint()",
               f->c->opt.target.kind == TARGET_CPU    ? "the CPU"
               : f->c->opt.target.kind == TARGET_CUDA ? "cuda"
                                                      : "the emulator");
    }
    Seen s = {.f = f, .sb = {.a = f->a}};
    sb_put(&s.sb, "stop\n");
    emit(&s);
    return v_obj(Py_None);
}

void
fe_print_values(Fe *f, int n, const Value *args)
{
    Seen s = {.f = f, .sb = {.a = f->a}};
    sb_put(&s.sb, "print\n[");
    for (int i = 0; i < n; i++) {
        put_value(&s, fe_read(f, args[i]));
        sb_put(&s.sb, ", ");
    }
    sb_put(&s.sb, "]");
    emit(&s);
}
