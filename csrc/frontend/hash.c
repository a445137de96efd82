/* hash: kernel.cache_key, a name for what a kernel's text says, for tools that keep something
 * of their own about kernels (an autotuner its choices). What a compile depends on is seen by
 * the frontend: neither the disk nor a launch asks for this name.
 *
 * Into SHA-256 go: the function's syntax tree (classes, identifiers and constants; no
 * positions, no docstring, no decorators), the values of the globals, closure variables
 * and defaults it names, and the same of every @jit function among those. Functions of our
 * own library count by name: they change with the package's files, which the cache
 * knows. A global whose repr holds an address makes a new name each time: a miss, never a
 * wrong hit.
 *
 * Which names are globals: those that no enclosing scope of the function has stored to so
 * far, in the order in which things are evaluated. A local that shares its name with a
 * global tensor is none of our business. What a kernel may not read is left out as well:
 * reading it is an error, and its text may be long.
 */
#include "frontend/hash.h"

enum { MAX_DEPTH = 400 };

static int
flush(Hash *h)
{
    if (!h->n)
        return 0;
    PyObject *bytes = PyBytes_FromStringAndSize(h->buf, (Py_ssize_t)h->n);
    PyObject *r = bytes ? PyObject_CallMethod(h->sha, "update", "O", bytes) : NULL;
    h->n = 0;
    Py_XDECREF(bytes);
    Py_XDECREF(r);
    return r ? 0 : -1;
}

static int
put_n(Hash *h, const char *s, size_t n)
{
    while (n) {
        size_t k = MIN(n, sizeof h->buf - h->n);
        memcpy(h->buf + h->n, s, k);
        h->n += k;
        s += k;
        n -= k;
        if (h->n == sizeof h->buf && flush(h))
            return -1;
    }
    return 0;
}

/* With its length in front, so that no two sequences of texts look alike. */
static int
put_text(Hash *h, const char *s, size_t n)
{
    char len[32];
    int k = snprintf(len, sizeof len, "%zu:", n);
    return put_n(h, len, (size_t)k) || put_n(h, s, n) ? -1 : 0;
}

int
hash_put(Hash *h, const char *s)
{
    return put_text(h, s, strlen(s));
}

int
hash_put_str(Hash *h, PyObject *s)
{
    Py_ssize_t n;
    const char *u = PyUnicode_AsUTF8AndSize(s, &n);
    if (u)
        return put_text(h, u, (size_t)n);
    /* lone surrogates: their repr is ASCII */
    fe_clear(&h->lost);
    PyObject *r = PyObject_ASCII(s);
    u = r ? PyUnicode_AsUTF8AndSize(r, &n) : NULL;
    int bad = !u || put_text(h, u, (size_t)n);
    Py_XDECREF(r);
    return bad ? -1 : 0;
}

int
hash_put_repr(Hash *h, PyObject *o)
{
    PyObject *name = PyType_GetName(Py_TYPE(o)), *r = name ? PyObject_Repr(o) : NULL;
    int bad = !r || hash_put_str(h, name) || hash_put_str(h, r);
    Py_XDECREF(name);
    Py_XDECREF(r);
    return bad ? -1 : 0;
}

/* ---- names ------------------------------------------------------------------------------ */

static bool
is_local(const Hash *h, PyObject *name)
{
    for (const Names *n = h->names; n; n = n->outer)
        if (PySet_Contains(n->set, name) > 0)
            return true;
    return false;
}

/* What expression o, a Name or Attribute, means. */
typedef struct Found {
    PyObject *value, *name; /* owned; value NULL: it is no global */
} Found;

static void
found_done(Found *f)
{
    Py_XDECREF(f->value);
    Py_XDECREF(f->name);
}

