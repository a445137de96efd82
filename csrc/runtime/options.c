/* options: what a launch says besides the kernel's own arguments, num_warps=8 and the like.
 *
 *     numbers, flags    -> bits of the OptWord
 *     all the others    -> "name=\tvalue\n", a line of a text. State.option_texts has each
 *                          text once; the word holds its place in that list
 *
 * So launches with equal words have equal options, and a key needs no more than the word.
 * Whoever acts on a text looks its line up by name (option_text): the frontend, cache.c,
 * compile.c. What is the default adds no line, so that naming it makes no new variant.
 */
#include "runtime/launch.h"

#include <stdlib.h>

typedef enum OptionKind {
    OPTION_INT,
    OPTION_POWER,
    OPTION_FLAG,
    OPTION_FTZ,
    OPTION_VERSION,
    OPTION_FILES,
    OPTION_TEXT,
    OPTION_PATH,
    OPTION_WORDS,
    OPTION_BACKEND,
    OPTION_SANITIZER,
    OPTION_NONE
} OptionKind;
typedef struct OptionInfo {
    const char *name;
    OptionKind kind;
    int least, most;
    const char *doc;
} OptionInfo;
typedef enum OptionId {
#define OPTION(name, kind, least, most, doc) OPTION_ID_##name,
#include "runtime/options.def"
#undef OPTION
    N_OPTION
} OptionId;
static const OptionInfo option_info[N_OPTION] = {
#define OPTION(name, kind, least, most, doc) {#name, OPTION_##kind, least, most, doc},
#include "runtime/options.def"
#undef OPTION
};
_Static_assert((int)N_OPTION < (int)MAX_OPTIONS, "room for their names");

const char *const *
option_list(void)
{
    static const char *const names[N_OPTION + 1] = {
#define OPTION(name, kind, least, most, doc) #name,
#include "runtime/options.def"
#undef OPTION
    };
    return names;
}

/* ---- texts -------------------------------------------------------------------------- */

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
    DROP(items, all);
    return text;
}

/* Is each line of the text, made of n values, a name, one tab and a value? 0, or -1. */
static int
check_lines(const char *name, PyObject *lines, Py_ssize_t n)
{
    const char *s = PyUnicode_AsUTF8AndSize(lines, NULL);
    Py_ssize_t n_lines = 0, n_tabs = 0;
    if (!s)
        return -1;
    for (; *s; s++) {
        n_lines += *s == '\n';
        n_tabs += *s == '\t';
    }
    if (n_lines == n && n_tabs == n)
        return 0;
    return PyErr_Format(PyExc_ValueError,
                        "option %s must have no tab and no new line in it", name),
           -1;
}

/* Adds n lines (stolen; NULL with an exception) to those that c->opt.texts stands for. */
static int
add_lines(Call *c, const char *name, PyObject *lines, Py_ssize_t n)
{
    PyObject *known = c->k->st->option_texts;
    PyObject *text = lines;
    if (lines && check_lines(name, lines, n)) {
        Py_DECREF(lines);
        return -1;
    }
    if (lines && c->opt.texts) {
        text = PyUnicode_Concat(PyList_GetItem(known, c->opt.texts - 1), lines);
        Py_DECREF(lines);
    }
    if (!text)
        return -1;
    Py_ssize_t at = 0, n_known = PyList_Size(known);
    int same = 0;
    while (at < n_known &&
           !(same = PyUnicode_Compare(PyList_GetItem(known, at), text) == 0))
        at++;
    int r = same ? 0 : PyList_Append(known, text);
    Py_DECREF(text);
    if (at >= UINT16_MAX)
        return PyErr_SetString(PyExc_ValueError, "too many different options"), -1;
    c->opt.texts = (uint16_t)(at + 1);
    return r;
}

/* The value is a new reference, or NULL with an exception. */
static int
add_line(Call *c, const char *name, PyObject *value)
{
    PyObject *line = value ? PyUnicode_FromFormat("%s=\t%U\n", name, value) : NULL;
    Py_XDECREF(value);
    return add_lines(c, name, line, 1);
}

static int
wrong_type(const OptionInfo *info, const char *what, PyObject *value)
{
    return PyErr_Format(PyExc_TypeError, "option %s must be %s, not %R", info->name,
                        what, value),
           -1;
}

