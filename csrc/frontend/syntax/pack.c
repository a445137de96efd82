/* pack: a function's tree as bytes, for the processes to come.
 *
 * Parsing a function and walking what Python's parser makes takes most of a first call. The
 * tree that comes of it is a function of the text, so it is kept on disk together with the text:
 *
 *     [ text | line end_line | flags | names of locals | statements ]
 *
 * The process that finds it compares the text with the file byte by byte, and trusts no hash. A
 * second compile in the same process begins with these bytes, too.
 *
 * Rule 1: the bytes are read by the build that wrote them (frontend.h: load_tree), so nothing
 *         of the format lasts.
 * Rule 2: the bytes are not trusted: counts, kinds and slots are checked, and where one is wrong
 *         the function is parsed again.
 * Rule 3: what refers to Python's own tree cannot be packed: functions inside of functions.
 */
#include "frontend/fe.h"

#include <stdlib.h>

/* ---- text ------------------------------------------------------------------------------ */

/* Columns before the first character of the line at s that is no space; -1: blank, comment. */
static int
indent_of(const char *s, const char *end)
{
    int n = 0;
    while (s < end && (*s == ' ' || *s == '\t' || *s == '\f'))
        s++, n++;
    return s == end || *s == '\n' || *s == '#' ? -1 : n;
}

static const char *
next_line(const char *s, const char *end)
{
    const char *p = memchr(s, '\n', (size_t)(end - s));
    return p ? p + 1 : end;
}

/* Line n of the text, from 1; NULL: there is none. */
static const char *
find_line(const char *s, const char *end, int n)
{
    while (--n > 0 && s < end)
        s = next_line(s, end);
    return s < end ? s : NULL;
}

/* Does the function that begins at `at` consist of these n bytes: are they there, and does
 * what follows stand no deeper? */
static bool
is_text(const char *at, const char *end, const char *text, size_t n)
{
    if ((size_t)(end - at) < n || memcmp(at, text, n) != 0)
        return false;
    int next = at + n == end ? 0 : indent_of(at + n, end);
    return next >= 0 && next <= indent_of(at, end);
}

/* The file's bytes from the function's first line on, where its lines are split at \n alone;
 * NULL: not so, or there is no such file. */
static const char *
text_of_function(const FeFunction *fn, const char **end)
{
    char *s;
    Py_ssize_t n;
    if (!fn->text || PyBytes_AsStringAndSize(fn->text, &s, &n))
        return PyErr_Clear(), NULL;
    *end = s + n;
    return memchr(s, '\r', (size_t)n) ? NULL : find_line(s, *end, fn->first_line);
}

/* ---- writing --------------------------------------------------------------------------- */

typedef struct Packer {
    Sb sb;
    bool failed; /* it has what cannot be packed */
} Packer;

static void
put_byte(Packer *p, int v)
{
    char c = (char)v;
    sb_putn(&p->sb, &c, 1);
}

/* Seven bits a byte, the lowest first; negative numbers are odd ones. */
static void
put_num(Packer *p, int64_t v)
{
    uint64_t u = (uint64_t)v << 1 ^ (v < 0 ? ~(uint64_t)0 : 0);
    for (; u > 127; u >>= 7)
        put_byte(p, (int)(u & 127) | 128);
    put_byte(p, (int)u);
}

static void
put_str(Packer *p, const char *s, size_t n)
{
    put_num(p, (int64_t)n);
    sb_putn(&p->sb, s, n);
}

static void
put_name(Packer *p, const char *name)
{
    put_byte(p, name != NULL);
    put_str(p, name ? name : "", name ? strlen(name) : 0);
}

static void
put_integer(Packer *p, PyObject *v)
{
    int overflow;
    long long i = PyLong_AsLongLongAndOverflow(v, &overflow);
    p->failed |= overflow;
    put_byte(p, 'i');
    put_num(p, i);
}

static void
put_constant_text(Packer *p, PyObject *v)
{
    Py_ssize_t n;
    const char *s = PyUnicode_AsUTF8AndSize(v, &n);
    p->failed |= !s; /* half of a surrogate pair */
    PyErr_Clear();
    put_byte(p, 's');
    put_str(p, s ? s : "", s ? (size_t)n : 0);
}

