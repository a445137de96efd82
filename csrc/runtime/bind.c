/* bind: what a call site wrote -> one object for each parameter, and the options.
 *
 *     kernel[grid](x, n, BLOCK=64, num_warps=8)
 *     arg     x   n   BLOCK                       by position, by keyword, by default
 *     opt     num_warps=8                         options.def
 *
 * Keywords are compared by the address of their names, which are interned at every call site
 * written in source. Names made at run time, options and mistakes leave for functions further
 * down.
 */
#include "runtime/launch.h"

#include <stdlib.h>

static inline OptWord
opt_default(const Kernel *k)
{
    const Config *config = &k->st->config;
    return (OptWord){
        .num_warps = 4,
        .num_stages = 3,
        .num_ctas = 1,
        .flags = (uint8_t)(OPT_SANITIZE |
                           (k->interpret || config->interpret ? OPT_INTERPRET : 0) |
                           (config->check_bounds ? OPT_BOUNDS : 0) |
                           (config->line_info ? OPT_LINES : 0) |
                           (config->fp_fusion ? OPT_FUSION : 0) |
                           (k->debug || config->debug ? OPT_DEBUG : 0)),
    };
}

/* Where keyword `name` goes: a parameter, -1: no parameter. Starts looking at `from`, because
 * call sites tend to follow the order of the parameters. */
static inline int
find_parameter(const Kernel *k, PyObject *name, int from)
{
    int n = k->f->n_params;
    for (int i = from; i < n; i++)
        if (k->names[i] == name)
            return i;
    for (int i = 0; i < from; i++)
        if (k->names[i] == name)
            return i;
    return -1;
}

static int bind_unusual(Call *c, PyObject *name, PyObject *value, int at);
static int bind_missing(Call *c);

/* What is said beside of a kernel with *args or **kwargs, which helpers alone may have. */
static const char *
about_rest(const Kernel *k)
{
    enum { VARARGS = 4, VARKEYWORDS = 8 }; /* of co_flags */
    PyObject *code = PyObject_GetAttrString(k->f->fn, "__code__"),
             *flags = code ? PyObject_GetAttrString(code, "co_flags") : NULL;
    long bits = flags ? PyLong_AsLong(flags) : 0;
    DROP(code, flags);
    PyErr_Clear();
    return bits & (VARARGS | VARKEYWORDS)
               ? ": each parameter of a kernel has a name; a tuple holds a varying "
                 "number, and helper functions may have *args"
               : "";
}

static bool
is_option(const Kernel *k, PyObject *name)
{
    for (int i = 0; option_list()[i]; i++)
        if (k->st->option_names[i] == name)
            return true;
    return false;
}

/* Are the keywords the parameters behind the first n_args, one by one, and then options? Most
 * calls are written so, and then what they pass is by parameter already. */
static bool
is_ordered(Kernel *k, Py_ssize_t n_args, PyObject *kwnames)
{
    Py_ssize_t n = k->f->n_params, n_kw = kwnames ? PyTuple_Size(kwnames) : 0;
    if (n_args > n || n_args + n_kw < n)
        return false;
    for (Py_ssize_t i = 0; i < n_kw; i++) {
        PyObject *name_b = PyTuple_GetItem(kwnames, i);
        if (n_args + i < n ? name_b != k->names[n_args + i] : !is_option(k, name_b))
            return false;
    }
    PyObject *old = k->ordered;
    options_forget(k);
    k->ordered = Py_XNewRef(kwnames), k->n_ordered = n_args;
    k->options.n = n_args + n_kw - n;
    Py_XDECREF(old);
    return true;
}

void
options_forget(Kernel *k)
{
    SeenOptions *o = &k->options;
    for (size_t i = 0; i < COUNT(o->value) && o->value[i]; i++)
        Py_CLEAR(o->value[i]); /* integers: no code runs */
    o->n_configs = 0;
}

/* Keeps what the n options of an ordered call made of the word from, where they are few integers. */
static void
keep_options(const Call *c, PyObject *kwnames, PyObject *const *value, Py_ssize_t n,
             OptWord from)
{
    SeenOptions *o = &c->k->options;
    bool ok = kwnames == c->k->ordered && n == o->n &&
              n <= (Py_ssize_t)COUNT(o->value) && c->opt.texts == from.texts;
    for (Py_ssize_t i = 0; ok && i < n; i++)
        ok = PyLong_CheckExact(value[i]);
    options_forget(c->k);
    if (!ok)
        return;
    for (Py_ssize_t i = 0; i < n; i++)
        o->value[i] = Py_NewRef(value[i]);
    o->to = c->opt, o->n_configs = c->k->st->n_configs;
}

