/* binary: what a compile yields. Plain malloc'ed data: it outlives its Comp. */
#include "compile.h"

#include <stdlib.h>
#include <time.h>

void
binary_free(Binary *b)
{
    free(b->symbol);
    free(b->params);
    free(b->facts);
    for (int i = 0; i < b->n_stages; i++)
        free(b->stage[i].data);
    memset(b, 0, sizeof *b);
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
binary_add(Binary *b, const char *name, const char *data, size_t n)
{
    if (b->n_stages == MAX_STAGE || strlen(name) >= sizeof b->stage[0].name)
        return false;
    char *copy = malloc(n + 1);
    if (!copy)
        return false;
    if (n)
        memcpy(copy, data, n);
    copy[n] = 0;
    Stage *s = &b->stage[b->n_stages++];
    snprintf(s->name, sizeof s->name, "%s", name);
    s->data = copy;
    s->size = n;
    return true;
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
        free(s->data);
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
            free(b->stage[i].data);
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
