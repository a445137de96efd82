/* node: Python's syntax tree becomes ours, once per function and compile.
 *
 * Why a copy: walking Python objects costs an attribute look-up and a reference count a
 * step, and an unrolled loop walks its body many times. The copy resolves names to slots
 * on the way (every name the function assigns is a local), and notes for each loop and if
 * which locals its body may assign. Constants stay Python objects, kept alive by the tree
 * of the FeFunction, which the caller of fe_kernel keeps.
 */
#include "frontend/fe.h"

static const char *const node_words[N_AST] = {
#define NODE(name, fields, words) [AST_##name] = words,
#include "frontend/nodes.def"
#undef NODE
};
static const char *const node_fields[N_AST] = {
#define NODE(name, fields, words) [AST_##name] = fields,
#include "frontend/nodes.def"
#undef NODE
};
static const char *const node_names[N_AST] = {
#define NODE(name, fields, words) [AST_##name] = #name,
#include "frontend/nodes.def"
#undef NODE
};

/* What to write instead of a construct with words. */
static const char *const node_help[N_AST] = {
    [AST_Delete] = "leave it out: names end with the kernel",
    [AST_Global] = "a kernel gives its results by tl.store",
    [AST_Nonlocal] = "a kernel gives its results by tl.store",
    [AST_Import] = "import at the top of the file",
    [AST_ImportFrom] = "import at the top of the file",
    [AST_Try] = "nothing raises in a kernel",
    [AST_TryStar] = "nothing raises in a kernel",
    [AST_ClassDef] = "define it outside: a NamedTuple groups values",
    [AST_Match] = "write if, elif, else",
    [AST_AsyncFunctionDef] = "write def: the programs of a grid run at once anyway",
    [AST_AsyncFor] = "write for",
    [AST_AsyncWith] = "write with",
    [AST_Await] = "leave it out",
    [AST_TemplateStr] = "an f-string of constants is possible",
    [AST_TypeAlias] = "annotations of variables say nothing in a kernel",
    [AST_Set] = "write a tuple",
    [AST_SetComp] = "write a list comprehension: it makes a tuple",
    [AST_DictComp] = "write a list comprehension: it makes a tuple",
    [AST_GeneratorExp] = "write a list comprehension, in brackets",
    [AST_Yield] = "return gives a value from a function, tl.store from a kernel",
    [AST_YieldFrom] = "return gives a value from a function, tl.store from a kernel",
};

const char *
fe_node_spec(int kind)
{
    return node_words[kind] || !node_fields[kind] ? "" : node_fields[kind];
}

const char *
fe_next_field(const char *field)
{
    size_t n = strcspn(field, " ");
    return field + n + (field[n] == ' ');
}

void
fe_no_such_syntax(Fe *f, const Node *n)
{
    if (n->kind == AST_Nonlocal && f->frame->outer)
        err_help(f->c,
                 "return the new value, and assign it where the function is called");
    else if (node_help[n->kind])
        err_help(f->c, "%s", node_help[n->kind]);
    err_at(f->c, fe_loc(f, n), SYNTAX,
           node_words[n->kind] ? node_words[n->kind] : node_names[n->kind]);
}

static const char *const opr_names[N_OPR] = {
    "",        "Add",    "Sub",    "Mult",   "Div",   "FloorDiv", "Mod",    "Pow",
    "MatMult", "LShift", "RShift", "BitAnd", "BitOr", "BitXor",   "Invert", "Not",
    "UAdd",    "USub",   "And",    "Or",     "Eq",    "NotEq",    "Lt",     "LtE",
    "Gt",      "GtE",    "Is",     "IsNot",  "In",    "NotIn",
};
const char *const opr_text[N_OPR] = {
    "",   "+",  "-", "*",  "/", "//",  "%",  "**",     "@",   "<<",
    ">>", "&",  "|", "^",  "~", "not", "+",  "-",      "and", "or",
    "==", "!=", "<", "<=", ">", ">=",  "is", "is not", "in",  "not in",
};

enum { MAX_FIELD = 4 };
/* What converting one function after the other shares. */
typedef struct Converter {
    Map kinds;                         /* class of ast -> kind or operator + 1 */
    PyObject *field[N_AST][MAX_FIELD]; /* attribute names, interned on first use */
    Map slots;                         /* of the current function: name -> slot + 1 */
    VEC(const char *) local;
    VEC(int) log; /* slots in the order they are stored to */
} Converter;

/* A borrowed attribute: the tree holds it, and nobody changes a tree of ours. */
static PyObject *
get_b(Fe *f, PyObject *o, PyObject *name)
{
    PyObject *v = PyObject_GetAttr(o, name);
    if (!v)
        fe_raise(f, NULL);
    Py_DECREF(v);
    return v;
}