/* Sets no exception. */
static Found
resolve(Hash *h, PyObject *o)
{
    Found r = {.name = PyObject_GetAttrString(o, "id")};
    if (r.name) {
        PyObject *v_b = NULL;
        if (is_local(h, r.name))
            return r;
        if (h->fn->closure)
            v_b = PyDict_GetItemWithError(h->fn->closure, r.name);
        if (!v_b)
            v_b = PyDict_GetItemWithError(h->fn->globals, r.name);
        r.value = Py_XNewRef(v_b);
        fe_clear(&h->lost);
        return r;
    }
    fe_clear(&h->lost);
    r.name = PyObject_GetAttrString(o, "attr");
    PyObject *of = r.name ? PyObject_GetAttrString(o, "value") : NULL;
    Found base = of ? resolve(h, of) : (Found){0};
    if (base.value && PyModule_Check(base.value))
        r.value = PyObject_GetAttr(base.value, r.name);
    found_done(&base);
    Py_XDECREF(of);
    fe_clear(&h->lost);
    return r;
}

/* A name that was read, or an attribute of one. */
static int
put_name(Hash *h, PyObject *o)
{
    Found x = resolve(h, o);
    int bad = 0;
    if (x.value && (h->reads_all || PyType_Check(x.value) ||
                    fe_may_read(h->env, x.value, &h->lost))) {
        bad = hash_put_value(h, x.value);
    }
    found_done(&x);
    return bad;
}

/* A name that was stored to. */
static int
note_local(Hash *h, PyObject *node, const char *field)
{
    PyObject *name = PyObject_GetAttrString(node, field);
    int bad = !name || (name != Py_None && PySet_Add(h->names->set, name));
    Py_XDECREF(name);
    return bad ? -1 : 0;
}

/* ---- the tree --------------------------------------------------------------------------- */

static int put_tree(Hash *h, PyObject *o);

static int
put_list(Hash *h, PyObject *list, Py_ssize_t first)
{
    if (hash_put(h, "["))
        return -1;
    for (Py_ssize_t i = first; i < PyList_Size(list); i++)
        if (put_tree(h, PyList_GetItem(list, i)))
            return -1;
    return hash_put(h, "]");
}

/* Is the first statement of a body a text that nobody reads? */
static bool
has_docstring(Hash *h, PyObject *body)
{
    PyObject *first = PyList_Size(body) ? PyList_GetItem(body, 0) : NULL;
    PyObject *v = first ? PyObject_GetAttrString(first, "value") : NULL;
    PyObject *name = first ? PyType_GetName(Py_TYPE(first)) : NULL;
    PyObject *text = v ? PyObject_GetAttrString(v, "value") : NULL;
    bool is = name && !PyUnicode_CompareWithASCIIString(name, "Expr") && text &&
              PyUnicode_Check(text);
    fe_clear(&h->lost);
    Py_XDECREF(v);
    Py_XDECREF(name);
    Py_XDECREF(text);
    return is;
}

static bool
is_key(PyObject *key, const char *const *words)
{
    for (; *words; words++)
        if (!PyUnicode_CompareWithASCIIString(key, *words))
            return true;
    return false;
}

/* The fields of a node, but for the one called except: those that are evaluated first,
 * first. */
static int
put_fields(Hash *h, PyObject *o, PyObject *fields, const char *except)
{
    static const char *const left_out[] = {"ctx", "kind", "decorator_list",
                                           "type_comment", NULL};
    static const char *const first[] = {"value", "iter", "generators", NULL};
    for (int late = 0; late < 2; late++)
        for (Py_ssize_t i = 0; i < PyTuple_Size(fields); i++) {
            PyObject *key = PyTuple_GetItem(fields, i), *v;
            if (is_key(key, left_out) || is_key(key, first) == (late == 1) ||
                (except && !PyUnicode_CompareWithASCIIString(key, except)))
                continue;
            if (!(v = PyObject_GetAttr(o, key)))
                return -1;
            bool is_body = !PyUnicode_CompareWithASCIIString(key, "body");
            int bad = is_body && PyList_Check(v) ? put_list(h, v, has_docstring(h, v))
                                                 : put_tree(h, v);
            Py_DECREF(v);
            if (bad)
                return -1;
        }
    return 0;
}

