/* tirc_args: the GRID and ARG lines of a kernel's text as arguments in memory, and buffers
 * as text. tirc.c says how the lines are written.
 */
#include "tools/tirc.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum {
    MAX_BUFFER = 1 << 22, /* elements */
};

typedef VEC(uint64_t) Bits;

static NORETURN void
bad_arg(Comp *c, int i, const char *what)
{
    err_say(c, NULL, VALUE, "ARG %d: %s", i, what);
}

int64_t
tirc_buffer_bytes(const Buffer *b)
{
    return b->n * elem_info[b->elem->elem].bytes;
}

static void
put_elem(Buffer *b, int64_t i, uint64_t bits)
{
    int n = elem_info[b->elem->elem].bytes;
    memcpy(b->at + i * n, &bits, (size_t)n);
}

uint64_t
tirc_get_elem(const Buffer *b, int64_t i)
{
    uint64_t bits = 0;
    int n = elem_info[b->elem->elem].bytes;
    memcpy(&bits, b->at + i * n, (size_t)n);
    return b->elem->elem == E_I1 ? bits != 0 : bits;
}

/* Whole numbers, so that sums are exact in every float type. */
static uint64_t
random_elem(Elem e, uint64_t *rng)
{
    uint64_t x = random_bits(rng);
    if (e == E_I1)
        return x & 1;
    bool is_signed = elem_is_float(e) || elem_is_signed(e);
    return elem_from_int(e, (int64_t)(x % 15) - (is_signed ? 7 : 0));
}

/* One item of a buffer's list. */
static void
add_item(Comp *c, int i, const Type *t, char *s, Bits *v)
{
    long long first, last, n = 1;
    unsigned long long seed;
    int end = 0;
    uint64_t bits;
    if (sscanf(s, "random %lld %llu%n", &n, &seed, &end) == 2 && end && !s[end]) {
        if (n < 0 || n > MAX_BUFFER)
            bad_arg(c, i, "too long");
        for (uint64_t rng = seed; n > 0; n--)
            PUSH(c->arena, v, random_elem(t->elem, &rng));
        return;
    }
    end = 0;
    if (sscanf(s, "%lld..%lld%n", &first, &last, &end) == 2 && end && !s[end]) {
        if (last < first || last - first >= MAX_BUFFER)
            bad_arg(c, i, "bad range");
        for (; first <= last; first++)
            PUSH(c->arena, v, elem_from_int(t->elem, first));
        return;
    }
    char *times = strstr(s, " x ");
    n = 1;
    if (times) {
        n = atoll(times + 3);
        *times = 0;
    }
    if (n < 0 || n > MAX_BUFFER || !elem_parse(t, s, &bits))
        bad_arg(c, i,
                str_printf(c->arena, "'%s' is no item of %s", s, ty_str(c->arena, t)));
    for (; n > 0; n--)
        PUSH(c->arena, v, bits);
}

/* "[1, 2 x 3]" or "5": the text of ARG line i. */
static void
set_arg(Comp *c, Tirc *t, const Type *type, ArgFacts facts, char *s)
{
    int i = t->n_args++;
    Buffer *b = &t->buffer[i];
    *b = (Buffer){0};
    if (type->is_ptr != (*s == '['))
        bad_arg(c, i, type->is_ptr ? "expected a buffer: [..]" : "expected one value");
    if (!type->is_ptr) {
        if (!elem_parse(type, s, &t->arg[i]))
            bad_arg(c, i,
                    str_printf(c->arena, "'%s' is no %s", s, ty_str(c->arena, type)));
        return;
    }
    Bits v = {0};
    b->elem = ty_scalar(c, type->elem);
    for (s++; *s && *s != ']';) {
        s += strspn(s, " ");
        size_t n = strcspn(s, ",]");
        char *item = str_printf(c->arena, "%.*s", (int)n, s);
        if (n)
            add_item(c, i, b->elem, item, &v);
        s += n + (s[n] == ',');
    }
    b->n = v.n;
    /* No better aligned than the facts say: code must not count on more. */
    int offset = elem_info[type->elem].bytes;
    for (int d = FACT_DIV2; d < FACT_DIV16; d <<= 1)
        if (facts.truth & d)
            offset = MAX(offset, d);
    if (facts.truth & FACT_DIV16)
        offset = 0;
    size_t size = (size_t)tirc_buffer_bytes(b) + 2 * RED_ZONE + (size_t)offset;
    b->at = (char *)arena_alloc(c->arena, size, 64) + RED_ZONE + offset;
    t->arg[i] = (uintptr_t)b->at;
    for (int k = 0; k < v.n; k++)
        put_elem(b, k, v.at[k]);
}

/* The GRID and ARG lines of the text. */
void
tirc_read_args(Comp *c, Tirc *t, const Func *f)
{
    t->n_args = 0;
    t->grid[0] = t->grid[1] = t->grid[2] = 1;
    for (const char *s = t->text; *s; s += strcspn(s, "\n"), s += *s == '\n') {
        size_t n = strcspn(s, "\r\n");
        char *line = str_printf(c->arena, "%.*s", (int)n, s);
        while (n && line[n - 1] == ' ')
            line[--n] = 0;
        if (!strncmp(line, "// GRID:", 8)) {
            sscanf(line + 8, "%d, %d, %d", &t->grid[0], &t->grid[1], &t->grid[2]);
        } else if (!strncmp(line, "// ARG:", 7)) {
            if (t->n_args == f->body->n_args || t->n_args == MAX_ARGS)
                bad_arg(c, t->n_args, "more than the function has parameters");
            char *value = line + 7 + strspn(line + 7, " ");
            int slot = f->slot[t->n_args];
            ArgFacts facts = {0};
            if (slot >= 0 && slot < f->n_facts)
                facts = f->facts[slot];
            set_arg(c, t, f->body->args[t->n_args]->type, facts, value);
        }
    }
    if (t->n_args != f->body->n_args)
        bad_arg(c, t->n_args, "no ARG line for this parameter");
}

/* Every NaN is "nan": which one a machine makes is its own habit. */
static const char *
item_str(Comp *c, const Type *t, uint64_t bits)
{
    if (elem_is_float(t->elem) && isnan(elem_to_double(t->elem, bits)))
        return "nan";
    return elem_str(c->arena, t, bits);
}

static void
print_buffer(Comp *c, int i, const Buffer *b)
{
    printf("// ARG %d: %s [", i, ty_str(c->arena, b->elem));
    for (int64_t k = 0, n; k < b->n; k += n) {
        uint64_t bits = tirc_get_elem(b, k);
        for (n = 1; k + n < b->n && tirc_get_elem(b, k + n) == bits; n++)
            ;
        n = n < 3 ? 1 : n;
        printf("%s%s", k ? ", " : "", item_str(c, b->elem, bits));
        if (n > 1)
            printf(" x %" PRId64, n);
    }
    printf("]\n");
}

void
tirc_print_buffers(Comp *c, const Tirc *t)
{
    for (int i = 0; i < t->n_args; i++)
        if (t->buffer[i].at)
            print_buffer(c, i, &t->buffer[i]);
}
