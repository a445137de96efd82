/* base: arena, map, strings, errors. */
#include "test.h"

/* ---- arena ----------------------------------------------------------------------- */

typedef struct Log {
    Test *t;
    Comp *c;
    int dropped[8], n; /* ids in the order of their drops */
} Log;

typedef struct Held {
    Log *log;
    int id;
} Held;

static void
drop_held(void *obj)
{
    Held *h = obj;
    h->log->dropped[h->log->n++] = h->id;
}

static void
use_arena(Comp *c, void *data)
{
    Test *t = ((Log *)data)->t;
    Arena *a = c->arena;
    for (int i = 0; i < 2000; i++) {
        size_t size = (size_t)(i * 37 % 300), align = (size_t)1 << i % 8;
        char *p = arena_alloc(a, size, align);
        CHECK(t, (uintptr_t)p % align == 0);
        bool zero = true;
        for (size_t k = 0; k < size; k++)
            zero &= p[k] == 0;
        CHECK(t, zero);
        memset(p, 0xff, size); /* whoever overlaps will not be zero */
    }
    size_t before = arena_bytes(a);
    char *big = NEW_N(a, char, 5 << 20);
    CHECK(t, arena_bytes(a) - before >= 5 << 20 && big[(5 << 20) - 1] == 0);
    size_t after = arena_bytes(a);
    NEW_N(a, char, 16); /* the chunk in use before big is still in use */
    CHECK(t, arena_bytes(a) == after);

    VEC(int) v = {0};
    for (int i = 0; i < 1000; i++)
        PUSH(a, &v, i * i);
    bool kept = v.n == 1000;
    for (int i = 0; i < 1000; i++)
        kept &= v.at[i] == i * i;
    CHECK(t, kept);
}

static void
defer_two(Comp *c, void *data)
{
    static const int ids[] = {1, 2};
    Held *h = NEW_N(c->arena, Held, 2);
    for (int i = 0; i < 2; i++) {
        h[i] = (Held){data, ids[i]};
        arena_defer(c->arena, drop_held, &h[i]);
    }
}

static void
defer_fails(Comp *c, void *data)
{
    Held *h = NEW(c->arena, Held);
    *h = (Held){data, 3};
    arena_fail_after(c->arena, 1);
    arena_defer(c->arena, drop_held, h);
}

static void
too_much(Comp *c, void *data)
{
    volatile int minus = -1;
    (void)data;
    NEW_N(c->arena, int, minus);
}

void
test_arena(Test *t)
{
    Comp c;
    Log log = {.t = t, .c = &c};
    CHECK(t, comp_init(&c));
    CHECK(t, comp_run(&c, use_arena, &log));
    CHECK(t, comp_run(&c, defer_two, &log));
    CHECK(t, !comp_run(&c, defer_fails, &log) && c.err.code == ERR_MEMORY);
    CHECK(t, log.n == 1 && log.dropped[0] == 3); /* owned from the first line */
    CHECK(t, !comp_run(&c, too_much, NULL) && c.err.code == ERR_MEMORY);
    CHECK(t, log.n == 1);
    comp_done(&c);
    CHECK(t, log.n == 3 && log.dropped[1] == 2 && log.dropped[2] == 1); /* last first */
    arena_free(NULL);
}

/* Something of everything in base that allocates. */
static void
work(Comp *c, void *data)
{
    int *sum = data;
    Map m = {.a = c->arena};
    Sb sb = {.a = c->arena};
    for (int i = 0; i < 40; i++) {
        const char *s = str_intern(c, str_printf(c->arena, "name%d", i % 25));
        map_put(&m, s, 0, (void *)s);
        sb_printf(&sb, "%s ", s);
    }
    const Loc *l = loc_new(c, "f.py", "f", 1, 2, 3, 4, NULL);
    NEW_N(c->arena, char, 100000);
    err_help(c, "help %d", 1);
    *sum = m.n + sb.n + l->line;
    err_at(c, l, VALUE, "the end");
}

