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

typedef enum OptionKind {
    OPTION_INT,
    OPTION_POWER,
    OPTION_FLAG,
    OPTION_IGNORED,
    OPTION_FILES,
    OPTION_TEXT,
    OPTION_NONE
} OptionKind;
typedef struct OptionInfo {
    const char *name;
    OptionKind kind;
    int least, most;
} OptionInfo;
typedef enum OptionId {
#define OPTION(name, kind, least, most, doc) OPTION_ID_##name,
#include "runtime/options.def"
#undef OPTION
    N_OPTION
} OptionId;
static const OptionInfo option_info[N_OPTION] = {
#define OPTION(name, kind, least, most, doc) {#name, OPTION_##kind, least, most},
#include "runtime/options.def"
#undef OPTION
};

static OptWord
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

static int bind_unusual(Call *c, PyObject *name, PyObject *value);
static int bind_missing(Call *c);

int
call_bind_names(Call *c, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    const Kernel *k = c->k;
    int n = k->f->n_params, n_bound = (int)n_args;
    c->opt = opt_default(k);
    c->place = (Place){0, 0};
    c->api = NULL;
    c->tensor = NULL;
    c->has_capsules = false;
    c->n = 0;
    if (n_args > n)
        return PyErr_Format(PyExc_TypeError,
                            "%s() takes %d positional arguments but %zd were given",
                            k->f->name, n, n_args),
               -1;
    for (int i = 0; i < n_bound; i++)
        c->arg[i] = args[i];
    for (int i = n_bound; i < n; i++)
        c->arg[i] = NULL;
    Py_ssize_t n_kw = kwnames ? PyTuple_Size(kwnames) : 0;
    for (Py_ssize_t i = 0, at = n_args; i < n_kw; i++) {
        PyObject *name_b = PyTuple_GetItem(kwnames, i), *value = args[n_args + i];
        int p = find_parameter(k, name_b, (int)MIN(at, n));
        if (p >= 0 && !c->arg[p]) {
            c->arg[p] = value;
            n_bound++;
            at = p + 1;
        } else {
            int r = bind_unusual(c, name_b, value);
            if (r < 0)
                return -1;
            n_bound += r;
        }
    }
    return n_bound < n ? bind_missing(c) : 0;
}

/* ---- off the hot path -------------------------------------------------------------------- */

static void
set_flag(OptWord *o, uint8_t flag, bool on)
{
    o->flags = (uint8_t)(on ? o->flags | flag : o->flags & ~flag);
}

/* "name\tpath\n" for each item of a dict: new ref, or NULL. */
static PyObject *
files_text(PyObject *dict)
{
    PyObject *items = PyDict_Items(dict), *all = NULL, *text = NULL;
    if (!items || PyList_Sort(items) || !(all = PyUnicode_FromString("")))
        goto done;
    for (Py_ssize_t i = 0; i < PyList_Size(items); i++) {
        PyObject *pair = PyList_GetItem(items, i);
        PyObject *next = PyUnicode_FromFormat(
            "%U%S\t%S\n", all, PyTuple_GetItem(pair, 0), PyTuple_GetItem(pair, 1));
        Py_DECREF(all);
        all = next;
        if (!all)
            goto done;
    }
    text = Py_NewRef(all);
done:
    Py_XDECREF(items);
    Py_XDECREF(all);
    return text;
}

/* Adds lines (stolen; NULL with an exception) to those that c->opt.texts stands for. */
static int
add_lines(Call *c, PyObject *lines)
{
    PyObject *known = c->k->st->option_texts;
    PyObject *text = lines;
    if (lines && c->opt.texts) {
        text = PyUnicode_Concat(PyList_GetItem(known, c->opt.texts - 1), lines);
        Py_DECREF(lines);
    }
    if (!text)
        return -1;
    Py_ssize_t at = 0, n = PyList_Size(known);
    int same = 0;
    while (at < n && !(same = PyUnicode_Compare(PyList_GetItem(known, at), text) == 0))
        at++;
    int r = same ? 0 : PyList_Append(known, text);
    Py_DECREF(text);
    if (at >= UINT16_MAX)
        return PyErr_SetString(PyExc_ValueError, "too many different extern_libs"), -1;
    c->opt.texts = (uint16_t)(at + 1);
    return r;
}

