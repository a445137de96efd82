/* builtins_stop: breakpoint() and print() of kernels that run in the interpreter.
 *
 * Both become the op `debug`: its operands are every tensor that is to be seen, and its text
 * says, as literals of Python that tegula/debugger.py reads, what they are:
 *
 *     stop                                                 or     print
 *     [("kernel", "a.py", 12, {"x": ("v", 0), "B": ("c", 64)}), ..]     ["x is", ("v", 0)]
 *
 *     ("v", i)       operand i                 ("c", constant)
 *     ("t", [..])    a tuple                   ("n", "text")      anything else, in words
 *
 * Frames go from the kernel to the function that stops; those of the language are left out.
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

static void
put_value(Seen *s, Value v)
{
    switch (v.kind) {
    case V_TENSOR: put_operand(s, v.val); break;
    case V_PARAM: /* looking must not ask whether it is 1 */
        if (is_absent(v.param->now))
            put_operand(s, v.param->val);
        else
            put_value(s, v.param->now);
        break;
    case V_OBJ:
        sb_put(&s->sb, is_literal(v.obj) ? "('c', " : "('n', ");
        if (is_literal(v.obj))
            put_str(s, v.obj);
        else
            put_c_str(s, v_short(s->f, v));
        sb_put(&s->sb, ")");
        break;
    case V_TUPLE:
        sb_put(&s->sb, "('t', [");
        for (int i = 0; i < v.tuple->n; i++) {
            put_value(s, v.tuple->at[i]);
            sb_put(&s->sb, ", ");
        }
        sb_put(&s->sb, "])");
        break;
    default:
        sb_put(&s->sb, "('n', ");
        put_c_str(s, v_describe(s->f, v));
        sb_put(&s->sb, ")");
    }
}

static void
put_frame(Seen *s, const Frame *fr, const Loc *at)
{
    const Tree *t = fr->tree;
    sb_put(&s->sb, "(");
    put_c_str(s, t->name);
    sb_put(&s->sb, ", ");
    put_c_str(s, t->file);
    sb_printf(&s->sb, ", %d, {", at->line);
    for (const Frame *o = fr; o; o = o->outer)
        for (int i = 0; i < o->tree->n_locals; i++) {
            if (is_absent(o->local[i]))
                continue;
            put_c_str(s, o->tree->local[i]);
            sb_put(&s->sb, ": ");
            put_value(s, o->local[i]);
            sb_put(&s->sb, ", ");
        }
    sb_put(&s->sb, "}), ");
}

/* From the kernel inwards. */
static void
put_frames(Seen *s, const Frame *fr, const Loc *at)
{
    if (fr->caller)
        put_frames(s, fr->caller, fr->call);
    if (!fr->tree->is_library)
        put_frame(s, fr, at);
}

static void
emit(Seen *s)
{
    Fe *f = s->f;
    Op *o = ir_op(&f->b, OP_DEBUG, s->operand.n, s->operand.at, 0, NULL);
    o->text = str_intern(f->c, s->sb.at);
}

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
    sb_put(&s.sb, "stop\n[");
    put_frames(&s, f->frame, f->b.loc);
    sb_put(&s.sb, "]");
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