/* The names of the parameters; the expressions of their defaults. */
static int
put_params(Hash *h, PyObject *def, bool defaults)
{
    static const char *const names[] = {"posonlyargs", "args", "kwonlyargs", NULL};
    static const char *const values[] = {"defaults", "kw_defaults", NULL};
    static const char *const rest[] = {"vararg", "kwarg", NULL};
    PyObject *args = PyObject_GetAttrString(def, "args"), *v;
    int bad = !args;
    for (const char *const *k = defaults ? values : names; !bad && *k; k++) {
        bad = !(v = PyObject_GetAttrString(args, *k));
        for (Py_ssize_t i = 0; !bad && i < PyList_Size(v); i++)
            bad = defaults ? put_tree(h, PyList_GetItem(v, i))
                           : note_local(h, PyList_GetItem(v, i), "arg");
        Py_XDECREF(v);
    }
    for (const char *const *k = rest; !bad && !defaults && *k; k++) {
        bad = !(v = PyObject_GetAttrString(args, *k)) ||
              (v != Py_None && note_local(h, v, "arg"));
        Py_XDECREF(v);
    }
    Py_XDECREF(args);
    return bad ? -1 : 0;
}

/* A def or lambda: its parameters and locals are its own. */
static int
put_def(Hash *h, PyObject *o, PyObject *fields, bool is_lambda)
{
    bool is_nested = h->names;
    if (is_nested && !is_lambda && note_local(h, o, "name"))
        return -1;
    if (is_nested && put_params(h, o, true))
        return -1;
    Names names = {h->names, PySet_New(NULL)};
    if (!names.set)
        return -1;
    h->names = &names;
    int bad = put_params(h, o, false);
    PyObject *args = bad ? NULL : PyObject_GetAttrString(o, "args");
    bad = bad || !args || put_tree(h, args);
    bad = bad || put_fields(h, o, fields, "args");
    h->names = names.outer;
    Py_XDECREF(args);
    Py_DECREF(names.set);
    return bad ? -1 : 0;
}

/* A node of ast, a list of them, or a constant. */
static int
put_tree(Hash *h, PyObject *o)
{
    int bad = -1;
    if (PyList_Check(o))
        return put_list(h, o, 0);
    PyObject *fields = PyObject_GetAttrString(o, "_fields");
    if (!fields) {
        fe_clear(&h->lost);
        return hash_put_repr(h, o);
    }
    if (++h->depth > MAX_DEPTH) {
        Py_DECREF(fields);
        PyErr_SetString(PyExc_RecursionError, "a kernel is nested too deeply");
        return -1;
    }
    PyObject *name = PyType_GetName(Py_TYPE(o)), *ctx = NULL;
    const char *s = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    if (!s || hash_put(h, s))
        goto done;
    bool is_lambda = !strcmp(s, "Lambda"), is_name = !strcmp(s, "Name");
    if (is_lambda || !strcmp(s, "FunctionDef") || !strcmp(s, "AsyncFunctionDef")) {
        bad = put_def(h, o, fields, is_lambda);
        goto done;
    }
    if (!strcmp(s, "AugAssign")) { /* reads what it stores to */
        PyObject *target = PyObject_GetAttrString(o, "target");
        int failed = !target || put_name(h, target);
        Py_XDECREF(target);
        if (failed)
            goto done;
    }
    if (put_fields(h, o, fields, NULL))
        goto done;
    bad = 0;
    if (is_name) {
        ctx = PyObject_GetAttrString(o, "ctx");
        PyObject *kind = ctx ? PyType_GetName(Py_TYPE(ctx)) : NULL;
        bool is_store = kind && !PyUnicode_CompareWithASCIIString(kind, "Store");
        bad = !kind || (is_store ? note_local(h, o, "id") : put_name(h, o));
        Py_XDECREF(kind);
    } else if (!strcmp(s, "Attribute"))
        bad = put_name(h, o);
done:
    h->depth--;
    Py_DECREF(fields);
    Py_XDECREF(name);
    Py_XDECREF(ctx);
    return bad;
}