/* The options of an ordered call, which are the last of its keywords. 0, or -1 with an exception. */
static int
bind_options(Call *c, PyObject *kwnames, PyObject *const *value)
{
    Py_ssize_t n = c->k->options.n, first = n ? PyTuple_Size(kwnames) - n : 0;
    OptWord from = c->opt = opt_default(c->k);
    for (Py_ssize_t i = 0; i < n; i++)
        if (bind_unusual(c, PyTuple_GetItem(kwnames, first + i), value[i], -1) < 0)
            return -1;
    return keep_options(c, kwnames, value, n, from), 0;
}

int
call_bind_names(Call *c, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    Kernel *k = c->k;
    int n = k->f->n_params, n_bound = (int)n_args;
    c->arg = args;
    if ((kwnames == k->ordered && n_args == k->n_ordered) ||
        is_ordered(k, n_args, kwnames))
        return bind_options(c, kwnames, args + n);
    c->arg = c->bound;
    c->opt = opt_default(k);
    Py_ssize_t n_kw = kwnames ? PyTuple_Size(kwnames) : 0;
    if (n_args > n)
        return PyErr_Format(PyExc_TypeError,
                            "%s() takes %d positional argument%s but %zd %s given%s",
                            k->f->name, n, n == 1 ? "" : "s", n_args,
                            n_args == 1 ? "was" : "were", about_rest(k)),
               -1;
    for (int i = 0; i < n; i++)
        c->bound[i] = i < n_bound ? args[i] : NULL;
    for (Py_ssize_t i = 0, at = n_args; i < n_kw; i++) {
        PyObject *name_b = PyTuple_GetItem(kwnames, i), *value = args[n_args + i];
        int p = find_parameter(k, name_b, (int)MIN(at, n));
        if (p >= 0 && !c->bound[p]) {
            c->bound[p] = value;
            n_bound++;
            at = p + 1;
        } else {
            int r = bind_unusual(c, name_b, value, p);
            if (r < 0)
                return -1;
            n_bound += r;
        }
    }
    return n_bound < n ? bind_missing(c) : 0;
}

/* ---- off the hot path -------------------------------------------------------------------- */

/* What other launchers take by these words. */
static const char *const foreign_words[][2] = {
    {"grid", "the grid stands in brackets, k[grid](..)"},
    {"block", "num_warps=4 are 128 threads, and blocks are tl.constexpr parameters"},
    {"threads", "num_warps=4 are 128 threads"},
    {"num_threads", "num_warps=4 are 128 threads"},
    {"block_dim", "num_warps=4 are 128 threads"},
    {"threads_per_block", "num_warps=4 are 128 threads"},
    {"shared_mem", "the compiler counts shared memory itself"},
    {"smem", "the compiler counts shared memory itself"},
};

static bool
is_one_of(const char *s, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(s, words[i]))
            return true;
    return false;
}

/* The parameter or option that is spelled nearly like s, or NULL. */
static const char *
closest_word(const Kernel *k, const char *s)
{
    const char *words[MAX_ARGS + MAX_OPTIONS], *const *options = option_list();
    int n = 0;
    for (int i = 0; i < k->f->n_params; i++)
        if ((words[n] = PyUnicode_AsUTF8AndSize(k->names[i], NULL)))
            n++;
    for (int i = 0; options[i]; i++)
        words[n++] = options[i];
    words[n] = NULL;
    return fe_closest(s, words);
}

/* "x, y, n"; NULL with an exception. */
static PyObject *
parameters_text(const Kernel *k)
{
    PyObject *list = PyList_New(0), *comma = PyUnicode_FromString(", "), *text = NULL;
    for (int i = 0; list && i < k->f->n_params; i++)
        if (PyList_Append(list, k->names[i]))
            Py_CLEAR(list);
    if (list && comma)
        text = PyUnicode_Join(comma, list);
    DROP(list, comma);
    return text;
}