static int
set_text(Call *c, const OptionInfo *info, PyObject *value)
{
    if (value == Py_None)
        return 0;
    if (!PyUnicode_Check(value))
        return PyErr_Format(PyExc_TypeError, "option %s must be a str, not %R",
                            info->name, value),
               -1;
    Target t;
    const char *s = PyUnicode_AsUTF8AndSize(value, NULL);
    if (!s || (!strcmp(info->name, "arch") && parse_arch(s, &t)))
        return -1;
    return add_lines(c, PyUnicode_FromFormat("%s=\t%U\n", info->name, value));
}

static int
set_extern_libs(Call *c, PyObject *value)
{
    if (value == Py_None || (PyDict_Check(value) && !PyDict_Size(value)))
        return 0;
    if (!PyDict_Check(value))
        return PyErr_Format(PyExc_TypeError,
                            "option extern_libs must be a dict of files by the name of "
                            "their library, not %R",
                            value),
               -1;
    return add_lines(c, files_text(value));
}

const char *
call_option_texts(const Call *c)
{
    if (!c->opt.texts)
        return NULL;
    PyObject *text = PyList_GetItem(c->k->st->option_texts, c->opt.texts - 1);
    const char *s = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    if (!s)
        PyErr_Clear();
    return s;
}

static int
set_option(Call *c, OptionId id, PyObject *value)
{
    const OptionInfo *info = &option_info[id];
    OptWord *o = &c->opt;
    if (info->kind == OPTION_IGNORED)
        return 0;
    if (info->kind == OPTION_FILES)
        return set_extern_libs(c, value);
    if (info->kind == OPTION_TEXT)
        return set_text(c, info, value);
    if (info->kind == OPTION_NONE) {
        if (value == Py_None || (PyUnicode_Check(value) && !PyUnicode_GetLength(value)))
            return 0;
        return PyErr_Format(PyExc_ValueError, "option %s=%R is not supported",
                            info->name, value),
               -1;
    }
    if (value == Py_None && id == OPTION_ID_maxnreg)
        return o->maxnreg = 0, 0;
    long v;
    if (info->kind == OPTION_FLAG) {
        v = PyObject_IsTrue(value);
        if (v < 0)
            return -1;
    } else {
        PyObject *index = PyNumber_Index(value);
        int over = 0;
        v = index ? PyLong_AsLongAndOverflow(index, &over) : -1;
        Py_XDECREF(index);
        if (!index) {
            PyErr_Clear();
            return PyErr_Format(PyExc_TypeError, "option %s must be an integer, not %R",
                                info->name, value),
                   -1;
        }
        /* On the CPU, where a warp is one thread to host code, there may be more of them. */
        bool is_power = v > 0 && !(v & (v - 1));
        long most = id == OPTION_ID_num_warps && is_power ? 128 : info->most;
        if (id == OPTION_ID_num_warps && !over && v > most && is_power)
            return raise_out_of_resources(32 * MIN(v, INT32_MAX), 1024, "threads"), -1;
        if (over || v < info->least || v > most ||
            (info->kind == OPTION_POWER && !is_power))
            return PyErr_Format(id == OPTION_ID_num_warps ? PyExc_AssertionError
                                                          : PyExc_ValueError,
                                "option %s must be %s from %d to %d, not "
                                "%R",
                                info->name,
                                info->kind == OPTION_POWER ? "a power of two"
                                                           : "an integer",
                                info->least, info->most, value),
                   -1;
    }
    switch (id) {
    case OPTION_ID_num_warps: o->num_warps = (uint8_t)v; break;
    case OPTION_ID_num_stages: o->num_stages = (uint8_t)v; break;
    case OPTION_ID_num_ctas: o->num_ctas = (uint8_t)v; break;
    case OPTION_ID_maxnreg: o->maxnreg = (uint8_t)MIN(v, MAX_REGISTERS); break;
    case OPTION_ID_max_num_imprecise_acc_default:
        o->imprecise = (uint8_t)MIN(MAX(v / IMPRECISE_EACH, 1), IMPRECISE_MOST);
        break;
    case OPTION_ID_enable_fp_fusion: set_flag(o, OPT_FUSION, v); break;
    case OPTION_ID_debug: /* or-ed with @jit(debug=) and the knob */
        set_flag(o, OPT_DEBUG, v || (o->flags & OPT_DEBUG));
        break;
    case OPTION_ID_sanitize_overflow: set_flag(o, OPT_SANITIZE, v); break;
    case OPTION_ID_launch_pdl: set_flag(o, OPT_PDL, v); break;
    case OPTION_ID_launch_cooperative_grid: set_flag(o, OPT_COOPERATIVE, v); break;
    default: break;
    }
    return 0;
}

