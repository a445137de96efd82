/* ir: the builder's lists, text in both directions, memory that runs out. */
#include "test.h"

#include "interp/interp.h"
#include "random/random.h"

#include <stdlib.h>

/* ---- types ---------------------------------------------------------------------- */

static void
use_types(Comp *c, void *data)
{
    Test *t = data;
    const int32_t shape[] = {64, 32};
    const Type *f32 = ty_scalar(c, E_F32), *p = ty_ptr(c, E_F32, false);
    const Type *b = ty_block(c, f32, 2, shape);
    CHECK(t, f32 == ty_scalar(c, E_F32) && f32 != p && p != ty_ptr(c, E_F32, true));
    CHECK(t, b == ty_with_shape(c, f32, 2, shape) && ty_element(c, b) == f32);
    CHECK(t, ty_pointee(c, ty_block(c, p, 2, shape)) == b &&
                 ty_with_elem(c, p, E_F32) == f32);
    CHECK(t, ty_block(c, f32, 0, NULL) == f32 && ty_numel(b) == 2048 &&
                 ty_numel(f32) == 1);
    CHECK(t, ty_bits(p) == 64 && ty_bits(b) == 32);
    CHECK_STR(t, ty_str(c->arena, ty_ptr(c, E_BF16, true)), "ptr<const bf16>");
    CHECK_STR(t, ty_str(c->arena, b), "f32[64, 32]");
    CHECK_STR(t, ty_shape_str(c->arena, f32), "scalar");
    uint8_t log2_shape[MAX_RANK];
    ty_log2_shape(b, log2_shape);
    CHECK(t, log2_shape[0] == 6 && log2_shape[1] == 5);
}

void
test_ir_types(Test *t)
{
    RUN(t, use_types, t);
}

/* ---- builder -------------------------------------------------------------------- */

static int
count_uses(const Val *v)
{
    int n = 0;
    for (const Use *u = v->uses; u; u = u->next)
        n++;
    return n;
}

static void
use_builder(Comp *c, void *data)
{
    Test *t = data;
    const Type *i32 = ty_scalar(c, E_I32);
    Func *f = ir_func(c, "f", NULL);
    Build b = {.f = f, .block = f->body};
    Val *n = ir_param(f, i32, "n", 0);
    Val *one = ir_const_int(&b, i32, 1), *zero = ir_const_int(&b, i32, 0);

    /* A loop that gets its carried values one by one, past several powers of two. */
    Op *loop = ir_op(&b, OP_FOR, 3, (Val *[]){zero, n, one}, 0, NULL);
    Block *body = ir_block(f, loop);
    CHECK(t, loop->n_regions == 1 && loop->regions[0] == body && body->owner == loop);
    Val *i = ir_block_arg(body, i32, "i");
    Build in = {.f = f, .block = body};
    Op *yield = ir_op(&in, OP_YIELD, 0, NULL, 0, NULL);
    in.before = yield;
    for (int k = 0; k < 20; k++) {
        ir_add_arg(loop, n);
        Val *v = ir_block_arg(body, i32, NULL);
        ir_add_arg(yield, ir_bin(&in, OP_ADD, v, i));
        ir_add_result(loop, i32);
    }
    Op *ret = ir_op(&b, OP_RETURN, 0, NULL, 0, NULL);
    ir_verify(f, "building");
    CHECK(t, count_uses(n) == 21 && loop->n_results == 20 && yield->n_args == 20);
    CHECK(t, ir_is_inside(yield, f->body) && !ir_is_inside(ret, body));
    CHECK(t, arg(yield, 19)->def->prev == arg(yield, 18)->def &&
                 yield->prev == arg(yield, 19)->def);

    /* Drop every second of them. */
    for (int k = 19; k >= 0; k -= 2) {
        Op *add = arg(yield, k)->def;
        ir_drop_args(yield, k, 1);
        ir_erase(add);
        ir_drop_args(loop, 3 + k, 1);
        ir_drop_block_arg(body, 1 + k);
        ir_drop_result(loop, k);
    }
    ir_verify(f, "dropping");
    CHECK(t, loop->n_results == 10 && count_uses(n) == 11 && count_uses(i) == 10);

    /* Copy the loop with its region in front of itself; the copy reads the same
     * outer values. */
    b.before = loop;
    Map map = {.a = c->arena};
    Op *copy = ir_clone(&b, loop, &map);
    ir_verify(f, "cloning");
    CHECK(t,
          copy->next == loop && map_get(&map, result(loop, 3), 0) == result(copy, 3));
    CHECK(t, copy->regions[0] != body && copy->regions[0]->n_args == 11);
    CHECK(t, count_uses(n) == 22);

    /* What read the one reads the other. */
    b.before = ret;
    Val *sum = ir_bin(&b, OP_ADD, result(loop, 0), result(loop, 1));
    ir_replace(result(loop, 0), result(copy, 0));
    ir_set_arg(sum->def, 1, result(copy, 1));
    ir_verify(f, "replacing");
    CHECK(t, arg(sum->def, 0) == result(copy, 0) && !result(loop, 0)->uses);
    ir_erase(loop);
    ir_verify(f, "erasing");
    CHECK(t, count_uses(n) == 11 && copy->next == sum->def);

    ir_move_before(zero->def, one->def);
    CHECK(t, f->body->first == zero->def && zero->def->next == one->def);
    ir_move_before(one->def, copy);
    ir_verify(f, "moving");

    Val *moved = ir_const_int(&b, i32, 7);
    ir_move_before(moved->def, copy->regions[0]->last);
    CHECK(t, moved->block == copy->regions[0]); /* a result knows where its op stands */
    ir_verify(f, "moving into a region");
}

