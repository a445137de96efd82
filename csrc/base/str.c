/* str: interned strings, printf into the arena, and a string builder. */
#include "base/base.h"

const char *
str_intern_n(Comp *c, const char *s, size_t n)
{
    if (!n)
        return ""; /* a map key of length 0 would mean a pointer */
    const char *old = map_get(&c->strings, s, n);
    if (old)
        return old;
    MapSlot *slot = map_put(&c->strings, s, n, NULL);
    slot->val = (void *)slot->key; /* the map's copy ends with a NUL */
    return slot->key;
}

const char *
str_intern(Comp *c, const char *s)
{
    return str_intern_n(c, s, strlen(s));
}

char *
str_vprintf(Arena *a, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    n = MAX(n, 0); /* below 0: text that the C library cannot encode */
    char *s = NEW_N(a, char, (size_t)n + 1);
    vsnprintf(s, (size_t)n + 1, fmt, ap);
    return s;
}

char *
str_printf(Arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *s = str_vprintf(a, fmt, ap);
    va_end(ap);
    return s;
}

void
sb_putn(Sb *sb, const char *s, size_t n)
{
    vec_grow(sb->a, &sb->at, sb->n, n + 1, &sb->cap, 1);
    memcpy(sb->at + sb->n, s, n);
    sb->n += (int)n;
    sb->at[sb->n] = 0;
}

void
sb_put(Sb *sb, const char *s)
{
    sb_putn(sb, s, strlen(s));
}

void
sb_vprintf(Sb *sb, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    n = MAX(n, 0);
    vec_grow(sb->a, &sb->at, sb->n, (size_t)n + 1, &sb->cap, 1);
    vsnprintf(sb->at + sb->n, (size_t)n + 1, fmt, ap);
    sb->n += n;
}

void
sb_printf(Sb *sb, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    sb_vprintf(sb, fmt, ap);
    va_end(ap);
}

const char *
option_text(const char *texts, const char *name, size_t *n)
{
    size_t len = strlen(name);
    for (const char *s = texts; s && *s;
         s = strchr(s, '\n') + 1) { /* lines are whole */
        const char *tab = strchr(s, '\t');
        if (len != (size_t)(tab - s) || strncmp(s, name, len) != 0)
            continue;
        *n = strcspn(tab + 1, "\n");
        return tab + 1;
    }
    return NULL;
}

bool
option_lists(const char *texts, const char *name, const char *word)
{
    size_t n;
    const char *s = option_text(texts, name, &n);
    if (!s)
        return true;
    for (const char *end = s + n; s <= end;) {
        size_t len = strcspn(s, ",\n");
        if (len == strlen(word) && !memcmp(s, word, len))
            return true;
        s += len + 1;
    }
    return false;
}

const Override *
comp_override(const Comp *c, const char *stage)
{
    for (int i = 0; i < c->n_overrides; i++)
        if (!strcmp(c->overrides[i].stage, stage))
            return &c->overrides[i];
    return NULL;
}
