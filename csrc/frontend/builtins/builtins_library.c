/* builtins_library: functions of a library, by the types of their operands.
 *
 *     extern_elementwise("mine", "mine.bc", [x, k], {(fp32, int32): ("f", fp32)}, True)
 *
 * A symbol of CUDA's libdevice, and the functions of LLVM that we compute as well, are ours:
 * functions of tegula.language.extra.libdevice, written in the language, for every target.
 * Any other is an EXTERN. Its text is the symbol and the files to look in, in this order:
 * the one of the option extern_libs for the library's name, or lib_path; all others of
 * extern_libs; for GPUs, CUDA's own. codegen/library/ reads them.
 */
#include "frontend/fe.h"

/* Our function for a symbol; NULL: there is none. */
static PyObject *
of_symbol(Fe *f, const char *symbol)
{
    PyObject *table =
        fe_own(f, PyImport_ImportModule("tegula.language.extra.libdevice._symbols"));
    PyObject *fn = fe_own(f, PyObject_CallMethod(table, "of_symbol", "s", symbol));
    return fn == Py_None ? NULL : fn;
}

/* ---- files ------------------------------------------------------------------------------- */

static void
add_file(Fe *f, Sb *all, const char *path, size_t n)
{
    if (!n)
        return;
    if (memchr(path, '\n', n))
        fail(f, VALUE, "the path of a library is more than one line");
    const char *line = str_intern_n(f->c, path, n);
    for (const char *at = all->at; at && *at; at = strchr(at, '\n') + 1)
        if (!strncmp(at, line, n) && at[n] == '\n')
            return;
    sb_printf(all, "%s\n", line);
}

static bool
makes_ptx(const Fe *f)
{
    return f->c->opt.target.kind != TARGET_CPU && !f->c->opt.interpret;
}

/* Lines; "": none. */
static const char *
files_of(Fe *f, const char *name, const char *path)
{
    Sb all = {.a = f->a};
    sb_put(&all, "");
    size_t len;
    const char *given = option_text(f->c->option_texts, name, &len);
    if (given)
        add_file(f, &all, given, len);
    else
        add_file(f, &all, path, strlen(path));
    for (const char *at = f->c->option_texts; at && *at;) {
        const char *tab = strchr(at, '\t'), *end = strchr(at, '\n');
        if (!tab || !end || tab > end)
            break;
        if (tab > at && tab[-1] != '=')
            add_file(f, &all, tab + 1, (size_t)(end - tab - 1));
        at = end + 1;
    }
    if (!makes_ptx(f))
        return all.at;
    PyObject *tools = fe_own(f, PyImport_ImportModule("tegula.toolchain"));
    PyObject *cuda = fe_own(f, PyObject_CallMethod(tools, "find_libdevice", NULL));
    if (cuda != Py_None && (*all.at || !strcmp(name, "libdevice"))) {
        f->c->libdevice = str_intern(f->c, v_const_str(f, v_obj(cuda), "a path"));
        add_file(f, &all, f->c->libdevice, strlen(f->c->libdevice));
    }
    return all.at;
}

/* ---- the table --------------------------------------------------------------------------- */

/* The row for these types, borrowed, or NULL. */
static PyObject *
row_of(Fe *f, PyObject *table, int n, Val *const *x)
{
    for (int is_const = 0; is_const < 2; is_const++) {
        PyObject *key = fe_own(f, PyTuple_New(n));
        for (int i = 0; i < n; i++) {
            const Type *t = x[i]->type;
            PyObject *o = fe_dtype_object(f, t, is_const && t->is_const);
            PyTuple_SetItem(key, i, Py_NewRef(o));
        }
        PyObject *row = PyDict_GetItemWithError(table, key);
        PyErr_Clear();
        if (row)
            return row;
    }
    return NULL;
}

static const char *
dtype_text(Fe *f, PyObject *dtype)
{
    PyObject *s = fe_own(f, PyObject_Str(dtype));
    return v_const_str(f, v_obj(s), "the name of a dtype");
}

/* "(fp32, int32), (fp64, int32)", the first rows. *fits: one has that many operands. */
static const char *
rows_text(Fe *f, PyObject *table, int n, bool *fits)
{
    enum { SHOWN = 12 };
    Sb sb = {.a = f->a};
    PyObject *key, *row;
    Py_ssize_t at = 0;
    int shown = 0;
    sb_put(&sb, "");
    while (PyDict_Next(table, &at, &key, &row)) {
        Py_ssize_t n_key = PyTuple_Check(key) ? PyTuple_Size(key) : -1;
        *fits |= n_key == n;
        if (++shown > SHOWN)
            continue;
        sb_put(&sb, shown > 1 ? ", (" : "(");
        for (Py_ssize_t i = 0; i < n_key; i++) {
            sb_printf(&sb, "%s%s", i ? ", " : "",
                      dtype_text(f, PyTuple_GetItem(key, i)));
        }
        sb_put(&sb, ")");
    }
    if (shown > SHOWN)
        sb_printf(&sb, " and %d more", shown - SHOWN);
    return sb.at;
}