void
test_ir_builder(Test *t)
{
    RUN(t, use_builder, t);
}

static void
use_shorthands(Comp *c, void *data)
{
    Test *t = data;
    Func *f = ir_func(c, "f", NULL);
    Build b = {.f = f, .block = f->body};
    const int32_t s1[] = {64}, s2[] = {64, 16};
    Val *p = ir_param(f, ty_ptr(c, E_F16, false), "p", 0);
    Val *i = ir_arange(&b, 0, 64), *ps = ir_splat(&b, p, 1, s1);
    Val *at = ir_addptr(&b, ps, i), *x = ir_load(&b, at, NULL, NULL);
    CHECK(t, x->type == ty_block(c, ty_scalar(c, E_F16), 1, s1));
    Val *mask = ir_bin(&b, OP_LT, x, ir_const_float(&b, x->type, 0.5));
    CHECK(t, mask->type == ty_with_elem(c, x->type, E_I1));
    Val *y = ir_select(&b, mask, x, ir_un(&b, OP_NEG, x)), *z = ir_cast(&b, y, E_F32);
    CHECK(t, ir_cast(&b, z, E_F32) == z && ir_splat(&b, p, 0, NULL) == p);
    Val *wide = ir_broadcast(&b, ir_expand(&b, z, 1), 2, s2);
    CHECK(t, wide->type == ty_block(c, ty_scalar(c, E_F32), 2, s2));
    CHECK(t, ir_broadcast(&b, wide, 2, s2) == wide &&
                 ir_expand(&b, p, 0)->def->op == OP_SPLAT);
    ir_store(&b, at, x, mask);
    CHECK(t, ir_bitcast(&b, x, x->type) == x);

    int64_t v;
    uint64_t bits;
    Val *k = ir_const_int(&b, ty_scalar(c, E_I8), 200),
        *u = ir_const_int(&b, ty_scalar(c, E_U8), 200);
    CHECK(t, ir_const_as_int(k, &v) && v == -56 && ir_const_as_int(u, &v) && v == 200);
    CHECK(t, ir_is_const(ir_const_int(&b, z->type, -2), &bits) && bits == 0xc0000000);
    CHECK(t,
          !ir_const_as_int(ir_const_int(&b, z->type, 1), &v) && !ir_is_const(x, NULL));
    ir_op(&b, OP_RETURN, 0, NULL, 0, NULL);
    ir_verify(f, "building");

    /* Facts: what was asked is written down, with the answer or without. */
    f->n_facts = 1;
    f->facts = NEW_N(c->arena, ArgFacts, 1);
    f->facts[0].truth = FACT_DIV2 | FACT_DIV4;
    CHECK(t, ir_ask(f, p, FACT_DIV4) && !ir_ask(f, p, FACT_DIV16) &&
                 !ir_ask(f, x, FACT_DIV2));
    CHECK(t, f->facts[0].asked == (FACT_DIV4 | FACT_DIV16));
}