void
test_arena_out_of_memory(Test *t)
{
    size_t n = 1;
    for (;; n++) {
        Comp c;
        int sum = 0;
        CHECK(t, comp_init(&c));
        arena_fail_after(c.arena, n);
        CHECK(t, !comp_run(&c, work, &sum));
        if (c.err.code == ERR_VALUE) {
            CHECK(t, sum == 25 + 20 * 6 + 20 * 7 + 1);
            comp_done(&c);
            break;
        }
        CHECK(t, c.err.code == ERR_MEMORY && !c.escape);
        CHECK_STR(t, c.err.msg, "out of memory");
        /* The interned strings survived in order: what is there is found again. */
        for (int i = 0; i < c.strings.n; i++)
            CHECK(t, map_get(&c.strings, c.strings.slot[i].key,
                             c.strings.slot[i].len) == c.strings.slot[i].val);
        comp_done(&c);
    }
    CHECK(t, n > 50);
}

/* ---- map, str -------------------------------------------------------------------- */

enum { N_KEYS = 3000 };

static void
use_map(Comp *c, void *data)
{
    Test *t = data;
    Map by_text = {.a = c->arena}, by_address = {.a = c->arena};
    static const char anchors[N_KEYS] = {0};
    CHECK(t, !map_get(&by_text, "x", 1));
    for (int i = 0; i < N_KEYS; i++) {
        char key[20];
        int len = snprintf(key, sizeof key, "%d", i);
        map_put(&by_text, key, (size_t)len, (void *)&anchors[i]);
        map_put(&by_address, &anchors[i], 0, (void *)&anchors[N_KEYS - 1 - i]);
        memset(key, 0, sizeof key); /* the map has its own copy */
    }
    CHECK(t, by_text.n == N_KEYS && by_address.n == N_KEYS);
    bool found = true, ordered = true;
    for (int i = 0; i < N_KEYS; i++) {
        char key[20];
        int len = snprintf(key, sizeof key, "%d", i);
        found &= map_get(&by_text, key, (size_t)len) == &anchors[i];
        found &= map_get(&by_address, &anchors[i], 0) == &anchors[N_KEYS - 1 - i];
        ordered &= by_address.slot[i].key == &anchors[i];
        ordered &= !strcmp(by_text.slot[i].key, key);
    }
    CHECK(t, found && ordered);
    CHECK(t, !map_get(&by_text, "-1", 2) && !map_get(&by_text, "12", 1 + 2));
    MapSlot *s = map_put(&by_text, "7", 1, NULL);
    CHECK(t,
          s == &by_text.slot[7] && by_text.n == N_KEYS && !map_get(&by_text, "7", 1));
}

void
test_map(Test *t)
{
    RUN(t, use_map, t);
}

static void
use_str(Comp *c, void *data)
{
    Test *t = data;
    char buf[] = "block";
    const char *a = str_intern(c, "block");
    CHECK(t, a == str_intern(c, buf) && a != buf);
    CHECK(t, a == str_intern_n(c, "blocks", 5) && a != str_intern(c, "blocks"));
    CHECK(t, str_intern(c, "") == str_intern_n(c, "x", 0));
    CHECK_STR(t, str_intern(c, ""), "");
    CHECK_STR(t, str_printf(c->arena, "%s[%d]", "x", 12), "x[12]");
    CHECK_STR(t, str_printf(c->arena, "%s", ""), "");

    Sb sb = {.a = c->arena};
    sb_put(&sb, "");
    CHECK_STR(t, sb.at, "");
    for (int i = 0; i < 500; i++) {
        sb_printf(&sb, "%d,", i % 10);
        sb_putn(&sb, "xyz", 1);
    }
    bool right = sb.n == 1500 && strlen(sb.at) == 1500;
    for (int i = 0; i < 500; i++)
        right &= sb.at[3 * i] == '0' + i % 10 && !memcmp(sb.at + 3 * i + 1, ",x", 2);
    CHECK(t, right);
}

void
test_str(Test *t)
{
    RUN(t, use_str, t);
}

