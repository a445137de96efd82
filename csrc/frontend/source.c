/* source: from a Python function to its text, its syntax tree and its parameters.
 *
 * inspect.getsource tokenizes the rest of the file to find where a function ends, which
 * costs milliseconds in a long file. We know better: the compiled code's positions give
 * the last line that made code, and what follows it and is indented deeper (a trailing
 * comment, a pass) belongs to the function too. That block is parsed as the body of an
 * "if 1:", so nothing is dedented and every column is the one in the file; blank lines in
 * front make the line numbers those of the file as well.
 *
 * Lines come from linecache, which serves files, notebooks (IPython puts its cells there),
 * and whoever registered the source of an exec.
 */
#include <stdlib.h>

#include "frontend/frontend.h"

enum { AST_ONLY = 0x400, CO_VARARGS = 4, CO_VARKEYWORDS = 8 };

static char *
copy_utf8(PyObject *s)
{
    Py_ssize_t n;
    const char *u = PyUnicode_AsUTF8AndSize(s, &n);
    if (!u)
        return NULL;
    char *r = malloc((size_t)n + 1);
    if (!r) {
        PyErr_NoMemory();
        return NULL;
    }
    memcpy(r, u, (size_t)n + 1);
    return r;
}

/* Gives *at the reference o and drops the one it had. */
static void
put_ref(PyObject **at, PyObject *o)
{
    PyObject *old = *at;
    *at = o;
    Py_XDECREF(old);
}

/* o.name as a long; -1 with an exception set. */
static long
get_long(PyObject *o, const char *name)
{
    PyObject *v = PyObject_GetAttrString(o, name);
    if (!v)
        return -1;
    long r = PyLong_AsLong(v);
    Py_DECREF(v);
    return r;
}

/* ---- annotations --------------------------------------------------------------------- */

/* tl.int64, int64, i32, fp16, int, float, bool -> the element type. */
static bool
elem_named(const char *s, Elem *e)
{
    static const struct {
        const char *name;
        Elem e;
    } python[] = {
        {"int", E_I32}, {"float", E_F32}, {"bool", E_I1},
        {"B", E_I1},    {"u1", E_I1},     {"double", E_F64},
    };
    const char *dot = strrchr(s, '.');
    if (dot)
        s = dot + 1;
    for (size_t i = 0; i < COUNT(python); i++)
        if (!strcmp(s, python[i].name)) {
            *e = python[i].e;
            return true;
        }
    for (int i = 0; i < N_ELEM; i++)
        if (!strcmp(s, elem_info[i].tl) || !strcmp(s, elem_info[i].sig)) {
            *e = (Elem)i;
            return true;
        }
    return false;
}

/* Fills p from the annotation's text; quotes of "'*fp32'" are stripped. */
static void
annotation_text(FeParam *p, const char *s)
{
    char buf[64];
    size_t n = strlen(s);
    if (n >= 2 && (s[0] == '\'' || s[0] == '"') && s[n - 1] == s[0] && n < sizeof buf) {
        memcpy(buf, s + 1, n - 2);
        buf[n - 2] = 0;
        s = buf;
    }
    const char *dot = strrchr(s, '.');
    const char *last = dot ? dot + 1 : s;
    if (strstr(s, "constexpr"))
        p->is_constexpr = true;
    else if (!strcmp(last, "const"))
        p->is_const = true;
    else if (s[0] == '*') {
        const char *of = s[1] == 'k' ? s + 2 : s + 1;
        if (elem_named(of, &p->elem)) {
            p->has_type = p->is_pointer = true;
            p->is_const = s[1] == 'k';
        }
    } else
        p->has_type = elem_named(s, &p->elem);
}

