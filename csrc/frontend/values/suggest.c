/* suggest: what a name that is not there may have meant.
 *
 *     tl.lod       one of ours, a letter or two off     did you mean 'load'?
 *     x.astype     what others call it                  here it is x.to(dtype)
 */
#include "frontend/fe.h"

/* ---- what others call it ----------------------------------------------------------------- */

const char *
fe_other_name(const char *name)
{
    static const char *const names[][2] = {
#define OTHER(name, here) {name, here},
#include "frontend/others.def"
#undef OTHER
    };
    for (size_t i = 0; i < COUNT(names); i++)
        if (!strcmp(name, names[i][0]))
            return names[i][1];
    return NULL;
}

/* ---- the closest of some words ------------------------------------------------------------ */

enum { MOST = 40 }; /* bytes of a name that is looked at */

/* Insertions, deletions, changes of a letter and swaps of neighbours that lead from a to b,
 * of which neither is longer than MOST. */
static int
edit_distance(const char *a, const char *b)
{
    int d[3][MOST + 1];
    size_t n = strlen(a), m = strlen(b);
    for (size_t j = 0; j <= m; j++)
        d[0][j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int *now = d[i % 3], *up = d[(i + 2) % 3], *up2 = d[(i + 1) % 3];
        now[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int cost = a[i - 1] != b[j - 1];
            now[j] = MIN(MIN(up[j] + 1, now[j - 1] + 1), up[j - 1] + cost);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = MIN(now[j], up2[j - 2] + 1);
        }
    }
    return d[n % 3][m];
}

/* a and b but for capitals, one with more words behind, BLOCK of block and BLOCK_SIZE, or
 * one cut short after three letters, eps of epsilon. */
static bool
is_same_word(const char *a, const char *b)
{
    int n = 0;
    for (; *a && *b && (*a | 32) == (*b | 32); n++)
        a++, b++;
    return *a ? !*b && (n > 2 || *a == '_') : !*b || n > 2 || *b == '_';
}

/* Any letter is as near as any other: X is x, or else short for X_ptr. */
static const char *
closest_to_letter(char letter, const char *const *words)
{
    const char *longer = NULL;
    for (; *words; words++) {
        const char *w = *words;
        if ((w[0] ^ letter) == 32 && !w[1])
            return w;
        if (w[0] == letter && w[1] == '_' && !longer)
            longer = w;
    }
    return longer;
}

const char *
fe_closest(const char *name, const char *const *words)
{
    size_t n = strlen(name);
    if (n == 1)
        return closest_to_letter(*name, words);
    if (n > MOST)
        return NULL;
    const char *best = NULL;
    int best_d = n < 4 ? 2 : 3;
    for (const char *const *w = words; *w; w++) {
        int d = strlen(*w) > MOST ? INT_MAX : edit_distance(name, *w);
        if (d < best_d)
            best = *w, best_d = d;
    }
    for (const char *const *w = words; !best && n > 2 && *w; w++)
        if (is_same_word(name, *w))
            best = *w;
    return best && strcmp(best, name) ? best : NULL;
}

const char *
fe_listed(Fe *f, const char *const *words)
{
    const char *all = "";
    for (int i = 0; words[i]; i++)
        all = str_printf(f->a, "%s%s'%s'", all, i ? ", " : "", words[i]);
    return all;
}

/* ---- attributes --------------------------------------------------------------------------- */

static const char *
closest_of_tensor(Fe *f, const char *name)
{
    static const char *const fields[] = {"dtype", "shape", "type", "numel"};
    const char **words = NEW_N(f->a, const char *, n_fe_builtins + COUNT(fields) + 1);
    size_t k = 0;
    for (int i = 0; i < n_fe_builtins; i++)
        if (fe_builtin_names[i].flags & BI_MEMBER)
            words[k++] = fe_builtin_names[i].name;
    for (size_t i = 0; i < COUNT(fields); i++)
        words[k++] = fields[i];
    return fe_closest(name, words);
}

static const char *
closest_of_window(const BlockPtr *p, const char *name)
{
    static const char *const of_desc[] = {"load",    "store",       "gather",
                                          "scatter", "dtype",       "shape",
                                          "strides", "block_shape", NULL};
    static const char *const of_pointer[] = {"advance", "store", "dtype",
                                             "shape",   "type",  NULL};
    return fe_closest(name, p->is_desc ? of_desc : of_pointer);
}

/* The fields of a tuple of a class; NULL where its class says other things of them. */
static const char *
fields_listed(Fe *f, const TupleValue *t)
{
    PyObject *fields = fe_own(f, PyObject_GetAttrString(t->type, "_fields"));
    if (!PyTuple_Check(fields) || PyTuple_Size(fields) != t->n)
        return NULL;
    const char **words = NEW_N(f->a, const char *, t->n + 1);
    for (int i = 0; i < t->n; i++)
        if (!(words[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(fields, i), NULL))) {
            PyErr_Clear();
            return NULL;
        }
    return fe_listed(f, words);
}

