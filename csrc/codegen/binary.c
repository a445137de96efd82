/* binary: what a compile yields. Plain malloc'ed data: it outlives its Comp. */
#include "codegen/binary.h"

#include <stdlib.h>
#include <time.h>

#define ARRAY(name)                                                                    \
    {offsetof(Binary, name), offsetof(Binary, n_##name), sizeof *((Binary *)NULL)->name}
const BinaryArray binary_arrays[N_BINARY_ARRAYS] = {
    ARRAY(facts), ARRAY(params),   ARRAY(maps),
    ARRAY(tests), ARRAY(host_ops), ARRAY(tried),
};

const size_t binary_ints[N_BINARY_INTS] = {
    offsetof(Binary, num_warps), offsetof(Binary, num_stages),
    offsetof(Binary, num_ctas),  offsetof(Binary, block_warps),
    offsetof(Binary, shared),    offsetof(Binary, scratch),
    offsetof(Binary, n_regs),    offsetof(Binary, n_spills),
    offsetof(Binary, blocks),    offsetof(Binary, grid),
    offsetof(Binary, asked),     offsetof(Binary, strips),
    offsetof(Binary, n_lowered), offsetof(Binary, stack),
};

void **
binary_array(const Binary *b, int which)
{
    return (void **)((uintptr_t)b + binary_arrays[which].at);
}

int *
binary_int(const Binary *b, size_t at)
{
    return (int *)((uintptr_t)b + at);
}

void *
binary_copy(Comp *c, const void *p, size_t n)
{
    void *q = malloc(MAX(n, 1));
    if (!q)
        err_at(c, NULL, MEMORY);
    return n ? memcpy(q, p, n) : q;
}

/* Frees what does not lie in the file that was read. */
static void
drop_bytes(const Binary *b, void *p)
{
    if (!b->file || (uintptr_t)p - (uintptr_t)b->file >= b->file_size)
        free(p);
}

void
binary_free(Binary *b)
{
    drop_bytes(b, b->symbol);
    for (int k = 0; k < N_BINARY_ARRAYS; k++)
        drop_bytes(b, *binary_array(b, k));
    for (int i = 0; i < b->n_stages; i++)
        drop_bytes(b, b->stage[i].data);
    free(b->file);
    memset(b, 0, sizeof *b);
}

void
binary_drop(void *b)
{
    binary_free(b);
}

const Stage *
binary_stage(const Binary *b, const char *name)
{
    for (int i = 0; i < b->n_stages; i++)
        if (strcmp(b->stage[i].name, name) == 0)
            return &b->stage[i];
    return NULL;
}

bool
binary_take(Binary *b, const char *name, char *data, size_t n)
{
    if (b->n_stages == MAX_STAGE || strlen(name) >= sizeof b->stage[0].name)
        return false;
    Stage *s = &b->stage[b->n_stages++];
    snprintf(s->name, sizeof s->name, "%s", name);
    s->data = data;
    s->size = n;
    return true;
}

bool
binary_add(Binary *b, const char *name, const char *data, size_t n)
{
    char *copy = malloc(n + 1);
    if (!copy)
        return false;
    if (n)
        memcpy(copy, data, n);
    copy[n] = 0;
    if (binary_take(b, name, copy, n))
        return true;
    free(copy);
    return false;
}

bool
binary_put(Binary *b, const char *name, const char *data, size_t n)
{
    for (int i = 0; i < b->n_stages; i++) {
        Stage *s = &b->stage[i];
        if (strcmp(s->name, name) != 0)
            continue;
        char *copy = malloc(n + 1);
        if (!copy)
            return false;
        memcpy(copy, data, n);
        copy[n] = 0;
        drop_bytes(b, s->data);
        s->data = copy;
        s->size = n;
        return true;
    }
    return binary_add(b, name, data, n);
}

void
binary_remove(Binary *b, const char *name)
{
    for (int i = 0; i < b->n_stages; i++)
        if (!strcmp(b->stage[i].name, name)) {
            drop_bytes(b, b->stage[i].data);
            memmove(&b->stage[i], &b->stage[i + 1],
                    (size_t)(--b->n_stages - i) * sizeof b->stage[i]);
            return;
        }
}

double
clock_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}