static void
put_constant(Packer *p, PyObject *v)
{
    PyTypeObject *t = Py_TYPE(v);
    if (v == Py_None || v == Py_True || v == Py_False || v == Py_Ellipsis)
        put_byte(p, v == Py_None    ? 'N'
                    : v == Py_True  ? 'T'
                    : v == Py_False ? 'F'
                                    : 'E');
    else if (t == &PyLong_Type)
        put_integer(p, v);
    else if (t == &PyFloat_Type) {
        double d = PyFloat_AsDouble(v);
        put_byte(p, 'f');
        sb_putn(&p->sb, (const char *)&d, sizeof d);
    } else if (t == &PyUnicode_Type)
        put_constant_text(p, v);
    else /* bytes, complex: no kernel computes with them */
        p->failed = true;
}

static void
put_slots(Packer *p, const int *slot, int n)
{
    put_num(p, n);
    for (int i = 0; i < n; i++)
        put_num(p, slot[i]);
}

static void put_node(Packer *p, const Node *n);

static void
put_nodes(Packer *p, Node *const *at, int n)
{
    put_num(p, n);
    for (int i = 0; i < n; i++)
        put_node(p, at[i]);
}

static void
put_field(Packer *p, const Node *n, char field)
{
    switch (field) {
    case 'a': put_node(p, n->a); break;
    case 'b': put_node(p, n->b); break;
    case 'c': put_node(p, n->c); break;
    case 'l': put_nodes(p, n->list, n->n_list); break;
    case 'm': put_nodes(p, n->list2, n->n_list2); break;
    case 'n': put_name(p, n->name); break;
    case 'v': put_constant(p, n->value); break;
    case 'o': put_byte(p, n->opr); break;
    case 'p': sb_putn(&p->sb, (const char *)n->oprs, (size_t)n->n_list); break;
    default: p->failed = true; /* s: a function inside */
    }
}

static void
put_node(Packer *p, const Node *n)
{
    put_byte(p, n ? n->kind + 1 : 0);
    if (!n)
        return;
    put_num(p, n->line);
    put_num(p, n->col);
    put_num(p, n->end_line - n->line);
    put_num(p, n->end_col);
    put_num(p, n->slot);
    put_slots(p, n->stored, n->n_stored);
    for (const char *s = fe_node_spec(n->kind); *s; s = fe_next_field(s))
        put_field(p, n, *s);
}

static void
put_tree(Packer *p, const Tree *t)
{
    put_num(p, t->line);
    put_num(p, t->end_line);
    put_byte(p, t->has_vararg | t->has_kwarg << 1);
    put_num(p, t->n_locals);
    for (int i = 0; i < t->n_locals; i++)
        put_str(p, t->local[i], strlen(t->local[i]));
    put_nodes(p, t->body, t->n_body);
}

/* ---- reading --------------------------------------------------------------------------- */

typedef struct Unpacker {
    Fe *f;
    Cursor r;
    int n_locals, depth;
} Unpacker;

static int
get_byte(Unpacker *u)
{
    const char *p = cursor_take(&u->r, 1);
    return p ? (unsigned char)*p : 0;
}

static int64_t
get_num(Unpacker *u)
{
    uint64_t v = 0;
    for (int shift = 0, more = 128; more && shift < 64; shift += 7) {
        int b = get_byte(u);
        v |= (uint64_t)(b & 127) << shift;
        more = b & 128;
    }
    return (int64_t)(v >> 1 ^ (v & 1 ? ~(uint64_t)0 : 0));
}

/* A count of things of a byte or more each. */
static int
get_count(Unpacker *u)
{
    int64_t n = get_num(u);
    u->r.failed |= n < 0 || n > u->r.end - u->r.at;
    return u->r.failed ? 0 : (int)n;
}

/* A number in [low, high). */
static int
get_below(Unpacker *u, int low, int high)
{
    int64_t n = get_num(u);
    u->r.failed |= n < low || n >= high;
    return u->r.failed ? low : (int)n;
}

