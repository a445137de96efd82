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
    Sb sb = {.a = a};
    sb_vprintf(&sb, fmt, ap);
    return sb.at;
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

/* ---- formats -----------------------------------------------------------------------
 * IR as text is thousands of "%s" and "%d", and the C library takes a microsecond for each:
 * a format of these alone is written here, any other there. */

/* The length of the conversion at p if it is one of %s %d %ld %c %%, else 0. */
static int
plain_length(const char *p)
{
    if (p[1] == 'l')
        return p[2] == 'd' ? 3 : 0;
    return p[1] && strchr("sdc%", p[1]) ? 2 : 0;
}

static bool
is_plain(const char *fmt)
{
    int n = 0;
    for (const char *p = strchr(fmt, '%'); p; p = strchr(p + n, '%'))
        if (!(n = plain_length(p)))
            return false;
    return true;
}

static void
put_int(Sb *sb, int64_t v)
{
    char text[24], *at = text + sizeof text;
    uint64_t rest = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do
        *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (v < 0)
        *--at = '-';
    sb_putn(sb, at, (size_t)(text + sizeof text - at));
}

static void
put_text(Sb *sb, const char *s)
{
    sb_put(sb, s ? s : "(null)");
}

static void
put_char(Sb *sb, char c)
{
    sb_putn(sb, &c, 1);
}

static void
put_plain(Sb *sb, const char *fmt, va_list *ap)
{
    for (;;) {
        size_t n = strcspn(fmt, "%");
        sb_putn(sb, fmt, n);
        fmt += n;
        if (!*fmt)
            return;
        switch (fmt[1]) {
        case 's': put_text(sb, va_arg(*ap, const char *)); break;
        case 'd': put_int(sb, va_arg(*ap, int)); break;
        case 'l': put_int(sb, va_arg(*ap, long)); break;
        case 'c': put_char(sb, (char)va_arg(*ap, int)); break;
        default: put_char(sb, '%');
        }
        fmt += plain_length(fmt);
    }
}

void
sb_vprintf(Sb *sb, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    if (is_plain(fmt)) {
        put_plain(sb, fmt, &again);
        va_end(again);
        return;
    }
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    n = MAX(n, 0); /* below 0: text that the C library cannot encode */
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
cursor_take(Cursor *r, size_t n)
{
    r->failed |= (size_t)(r->end - r->at) < n;
    if (r->failed)
        return NULL;
    const char *p = r->at;
    r->at += n;
    return p;
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
