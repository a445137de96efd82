/* key: nodes as a key. What is in a key is a promise: two launches with equal keys run the same
 * code.
 *
 *     node    pointer  scalar   const int     nodes.c
 *     key     f32,16   i32,8    64            and target, options, device
 *
 * All up to the keys that are kept is the hot path: it allocates nothing.
 */
#include "runtime/launch.h"

#include <stdlib.h>

static inline uint64_t
mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

void
call_hash(Call *c)
{
    uint64_t h, opt;
    memcpy(&opt, &c->opt, sizeof opt);
    h = mix(opt, c->target);
    for (int i = 0; i < c->n; i++) {
        h = mix(h, c->code[i]);
        NodeKind kind = code_kind(c->code[i]);
        if (kind >= NODE_CONST_INT && kind <= NODE_CONST_FLOAT)
            h = mix(h, c->bits[i]);
        else if (kind >= NODE_CONST_OBJECT)
            /* Not PyObject_Hash: it may be slow Python. Equal objects of one type that
             * hash alike here cost a comparison. */
            h = mix(h, (uint64_t)(uintptr_t)Py_TYPE(c->value[i]));
    }
    c->hash = h;
}

static inline int
same_value(const Call *c, const Key *key, int i)
{
    switch (code_kind(c->code[i])) {
    case NODE_CONST_INT:
    case NODE_CONST_BOOL:
    case NODE_CONST_FLOAT: return c->bits[i] == key->bits[i];
    case NODE_CONST_OBJECT: return fe_same_constant(c->value[i], key->value[i]);
    case NODE_TUPLE: return (PyObject *)Py_TYPE(c->value[i]) == key->value[i];
    default: return 1;
    }
}

int
call_equals(const Call *c, const Key *key)
{
    if (key->n != c->n || key->target != c->target ||
        memcmp(&key->opt, &c->opt, sizeof c->opt) ||
        memcmp(key->code, c->code, (size_t)c->n * sizeof *c->code))
        return 0;
    int r = 1;
    for (int i = key->first_constant; r == 1 && i < c->n; i++) {
        if (c->code[i] < CODE(NODE_CONST_INT, 0, 0))
            continue;
        if (c->bits[i] != key->bits[i]) /* 0 of those that are objects */
            return 0;
        if (c->code[i] >= CODE(NODE_CONST_OBJECT, 0, 0) && c->value[i] != key->value[i])
            r = same_value(c, key, i);
    }
    return r;
}

/* ---- keys that are kept ------------------------------------------------------------------ */

int
call_agrees(const Call *c, const Key *key, const uint16_t *asked, unsigned facts)
{
    if (key->n != c->n || memcmp(&key->opt, &c->opt, sizeof c->opt))
        return 0;
    for (int i = 0; i < c->n; i++)
        if ((c->code[i] ^ key->code[i]) & (~(uint32_t)TRUTH_BITS | (asked[i] & facts)))
            return 0;
    int r = 1;
    for (int i = 0; r == 1 && i < c->n; i++)
        r = same_value(c, key, i);
    return r;
}

Key *
key_new(const Call *c)
{
    size_t n = (size_t)c->n;
    Key *key = calloc(1, sizeof *key + n * (sizeof *key->value + sizeof *key->bits +
                                            sizeof *key->code));
    if (!key)
        return PyErr_NoMemory(), NULL;
    key->hash = c->hash, key->target = c->target, key->opt = c->opt, key->n = c->n;
    while (key->first_constant < c->n &&
           c->code[key->first_constant] < CODE(NODE_NONE, 0, 0))
        key->first_constant++;
    key->value = (PyObject **)(key + 1);
    key->bits = (uint64_t *)(key->value + n);
    key->code = (uint32_t *)(key->bits + n);
    memcpy(key->code, c->code, n * sizeof *key->code);
    for (int i = 0; i < c->n; i++) {
        NodeKind kind = code_kind(c->code[i]);
        if (kind == NODE_TUPLE)
            key->value[i] = Py_NewRef((PyObject *)Py_TYPE(c->value[i]));
        else if (kind >= NODE_NONE)
            key->value[i] = Py_NewRef(c->value[i]);
        if (kind >= NODE_CONST_INT && kind <= NODE_CONST_FLOAT)
            key->bits[i] = c->bits[i];
    }
    return key;
}

void
key_free(Key *key)
{
    for (int i = 0; key && i < key->n; i++)
        Py_XDECREF(key->value[i]);
    free(key);
}

int
key_traverse(Key *key, visitproc visit, void *arg)
{
    for (int i = 0; key && i < key->n; i++)
        Py_VISIT(key->value[i]);
    return 0;
}

/* ---- for the frontend -------------------------------------------------------------------- */

/* Node i of c into *out; its children take specs from *free_ on. Returns the next node. */
static int
fill_spec(const Call *c, int i, ArgSpec *out, ArgSpec **free_)
{
    uint32_t code = c->code[i];
    *out = (ArgSpec){.elem = code_elem(code),
                     .truth = code_truth(code) & (INT_FACTS | SHARE_FACTS)};
    switch (code_kind(code)) {
    case NODE_SCALAR: out->kind = ARG_SCALAR; return i + 1;
    case NODE_POINTER: out->kind = ARG_POINTER; return i + 1;
    case NODE_TUPLE: break;
    default:
        *out = (ArgSpec){.kind = ARG_CONSTEXPR, .value = c->value[i]};
        return i + 1;
    }
    *out = (ArgSpec){.kind = ARG_TUPLE,
                     .value = (PyObject *)Py_TYPE(c->value[i]),
                     .child = *free_,
                     .n_child = code_children(code)};
    *free_ += out->n_child;
    i++;
    for (int k = 0; k < out->n_child; k++)
        i = fill_spec(c, i, &out->child[k], free_);
    return i;
}

void
call_specs(const Call *c, ArgSpec *out)
{
    const FeFunction *f = c->k->f;
    ArgSpec *free_ = out + f->n_params;
    for (int i = 0, p = 0; p < f->n_params; p++) {
        i = fill_spec(c, i, &out[p], &free_);
        out[p].is_const = f->params[p].is_const;
    }
}