/* Python's cache of attributes goes by the address of the name: a new string for each
 * look-up would only fill it. */
static PyObject *
interned(Fe *f, const char *s, size_t n)
{
    PyObject *name = PyUnicode_FromStringAndSize(s, (Py_ssize_t)n);
    if (name)
        PyUnicode_InternInPlace(&name);
    return fe_own(f, name);
}

static PyObject *
get_str_b(Fe *f, PyObject *o, const char *name)
{
    return get_b(f, o, interned(f, name, strlen(name)));
}

static const char *
text_of(Fe *f, PyObject *s)
{
    Py_ssize_t n;
    const char *u = PyUnicode_AsUTF8AndSize(s, &n);
    if (!u)
        fe_raise(f, NULL);
    return str_intern_n(f->c, u, (size_t)n);
}

/* The row of o's class among names: kinds and operators share a map. */
static int
class_index(Fe *f, PyObject *o, const char *const *names, int n)
{
    Converter *v = f->conv;
    PyObject *type = (PyObject *)Py_TYPE(o);
    size_t known = (size_t)map_get(&v->kinds, type, 0);
    if (known)
        return (int)known - 1;
    PyObject *name = fe_own(f, PyObject_GetAttrString(type, "__name__"));
    const char *s = text_of(f, name);
    int at = 0;
    for (int i = 1; i < n && !at; i++)
        if (!strcmp(s, names[i]))
            at = i;
    map_put(&v->kinds, type, 0, (void *)(size_t)(at + 1));
    return at;
}

static int
slot_of(Fe *f, const char *name, bool create)
{
    Converter *v = f->conv;
    size_t known = (size_t)map_get(&v->slots, name, 0);
    if (known)
        return (int)known - 1;
    if (!create)
        return -1;
    PUSH(f->a, &v->local, name);
    map_put(&v->slots, name, 0, (void *)(size_t)v->local.n);
    return v->local.n - 1;
}

static Node *convert(Fe *f, PyObject *o);

static Node **
convert_list(Fe *f, PyObject *list, int *n)
{
    Py_ssize_t count = PyList_Size(list);
    if (count < 0)
        fe_raise(f, NULL);
    Node **at = NEW_N(f->a, Node *, count + 1);
    for (Py_ssize_t i = 0; i < count; i++)
        at[i] = convert(f, PyList_GetItem(list, i));
    *n = (int)count;
    return at;
}

/* A def or lambda o: its body is converted when it is reached (fe_nested), as its names
 * are its own; the defaults of its parameters belong to the function around it. */
static void
convert_def(Fe *f, Node *n, PyObject *o)
{
    PyObject *args = get_str_b(f, o, "args");
    Node **at[2];
    int count[2];
    at[0] = convert_list(f, get_str_b(f, args, "defaults"), &count[0]);
    at[1] = convert_list(f, get_str_b(f, args, "kw_defaults"), &count[1]);
    n->value = o;
    n->n_list2 = count[0] + count[1];
    n->list2 = NEW_N(f->a, Node *, n->n_list2 + 1);
    memcpy(n->list2, at[0], (size_t)count[0] * sizeof *n->list2);
    memcpy(n->list2 + count[0], at[1], (size_t)count[1] * sizeof *n->list2);
}

static void
convert_field(Fe *f, Node *n, PyObject *o, int i, const char *spec, size_t len)
{
    if (spec[0] == 's') {
        convert_def(f, n, o);
        return;
    }
    PyObject **key = &f->conv->field[n->kind][i];
    if (!*key)
        *key = interned(f, spec + 2, len - 2);
    PyObject *v = get_b(f, o, *key);
    switch (spec[0]) {
    case 'a': n->a = convert(f, v); break;
    case 'b': n->b = convert(f, v); break;
    case 'c': n->c = convert(f, v); break;
    case 'l': n->list = convert_list(f, v, &n->n_list); break;
    case 'm': n->list2 = convert_list(f, v, &n->n_list2); break;
    case 'n': n->name = v == Py_None ? NULL : text_of(f, v); break;
    case 'v': n->value = v; break;
    case 'o': n->opr = (uint8_t)class_index(f, v, opr_names, N_OPR); break;
    case 'p': {
        Py_ssize_t count = PyList_Size(v);
        n->oprs = NEW_N(f->a, uint8_t, count + 1);
        for (Py_ssize_t k = 0; k < count; k++)
            n->oprs[k] = (uint8_t)class_index(f, PyList_GetItem(v, k), opr_names,
                                              N_OPR);
        break;
    }
    default: unreachable(f->c);
    }
}