static int
unknown_keyword(const Call *c, PyObject *name)
{
    const char *s = PyUnicode_AsUTF8AndSize(name, NULL), *best = NULL;
    if (!s)
        return -1;
    static const char *const implied[] = {"stream", "device", "device_type"};
    for (size_t i = 0; i < COUNT(implied); i++)
        if (!strcmp(s, implied[i]))
            return PyErr_Format(
                       PyExc_AssertionError,
                       "%s() takes no '%s': the current stream and the device of "
                       "the tensors are used",
                       c->k->f->name, s),
                   -1;
    const char *words[MAX_ARGS + N_OPTION + 1];
    int n = 0;
    for (int i = 0; i < c->k->f->n_params; i++)
        if ((words[n] = PyUnicode_AsUTF8AndSize(c->k->names[i], NULL)))
            n++;
    for (int i = 0; i < N_OPTION; i++)
        words[n++] = option_info[i].name;
    words[n] = NULL;
    best = fe_closest(s, words);
    if (best)
        return PyErr_Format(PyExc_KeyError,
                            "%s() has no parameter or option '%s'; did you mean '%s'?",
                            c->k->f->name, s, best),
               -1;
    PyObject *list = PyList_New(0), *comma = PyUnicode_FromString(", "), *text = NULL;
    for (int i = 0; list && i < c->k->f->n_params; i++)
        if (PyList_Append(list, c->k->names[i]))
            Py_CLEAR(list);
    text = list && comma ? PyUnicode_Join(comma, list) : NULL;
    if (text)
        PyErr_Format(PyExc_KeyError,
                     "%s() has no parameter or option '%s'; its parameters are %U",
                     c->k->f->name, s, text);
    Py_XDECREF(list);
    Py_XDECREF(comma);
    Py_XDECREF(text);
    return -1;
}

/* A keyword that is no unbound parameter by address: an option, a name made at run time, or a
 * mistake. 1: bound a parameter; 0: an option; -1. */
static int
bind_unusual(Call *c, PyObject *name, PyObject *value)
{
    int at = find_parameter(c->k, name, 0);
    PyObject *const *known = c->k->st->option_names;
    for (int i = 0; at < 0 && i < N_OPTION; i++)
        if (known[i] == name)
            return set_option(c, (OptionId)i, value);
    for (int i = 0; at < 0 && i < c->k->f->n_params; i++)
        if (!PyUnicode_Compare(c->k->names[i], name))
            at = i;
    if (PyErr_Occurred())
        return -1;
    if (at >= 0) {
        if (c->arg[at])
            return PyErr_Format(PyExc_TypeError,
                                "%s() got multiple values for argument '%U'",
                                c->k->f->name, name),
                   -1;
        c->arg[at] = value;
        return 1;
    }
    for (int i = 0; i < N_OPTION; i++)
        if (!PyUnicode_CompareWithASCIIString(name, option_info[i].name))
            return set_option(c, (OptionId)i, value);
    return unknown_keyword(c, name);
}

/* Defaults for what is not bound. */
static int
bind_missing(Call *c)
{
    const FeFunction *f = c->k->f;
    PyObject *missing = NULL;
    for (int i = 0; i < f->n_params; i++) {
        if (c->arg[i])
            continue;
        if ((c->arg[i] = f->params[i].default_value))
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
    if (text)
        PyErr_Format(PyExc_TypeError, "%s() misses %zd argument%s: %U", f->name,
                     PyList_Size(missing), PyList_Size(missing) == 1 ? "" : "s", text);
    Py_XDECREF(comma);
    Py_XDECREF(text);
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

int
option_names_new(State *st)
{
    st->option_names = calloc(N_OPTION, sizeof *st->option_names);
    if (!st->option_names)
        return PyErr_NoMemory(), -1;
    for (int i = 0; i < N_OPTION; i++)
        if (!(st->option_names[i] = PyUnicode_InternFromString(option_info[i].name)))
            return -1;
    return 0;
}

void
option_names_free(State *st)
{
    for (int i = 0; st->option_names && i < N_OPTION; i++)
        Py_XDECREF(st->option_names[i]);
    free(st->option_names);
    st->option_names = NULL;
}
