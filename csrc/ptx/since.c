/* since: which architecture an instruction is of, where the rows of its own file do not say.
 *
 * A kernel that is tried on the emulator of an older machine is told what its assembler would say.
 */
#include "ptx/parse.h"

/* Words are alternatives: one of `ops` with one of `words` and one of `with`, but without any of
 * `not`; NULL: whatever there is. */
typedef struct Since {
    const char *ops, *words, *with, *not;
    int sm;
} Since;

#define BF16 "bf16|bf16x2"
#define HALVES "f16|f16x2|bf16|bf16x2"
/* clang-format off */
static const Since table[] = {
    /* ops                  words                           with    not        sm */
    {NULL,                  "L2::cache_hint|L2::256B",      NULL,   NULL,      80},
    {"createpolicy|discard|applypriority", NULL,            NULL,   NULL,      80},
    {"prefetch",            "L2::evict_last|L2::evict_normal", NULL, NULL,     80},
    {"mbarrier",            NULL,                           NULL,   NULL,      80},
    {"fma",                 BF16 "|relu",                   NULL,   NULL,      80},
    {"neg|abs",             BF16,                           NULL,   NULL,      80},
    {"min|max",             HALVES "|NaN",                  NULL,   NULL,      80},
    {"cvt",                 BF16 "|tf32|relu",              NULL,   NULL,      80},
    {"cvt",                 "f16x2",                        "f32",  NULL,      80},
    {"cvt",                 "e4m3x2|e5m2x2",                NULL,   NULL,      89},
    {NULL,                  "cluster",                      NULL,   NULL,      90},
    {"griddepcontrol",      NULL,                           NULL,   NULL,      90},
    {"fence",               "async|async::generic|tensormap::generic|mbarrier_init",
                                                            NULL,   NULL,      90},
    {"prefetch",            "tensormap",                    NULL,   NULL,      90},
    {"mbarrier",            "try_wait|expect_tx|complete_tx", NULL, NULL,      90},
    {"set|setp|tanh|ex2",   BF16,                           NULL,   NULL,      90},
    {"cvt",                 "bf16",                         NULL,   "f32",     90},
    {"cvt",                 "tf32",                         "rn|rz", NULL,     90},
};
/* clang-format on */

bool
is_one_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *w = words; w; w = strchr(w, '|') ? strchr(w, '|') + 1 : NULL)
        if (strcspn(w, "|") == n && !strncmp(w, word, n))
            return true;
    return false;
}

static bool
has_one(const Dec *d, const char *words)
{
    for (int k = 0; k < d->n_mods; k++)
        if (is_one_word(words, d->mod[k]))
            return true;
    return false;
}

void
since_check(Dec *d)
{
    int sm = 0;
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        const Since *s = &table[k];
        if (s->sm > sm && (!s->ops || is_one_word(s->ops, d->op)) &&
            (!s->words || has_one(d, s->words)) && (!s->with || has_one(d, s->with)) &&
            (!s->not || !has_one(d, s->not)))
            sm = s->sm;
    }
    dec_since(d, sm);
}