/* ---- error ----------------------------------------------------------------------- */

typedef struct Nest {
    Test *t;
    int depth;
    int seen; /* frames that noticed the error below them */
} Nest;

/* Each level runs the next; the innermost raises, odd levels catch, even ones raise. */
static void
nest(Comp *c, void *data)
{
    Nest *n = data;
    jmp_buf *escape = c->escape;
    if (n->depth == 6)
        err_at(c, NULL, VALUE, "deep");
    n->depth++;
    bool ok = comp_run(c, nest, n);
    n->depth--;
    CHECK(n->t, c->escape == escape);
    if (ok) {
        CHECK(n->t, n->depth % 2 == 0 && c->err.code == ERR_NONE);
    } else {
        n->seen++;
        CHECK(n->t, n->depth % 2 == 1 && c->err.code == ERR_VALUE);
    }
    if (n->depth % 2 == 0)
        err_at(c, NULL, VALUE, str_printf(c->arena, "again at %d", n->depth));
}

static void
raise_with_help(Comp *c, void *data)
{
    err_help(c, "write %s", (const char *)data);
    err_at(c, NULL, SHAPE, "cannot combine shapes [1] and [2]");
}

static void
raise_plain(Comp *c, void *data)
{
    (void)data;
    err_at(c, NULL, MEMORY);
}

static void
do_nothing(Comp *c, void *data)
{
    (void)c, (void)data;
}

void
test_error_run(Test *t)
{
    Comp c;
    Nest n = {.t = t};
    CHECK(t, comp_init(&c));
    CHECK(t, !comp_run(&c, nest, &n));
    CHECK(t, n.seen == 3 && !c.escape);
    CHECK_STR(t, c.err.msg, "again at 0");
    CHECK(t, !comp_run(&c, raise_with_help, "this"));
    CHECK_STR(t, c.err.msg, "cannot combine shapes [1] and [2]");
    CHECK_STR(t, c.err.help, "write this");
    CHECK(t, !comp_run(&c, raise_plain, NULL));
    CHECK(t, c.err.code == ERR_MEMORY && !c.err.help);
    CHECK(t, comp_run(&c, do_nothing, NULL) && c.err.code == ERR_NONE);
    comp_done(&c);
}

static const char *
line_of(Comp *c, const char *file, int line)
{
    (void)c;
    if (!strcmp(file, "softmax.py") && line == 41)
        return "    acc = p * scale\n";
    if (!strcmp(file, "tabs.py"))
        return "\tx = h\xc3\xa9 + (y +\r\n";
    return NULL;
}

#define SHAPES "cannot combine shapes [64, 32] and [64]"