static const char *
get_name(Unpacker *u)
{
    int n = get_count(u);
    const char *s = cursor_take(&u->r, (size_t)n);
    return s ? str_intern_n(u->f->c, s, (size_t)n) : "";
}

static PyObject *
get_constant(Unpacker *u)
{
    double d;
    const char *s;
    int n;
    switch (get_byte(u)) {
    case 'N': return Py_None;
    case 'T': return Py_True;
    case 'F': return Py_False;
    case 'E': return Py_Ellipsis;
    case 'i': return fe_own(u->f, PyLong_FromLongLong(get_num(u)));
    case 'f':
        if ((s = cursor_take(&u->r, sizeof d)))
            memcpy(&d, s, sizeof d);
        return s ? fe_own(u->f, PyFloat_FromDouble(d)) : Py_None;
    case 's':
        n = get_count(u);
        s = cursor_take(&u->r, (size_t)n);
        return s ? fe_own(u->f, PyUnicode_FromStringAndSize(s, n)) : Py_None;
    default: u->r.failed = true; return Py_None;
    }
}

static int *
get_slots(Unpacker *u, int *n)
{
    *n = get_count(u);
    int *slot = NEW_N(u->f->a, int, *n + 1);
    for (int i = 0; i < *n; i++)
        slot[i] = get_below(u, 0, u->n_locals);
    return slot;
}

static Node *get_node(Unpacker *u);

static Node **
get_nodes(Unpacker *u, int *n)
{
    *n = get_count(u);
    Node **at = NEW_N(u->f->a, Node *, *n + 1);
    for (int i = 0; i < *n && !u->r.failed; i++)
        at[i] = get_node(u);
    return at;
}

static uint8_t
get_operator(Unpacker *u)
{
    int b = get_byte(u);
    u->r.failed |= b >= N_OPR;
    return (uint8_t)b;
}

static void
get_field(Unpacker *u, Node *n, char field)
{
    switch (field) {
    case 'a': n->a = get_node(u); break;
    case 'b': n->b = get_node(u); break;
    case 'c': n->c = get_node(u); break;
    case 'l': n->list = get_nodes(u, &n->n_list); break;
    case 'm': n->list2 = get_nodes(u, &n->n_list2); break;
    case 'n': {
        bool has = get_byte(u);
        const char *s = get_name(u);
        n->name = has ? s : NULL;
        break;
    }
    case 'v': n->value = get_constant(u); break;
    case 'o': n->opr = get_operator(u); break;
    case 'p':
        n->oprs = NEW_N(u->f->a, uint8_t, n->n_list + 1);
        for (int i = 0; i < n->n_list; i++)
            n->oprs[i] = get_operator(u);
        break;
    default: u->r.failed = true;
    }
}

static Node *
get_node(Unpacker *u)
{
    enum { DEEPEST = 900 };
    int kind = get_byte(u) - 1;
    u->r.failed |= kind >= N_AST || u->depth == DEEPEST || stack_left() < FE_STACK;
    if (kind < 0 || u->r.failed)
        return NULL;
    Node *n = NEW(u->f->a, Node);
    n->kind = (uint8_t)kind;
    n->line = get_below(u, 0, INT_MAX);
    n->col = get_below(u, 0, INT_MAX);
    n->end_line = n->line + get_below(u, 0, INT_MAX - n->line);
    n->end_col = get_below(u, 0, INT_MAX);
    n->slot = get_below(u, -1, u->n_locals);
    n->stored = get_slots(u, &n->n_stored);
    u->depth++;
    for (const char *s = fe_node_spec(kind); *s && !u->r.failed; s = fe_next_field(s))
        get_field(u, n, *s);
    u->depth--;
    return n;
}

