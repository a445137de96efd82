/* arena: one per compilation, nothing is freed singly.
 *
 *     chunk:  [head | used ........ | free ...... ]   newest first
 *     drops:  last deferred -> ... -> first deferred
 *
 * Chunks come zeroed from calloc, double in size up to MAX_CHUNK, and an allocation
 * that would waste most of one gets a chunk of its own.
 *
 * Rule 1: arena_alloc never returns NULL: it raises ERR_MEMORY, and raising that must not
 *         allocate (error.c keeps to it).
 * Rule 2: every path to memory goes through try_alloc, so that arena_fail_after can walk
 *         a test through each allocation of a compile.
 */
#include "base/base.h"

#include <limits.h>
#include <stdlib.h>

enum { FIRST_CHUNK = 16 << 10, MAX_CHUNK = 1 << 20 };

typedef struct Chunk Chunk;
struct Chunk {
    Chunk *next;
    size_t used, size; /* bytes of data */
    _Alignas(max_align_t) char data[];
};

typedef struct Drop Drop;
struct Drop {
    void (*fn)(void *obj);
    void *obj;
    Drop *next;
};

struct Arena {
    Comp *c;          /* who hears of ERR_MEMORY */
    Chunk *chunk;     /* the one that small allocations come from; older ones behind */
    Drop *drops;      /* last deferred first */
    size_t next_size; /* bytes of the next chunk */
    size_t n_bytes;   /* taken from the system */
    size_t fail_in;   /* the allocation to refuse, counted down; 0: none */
};

Arena *
arena_new(Comp *c)
{
    Arena *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->c = c;
    a->next_size = FIRST_CHUNK;
    return a;
}

void
arena_belongs(Arena *a, Comp *c)
{
    a->c = c;
}

void
arena_free(Arena *a)
{
    if (!a)
        return;
    while (a->drops) { /* a drop may defer another */
        Drop *d = a->drops;
        a->drops = d->next;
        d->fn(d->obj);
    }
    for (Chunk *k = a->chunk, *next; k; k = next) {
        next = k->next;
        free(k);
    }
    free(a);
}

static Chunk *
chunk_new(Arena *a, size_t size)
{
    if (size > SIZE_MAX - sizeof(Chunk))
        return NULL;
    comp_poll(a->c); /* who works long allocates much */
    Chunk *k = calloc(1, sizeof(Chunk) + size);
    if (!k)
        return NULL;
    k->size = size;
    a->n_bytes += sizeof(Chunk) + size;
    return k;
}

/* Bytes to skip in k so that the next one is aligned. */
static size_t
padding(const Chunk *k, size_t align)
{
    return -(uintptr_t)(k->data + k->used) & (align - 1);
}

static void *
take(Chunk *k, size_t size, size_t align)
{
    k->used += padding(k, align);
    void *p = k->data + k->used;
    k->used += size;
    return p;
}

/* NULL when out of memory. */
static void *
try_alloc(Arena *a, size_t size, size_t align)
{
    if (a->fail_in && --a->fail_in == 0)
        return NULL;
    if (size > SIZE_MAX / 2 || align > SIZE_MAX / 4)
        return NULL;
    Chunk *k = a->chunk;
    if (k) {
        size_t pad = padding(k, align);
        if (pad <= k->size - k->used && size <= k->size - k->used - pad)
            return take(k, size, align);
    }
    if (k && size + align > a->next_size / 4) {
        /* Big: its own chunk, behind the current one, which stays in use. */
        Chunk *own = chunk_new(a, size + align);
        if (!own)
            return NULL;
        own->next = k->next;
        k->next = own;
        return take(own, size, align);
    }
    k = chunk_new(a, MAX(a->next_size, size + align));
    if (!k)
        return NULL;
    k->next = a->chunk;
    a->chunk = k;
    a->next_size = MIN(a->next_size * 2, MAX_CHUNK);
    return take(k, size, align);
}

void *
arena_alloc(Arena *a, size_t size, size_t align)
{
    void *p = try_alloc(a, size, align);
    if (!p)
        err_at(a->c, NULL, MEMORY);
    return p;
}

void *
arena_alloc_n(Arena *a, size_t n, size_t size, size_t align)
{
    if (n > SIZE_MAX / size) /* a negative count ends here too */
        err_at(a->c, NULL, MEMORY);
    return arena_alloc(a, n * size, align);
}

void
arena_defer(Arena *a, void (*drop)(void *obj), void *obj)
{
    Drop *d = try_alloc(a, sizeof *d, _Alignof(Drop));
    if (!d) {
        drop(obj);
        err_at(a->c, NULL, MEMORY);
    }
    *d = (Drop){drop, obj, a->drops};
    a->drops = d;
}

void
arena_fail_after(Arena *a, size_t n)
{
    a->fail_in = n;
}

size_t
arena_bytes(const Arena *a)
{
    return a->n_bytes;
}

void
vec_grow(Arena *a, void *at, int n, size_t more, int *cap, size_t size)
{
    if (more <= (size_t)(*cap - n))
        return;
    if (more > (size_t)INT_MAX - (size_t)n)
        err_at(a->c, NULL, MEMORY);
    size_t want = MAX((size_t)n + more, (size_t)*cap * 2);
    want = MIN(MAX(want, 8), (size_t)INT_MAX);
    /* memcpy and not *(void **)at: the caller's variable is a T *, not a void *. */
    void *old, *new = arena_alloc_n(a, want, size, _Alignof(max_align_t));
    memcpy(&old, at, sizeof old);
    if (n)
        memcpy(new, old, (size_t)n * size);
    memcpy(at, &new, sizeof new);
    *cap = (int)want;
}