static void
render_all(Comp *c, void *data)
{
    Test *t = data;
    const Loc *top = loc_new(c, "top.py", "run", 7, 0, 7, 9, NULL);
    const Loc *layer = loc_new(c, "layer.py", "layer", 58, 4, 58, 20, NULL);
    const Loc *under = loc_new(c, "layer.py", "layer", 58, 4, 58, 20, top);
    Error e = {ERR_SHAPE, loc_new(c, "softmax.py", "softmax", 41, 10, 41, 19, layer),
               SHAPES, "scale is [64]; scale[:, None] makes it [64, 1]", NULL};
    CHECK_STR(t, err_render(c, &e),
              "softmax.py:41:11: CompileError[SHAPE]: " SHAPES "\n"
              "    acc = p * scale\n"
              "          ^~~~~~~~~\n"
              "  help: scale is [64]; scale[:, None] makes it [64, 1]"
              "\n  in softmax(), inlined from layer.py:58");
    e.help = NULL;
    e.loc = loc_new(c, "softmax.py", "softmax", 41, 4, 41, 7, under);
    CHECK_STR(t, err_render(c, &e),
              "softmax.py:41:5: CompileError[SHAPE]: " SHAPES "\n"
              "    acc = p * scale\n"
              "    ^~~\n"
              "  in softmax(), inlined from layer.py:58\n"
              "  in layer(), inlined from top.py:7");
    /* A tab stays a tab, é is one column; a span over lines ends with the first. */
    e.loc = loc_new(c, "tabs.py", "f", 3, 5, 4, 2, NULL);
    CHECK_STR(t, err_render(c, &e),
              "tabs.py:3:6: CompileError[SHAPE]: " SHAPES "\n"
              "\tx = h\xc3\xa9 + (y +\n"
              "\t    ^~~~~~~~~");
    e.loc = loc_new(c, "tabs.py", "f", 3, 999, 3, -4, NULL); /* out of range: a caret */
    CHECK(t, strstr(err_render(c, &e), "\n\t             ^") != NULL);
    e.loc = loc_new(c, "unknown.py", "f", 9, 0, 9, 1, NULL);
    CHECK_STR(t, err_render(c, &e), "unknown.py:9:1: CompileError[SHAPE]: " SHAPES);
    CHECK_STR(t, err_render(c, &(Error){ERR_MEMORY, NULL, "out of memory", NULL, NULL}),
              "MemoryError: out of memory");
    CHECK_STR(
        t, err_render(c, &(Error){ERR_LLVM, NULL, "bad", NULL, NULL}),
        "InternalError[LLVM]: bad\n"
        "  help: this is a fault of the compiler, not of the kernel: please report it");
    const Loc *chain = NULL;
    for (int i = 0; i < 12; i++)
        chain = loc_new(c, "r.py", "r", i + 1, 0, 1, 1, chain);
    e.loc = chain;
    const char *text = err_render(c, &e);
    CHECK(t,
          strstr(text, "inlined from r.py:11\n") && strstr(text, "\n  ... and 3 more"));
}

void
test_error_render(Test *t)
{
    Comp c;
    CHECK(t, comp_init(&c));
    c.source_line = line_of;
    CHECK(t, comp_run(&c, render_all, t));
    /* Outside of a run, of the Comp's own error, which stays; and out of memory. */
    CHECK(t, !comp_run(&c, raise_with_help, "this"));
    CHECK_STR(
        t, err_render(&c, &c.err),
        "CompileError[SHAPE]: cannot combine shapes [1] and [2]\n  help: write this");
    CHECK(t, c.err.code == ERR_SHAPE);
    arena_fail_after(c.arena, 1);
    CHECK(t, !err_render(&c, &c.err) && c.err.code == ERR_SHAPE);
    comp_done(&c);
}

void
test_error_table(Test *t)
{
    for (int i = 1; i < N_ERR; i++) {
        CHECK(t, err_info[i].name && err_info[i].fmt && err_info[i].fmt[0]);
        CHECK(t, !strchr(err_info[i].fmt, '\n'));
    }
    CHECK_STR(t, err_info[ERR_SHAPE].name, "SHAPE");
    CHECK(t, err_info[ERR_LIMIT].cls == CLASS_LIMIT &&
                 err_info[ERR_LLVM].cls == CLASS_BUG);
}

/* ---- sha256 -------------------------------------------------------------------------- */

/* FIPS 180-4's examples, and lengths around the ends of a block (by Python's hashlib). */
void
test_sha256(Test *t)
{
    static const struct {
        const char *text;
        int times;
        const char *digest;
    } cases[] = {
        {"", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"a", 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
        {"a", 56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
        {"a", 63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"},
        {"a", 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
        {"a", 65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"},
        {"ab", 500, "bd224a350e0aa49ca9e089f136c4dc8fc22c785afb474b5abe0e94d0e9f60aee"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[1 << 10], hex[65];
        unsigned char out[32];
        size_t n = 0, len = strlen(cases[i].text);
        for (int k = 0; k < cases[i].times; k++, n += len)
            memcpy(text + n, cases[i].text, len);
        sha256(text, n, out);
        for (int k = 0; k < 32; k++)
            snprintf(hex + 2 * k, 3, "%02x", out[k]);
        CHECK_STR(t, hex, cases[i].digest);
    }
}
