/* base: memory that is freed as one, a map from text, the table of types.
 */
#include "ptx/ptx.h"

struct Pool {
    jmp_buf stop;
    struct Piece {
        struct Piece *next;
    } *pieces;
};

Pool *
pool_new(void)
{
    return calloc(1, sizeof(Pool));
}

jmp_buf *
pool_stop(Pool *p)
{
    return &p->stop;
}

void
pool_free(Pool *p)
{
    for (struct Piece *k = p ? p->pieces : NULL; k;) {
        struct Piece *next = k->next;
        free(k);
        k = next;
    }
    free(p);
}

void *
pool_alloc(Pool *p, size_t n)
{
    struct Piece *k = calloc(1, 16 + n);
    if (!k)
        longjmp(p->stop, 1);
    k->next = p->pieces;
    p->pieces = k;
    return (char *)k + 16;
}

char *
pool_text(Pool *p, const char *s, size_t n)
{
    char *copy = pool_alloc(p, n + 1);
    memcpy(copy, s, n);
    return copy;
}

/* ---- map ------------------------------------------------------------------------- */

struct Names {
    Pool *pool;
    struct Row {
        const char *key;
        void *value;
    } *rows;
    size_t n, cap; /* cap is a power of two, n at most half of it */
};

Names *
names_new(Pool *p)
{
    Names *m = POOL_NEW(p, Names, 1);
    m->pool = p;
    m->cap = 64;
    m->rows = POOL_NEW(p, struct Row, m->cap);
    return m;
}

static struct Row *
find_name(const Names *m, const char *key)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (const char *c = key; *c; c++)
        h = (h ^ (unsigned char)*c) * UINT64_C(1099511628211);
    for (size_t i = (h ^ h >> 32) & (m->cap - 1);; i = (i + 1) & (m->cap - 1))
        if (!m->rows[i].key || !strcmp(m->rows[i].key, key))
            return &m->rows[i];
}

void *
names_get(const Names *m, const char *key)
{
    return find_name(m, key)->value;
}

void
names_set(Names *m, const char *key, void *value)
{
    if (2 * (m->n + 1) > m->cap) {
        Names bigger = {m->pool, POOL_NEW(m->pool, struct Row, 4 * m->cap), m->n,
                        4 * m->cap};
        for (size_t i = 0; i < m->cap; i++)
            if (m->rows[i].key)
                *find_name(&bigger, m->rows[i].key) = m->rows[i];
        *m = bigger;
    }
    struct Row *r = find_name(m, key);
    m->n += r->key == NULL;
    *r = (struct Row){key, value};
}

/* ---- types ----------------------------------------------------------------------- */

/* clang-format off */
const struct TypeInfo type_info[N_TYPES] = {
    [T_NONE]   = {"", 0, 0, 0},
    [T_PRED]   = {"pred", 1, 0, 'p'},
    [T_U8]     = {"u8",  1, 0, 'u'}, [T_U16] = {"u16", 2, 1, 'u'},
    [T_U32]    = {"u32", 4, 2, 'u'}, [T_U64] = {"u64", 8, 3, 'u'},
    [T_S8]     = {"s8",  1, 0, 's'}, [T_S16] = {"s16", 2, 1, 's'},
    [T_S32]    = {"s32", 4, 2, 's'}, [T_S64] = {"s64", 8, 3, 's'},
    [T_B8]     = {"b8",  1, 0, 'b'}, [T_B16] = {"b16", 2, 1, 'b'},
    [T_B32]    = {"b32", 4, 2, 'b'}, [T_B64] = {"b64", 8, 3, 'b'},
    [T_B128]   = {"b128", 16, 4, 'b'},
    [T_F16]    = {"f16", 2, 1, 'f'}, [T_F16X2] = {"f16x2", 4, 2, 'f'},
    [T_BF16]   = {"bf16", 2, 1, 'f'}, [T_BF16X2] = {"bf16x2", 4, 2, 'f'},
    [T_F32]    = {"f32", 4, 2, 'f'}, [T_F64] = {"f64", 8, 3, 'f'},
};
/* clang-format on */

Type
type_named(const char *word)
{
    for (int t = 1; t < N_TYPES; t++)
        if (!strcmp(type_info[t].name, word))
            return (Type)t;
    return T_NONE;
}