/* Reads what an annotation object says; 0, or -1 with an exception set. */
static int
annotation(FeParam *p, PyObject *ann)
{
    PyObject *text = NULL, *pointee;
    if (PyUnicode_Check(ann)) {
        text = Py_NewRef(ann);
    } else if (PyType_Check(ann)) {
        text = PyObject_GetAttrString(ann, "__name__");
    } else if ((pointee = PyObject_GetAttrString(ann, "element_ty"))) {
        PyObject *name = PyObject_GetAttrString(pointee, "name");
        Py_DECREF(pointee);
        const char *s = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
        if (s && elem_named(s, &p->elem))
            p->has_type = p->is_pointer = true;
        Py_XDECREF(name);
        PyErr_Clear();
        return 0;
    } else {
        PyErr_Clear();
        text = PyObject_GetAttrString(ann, "name"); /* a tl.dtype */
        if (!text || !PyUnicode_Check(text)) {
            PyErr_Clear();
            Py_XDECREF(text);
            text = PyObject_Str(ann);
        }
    }
    const char *s = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    if (s)
        annotation_text(p, s);
    Py_XDECREF(text);
    return s ? 0 : -1;
}

/* ---- parameters ---------------------------------------------------------------------- */

/* Marks the parameters that list (names or indices) picks; 0, or -1 with an exception. */
static int
mark(FeFunction *f, PyObject *list, size_t offset, const char *option)
{
    if (!list || list == Py_None)
        return 0;
    Py_ssize_t n = PySequence_Size(list);
    if (n < 0)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_GetItem(list, i);
        if (!item)
            return -1;
        int at = -1;
        if (PyLong_Check(item)) {
            long k = PyLong_AsLong(item);
            PyErr_Clear();
            if (k >= 0 && k < f->n_params)
                at = (int)k;
        } else {
            for (int k = 0; k < f->n_params && at < 0; k++) {
                int eq = PyObject_RichCompareBool(item, f->params[k].name, Py_EQ);
                if (eq < 0) {
                    Py_DECREF(item);
                    return -1;
                }
                if (eq)
                    at = k;
            }
        }
        if (at < 0) {
            PyErr_Format(PyExc_ValueError, "%s(): %s names %R, which is no parameter",
                         f->name, option, item);
            Py_DECREF(item);
            return -1;
        }
        Py_DECREF(item);
        *(bool *)((char *)&f->params[at] + offset) = true;
    }
    return 0;
}

/* The i-th of n_defaults values for the last of n parameters; borrowed or NULL. */
static PyObject *
default_b(PyObject *defaults, int i, int n)
{
    if (!defaults || defaults == Py_None)
        return NULL;
    Py_ssize_t first = n - PyTuple_Size(defaults);
    return i >= first ? PyTuple_GetItem(defaults, i - first) : NULL;
}

/* fn.__annotations__; from Python 3.14 on reading them runs code, which fails when a name
 * in one is not defined: then their text. New ref, or NULL with an exception. */
static PyObject *
read_annotations(PyObject *fn)
{
    PyObject *ann = PyObject_GetAttrString(fn, "__annotations__"), *lib, *format, *get;
    if (ann || !PyErr_ExceptionMatches(PyExc_NameError))
        return ann;
    PyErr_Clear();
    lib = PyImport_ImportModule("annotationlib");
    if (!lib)
        return NULL;
    format = PyObject_GetAttrString(lib, "Format");
    get = format ? PyObject_GetAttrString(format, "STRING") : NULL;
    if (get) {
        PyObject *args = Py_BuildValue("(O)", fn),
                 *kw = Py_BuildValue("{sO}", "format", get);
        PyObject *call = PyObject_GetAttrString(lib, "get_annotations");
        if (args && kw && call)
            ann = PyObject_Call(call, args, kw);
        Py_XDECREF(args);
        Py_XDECREF(kw);
        Py_XDECREF(call);
    }
    Py_DECREF(lib);
    Py_XDECREF(format);
    Py_XDECREF(get);
    return ann;
}