static bool
get_tree(Unpacker *u, Tree *t)
{
    t->line = get_below(u, 0, INT_MAX);
    t->end_line = get_below(u, 0, INT_MAX);
    int flags = get_byte(u);
    t->has_vararg = flags & 1;
    t->has_kwarg = flags >> 1 & 1;
    t->n_params = t->fn->n_params;
    t->n_locals = u->n_locals = get_count(u);
    t->local = NEW_N(u->f->a, const char *, t->n_locals + 1);
    for (int i = 0; i < t->n_locals; i++)
        t->local[i] = get_name(u);
    t->body = get_nodes(u, &t->n_body);
    return !u->r.failed && u->r.at == u->r.end &&
           t->n_params + t->has_vararg + t->has_kwarg <= t->n_locals;
}

/* ---- files ----------------------------------------------------------------------------- */

/* What the tree of fn is called, in *name; false: it is not kept. */
static bool
shelf_name(const Fe *f, const FeFunction *fn, char name[TREE_NAME])
{
    if (!f->env->load_tree || !strcmp(fn->name, "lambda") || !fe_text_is_plain(fn))
        return false;
    char line[64];
    snprintf(line, sizeof line, "%lx:%d", Py_Version, fn->first_line);
    const uint64_t parts[] = {hash_bytes(fn->file, strlen(fn->file)),
                              hash_bytes(fn->name, strlen(fn->name)),
                              hash_bytes(line, strlen(line))};
    snprintf(name, TREE_NAME, "%016llx",
             (unsigned long long)hash_bytes(parts, sizeof parts));
    return true;
}

/* The text in front of the tree. */
static const char *
get_text(Unpacker *u, size_t *n)
{
    *n = (size_t)get_count(u);
    return cursor_take(&u->r, *n);
}

/* Is it a tree of fn, whose file has the function from `at` on? Then fn has its source. */
static bool
is_tree_of(Fe *f, FeFunction *fn, const char *at, const char *end)
{
    size_t n;
    Unpacker u = {.f = f, .r = {.at = fn->packed, .end = fn->packed + fn->n_packed}};
    const char *text = get_text(&u, &n);
    if (!text || !is_text(at, end, text, n))
        return false;
    PyObject *source = PyUnicode_FromStringAndSize(text, (Py_ssize_t)n);
    if (!source)
        fe_raise(f, NULL);
    Py_XDECREF(fn->source);
    fn->source = source;
    return true;
}

static void
forget(FeFunction *fn)
{
    free(fn->packed);
    fn->packed = NULL;
}

void
fe_pack_load(Fe *f, FeFunction *fn)
{
    char name[TREE_NAME];
    const char *end, *at = text_of_function(fn, &end);
    if (!at || !shelf_name(f, fn, name))
        return;
    fn->packed = f->env->load_tree(f->env->data, name, &fn->n_packed);
    if (!fn->packed && PyErr_Occurred()) /* a warning about the file that is an error */
        fe_raise(f, NULL);
    if (fn->packed && !is_tree_of(f, fn, at, end))
        forget(fn);
}

bool
fe_unpack(Fe *f, Tree *t)
{
    size_t n;
    FeFunction *fn = t->fn;
    if (!fn->packed)
        return false;
    Unpacker u = {.f = f, .r = {.at = fn->packed, .end = fn->packed + fn->n_packed}};
    get_text(&u, &n);
    if (get_tree(&u, t))
        return true;
    forget(fn);
    return false;
}

void
fe_pack(Fe *f, const Tree *t, PyObject *text_b)
{
    char name[TREE_NAME];
    Py_ssize_t n;
    FeFunction *fn = t->fn;
    const char *text = PyUnicode_AsUTF8AndSize(fn->source, &n);
    Packer p = {.sb = {.a = f->a}};
    if (!text || fn->packed)
        return PyErr_Clear();
    put_str(&p, text, (size_t)n);
    put_tree(&p, t);
    if (p.failed || !(fn->packed = malloc((size_t)p.sb.n)))
        return;
    memcpy(fn->packed, p.sb.at, (size_t)p.sb.n);
    fn->n_packed = (size_t)p.sb.n;
    FeFunction of_text = *fn;
    of_text.text = text_b;
    const char *end, *at = text_of_function(&of_text, &end);
    if (at && is_text(at, end, text, (size_t)n) && shelf_name(f, &of_text, name))
        f->env->store_tree(f->env->data, name, fn->packed, fn->n_packed);
}