static NORETURN void
no_row(Fe *f, PyObject *table, int n, Val *const *x)
{
    bool fits = false;
    Sb sb = {.a = f->a};
    sb_put(&sb, "");
    for (int i = 0; i < n; i++)
        sb_printf(&sb, "%s%s", i ? ", " : "",
                  dtype_text(f, fe_dtype_object(f, x[i]->type, x[i]->type->is_const)));
    const char *rows = rows_text(f, table, n, &fits);
    if (!*rows)
        fail(f, VALUE, "arg_type_symbol_dict is empty");
    err_help(f->c, "did you mean %s?%s", rows,
             fits ? " Convert the operands with .to(..)" : "");
    fail(f, TYPE, "the external function has no row for the types (%s)", sb.at);
}

/* ---- the call ----------------------------------------------------------------------------- */

static const Type *
result_type(Fe *f, Value dtype)
{
    PyObject *o = v_to_py(f, dtype, "the type of the result");
    if (!fe_is_instance(f, o, f->cls_pointer))
        return ty_scalar(f->c, v_elem(f, dtype, "the type of the result"));
    PyObject *to = fe_own(f, PyObject_GetAttrString(o, "element_ty"));
    PyObject *is_const = fe_own(f, PyObject_GetAttrString(o, "const"));
    return ty_ptr(f->c, v_elem(f, v_obj(to), "the pointee of a pointer type"),
                  PyObject_IsTrue(is_const) == 1);
}

/* A function that we do not have ourselves. */
static Value
linked(Fe *f, Value *a, const char *symbol, int n, Val **x, const Type *t)
{
    const char *name = v_const_str(f, a[0], "lib_name");
    const char *path = v_const_str(f, a[1], "lib_path");
    const char *files = files_of(f, name, path);
    if (!*files && strncmp(symbol, "llvm.", 5) != 0) {
        if (!strncmp(symbol, "__nv_", 5) && !makes_ptx(f))
            err_at(f->c, f->b.loc, TARGET,
                   str_printf(f->a, "the function '%s' of CUDA", symbol),
                   f->c->opt.interpret ? "the interpreter" : "the CPU");
        err_help(f->c,
                 "give its file: lib_path, or the option extern_libs={\"%s\": "
                 "\"..\"}",
                 name);
        fail(f, VALUE, "the library '%s' of the function '%s' is not known", name,
             symbol);
    }
    if (!*symbol || strchr(symbol, '\n'))
        fail(f, VALUE, "'%s' is no name of a function", symbol);
    bool is_pure = v_const_bool(f, a[4], "is_pure");
    if (n && x[0]->type->rank)
        t = ty_block(f->c, t, x[0]->type->rank, x[0]->type->shape);
    Op *o = ir_op(&f->b, is_pure && n ? OP_EXTERN : OP_EXTERN_IO, n, x, 1, &t);
    o->text = str_intern(f->c, str_printf(f->a, "%s\n%s", symbol, files));
    return v_val(result(o, 0));
}

static Value
tuple_of(Fe *f, int n, Val *const *x)
{
    Value *v = NEW_N(f->a, Value, n + 1);
    for (int i = 0; i < n; i++)
        v[i] = v_val(x[i]);
    return v_tuple(f, n, v);
}

/* Are the operands of the types that the name of LLVM's function ends in? */
static bool
has_types_of(const char *symbol, int n, Val *const *x)
{
    if (strncmp(symbol, "llvm.", 5) != 0)
        return true;
    for (int i = 0; i < n; i++)
        if (x[i]->type->is_ptr ||
            strcmp(elem_info[x[i]->type->elem].text, strrchr(symbol, '.') + 1) != 0)
            return false;
    return true;
}

Value
bi_extern_elementwise(Fe *f, Value *a)
{
    Val *x[MAX_LEAVES];
    int n = fe_operands(f, fe_read(f, a[2]), x);
    PyObject *table = v_to_py(f, a[3], "arg_type_symbol_dict");
    if (!PyDict_Check(table))
        fail(f, TYPE, "arg_type_symbol_dict must be a dict, not %s",
             v_describe(f, a[3]));
    PyObject *row = row_of(f, table, n, x);
    Val *wide[MAX_LEAVES];
    if (!row && n > 1) { /* promoted, once, as operands of an operator */
        Value given = fe_read(f, a[2]);
        if (fe_promote_all(f, n, given.tuple->at, wide, f->callee))
            row = row_of(f, table, n, wide);
        if (row)
            n = fe_operands(f, tuple_of(f, n, wide), x);
    }
    if (!row)
        no_row(f, table, n, x);
    if (!PyTuple_Check(row) || PyTuple_Size(row) != 2)
        fail(f, TYPE, "a row of arg_type_symbol_dict is (symbol, type of the result)");
    const char *symbol = v_const_str(f, v_obj(PyTuple_GetItem(row, 0)), "a symbol");
    Value ret = v_obj(PyTuple_GetItem(row, 1));
    PyObject *fn = of_symbol(f, symbol);
    if (!fn || !has_types_of(symbol, n, x))
        return linked(f, a, symbol, n, x, result_type(f, ret));
    Value *args = NEW_N(f->a, Value, n + 1);
    for (int i = 0; i < n; i++) /* as LLVM itself computes halves */
        args[i] = v_val(!x[i]->type->is_ptr && x[i]->type->elem == E_F16 &&
                                !strncmp(symbol, "llvm.", 5)
                            ? fe_cast(f, x[i], E_F32, ROUND_RTNE)
                            : x[i]);
    Value r = fe_read(f, fe_call_value(f, v_obj(fn), n, args));
    return fe_cast_value(f, r, ret, (Value){0}, false);
}