/* Fills f->params from code, defaults and annotations; 0, or -1 with an exception. */
static int
read_params(FeFunction *f, PyObject *code)
{
    int res = -1;
    PyObject *names = NULL, *defaults = NULL, *kw_defaults = NULL, *annotations = NULL;
    long n_pos = get_long(code, "co_argcount");
    long n_kw = get_long(code, "co_kwonlyargcount");
    if (PyErr_Occurred())
        goto done;
    names = PyObject_GetAttrString(code, "co_varnames");
    defaults = PyObject_GetAttrString(f->fn, "__defaults__");
    kw_defaults = PyObject_GetAttrString(f->fn, "__kwdefaults__");
    annotations = read_annotations(f->fn);
    if (!names || !defaults || !kw_defaults || !annotations)
        goto done;
    f->n_params = (int)(n_pos + n_kw);
    f->params = calloc((size_t)f->n_params + 1, sizeof *f->params);
    if (!f->params) {
        PyErr_NoMemory();
        goto done;
    }
    for (int i = 0; i < f->n_params; i++) {
        FeParam *p = &f->params[i];
        PyObject *name_b = PyTuple_GetItem(names, i);
        if (!name_b)
            goto done;
        p->name = Py_NewRef(name_b);
        p->keyword_only = i >= n_pos;
        PyObject *value_b = NULL;
        if (!p->keyword_only)
            value_b = default_b(defaults, i, (int)n_pos);
        else if (kw_defaults != Py_None)
            value_b = PyDict_GetItemWithError(kw_defaults, name_b);
        if (!value_b && PyErr_Occurred())
            goto done;
        p->default_value = Py_XNewRef(value_b);
        PyObject *ann_b = PyDict_GetItemWithError(annotations, name_b);
        if (!ann_b && PyErr_Occurred())
            goto done;
        if (ann_b && annotation(p, ann_b))
            goto done;
    }
    res = 0;
done:
    Py_XDECREF(names);
    Py_XDECREF(defaults);
    Py_XDECREF(kw_defaults);
    Py_XDECREF(annotations);
    return res;
}

FeFunction *
fe_function_new(PyObject *fn, PyObject *no_specialize, PyObject *no_align)
{
    PyObject *code = PyObject_GetAttrString(fn, "__code__"), *s = NULL;
    if (!code) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "@jit needs a Python function, not %R", fn);
        return NULL;
    }
    FeFunction *f = calloc(1, sizeof *f);
    if (!f) {
        Py_DECREF(code);
        PyErr_NoMemory();
        return NULL;
    }
    f->fn = Py_NewRef(fn);
    s = PyObject_GetAttrString(code, "co_filename");
    if (!s || !(f->file = copy_utf8(s)))
        goto fail;
    Py_DECREF(s);
    s = PyObject_GetAttrString(fn, "__name__");
    if (!s || !(f->name = copy_utf8(s)))
        goto fail;
    Py_CLEAR(s);
    f->globals = PyObject_GetAttrString(fn, "__globals__");
    if (!f->globals)
        goto fail;
    f->first_line = (int)get_long(code, "co_firstlineno");
    if (PyErr_Occurred() || read_params(f, code))
        goto fail;
    if (mark(f, no_specialize, offsetof(FeParam, no_specialize), "do_not_specialize") ||
        mark(f, no_align, offsetof(FeParam, no_align),
             "do_not_specialize_on_alignment"))
        goto fail;
    for (int i = 0; i < f->n_params; i++)
        if (f->params[i].no_specialize && f->params[i].is_constexpr) {
            PyErr_Format(
                PyExc_ValueError,
                "%s(): %U marked as constexpr and listed in do_not_specialize. "
                "remove constexpr designation",
                f->name, f->params[i].name);
            goto fail;
        }
    Py_DECREF(code);
    return f;
fail:
    Py_XDECREF(s);
    Py_DECREF(code);
    fe_function_free(f);
    return NULL;
}

void
fe_function_free(FeFunction *f)
{
    if (!f)
        return;
    for (int i = 0; i < f->n_params && f->params; i++) {
        Py_XDECREF(f->params[i].name);
        Py_XDECREF(f->params[i].default_value);
    }
    free(f->params);
    Py_XDECREF(f->fn);
    Py_XDECREF(f->ast);
    Py_XDECREF(f->globals);
    Py_XDECREF(f->closure);
    Py_XDECREF(f->source);
    free(f->file);
    free(f->name);
    free(f);
}