/* The exception for a keyword that is neither a parameter nor an option: -1. */
static int
unknown_keyword(const Call *c, PyObject *name)
{
    static const char *const implied[] = {"stream", "device", "device_type"};
    static const char *const of_amd[] = {"waves_per_eu", "matrix_instr_nonkdim",
                                         "kpack", "schedule_hint",
                                         "allow_flush_denorm"};
    const char *s = PyUnicode_AsUTF8AndSize(name, NULL), *kernel = c->k->f->name;
    if (!s)
        return -1;
    if (is_one_of(s, implied, COUNT(implied)))
        return PyErr_Format(PyExc_AssertionError,
                            "%s() takes no '%s': the current stream and the device of "
                            "the tensors are used",
                            kernel, s),
               -1;
    static const char no_word[] = "%s() has no parameter or option '%s'%s%s%s";
    if (is_one_of(s, of_amd, COUNT(of_amd)))
        return PyErr_Format(PyExc_KeyError, no_word, kernel, s,
                            ", which is an option of AMD's GPUs", "", ""),
               -1;
    const char *best = closest_word(c->k, s);
    if (best)
        return PyErr_Format(PyExc_KeyError, no_word, kernel, s, "; did you mean '",
                            best, "'?"),
               -1;
    for (size_t i = 0; i < COUNT(foreign_words); i++)
        if (!strcmp(s, foreign_words[i][0]))
            return PyErr_Format(PyExc_KeyError, no_word, kernel, s, ": ",
                                foreign_words[i][1], ""),
                   -1;
    PyObject *text = parameters_text(c->k);
    if (text)
        PyErr_Format(PyExc_KeyError,
                     "%s() has no parameter or option '%s'; its parameters are %U%s",
                     kernel, s, text, about_rest(c->k));
    Py_XDECREF(text);
    return -1;
}

/* A keyword that is no unbound parameter by address (at: a bound one, or -1): an option, a name
 * made at run time, or a mistake. 1: bound a parameter; 0: an option; -1. */
static int
bind_unusual(Call *c, PyObject *name, PyObject *value, int at)
{
    PyObject *const *known = c->k->st->option_names;
    const char *const *options = option_list();
    for (int i = 0; at < 0 && options[i]; i++)
        if (known[i] == name)
            return call_set_option(c, i, value);
    for (int i = 0; at < 0 && i < c->k->f->n_params; i++)
        if (!PyUnicode_Compare(c->k->names[i], name))
            at = i;
    if (PyErr_Occurred())
        return -1;
    if (at >= 0) {
        if (c->bound[at])
            return PyErr_Format(PyExc_TypeError,
                                "%s() got multiple values for argument '%U'",
                                c->k->f->name, name),
                   -1;
        c->bound[at] = value;
        return 1;
    }
    for (int i = 0; options[i]; i++)
        if (!PyUnicode_CompareWithASCIIString(name, options[i]))
            return call_set_option(c, i, value);
    return unknown_keyword(c, name);
}

/* Defaults for what is not bound. */
static int
bind_missing(Call *c)
{
    const FeFunction *f = c->k->f;
    PyObject *missing = NULL;
    for (int i = 0; i < f->n_params; i++) {
        if (c->bound[i])
            continue;
        if ((c->bound[i] = f->params[i].default_value))
            continue;
        if (!missing && !(missing = PyList_New(0)))
            return -1;
        PyObject *quoted = PyUnicode_FromFormat("'%U'", f->params[i].name);
        int r = quoted ? PyList_Append(missing, quoted) : -1;
        Py_XDECREF(quoted);
        if (r) {
            Py_DECREF(missing);
            return -1;
        }
    }
    if (!missing)
        return 0;
    PyObject *comma = PyUnicode_FromString(", ");
    PyObject *text = comma ? PyUnicode_Join(comma, missing) : NULL;
    bool self = !PyUnicode_CompareWithASCIIString(f->params[0].name, "self");
    if (text)
        PyErr_Format(PyExc_TypeError, "%s() misses %zd argument%s: %U%s", f->name,
                     PyList_Size(missing), PyList_Size(missing) == 1 ? "" : "s", text,
                     self ? ". It takes 'self', for it is defined in a class: write "
                            "@staticmethod above @jit, and leave self out"
                          : "");
    DROP(comma, text);
    Py_DECREF(missing);
    return -1;
}

PyObject *
call_meta(const Call *c)
{
    PyObject *d = PyDict_New();
    for (int i = 0; d && i < c->k->f->n_params; i++)
        if (PyDict_SetItem(d, c->k->names[i], c->arg[i]))
            Py_CLEAR(d);
    return d;
}