static int
set_text(Call *c, const OptionInfo *info, PyObject *value)
{
    if (!PyUnicode_Check(value))
        return wrong_type(info, "a str", value);
    Target t;
    const char *s = PyUnicode_AsUTF8AndSize(value, NULL);
    if (!s || (!strcmp(info->name, "arch") && parse_arch(s, &t)))
        return -1;
    return add_line(c, info->name, Py_NewRef(value));
}

static int
set_path(Call *c, const OptionInfo *info, PyObject *value)
{
    PyObject *path = PyOS_FSPath(value);
    if (!path || !PyUnicode_Check(path)) {
        PyErr_Clear();
        Py_XDECREF(path);
        return wrong_type(info, "the name of a file", value);
    }
    return add_line(c, info->name, path);
}

/* ("fp8e5", "fp8e4nv") -> "fp8e5,fp8e4nv" */
static int
set_words(Call *c, const OptionInfo *info, PyObject *value)
{
    PyObject *comma = PyUnicode_FromString(","), *text = NULL;
    if (comma && !PyUnicode_Check(value) && PySequence_Check(value))
        text = PyUnicode_Join(comma, value);
    Py_XDECREF(comma);
    if (!text) {
        PyErr_Clear();
        return wrong_type(info, "a tuple of names", value);
    }
    return add_line(c, info->name, text);
}