void
test_ir_shorthands(Test *t)
{
    RUN(t, use_shorthands, t);
}

/* ---- what only a program can break ------------------------------------------------ */

typedef struct Broken {
    Test *t;
    int how;
} Broken;

enum { N_BROKEN = 8 };

static void
break_and_verify(Comp *c, void *data)
{
    const Broken *b = data;
    const Type *i32 = ty_scalar(c, E_I32);
    Func *f = ir_func(c, "f", NULL), *g = ir_func(c, "g", NULL);
    Build at = {.f = f, .block = f->body};
    Val *n = ir_param(f, i32, "n", 0);
    Val *x = ir_un(&at, OP_NEG, n), *y = ir_un(&at, OP_ABS, x);
    ir_op(&at, OP_RETURN, 0, NULL, 0, NULL);
    ir_verify(f, "building");
    switch (b->how) {
    case 0: y->id = x->id; break;
    case 1: x->def->op = (OpCode)N_OP; break;
    case 2: x->def->args[0].user = y->def; break;
    case 3: n->uses = NULL; break;
    case 4: x->index = 1; break;
    case 5: f->body->func = g; break;
    case 6: y->def->prev = NULL; break;
    default: f->body->last = x->def;
    }
    ir_verify(f, "breaking");
}

/* 150 regions inside of each other: more than the parser allows. */
static void
parse_deep(Comp *c, void *data)
{
    (void)data;
    Sb sb = {.a = c->arena};
    sb_put(&sb, "func @f(%c: i1) {\n");
    for (int i = 0; i < 150; i++)
        sb_put(&sb, "if %c {\n");
    for (int i = 0; i < 150; i++)
        sb_put(&sb, "yield }\n");
    sb_put(&sb, "return }\n");
    ir_parse(c, sb.at);
}

void
test_ir_broken(Test *t)
{
    Comp c;
    for (int how = 0; how < N_BROKEN; how++) {
        comp_init(&c);
        bool ok = comp_run(&c, break_and_verify, &(Broken){t, how});
        CHECKF(t,
               !ok && c.err.code == ERR_VERIFY && strstr(c.err.msg, "after breaking"),
               "break %d: %s", how, ok ? "not seen" : c.err.msg);
        comp_done(&c);
    }
    comp_init(&c);
    CHECK(t, !comp_run(&c, parse_deep, NULL) && c.err.code == ERR_PARSE_IR);
    comp_done(&c);
}

/* ---- text ----------------------------------------------------------------------- */

typedef struct Text {
    Test *t;
    uint64_t seed;
    char *text; /* malloc'ed */
} Text;

static void
print_random(Comp *c, void *data)
{
    Text *x = data;
    RandomSpec spec = {
        .seed = x->seed, .n_ops = 5 + (int)(x->seed % 40), .approximate = true};
    Func *f = ir_random(c, &spec);
    ir_verify(f, "random");
    char *locs = ir_print(f, true), *once = ir_print(f, false);
    Func *again = ir_parse(c, once);
    ir_verify(again, "parsing");
    CHECK_STR(x->t, ir_print(again, false), once);
    locs = ir_print(again, true);
    CHECK_STR(x->t, ir_print(ir_parse(c, locs), true), locs);
    free(x->text);
    x->text = strdup(once);
}