int
fe_function_traverse(FeFunction *f, visitproc visit, void *arg)
{
    if (!f)
        return 0;
    for (int i = 0; i < f->n_params && f->params; i++)
        Py_VISIT(f->params[i].default_value);
    Py_VISIT(f->fn);
    Py_VISIT(f->globals);
    Py_VISIT(f->closure);
    return 0;
}

/* ---- text ------------------------------------------------------------------------------ */

/* Is the line (with its newline) blank or a comment? *indent: columns before the rest. */
static bool
is_blank(const char *s, int *indent)
{
    int n = 0;
    while (*s == ' ' || *s == '\t' || *s == '\f')
        s++, n++;
    *indent = n;
    return *s == 0 || *s == '\n' || *s == '\r' || *s == '#';
}

/* The last line that made code, of code and of what is nested in it; -1 on an exception. */
static long
last_code_line(PyObject *code, int depth)
{
    long last = get_long(code, "co_firstlineno");
    PyObject *it = NULL, *item, *consts = NULL;
    PyObject *pos = PyObject_CallMethod(code, "co_positions", NULL);
    if (pos)
        it = PyObject_GetIter(pos);
    Py_XDECREF(pos);
    if (!it)
        return -1;
    while ((item = PyIter_Next(it))) {
        PyObject *end = PyTuple_GetItem(item, 1);
        if (end && PyLong_Check(end))
            last = MAX(last, PyLong_AsLong(end));
        Py_DECREF(item);
    }
    Py_DECREF(it);
    if (PyErr_Occurred() || depth > 20)
        return PyErr_Occurred() ? -1 : last;
    consts = PyObject_GetAttrString(code, "co_consts");
    Py_ssize_t n = consts ? PyTuple_Size(consts) : -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *k = PyTuple_GetItem(consts, i);
        if (k && Py_IS_TYPE(k, Py_TYPE(code))) {
            long inner = last_code_line(k, depth + 1);
            if (inner < 0) {
                last = -1;
                break;
            }
            last = MAX(last, inner);
        }
    }
    Py_XDECREF(consts);
    return n < 0 ? -1 : last;
}

/* The lines of a UTF-8 file: new ref to a list; NULL without an exception when the file is
 * not there, or is not plain UTF-8. */
static PyObject *
utf8_lines(const char *file)
{
    PyObject *lines = NULL, *opened = NULL, *closed;
    PyObject *io = PyImport_ImportModule("io");
    if (io)
        opened = PyObject_CallMethod(io, "open", "ssis", file, "r", -1, "utf-8");
    if (opened) {
        lines = PyObject_CallMethod(opened, "readlines", NULL);
        closed = PyObject_CallMethod(opened, "close", NULL);
        Py_XDECREF(closed);
    }
    /* A byte order mark; the codec that drops it would have to be imported. */
    PyObject *top_b = lines && PyList_Size(lines) ? PyList_GetItem(lines, 0) : NULL;
    if (top_b && PyUnicode_ReadChar(top_b, 0) == 0xFEFF) {
        PyObject *rest = PyUnicode_Substring(top_b, 1, PyUnicode_GetLength(top_b));
        if (!rest || PyList_SetItem(lines, 0, rest))
            Py_CLEAR(lines);
    }
    /* "# -*- coding: latin-1 -*-" in the first two lines asks for another encoding. */
    for (Py_ssize_t i = 0; lines && i < MIN(PyList_Size(lines), 2); i++) {
        const char *s = PyUnicode_AsUTF8AndSize(PyList_GetItem(lines, i), NULL);
        if (!s || (strchr(s, '#') && strstr(s, "coding")))
            Py_CLEAR(lines);
    }
    PyErr_Clear();
    Py_XDECREF(io);
    Py_XDECREF(opened);
    return lines;
}

/* The file's lines: new ref to a list, or NULL with an exception. linecache has them where
 * it is loaded, also of cells and of registered texts. Importing it for a plain file costs
 * 10 ms, for it loads the tokenizer; and before its import nobody can have told it a text. */
