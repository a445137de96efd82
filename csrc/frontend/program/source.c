/* source: from a Python function to its text and its syntax tree.
 *
 * inspect.getsource tokenizes the rest of the file to find where a function ends, which
 * costs milliseconds in a long file. We know better: the compiled code's positions give
 * the last line that made code, and what follows it and is indented deeper (a trailing
 * comment, a pass) belongs to the function too. That block is parsed as the body of an
 * "if 1:", so nothing is dedented and every column is the one in the file; blank lines in
 * front make the line numbers those of the file as well.
 *
 * The text is taken when the function is decorated: what runs is what was imported, also where
 * the first compile comes hours later and the file was edited in between. linecache serves
 * notebooks (IPython puts its cells there) and whoever registered the source of an exec, where
 * another text may have the same name by then. What nobody has told it is asked of it later.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/frontend.h"

enum { AST_ONLY = 0x400 };

/* Gives *at the reference o and drops the one it had. */
static void
put_ref(PyObject **at, PyObject *o)
{
    PyObject *old = *at;
    *at = o;
    Py_XDECREF(old);
}

bool
fe_is_grave(void)
{
    return PyErr_Occurred() && (!PyErr_ExceptionMatches(PyExc_Exception) ||
                                PyErr_ExceptionMatches(PyExc_MemoryError));
}

void
fe_clear(PyObject **lost)
{
    if (fe_is_grave() && !*lost)
        *lost = Py_NewRef(PyErr_Occurred());
    PyErr_Clear();
}

bool
fe_has(PyObject *o, const char *name, PyObject **lost)
{
    PyObject *v = PyObject_GetAttrString(o, name);
    fe_clear(lost);
    Py_XDECREF(v);
    return v;
}

bool
fe_is_from(PyObject *o, const char *package, PyObject **lost)
{
    PyObject *mod = PyObject_GetAttrString(o, "__module__");
    const char *s = fe_utf8(mod);
    size_t n = strlen(package);
    bool is = s && !strncmp(s, package, n) && (!s[n] || s[n] == '.');
    fe_clear(lost);
    Py_XDECREF(mod);
    return is;
}

long
fe_get_long(PyObject *o, const char *name)
{
    PyObject *v = PyObject_GetAttrString(o, name);
    if (!v)
        return -1;
    long r = PyLong_AsLong(v);
    Py_DECREF(v);
    return r;
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
    long last = fe_get_long(code, "co_firstlineno");
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

/* The open file's n bytes: new ref; NULL with an exception, or without one when it gives
 * fewer. */
static PyObject *
read_bytes(int fd, Py_ssize_t n)
{
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, n);
    char *to = bytes ? PyBytes_AsString(bytes) : NULL;
    for (Py_ssize_t at = 0; to && at < n;) {
        ssize_t got = read(fd, to + at, (size_t)(n - at));
        if (got <= 0)
            return Py_DECREF(bytes), NULL;
        at += got;
    }
    return bytes;
}

/* Is t the tuple (file, time, size, text) of this file in this state? */
static bool
is_text_of(PyObject *t, const char *file, long long time, long long size)
{
    const char *name;
    long long of_time, of_size;
    PyObject *text_b;
    bool is = PyTuple_Check(t) &&
              PyArg_ParseTuple(t, "sLLO", &name, &of_time, &of_size, &text_b) &&
              !strcmp(name, file) && of_time == time && of_size == size;
    PyErr_Clear();
    return is;
}

/* What somebody has told linecache of this file's text, in an entry without a time: new ref to
 * its lines; NULL: nothing, or a grave exception. Who has not imported linecache told nothing. */
static PyObject *
told_lines(const char *file)
{
    PyObject *linecache_b = PyDict_GetItemString(PyImport_GetModuleDict(), "linecache");
    PyObject *cache = linecache_b ? PyObject_GetAttrString(linecache_b, "cache") : NULL;
    PyObject *entry = cache ? PyMapping_GetItemString(cache, file) : NULL,
             *lines = NULL;
    if (!fe_is_grave())
        PyErr_Clear();
    if (entry && PyTuple_Check(entry) && PyTuple_Size(entry) > 2 &&
        PyTuple_GetItem(entry, 1) == Py_None && PyList_Check(PyTuple_GetItem(entry, 2)))
        lines = Py_NewRef(PyTuple_GetItem(entry, 2));
    Py_XDECREF(cache);
    Py_XDECREF(entry);
    return lines;
}