/* Of an object of Python's, or a tuple of a class. */
static const char *
closest_of_object(Fe *f, Value v, const char *name)
{
    PyObject *of = v.kind == V_OBJ ? v.obj : v.tuple->type;
    PyObject *dir = fe_own(f, PyObject_Dir(of));
    if (v.kind == V_TUPLE) {
        PyObject *fields = fe_own(f, PyObject_GetAttrString(of, "_fields"));
        dir = fe_own(f, PySequence_List(dir));
        dir = fe_own(f, PySequence_InPlaceConcat(dir, fields));
    }
    Py_ssize_t size = PyList_Size(dir), k = 0;
    const char **words = NEW_N(f->a, const char *, size + 1);
    for (Py_ssize_t i = 0; i < size; i++) {
        const char *s = PyUnicode_AsUTF8AndSize(PyList_GetItem(dir, i), NULL);
        if (s && s[0] != '_')
            words[k++] = s;
    }
    PyErr_Clear();
    return fe_closest(name, words);
}

/* Is it what a tensor of the host has, and a kernel is not given? */
static bool
is_of_host(const char *name)
{
    static const char *const names[] = {"stride", "strides", "size", "dim",
                                        "ndim",   "device",  "data"};
    for (size_t i = 0; i < COUNT(names); i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

void
fe_no_attribute(Fe *f, Value v, const char *name)
{
    const char *near = NULL, *here = fe_other_name(name);
    bool is_pointer = v.kind == V_TENSOR && v.val->type->is_ptr;
    bool is_window = !strcmp(name, "load") || !strcmp(name, "gather");
    if (v.kind == V_TENSOR)
        near = closest_of_tensor(f, name);
    else if (v.kind == V_BLOCK_PTR)
        near = closest_of_window(v.bp, name);
    else if (v.kind == V_OBJ || (v.kind == V_TUPLE && v.tuple->type))
        near = closest_of_object(f, v, name);
    /* of a type and a conversion, a tensor has the conversion */
    const char *cast = here && v.kind == V_TENSOR ? strstr(here, ", or x.to(") : NULL;
    if (cast)
        here = cast + strlen(", or ");
    if (is_pointer && is_window)
        err_help(f->c,
                 "tl.load(p + offsets) reads through a pointer; descriptors have a "
                 "method for it: TensorDescriptor.from_tensor(x, block_shape) on the "
                 "host, tl.make_tensor_descriptor(..) in a kernel");
    else if (is_pointer && is_of_host(name))
        err_help(f->c, "of a tensor that is passed a kernel gets the address alone: "
                       "pass its sizes and strides as arguments");
    else if (here &&
             (v.kind == V_TENSOR || v.kind == V_TUPLE || v.obj == f->env->language))
        err_help(f->c, "here it is %s", here);
    else if (v.kind == V_OBJ && PyModule_Check(v.obj) && v.obj != f->env->language &&
             fe_builtin_named(name, false))
        err_help(f->c, "it is a function of the language: tl.%s", name);
    else if (near)
        err_help(f->c, "did you mean '%s'?", near);
    else if (v.kind == V_TUPLE && v.tuple->type && v.tuple->n &&
             (near = fields_listed(f, v.tuple)))
        err_help(f->c, "it has %s", near);
    err_at(f->c, f->b.loc, ATTRIBUTE, v_describe(f, v), name);
}

NORETURN void
fe_unknown_keyword(Fe *f, const char *fn, const char *kw, const char *const *words)
{
    static const char *const others[][2] = {
        {"dim", "axis"},           {"axis", "dim"},
        {"keepdim", "keep_dims"},  {"keepdims", "keep_dims"},
        {"out_dtype", "dtype"},    {"default", "other"},
        {"fill_value", "value"},   {"evict", "eviction_policy"},
        {"where", "mask"},         {"precision", "input_precision"},
        {"reverse", "descending"}, {"preferred_element_type", "out_dtype"},
        {"dtype", "out_dtype"},    {"c", "acc"},
        {"accumulator", "acc"},
    };
    /* parameters that Triton had once and kernels still give, or that others have */
    static const char *const gone[][2] = {
        {"trans_a", "transpose it first: tl.dot(tl.trans(a), b)"},
        {"trans_b", "transpose it first: tl.dot(a, tl.trans(b))"},
        {"dtype", "x.to(dtype) converts the result"},
        {"mask", "tl.where(mask, x, 0), or other= of tl.load, leaves elements out"},
        {"other", "what the mask leaves out is not written"},
    };
    bool is_range = strstr(fn, "range") && words[0] && !strcmp(words[0], "arg1");
    if (is_range &&
        (!strcmp(kw, "start") || !strcmp(kw, "stop") || !strcmp(kw, "end"))) {
        err_help(f->c, "the bounds have no names: %s(start, stop, step)", fn);
        err_at(f->c, f->b.loc, ARGUMENT, str_printf(f->a, "%s()", fn),
               str_printf(f->a, "it has no parameter '%s'", kw));
    }
    const char *near = fe_closest(kw, words);
    for (size_t i = 0; !near && i < COUNT(others); i++)
        for (int k = 0; !strcmp(kw, others[i][0]) && words[k]; k++)
            if (!strcmp(words[k], others[i][1]))
                near = words[k];
    for (size_t i = 0; !near && i < COUNT(gone); i++)
        if (!strcmp(kw, gone[i][0]) &&
            (strcmp(kw, "mask") || (words[0] && !strcmp(words[0], "input"))))
            err_help(f->c, "%s", gone[i][1]);
    if (near)
        err_help(f->c, "did you mean '%s'?", near);
    err_at(f->c, f->b.loc, ARGUMENT,
           strpbrk(fn, "( ") ? fn : str_printf(f->a, "%s()", fn),
           str_printf(f->a, "it has no parameter '%s'", kw));
}
