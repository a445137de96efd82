/* map: open addressing over an array of slots in insertion order.
 *
 *     index  [ -1  2 -1  0  1 -1 -1 -1 ]     at most half full, linear probing
 *     slot   [ first key, second, third ]     what one iterates over
 *
 * Growing copies into fresh arena memory; the old arrays stay until the arena goes,
 * which costs at most as much as the live ones.
 */
#include "base/base.h"

#include <limits.h>

/* Spreads every bit of x over the result: the finaliser of splitmix64 (Steele, Lea,
 * Flood, "Fast splittable pseudorandom number generators", 2014). */
static uint64_t
mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

enum { LANES = 4 };
static const uint64_t golden = 0x9e3779b97f4a7c15u;

static uint64_t
word_at(const unsigned char *s)
{
    uint64_t word;
    memcpy(&word, s, sizeof word);
    return word;
}

/* The hash of long data, for which one word after the other would wait for multiplications:
 * four words at a time, up to *s + what is a multiple of 32. */
static uint64_t
hash_lanes(const unsigned char **s, size_t *n, uint64_t h)
{
    uint64_t lane[LANES] = {h, h + 1, h + 2, h + 3};
    for (; *n >= 8 * LANES; *n -= 8 * LANES, *s += 8 * LANES)
        for (int i = 0; i < LANES; i++)
            lane[i] = mix(lane[i] ^ word_at(*s + 8 * i)) + golden;
    for (int i = 1; i < LANES; i++)
        lane[0] = mix(lane[0] ^ lane[i]) + golden;
    return lane[0];
}

uint64_t
hash_bytes(const void *p, size_t n)
{
    const unsigned char *s = p;
    uint64_t h = golden ^ n;
    if (n >= 256)
        h = hash_lanes(&s, &n, h);
    for (; n >= 8; n -= 8, s += 8)
        h = mix(h ^ word_at(s)) + golden;
    uint64_t tail = 0;
    memcpy(&tail, s, n);
    return mix(h ^ tail);
}

static uint64_t
hash_key(const void *key, size_t len)
{
    return len ? hash_bytes(key, len) : mix((uintptr_t)key);
}

static bool
same_key(const MapSlot *s, const void *key, size_t len)
{
    if (s->len != len)
        return false;
    return len ? memcmp(s->key, key, len) == 0 : s->key == key;
}

/* Where in index the key is, or the empty place where it belongs. Needs an index. */
static int
probe(const Map *m, const void *key, size_t len, uint64_t hash)
{
    int mask = m->index_cap - 1;
    int i = (int)(hash & (uint64_t)mask);
    for (; m->index[i] >= 0; i = (i + 1) & mask) {
        const MapSlot *s = &m->slot[m->index[i]];
        if (s->hash == hash && same_key(s, key, len))
            break;
    }
    return i;
}

void *
map_get(const Map *m, const void *key, size_t len)
{
    if (!m->n)
        return NULL;
    int pos = m->index[probe(m, key, len, hash_key(key, len))];
    return pos < 0 ? NULL : m->slot[pos].val;
}

/* The map is whole at every allocation: one that fails leaves it as it was. */
static void
grow_index(Map *m)
{
    size_t cap = m->index_cap ? (size_t)m->index_cap * 2 : 16;
    if (cap > INT_MAX / 2)
        cap = SIZE_MAX; /* more than there is: NEW_N raises ERR_MEMORY */
    int32_t *index = NEW_N(m->a, int32_t, cap);
    memset(index, -1, cap * sizeof *index);
    m->index = index;
    m->index_cap = (int)cap;
    for (int i = 0; i < m->n; i++) {
        const MapSlot *s = &m->slot[i];
        m->index[probe(m, s->key, s->len, s->hash)] = i;
    }
}

MapSlot *
map_put(Map *m, const void *key, size_t len, void *val)
{
    if (m->n >= m->index_cap / 2)
        grow_index(m);
    uint64_t hash = hash_key(key, len);
    int i = probe(m, key, len, hash);
    if (m->index[i] >= 0) {
        MapSlot *s = &m->slot[m->index[i]];
        s->val = val;
        return s;
    }
    vec_grow(m->a, &m->slot, m->n, 1, &m->cap, sizeof *m->slot);
    if (len) {
        char *copy = arena_alloc(m->a, len + 1, _Alignof(max_align_t));
        key = memcpy(copy, key, len);
    }
    m->index[i] = m->n;
    m->slot[m->n] = (MapSlot){key, len, hash, val};
    return &m->slot[m->n++];
}