int
fe_function_keep_text(FeFunction *f, PyObject **last)
{
    enum { LONGEST = 1 << 26 };
    struct stat s;
    f->text = told_lines(f->file);
    if (f->text || PyErr_Occurred())
        return f->text ? 0 : -1;
    int fd = open(f->file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    if (fstat(fd, &s) || !S_ISREG(s.st_mode) || s.st_size > LONGEST)
        return close(fd), 0;
    long long time = (long long)s.st_mtim.tv_sec * 1000000000 + s.st_mtim.tv_nsec;
    if (!is_text_of(*last, f->file, time, s.st_size)) {
        PyObject *text = read_bytes(fd, s.st_size);
        PyObject *t = text ? Py_BuildValue("sLLN", f->file, time, (long long)s.st_size,
                                           text)
                           : NULL;
        if (!t) {
            close(fd);
            return PyErr_Occurred() && fe_is_grave() ? -1 : (PyErr_Clear(), 0);
        }
        put_ref(last, t);
    }
    close(fd);
    f->text = Py_NewRef(PyTuple_GetItem(*last, 3));
    return 0;
}

/* Does one of the first two lines ask for an encoding, "# -*- coding: latin-1 -*-"? */
static bool
asks_for_encoding(const char *s)
{
    for (int i = 0; i < 2; i++) {
        const char *end = s + strcspn(s, "\n");
        const char *hash = memchr(s, '#', (size_t)(end - s));
        const char *coding = hash ? strstr(hash, "coding") : NULL;
        if (coding && coding < end)
            return true;
        s = *end ? end + 1 : end;
    }
    return false;
}

/* The lines of a file's bytes: new ref to a list; NULL without an exception when they are not
 * plain UTF-8, or with a grave one. */
static PyObject *
utf8_lines(PyObject *bytes)
{
    char *s;
    Py_ssize_t n;
    PyObject *text = NULL, *io = NULL, *stream = NULL, *lines = NULL;
    if (!PyBytes_AsStringAndSize(bytes, &s, &n)) {
        if (!strncmp(s, "\xEF\xBB\xBF", 3)) /* a byte order mark */
            s += 3, n -= 3;
        if (!asks_for_encoding(s))
            text = PyUnicode_DecodeUTF8(s, n, "strict");
    }
    if (text)
        io = PyImport_ImportModule("io");
    if (io) /* no newline given: \r\n and \r end lines too, as in files that are read */
        stream = PyObject_CallMethod(io, "StringIO", "OO", text, Py_None);
    if (stream)
        lines = PyObject_CallMethod(stream, "readlines", NULL);
    if (!lines && PyErr_Occurred() && !fe_is_grave())
        PyErr_Clear();
    DROP(text, io, stream);
    return lines;
}

bool
fe_text_is_plain(const FeFunction *f)
{
    PyObject *told = told_lines(f->file);
    bool is = !told && f->text && PyBytes_Check(f->text) &&
              !asks_for_encoding(PyBytes_AsString(f->text));
    Py_XDECREF(told);
    PyErr_Clear();
    return is;
}

/* The file's lines: new ref to a list, or NULL with an exception. Of a file linecache may have
 * been told another text since then. Importing linecache for
 * a plain file costs 10 ms, for it loads the tokenizer. */
static PyObject *
file_lines(FeFunction *f)
{
    if (f->text && PyList_Check(f->text))
        return Py_NewRef(f->text);
    if (f->text) {
        PyObject *lines = told_lines(f->file);
        if (!lines && !PyErr_Occurred())
            lines = utf8_lines(f->text);
        if (lines || PyErr_Occurred())
            return lines;
    }
    PyObject *linecache = PyImport_ImportModule("linecache");
    if (!linecache)
        return NULL;
    /* What it has of a file may be what the file was. */
    PyObject *lines = PyObject_CallMethod(linecache, "checkcache", "s", f->file);
    if (lines) {
        Py_DECREF(lines);
        lines = PyObject_CallMethod(linecache, "getlines", "sO", f->file, f->globals);
    }
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
join_lines(PyObject *lines, Py_ssize_t first, Py_ssize_t end)
{
    PyObject *part = PyList_GetSlice(lines, first, end);
    PyObject *empty = part ? PyUnicode_FromString("") : NULL;
    PyObject *res = empty ? PyUnicode_Join(empty, part) : NULL;
    Py_XDECREF(part);
    Py_XDECREF(empty);
    return res;
}

/* CPython's parser asks nobody for stack: 80 parentheses take 60 KB, and what it lets pass up to 2 MB. */
enum { PARSER_STACK = 2 << 20, PARSER_OWN_STACK = 16 << 20 };

typedef struct Parse {
    PyObject *builtins, *text;
    const char *file;
    PyObject *tree;                 /* NULL with an exception: */
    PyObject *type, *value, *trace; /* in a thread of its own */
} Parse;

/* compile(text, file, "exec", AST_ONLY, True).
 *
 * In CPython 3.11 and 3.12 threads that build syntax trees count their depth in one place;
 * where a collection of garbage lets another thread in, the tree ends in this SystemError
 * (python/cpython issue 106905). Once more it goes well. */
static void
parse_here(Parse *p)
{
    for (int i = 0;; i++) {
        p->tree = PyObject_CallMethod(p->builtins, "compile", "OssiO", p->text, p->file,
                                      "exec", AST_ONLY, Py_True);
        if (p->tree || i == 20 || !PyErr_ExceptionMatches(PyExc_SystemError))
            return;
        PyErr_Clear();
    }
}

static void *
parse_in_thread(void *data)
{
    Parse *p = data;
    PyGILState_STATE was = PyGILState_Ensure();
    parse_here(p);
    PyErr_Fetch(&p->type, &p->value, &p->trace);
    PyGILState_Release(was);
    return NULL;
}

/* The tree of the text: new ref, or NULL with an exception. */
static PyObject *
compile_ast(PyObject *builtins, PyObject *text, const char *file)
{
    Parse p = {.builtins = builtins, .text = text, .file = file};
    if (stack_left() >= PARSER_STACK) {
        parse_here(&p);
        return p.tree;
    }
    pthread_t t;
    PyThreadState *thread = PyEval_SaveThread();
    bool ok = stack_thread(&t, PARSER_OWN_STACK, parse_in_thread, &p);
    if (ok)
        pthread_join(t, NULL);
    PyEval_RestoreThread(thread);
    if (!ok)
        return PyErr_NoMemory();
    PyErr_Restore(p.type, p.value, p.trace);
    return p.tree;
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
    tree = compile_ast(builtins, padded, file);
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
    DROP(builtins, padded, tree, node);
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
    DROP(rest, inspect, block);
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
    DROP(cells, code, names);
    return res;
}

static int
no_source(FeFunction *f)
{
    PyErr_Format(
        PyExc_ValueError,
        "the source of %s() is not available (%s, line %d): write the kernel into a file "
        "or a notebook; what exec() gets as compile(text, name, 'exec') is found by "
        "linecache.cache[name] = len(text), None, text.splitlines(True), name",
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
        PyObject *text = join_lines(lines, first, end);
        if (!text)
            return -1;
        PyObject *ast = parse(f->file, text, f->first_line, indent > 0);
        if (ast) {
            put_ref(&f->source, text);
            put_ref(&f->ast, ast);
            return 0;
        }
        Py_DECREF(text);
        if (PyErr_ExceptionMatches(PyExc_IndexError)) { /* empty lines */
            PyErr_Clear();
            return no_source(f);
        }
        if (attempt || !PyErr_ExceptionMatches(PyExc_SyntaxError))
            return -1;
        PyErr_Clear();
        end = end_by_inspect(lines, first);
        if (end < 0)
            return -1;
    }
}

/* ---- lambdas --------------------------------------------------------------------------- */

/* Four positions of an ast node, in the order of co_positions: new ref, or NULL. */
static PyObject *
span_of(PyObject *node)
{
    long at[4];
    static const char *const names[] = {"lineno", "end_lineno", "col_offset",
                                        "end_col_offset"};
    for (int i = 0; i < 4; i++)
        at[i] = fe_get_long(node, names[i]);
    return PyErr_Occurred() ? NULL : Py_BuildValue("llll", at[0], at[1], at[2], at[3]);
}

/* The code of the lambda that node is, compiled once more: new ref, or NULL. */
static PyObject *
code_of_lambda(PyObject *ast, PyObject *node)
{
    PyObject *tree = PyObject_CallMethod(ast, "Expression", "O", node);
    PyObject *builtins = tree ? PyImport_ImportModule("builtins") : NULL, *outer = NULL;
    if (builtins)
        outer = PyObject_CallMethod(builtins, "compile", "Oss", tree, "<lambda>",
                                    "eval");
    PyObject *consts = outer ? PyObject_GetAttrString(outer, "co_consts") : NULL;
    PyObject *inner = NULL; /* behind those of its defaults */
    for (Py_ssize_t i = consts ? PyTuple_Size(consts) : 0; !inner && i-- > 0;)
        if (Py_IS_TYPE(PyTuple_GetItem(consts, i), Py_TYPE(outer)))
            inner = Py_NewRef(PyTuple_GetItem(consts, i));
    DROP(tree, builtins, outer, consts);
    return inner;
}

/* Has code the constants and parameters of the lambda that node is? */
static int
has_constants_of(PyObject *ast, PyObject *node, PyObject *code)
{
    static const char *const parts[] = {"co_consts", "co_varnames"};
    PyObject *other = code_of_lambda(ast, node);
    int r = other ? 1 : -1;
    for (size_t i = 0; r == 1 && i < COUNT(parts); i++) {
        PyObject *a = PyObject_GetAttrString(code, parts[i]);
        PyObject *b = a ? PyObject_GetAttrString(other, parts[i]) : NULL;
        r = b ? fe_same_constant(a, b) : -1;
        Py_XDECREF(a);
        Py_XDECREF(b);
    }
    Py_XDECREF(other);
    return r;
}

/* Is node the lambda that code was made of? spans: the positions of its instructions, of
 * which one is that of the body. Python 3.12 returns a constant by an instruction that has no
 * position: the first one's is the only one then. 1, 0, or -1 with an exception. */
static int
is_lambda_of(PyObject *ast, PyObject *node, PyObject *code, PyObject *spans, int line)
{
    PyObject *name = PyType_GetName(Py_TYPE(node)), *body = NULL, *span = NULL;
    int r = name ? !PyUnicode_CompareWithASCIIString(name, "Lambda") : -1;
    if (r > 0)
        r = fe_get_long(node, "lineno") == line;
    if (r > 0) {
        body = PyObject_GetAttrString(node, "body");
        span = body ? span_of(body) : NULL;
        r = span ? PySet_Contains(spans, span) : -1;
    }
    if (!r && span && PySet_Size(spans) == 1)
        r = has_constants_of(ast, node, code);
    DROP(name, body, span);
    return PyErr_Occurred() ? -1 : r;
}

/* The ast.Lambda of code among the nodes of tree; new ref, or NULL: without an exception
 * when there is none, or more than one could be it. */
static PyObject *
find_lambda(PyObject *tree, PyObject *code, int line)
{
    PyObject *ast = PyImport_ImportModule("ast"), *found = NULL, *node;
    PyObject *at = PyObject_CallMethod(code, "co_positions", NULL);
    PyObject *spans = at ? PySet_New(at) : NULL;
    PyObject *walk = ast && spans ? PyObject_CallMethod(ast, "walk", "O", tree) : NULL;
    PyObject *it = walk ? PyObject_GetIter(walk) : NULL;
    bool is_open = false;
    while (it && !is_open && (node = PyIter_Next(it))) {
        int r = is_lambda_of(ast, node, code, spans, line);
        if (r > 0 && !found)
            found = Py_NewRef(node);
        else if (r)
            is_open = true;
        Py_DECREF(node);
    }
    if (is_open || PyErr_Occurred())
        Py_CLEAR(found);
    DROP(ast, at, spans, walk, it);
    return found;
}

/* A lambda may stand anywhere in a statement: the whole file is parsed to find it. */
static int
parse_lambda(FeFunction *f, PyObject *code, PyObject *lines)
{
    PyObject *text = join_lines(lines, 0, PyList_Size(lines)), *tree = NULL,
             *node = NULL;
    PyObject *builtins = PyImport_ImportModule("builtins");
    int res = -1;
    if (text && builtins)
        tree = compile_ast(builtins, text, f->file);
    node = tree ? find_lambda(tree, code, f->first_line) : NULL;
    if (node) {
        PyObject *source = join_lines(lines, f->first_line - 1,
                                      fe_get_long(node, "end_lineno"));
        if (source) {
            put_ref(&f->source, source);
            put_ref(&f->ast, Py_NewRef(node));
            res = 0;
        }
    } else if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_SyntaxError)) {
        PyErr_Clear();
        res = no_source(f);
    }
    DROP(text, builtins, tree, node);
    return res;
}

int
fe_function_read_closure(FeFunction *f)
{
    PyObject *closure = read_closure(f);
    if (closure)
        put_ref(&f->closure, closure);
    return closure ? 0 : -1;
}

int
fe_function_parse(FeFunction *f)
{
    if (fe_function_read_closure(f))
        return -1;
    if (f->ast)
        return 0;
    int res = -1;
    PyObject *code = PyObject_GetAttrString(f->fn, "__code__");
    PyObject *lines = code ? file_lines(f) : NULL;
    bool is_lambda = !strcmp(f->name, "lambda");
    if (lines)
        res = !PyList_Size(lines) ? no_source(f)
              : is_lambda         ? parse_lambda(f, code, lines)
                                  : parse_lines(f, code, lines);
    Py_XDECREF(code);
    Py_XDECREF(lines);
    if (res == 0 && !is_lambda) {
        /* A file that changed between its import and the decorator gives other lines. */
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
    if (f->ast)
        Py_CLEAR(f->text);
    return res;
}

int
fe_function_set_source(FeFunction *f, PyObject *text, PyObject *file)
{
    char *copy = fe_copy_utf8(file);
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
    free(f->packed);
    f->packed = NULL;
    return 0;
}
