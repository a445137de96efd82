/* site: assembly in compiled code: texts that were read, constants beside the call. */
#include "ptx/run.h"

struct PtxCached {
    struct PtxCached *next;
    const char *text; /* by its address */
    PtxAsm *a;
};

const PtxAsm *
ptx_cache_get(PtxCache *c, const char *text, int sm, char err[PTX_ERROR])
{
    struct PtxCached *first = __atomic_load_n(&c->first, __ATOMIC_ACQUIRE);
    for (struct PtxCached *k = first; k; k = k->next)
        if (k->text == text)
            return k->a;
    struct PtxCached *mine = calloc(1, sizeof *mine);
    PtxAsm *a = NULL;
    PtxStatus s = mine ? ptx_asm_new(text, sm, &a, err) : PTX_NO_MEMORY;
    if (s != PTX_OK) {
        if (s == PTX_NO_MEMORY)
            snprintf(err, PTX_ERROR, "out of memory");
        free(mine);
        return NULL;
    }
    /* Two threads may both read the text; both results stay, the first found is used. */
    *mine = (struct PtxCached){first, text, a};
    while (!__atomic_compare_exchange_n(&c->first, &mine->next, mine, false,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
    return a;
}

void
ptx_cache_clear(PtxCache *c)
{
    for (struct PtxCached *k = c->first, *next; k; k = next) {
        next = k->next;
        ptx_asm_free(k->a);
        free(k);
    }
    c->first = NULL;
}

static PtxBlock
dense(void *data, int bits)
{
    return (PtxBlock){data, bits, bits < 8 ? 1 : bits / 8};
}

void
ptx_site_run(const PtxSite *s, void *const *data, PtxBlock block[PTX_MAX_OPERANDS],
             PtxRun *out)
{
    int n = s->n_in + s->n_out;
    for (int i = 0; i < n && i < PTX_MAX_OPERANDS; i++)
        block[i] = dense(data[i], s->bits[i]);
    *out = (PtxRun){.n = s->n,
                    .pack = s->pack,
                    .n_in = s->n_in,
                    .n_out = s->n_out,
                    .in = block,
                    .out = block + s->n_in,
                    .mask = s->is_masked ? dense(data[n], 1) : (PtxBlock){0}};
}
