/* kernel: fe_kernel, the frontend's one entry. Parameters become values; the body follows. */
#include "frontend/fe.h"

/* ---- carets ------------------------------------------------------------------------------- */

/* Comp.source_line: a line as linecache has it, or the file by now; the arena keeps it. With
 * the GIL: the frontend and err_render call it. */
static const char *
source_line(Comp *c, const char *file, int line)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    const char *text = NULL;
    PyObject *linecache = PyImport_ImportModule("linecache");
    PyObject *s = linecache ? PyObject_CallMethod(linecache, "checkcache", "s", file)
                            : NULL;
    Py_XDECREF(s);
    s = s ? PyObject_CallMethod(linecache, "getline", "si", file, line) : NULL;
    Py_XDECREF(linecache);
    const char *u = s ? PyUnicode_AsUTF8AndSize(s, NULL) : NULL;
    if (u && *u) {
        arena_defer(c->arena, fe_drop_ref, s);
        text = u;
    } else
        Py_XDECREF(s);
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return text;
}

/* ---- parameters ----------------------------------------------------------------------------- */

/* The value of argument a, whose leaves take the slots from *slot on. */
static Value param(Fe *f, const ArgSpec *a, const FeParam *p, const char *name,
                   int *slot);

/* A TensorDescriptor of the host: base, shape.., strides.., block.., padding, round_f32_to_tf32, as
 * nodes.c lists them. The kernel sees what make_tensor_descriptor would give, which has no word for the last. */
static Value
descriptor_param(Fe *f, const ArgSpec *a, const FeParam *p, const char *name, int *slot)
{
    int rank = (a->n_child - 3) / 3, at = 0;
    Value given[5];
    given[0] = param(f, &a->child[at++], p, name, slot);
    static const char *const part[] = {"shape", "stride", "block"};
    for (int k = 0; k < 3; k++) {
        Value *items = NEW_N(f->a, Value, rank + 1);
        for (int i = 0; i < rank; i++) {
            const char *sub = str_printf(f->a, "%s.%s%d", name, part[k], i);
            items[i] = param(f, &a->child[at++], p, str_intern(f->c, sub), slot);
        }
        given[k + 1] = v_tuple(f, rank, items);
    }
    given[4] = param(f, &a->child[at++], p, name, slot);
    Value rounds = param(f, &a->child[at], p, name, slot);
    const char *callee = f->callee;
    f->callee = "TensorDescriptor";
    Value v = bi_make_tensor_descriptor(f, given);
    v.bp->rounds_tf32 = v_const_bool(f, rounds, "round_f32_to_tf32");
    if (v.bp->rounds_tf32 && v.bp->base->type->elem != E_F32)
        fail(f, VALUE, "round_f32_to_tf32 is for float32, not for %s",
             elem_info[v.bp->base->type->elem].text);
    f->callee = callee;
    return v;
}

static Value
param(Fe *f, const ArgSpec *a, const FeParam *p, const char *name, int *slot)
{
    switch (a->kind) {
    case ARG_CONSTEXPR:
        (*slot)++;
        if (fe_watch_parameter(f->env, NULL, p->name, a->value))
            fe_raise(f, f->b.loc);
        return v_from_py(f, a->value);
    case ARG_SCALAR: {
        f->func->facts[*slot].truth = a->truth;
        Val *v = ir_param(f->func, ty_scalar(f->c, a->elem), name, (*slot)++);
        if (!elem_is_int(a->elem) || a->elem == E_I1 || p->has_type || p->no_specialize)
            return v_val(v);
        LazyParam *lazy = NEW(f->a, LazyParam);
        lazy->val = v;
        return (Value){.kind = V_PARAM, .param = lazy};
    }
    case ARG_POINTER:
        f->func->facts[*slot].truth = a->truth;
        return v_val(ir_param(f->func,
                              ty_ptr(f->c, a->elem, a->is_const || p->is_const), name,
                              (*slot)++));
    case ARG_TUPLE: {
        if (a->value && fe_has_attr(f, a->value, "__tegula_descriptor__"))
            return descriptor_param(f, a, p, name, slot);
        /* The names of a tuple's elements: point.x, or point.0. */
        Value *items = NEW_N(f->a, Value, a->n_child + 1);
        PyObject *fields = a->value ? PyObject_GetAttrString(a->value, "_fields")
                                    : NULL;
        PyErr_Clear();
        if (fields)
            fe_own(f, fields);
        for (int i = 0; i < a->n_child; i++) {
            PyObject *field = fields ? PyTuple_GetItem(fields, i) : NULL;
            const char *s = field ? PyUnicode_AsUTF8AndSize(field, NULL) : NULL;
            PyErr_Clear();
            const char *sub = s ? str_printf(f->a, "%s.%s", name, s)
                                : str_printf(f->a, "%s.%d", name, i);
            items[i] = param(f, &a->child[i], p, str_intern(f->c, sub), slot);
        }
        Value t = v_tuple(f, a->n_child, items);
        if (fields)
            t.tuple->type = a->value;
        return t;
    }
    }
    unreachable(f->c);
}

static int
count_leaves(const ArgSpec *a)
{
    if (a->kind != ARG_TUPLE)
        return 1;
    int n = 0;
    for (int i = 0; i < a->n_child; i++)
        n += count_leaves(&a->child[i]);
    return n;
}

/* ---- float8 types that a launch says it has not ------------------------------------------------ */