/* Any outcome but a crash; what is accepted prints as a fixed point. */
static void
read_mutant(Comp *c, void *data)
{
    Text *x = data;
    Func *f = ir_parse(c, x->text);
    char *once = ir_print(f, false);
    CHECK_STR(x->t, ir_print(ir_parse(c, once), false), once);
    ir_verify(f, "parsing");
}

static void
mutate(Test *t, char *s)
{
    static const char *const bits[] = {
        "%",      "{",    "}",    "(",      "\"",
        "splat(", ":",    "0x",   "-",      "999999999999",
        "[",      "]",    ",",    "^(",     "#l0",
        "yield",  "else", "loc(", "f8e5m2", "ptr<",
        "nan",    "\\x0", "//",   "?",      "=",
        "@",      "\xff",
    };
    size_t n = strlen(s);
    for (int k = 1 + test_below(t, 2); k > 0 && n > 8; k--) {
        size_t at = (size_t)test_below(t, (int)n - 4),
               from = (size_t)test_below(t, (int)n - 4);
        const char *bit = bits[test_below(t, COUNT(bits))];
        size_t digit = at + strcspn(s + at, "0123456789");
        switch (test_below(t, 8)) {
        case 0: s[at] = (char)(32 + test_below(t, 95)); break;
        case 1: memmove(s + at, s + at + 3, n - at - 2); break;
        case 2: memcpy(s + at, bit, MIN(strlen(bit), n - at)); break;
        case 3: memmove(s + at, s + from, MIN(n - at, MIN(n - from, 40))); break;
        case 4: s[at] = 0; break;
        default:
            if (s[digit])
                s[digit] = (char)('0' + test_below(t, 10));
        }
        n = strlen(s);
    }
}

/* Every permutation of five dims has a number of its own, below 5!; so have long ones. */
void
test_ir_perm(Test *t)
{
    bool seen[120] = {false};
    int perm[MAX_RANK], back[MAX_RANK];
    for (int64_t code = 0; code < 120; code++) {
        bool ok = perm_unpack(5, code, perm);
        CHECK(t, ok && perm_pack(5, perm) == code && !seen[code]);
        seen[code] = true;
    }
    CHECK(t, !perm_unpack(5, 120, perm) && !perm_unpack(5, -1, perm));
    CHECK(t, perm_pack(2, (int[]){1, 0}) == 1 && perm_pack(2, (int[]){0, 0}) < 0 &&
                 perm_pack(2, (int[]){0, 2}) < 0);
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < MAX_RANK; i++) {
            int k = test_below(t, i + 1);
            perm[i] = perm[k];
            perm[k] = i;
        }
        int64_t code = perm_pack(MAX_RANK, perm);
        CHECK(t, code >= 0 && perm_unpack(MAX_RANK, code, back) &&
                     !memcmp(perm, back, sizeof perm));
    }
}

void
test_ir_text(Test *t)
{
    Text x = {.t = t};
    int accepted = 0, refused = 0;
    for (int i = 0; i < 60; i++) {
        x.seed = test_random(t);
        bool ok = test_run(t, print_random, &x, "random function %llu",
                           (unsigned long long)x.seed);
        Comp c;
        for (int m = 0; ok && m < 40; m++) {
            char *whole = x.text;
            x.text = strdup(whole);
            mutate(t, x.text);
            comp_init(&c);
            ok = comp_run(&c, read_mutant, &x);
            CHECKF(t, ok || c.err.code == ERR_PARSE_IR || c.err.code == ERR_VERIFY,
                   "%s", c.err.msg);
            CHECK(t, ok || c.err.code == ERR_VERIFY || c.err.loc);
            ok ? accepted++ : refused++;
            ok = true;
            comp_done(&c);
            free(x.text);
            x.text = whole;
        }
    }
    CHECKF(t, accepted > 50 && refused > 500, "%d accepted, %d refused", accepted,
           refused);
    free(x.text);
}