static int
set_extern_libs(Call *c, const OptionInfo *info, PyObject *value)
{
    /* Metadata has it as a tuple of pairs. */
    PyObject *dict = PyObject_CallFunctionObjArgs((PyObject *)&PyDict_Type, value,
                                                  NULL);
    if (!dict) {
        PyErr_Clear();
        return wrong_type(info, "a dict of files by the name of their library", value);
    }
    Py_ssize_t n = PyDict_Size(dict);
    int r = n ? add_lines(c, info->name, files_text(dict), n) : 0;
    Py_DECREF(dict);
    return r;
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

/* ---- numbers and flags -------------------------------------------------------------- */

static void
set_flag(OptWord *o, uint8_t flag, bool on)
{
    o->flags = (uint8_t)(on ? o->flags | flag : o->flags & ~flag);
}

static int
out_of_range(const OptionInfo *info, PyObject *value)
{
    PyObject *kind = info->kind == OPTION_POWER && info->least == 1 && info->most == 32
                         ? PyExc_AssertionError /* num_warps */
                         : PyExc_ValueError;
    if (info->least == info->most)
        return PyErr_Format(kind, "option %s is %d, not %R", info->name, info->least,
                            value),
               -1;
    return PyErr_Format(kind, "option %s must be %s from %d to %d, not %R", info->name,
                        info->kind == OPTION_POWER ? "a power of two" : "an integer",
                        info->least, info->most, value),
           -1;
}

static int
read_number(const OptionInfo *info, PyObject *value, long *v)
{
    PyObject *index = PyNumber_Index(value);
    int over = 0;
    *v = index ? PyLong_AsLongAndOverflow(index, &over) : -1;
    Py_XDECREF(index);
    if (!index) {
        PyErr_Clear();
        return wrong_type(info, "an integer", value);
    }
    /* On the CPU, where a warp is one thread to host code, there may be more of them. */
    bool is_power = *v > 0 && !(*v & (*v - 1)),
         is_warps = info == &option_info[OPTION_ID_num_warps];
    long most = is_warps && is_power ? 128 : info->most;
    if (is_warps && !over && *v > most && is_power)
        return raise_out_of_resources(32 * MIN(*v, INT32_MAX), 1024, "threads"), -1;
    if (over || *v < info->least || *v > most ||
        (info->kind == OPTION_POWER && !is_power))
        return out_of_range(info, value);
    return 0;
}

static int
set_number(OptWord *o, OptionId id, long v)
{
    switch (id) {
    case OPTION_ID_num_warps: o->num_warps = (uint8_t)v; break;
    case OPTION_ID_num_stages: o->num_stages = (uint8_t)v; break;
    case OPTION_ID_num_ctas: o->num_ctas = (uint8_t)v; break;
    case OPTION_ID_maxnreg: o->maxnreg = (uint8_t)MIN(v, MAX_REGISTERS); break;
    case OPTION_ID_max_num_imprecise_acc_default:
        o->imprecise = (uint8_t)MIN(MAX(v / IMPRECISE_EACH, 1), IMPRECISE_MOST);
        break;
    case OPTION_ID_enable_fp_fusion: set_flag(o, OPT_FUSION, v); break;
    case OPTION_ID_debug: set_flag(o, OPT_DEBUG, v); break;
    case OPTION_ID_sanitize_overflow: set_flag(o, OPT_SANITIZE, v); break;
    case OPTION_ID_launch_pdl: set_flag(o, OPT_PDL, v); break;
    case OPTION_ID_launch_cooperative_grid: set_flag(o, OPT_COOPERATIVE, v); break;
    default: break;
    }
    return 0;
}

static int
set_backend(const OptionInfo *info, PyObject *value)
{
    static const char *const names[] = {"cuda", "cpu", "emu"};
    for (size_t i = 0; PyUnicode_Check(value) && i < COUNT(names); i++)
        if (!PyUnicode_CompareWithASCIIString(value, names[i]))
            return 0;
    return PyErr_Format(PyExc_ValueError, "option %s is 'cuda', 'cpu' or 'emu', not %R",
                        info->name, value),
           -1;
}

/* One name, or some with commas between them. */
static bool
are_sanitizers(const char *names)
{
    for (;; names++) {
        names += strspn(names, " ");
        size_t n = strcspn(names, ", ");
        if (!(n == 6 && !memcmp(names, "consan", n)) &&
            !(n == 4 && !memcmp(names, "gsan", n)))
            return false;
        names += n + strspn(names + n, " ");
        if (*names != ',')
            return !*names;
    }
}

static int
set_sanitizer(Call *c, const OptionInfo *info, PyObject *value)
{
    if (!PyUnicode_Check(value))
        return wrong_type(info, "a str", value);
    const char *names = PyUnicode_AsUTF8AndSize(value, NULL);
    if (!names)
        return -1;
    if (are_sanitizers(names))
        return add_line(c, info->name, Py_NewRef(value));
    if (!*names)
        return 0;
    return PyErr_Format(PyExc_ValueError,
                        "option %s=%R: there are 'consan' and 'gsan' here, which run a "
                        "kernel on the emulator",
                        info->name, value),
           -1;
}

/* What is the default, and says that nothing is asked for. */
static int
refuse_option(const OptionInfo *info, PyObject *value)
{
    int asks = PyObject_IsTrue(value);
    if (asks <= 0)
        return asks;
    return PyErr_Format(PyExc_ValueError, "option %s=%R is not supported: %s",
                        info->name, value, info->doc),
           -1;
}

int
call_set_option(Call *c, int id, PyObject *value)
{
    const OptionInfo *info = &option_info[id];
    long v;
    int on;
    if (value == Py_None) /* as if it were not there */
        return 0;
    switch (info->kind) {
    case OPTION_INT:
    case OPTION_POWER:
        return read_number(info, value, &v) ? -1 : set_number(&c->opt, (OptionId)id, v);
    case OPTION_FLAG:
        on = PyObject_IsTrue(value);
        if (!on && id == OPTION_ID_debug)
            on = c->k->st->config.debug; /* it stands over @jit(debug=) alone */
        return on < 0 ? -1 : set_number(&c->opt, (OptionId)id, on);
    case OPTION_FTZ:
        on = PyObject_IsTrue(value);
        return on ? MIN(on, 0) : add_line(c, info->name, PyUnicode_FromString("0"));
    case OPTION_VERSION:
        return read_number(info, value, &v)
                   ? -1
                   : add_line(c, info->name, PyUnicode_FromFormat("%ld", v));
    case OPTION_FILES: return set_extern_libs(c, info, value);
    case OPTION_TEXT: return set_text(c, info, value);
    case OPTION_PATH: return set_path(c, info, value);
    case OPTION_WORDS: return set_words(c, info, value);
    case OPTION_BACKEND: return set_backend(info, value);
    case OPTION_SANITIZER: return set_sanitizer(c, info, value);
    case OPTION_NONE: return refuse_option(info, value);
    }
    return 0;
}

/* ---- names -------------------------------------------------------------------------- */

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