static void
check_f8(Fe *f, const Type *t, const Loc *at)
{
    if (elem_is_f8(t->elem) &&
        !option_lists(f->c->option_texts,
                      "supported_fp8_dtypes=", elem_info[t->elem].sig))
        err_say(f->c, at, VALUE,
                "tl.%s is not among the option supported_fp8_dtypes of this "
                "launch",
                elem_info[t->elem].tl);
}

/* ---- the run ----------------------------------------------------------------------------------- */

static const Walk walk = {fe_run_value, fe_attribute_of};

static Fe *
new_run(Comp *c, const FeEnv *env)
{
    Fe *f = NEW(c->arena, Fe);
    f->c = c;
    f->a = c->arena;
    f->env = env;
    f->walk = &walk;
    f->trees.a = f->nested.a = f->builtins.a = f->methods.a = f->warned.a = f->a;
    static const char *const pos[4] = {"lineno", "col_offset", "end_lineno",
                                       "end_col_offset"};
    for (int i = 0; i < 4; i++)
        f->loc_attr[i] = fe_own(f, PyUnicode_InternFromString(pos[i]));
    f->attr_builtin = fe_own(f, PyUnicode_InternFromString("__tegula_builtin__"));
    f->builtins_mod = fe_own(f, PyImport_ImportModule("builtins"));
    f->core = fe_own(f, PyObject_GetAttrString(env->language, "core"));
    struct {
        PyObject **at;
        const char *name;
    } cls[] = {
        {&f->cls_constexpr, "constexpr"},  {&f->cls_dtype, "dtype"},
        {&f->cls_pointer, "pointer_type"}, {&f->cls_block, "block_type"},
        {&f->cls_tensor, "tensor"},        {&f->cls_tuple, "tuple"},
        {&f->cls_slice, "slice"},
    };
    for (size_t i = 0; i < COUNT(cls); i++)
        *cls[i].at = fe_own(f, PyObject_GetAttrString(f->core, cls[i].name));
    return f;
}

/* z = x + y was to write z. What asserts would check counts, though they are not compiled. */
static void
warn_no_effect(Fe *f)
{
    bool reads = false, does = f->has_assert;
    for (const Op *o = f->func->body->first; o; o = o->next) {
        reads |= o->op == OP_LOAD;
        does |= fe_does_more(o);
    }
    if (reads && !does)
        fe_warn(f, PyExc_UserWarning,
                "%s() writes nothing: 'z = ..' gives a name a value, and "
                "tl.store(z + i, ..) writes to memory",
                f->frame->tree->name);
}

/* A constexpr has a variant for each of its values, whatever the decorator asks. */
static void
check_specialized(Fe *f, const FeFunction *fn, const Loc *at)
{
    for (int i = 0; i < fn->n_params; i++) {
        const FeParam *p = &fn->params[i];
        if (!p->is_constexpr || !p->no_specialize)
            continue;
        const char *name = v_const_str(f, v_obj(p->name), "a name");
        err_help(f->c,
                 "leave out the annotation, and one variant takes all its values");
        err_say(f->c, at, VALUE,
                "%s marked as constexpr and listed in do_not_specialize", name);
    }
}

Func *
fe_kernel(Comp *c, const FeEnv *env, FeFunction *fn, const ArgSpec *args, int n_args)
{
    Fe *f = new_run(c, env);
    c->source_line = source_line;
    Tree *t = fe_tree(f, fn);
    Frame fr = {.tree = t};
    f->frame = &fr;
    Node def = {.line = t->line, .end_line = t->line};
    const Loc *loc = f->b.loc = fe_loc(f, &def);
    if (t->has_vararg || t->has_kwarg) {
        err_help(c, "name each parameter, or take a tuple: kernel[grid](x, (a, b))");
        err_at(c, loc, SYNTAX, "a kernel's parameter with '*'");
    }
    if (n_args != t->n_params)
        unreachable(c);
    check_specialized(f, fn, loc);
    f->func = ir_func(c, c->symbol ? c->symbol : t->name, loc);
    for (int i = 0; i < n_args; i++)
        f->func->n_facts += count_leaves(&args[i]);
    f->func->facts = NEW_N(f->a, ArgFacts, f->func->n_facts + 1);
    f->b = (Build){.f = f->func, .block = f->func->body, .loc = loc};
    fr.local = NEW_N(f->a, Value, t->n_locals + N_HIDDEN);
    fr.set_at = NEW_N(f->a, const Loc *, t->n_locals + N_HIDDEN);
    fr.lost = NEW_N(f->a, const char *, t->n_locals + N_HIDDEN);
    fr.two = NEW_N(f->a, TwoTypes, t->n_locals + N_HIDDEN);
    for (int i = 0, slot = 0; i < n_args; i++) {
        fr.local[i] = param(f, &args[i], &fn->params[i], t->local[i], &slot);
        fr.set_at[i] = loc;
    }
    fe_mark_call(f);
    Value v = fe_body(f);
    f->b.loc = loc;
    fe_mark_return(f, v);
    warn_no_effect(f);
    ir_op(&f->b, OP_RETURN, 0, NULL, 0, NULL);
    fe_check_refused(f);
    size_t n;
    if (option_text(c->option_texts, "supported_fp8_dtypes=", &n))
        EACH_VAL(x, f->func->body)
            check_f8(f, x->type, ir_loc_of(x));
    return f->func;
}