/* The locals stored to since the log had `from` entries, each once. */
static void
note_stored(Fe *f, Node *n, int from)
{
    Converter *v = f->conv;
    n->stored = NEW_N(f->a, int, v->log.n - from + 1);
    for (int i = from; i < v->log.n; i++) {
        bool seen = false;
        for (int k = 0; k < n->n_stored && !seen; k++)
            seen = n->stored[k] == v->log.at[i];
        if (!seen)
            n->stored[n->n_stored++] = v->log.at[i];
    }
}

/* A copy of node o, or NULL for None. */
static Node *
convert(Fe *f, PyObject *o)
{
    if (o == Py_None)
        return NULL;
    Node *n = NEW(f->a, Node);
    n->kind = (uint8_t)class_index(f, o, node_names, N_AST);
    n->slot = -1;
    if (n->kind == AST_comprehension || n->kind == AST_withitem) {
        n->line = n->end_line = 1; /* has no position of its own */
    } else if (n->kind) {
        int *pos[4] = {&n->line, &n->col, &n->end_line, &n->end_col};
        for (int i = 0; i < 4; i++)
            *pos[i] = (int)PyLong_AsLong(get_b(f, o, f->loc_attr[i]));
        PyErr_Clear();
    }
    int from = f->conv->log.n, i = 0;
    if (++f->depth > 900 || stack_left() < FE_STACK)
        err_at(f->c, fe_loc(f, n), LIMIT, "the expression is nested too deeply");
    for (const char *s = fe_node_spec(n->kind); *s; s = fe_next_field(s))
        convert_field(f, n, o, i++, s, strcspn(s, " "));
    f->depth--;
    if (n->kind == AST_Name) {
        PyObject *ctx = get_str_b(f, o, "ctx");
        static const char *const stores[] = {"", "Store"};
        bool is_store = class_index(f, ctx, stores, 2) == 1;
        n->slot = slot_of(f, n->name, is_store);
        if (is_store)
            PUSH(f->a, &f->conv->log, n->slot);
    } else if (n->kind == AST_FunctionDef) {
        n->slot = slot_of(f, n->name, true);
        PUSH(f->a, &f->conv->log, n->slot);
    } else if (n->kind == AST_For || n->kind == AST_While || n->kind == AST_If)
        note_stored(f, n, from);
    return n;
}

/* A name read before the conversion met its first assignment is a local all the same. */
static void
resolve(Fe *f, Node *n)
{
    if (!n)
        return;
    if (n->kind == AST_Name && n->slot < 0)
        n->slot = slot_of(f, n->name, false);
    resolve(f, n->a);
    resolve(f, n->b);
    resolve(f, n->c);
    for (int i = 0; i < n->n_list; i++)
        resolve(f, n->list[i]);
    for (int i = 0; i < n->n_list2; i++)
        resolve(f, n->list2[i]);
}

/* The names of the parameters of def, a FunctionDef or Lambda, become locals 0, 1, .. */
static void
convert_params(Fe *f, Tree *t, PyObject *def)
{
    PyObject *args = get_str_b(f, def, "args");
    for (int i = 0; i < t->fn->n_params; i++)
        slot_of(f, text_of(f, t->fn->params[i].name), true);
    t->n_params = t->fn->n_params;
    PyObject *vararg = get_str_b(f, args, "vararg"),
             *kwarg = get_str_b(f, args, "kwarg");
    t->has_vararg = vararg != Py_None;
    t->has_kwarg = kwarg != Py_None;
    if (t->has_vararg)
        slot_of(f, text_of(f, get_str_b(f, vararg, "arg")), true);
    if (t->has_kwarg)
        slot_of(f, text_of(f, get_str_b(f, kwarg, "arg")), true);
}

/* The one statement that a lambda is. */
static void
convert_lambda_body(Fe *f, Tree *t, PyObject *body)
{
    Node *r = NEW(f->a, Node);
    r->kind = AST_Return;
    r->slot = -1;
    r->a = convert(f, body);
    r->line = r->a->line, r->col = r->a->col;
    r->end_line = r->a->end_line, r->end_col = r->a->end_col;
    t->body = NEW(f->a, Node *);
    t->body[0] = r;
    t->n_body = 1;
}

/* The tree of fn, without what its source says. */
static Tree *
empty_tree(Fe *f, FeFunction *fn)
{
    Tree *t = NEW(f->a, Tree);
    t->fn = fn;
    t->file = str_intern(f->c, fn->file);
    t->name = str_intern(f->c, fn->name);
    PyObject *module = PyDict_GetItemString(fn->globals, "__name__");
    const char *s = fe_utf8(module);
    PyErr_Clear();
    t->is_library = s && !strncmp(s, "tegula.language", strlen("tegula.language"));
    if (t->is_library && fn->fn) {
        PyObject *types = PyObject_GetAttrString(fn->fn, "__tegula_types__");
        PyErr_Clear();
        if (types)
            t->types = text_of(f, fe_own(f, types));
    }
    return t;
}