/* ---- walks ---------------------------------------------------------------------- */

/* What EACH_VAL and EACH_CONTROL_VAL say in one loop. */
static void
put_values(Sb *sb, const Block *b, bool is_control)
{
    for (int i = 0; i < b->n_args; i++)
        sb_printf(sb, " %d", b->args[i]->id);
    for (const Op *o = b->first; o; o = o->next) {
        for (int i = 0; i < o->n_results; i++)
            sb_printf(sb, " %d", result(o, i)->id);
        for (int r = 0; r < o->n_regions && (!is_control || op_has(o, OPF_CONTROL));
             r++)
            put_values(sb, o->regions[r], is_control);
    }
}

static void
walk_values(Comp *c, void *data)
{
    Text *x = data;
    const Func *f = ir_parse(c, x->text);
    Sb all = {.a = c->arena}, want = all, control = all, want_control = all;
    EACH_VAL(v, f->body)
        sb_printf(&all, " %d", v->id);
    EACH_CONTROL_VAL(v, f->body)
        sb_printf(&control, " %d", v->id);
    put_values(&want, f->body, false);
    put_values(&want_control, f->body, true);
    CHECK_STR(x->t, all.at, want.at);
    CHECK_STR(x->t, control.at, want_control.at);
    CHECK(x->t, strlen(all.at) > strlen(control.at));
    EACH_VAL(v, f->body)
        CHECK(x->t, ir_loc_of(v) != NULL);
}

void
test_ir_values(Test *t)
{
    Text x = {.t = t};
    x.text = strdup(
        "func @f(%n: i32, %p: ptr<f32>) {\n"
        "  %0 = const 0 : i32\n"
        "  %1 = const 1 : i32\n"
        "  %c = lt %0, %n : i1\n"
        "  if %c {\n"
        "    %r = arange {start=0, end=8} : i32[8]\n"
        "    %s = reduce %r {axis=0} : i32 ^(%a: i32, %b: i32) {\n"
        "      %m = add %a, %b : i32\n"
        "      yield %m\n"
        "    }\n"
        "    yield\n"
        "  }\n"
        "  %x, %y = for %0, %n, %1, %0, %1 : i32, i32 ^(%i: i32, %d: i32, %e: i32) {\n"
        "    yield %e, %d\n"
        "  }\n"
        "  %z = add %x, %y : i32\n"
        "  return\n"
        "}\n");
    RUN(t, walk_values, &x);
    free(x.text);
}

/* ---- memory runs out ------------------------------------------------------------ */

static void
whole_road(Comp *c, void *data)
{
    Text *x = data;
    arena_fail_after(c->arena, (size_t)x->seed);
    Func *f = ir_parse(c, x->text);
    ir_verify(f, "parsing");
    ir_print(f, true);
    uint64_t args[] = {5};
    InterpRun run = {.args = args, .grid = {1, 1, 1}};
    ir_interpret(f, &run);
}

void
test_ir_out_of_memory(Test *t)
{
    Text x = {.t = t};
    x.text = strdup("func @f(%n: i32) {\n"
                    "  %0 = const 0 : i32\n"
                    "  %1 = const 1 : i32\n"
                    "  %x = for %0, %n, %1, %0 : i32 ^(%i: i32, %a: i32) {\n"
                    "    %b = add %a, %i : i32\n"
                    "    yield %b\n"
                    "  }\n"
                    "  return\n"
                    "}\n");
    for (x.seed = 1;; x.seed++) {
        Comp c;
        comp_init(&c);
        bool ok = comp_run(&c, whole_road, &x);
        CHECKF(t, ok || c.err.code == ERR_MEMORY, "allocation %llu: %s",
               (unsigned long long)x.seed, ok ? "" : c.err.msg);
        comp_done(&c);
        if (ok || x.seed > 10000)
            break;
    }
    CHECKF(t, x.seed > 30 && x.seed < 10000, "%llu allocations",
           (unsigned long long)x.seed);
    free(x.text);
}