static PyObject *
file_lines(FeFunction *f)
{
    PyObject *modules_b = PyImport_GetModuleDict();
    if (!PyDict_GetItemString(modules_b, "linecache")) {
        PyObject *lines = utf8_lines(f->file);
        if (lines)
            return lines;
    }
    PyObject *linecache = PyImport_ImportModule("linecache");
    if (!linecache)
        return NULL;
    PyObject *lines = PyObject_CallMethod(linecache, "getlines", "sO", f->file,
                                          f->globals);
    Py_DECREF(linecache);
    if (lines && !PyList_Check(lines)) {
        Py_DECREF(lines);
        PyErr_SetString(PyExc_TypeError, "linecache.getlines gave no list");
        return NULL;
    }
    return lines;
}

/* Lines [first, end) of the list, joined: new ref to str. */
static PyObject *
join(PyObject *lines, Py_ssize_t first, Py_ssize_t end)
{
    PyObject *part = PyList_GetSlice(lines, first, end);
    PyObject *empty = part ? PyUnicode_FromString("") : NULL;
    PyObject *res = empty ? PyUnicode_Join(empty, part) : NULL;
    Py_XDECREF(part);
    Py_XDECREF(empty);
    return res;
}

/* The FunctionDef in text, whose first line is `first` of its file: new ref; NULL with an
 * exception (SyntaxError when the text is cut wrongly). */
static PyObject *
parse(const char *file, PyObject *text, int first, bool is_indented)
{
    PyObject *res = NULL, *tree = NULL, *body = NULL, *node = NULL, *padded = NULL;
    PyObject *builtins = PyImport_ImportModule("builtins");
    int n_pad = first - 1 - (is_indented ? 1 : 0);
    char *pad = malloc((size_t)MAX(n_pad, 0) + 8);
    if (!builtins || !pad) {
        if (!pad)
            PyErr_NoMemory();
        goto done;
    }
    memset(pad, '\n', (size_t)MAX(n_pad, 0));
    strcpy(pad + MAX(n_pad, 0), is_indented ? "if 1:\n" : "");
    padded = PyUnicode_FromFormat("%s%U", pad, text);
    if (!padded)
        goto done;
    tree = PyObject_CallMethod(builtins, "compile", "OssiO", padded, file, "exec",
                               AST_ONLY, Py_True);
    if (!tree)
        goto done;
    for (int level = is_indented ? 2 : 1; level > 0; level--) {
        body = PyObject_GetAttrString(level == 2 || !is_indented ? tree : node, "body");
        Py_CLEAR(node);
        node = body ? PySequence_GetItem(body, 0) : NULL;
        Py_CLEAR(body);
        if (!node)
            goto done;
    }
    res = Py_NewRef(node);
done:
    free(pad);
    Py_XDECREF(builtins);
    Py_XDECREF(padded);
    Py_XDECREF(tree);
    Py_XDECREF(node);
    return res;
}

/* The block's end by inspect, which tokenizes; for text that fooled the indentation. */
static Py_ssize_t
end_by_inspect(PyObject *lines, Py_ssize_t first)
{
    Py_ssize_t n = -1;
    PyObject *rest = PyList_GetSlice(lines, first, PyList_Size(lines)), *block = NULL;
    PyObject *inspect = PyImport_ImportModule("inspect");
    if (rest && inspect)
        block = PyObject_CallMethod(inspect, "getblock", "O", rest);
    if (block)
        n = first + PyList_Size(block);
    Py_XDECREF(rest);
    Py_XDECREF(inspect);
    Py_XDECREF(block);
    return n;
}