int
hash_put_function(Hash *h, FeFunction *fn)
{
    PyObject *key = PyLong_FromVoidPtr(fn);
    int known = key ? PySet_Contains(h->seen, key) : -1;
    if (known || PySet_Add(h->seen, key)) {
        Py_XDECREF(key);
        return known > 0 ? hash_put(h, fn->name) : -1;
    }
    Py_DECREF(key);
    if (fe_function_parse(fn))
        return -1;
    if (++h->depth > MAX_DEPTH) {
        PyErr_SetString(PyExc_RecursionError, "functions call each other too deeply");
        return -1;
    }
    FeFunction *outer = h->fn;
    Names *names = h->names;
    h->fn = fn;
    h->names = NULL;
    int bad = put_tree(h, fn->ast);
    h->names = names;
    for (int i = 0; !bad && i < fn->n_params; i++) {
        const FeParam *p = &fn->params[i];
        char flags[8] = {'0' + p->is_constexpr, '0' + p->is_const, '0' + p->has_type,
                         '0' + p->no_specialize};
        bad = hash_put(h, flags) ||
              (p->default_value && hash_put_value(h, p->default_value));
    }
    h->fn = outer;
    h->depth--;
    return bad ? -1 : 0;
}

static PyObject *
new_sha256(void)
{
    /* Not one after the other: looking for a module that is not there takes its import
     * lock, for as long as reading directories takes, and a process that another thread
     * forks in that time finds the lock taken for ever. One that is loaded takes no lock. */
    const char *const modules[] = {Py_Version >= 0x030C0000 ? "_sha2" : "_sha256",
                                   "hashlib"};
    for (size_t i = 0; i < COUNT(modules); i++) {
        PyObject *m = PyImport_ImportModule(modules[i]);
        if (m) {
            PyObject *sha = PyObject_CallMethod(m, "sha256", NULL);
            Py_DECREF(m);
            return sha;
        }
        if (fe_is_grave())
            return NULL;
        if (i + 1 < COUNT(modules))
            PyErr_Clear();
    }
    return NULL;
}

/* knobs.group.name: new ref, or NULL with an exception. */
static PyObject *
knob(const char *group, const char *name)
{
    PyObject *knobs = PyImport_ImportModule("tegula.knobs");
    PyObject *g = knobs ? PyObject_GetAttrString(knobs, group) : NULL;
    PyObject *value = g ? PyObject_GetAttrString(g, name) : NULL;
    Py_XDECREF(knobs);
    Py_XDECREF(g);
    return value;
}

/* The knobs that the frontend bakes into a kernel. */
static int
put_knobs(Hash *h)
{
    PyObject *value = knob("language", "fp32_default");
    int bad = !value || hash_put_repr(h, value);
    Py_XDECREF(value);
    value = bad ? NULL : knob("compilation", "allow_non_constexpr_globals");
    h->reads_all = value == Py_True;
    bad = !value || hash_put(h, h->reads_all ? "all globals" : "constants");
    Py_XDECREF(value);
    return bad ? -1 : 0;
}

PyObject *
fe_function_hash(const FeEnv *env, FeFunction *fn)
{
    Hash h = {.env = env, .sha = new_sha256(), .seen = PySet_New(NULL)};
    PyObject *res = NULL;
    if (h.sha && h.seen && !put_knobs(&h) && !hash_put_function(&h, fn) && !flush(&h))
        res = PyObject_CallMethod(h.sha, "digest", NULL);
    if (res && !PyBytes_Check(res)) { /* someone's module stands in place of Python's */
        PyErr_SetString(PyExc_TypeError, "sha256.digest() gave no bytes");
        Py_CLEAR(res);
    }
    if (h.lost) {
        /* A name for less than the whole would be the name of other kernels too. */
        Py_CLEAR(res);
        PyErr_SetNone(h.lost);
    }
    Py_XDECREF(h.sha);
    Py_XDECREF(h.seen);
    Py_XDECREF(h.lost);
    return res;
}