/* Converts def, the FunctionDef or Lambda that fn is. */
static Tree *
new_tree(Fe *f, FeFunction *fn, PyObject *def)
{
    Tree *t = empty_tree(f, fn);
    t->line = (int)PyLong_AsLong(get_b(f, def, f->loc_attr[0]));
    t->end_line = (int)PyLong_AsLong(get_b(f, def, f->loc_attr[2]));
    if (!f->conv) {
        f->conv = NEW(f->a, Converter);
        f->conv->kinds.a = f->a;
    }
    Converter *v = f->conv;
    v->slots = (Map){.a = f->a};
    v->local.at = NULL;
    v->local.n = v->local.cap = 0;
    v->log.n = 0;
    Frame shell = {.caller = f->frame, .tree = t}; /* names the file in errors */
    f->frame = &shell;
    if (class_index(f, def, node_names, N_AST) == AST_AsyncFunctionDef) {
        Node n = {.kind = AST_AsyncFunctionDef};
        for (int i = 0; i < 4; i++) {
            int *pos[4] = {&n.line, &n.col, &n.end_line, &n.end_col};
            *pos[i] = (int)PyLong_AsLong(get_b(f, def, f->loc_attr[i]));
        }
        fe_no_such_syntax(f, &n);
    }
    convert_params(f, t, def);
    PyObject *body = get_str_b(f, def, "body");
    if (PyList_Check(body))
        t->body = convert_list(f, body, &t->n_body);
    else
        convert_lambda_body(f, t, body);
    for (int i = 0; i < t->n_body; i++)
        resolve(f, t->body[i]);
    t->local = v->local.at;
    t->n_locals = v->local.n;
    f->frame = shell.caller;
    map_put(&f->trees, fn, 0, t);
    return t;
}

static Tree *
parsed_tree(Fe *f, FeFunction *fn)
{
    PyObject *text = fn->text ? fe_own(f, Py_NewRef(fn->text)) : NULL;
    if (fe_function_parse(fn))
        fe_raise(f, f->b.loc);
    Tree *t = new_tree(f, fn, fn->ast);
    fe_pack(f, t, text);
    return t;
}

static Tree *
packed_tree(Fe *f, FeFunction *fn)
{
    Tree *t = empty_tree(f, fn);
    if (!fe_unpack(f, t))
        return parsed_tree(f, fn);
    if (fe_function_read_closure(fn))
        fe_raise(f, f->b.loc);
    map_put(&f->trees, fn, 0, t);
    return t;
}

Tree *
fe_tree(Fe *f, FeFunction *fn)
{
    Tree *t = map_get(&f->trees, fn, 0);
    if (t)
        return t;
    if (fe_watch_function(f->env, fn))
        fe_raise(f, f->b.loc);
    if (!fn->packed && !fn->ast)
        fe_pack_load(f, fn);
    return fn->packed ? packed_tree(f, fn) : parsed_tree(f, fn);
}

/* ---- functions inside of functions ----------------------------------------------------------- */

/* Adds the parameters of list, which are ast.arg. */
static void
add_params(Fe *f, FeFunction *fn, PyObject *args, const char *field, bool keyword_only)
{
    PyObject *list = get_str_b(f, args, field);
    for (Py_ssize_t i = 0; i < PyList_Size(list); i++) {
        FeParam *p = &fn->params[fn->n_params++];
        p->name = get_str_b(f, PyList_GetItem(list, i), "arg");
        p->keyword_only = keyword_only;
    }
}

FeFunction *
fe_nested(Fe *f, const Node *n)
{
    FeFunction *fn = map_get(&f->nested, n, 0);
    if (fn)
        return fn;
    const FeFunction *outer = f->frame->tree->fn;
    PyObject *args = get_str_b(f, n->value, "args");
    Py_ssize_t count = 0;
    static const char *const fields[] = {"posonlyargs", "args", "kwonlyargs"};
    for (int i = 0; i < 3; i++)
        count += PyList_Size(get_str_b(f, args, fields[i]));
    fn = NEW(f->a, FeFunction);
    fn->globals = outer->globals;
    fn->closure = outer->closure;
    fn->ast = n->value;
    fn->file = outer->file;
    fn->name = str_printf(f->a, "%s", n->name ? n->name : "lambda");
    fn->params = NEW_N(f->a, FeParam, count + 1);
    for (int i = 0; i < 3; i++)
        add_params(f, fn, args, fields[i], i == 2);
    map_put(&f->nested, n, 0, fn);
    new_tree(f, fn, n->value);
    return fn;
}