/* Names to values of the free variables whose cells are filled: new ref; NULL + exception. */
static PyObject *
read_closure(FeFunction *f)
{
    PyObject *res = PyDict_New(), *names = NULL, *code = NULL;
    PyObject *cells = PyObject_GetAttrString(f->fn, "__closure__");
    if (!cells || !res || cells == Py_None)
        goto done;
    code = PyObject_GetAttrString(f->fn, "__code__");
    names = code ? PyObject_GetAttrString(code, "co_freevars") : NULL;
    if (!names) {
        Py_CLEAR(res);
        goto done;
    }
    for (Py_ssize_t i = 0; i < PyTuple_Size(cells); i++) {
        PyObject *name_b = PyTuple_GetItem(names, i);
        PyObject *v = PyObject_GetAttrString(PyTuple_GetItem(cells, i),
                                             "cell_contents");
        if (!v) {
            PyErr_Clear(); /* an empty cell: reading the name is the error */
            continue;
        }
        int bad = !name_b || PyDict_SetItem(res, name_b, v);
        Py_DECREF(v);
        if (bad) {
            Py_CLEAR(res);
            goto done;
        }
    }
done:
    if (!cells)
        Py_CLEAR(res);
    Py_XDECREF(cells);
    Py_XDECREF(code);
    Py_XDECREF(names);
    return res;
}

static int
no_source(FeFunction *f)
{
    PyErr_Format(
        PyExc_ValueError,
        "the source of %s() is not available (%s, line %d): @jit functions must be "
        "defined in a file or a notebook, or have their text in linecache",
        f->name, f->file, f->first_line);
    return -1;
}

/* Cuts the lines out, parses them, and keeps text and tree. */
static int
parse_lines(FeFunction *f, PyObject *code, PyObject *lines)
{
    Py_ssize_t n = PyList_Size(lines), first = f->first_line - 1;
    if (first < 0 || first >= n)
        return no_source(f);
    int indent, other;
    const char *s = PyUnicode_AsUTF8AndSize(PyList_GetItem(lines, first), NULL);
    if (!s)
        return -1;
    is_blank(s, &indent);
    long last = last_code_line(code, 0);
    if (last < 0)
        return -1;
    Py_ssize_t end = MIN(MAX(last, first + 1), n);
    while (end < n) {
        s = PyUnicode_AsUTF8AndSize(PyList_GetItem(lines, end), NULL);
        if (!s)
            return -1;
        if (!is_blank(s, &other) && other <= indent)
            break;
        end++;
    }
    for (int attempt = 0;; attempt++) {
        PyObject *text = join(lines, first, end);
        if (!text)
            return -1;
        PyObject *ast = parse(f->file, text, f->first_line, indent > 0);
        if (ast) {
            put_ref(&f->source, text);
            put_ref(&f->ast, ast);
            return 0;
        }
        Py_DECREF(text);
        if (attempt || !PyErr_ExceptionMatches(PyExc_SyntaxError))
            return -1;
        PyErr_Clear();
        end = end_by_inspect(lines, first);
        if (end < 0)
            return -1;
    }
}

int
fe_function_parse(FeFunction *f)
{
    PyObject *closure = read_closure(f);
    if (!closure)
        return -1;
    put_ref(&f->closure, closure);
    if (f->ast)
        return 0;
    int res = -1;
    PyObject *code = PyObject_GetAttrString(f->fn, "__code__");
    PyObject *lines = code ? file_lines(f) : NULL;
    if (lines)
        res = PyList_Size(lines) ? parse_lines(f, code, lines) : no_source(f);
    Py_XDECREF(code);
    Py_XDECREF(lines);
    if (res == 0) {
        /* A file that changed on disk since its import gives other lines. */
        PyObject *name = PyObject_GetAttrString(f->ast, "name");
        const char *s = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
        PyErr_Clear();
        if (!s || strcmp(s, f->name)) {
            Py_CLEAR(f->ast);
            Py_CLEAR(f->source);
            res = no_source(f);
        }
        Py_XDECREF(name);
    }
    return res;
}

int
fe_function_set_source(FeFunction *f, PyObject *text, PyObject *file)
{
    char *copy = copy_utf8(file);
    PyObject *ast = copy ? parse(copy, text, 1, false) : NULL;
    PyObject *name = ast ? PyObject_GetAttrString(ast, "name") : NULL;
    if (!name) { /* a SyntaxError, or text that begins with no def */
        Py_XDECREF(ast);
        free(copy);
        return -1;
    }
    Py_DECREF(name);
    free(f->file);
    f->file = copy;
    f->first_line = 1;
    put_ref(&f->source, Py_NewRef(text));
    put_ref(&f->ast, ast);
    return 0;
}
